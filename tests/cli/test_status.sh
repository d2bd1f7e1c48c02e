#!/usr/bin/env bash
# What sweep status and sweep report say of runs that failed, never started, were dropped or are half done: states are
# written here as a trainer would, and trainers that refuse are shell commands.
set -u
. "$(dirname "$0")/tap.sh"
cd "$tap_dir" && mkdir w && export SWEEP_ROOT=$tap_dir/w HOME=$tap_dir SWEEP_SITE=none
cat >study.ini <<'INI'
[sweep]
name = study
seeds = 4
[train]
total_steps = 1024
[env]
num = 8
[ppo]
num_steps = 16
num_minibatches = 2
[grid all]
ppo.com = 8, 16
[algo]
name = ppo_ewma
INI

# ---- runs that were refused at their start
tap_run "the trainer refuses all" 1 "8 runs failed; sweep status study says why" \
  env SWEEP_TRAINER="$(command -v false)" sweep submit study.ini --local --wait --jobs 2
out=$(sweep report study)
tap_check "runs that never started took no time" "$(grep -qF '8 runs, 0 finished, 8 never started' <<<"$out" &&
  grep -qE '^  ran +0.00 s in all, 0.00 s of it wasted' <<<"$out" || echo "$out")"
tap_check "and no line of the report has days" "$(sweep report study --runs | grep -E '[0-9] d ')$(sweep report study --csv | grep -E '[0-9]{7}')"
tap_done
