# Sourced by tests and benches that need Slurm: a real one (munged, slurmctld, four slurmd) on loopback, all of it in a
# folder of its own, with ports of its own, ended by the process ids it was started with. It installs nothing and touches
# neither /etc nor a Slurm that runs here.
#
#   . tests/slurm/cluster.sh
#   cluster_start || { tap_skip "..." "$cluster_problem"; tap_done; }
#   ... sbatch, squeue, sweep submit ...: SLURM_CONF points them at it
#   cluster_stop                              also call it from the test's EXIT trap; may be called twice
#
# SLURM_PREFIX=DIR takes Slurm's programs from DIR/bin and DIR/sbin (one that was built there) and not from PATH; $cluster_version is what
# it is, such as 22.05.8. SLURM_REST_VERSION=42 has slurmrestd offer API version v0.0.42 alone.
#
# Before cluster_start: cluster_nodes=4, cluster_cpus=2 (a node), cluster_gpus=0 (a node: fake devices, for scheduling
# only), cluster_conf="..." lines added to slurm.conf (the last of a key counts: MaxArraySize=100).
#
# cluster_cgroup=1: jobs' memory is limited by the kernel (control groups, version 1); cluster_problem says where that cannot be.
#
#   cluster_controller stop|start|freeze|thaw|kill     slurmctld; freeze is SIGSTOP: it hangs, connections time out
#   cluster_munge stop|start                           the authentication daemon
#   cluster_database stop|start                        slurmdbd, with a MariaDB of its own behind a socket. Before cluster_start:
#                                                      cluster_accounting=1; account "lab" with this user is made
#   cluster_node kill|stop|start|freeze|thaw NAME      slurmd of n1 ...; kill also ends the jobs' processes on it
#   cluster_rest start|stop                            slurmrestd, as an ordinary user; SLURMRESTD points at its socket, and
#                                                      $cluster_rest_tcp at another that wants tokens (before cluster_start:
#                                                      AuthAltTypes in cluster_conf). false where that cannot be
#   cluster_as_rest COMMAND...                         as the user of slurmrestd, as whom its jobs run
#   cluster_state JOB                                  "PENDING Reason" ...: what Slurm says of one job or task
#   cluster_log                                        the last lines of all logs, for failure messages
#
# Requeued jobs wait for cred_expire seconds (120 by default at sites, here 5: the least that Slurm takes), dead nodes are noticed after SlurmdTimeout
# (here 10 s), finished jobs forgotten after MinJobAge (here 300 s).
cluster_nodes=4 cluster_cpus=2 cluster_gpus=0 cluster_accounting= cluster_cgroup= cluster_conf= cluster_dir= cluster_problem=
cluster_user=$(id -un) cluster_version=
PATH=${SLURM_PREFIX:+$SLURM_PREFIX/bin:$SLURM_PREFIX/sbin:}$PATH:/usr/sbin:/sbin
cluster_patience_s=180 # for a daemon to answer, on a machine that has other things to do

# Until the command succeeds; 1 when it never does.
cluster_wait() {
  local end=$((SECONDS + cluster_patience_s))
  until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}

