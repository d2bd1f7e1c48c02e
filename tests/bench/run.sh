#!/usr/bin/env bash
# Every benchmark's figures as CSV on stdout. Usage: tests/bench/run.sh BUILD [store|sweep|sim|trainer|analysis]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build} only=${2:-}
export KINETIX_LEVELS=${KINETIX_LEVELS:-../shared/data/kinetix_levels} # S, M and L cases need a folder of Kinetix levels
case "$only" in ""|store|sweep|sim|trainer|analysis) ;;
  *) echo "make bench: no part '$only'; ONLY is one of store, sweep, sim, trainer, analysis" >&2; exit 2 ;; esac
"$build/bin/trainer" info | sed 's/^/# /'
echo "part,case,metric,value,unit,threads,machine,commit"
for part in ${only:-store sweep sim trainer analysis}; do
  if [ -x "$build/tests/bench/bench_$part" ]; then "$build/tests/bench/bench_$part"; fi
done
