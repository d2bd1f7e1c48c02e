#!/usr/bin/env bash
# Short faults on a real Slurm: whatever is killed, every run finishes once and every row is stored.
# tests/long/test_slurm_faults.sh has the slow ones (node failure, preemption, time limits, many kills).
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_conf="MaxArraySize=10"
if ! cluster_start; then tap_skip "faults on a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }

# ---- kill -9 of sweep submit: while Slurm has not got an array yet, when it has taken it and nobody knows, and at
# random moments
mkdir "$tap_dir/bin"
cat >"$tap_dir/bin/sbatch" <<SH
#!/bin/bash
# Stops "before" or "after" the call, as the file stop_at requests; its later output is lost.
stop() {
  [ "\$(cat "$tap_dir/stop_at" 2>/dev/null)" = "\$1" ] || return
  echo \$\$ >"$tap_dir/stopped"
  exec sleep 3600 >/dev/null 2>&1
}
stop before
answer=\$($(command -v sbatch) "\$@"); code=\$?
stop after
[ -z "\$answer" ] || echo "\$answer"
exit \$code
SH
chmod +x "$tap_dir/bin/sbatch"
experiment killed 60 10
kills=
for place in before after after before after; do
  echo $place >"$tap_dir/stop_at"
  PATH=$tap_dir/bin:$PATH sweep submit "$tap_dir/killed.ini" --hold >/dev/null 2>&1 & pid=$!
  tap_wait 60 test -s "$tap_dir/stopped"
  kill -9 $pid; wait $pid 2>/dev/null; kills+="$? "
  kill -9 "$(cat "$tap_dir/stopped")"; rm "$tap_dir/stopped"
done
[ "$kills" = "137 137 137 137 137 " ]; tap_result "submit is killed in the middle of its calls" $? "exit codes $kills"
RANDOM=7
for i in 1 2 3 4 5 6; do
  sweep submit "$tap_dir/killed.ini" --hold >/dev/null 2>&1 & pid=$!
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
done
submit killed --hold >"$tap_dir/out" 2>&1
tap_result "then it continues" $? "$(cat "$tap_dir/out")"
[ "$(in_queue killed)" = 60 ]
tap_result "each of 60 runs is in the queue once" $? \
  "$(in_queue killed) tasks: $(cat "$SWEEP_ROOT/sweeps/killed/submit.log")"
sweep hold --off killed >/dev/null

# ---- slurmctld
experiment down 4 10
cluster_controller stop
tap_run "slurmctld stopped: submit says so" 1 "cannot reach Slurm" submit down
tap_run "status falls back to the files" 0 "Slurm does not answer: cannot reach Slurm" fresh_status killed
cluster_controller start
tap_run "back again: submit continues" 0 "4 runs submitted" submit down
experiment frozen 4 10
late() { # slurmctld freezes between the questions and the submission
  sweep submit "$tap_dir/frozen.ini" >"$tap_dir/out" 2>&1 & pid=$!
  while ! grep -qs "	ask	" "$SWEEP_ROOT/sweeps/frozen/submit.log" && kill -0 $pid 2>/dev/null; do :; done
  cluster_controller freeze
  wait $pid
}
late; rc=$?
cluster_controller thaw
if [ $rc -eq 0 ]; then echo "# the submission was faster than the freeze"; fi
submit frozen >>"$tap_dir/out" 2>&1
tap_result "frozen in the middle of a submission: the next submit settles it" $? "$(cat "$tap_dir/out")"
jobs=$(squeue -h -t all -n frozen -o %F | sort -u | wc -l)
[ "$jobs" = 1 ]; tap_result "Slurm has it once" $? "$jobs jobs: $(cat "$SWEEP_ROOT/sweeps/frozen/submit.log")"

