#!/usr/bin/env bash
# All GPU programs on the stand-in for the CUDA runtime (tests/runtime/test_runtime.sh).
TEST_RUNTIME=all exec bash "$(dirname "$0")/../runtime/test_runtime.sh"
