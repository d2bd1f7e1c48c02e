#!/usr/bin/env bash
# Slurm on the 4-node test cluster: submitting and showing 10 000 runs, and what a run costs beyond plain `sbatch --array` of
# the same command. CSV rows as in bench.h; "own" seconds are user and system time of sweep without its children.
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
row() { echo "slurm,$1,$2,$3,s,1,${machine:-unknown},$commit"; } # case metric value
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

# The same trainings as an array of the same command, and as runs of a sweep; from submission to an empty queue.
drain() { tap_wait 600 queue_empty; }
since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }'; }
experiment plain 200 50
for i in $(seq 0 199); do
  mkdir -p "$tap_dir/plain$i"
done
settings=(--set env.num=8 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set train.total_steps=6400
  --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.count=0
  --set checkpoint.every=0 --set train.threads=1)
start=$(date +%s.%N)
sbatch --parsable --array=0-199 --mem=100M --output=/dev/null --wrap "exec trainer --quiet --resume --root $tap_dir/plain\$SLURM_ARRAY_TASK_ID ${settings[*]} --set train.seed=\$SLURM_ARRAY_TASK_ID" >/dev/null
drain
row plain_array_200 drained "$(since "$start")"
start=$(date +%s.%N)
sweep submit "$tap_dir/plain.ini" >/dev/null
drain
row sweep_200 drained "$(since "$start")"
