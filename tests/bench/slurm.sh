#!/usr/bin/env bash
# Slurm on the 4-node test cluster: submitting and showing 10 000 runs, handing 1000 over as others do it, and what a run costs beyond plain
# `sbatch --array` of the same command. CSV rows as in bench.h; "own" seconds are user and system time of sweep with its children (sbatch, squeue).
# Usage: tests/bench/slurm.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export PATH=$build/bin:$PATH
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/bench-slurm.XXXXXX")
tap_cleanup() { rm -rf "$tap_dir"; }
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
set +e
cluster_start || { echo "# no rows for slurm: $cluster_problem"; exit 0; }
machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
commit=$(sweep --version | sed 's/.*commit //; s/[^0-9a-f+].*//')
row() { echo "slurm,$1,$2,$3,${4:-s},1,${machine:-unknown},$commit"; } # case metric value [unit]
# timed CASE COMMAND...: rows of wall clock and of user + system time
timed() {
  local name=$1 out; shift
  out=$( { TIMEFORMAT='%R %U %S'; time "$@" >"$tap_dir/out" 2>"$tap_dir/err"; } 2>&1 )
  row "$name" wall "$(awk '{ print $1 }' <<<"$out")"
  row "$name" own "$(awk '{ printf "%.3f", $2 + $3 }' <<<"$out")"
}
experiment many 10000 10
timed submit_10000 sweep submit "$tap_dir/many.ini" --held
grep -q "10000 runs submitted" "$tap_dir/out" || { echo "# submit failed: $(cat "$tap_dir/out" "$tap_dir/err")"; exit 1; }
# three states: most wait, some are finished, some run
sweep release many $(seq 0 39) >/dev/null
tap_wait() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done; }
tap_wait 120 finished 40
sweep hold many >/dev/null
sweep status many >/dev/null # brings results.db up to date
sleep 6 # the queue's answer is out of date
timed status_10000 sweep status many
timed status_10000_cached sweep status many
timed submit_10000_again sweep submit "$tap_dir/many.ini"
sweep cancel many >/dev/null

experiment thousand 1000 10
timed submit_1000 sweep submit "$tap_dir/thousand.ini" --held
sweep cancel thousand >/dev/null
tests/bench/peers/slurm.sh

# The same trainings as an array of the same command, and as runs of a sweep; from submission to an empty queue. In turns, and the
# first before and after the second, so that a machine that grows slower or faster favours neither.
tasks=200 iterations=50
settings=(--set env.num=8 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set train.total_steps=$((8 * 16 * iterations))
  --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.count=0
  --set checkpoint.every=0 --set train.threads=1)
drained() { # COMMAND...: seconds from its call to an empty queue; fails when runs are missing
  local start; start=$(date +%s.%N)
  "$@" >"$tap_dir/out" 2>&1 || { echo "# $1 failed: $(cat "$tap_dir/out")" >&2; return 1; }
  tap_wait 600 queue_empty
  awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }'
}
plain() { # number
  mkdir -p "$tap_dir/plain$1"
  sbatch --parsable --job-name=plain --array=0-$((tasks - 1)) --mem=100M --output="$tap_dir/plain$1/%a.log" --wrap "exec trainer --quiet --resume \
    --root $tap_dir/plain$1 ${settings[*]} --set ppo.gamma=0.9$1 --set train.seed=\$SLURM_ARRAY_TASK_ID"
}
swept() { sweep submit "$tap_dir/turn$1.ini"; } # number; experiments are made beforehand: here it would be in a subshell, and not counted
experiment turn2 $tasks $iterations
experiment turn3 $tasks $iterations
ended() { grep -lx "status=finished" "$1"/runs/*/*/state 2>/dev/null | wc -l; }
plain_s= swept_s=
for turn in 1 2 3 4; do # plain, sweep, sweep, plain
  case $turn in
    1|4)
      seconds=$(drained plain $turn); plain_s+=" $seconds"
      [ "$(ended "$tap_dir/plain$turn")" = $tasks ] || echo "# plain array: only $(ended "$tap_dir/plain$turn") of $tasks runs have finished"
      row plain_array_$tasks drained "$seconds" ;;
    *)
      before=$(ended "$SWEEP_ROOT")
      seconds=$(drained swept $turn); swept_s+=" $seconds"
      [ $(($(ended "$SWEEP_ROOT") - before)) = $tasks ] || echo "# sweep: only $(($(ended "$SWEEP_ROOT") - before)) of $tasks runs have finished"
      row sweep_$tasks drained "$seconds" ;;
  esac
done
row overhead_of_a_run over_plain_array "$(awk -v a="$plain_s" -v b="$swept_s" 'BEGIN { n = split(a, x, " "); split(b, y, " ")
  for (i = 1; i <= n; i++) { p += x[i]; s += y[i] } printf "%.1f", 100 * (s / p - 1) }')" %
