#!/usr/bin/env bash
# Runs every test program (TAP from cmocka) and test script (tests/*/test_*.sh, also TAP), several at a time, prints
# failures in full, and ends with "N passed, N failed, N skipped". --long runs those in tests/long, and whole those that
# otherwise run in part, in whose source TEST_LONG stands: one at a time. BUILD/tests/times.csv has each test's seconds of wall time and of processor time, which depends less on the load
# of the machine (without the daemons of a cluster).
# Usage: tests/run.sh BUILD [--long] [NAME-PART...]
# Tests share nothing: each has a folder, ports and daemons of its own, waits for events and never for time to pass,
# and may be slowed down by others at any moment. They wait for a third of their time, so one more than there are
# processors (of which at most 4 count) run at once. Those with a Slurm cluster mostly wait: two of them run beside.
# JOBS=1: one test at a time.
set -u
build=$(cd "${1:-build}" && pwd) limit_s=1800 long=
shift
processors=$(nproc)
[ "$processors" -le 4 ] || { processors=4; export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}; }
jobs=${JOBS:-$((processors + 1))}
unset TEST_LONG
if [ "${1:-}" = --long ]; then export TEST_LONG=1; long=1 limit_s=14400 jobs=1; shift; fi
only=("$@")
cd "$(dirname "$0")/.." || exit 1
export PATH="$build/bin:$PATH" SWEEP_BUILD=$build CMOCKA_MESSAGE_OUTPUT=TAP NO_COLOR=1
unset SWEEP_ROOT MAKEFLAGS MAKELEVEL
export SLURM_CONF=/nonexistent/slurm.conf # no test meets a Slurm that the machine may have; tests/slurm starts its own
export SWEEP_SITE=none # not the user's own ~/.config
export OMP_WAIT_POLICY=passive # the machine may be busy with other things
export LC_ALL=C.UTF-8 # one order of sorting
export COLUMNS=100 # lines of one length
umask 022 # some folders are entered by others
tmp=${TMPDIR:-/tmp}; [ ${#tmp} -le 40 ] || export TMPDIR=/tmp # sockets are there, whose paths must be short

work=$(mktemp -d)
mkfifo "$work/ended"
exec 3<>"$work/ended" # a line for each test that has ended: kind, name, exit code, seconds, those of processors
trap 'rm -rf "$work"' EXIT
stop() { # ends the tests that run; each cleans up after itself
  cat "$work"/*.pid 2>/dev/null | xargs -r kill
  wait
  exit 130
}
trap stop INT TERM

declare -A queue=([cluster]="" [other]="") running=([cluster]=0 [other]=0) most=([cluster]=2 [other]=$jobs)
passed=0 failed=0 skipped=0

start() { # kind name: in the background
  local file=$work/${2//\//@} begun=$SECONDS command=("$build/tests/$2")
  [ "${2%.sh}" = "$2" ] || command=(bash "tests/$2")
  running[$1]=$((running[$1] + 1))
  (
    timeout "$limit_s" "${command[@]}" >"$file.log" 2>&1 3>&- & echo $! >"$file.pid"
    wait $!; code=$?
    rm "$file.pid"
    times >"$file.times" # the second line is of processes that it waited for, and they for
    cpu=$(awk -F'[ms ]+' 'NR == 2 { printf "%.1f", 60 * ($1 + $3) + $2 + $4 }' "$file.times")
    echo "$1 $2 $code $((SECONDS - begun)) $cpu" >&3
  ) &
}

report() { # name code seconds cpu: prints a test's line, with failed and skipped checks
  local name=$1 code=$2 seconds=$3 cpu=$4 log=$work/${1//\//@}.log p f s
  count() { grep -cE "$1" "$log" || true; }
  s=$(count '^ok [0-9]+ .*# (SKIP|skip)'); p=$(( $(count '^ok [0-9]+') - s )); f=$(count '^not ok')
  s=$(( s + $(count '^not ok [0-9]+ .*# SKIP') )); f=$(( f - $(count '^not ok [0-9]+ .*# SKIP') ))
  if [ "$code" -ne 0 ] && [ $f -eq 0 ]; then f=1; fi
  if [ "$code" -eq 124 ]; then echo "it did not end in $limit_s s" >>"$log"; fi
  if [ $(( p + f + s )) -eq 0 ]; then f=1; echo "no test ran" >>"$log"; fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-44s %4d passed %3d failed %3d skipped %4d s %6.1f s CPU\n' "$name" "$p" "$f" "$s" "$seconds" "$cpu"
  echo "$name,$seconds,$cpu" >>"$work/times.csv"
  if [ "$f" -gt 0 ]; then { grep -vE '^ok ' "$log" | head -60; tail -5 "$log"; } | sed 's/^/    /'
  elif [ "$s" -gt 0 ]; then grep -E '# (SKIP|skip)' "$log" | sed 's/^/    /' | head -5; fi
  rm "$log"
}

wanted() { # name
  local part
  for part in "${only[@]}"; do [[ $1 != *"$part"* ]] || return 0; done
  [ ${#only[@]} -eq 0 ]
}

# Longest first, then programs of a second, so that all processors stay busy until the end.
longest=$(ls tests/{tools,mpi,fault,runtime,ptx}/test_*.sh tests/cli/test_{bridge,figures,hosted,atari,procgen}.sh \
  tests/unit/test_{batch_bits,device_rollout,device_training,compact,store_fault,device_update}.c)
for path in $longest $(ls tests/*/test_*.sh tests/unit/test_*.c | grep -vxF "$longest"); do
  name=${path#tests/} name=${name%.c} kind=other
  case "$long:$name" in :long/*) continue ;; 1:long/*) ;; 1:*) grep -q TEST_LONG "$path" || continue ;; esac
  wanted "$name" || continue
  if [ "$jobs" -gt 1 ] && grep -q '^\. tests/slurm/cluster.sh' "$path"; then kind=cluster; fi
  queue[$kind]+="$name "
done
while :; do
  for kind in cluster other; do
    while [ -n "${queue[$kind]}" ] && [ "${running[$kind]}" -lt "${most[$kind]}" ]; do
      start $kind "${queue[$kind]%% *}"
      queue[$kind]=${queue[$kind]#* }
    done
  done
  [ $((running[cluster] + running[other])) -gt 0 ] || break
  read -r kind name code seconds cpu <&3
  running[$kind]=$((running[$kind] - 1))
  report "$name" "$code" "$seconds" "$cpu"
done
if [ ${#only[@]} -eq 0 ] && [ -z "$long" ]; then
  { echo "test,wall_s,cpu_s"; sort -t, -k3,3nr "$work/times.csv"; } >"$build/tests/times.csv"
  awk -F, '{ cpu += $3 } END { printf "\n%.0f s of processors; by test in %s\n", cpu, FILENAME }' "$build/tests/times.csv"
fi
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
