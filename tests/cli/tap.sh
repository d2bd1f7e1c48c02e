# Sourced by test scripts: TAP output, a temporary directory that is removed at exit, and checks of programs.
tap_count=0 tap_bad=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/sweep-test.XXXXXX")
# Open MPI's launchers of a user share a folder, which one that ends can remove while another begins: "orte_session_dir
# failed". Each test has its own. Both names of the setting: Open MPI 4's and 5's.
export OMPI_MCA_orte_tmpdir_base=$tap_dir/.mpi PRTE_MCA_prte_tmpdir_base=$tap_dir/.mpi
export XDG_CONFIG_HOME=$tap_dir/.config # the user's list of trusted code
tool() { "$SWEEP_BUILD/tests/cli/cli_tool" "$@"; } # SQLite, CRC-32 and JSON for tests; see its opening comment
tap_cleanup() { rm -rf "$tap_dir"; }
trap tap_cleanup EXIT
trap 'trap "" TERM INT; exit 143' TERM INT # only once: a test may be ended by several signals, and the first starts the cleanup

is_long() { [ -n "${TEST_LONG:-}" ]; } # whether this is check-long, for parts that `make check` has no time for

# TAP_TIMES=1 prints what each check has cost since the one before: seconds of processors, of processes that have ended.
tap_ticks=0
tap_time() {
  local fields
  read -ra fields </proc/$$/stat
  local ticks=$((fields[15] + fields[16])) # cutime, cstime
  awk -v ticks=$((ticks - tap_ticks)) 'BEGIN { printf "# %.2f s CPU\n", ticks / 100 }'
  tap_ticks=$ticks
}

# tap_result NAME CODE [DETAIL]: code 0 is good
tap_result() {
  tap_count=$((tap_count + 1))
  [ -z "${TAP_TIMES:-}" ] || tap_time
  if [ "$2" -eq 0 ]; then echo "ok $tap_count - $1"; else
    tap_bad=1; echo "not ok $tap_count - $1"; [ -n "${3:-}" ] && sed 's/^/#   /' <<<"$3"; fi
  return 0
}
tap_skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1 # SKIP $2"; }

# tap_run NAME CODE TEXT COMMAND...: the command exits with CODE and its output contains TEXT (a fixed string)
tap_run() {
  local name=$1 want=$2 text=$3 out rc; shift 3
  out=$("$@" 2>&1); rc=$?
  if [ "$rc" -ne "$want" ]; then tap_result "$name" 1 "exit code $rc, not $want: $out"
  elif ! grep -qF -- "$text" <<<"$out"; then tap_result "$name" 1 "no '$text' in: $out"
  else tap_result "$name" 0; fi
}

# tap_check NAME PROBLEMS: good when there are none
tap_check() { tap_result "$1" "$([ -z "$2" ]; echo $?)" "$2"; }

# tap_is NAME WANTED GOT: good when both texts are the same
tap_is() { tap_check "$1" "$([ "$3" = "$2" ] || echo "'$3' instead of '$2'")"; }

# tap_expect NAME CODE PATTERN COMMAND...: as tap_run with an extended regular expression
tap_expect() {
  local name=$1 want=$2 pattern=$3 out rc; shift 3
  out=$("$@" 2>&1 </dev/null); rc=$?
  tap_check "$name" "$([ $rc -eq "$want" ] || echo "exit $rc instead of $want"
    grep -qE -- "$pattern" <<<"$out" || { echo "no /$pattern/ in:"; head -5 <<<"$out"; })"
}

# tap_simulate ROOT SEEDS EVALUATIONS: a workspace whose runs follow a known model (tests/bench/bench_analysis.c)
tap_simulate() {
  "$SWEEP_BUILD/tests/bench/bench_analysis" make "$@" >"$tap_dir/out" 2>&1 || { echo "Bail out! $(cat "$tap_dir/out")"; exit 1; }
}

# tap_wait SECONDS COMMAND...: until the command succeeds; 1 when it never does, in so many seconds and at least in 300,
# since what takes a second here may take a minute on a machine with other things to do
tap_wait() {
  local end=$((SECONDS + ($1 > 300 ? $1 : 300))); shift
  until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.02; done
}

# tap_executor ROOT SWEEP: prints the id of the process that runs the sweep, once a living one does. Tests kill it: the
# file names 0 while nobody has taken the sweep, which kill would take for the test's own group.
tap_executor_lives() { executor=$(sed -n 's/^executor=\([1-9][0-9]*\)$/\1/p' "$1" 2>/dev/null) && [ -n "$executor" ] && kill -0 "$executor" 2>/dev/null; }
tap_executor() { local executor; tap_wait 300 tap_executor_lives "$1/sweeps/$2/queued" && echo "$executor"; }

tap_done() { echo "1..$tap_count"; exit $tap_bad; }
