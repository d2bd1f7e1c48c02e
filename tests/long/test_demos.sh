#!/usr/bin/env bash
# Every experiment's demo profile starts, trains and evaluates, for one iteration per run and one seed. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
mkdir "$tap_dir/root"
for file in $(find experiments -name '*.ini' | sort); do
  budget="--set train.total_steps=1" # rounded up to an iteration
  episodes=100
  case $file in */mujoco_* | */fixed_point/*) episodes=2 ;; esac # of a thousand steps
  case $file in */fig3a_switch.ini) budget="" ;; esac # its runs begin from checkpoints of a quarter and half of the budget
  if grep -q '^env.task *= *mujoco/' "$file" && ! trainer --dry-run --set env.task=mujoco/HalfCheetah-v4 >/dev/null 2>&1; then
    tap_skip "$file" "no MuJoCo"
    continue
  fi
  # shellcheck disable=SC2086
  tap_run "$file" 0 "finished" sweep submit "$file" --profile demo --root "$tap_dir/root" --wait $budget --set sweep.seeds=1 \
    --set eval.count=1 --set eval.episodes=$episodes
done
tap_done