cluster_missing() { # why there can be no cluster here; empty when there can
  local command
  for command in munged slurmctld slurmd sbatch squeue scontrol sinfo; do
    command -v $command >/dev/null || { echo "$command is not installed (apt-get install slurm-wlm munge)"; return; }
  done
  if [ -n "$cluster_cgroup" ]; then
    [ "$(id -u)" = 0 ] || { echo "only root can make control groups"; return; }
    [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || { echo "no memory control groups of version 1 at /sys/fs/cgroup/memory"; return; }
  fi
  [ -n "$cluster_accounting" ] || return 0
  for command in mariadbd slurmdbd sacctmgr; do
    command -v $command >/dev/null || { echo "$command is not installed (apt-get install mariadb-server-core slurmdbd)"; return; }
  done
}

cluster_newer() { [ "$(printf '%s\n' "$1" "$cluster_version" | sort -V | head -1)" = "$1" ]; } # VERSION: at least that

cluster_port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A block of ports that nobody listens on: slurmctld, then a slurmd each, slurmrestd, slurmdbd. Below those that Linux gives to outgoing
# connections; several clusters that start at once hold a lock on theirs for as long as their test lives.
cluster_find_ports() {
  local try port
  for try in $(seq 40); do
    cluster_port=$((20000 + (($$ * 37 + try * 101 + RANDOM) % 300) * 40))
    { exec {cluster_port_lock}>>"/tmp/cluster-ports.$cluster_port"; } 2>/dev/null || continue # another user's
    flock -n "$cluster_port_lock" || { exec {cluster_port_lock}>&-; continue; }
    for port in $(seq $cluster_port $((cluster_port + cluster_nodes + 2))); do
      cluster_port_free "$port" || { exec {cluster_port_lock}>&-; continue 2; }
    done
    return 0
  done
  return 1
}

cluster_write_conf() {
  local gres= node_gres=
  if [ "$cluster_gpus" -gt 0 ]; then
    gres="GresTypes=gpu" node_gres="Gres=gpu:$cluster_gpus"
    local devices=(/dev/null /dev/zero /dev/full /dev/random)
    local IFS=,
    echo "Name=gpu File=${devices[*]:0:$cluster_gpus}" >"$cluster_dir/gres.conf"
  fi
  { # the test's own lines first: slurm.conf rejects duplicate keys, so defaults are left out if the test sets them
    printf '%s\n' "$cluster_conf"
    [ -z "$cluster_accounting" ] || cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((cluster_port + cluster_nodes + 2))
AccountingStoragePass=$cluster_dir/munge.sock
AccountingStorageEnforce=associations,limits,qos
CONF
    cat <<CONF | grep -vE "^($(sed -nE 's/^([A-Za-z]+)=.*/\1/p' <<<"$cluster_conf${cluster_accounting:+
AccountingStorageType=}" | paste -sd'|' | sed 's/^$/-/'))="
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$cluster_port
SlurmUser=$cluster_user
SlurmdUser=$cluster_user
AuthType=auth/munge
AuthInfo=socket=$cluster_dir/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$cluster_dir/state
SlurmdSpoolDir=$cluster_dir/spool.%n
SlurmctldPidFile=$cluster_dir/slurmctld.pid
SlurmdPidFile=$cluster_dir/slurmd.%n.pid
SlurmctldLogFile=$cluster_dir/slurmctld.log
SlurmdLogFile=$cluster_dir/slurmd.%n.log
SlurmctldTimeout=120
SlurmdTimeout=10
MessageTimeout=3
KillWait=2
MinJobAge=300
InactiveLimit=0
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,default_queue_depth=1000
SlurmdParameters=config_overrides
TmpFS=$cluster_dir/tmp.%n
MpiDefault=none
MailProg=/bin/true
MaxJobCount=50000
$gres
NodeName=n[1-$cluster_nodes] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[$((cluster_port + 1))-$((cluster_port + cluster_nodes))] CPUs=$cluster_cpus RealMemory=4000 $node_gres
PartitionName=main Nodes=ALL Default=YES MaxTime=1-00:00:00 DefaultTime=10 DefMemPerCPU=100 State=UP
CONF
  } >"$cluster_dir/slurm.conf"
  if [ -n "$cluster_cgroup" ]; then
    printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup ConstrainRAMSpace=yes MinRAMSpace=4 >"$cluster_dir/cgroup.conf"
  elif cluster_newer 24.05; then # it uses cgroups, and systemd for them, unless disabled; older versions do not know the setting
    echo "CgroupPlugin=disabled" >"$cluster_dir/cgroup.conf"
  fi
}

cluster_start() {
  cluster_problem=$(cluster_missing)
  [ -z "$cluster_problem" ] || return 1
  if [ -n "$cluster_cgroup" ]; then # Slurm names them by node and job, so those of another local cluster would have the same names
    exec {cluster_cgroup_lock}>"${TMPDIR:-/tmp}/cluster-cgroup.lock"
    flock -w 300 "$cluster_cgroup_lock" || { cluster_problem="another cluster here uses control groups"; return 1; }
  fi
  cluster_version=$(slurmctld -V | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')
  cluster_dir=$(mktemp -d /tmp/cluster.XXXXXX)
  chmod 755 "$cluster_dir" # munged insists
  mkdir "$cluster_dir/state"
  local i
  for i in $(seq "$cluster_nodes"); do mkdir "$cluster_dir/tmp.n$i"; done # PMIx keeps sockets there
  cluster_find_ports || { cluster_problem="no free ports"; return 1; }
  cluster_write_conf
  export SLURM_CONF=$cluster_dir/slurm.conf
  (umask 077; head -c 128 /dev/urandom >"$cluster_dir/munge.key")
  if ! cluster_munge start || ! cluster_accounting_start || ! cluster_controller start; then
    cluster_problem="Slurm does not start here: $(cluster_log 3 | tr '\n' ' ')"
    cluster_stop
    return 1
  fi
  for i in $(seq "$cluster_nodes"); do cluster_node start "n$i"; done
  if ! cluster_wait cluster_is_up; then
    cluster_problem="the nodes do not come up: $(cluster_log 3)"
    cluster_stop
    return 1
  fi
}
cluster_is_up() { [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = "$cluster_nodes" ]; }

cluster_pid() { cat "$cluster_dir/$1.pid" 2>/dev/null; } # munged, slurmctld, slurmd.n1, slurmrestd

# Ends the process with that pid file with SIGNAL and waits until it is gone.
cluster_end() { # name signal
  local pid; pid=$(cluster_pid "$1")
  [ -n "$pid" ] || return 0
  kill -CONT "$pid" 2>/dev/null
  kill "-$2" "$pid" 2>/dev/null
  local i
  for i in $(seq 400); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  kill -9 "$pid" 2>/dev/null
  rm -f "$cluster_dir/$1.pid"
}

cluster_munge() {
  case $1 in
    start) munged --force --socket="$cluster_dir/munge.sock" --key-file="$cluster_dir/munge.key" --seed-file="$cluster_dir/munge.seed" \
             --pid-file="$cluster_dir/munged.pid" --log-file="$cluster_dir/munged.log" >/dev/null 2>&1 ;;
    stop) cluster_end munged TERM ;;
  esac
}

