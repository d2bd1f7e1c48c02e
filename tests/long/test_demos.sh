#!/usr/bin/env bash
# Every experiment's demo profile starts, trains and evaluates, for one iteration a run and one seed. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
mkdir "$tap_dir/root"
for file in $(find experiments -name '*.ini' | sort); do
  budget="--set train.total_steps=1" # rounded up to an iteration
  case $file in */fig3a_switch.ini) budget="" ;; esac # its runs begin from checkpoints of a quarter and half of the budget
  # shellcheck disable=SC2086
  tap_run "$file" 0 "finished" sweep submit "$file" --profile demo --root "$tap_dir/root" --wait $budget --set sweep.seeds=1 \
    --set eval.count=1 --set eval.episodes=100
done
tap_done
