#!/usr/bin/env bash
# The simulator's pinned hash from other compilers and optimization levels: builds the archive of sim/ separately, and
# tests/unit/test_batch_bits.c with it. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh

# bits_from NAME COMPILER LEVEL
bits_from() {
  local name=$1 compiler=$2 level=$3 folder=$tap_dir/$1 log
  if ! command -v "$compiler" >/dev/null; then tap_skip "$name" "no $compiler here"; return; fi
  if ! printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' |
    "$compiler" -fopenmp -x c - -o "$tap_dir/openmp" 2>/dev/null; then tap_skip "$name" "$compiler without OpenMP"; return; fi
  log=$(make --no-print-directory CC="$compiler" CUDA_HOME= BUILD="$folder" OPTIMIZE="$level" CFLAGS=-g0 "$folder/bits/test_batch_bits" 2>&1) ||
    { tap_result "$name" 1 "$log"; return; }
  log=$(TEST_BITS=brief "$folder/bits/test_batch_bits" 2>&1)
  tap_result "$name" $? "$log"
}

bits_from gcc-O0 gcc -O0
bits_from clang-O0 clang -O0
bits_from clang-O3 clang -O3
tap_done
