#!/usr/bin/env bash
# Runs that start again and again on a real Slurm: without checkpoints they fail after slurm.max_restarts starts that
# get no further than the best one, with checkpoints they go on; sweep status --cost counts what was done again. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "runs without progress" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
# An attempt logs some 20 records, each time a few more or less, and waits to be requeued. "saved" resumes where the last
# one ended, and so does "slow", which logs a record at its start as well; "lost" begins again.
cat >"$tap_dir/train.sh" <<'SH'
set -- "$1" 20 21 19 22 20 22 21 20 22 20
kind=$1; shift
eval "count=\${$SWEEP_ATTEMPT}"
step=0
[ "$kind" = lost ] || step=$(cat "$SWEEP_DIR/last" 2>/dev/null || echo 0)
[ "$kind" = slow ] && echo '{"step": 0, "reward": 0}' >>"$SWEEP_METRICS"
end=$((step + count))
while [ $step -lt $end ]; do
  step=$((step + 1))
  echo "{\"step\": $step, \"reward\": 1}" >>"$SWEEP_METRICS"
done
echo $step >"$SWEEP_DIR/last"
[ $step -lt 145 ] || exit 0
: >"$SWEEP_DIR/ready.$SWEEP_ATTEMPT"
exec sleep 3600
SH
cat >"$tap_dir/starts.ini" <<'INI'
[sweep]
name = starts
seeds = 1
goal = max reward
[program]
command = sh train.sh {kind}
step = step of 145
[settings]
kind = lost
[grid kinds]
kind = lost, saved, slow
[slurm]
mem = 100M
time = 01:00:00
max_restarts = 2
INI
submit starts >/dev/null
tap_wait 120 running 3
ended() { [ "$(state_count finished)" = 2 ] && [ "$(state_count failed)" = 1 ]; }
next() { # requeues each run that waits
  local file id
  for file in "$SWEEP_ROOT"/runs/*/*/*/ready.*; do
    [ -e "$file" ] || continue
    id=${file#"$SWEEP_ROOT"/runs/??/}; id=${id%%/*}
    rm "$file"
    scontrol requeue "$(sed -n 's/^job=//p' "$(folder_of "$id")/job")_$(sed -n 's/^task=//p' "$(folder_of "$id")/job")"
  done
  ended
}
tap_wait 600 next; tap_result "one run fails, two finish" $? "$(fresh_status starts --runs; squeue)"
tap_wait 120 queue_empty
tap_run "the run without checkpoints has failed" 0 "failed: no progress in 2 starts: none got further than step 21" fresh_status starts
failed=$(grep -l '^status=failed' "$SWEEP_ROOT"/runs/*/*/state | xargs dirname)
tap_check "after its first start and max_restarts more that were no better" "$(grep -x 'starts=3' "$failed/job" >/dev/null && [ "$(ls "$failed"/stats.*.tsv | wc -l)" = 3 ] || cat "$failed/job")"
tap_check "the others needed seven starts" "$(for state in $(grep -l '^status=finished' "$SWEEP_ROOT"/runs/*/*/state); do grep -qx attempt=7 "$state" || cat "$state"; done)"
tap_check "all time of the failed run is wasted" "$(sweep status starts --cost --csv | awk -F, '$3 == "failed" && !($6 > 0 && $7 == 0)')"
tap_done