# ---- two people
experiment both 40 10
sweep submit "$tap_dir/both.ini" >"$tap_dir/one" 2>&1 & one=$!
sweep submit "$tap_dir/both.ini" >"$tap_dir/two" 2>&1 & two=$!
wait $one; wait $two
tap_wait 300 queue_empty
counts both 40 10
total=$(cat "$SWEEP_ROOT"/sweeps/both/batches/*.tsv | grep -cE '^[0-9]+	')
[ "$total" = 40 ]
tap_result "two submissions at once hand over each run once" $? "$total runs: $(cat "$tap_dir/one" "$tap_dir/two")"
# one experiment in two workspaces: what Slurm has of the one is not the other's, whose submission was killed
experiment same 4 10
submit same --hold >/dev/null
echo before >"$tap_dir/stop_at"
other() { sweep "$1" --root "$tap_dir/other" "${@:2}"; }
mkdir "$tap_dir/other"
PATH=$tap_dir/bin:$PATH sweep submit --root "$tap_dir/other" "$tap_dir/same.ini" --hold >/dev/null 2>&1 & pid=$!
tap_wait 60 test -s "$tap_dir/stopped"
kill -9 $pid "$(cat "$tap_dir/stopped")"; wait $pid 2>/dev/null
rm "$tap_dir/stopped" "$tap_dir/stop_at"
tap_run "the same experiment in another workspace has jobs of its own" 0 "4 runs submitted in 1 array" other submit "$tap_dir/same.ini" --hold
tap_run "and cancels no others" 0 "stopping 4 runs" other stop same
[ "$(in_queue same)" = 4 ]; tap_result "those of the first are still there" $? "$(squeue)"
sweep hold --off same >/dev/null
tap_wait 300 queue_empty
counts same 4 10
counts killed 60 10
counts down 4 10
counts frozen 4 10

# ---- the runs' own ends
experiment long 4 300
hold
submit long >/dev/null
tap_wait 120 running 4
# shellcheck disable=SC2046 # a list of numbers
kill -9 $(trainer_pids | head -2)
second_attempts() { [ "$(ls "$SWEEP_ROOT"/runs/*/*/stats.2.tsv 2>/dev/null | wc -l)" = 2 ]; }
tap_wait 60 second_attempts; tap_result "killed trainers are started again in place" $? "$(fresh_status long --runs)"
tap_wait 60 running 4
task=$(squeue -h -t R -n long -o %i | head -1)
# A requeued task waits for a few seconds only; an hour, so that the test need not be quick.
waits() { scontrol requeue "$task" 2>/dev/null; scontrol update JobId="$task" StartTime=now+60minutes 2>/dev/null; }
tap_wait 60 waits
begin_time() { [ "$(squeue -h -j "$task" -o '%T %r')" = "PENDING BeginTime" ]; }
tap_wait 60 begin_time
tap_run "a requeued task waits, and status reports it" 0 "1 queued: does not start before 20" fresh_status long
scontrol update JobId="$task" StartTime=now
again() { [ "$(squeue -h -j "$task" -o %T)" = RUNNING ]; }
tap_wait 60 again; tap_result "and starts again" $? "$(squeue)"
tap_wait 60 running 4
scancel "$(squeue -h -t R -n long -o %i | tail -1)"
cancelled() { fresh_status long | grep -q "1 cancelled"; }
tap_wait 60 cancelled
tap_run "a cancelled element is shown" 0 "cancelled: by hand (scancel); sweep submit resumes it" fresh_status long
grep -q "signal 15: cancelled or requeued" "$SWEEP_ROOT"/sweeps/long/batches/*.log
tap_result "and its task was informed by the node's daemon" $? "$(cat "$SWEEP_ROOT"/sweeps/long/batches/*.log)"
tap_run "and submitted again" 0 "1 runs submitted" submit long
fast
sweep collect --follow --every 0.2 >/dev/null 2>&1 & follow=$!
for i in 1 2 3; do sweep status >/dev/null & done; wait %?status 2>/dev/null
tap_wait 300 queue_empty
kill $follow; wait $follow 2>/dev/null
counts long 4 300

# ---- of two runs that share a task one fails, the other continues: also when Slurm requeues the task
experiment packed 2 300 "runs_per_task = 2"
submit packed --no-start >/dev/null
hold
id=$(sed -n 3p "$SWEEP_ROOT/sweeps/packed/manifest.tsv" | cut -f2)
mkdir -p "$(folder_of "$id")"
echo "no folder" >"$(folder_of "$id")/ckpt"
submit packed >/dev/null
one_failed() { fresh_status packed | grep -q "1 running, 1 failed"; }
tap_wait 60 one_failed; tap_result "a failed run is not reported as starting while its task continues" $? "$(fresh_status packed --runs)"
task=$(squeue -h -n packed -o %A)
tap_wait 60 waits
tap_wait 60 begin_time
tap_run "nor to be queued" 0 "1 queued, 1 failed" fresh_status packed
scontrol update JobId="$task" StartTime=now
tap_wait 60 one_failed; tap_result "the task continues with the other one" $? "$(fresh_status packed --runs)"
grep -qx "starts=1" "$(folder_of "$id")/job"; tap_result "failed runs are not retried automatically" $? "$(cat "$(folder_of "$id")/job")"
fast
tap_wait 60 queue_empty
rm "$(folder_of "$id")/ckpt"
tap_run "but by sweep submit --failed" 0 "1 runs submitted" sweep submit packed --failed
tap_wait 60 queue_empty
counts packed 2 300
tap_done
