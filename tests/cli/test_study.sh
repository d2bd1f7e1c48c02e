#!/usr/bin/env bash
# The study's runs, made anew from docs/study/runs.csv, give the verdicts of docs/study/claims.txt, so that both are of
# the same runs and of this version's statistics. TAP.
set -u
. "$(dirname "$0")/tap.sh"
if ! command -v python3 >/dev/null; then
  tap_skip "the study's runs as a workspace" "no python3"
  tap_done
fi
study() { tests/tools/study.sh "$SWEEP_BUILD" "$tap_dir/study" "$@"; }
tap_expect "the study's runs become a workspace" 0 "new rows from [0-9]* runs" study restore
tap_expect "which takes all of them for finished" 0 "100 % +[0-9]+ finished" sweep status fig8_ddr --root "$tap_dir/study"
tap_check "and has the verdicts of the page" "$(study claims 2>&1 | diff docs/study/claims.txt -)"
tap_done