cluster_mariadb=(--no-defaults --user="$cluster_user" --skip-networking --skip-grant-tables --innodb-buffer-pool-size=64M
  --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0)
cluster_accounting_start() { # the database, and in it this cluster, an account and its user
  [ -n "$cluster_accounting" ] || return 0
  mkdir -m 700 "$cluster_dir/mariadb" &&
    { printf 'CREATE DATABASE mysql;\nUSE mysql;\n'; cat /usr/share/mysql/mysql_system_tables.sql; } | # stored procedures are kept there
      mariadbd "${cluster_mariadb[@]}" --bootstrap --datadir="$cluster_dir/mariadb" >"$cluster_dir/mariadb-install.out" 2>&1 &&
    cluster_database start && sacctmgr -Qi add cluster test >/dev/null &&
    sacctmgr -Qi add account lab >/dev/null && sacctmgr -Qi add user "$cluster_user" account=lab >/dev/null
}

# MariaDB needs no passwords: its socket lies in a folder that only this user can enter, and it listens on no port.
cluster_database_answers() { sacctmgr -n show cluster >/dev/null 2>&1; }
cluster_database() {
  case $1 in
    start)
      local socket=$cluster_dir/mariadb/socket
      mariadbd "${cluster_mariadb[@]}" --datadir="$cluster_dir/mariadb" --socket="$socket" --pid-file="$cluster_dir/mariadbd.pid" \
        >"$cluster_dir/mariadbd.out" 2>&1 </dev/null & disown
      cluster_wait test -S "$socket" || return 1
      (umask 077; cat >"$cluster_dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$cluster_dir/munge.sock
DbdHost=$(hostname)
DbdAddr=127.0.0.1
DbdPort=$((cluster_port + cluster_nodes + 2))
SlurmUser=$cluster_user
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=$cluster_user
StorageLoc=accounting
LogFile=$cluster_dir/slurmdbd.log
PidFile=$cluster_dir/slurmdbd.pid
CONF
      )
      MYSQL_UNIX_PORT=$socket slurmdbd >"$cluster_dir/slurmdbd.out" 2>&1 || return 1
      cluster_wait cluster_database_answers ;;
    stop) cluster_end slurmdbd TERM; cluster_end mariadbd TERM ;;
  esac
}

cluster_controller_answers() { scontrol ping 2>/dev/null | grep -q 'is UP'; }
cluster_controller() {
  case $1 in
    start)
      slurmctld >>"$cluster_dir/slurmctld.out" 2>&1 && cluster_wait cluster_controller_answers ;;
    stop) cluster_end slurmctld TERM ;;
    kill) cluster_end slurmctld KILL ;;
    freeze) kill -STOP "$(cluster_pid slurmctld)" ;;
    thaw) kill -CONT "$(cluster_pid slurmctld)" ;;
  esac
}

# The processes of our jobs on a node: first the slurmstepd, which would report their ends, then its children.
cluster_job_pids() {
  local file pid parent steps= others=
  for file in $(grep -lzx "SLURMD_NODENAME=$1" /proc/[0-9]*/environ 2>/dev/null); do
    grep -qzxF "SLURM_CONF=$cluster_dir/slurm.conf" "$file" 2>/dev/null || continue
    pid=${file//[^0-9]/}
    others+=" $pid"
    parent=$(awk '{ print $4 }' "/proc/$pid/stat" 2>/dev/null)
    [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = slurmstepd ] && steps+=" $parent"
  done
  echo $steps $others
}

cluster_node() {
  case $1 in
    start) slurmd -N "$2" >>"$cluster_dir/slurmd.$2.out" 2>&1 ;;
    stop) cluster_end "slurmd.$2" TERM ;;
    kill) # like a power failure: the daemon and its jobs, at once
      local pids; pids=$(cluster_job_pids "$2")
      cluster_end "slurmd.$2" KILL
      [ -z "$pids" ] || kill -9 $pids 2>/dev/null ;;
    freeze) kill -STOP "$(cluster_pid "slurmd.$2")" ;;
    thaw) kill -CONT "$(cluster_pid "slurmd.$2")" ;;
  esac
  return 0
}

