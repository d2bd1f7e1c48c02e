#!/usr/bin/env bash
# tests/fault/test_program.sh in its long form: 200 kills of a program and its supervisor, 1 GB of output. TAP.
set -u
export KILLS=200 STEPS=10000 LOUD=1000000000
exec bash "$(dirname "$0")/../fault/test_program.sh"
