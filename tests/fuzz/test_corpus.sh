#!/usr/bin/env bash
# Runs every fuzz target once on every input of its corpus, in the ordinary build. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
for source in tests/fuzz/fuzz_*.c; do
  target=$(basename "$source" .c); corpus=tests/fuzz/corpus/${target#fuzz_}
  out=$(OMP_NUM_THREADS=1 "$SWEEP_BUILD/tests/fuzz/$target" "$corpus" 2>&1); rc=$?
  if [ $rc -eq 0 ] && grep -q "^ok 1 - .*: $(ls "$corpus" | wc -l) inputs" <<<"$out"; then tap_result "$target: the corpus" 0
  else tap_result "$target: the corpus" 1 "exit code $rc: $(tail -3 <<<"$out")"; fi
done
# A corpus is for replaying, not a store of everything that a fuzzer ever found.
files=$(find tests/fuzz/corpus -type f | wc -l) bytes=$(cat tests/fuzz/corpus/*/* | wc -c)
tap_result "the corpus is small" $((files > 200 || bytes > 300000)) "$files files, $bytes bytes"
tap_done
