#!/usr/bin/env bash
# Stops by Slurm, many in succession at random moments: the signal before the time limit (scancel --signal) and
# requeues; runs of one process and of two ranks under srun. No run fails, and each ends with the bits of an
# uninterrupted one. Successive time limits: test_slurm_faults.sh. TAP; about fifteen minutes.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "stops by a real cluster" "$cluster_problem"; tap_done; fi
RANDOM=8
# stop_by_slurm NAME STOPS: all tasks of the sweep, by turns through the agreed signal and a requeue
stop_by_slurm() {
  local name=$1 turn=0 task
  working() { [ "$(squeue -h -t R -n "$name" -o %i | wc -l)" -ge 1 ] && running 1; }
  while [ $turn -lt "$2" ] && ! queue_empty; do
    tap_wait 120 working || queue_empty || echo "# nothing runs: $(squeue)"
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    for task in $(squeue -h -t R -n "$name" -o %i); do
      if [ $((turn % 2)) -eq 0 ]; then scancel --signal=USR2 --batch "$task" 2>/dev/null
      else scontrol requeue "$task" 2>/dev/null; fi
    done
    turn=$((turn + 1))
  done
  echo "# $turn turns, $(attempts_of) attempts"
}
# The checkpoint and rows of an uninterrupted run.
undisturbed() { # NAME
  local id folder newest
  tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2 | while read -r id; do
    folder=$(folder_of "$id")
    trainer --config "$folder/config.ini" --root "$tap_dir/reference" --quiet || echo "reference $id: exit $?"
    newest=$(ls "$folder"/ckpt/iteration-*.ckpt | tail -1)
    diff <(trainer checkpoint "$newest" | grep -vE '^file|section +clock') \
      <(trainer checkpoint "$tap_dir/reference/runs/${id:0:2}/$id/ckpt/${newest##*/}" | grep -vE '^file|section +clock') | head -4
  done
}
mkdir -p "$tap_dir/reference"
iterations=${STOP_ITERATIONS:-40000}
experiment signalled 4 $iterations "signal_lead = 00:00:05"
submit signalled >/dev/null
stop_by_slurm signalled 12
tap_wait 900 queue_empty
[ "$(state_count failed)" = 0 ]; tap_result "signals and requeues: no run has failed" $? "$(sweep status signalled --failed)"
counts signalled 4 $iterations
tap_check "and each has the checkpoint of one that was left alone" "$(undisturbed signalled)"

experiment ranked 1 $((iterations / 4)) "ranks_per_run = 2" "signal_lead = 00:00:05"
submit ranked >/dev/null
stop_by_slurm ranked 6
tap_wait 900 queue_empty
[ "$(state_count failed)" = 0 ]; tap_result "ranks under srun: no run has failed" $? "$(sweep status ranked --failed)"
counts ranked 1 $((iterations / 4))
cluster_stop
tap_done
