#!/usr/bin/env bash
# Situations on clusters from public bug reports of comparable tools, on a real Slurm; each check begins with the id of
# its report. tests/cli/test_bug_reports.sh has those that need no cluster. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
chmod 755 "$tap_dir"
for part in bin tests/fault; do mkdir -p "$tap_dir/build/$part"; done
cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} "$tap_dir/build/bin"
cp "$SWEEP_BUILD/tests/fault/paced_trainer" "$tap_dir/build/tests/fault"
export SWEEP_BUILD=$tap_dir/build PATH=$tap_dir/build/bin:$PATH
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
cluster_conf="PartitionName=main Nodes=n[1-4] Default=YES State=UP
PartitionName=secret Nodes=n[1-2] State=UP Hidden=YES
PartitionName=closed Nodes=n[3-4] State=UP AllowGroups=$(id -gn daemon 2>/dev/null || echo daemon)"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then tap_skip "situations on a cluster" "only root can become others"; tap_done; fi
if ! cluster_start; then tap_skip "situations on a cluster" "$cluster_problem"; tap_done; fi
ada=daemon ben=bin group=$(id -g daemon)
for person in $ada $ben; do mkdir "$tap_dir/home.$person"; chown $person "$tap_dir/home.$person"; done
# as PERSON COMMAND...: with ada's group, whose the workspace is; alone: in a group that closed partitions do not take
as() { (umask 002; setpriv --reuid="$1" --regid="$group" --clear-groups env HOME="$tap_dir/home.$1" XDG_CONFIG_HOME="$tap_dir/home.$1/.config" "${@:2}"); }
other() { (umask 002; setpriv --reuid=$ben --regid="$(id -g nobody)" --groups "$group" env HOME="$tap_dir/home.$ben" XDG_CONFIG_HOME="$tap_dir/home.$ben/.config" "$@"); }
rm -rf "$SWEEP_ROOT"
mkdir "$SWEEP_ROOT"; chown $ada:"$group" "$SWEEP_ROOT"; chmod 2775 "$SWEEP_ROOT"
fresh() { rm -rf "$tap_dir"/home.*/.cache; "$@"; }

# ---- S1, S2: partitions that a query does not show
experiment hidden 4 10 "partition = secret"
tap_run "S1: a hidden partition is taken" 0 "4 runs submitted" as $ada sweep submit "$tap_dir/hidden.ini" --hold
tap_run "S2: its jobs are seen" 0 "4 held" fresh as $ada sweep status hidden
tap_run "S2: and submitted once" 0 "4 in the queue already" as $ada sweep submit "$tap_dir/hidden.ini"
tap_run "S2: a run in the queue is not removed" 2 "is in Slurm's queue; stop it first" as $ada sweep rm hidden/3 --yes
tap_run "S2: they can be cancelled" 0 "stopping 4 runs" as $ada sweep stop hidden
experiment closed 3 10 "partition = closed"
tap_run "S2: a partition for one group" 0 "3 runs submitted" as $ada sweep submit "$tap_dir/closed.ini" --hold
tap_run "S2: a colleague who may not use it sees the jobs" 0 "3 held" fresh other sweep status closed
tap_run "S2: and submits nothing twice" 0 "nothing to submit" other sweep submit "$tap_dir/closed.ini"
as $ada scancel -n closed

# ---- S3: greetings
mkdir "$tap_dir/greet"
for program in sbatch squeue sinfo scontrol sacct scancel; do
  real=$(command -v $program) || continue
  printf '#!/bin/bash\necho "-----------------------------------------"\necho "   Welcome to our cluster 24; maintenance 2 | 3"\necho\nexec %s "$@"\n' "$real" >"$tap_dir/greet/$program"
  chmod 755 "$tap_dir/greet/$program"
