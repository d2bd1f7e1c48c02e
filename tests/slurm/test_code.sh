#!/usr/bin/env bash
# Runs with a user's library on a real Slurm: the node finds it next to the experiment file, rejects it if the user no
# longer trusts it, and never silently resumes a checkpoint of other code. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "code on a real cluster" "$cluster_problem"; tap_done; fi
study=$tap_dir/study; mkdir -p "$study/sweep"
cp trainer/envs/library/environment.h "$study/sweep/"
build() { gcc -O1 -shared -fPIC -I"$study" -o "$study/corridor.so" "${1:-docs/examples/corridor.c}"; }
build
cat >"$study/walk.ini" <<'INI'
[sweep]
name = walk
seeds = 2
[env]
task = library:corridor.so/corridor
num = 4
[train]
total_steps = 1280
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 0
[checkpoint]
every = 0
[slurm]
mem = 100M
max_restarts = 0
INI
walk() { sweep submit "$study/walk.ini" "$@"; }
tap_run "without trust nothing is submitted" 2 "that you have not trusted" walk
hold
tap_run "with it the runs are" 0 "2 runs submitted" walk --trust
begun() { [ "$(grep -l '^iteration=[1-9]' "$SWEEP_ROOT"/runs/*/*/state 2>/dev/null | wc -l)" = 2 ]; }
tap_wait 120 begun; tap_result "they find the library next to the experiment file" $? "$(tail -n 3 "$SWEEP_ROOT"/runs/*/*/log.txt 2>/dev/null)"
sweep stop walk >/dev/null; slow 1
tap_wait 120 queue_empty
tap_check "and stop with a checkpoint" "$([ "$(state_count stopped)" = 2 ] || grep -h status "$SWEEP_ROOT"/runs/*/*/state)"
fast
sed 's/LIMIT = 50/LIMIT = 51/' docs/examples/corridor.c >"$study/changed.c"; build "$study/changed.c"
tap_run "changed, it must be trusted again" 2 "that you have not trusted" walk
tap_run "and its checkpoint was made by other code" 2 "2 unfinished runs were made by other code (corridor.so changed); --force starts them over, --keep accepts the mix" walk --trust
tap_run "for a run alone, too" 2 "made by other code" sweep submit walk 0
tap_run "knowingly they go on" 0 "2 runs submitted" walk --keep
tap_wait 120 finished 2; tap_wait 120 queue_empty
tap_check "to their end, with both hashes" "$([ "$(grep -lE '^code=[0-9a-f]{32}\+[0-9a-f]{32}$' "$SWEEP_ROOT"/runs/*/*/state | wc -l)" = 2 ] || grep -h '^code' "$SWEEP_ROOT"/runs/*/*/state)"
tap_run "started over they are of one" 0 "2 runs submitted" walk --force
tap_wait 120 queue_empty; tap_wait 120 finished 2
tap_check "with one hash" "$([ "$(grep -lE '^code=[0-9a-f]{32}$' "$SWEEP_ROOT"/runs/*/*/state | wc -l)" = 2 ] || grep -h '^code' "$SWEEP_ROOT"/runs/*/*/state)"
# trusted when it was submitted, another file when it starts
build
tap_run "a submission is held" 0 "1 runs submitted" sweep submit walk --seeds 3 --hold --keep
cat >"$study/loud.c" <<C
#include <stdio.h>
__attribute__((constructor)) static void begin(void) { FILE *f = fopen("$tap_dir/ran", "a"); if (f) fclose(f); }
C
gcc -O1 -shared -fPIC -o "$study/corridor.so" "$study/loud.c"
sweep hold --off walk >/dev/null
tap_wait 120 queue_empty
tap_check "its replacement does not run on the node" "$([ ! -e "$tap_dir/ran" ] || echo it ran)"
tap_check "and the run says why" "$(grep -qh 'that you have not trusted' "$SWEEP_ROOT"/runs/*/*/log.txt || tail -n 2 "$SWEEP_ROOT"/runs/*/*/log.txt)"
tap_done
