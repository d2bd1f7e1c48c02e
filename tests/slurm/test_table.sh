#!/usr/bin/env bash
# The function table of slurm/cluster.h on a real Slurm: results and messages of the commands and of slurmrestd while
# the controller works, is down, is frozen, or lacks munge. The same tests for both.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
trap 'cluster_stop; tap_cleanup' EXIT
# slurmrestd's user runs it, too, and this folder may be one that others cannot enter (/root).
chmod 755 "$tap_dir"
cp "$SWEEP_BUILD/tests/slurm/slurm_table" "$tap_dir/slurm_table"
program=$tap_dir/slurm_table
(umask 077; head -c 32 /dev/urandom >"$tap_dir/jwt.key")
cluster_conf="MaxArraySize=100
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$tap_dir/jwt.key"
if ! cluster_start; then tap_skip "the commands against a real cluster" "$cluster_problem"; tap_done; fi
table() { # name state
  local out; out=$("$program" cli "$2" 2>&1); tap_result "$1" $? "$out"
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

if ! cluster_rest start; then tap_skip "slurmrestd" "$cluster_problem"; tap_done; fi
rest() { # name state [variable=value...]
  local name=$1 state=$2 out; shift 2
  out=$(cluster_as_rest env "$@" "$program" rest "$state" 2>&1); tap_result "slurmrestd: $name" $? "$out"
}
rest "submit, list, cancel, hold, dependencies, the signal" healthy
token=$(scontrol token username=$cluster_rest_name | cut -d= -f2)
rest "TCP with a token" brief SLURMRESTD="$cluster_rest_tcp" SLURM_JWT="$token"
(umask 077; echo "$token" >"$tap_dir/token"); chown $cluster_rest_name "$tap_dir/token"
rest "TCP with a token in a file" brief SLURMRESTD="$cluster_rest_tcp" SLURM_JWT_FILE="$tap_dir/token"
chmod 644 "$tap_dir/token"
tap_run "a token that others can read is refused" 1 "chmod 600" cluster_as_rest env SLURMRESTD="$cluster_rest_tcp" \
  SLURM_JWT_FILE="$tap_dir/token" "$program" rest brief
rest "a wrong token is refused and not repeated" token SLURMRESTD="$cluster_rest_tcp" SLURM_JWT="x$token"
cluster_controller stop
rest "slurmctld stopped: unreachable" down
cluster_controller start
cluster_controller freeze
rest "slurmctld frozen: timed out" frozen
cluster_controller thaw
rest "what timed out was submitted all the same" thawed
cluster_rest stop
tap_run "slurmrestd stopped: unreachable" 1 "connect" "$program" rest brief
tap_done
