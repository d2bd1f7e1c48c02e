#!/usr/bin/env bash
# Slurm on the 4-node test cluster: submission and status of 10 000 runs, submission of 1000 with other tools, and the
# overhead of a run over plain `sbatch --array` of the same command. CSV rows as in bench.h; "own" seconds are user and
# system time of sweep with its children (sbatch, squeue).
# Usage: tests/bench/slurm.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export PATH=$build/bin:$PATH
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/bench-slurm.XXXXXX")
tap_cleanup() { rm -rf "$tap_dir"; }
export SWEEP_BUILD=$build
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
unset SWEEP_TRAINER # the trainer itself, not the tests' that can be held up
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
timed submit_10000 sweep submit "$tap_dir/many.ini" --hold
grep -q "10000 runs submitted" "$tap_dir/out" || { echo "# submit failed: $(cat "$tap_dir/out" "$tap_dir/err")"; exit 1; }
# three states: most wait, some are finished, some run
sweep hold --off many $(seq 0 39) >/dev/null
tap_wait() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done; }
tap_wait 120 finished 40
sweep hold many >/dev/null
sweep status many >/dev/null # brings results.db up to date
sleep 6 # the queue's answer is out of date
timed status_10000 sweep status many
timed status_10000_cached sweep status many
timed submit_10000_again sweep submit "$tap_dir/many.ini"
sweep stop many >/dev/null

experiment thousand 1000 10
timed submit_1000 sweep submit "$tap_dir/thousand.ini" --hold
sweep stop thousand >/dev/null
tests/bench/peers/slurm.sh

# The same trainings as an array of the same command, and as runs of a sweep; from submission to an empty queue. In turns, plain sweep sweep plain
# ..., so that a machine that grows slower or faster favors neither; wall clock, and processor time of the whole machine (idle but for this).
# The verdict is the median over pairs of turns, with the least and the largest: of six pairs the true median lies between them in 31 of 32 cases.
tasks=${BENCH_TASKS:-200} iterations=50 pairs=${BENCH_PAIRS:-6}
settings=(--set env.num=8 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set train.total_steps=$((8 * 16 * iterations))
  --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.count=0
  --set checkpoint.every=0 --set train.threads=1)
busy_s() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { printf "%.2f", ($2 + $3 + $4 + $7 + $8) / hz }' /proc/stat; } # user, nice, system, interrupts
drained() { # COMMAND...: wall and processor seconds from its call to an empty queue; fails when runs are missing
  local start busy; start=$(date +%s.%N) busy=$(busy_s)
  "$@" >"$tap_dir/out" 2>&1 || { echo "# $1 failed: $(cat "$tap_dir/out")" >&2; return 1; }
  tap_wait 600 queue_empty
  awk -v a="$start" -v b="$(date +%s.%N)" -v c="$busy" -v d="$(busy_s)" 'BEGIN { printf "%.3f %.2f", b - a, d - c }'
}
plain() { # number
  mkdir -p "$tap_dir/plain$1"
  sbatch --parsable --job-name=plain --array=0-$((tasks - 1)) --mem=100M --output="$tap_dir/plain$1/%a.log" --wrap "exec trainer --quiet --resume \
    --root $tap_dir/plain$1 ${settings[*]} --set ppo.gamma=0.9$1 --set train.seed=\$SLURM_ARRAY_TASK_ID"
}
swept() { sweep submit "$tap_dir/turn$1.ini"; } # number; experiments are made beforehand: here it would be in a subshell, and not counted
for pair in $(seq "$pairs"); do experiment "turn$pair" "$tasks" "$iterations"; done
ended() { grep -lx "status=finished" "$1"/runs/*/*/state 2>/dev/null | wc -l; }
turn() { # plain|swept number: its rows, and a line "kind pair wall cpu" in turns
  local kind=$1 pair=$2 folder=$SWEEP_ROOT before=0 now seconds
  [ "$kind" = swept ] || folder=$tap_dir/plain$pair
  [ "$kind" = plain ] || before=$(ended "$folder")
  seconds=$(drained "$kind" "$pair")
  now=$(($(ended "$folder") - before))
  [ "$now" = "$tasks" ] || echo "# $kind: only $now of $tasks runs have finished"
  row "${kind}_$tasks" drained "${seconds% *}"
  row "${kind}_$tasks" processor "${seconds#* }"
  echo "$kind $pair $seconds" >>"$tap_dir/turns"
}
for pair in $(seq "$pairs"); do
  if [ $((pair % 2)) = 1 ]; then turn plain "$pair"; turn swept "$pair"; else turn swept "$pair"; turn plain "$pair"; fi
done
over() { # column: median, minimum and maximum of sweep's overhead in percent
  awk -v column="$1" '{ value[$1, $2] = $column; if ($2 > n) n = $2 }
    END { for (i = 1; i <= n; i++) printf "%.2f\n", 100 * (value["swept", i] / value["plain", i] - 1) }' "$tap_dir/turns" | sort -n |
    awk '{ x[NR] = $1 } END { printf "%.1f %.1f %.1f", NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2, x[1], x[NR] }'
}
for column in 3:wall 4:processor; do
  read -r median least largest <<<"$(over "${column%%:*}")"
  row overhead_of_a_run "${column#*:}_median" "$median" %
  row overhead_of_a_run "${column#*:}_least" "$least" %
  row overhead_of_a_run "${column#*:}_largest" "$largest" %
done
