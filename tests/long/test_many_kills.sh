#!/usr/bin/env bash
# A run that is killed 200 times at random moments and resumed ends with the bytes of an uninterrupted one: weights,
# worlds, and every row of its logs, none missing and none contradictory between attempts. TAP; a few minutes.
set -u
steps=2560000
. "$(dirname "$0")/../fault/restart.sh"
train "$work/reference"; rc=$?
tap_check "an undisturbed run finishes" "$([ $rc -eq 0 ] || echo "exit $rc")"
kill_often "$work/killed" 200 100
train "$work/killed" --resume; rc=$?
tap_check "killed $kills times, the run ends with the same checkpoint and rows" "$([ $rc -eq 0 ] || echo "exit $rc"
  [ $kills -eq 200 ] || echo "$kills kills"
  [ "$(rows "$work/killed" stats | wc -l)" -eq 20000 ] || echo "$(rows "$work/killed" stats | wc -l) rows of 20000"
  rows "$work/killed" stats | grep differs | head -3
  same_as_reference "$work/killed")"
tap_done
