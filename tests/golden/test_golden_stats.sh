#!/usr/bin/env bash
# golden_stats on values of rliable, scipy and numpy: one TAP line per case, then damaged files and wrong usage.
set -u
. tests/cli/tap.sh
program=${SWEEP_BUILD:-build}/tests/golden_stats
data=../shared/data/golden_ppo
if [ ! -d "$data" ]; then
  tap_skip "golden statistics" "$data is absent"
  tap_done
fi
agree() { # a folder of files
  "$program" "$1" >"$tap_dir/out"; status=$?
  while read -r file rest; do
    case "$file" in *.gold) ;; *) continue ;; esac
    case "$rest" in *"  ok") tap_result "$file: $rest" 0 ;; *) tap_result "$file" 1 "$rest" ;; esac
  done <"$tap_dir/out"
  tap_result "exit status 0 when all agree" "$status"
}
agree "$data"
agree ../shared/data/golden_nets
[ "$(grep -c '^human_normalised' "$tap_dir/out")" = 3 ]
tap_result "normalized scores of Atari, and of Procgen easy and hard" $? "$(cat "$tap_dir/out")"

cp "$data/statistics.gold" "$tap_dir/changed.gold"; chmod u+w "$tap_dir/changed.gold"
middle=$(( $(stat -c %s "$tap_dir/changed.gold") / 2 ))
head -c 65536 /dev/zero | tr '\0' 'A' | dd of="$tap_dir/changed.gold" bs=1 seek="$middle" conv=notrunc status=none
tap_run "a changed truth is not ok" 1 "not ok" "$program" "$tap_dir" changed.gold
head -c 20000 "$data/statistics.gold" >"$tap_dir/short.gold"
tap_run "a cut file is named" 1 "short.gold is not a whole .gold file" "$program" "$tap_dir" short.gold
tap_run "no folder given" 2 "usage" "$program"
tap_run "a folder that is not there" 2 "cannot read the folder" "$program" "$tap_dir/nowhere"
mkdir "$tap_dir/bare"
tap_run "a folder without cases" 2 "no statistics cases" "$program" "$tap_dir/bare"
tap_done
