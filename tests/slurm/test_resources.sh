#!/usr/bin/env bash
# Blocks with their own resources (slurm.* in a [grid]) on a real Slurm: one array per set of resources, as in plan
# --script; runs that begin from runs of another set; chosen runs and repeated submission.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_gpus=2
if ! cluster_start; then tap_skip "resources of blocks on a real cluster" "$cluster_problem"; tap_done; fi
stored() { scontrol write batch_script "$1" - 2>/dev/null; }
job_of() { awk -F'\t' -v b="$2" -v a="$3" '$3 == "took" && $4 == b && $5 == a { print $6 }' "$SWEEP_ROOT/sweeps/$1/submit.log"; }
asks() { # JOB WORD: a value that one of its tasks requests
  scontrol show job "$1" | tr ' ' '\n' | grep "^$2=" | sort -u
}

experiment sets 2 20 "time = 00:10:00"
cat >>"$tap_dir/sets.ini" <<'INI'
[grid parents]
ppo.epsilon = 0.2
[grid wide]
ppo.epsilon = 0.3, 0.4
init.from = "run:{ppo.epsilon=0.2}"
init.restore = weights
slurm.cpus_per_run = 2
slurm.time = 00:20:00
slurm.mem = 120M
[grid other]
ppo.epsilon = 0.5
slurm.cpus_per_run = 2
slurm.time = 00:20:00
slurm.mem = 120M
INI
tap_run "plan shows each set's maximum cost" 0 "wide, other: 6 runs, at most 4 CPU-hours" sweep plan "$tap_dir/sets.ini"
tap_run "and the sum" 0 "together at most 4.333 CPU-hours" sweep plan "$tap_dir/sets.ini"
tap_run "a workspace that is not there is an empty one" 0 "checked      the trainer would start" \
  sweep plan "$tap_dir/sets.ini" --root "$tap_dir/missing"
for k in 0 1; do sweep plan "$tap_dir/sets.ini" --script $k >"$tap_dir/preview.$k" 2>/dev/null; done
tap_check "each array of plan --script has its set" "$(
  grep -q -- '--cpus-per-task=1$' "$tap_dir/preview.0" && grep -q -- '--cpus-per-task=2$' "$tap_dir/preview.1" || cat "$tap_dir"/preview.*)"
sed 's/^slurm.cpus_per_run = 2/slurm.cpus_per_run = 3/' "$tap_dir/sets.ini" >"$tap_dir/wider.ini"
tap_run "a partition's limits are held against each set" 2 "wider.ini: runs of wide, other: no task fits partition main" \
  sweep plan "$tap_dir/wider.ini"
tap_run "8 runs as an array for each set and generation" 0 "8 runs submitted in 3 arrays" submit sets --hold
tap_check "Slurm stores the script that plan showed" "$(cmp <(grep -v '^#SBATCH --hold' <(stored "$(job_of sets 1 0)")) "$tap_dir/preview.0" 2>&1)"
tap_check "parents request one processor, the others two" "$(
  for b in 1 2 3; do asks "$(job_of sets $b 0)" CPUs/Task; done | tr '\n' ' ' | grep -qx 'CPUs/Task=1 CPUs/Task=2 CPUs/Task=2 ' ||
  cat "$SWEEP_ROOT/sweeps/sets/submit.log")"
tap_run "submitting again submits nothing" 0 "8 in the queue already" submit sets
sweep stop sets 2 >/dev/null # of [grid wide] or [grid other], by the order of the manifest
tap_run "a cancelled run goes back with its block's resources" 0 "1 runs submitted in 1 array" submit sets --hold
tap_check "that request two processors" "$(asks "$(job_of sets 4 0)" CPUs/Task | grep -qx 'CPUs/Task=2' || sed -n 1,20p "$SWEEP_ROOT/sweeps/sets/manifest.tsv")"
sweep hold --off sets >/dev/null
tap_wait 300 queue_empty
counts sets 8 20
tap_check "each child began from its parent's end" "$(
  began=$(grep -lE '^parent=[0-9a-f]{16}@20$' "$SWEEP_ROOT"/runs/*/*/state | wc -l); [ "$began" = 4 ] || echo "$began of 4")"

# ---- a part by condition
experiment part 3 20 "time = 00:10:00"
cat >>"$tap_dir/part.ini" <<'INI'
[grid small]
ppo.epsilon = 0.2, 0.3
[grid large]
ppo.epsilon = 0.4
slurm.cpus_per_run = 2
INI
tap_run "plan --where" 0 "runs         2" sweep plan "$tap_dir/part.ini" --where grid=small --where seed=1
tap_check "and leaves out the resources of other blocks" \
  "$(sweep plan "$tap_dir/part.ini" --where grid=small | grep -E 'together|resource sets|: 0 runs')"
tap_run "the same key twice means either" 0 "runs         6" sweep plan "$tap_dir/part.ini" --where ppo.epsilon=0.2 --where ppo.epsilon=0.4
tap_run "a value that no run has" 2 "--where ppo.epsilon=0.7: no run of part has that" sweep plan "$tap_dir/part.ini" --where ppo.epsilon=0.7
tap_run "no such key" 2 "is not a setting; expected grid, search, seed, run or" sweep plan "$tap_dir/part.ini" --where epsilon=0.7
sed 's/^slurm.cpus_per_run = 2/slurm.nodes = 40\nslurm.ranks_per_run = 40/' "$tap_dir/part.ini" >"$tap_dir/huge.ini"
tap_run "a block that fits no partition is refused" 2 "runs of large: no task fits partition main" sweep submit "$tap_dir/huge.ini" --no-check
tap_check "before the others are submitted" "$(squeue -h -o %i)"
tap_run "submit --where hands over these runs alone" 0 "3 runs submitted in 1 array" submit part --where grid=large
tap_run "the manifest has them all" 0 "0 new in the manifest" submit part --where seed=0 --where grid=small
tap_wait 300 queue_empty
tap_run "without a condition the others follow" 0 "4 runs submitted" submit part
tap_wait 300 queue_empty
counts part 9 20

# ---- failed runs again
experiment again 1 20 "time = 00:10:00"
cat >>"$tap_dir/again.ini" <<'INI'
[grid small]
ppo.epsilon = 0.2
[grid large]
ppo.epsilon = 0.3
slurm.mem = 200M
INI
SWEEP_TRAINER=/nonexistent/trainer submit again --no-check >/dev/null
tap_wait 300 queue_empty
tap_run "--mem raises the memory of each set by itself" 0 "2 runs submitted" sweep submit again --failed --mem +50%
tap_check "150 and 300 MB" "$(
  grep -hE '^set.slurm.mem=' "$SWEEP_ROOT"/sweeps/again/batches/00000[34].tsv | sort | tr '\n' ' ' | grep -q '150M.*300M' ||
  grep -H mem "$SWEEP_ROOT"/sweeps/again/batches/*.tsv)"
tap_wait 300 queue_empty
counts again 2 20
tap_done