# slurmrestd refuses to run as root and as SlurmUser: so only where root can become somebody else; and not nobody, for whom newer
# versions take no token.
cluster_rest_name=daemon
cluster_rest_user=(setpriv --reuid=$cluster_rest_name --regid="$(id -g $cluster_rest_name)" --clear-groups)
cluster_as_rest() { "${cluster_rest_user[@]}" "$@"; }

# Two daemons, since one of them serves either the same user's socket or tokens: sock and tcp.
cluster_rest_start() { # name jwt-of-its-environment listen
  local plugins parser= # all but those of slurmdbd, without which they do not load
  plugins=$(cluster_as_rest slurmrestd -s list 2>&1 | grep -oE 'openapi/(v[0-9.]+|slurmctld)' | sort -u)
  if [ -n "${SLURM_REST_VERSION:-}" ]; then # up to 23.11 versions are plugins of their own, later ones shapes that one plugin gives its answers
    if grep -qx "openapi/v0.0.$SLURM_REST_VERSION" <<<"$plugins"; then plugins=openapi/v0.0.$SLURM_REST_VERSION
    else plugins=openapi/slurmctld parser="-d v0.0.$SLURM_REST_VERSION"
    fi
  fi
  # shellcheck disable=SC2086 # words
  env $2 SLURM_BITSTR_LEN=0 "${cluster_rest_user[@]}" slurmrestd -s "$(paste -sd, <<<"$plugins")" $parser -a rest_auth/local,rest_auth/jwt "$3" \
    >"$cluster_dir/slurmrestd.$1.out" 2>&1 </dev/null &
  echo $! >"$cluster_dir/slurmrestd.$1.pid"
}

cluster_rest_listens() { [ -S "$cluster_dir/rest/sock" ] && ! cluster_port_free $((cluster_port + cluster_nodes + 1)); }
cluster_rest() {
  case $1 in
    start)
      command -v slurmrestd >/dev/null || { cluster_problem="slurmrestd is not installed (apt-get install slurmrestd)"; return 1; }
      [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { cluster_problem="slurmrestd needs a user of its own: only root can start it here"; return 1; }
      mkdir -p "$cluster_dir/rest"
      chown $cluster_rest_name "$cluster_dir/rest"
      rm -f "$cluster_dir/rest/sock"
      cluster_rest_tcp=http://127.0.0.1:$((cluster_port + cluster_nodes + 1))
      export SLURMRESTD=unix:$cluster_dir/rest/sock
      cluster_rest_start sock "" "$SLURMRESTD"
      cluster_rest_start tcp SLURM_JWT=daemon "${cluster_rest_tcp#http://}"
      cluster_wait cluster_rest_listens && return 0
      cluster_problem="slurmrestd does not start: $(tail -qn3 "$cluster_dir"/slurmrestd.*.out)"
      return 1 ;;
    stop) cluster_end slurmrestd.sock TERM; cluster_end slurmrestd.tcp TERM ;;
  esac
}

cluster_state() { squeue -h -t all -j "$1" -o '%T %r' 2>/dev/null | head -1; }

cluster_log() { tail -qn "${1:-8}" "$cluster_dir"/*.log "$cluster_dir"/*.out 2>/dev/null | tail -40; }

cluster_stop() {
  [ -n "$cluster_dir" ] || return 0
  local i pids=
  for i in $(seq "$cluster_nodes"); do pids+=" $(cluster_job_pids "n$i")"; done
  for i in $(seq "$cluster_nodes"); do cluster_end "slurmd.n$i" KILL; done # no need for the state they would save
  cluster_rest stop
  cluster_end slurmctld KILL
  cluster_end slurmdbd KILL
  cluster_end mariadbd KILL
  [ -z "${pids// /}" ] || kill -9 $pids 2>/dev/null
  cluster_end munged KILL
  [ -z "$cluster_cgroup" ] || find /sys/fs/cgroup/*/slurm_n[0-9]* -depth -type d -exec rmdir {} + 2>/dev/null
  rm -rf "$cluster_dir"
  cluster_dir=
  unset SLURM_CONF SLURMRESTD
}
