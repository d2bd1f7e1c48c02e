#!/usr/bin/env bash
# `analyze search` on a sweep without a search: importance over a complete grid, and by the forest over others. TAP.
set -u
export COLUMNS=200
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
f=$tap_dir/figures work=$tap_dir/work db=$tap_dir/work/results.db
tap_simulate "$work" 6 40
if ! command -v gnuplot >/dev/null; then tap_skip "importance over a grid" "no gnuplot"; tap_done; fi
# A grid of COM and lambda, of which only COM matters: seeds 3 to 5 become seeds 0 to 2 with another lambda.
analyze table --runs "$db" >/dev/null # imports the runs
cp "$db" "$tap_dir/grid.db"
tool sql "$tap_dir/grid.db" "UPDATE run SET config = json_set(config, '$.ppo.gae_lambda', 0.8, '$.train.seed', seed - 3), seed = seed - 3 WHERE seed > 2"
search() { analyze search "$@" -o "$f"; }
tap_run "the only sweep needs no name" 0 "12 configurations of a complete grid" search "$tap_dir/grid.db" -w algo.name=ppo_ewma
tap_run "a complete grid" 0 "12 configurations of a complete grid for max final" search "$tap_dir/grid.db" --sweep two_grids -w algo.name=ppo_ewma
tap_run "exact functional ANOVA" 0 "by exact functional ANOVA" search "$tap_dir/grid.db" --sweep two_grids -w algo.name=ppo_ewma
search "$tap_dir/grid.db" --sweep two_grids -w algo.name=ppo_ewma --json >"$tap_dir/json"
# share NAME NAME: share, low, high
share() { tr -d ' \n' <"$tap_dir/json" | grep -o "{\"a\":\"$1\",\"b\":\"$2\"[^}]*}" | sed 's/.*"share":\([^,]*\),"low":\([^,]*\),"high":\([^,}]*\).*/\1 \2 \3/'; }
share ppo.com ppo.com | awk '{ exit !($1 > 0.8 && $2 > 0.5 && $2 <= $1 && $1 <= $3 && $3 <= 1) } END { exit NR == 0 }'; tap_result "the setting that matters" $? "$(share ppo.com ppo.com)"
share ppo.gae_lambda ppo.gae_lambda | awk '{ exit !($1 < 0.1 && $2 <= 0.001 && $3 < 0.3) } END { exit NR == 0 }'; tap_result "one that does not" $? "$(share ppo.gae_lambda ppo.gae_lambda)"
for kind in parallel slices; do [ -s "$f/search-$kind.svg" ]; tap_result "search-$kind.svg" $?; done
tap_run "an incomplete grid is left to the forest" 0 "an incomplete grid" search "$tap_dir/grid.db" --sweep two_grids
tap_run "and says so" 0 "random forest" search "$tap_dir/grid.db" --sweep two_grids
tap_run "one seed" 0 "noise counts as an effect" search "$tap_dir/grid.db" --sweep two_grids -w algo.name=ppo_ewma -w seed=0
tap_run "--search of a sweep without one" 2 "has no search" search "$tap_dir/grid.db" --sweep two_grids --search x
tap_run "nothing varies" 2 "no setting varies" search "$db" --sweep two_grids -w com=8 -w algo.name=ppo_ewma
tap_done
