#!/usr/bin/env bash
# Error rates of claims' verdicts, few worlds of the tests of each kind; tests/long/test_statistics.sh has them all. TAP.
set -u
worlds=${VERDICT_WORLDS:-300} rates=$(mktemp)
trap 'rm -f "$rates"' EXIT
"$SWEEP_BUILD/tests/cli/cli_verdict_rates" "$worlds" LOW_END NOT_WORSE AT_LEAST_95 UP SWITCH_UP >"$rates" || exit 1
awk -f tests/cli/verdict_rates.awk "$rates"
code=$?
echo 1..1
exit $code
