#!/usr/bin/env bash
# slurm/cluster.h's table against a real Slurm: what the commands do and say while it is well, down, frozen, without munge.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
trap 'cluster_stop; tap_cleanup' EXIT
cluster_conf="MaxArraySize=100"
if ! cluster_start; then tap_skip "the commands against a real cluster" "$cluster_problem"; tap_done; fi
table() { # name state
  local out; out=$("$SWEEP_BUILD/tests/slurm/slurm_table" cli "$2" 2>&1); tap_result "$1" $? "$out"
}
table "submit, list, cancel, hold, requeue, forecast, dependencies" healthy
cluster_controller stop
table "slurmctld stopped: unreachable" down
cluster_controller start
cluster_munge stop
table "no munge: unreachable" down
cluster_munge start
cluster_controller freeze
table "slurmctld frozen: timed out" frozen
cluster_controller thaw
table "what timed out was submitted all the same" thawed
table "no configuration: absent" absent
tap_done
