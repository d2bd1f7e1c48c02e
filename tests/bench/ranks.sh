#!/usr/bin/env bash
# Several ranks of one thread against one process with as many threads, and the cost of comm.deterministic: a complete
# training of the default network, the best of several iterations. CSV rows as in bench.h. Usage: tests/bench/ranks.sh
# BUILD
set -eu
build=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-ranks.XXXXXX")
trap 'rm -rf "$work"' EXIT
command -v mpirun >/dev/null 2>&1 || { echo "# no rows for ranks: mpirun is not installed"; exit 0; }
n=$(nproc)
[ "$n" -ge 2 ] || { echo "# no rows for ranks: one processor"; exit 0; }
[ "$n" -le 4 ] || n=4
machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
commit=$("$build/bin/trainer" --version | sed 's/.*commit //; s/[^0-9a-f+].*//')
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
settings=(--set env.num=768 --set ppo.num_steps=64 --set ppo.num_minibatches=6 --set ppo.epochs=4 --set eval.count=0
  --set checkpoint.every=1e9 --set train.total_steps=147456)
row() { # name launcher... : the best iteration's transitions a second
  local name=$1; shift
  "$@" "$build/bin/trainer" --quiet --force --root "$work" "${settings[@]}" "${more[@]}" >/dev/null 2>&1
  awk -F'\t' -v name="$name" -v rest="transitions/s,$n,${machine:-unknown},$commit" '
    $1 == "iteration" { for (i = 1; i <= NF; i++) if ($i ~ /^steps_per_second/) column = i; next }
    /^#/ { next } $column > best { best = $column }
    END { printf "trainer,%s,steps_per_second,%.6g,%s\n", name, best, rest }' $(ls -t "$work"/runs/*/*/stats.*.tsv | head -1)
}
more=(--set train.threads="$n"); row "ranks_1x$n" env
more=(--set train.threads=1); row "ranks_${n}x1" mpirun -n "$n"
more=(--set train.threads=1 --set comm.deterministic=yes); row "ranks_${n}x1_deterministic" mpirun -n "$n"
