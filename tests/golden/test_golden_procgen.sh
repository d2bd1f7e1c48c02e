#!/usr/bin/env bash
# golden_procgen on Procgen's own runs: one TAP line per file, then damaged files and wrong usage.
set -u
. tests/cli/tap.sh
program=${SWEEP_BUILD:-build}/tests/golden_procgen
data=../shared/data/golden_procgen
if [ ! -d "$data" ]; then
  tap_skip "golden Procgen runs" "$data is absent"
  tap_done
fi
"$program" "$data" >"$tap_dir/out" 2>"$tap_dir/err"; status=$?
if [ "$status" = 77 ]; then
  tap_skip "golden Procgen runs" "$(tail -n 1 "$tap_dir/err")"
  tap_done
fi
while read -r file rest; do
  case "$file" in *.gold) ;; *) continue ;; esac
  case "$rest" in
    *"  ok"*) tap_result "$file: $rest" 0 ;;
    *) tap_result "$file" 1 "$rest" ;;
  esac
done <"$tap_dir/out"
tap_result "exit status 0 when all agree" "$status"

cp "$data/coinrun_easy_200.gold" "$tap_dir/maze_easy_200.gold"
tap_run "another game's run is not ok" 1 "not ok" "$program" "$tap_dir" maze_easy_200.gold
head -c 20000 "$data/coinrun_easy_200.gold" >"$tap_dir/coinrun_easy_200.gold"
tap_run "a damaged file is named" 1 "not ok: " "$program" "$tap_dir" coinrun_easy_200.gold
mkdir "$tap_dir/bare"
tap_run "no folder given" 2 "usage" "$program"
tap_run "a folder without golden files" 2 "no .gold files" "$program" "$tap_dir/bare"
tap_done
