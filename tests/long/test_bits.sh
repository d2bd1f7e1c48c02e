#!/usr/bin/env bash
# Part of `make check-long`: the large hash of tests/unit/test_batch_bits.c from every kernel, thread count and division.
cd "$(dirname "$0")/../.." || exit 1
CMOCKA_MESSAGE_OUTPUT=TAP TEST_BITS=all exec "${SWEEP_BUILD:-build}/tests/unit/test_batch_bits"
