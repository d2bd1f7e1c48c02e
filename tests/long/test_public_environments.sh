#!/usr/bin/env bash
# Environments of about thirty PyPI packages train or are rejected with a message (tests/tools/public_envs.sh). TAP.
set -u
. tests/cli/tap.sh
mkdir "$tap_dir/public"
tests/tools/public_envs.sh "$tap_dir/public" >"$tap_dir/table" 2>"$tap_dir/errors"
if [ $? = 77 ]; then tap_skip "environments of public packages" "$(cat "$tap_dir/errors")"; tap_done; fi
while IFS=$'\t' read -r packages task observations actions result remarks; do
  case $result in
    result) ;; # the heading
    "not installed"*) tap_skip "$task ($packages)" "$result" ;;
    *) tap_check "$task ($packages): $observations, $actions" "$(grep -v '^trains\|^refused: trainer: .*: ' <<<"$result")" ;;
  esac
done <"$tap_dir/table"
tap_result "a table came" "$([ "$(wc -l <"$tap_dir/table")" -gt 20 ]; echo $?)" "$(tail -3 "$tap_dir/errors")"
tap_done
