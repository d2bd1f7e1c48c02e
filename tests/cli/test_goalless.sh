#!/usr/bin/env bash
# Runs whose environment has no goal have no solve rate: figures, tables and commands show returns instead, and say so.
# TAP.
set -u
. "$(dirname "$0")/tap.sh"
work=$tap_dir/work db=$tap_dir/work/results.db
tool=$SWEEP_BUILD/tests/cli/cli_tool
check() { # name, then a command that is true when all is well
  local name=$1; shift
  "$@"
  tap_result "$name" $? "$(head -15 "$tap_dir/out" "$tap_dir/err" 2>/dev/null)"
}
run() { "$@" >"$tap_dir/out" 2>"$tap_dir/err" </dev/null; rc=$?; }
says() { grep -qE -- "$1" "$tap_dir/out"; }
table() { [ $rc = 0 -o -z "$drawn" ] && says "$1" && ! grep -qiE 'solve.rate' "$tap_dir/out"; }

tap_simulate "$work" 3 20
run analyze table "$db" -o "$tap_dir/out_d" # imports
"$tool" sql "$db" "UPDATE evaluation SET solve_rate = NULL, solve_rate_se = NULL, episode_return = 1000 * episode_return;
  UPDATE iteration SET solve_rate = NULL; UPDATE run SET solve_rate = NULL" >/dev/null
command -v gnuplot >/dev/null && drawn=1 || drawn=

run analyze ddr-vs-solve "$db" -o "$tap_dir/out_d"
check "ddr-vs-solve shows returns" table 'best return \[95 %\] +final return'
check "and prints the return before training" says 'return [0-9.]+ \(before training\)'
check "its CSV says so too" grep -q '^budget,.*,best_return,best_at,final_return$' "$tap_dir/out_d/ddr-vs-solve.csv"
[ $drawn ] && check "and its axis" grep -q "'max return'" "$tap_dir/out_d/ddr-vs-solve.gp"
run analyze ddr-vs-solve "$db" --json -o "$tap_dir/out_d"
check "ddr-vs-solve --json" says '"final_return": \{'
run analyze curves "$db" -o "$tap_dir/out_d"
check "curves show returns" table 'episode_return \[95 %\]'
[ $drawn ] && check "the axis of curves says so" grep -q "'return'" "$tap_dir/out_d/curves.gp"
run analyze curves "$db" --y solve_rate,kl --reference untrained -o "$tap_dir/out_d"
check "also as one of several columns" says '^evaluation.episode_return +com 512 '
run analyze settings "$db" --x ppo.com -o "$tap_dir/out_d"; check "settings" table 'final return \[95 %\]'
run analyze bars "$db" -o "$tap_dir/out_d"; check "bars" table 'final return'
run analyze heatmap "$db" --x ppo.com --y ppo.epsilon -o "$tap_dir/out_d"; check "heatmap" table 'final return'
run analyze bars --profile "$db" --measure best -o "$tap_dir/out_d"; check "profiles" table 'max return'
run analyze table "$db" -o "$tap_dir/out_d"; check "table" table 'final [1-9][0-9][0-9] '
run analyze compare "$db" com=8 com=512; check "compare" table 'A - B: -[12][0-9][0-9] '
run analyze advise "$db" -o "$tap_dir/next.ini"; check "advise" table 'final score [1-9][0-9][0-9]'
run analyze report "$db" -o "$tap_dir/report"; check "report" [ $rc = 0 -a -s "$tap_dir/report/index.html" ]
run analyze check "$db"; check "check finds nothing new" bash -c "! grep -qi solve '$tap_dir/out'"
run analyze sql "$db" --csv "SELECT count(*), count(best_solve_rate), count(last_solve_rate) FROM run_summary"
check "views have NULL" says '^36,0,0$'
run analyze sql "$db" --csv "SELECT count(*) FROM run_summary JOIN
  (SELECT run_id, max(episode_return) AS best, max(iteration) AS last FROM evaluation WHERE level_set = 'train' GROUP BY run_id) AS e
  USING (run_id) JOIN evaluation AS l ON l.run_id = e.run_id AND l.iteration = e.last AND l.level_set = 'train'
  WHERE best_return = e.best AND last_return = l.episode_return"
check "and the returns" says '^36$'
run analyze curves "$db" --terminal; check "the terminal shows returns" table 'return against transitions'
tap_done
