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

# ---- one way to name a run
id=$(tail -1 "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2) # not among the first of a listing
tap_run "logs of a run by its first digits" 0 "" sweep logs "${id:0:5}"
tap_run "by sweep and index" 0 "" sweep logs study/7
tap_run "by its folder" 0 "" sweep logs "$SWEEP_ROOT/runs/${id:0:2}/$id/"
tap_run "stop takes them too" 2 "run $id is not running: it is failed" sweep stop "runs/${id:0:2}/${id:0:8}"
tap_run "a run that is none" 2 "'zzz' names no run of $SWEEP_ROOT" sweep logs zzz
sed "s/^com = .*//; s/ppo.com = .*/ppo.com = 8/" study.ini >child.ini
printf '[init]\nfrom = run:%s\n' "${id:0:6}" >>child.ini
tap_run "a parent's id that is cut short is refused with the whole one" 2 "the whole id has to stand there: run:$id" sweep plan child.ini
tap_done
