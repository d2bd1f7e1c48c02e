# Sourced by tests that submit sweeps to the test cluster (after cli/tap.sh and slurm/cluster.sh): a workspace,
# experiments of a given length, and counts of runs and rows. Each test ends with `counts`: nothing lost, nothing done
# twice. The trainer can be paused by `hold`, `slow` and `fast` (fault/pace.sh), so a run is always in progress when a
# test acts on it.
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_TRAINER=$paced
mkdir -p "$SWEEP_ROOT"
trap 'cluster_stop; tap_cleanup' EXIT

# experiment NAME RUNS ITERATIONS [LINES of [slurm]...]: $tap_dir/NAME.ini; an iteration takes about a millisecond.
# Before it: checkpoint_every=SECONDS (0: none), run_memory=SIZE (100M)
experiments=0
experiment() {
  experiments=$((experiments + 1)) # a separate discount: equal runs in two sweeps would be trained once
  local name=$1 runs=$2 iterations=$3 line; shift 3
  {
    cat <<INI
[sweep]
name = $name
seeds = $runs
[env]
num = 8
morphologies = car
difficulty = 0
level_count = 4
[train]
total_steps = $((8 * 16 * iterations))
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
gamma = 0.9$((experiments + 10))
[net]
width = 16
depth = 1
[eval]
count = 0
[checkpoint]
every = ${checkpoint_every:-0}
[slurm]
mem = ${run_memory:-100M}
INI
    for line in "$@"; do echo "$line"; done
  } >"$tap_dir/$name.ini"
}
folder_of() { echo "$SWEEP_ROOT/runs/${1:0:2}/$1"; } # of a run, by its id
submit() { sweep submit "$tap_dir/$1.ini" "${@:2}"; }
state_count() { grep -lE "^status=$1\$" "$SWEEP_ROOT"/runs/*/*/state 2>/dev/null | wc -l; } # over all sweeps of the workspace
finished() { [ "$(state_count finished)" -ge "$1" ]; }
running() { [ "$(state_count running)" -ge "$1" ]; }
trainer_pids() { # of this workspace; no pgrep in bare Debian
  local file pid program; program=$(readlink -f "$SWEEP_BUILD/tests/fault/paced_trainer")
  for file in $(grep -lzxF -- "$SWEEP_ROOT" /proc/[0-9]*/cmdline 2>/dev/null); do
    pid=${file//[^0-9]/}
    [ "$(readlink "/proc/$pid/exe")" = "$program" ] && echo "$pid"
  done
}
queue_empty() { local jobs; jobs=$(squeue -h -o %i 2>/dev/null) && [ -z "$jobs" ]; } # one that does not answer is not empty
forgotten() { local jobs; jobs=$(squeue -h -a -t all -n "$1" -o %i 2>/dev/null) && [ -z "$jobs" ]; }
# Lets slurmctld forget finished jobs after 2 s: a restart, since 22.05.8 was once gone after `scontrol reconfigure`.
forget_jobs() { sed -i 's/^MinJobAge=.*/MinJobAge=2/' "$SLURM_CONF" && cluster_controller stop && cluster_controller start; }
in_queue() { squeue -h -r -n "$1" -o %i | wc -l; }
iterations_done() { grep -h '^iteration=' "$SWEEP_ROOT"/runs/*/*/state 2>/dev/null | cut -d= -f2 | awk '{ s += $1 } END { print s + 0 }'; }

# counts NAME RUNS ITERATIONS: all runs finished, each once; every iteration of each in results.db once.
counts() {
  local name=$1 runs=$2 iterations=$3 out ids rows
  sweep collect >/dev/null 2>&1
  ids=$(tail -n +3 "$SWEEP_ROOT/sweeps/$name/manifest.tsv" | cut -f2)
  rows=$(analyze sql "$SWEEP_ROOT/results.db" "SELECT count(*) AS n FROM iteration AS i JOIN sweep_run AS s ON s.run_id = i.run_id WHERE s.sweep = '$name'" | grep -oE '[0-9]+' | tail -1)
  lost=$(for id in $ids; do grep -qs '^status=finished' "$SWEEP_ROOT/runs/${id:0:2}/$id/state" || echo "$id"; done | wc -l)
  out="runs $runs, lost $lost; rows $rows of $((runs * iterations))"
  [ "$(wc -w <<<"$ids")" = "$runs" ] && [ "$lost" = 0 ] && [ "$rows" = $((runs * iterations)) ]
  tap_result "$name: runs lost = 0, rows lost = 0" $? "$out"
}
# Every run has been started by one process at a time: no attempt number twice, none left out.
attempts_of() { ls "$SWEEP_ROOT"/runs/*/*/stats.*.tsv 2>/dev/null | wc -l; }

# limit JOBS: as many a user may have in the queue (MaxSubmitJobs), for what `limited COMMAND...` runs and the tasks that it submits: what
# scontrol would say of it with an accounting database.
limit() {
  mkdir -p "$tap_dir/limited"
  cat >"$tap_dir/limited/scontrol" <<SH
#!/bin/bash
if [ "\$1 \$2" = "show config" ]; then
  $(command -v scontrol) "\$@" | sed 's,^AccountingStorageType .*,AccountingStorageType = accounting_storage/slurmdbd,'
  exit
fi
[ "\$1 \$2" = "show assoc_mgr" ] || exec $(command -v scontrol) "\$@"
echo "ClusterName=test Account=lab UserName=$(id -un)($(id -u)) Partition= Priority=0 ID=4"
echo "    ParentAccount= Lft=3 DefAssoc=Yes"
echo "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs=$1(\$(squeue -h -r -o %i | wc -l)) MaxWallPJ="
SH
  chmod +x "$tap_dir/limited/scontrol"
}
limited() { PATH=$tap_dir/limited:$PATH timeout 600 "$@"; }
