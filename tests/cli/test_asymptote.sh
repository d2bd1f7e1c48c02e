#!/usr/bin/env bash
# `analyze asymptote` on the simulated workspace, whose runs approach known plateaus: table, CSV, refusals. TAP.
set -u
export COLUMNS=200
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
f=$tap_dir/figures work=$tap_dir/work db=$tap_dir/work/results.db
tap_simulate "$work" 3 40
if ! command -v gnuplot >/dev/null; then tap_skip "asymptote" "no gnuplot"; tap_done; fi
draw() { analyze asymptote "$@" -o "$f"; }
rows() { grep -v '^#' "$f/asymptote.csv" | tail -n +2; }
# column NAME: the values of a column, one a line, rows of the given configuration
column() { grep -v '^#' "$f/asymptote.csv" | awk -F, -v name="$1" -v row="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $2 == row { print $at[name] }'; }

tap_run "asymptote" 0 "not identified, at least" draw "$db"
for kind in svg png csv gp; do [ -s "$f/asymptote.$kind" ]; tap_result "asymptote.$kind" $?; done
# COM 2 has long reached its plateau: the asymptote is the mean of the last third of its evaluations
plateau=$(analyze sql "$db" --csv "SELECT avg(e.solve_rate) FROM evaluation e JOIN run ON run.id = run_id WHERE level_set = 'train' AND
  e.transitions > 220000 AND json_extract(config, '\$.ppo.com') = 2 AND json_extract(config, '\$.algo.name') = 'ppo_ewma'" | tail -1)
awk -v a="$(column asymptote 'com 2')" -v p="$plateau" 'BEGIN { exit !(a - p < 0.01 && p - a < 0.01 && a > 0.1) }'; tap_result "a curve on its plateau ends there" $? "$plateau"
awk -v l="$(column low 'com 2')" -v a="$(column asymptote 'com 2')" -v h="$(column high 'com 2')" 'BEGIN { exit !(l < a && a < h && h <= 1) }'; tap_result "its interval" $?
[ "$(column identified 'com 2048')" = 0 ] && [ -z "$(column asymptote 'com 2048')" ]; tap_result "a curve that still rises has no asymptote" $?
awk -v b="$(column bound 'com 2048')" 'BEGIN { exit !(b > 0.2 && b < 0.6) }'; tap_result "but a lower bound" $?
# the run of eps 0.8 that diverged at 40 % has the score of its untrained policy from then on
awk -v a="$(column until 'eps 0.8')" 'BEGIN { exit !(a > 320000) }'; tap_result "a diverged run keeps the score of its untrained policy" $?

# crossing budgets: where the mean curve of com 8 first reaches 0.3, by hand
draw "$db" --score 0.3 -w algo.name=ppo_ewma -w com=8 >/dev/null
by_hand=$(analyze sql "$db" --csv "SELECT e.transitions, avg(e.solve_rate) FROM evaluation e JOIN run ON run.id = run_id WHERE level_set = 'train' AND
  json_extract(config, '\$.ppo.com') = 8 AND json_extract(config, '\$.algo.name') = 'ppo_ewma' GROUP BY 1 ORDER BY 1" | tail -n +2 |
  awk -F, '$2 >= 0.3 { print x + ($1 - x) * (0.3 - y) / ($2 - y); exit } { x = $1; y = $2 }')
awk -v a="$(rows | awk -F, '{ print $(NF-2) }')" -v b="$by_hand" 'BEGIN { exit !(b > 0 && a - b < 1e-5 * b && b - a < 1e-5 * b) }'; tap_result "the budget of a score" $? "$by_hand"
tap_run "a score that is not reached has no budget" 0 "> 328 k [> 328 k, > 328 k]" draw "$db" --score 0.99 -w algo.name=ppo_ewma -w com=8
tap_run "--json" 0 '"identified": 1' draw "$db" --json -w com=8 -w algo.name=ppo_ewma
tap_run "two runs have no interval" 0 "[n = 2]" draw "$db" -w com=8 -w algo.name=ppo_ewma -w seed=0 -w seed=1
cp "$db" "$tap_dir/few.db"
tool sql "$tap_dir/few.db" "DELETE FROM evaluation WHERE iteration > 10"
tap_run "few evaluations" 0 "too few points" draw "$tap_dir/few.db"
tap_run "--share" 2 "--share 2: expected a share between 0 and 1" draw "$db" --share 2
tap_run "--y of a log axis" 2 "--y kl: has no asymptote" draw "$db" --y kl
draw "$db" >/dev/null; cp "$f/asymptote.csv" "$tap_dir/first"; OMP_NUM_THREADS=3 draw "$db" >/dev/null
[ -z "$(diff <(grep -v '^# date' "$tap_dir/first") <(grep -v '^# date' "$f/asymptote.csv"))" ]; tap_result "the same bits with any number of threads" $?
tap_done
