#!/usr/bin/env bash
# Slow faults of a cluster (minutes): successive time limits, a node failure, preemption, a hold, missing nodes, failing
# munge, a full disk, many readers. After each: no runs and no rows lost.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_conf="MaxArraySize=100
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES PriorityTier=5 MaxTime=1-00:00:00 DefaultTime=10 DefMemPerCPU=100 State=UP
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=1-00:00:00 DefaultTime=10 DefMemPerCPU=100 State=UP
PartitionName=high Nodes=ALL PriorityTier=9 MaxTime=1-00:00:00 DefaultTime=10 DefMemPerCPU=100 State=UP"
if ! cluster_start; then tap_skip "slow faults on a real cluster" "$cluster_problem"; tap_done; fi
mounted=
trap 'cluster_stop; [ -n "$mounted" ] && umount "$mounted"; tap_cleanup' EXIT
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
attempts() { ls "$SWEEP_ROOT"/runs/*/*/stats."$1".tsv 2>/dev/null | wc -l; }
only=${SLURM_FAULT:-}
wanted() { case "$1" in *"$only"*) ;; *) return 1 ;; esac; }

if wanted limit; then # slurmctld polls every 30 s: the signal arrives 10 to 70 s before the end of a minute
  experiment limit 2 ${LIMIT_ITERATIONS:-40000} "time = 00:01:00" "signal_lead = 00:00:05"
  submit limit >/dev/null
  fourth() { [ "$(attempts 4)" -ge 1 ]; }
  tap_wait 600 fourth; tap_result "the time limit was reached three times in a row" $? "$(fresh_status limit; squeue -t all; cat "$SWEEP_ROOT"/sweeps/limit/batches/*.log)"
  tap_wait 900 queue_empty
  counts limit 2 ${LIMIT_ITERATIONS:-40000}
fi

if wanted node; then
  experiment node 8 4000
  submit node >/dev/null
  tap_wait 60 running 8
  sleep 3
  victim=$(squeue -h -t R -n node -o %N | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
  cluster_node kill "$victim"
  down() { sinfo -h -N -n "$victim" -o %T | grep -q down; }
  tap_wait 60 down; tap_result "Slurm notices that $victim is dead" $? "$(sinfo -N)"
  fresh_status node >"$tap_dir/lost-a-node.txt"
  requeued() { grep -qE "requeued, and waits|BeginTime" <(fresh_status node; squeue -h -o %r); }
  tap_wait 20 requeued; tap_result "its runs are queued again" $? "$(fresh_status node; squeue)"
  tap_wait 300 queue_empty
  cluster_node start "$victim"
  counts node 8 4000
fi

if wanted preempt; then
  experiment meek 8 4000 "partition = low"
  submit meek >/dev/null
  tap_wait 60 running 8
  experiment bold 4 500 "partition = high"
  submit bold >/dev/null
  preempted() { squeue -h -n meek -t PD -o %r | grep -q BeginTime; }
  tap_wait 90 preempted; tap_result "runs of lower priority are preempted and queued again" $? "$(squeue -t all)"
  grep -q "signal 15: preempted" "$SWEEP_ROOT"/sweeps/meek/batches/*.log
  tap_result "their tasks know that it was preemption, and no scancel" $? "$(cat "$SWEEP_ROOT"/sweeps/meek/batches/*.log)"
  tap_wait 400 queue_empty
  counts bold 4 500
  counts meek 8 4000
fi

if wanted gone; then
  scontrol update NodeName=n[1-4] State=DRAIN Reason=test
  experiment gone 2 100
  submit gone >/dev/null
  unavailable() { fresh_status gone | grep -q "nodes that it needs are down, drained or reserved"; }
  tap_wait 30 unavailable; tap_result "a job that no node can take now says so" $? "$(fresh_status gone; squeue)"
  scontrol update NodeName=n[1-4] State=RESUME
  tap_wait 120 queue_empty
  counts gone 2 100
fi

if wanted munge; then
  experiment munge 8 3000
  submit munge >/dev/null
  tap_wait 60 running 8
  cluster_munge stop
  tap_run "without munge status falls back to the files" 0 "Slurm does not answer" fresh_status munge
  sleep 5
  cluster_munge start
  tap_wait 300 queue_empty
  sweep submit munge >/dev/null 2>&1; tap_wait 120 queue_empty
  counts munge 8 3000
fi

if wanted readers; then # two status and a follower while many runs write
  experiment readers 64 400
  submit readers >/dev/null
  sweep collect --follow --every 0.2 >/dev/null 2>&1 & follow=$!
  bad=0
  until queue_empty; do
    sweep status >/dev/null 2>>"$tap_dir/readers" & one=$!
    fresh_status readers >/dev/null 2>>"$tap_dir/readers" || bad=1
    wait $one || bad=1
  done
  kill $follow; wait $follow 2>/dev/null
  tap_result "status never failed" $bad "$(head -3 "$tap_dir/readers")"
  counts readers 64 400
fi

if wanted disk; then
  if [ "$(id -u)" = 0 ] && mkdir "$tap_dir/small" && mount -t tmpfs -o size=3m tmpfs "$tap_dir/small" 2>/dev/null; then
    mounted=$tap_dir/small
    SWEEP_ROOT=$mounted
    experiment disk 4 2000
    submit disk >/dev/null
    tap_wait 60 running 1
    dd if=/dev/zero of="$mounted/ballast" bs=64k 2>/dev/null
    sleep 8
    rm "$mounted/ballast"
    mount -o remount,size=64m "$mounted"
    tap_wait 200 queue_empty
    submit disk >/dev/null 2>&1; tap_wait 200 queue_empty
    counts disk 4 2000
  else
    tap_skip "a full disk" "no tmpfs can be mounted here"
  fi
fi
tap_done
