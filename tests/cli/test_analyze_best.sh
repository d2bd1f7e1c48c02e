#!/usr/bin/env bash
# `analyze best` on the simulated workspace: the best values at two budgets by hand, DDR, names, refusals. TAP.
set -u
export COLUMNS=200
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
f=$tap_dir/figures work=$tap_dir/work db=$tap_dir/work/results.db
tap_simulate "$work" 3 40
if ! command -v gnuplot >/dev/null; then tap_skip "best" "no gnuplot"; tap_done; fi
draw() { analyze best "$db" -o "$f" "$@"; }
# column NAME ROW: the value of a column at a budget, from 1
column() { grep -v '^#' "$f/best.csv" | awk -F, -v name="$1" -v row="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } NR == row + 1 { print $at[name] }'; }

# evaluations are every 16 384 transitions
tap_run "best" 0 "changes by the factor" draw -w algo.name=ppo_ewma -w com=2 -w com=8 -w com=32 -w com=128 -w com=512 --budget 32768,327680
for kind in svg png csv gp; do [ -s "$f/best.$kind" ]; tap_result "best.$kind" $?; done
for row in 1 2; do
  budget=$(column budget $row)
  by_hand=$(analyze sql "$db" --csv "SELECT json_extract(config, '\$.ppo.com'), avg(e.solve_rate) FROM evaluation e JOIN run ON run.id = run_id
    WHERE level_set = 'train' AND e.transitions = $budget AND json_extract(config, '\$.algo.name') = 'ppo_ewma' AND json_extract(config, '\$.ppo.com') < 1000
    GROUP BY 1 ORDER BY 2 DESC LIMIT 1" | tail -1)
  awk -v a="$(column ppo.com $row)" -v v="$(column value $row)" -v b="${by_hand%%,*}" 'BEGIN { exit !(b > 0 && a == b && (v - b) ^ 2 < 1e-9 * b * b) }'
  tap_result "the best COM at $budget transitions" $? "$by_hand"
  awk -v s="$(column score $row)" -v b="${by_hand##*,}" -v h="$(column score_high $row)" 'BEGIN { exit !(s <= b + 0.005 && s > b - 0.1 && h > b) }'
  tap_result "its score is not above what the runs show" $? "$(column score $row) $by_hand"
done
awk -v a="$(column value 1)" -v b="$(column value 2)" -v s="$(column shift 2)" 'BEGIN { exit !(s > 1 && (s - b / a) ^ 2 < 1e-9 * s * s) }'; tap_result "the shift is the ratio" $?
awk -v l="$(column shift_low 2)" 'BEGIN { exit !(l > 1) }'; tap_result "and found" $?

# DDR of the best configuration, as ddr-vs-solve has it
com=$(column ppo.com 2)
tap_run "--x ddr" 0 "the best DDR changes by the factor" draw -w algo.name=ppo_ewma -w com=2 -w com=8 -w com=32 -w com=128 -w com=512 --x ddr --budget 32768,327680
analyze ddr-vs-solve "$db" -w algo.name=ppo_ewma -w "com=$com" --budget 327680 --json -o "$f" >"$tap_dir/ddr.json"
awk -v a="$(column value 2)" -v b="$(awk -F'[:,]' '/"ddr"/ { print $2; exit }' "$tap_dir/ddr.json")" 'BEGIN { exit !(b > 0 && (a - b) ^ 2 < 1e-6 * b * b) }'
tap_result "the DDR of ddr-vs-solve" $? "$(column value 2)"

tap_run "names" 0 "ppo_ewma" draw --group algo.name -w seed=0 -w seed=1
tap_run "--json" 0 '"chosen": ' draw --json -w algo.name=ppo_ewma
tap_run "a stopped run ends the budgets" 0 "197 k" draw -w algo.name=ppo_ewma
tap_run "a budget that not all reach" 2 "which all runs reach" draw -w algo.name=ppo_ewma --budget 300000
tap_run "one configuration" 1 "fewer than two configurations" draw -w algo.name=ppo_ewma -w com=8
tap_done