done
sed -i 's/ 2 | 3//' "$tap_dir"/greet/*
greeted() { as $ada env PATH="$tap_dir/greet:$PATH" "$@"; }
experiment greeted 3 10
tap_run "S3: a site's greeting before each answer: submit" 0 "3 runs submitted" greeted sweep submit "$tap_dir/greeted.ini" --hold
tap_run "S3: status" 0 "3 held" fresh greeted sweep status greeted
tap_run "S3: stop" 0 "stopping 3 runs" greeted sweep stop greeted

# ---- S4, S5: from inside a job or a step
experiment inside 1 10 "ranks_per_run = 2" "mpi = pmix"
as $ada salloc -Q -n1 -N1 --mem-per-cpu=50M sweep submit "$tap_dir/inside.ini" >"$tap_dir/out" 2>&1
tap_wait 60 queue_empty
tap_run "S4: submitted inside salloc --mem-per-cpu" 0 "1 finished" fresh as $ada sweep status inside
experiment step 1 10
as $ada srun -n2 -N1 bash -c "[ \$SLURM_PROCID = 0 ] || exit 0; sweep submit $tap_dir/step.ini" >"$tap_dir/out" 2>&1
tap_wait 60 queue_empty
tap_run "S5: submitted inside a step of two tasks" 0 "1 finished" fresh as $ada sweep status step
experiment seen 1 10
printf '#!/bin/bash\nenv | grep -E "^(SLURM_STEP|PMI|OMPI_COMM)" >%s/leaked; exec %s "$@"\n' "$tap_dir" "$SWEEP_TRAINER" >"$tap_dir/leak"; chmod 755 "$tap_dir/leak"; chmod 1777 "$tap_dir"
SLURM_STEP_NUM_TASKS=2 PMIX_RANK=0 OMPI_COMM_WORLD_SIZE=2 as $ada env SWEEP_TRAINER="$tap_dir/leak" sweep submit "$tap_dir/seen.ini" --no-check >/dev/null 2>&1
tap_wait 60 queue_empty
tap_check "S5: no variable of a step around submit reaches a job" "$(cat "$tap_dir/leaked" 2>&1 | grep -E "^SLURM_STEP_NUM_TASKS=2|^PMIX_RANK|^OMPI_COMM")"

# ---- S6 to S11
for name in SLURM_CLUSTERS SBATCH_CLUSTERS; do
  tap_run "S6: $name is refused by name" 1 "$name=cm4: sweep works with the cluster of slurm.conf alone" as $ada env $name=cm4 sweep submit "$tap_dir/hidden.ini"
done
tap_check "S7: batch logs have no message about an array that was never requested" "$(grep -rl "is not in the journal" "$SWEEP_ROOT"/sweeps/*/batches 2>/dev/null)"
experiment percent 1 10 "mem_per_cpu = 60M"; sed -i '/^mem = /d' "$tap_dir/percent.ini"
tap_run "S9: memory for each processor" 0 "#SBATCH --mem-per-cpu=60M" as $ada sweep plan "$tap_dir/percent.ini" --script 0
tap_run "S9: which runs" 0 "1 runs submitted" as $ada sweep submit "$tap_dir/percent.ini"
experiment both 1 10 "mem_per_cpu = 60M"
tap_run "S9: not together with slurm.mem" 2 "Slurm takes one of them" as $ada sweep plan "$tap_dir/both.ini"
experiment scratch 1 10 'scratch = /tmp/$USER/$SLURM_JOB_ID'
tap_run "S10: variables in the scratch folder" 0 'export TMPDIR="/tmp/$USER/$SLURM_JOB_ID"' as $ada sweep plan "$tap_dir/scratch.ini" --script 0
experiment other 1 10 'scratch = /tmp/$(id)'
tap_run "S10: but no command" 2 "an absolute path" as $ada sweep plan "$tap_dir/other.ini"
mkdir -p "$tap_dir/100%jobs"; chmod 1777 "$tap_dir/100%jobs"
tap_run "S8: a folder that Slurm would take for a pattern" 2 "%" as $ada sweep submit "$tap_dir/scratch.ini" --root "$tap_dir/100%jobs"
for size in 14-0 4GB 4g; do
  experiment sizes 1 10; sed -i "s/^mem = .*/mem = $size/" "$tap_dir/sizes.ini"
  tap_run "S11: slurm.mem = $size" 2 "slurm.mem" as $ada sweep plan "$tap_dir/sizes.ini"
done
tap_done
