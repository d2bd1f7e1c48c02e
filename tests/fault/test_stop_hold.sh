#!/usr/bin/env bash
# sweep stop and sweep hold on this machine: runs of a queued sweep that wait or run are stopped or held one by one, by
# the same words as on Slurm (slurm/test_stop_hold.sh). TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_TRAINER=$paced
mkdir "$SWEEP_ROOT"
trap 'fast; sweep stop --no-wait >/dev/null 2>&1; tap_cleanup' EXIT
cat >"$tap_dir/study.ini" <<'INI'
[sweep]
name = study
seeds = 4
[env]
num = 8
morphologies = car
difficulty = 0
level_count = 4
[train]
total_steps = 3200
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 16
depth = 1
[eval]
count = 0
INI
. tests/cli/stop_hold.sh
submit() { sweep submit "$tap_dir/study.ini" --local --jobs 1 --no-check "$@"; }

# ---- nothing is queued yet
tap_run "a sweep that was not submitted" 2 "which has no sweeps" sweep hold study
tap_run "--hold and --wait" 2 "--hold and --wait exclude each other" submit --hold --wait
tap_run "--hold and --no-start" 2 "--hold and --no-start exclude each other" submit --hold --no-start

# ---- held runs do not start; hold --off lets them start
tap_run "submit --hold" 0 "study: runs of it are held; sweep hold study --off lets them start" submit --hold
tap_run "status says so" 0 "] 0 %  4 held" sweep status study
tap_run "and how to let them start" 0 "4 held: sweep hold study --off lets them start" sweep status study
tap_check "--json" "$([ "$(sweep status study --json | tool json 0 run 3 condition)" = held ] || sweep status study --json)"
tap_run "--watch does not wait for held runs" 0 "4 held" timeout 60 sweep status study --watch
tap_run "submitting again leaves them held" 0 "runs of it are held" submit
tap_run "nor does --wait" 75 "stopped with 4 runs remaining" timeout 60 sweep submit study --local --no-check --wait
hold # of pace.sh: a trainer does one iteration and waits
tap_run "one is released" 0 "study: 1 runs released" sweep hold study 2 --off
tap_wait 60 is_running 2; tap_result "it starts" $? "$(sweep status study --runs)"
tap_run "the others do not" 0 "1 running, 3 held" sweep status study
tap_run "hold of a run that runs" 0 "study: none of these runs is waiting" sweep hold study/2
same_words # stop_hold.sh
tap_run "hold --off of all" 0 "study: 2 runs released" sweep hold study --off
fast
ended() { ! [ -e "$SWEEP_ROOT/sweeps/study/queued" ]; }
tap_wait 120 ended
tap_check "stopped runs do not start again" "$(is_finished 0 && is_finished 3 && ! is_finished 1 && ! is_finished 2 ||
  sweep status study --runs)"
tap_run "until it is submitted" 0 "4 finished" submit --wait

# ---- the executor is killed while runs are held
submit --force --hold >/dev/null
claimed() { executor=$(sed -n 's/^executor=//p' "$SWEEP_ROOT/sweeps/study/queued") && [ "$executor" -gt 1 ]; }
tap_wait 60 claimed && kill -9 "$executor"
tap_run "hold --off starts another" 0 "4 runs released" sweep hold study --off
tap_wait 120 ended; tap_run "which ends the sweep" 0 "4 finished" sweep status study
tap_run "hold of a sweep that is done" 0 "study: none of these runs is waiting" sweep hold study
tap_run "stop of it" 0 "study: nothing is running or waiting" sweep stop study
tap_run "hold wants a sweep" 2 "an argument is missing; usage: sweep hold NAME|RUN..." sweep hold
tap_done
