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

# ---- a disk that fails once while sweep stop writes: if Slurm was not asked, the journal takes the cancels back
. tests/fault/disk.sh
experiment torn 3 4
tap_run "three runs wait" 0 "3 runs submitted" submit torn --hold
cancels() { awk -F'\t' '$NF != ";" { next } $3 == "cancel" { n++ } $3 == "uncancel" { n -= $4 } END { print n + 0 }' "$SWEEP_ROOT/sweeps/torn/submit.log"; }
stop_torn() { # prints what is wrong after a fault at each of its changes
  local n kept
  : >"$tap_dir/refused"
  for n in 1 2 3 4 5 6 7 8; do
    kept=$(cancels)
    if on_disk error:$n sweep stop torn 0 1 --no-wait >"$tap_dir/torn" 2>&1; then submit torn --hold >/dev/null 2>&1; continue; fi
    echo "$n" >>"$tap_dir/refused"
    [ "$(cancels)" = "$kept" ] || echo "error at change $n: $(cancels) cancels instead of $kept; $(tail -1 "$tap_dir/torn")"
  done
}
if disk_build; then
  tap_check "a failed stop leaves no cancel" "$(stop_torn)"
  tap_check "several faults made it fail" "$([ "$(wc -l <"$tap_dir/refused")" -ge 2 ] || cat "$tap_dir/torn")"
else tap_skip "a failed stop" "the shim cannot be built"; fi
sweep stop torn >/dev/null 2>&1

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
