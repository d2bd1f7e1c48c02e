#!/usr/bin/env bash
# A trainer that a library ends early by a system call with exit code 0, on a real Slurm: the run has failed, with the
# reason.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "an early end on a real cluster" "$cluster_problem"; tap_done; fi
mkdir -p "$tap_dir/include/sweep"
cp trainer/envs/library/environment.h "$tap_dir/include/sweep/"
sed -e 's/#include <stdlib.h>/&\n#include <sys\/syscall.h>\n#include <unistd.h>/' \
  -e 's/^  result->reward = /  if (corridor->steps == 6) syscall(SYS_exit_group, 0);\n&/' docs/examples/corridor.c >"$tap_dir/gone.c"
gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/gone.so" "$tap_dir/gone.c"
experiment gone 1 20
sed -i -e "s|^num = 8|num = 8\ntask = library:$tap_dir/gone.so/corridor|" -e '/^morphologies\|^difficulty\|^level_count/d' "$tap_dir/gone.ini"
tap_run "a run of such a library" 0 "1 runs submitted" submit gone --trust
tap_wait 100 queue_empty
tap_expect "has failed, and the status says why" 0 "failed .*ended with exit code 0 before the run had finished" \
  sweep status gone --runs
tap_done
