#!/usr/bin/env bash
# Runs every test program (TAP from cmocka) and every test script (tests/*/test_*.sh, TAP too), prints failures whole,
# and closes with "N passed, N failed, N skipped". Those in tests/long run only, and alone, with --long.
# Usage: tests/run.sh BUILD [--long] [NAME-PART]
set -u
build=$(cd "${1:-build}" && pwd) limit_s=600 long=
shift
if [ "${1:-}" = --long ]; then long=1 limit_s=14400; shift; fi
only=${1:-}
cd "$(dirname "$0")/.."
export PATH="$build/bin:$PATH" SWEEP_BUILD=$build CMOCKA_MESSAGE_OUTPUT=TAP NO_COLOR=1
unset SWEEP_ROOT
export SLURM_CONF=/nonexistent/slurm.conf # no test meets a Slurm that the machine may have; tests/slurm starts its own
export SWEEP_SITE=none # not what the person at this machine has in ~/.config
export OMP_WAIT_POLICY=passive # the machine may be busy with other things
passed=0 failed=0 skipped=0 log=$(mktemp)
trap 'rm -f "$log"' EXIT
count() { grep -cE "$1" "$log" || true; }
run() { # name command...
  local name=$1 start=$SECONDS rc p f s; shift
  case "$name" in *"$only"*) ;; *) return ;; esac
  timeout "$limit_s" "$@" >"$log" 2>&1; rc=$?
  s=$(count '^ok [0-9]+ .*# (SKIP|skip)'); p=$(( $(count '^ok [0-9]+') - s )); f=$(count '^not ok')
  s=$(( s + $(count '^not ok [0-9]+ .*# SKIP') )); f=$(( f - $(count '^not ok [0-9]+ .*# SKIP') ))
  if [ $rc -ne 0 ] && [ $f -eq 0 ]; then f=1; fi
  if [ $(( p + f + s )) -eq 0 ]; then f=1; echo "no test ran" >>"$log"; fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-44s %4d passed %3d failed %3d skipped  %3d s\n' "$name" "$p" "$f" "$s" $((SECONDS - start))
  if [ "$f" -gt 0 ]; then sed 's/^/    /' "$log" | tail -60; elif [ "$s" -gt 0 ]; then grep -E '# (SKIP|skip)' "$log" | sed 's/^/    /' | head -5; fi
}
for t in tests/unit/test_*.c; do [ -z "$long" ] && n=$(basename "$t" .c) && run "unit/$n" "$build/tests/unit/$n"; done
for t in tests/*/test_*.sh; do
  case "$long:$t" in :tests/long/*) continue ;; 1:tests/long/*) ;; 1:*) continue ;; esac
  [ -e "$t" ] && run "${t#tests/}" bash "$t"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
