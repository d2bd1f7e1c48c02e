#!/usr/bin/env bash
# What sweep status says of jobs in the states that users, administrators and nodes put them into, in Slurm's own
# words, and of partitions that do not start jobs at present. On a real Slurm. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
printf '#!/bin/bash\n[ ! -e %s/broken ]\n' "$tap_dir" >"$tap_dir/prolog"; chmod 755 "$tap_dir" "$tap_dir/prolog"
cluster_conf="Prolog=$tap_dir/prolog
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=1-00:00:00 DefaultTime=10 DefMemPerCPU=100 State=UP
PartitionName=short Nodes=n[3-4] MaxTime=00:05:00 State=UP"
if ! cluster_start; then tap_skip "states of jobs" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
says() { fresh_status "$1" >"$tap_dir/out" 2>&1; grep -qF -- "$2" "$tap_dir/out"; } # NAME TEXT
becomes() { tap_wait 60 says "$2" "$3"; tap_result "$1" $? "no '$3' in: $(cat "$tap_dir/out")"; } # WHAT NAME TEXT
job_of() { squeue -h -a -n "$1" -o %F | sort -un | tail -1; }

# ---- states
hold
experiment states 3 40
submit states >/dev/null
tap_wait 120 running 3
job=$(job_of states)
scontrol suspend "${job}_0"
becomes "a suspended run" states "1 suspended: on its node, until Slurm or an administrator lets it continue (scontrol resume)"
scontrol resume "${job}_0"
becomes "which continues" states "3 running"
scontrol requeuehold "${job}_1"
becomes "requeued and held" states "1 held: requeued and held: sweep hold --off lets it start"
scontrol requeuehold State=SpecialExit "${job}_2"
becomes "two, with a special exit" states "2 held: requeued and held: sweep hold --off lets it start"
tap_run "they are not submitted again" 0 "nothing to submit" submit states
fast
tap_run "sweep hold --off" 0 "2 runs released" sweep hold --off states
tap_wait 300 finished 3
tap_wait 60 queue_empty
counts states 3 40

# ---- a start in the future, and no requeue
experiment later 2 20
submit later --hold >/dev/null
scontrol update jobid="$(job_of later)" starttime=now+3hours
sweep hold --off later >/dev/null
becomes "jobs that start in three hours" later "2 queued: does not start before 20"
tap_check "it is no delay after a requeue" "$(grep requeued "$tap_dir/out")"
sweep stop later >/dev/null

# ---- a prolog that fails
: >"$tap_dir/broken"
experiment prolog 2 20
submit prolog >/dev/null
becomes "a prolog that fails" prolog "2 held: could not be launched and is held: sweep hold --off tries again"
rm "$tap_dir/broken"
for node in 1 2 3 4; do scontrol update nodename=n$node state=resume 2>/dev/null; done
tap_run "sweep hold --off tries again" 0 "2 runs released" sweep hold --off prolog
tap_wait 300 finished 5
tap_wait 60 queue_empty
counts prolog 2 20

# ---- partitions that start no jobs at present
experiment parted 2 20 "time = 00:04:00" "partition = short"
scontrol update partitionname=short state=down
tap_run "a partition that is down: the jobs are queued" 0 "2 runs submitted" submit parted
becomes "and status says so" parted "2 queued: its partition is down: wait, or sweep stop and choose another slurm.partition"
sweep stop parted >/dev/null
tap_run "plan and submit note it" 0 "partition short is down: the jobs wait until it is up" sweep plan "$tap_dir/parted.ini"
scontrol update partitionname=short state=up
drained() { scontrol update nodename=n[3-4] state=drain reason=test; sinfo -h -p short -o %T | grep -q drained; }
tap_wait 60 drained
tap_run "all nodes are drained: the jobs are queued, with a note" 0 "partition short has no node that is up: the jobs wait until there is one" submit parted --hold
sweep stop parted >/dev/null
scontrol update nodename=n[3-4] state=resume
for state in drain inactive; do
  scontrol update partitionname=short state=$state
  tap_run "$state: Slurm accepts no jobs, and the message says so" 2 "partition short accepts no jobs at present" submit parted
  sed 's/= short/= short,main/' "$tap_dir/parted.ini" >"$tap_dir/either.ini"
  tap_run "$state, with another partition to choose from" 0 "2 runs submitted" sweep submit "$tap_dir/either.ini" --hold
  sweep stop parted >/dev/null
done
scontrol update partitionname=short state=down
experiment large 2 20 "time = 00:10:00" "partition = short"
tap_run "limits that can never fit are refused as before" 2 "no task fits partition short: a task requests 00:10:00" submit large
scontrol update partitionname=short state=up
experiment reserved 2 20 "reservation = later"
scontrol create reservation reservationname=later starttime=now+2hours duration=60 nodes=n4 users="$(id -un)" >/dev/null
tap_run "a reservation in the future: the jobs are queued" 0 "2 runs submitted" submit reserved
becomes "and status says so" reserved "2 queued: waits for its reservation to begin"
sweep stop reserved >/dev/null
scontrol delete reservationname=later

# ---- an output file that cannot be opened
experiment unopened 2 20
submit unopened --hold >/dev/null
output=$SWEEP_ROOT/sweeps/unopened/batches/000001.0.log
mkdir "$output"
sweep hold --off unopened >/dev/null
becomes "an output that cannot be opened" unopened "2 failed: ended before the run began: Slurm could not open its output $output: Is a directory"
tap_run "is the reason with --runs, too" 0 "could not open its output" fresh_status unopened --runs
forget_jobs
tap_wait 300 forgotten unopened
tap_run "and after Slurm has forgotten the jobs" 0 "2 failed: ended before the run began: Slurm could not open its output $output" fresh_status unopened
rmdir "$output"
tap_run "the runs are submitted again" 0 "2 runs submitted" submit unopened
tap_wait 300 finished 7
counts unopened 2 20
tap_done
