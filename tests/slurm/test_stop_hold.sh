#!/usr/bin/env bash
# sweep stop and sweep hold of runs in Slurm's queue: the same words as on this machine (fault/test_stop_hold.sh).
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
. tests/cli/stop_hold.sh
export HOME=$tap_dir # the queue's cache
if ! cluster_start; then tap_skip "stop and hold on Slurm" "$cluster_problem"; tap_done; fi

experiment study 4 40
tap_run "submit --hold" 0 "4 runs submitted in 1 array" submit study --hold
tap_run "status says so" 0 "] 0 %  4 held" sweep status study
hold # of pace.sh: a trainer does one iteration and waits
tap_run "one is released" 0 "study: 1 runs released" sweep hold study 2 --off
tap_wait 120 is_running 2; tap_result "it starts" $? "$(sweep status study --runs)"
tap_run "the others do not" 0 "1 running, 3 held" sweep status study
tap_run "hold of a run that runs" 0 "study: none of these runs is waiting" sweep hold study/2
same_words # stop_hold.sh
tap_run "hold --off of all" 0 "study: 2 runs released" sweep hold study --off
fast
tap_wait 300 queue_empty
tap_check "stopped runs do not start again" "$(is_finished 0 && is_finished 3 && ! is_finished 1 && ! is_finished 2 ||
  sweep status study --runs)"
tap_run "until it is submitted" 0 "2 runs submitted" submit study --hold
tap_run "stop of all sweeps" 0 "study: stopping 2 runs;" sweep stop
tap_check "nothing is left" "$(squeue -h)"
tap_run "again" 0 "study: nothing is running or waiting" sweep stop study
tap_run "which submit resumes" 0 "2 runs submitted" submit study
tap_wait 300 queue_empty
tap_run "hold of a sweep that is done" 0 "study: none of these runs is waiting" sweep hold study
counts study 4 40
tap_done
