#!/usr/bin/env bash
# sweep doctor without Slurm, with a broken workspace or trainer, and on the test cluster with a job on a node.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
trap 'cluster_stop; tap_cleanup' EXIT
export SWEEP_ROOT=$tap_dir/work
mkdir "$SWEEP_ROOT"

doctor() { sweep doctor "$@"; }
no_slurm() { PATH=$SWEEP_BUILD/bin:$tap_dir/empty "$SWEEP_BUILD/bin/sweep" doctor "$@"; }
tap_run "without Slurm: a note, no failure" 0 "sweep submit runs on this machine" no_slurm
tap_run "locks are tried" 0 "work between processes" no_slurm
tap_run "--json" 0 '"worst"' no_slurm --json
tap_run "the job needs Slurm" 1 "prevent sweeps from running" no_slurm --job
tap_run "a trainer that does not run" 1 "install it in the directory of sweep" env SWEEP_TRAINER=/bin/false "$SWEEP_BUILD/bin/sweep" doctor
printf '[slurm]\npartion = x\n' >"$tap_dir/site.ini"
tap_run "a site file with a slip" 1 "slurm.partion is not a setting" env SWEEP_SITE="$tap_dir/site.ini" "$SWEEP_BUILD/bin/sweep" doctor
tap_run "a workspace that is not there" 1 "does not exist yet" doctor --root "$tap_dir/none"
mkdir "$tap_dir/readonly"; chmod 555 "$tap_dir/readonly"
if [ "$(id -u)" = 0 ]; then chmod 755 "$tap_dir"; as=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups); else as=(); fi
tap_run "a workspace that cannot be written" 1 "that you may write to" "${as[@]}" "$SWEEP_BUILD/bin/sweep" doctor --root "$tap_dir/readonly"
[ -z "$(ls -A "$SWEEP_ROOT")" ]; tap_result "it leaves nothing behind" $? "$(ls -A "$SWEEP_ROOT")"

if ! cluster_start; then tap_skip "sweep doctor on a cluster" "$cluster_problem"; tap_done; fi
out=$(doctor --job --wait 60 2>&1); code=$?
said() { grep -qE "$1" <<<"$out"; tap_result "on the cluster: $2" $? "$out"; }
[ $code = 0 ]; tap_result "on the cluster: nothing is bad" $? "$out"
said "version [0-9]+\.[0-9]+.*through its commands" "Slurm's version"
said "1001 tasks per array" "array limit"
said "main\* \(4 of 4 nodes up, 2 CPUs" "partitions"
said "respects a lock of this machine" "locks between machines"
said "agrees with this machine's" "the node's clock"
said "trainer on the node +runs" "the trainer on the node"
tap_run "a partition that is not there" 1 "no such partition" doctor --set slurm.partition=nowhere
tap_run "a job that no node can run" 1 "prevent sweeps from running" doctor --job --wait 5 --set slurm.cpus_per_run=64
mkdir "$tap_dir/fake"
cat >"$tap_dir/fake/apptainer" <<'SH'
#!/bin/bash
# exec --bind FOLDER IMAGE COMMAND...: an image that has programs of its own, and none of the host's
[ "$5" = sweep ] && exec "${@:5}"
echo "no $5 in the image" >&2
exit 255
SH
chmod +x "$tap_dir/fake/apptainer"
inside() { PATH=$tap_dir/fake:$SWEEP_BUILD/bin:$PATH doctor --job --wait 60 --set slurm.container=/images/sweep.sif; }
tap_run "in a container the job calls the image's own sweep" 0 "and sees the workspace" inside
[ -z "$(ls -A "$SWEEP_ROOT")" ]; tap_result "the job leaves nothing behind" $? "$(ls -A "$SWEEP_ROOT")"
cluster_controller stop
tap_run "slurmctld is down" 1 "cannot reach Slurm" doctor
tap_done
