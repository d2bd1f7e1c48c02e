#!/usr/bin/env bash
# All tests of the emulated device on nvcc's code (tests/ptx/test_ptx.sh).
TEST_PTX=all exec bash "$(dirname "$0")/../ptx/test_ptx.sh"
