#!/usr/bin/env bash
# Every benchmark's figures as CSV on stdout.
# Usage: tests/bench/run.sh BUILD [store|sweep|serve|search|slurm|sim|mujoco|environments|trainer|analysis|peers]
# analysis makes a results.db of ten million rows (4.4 GB, two minutes) when it is asked for by name; with PEER_STATS=python that
# has rliable and pandas (tests/bench/peers/run.sh says how to make it) it is compared with them in the same run.
# Then it measures sweep and analyze with 10 000 runs (tests/bench/runs.sh), or as many as BENCH_RUNS says.
# mujoco takes PEER_MUJOCO in the same way, and environments PEER_TORCH and PEER_ENVIRONMENTS, both of them
# PEER_CLEANRL_PYTHON; environments' own workers take SWEEP_PYTHON (build/python, which make python makes). peers runs sim, mujoco, convolution, trainer, analysis and what a user would pick instead
# (tests/bench/peers). What has peers ends with our figures over theirs.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build} only=${2:-}
levels=../shared/data/kinetix_levels # S, M and L cases need a folder of Kinetix levels
if [ -z "${KINETIX_LEVELS:-}" ] && [ -d $levels ]; then KINETIX_LEVELS=$PWD/$levels; fi
export KINETIX_LEVELS=${KINETIX_LEVELS:-}
if [ -z "${SWEEP_PYTHON:-}" ] && [ -x "$build/python/bin/python" ]; then export SWEEP_PYTHON=$(realpath "$build")/python/bin/python; fi
export PEER_ENVIRONMENTS=${PEER_ENVIRONMENTS:-${SWEEP_PYTHON:-}}
declare -A programs=([slurm]=slurm [store]=store [sweep]=sweep [serve]=serve [search]=search [sim]=sim [mujoco]=mujoco [environments]="environments convolution"
                     [trainer]="trainer recurrent training" [analysis]="analysis large" [peers]="sim mujoco convolution training analysis large")
case "$only" in "") parts="store sweep serve sim mujoco environments trainer analysis" ;; *) parts=$only ;; esac
if [ -n "$only" ] && [ -z "${programs[$only]:-}" ]; then
  echo "make bench: no part '$only'; ONLY is one of store, sweep, serve, search, slurm, sim, mujoco, environments, trainer, analysis, peers" >&2
  exit 2
fi
rows=$(mktemp)
large=$(mktemp -d "${TMPDIR:-/tmp}/bench-large-XXXXXX")
trap 'rm -rf "$rows" "$large"' EXIT
"$build/bin/trainer" info | sed 's/^/# /'
[ -n "$KINETIX_LEVELS" ] || echo "# KINETIX_LEVELS names no folder of Kinetix levels (s/, m/, l/): no rows for S, M and L"
echo "part,case,metric,value,unit,threads,machine,commit"
for part in $parts; do
  for program in ${programs[$part]}; do
    if [ "$program" = large ]; then
      [ -n "$only" ] || continue # minutes, and 5 GB of disk: only on request
      "$build/tests/bench/bench_large" make "$large/results.db" 2000 5000
      "$build/tests/bench/bench_large" time "$large/results.db" "$build/bin/analyze" | tee -a "$rows"
      if [ -n "${PEER_STATS:-}" ]; then "$build/tests/bench/bench_large" plain "$large/results.db" "$large/plain.db"; fi
      continue
    fi
    if [ "$program" = serve ]; then
      PATH=$(realpath "$build")/bin:$PATH "$build/tests/bench/bench_serve" | tee -a "$rows"
      continue
    fi
    if [ "$program" = environments ]; then
      PYTHONPATH=$PWD/tests/bench/peers PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1 \
        "$build/tests/bench/bench_environments" | tee -a "$rows"
      continue
    fi
    if [ -x "$build/tests/bench/bench_$program" ]; then "$build/tests/bench/bench_$program" | tee -a "$rows"; fi
  done
  if [ "$part" = search ]; then tests/bench/search.sh "$build" | tee -a "$rows"; fi # trains for minutes: only on request
  if [ "$part" = slurm ]; then tests/bench/slurm.sh "$build" | tee -a "$rows"; fi
  if [ "$part" = analysis ] && [ -n "$only" ]; then tests/bench/runs.sh "$build" | tee -a "$rows"; fi # minutes
  if [ "$part" = trainer ]; then tests/bench/ranks.sh "$build" | tee -a "$rows"; fi
done
export PEER_ROWS=$large/plain.db PEER_RESULTS=$large/results.db
case "$only" in
  ""|peers) tests/bench/peers/run.sh | tee -a "$rows" ;;
  analysis) tests/bench/peers/run.sh PEER_STATS | tee -a "$rows" ;;
  mujoco)
    tests/bench/peers/run.sh PEER_MUJOCO | tee -a "$rows"
    tests/bench/peers/run.sh PEER_CLEANRL_PYTHON cleanrl_ppo.py ppo_HalfCheetah | tee -a "$rows" ;;
  environments)
    tests/bench/peers/run.sh PEER_TORCH torch_convolution.py | tee -a "$rows"
    tests/bench/peers/run.sh PEER_CLEANRL_PYTHON cleanrl_ppo.py ppo_Breakout ppo_starpilot | tee -a "$rows" ;;
esac
# Our best figure over the peer's, wherever both were measured just now with the same threads
# (_kept: a peer that keeps its memory, peers/rows.py).
awk -F, -v OFS=, '
  $1 == "peer" { theirs[$2, $3, $8] = $4; threads[$2, $3, $8] = $6; next }
  /^#/ { next }
  { ours[$2, $3, $6] = $4; machine = $7; commit = $8 }
  END { for (k in theirs) {
    split(k, at, SUBSEP); name = at[1]; sub(/^torch_update/, "ppo", name); sub(/_kept$/, "", name)
    value = ours[name, at[2], threads[k]]
    if (value > 0) print "ratio", at[1], at[2], sprintf("%.4g", value / theirs[k]), "times " at[3], threads[k], machine, commit
  } }' "$rows" | sort
