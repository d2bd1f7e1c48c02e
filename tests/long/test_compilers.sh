#!/usr/bin/env bash
# The simulator's pinned hash from every compiler and optimization level of tests/tools/test_compilers.sh.
TEST_COMPILERS=all exec bash "$(dirname "$0")/../tools/test_compilers.sh"
