#!/usr/bin/env bash
# The command line of `analyze`: figures, tables, redrawing from files, and every error. TAP.
set -u
. "$(dirname "$0")/tap.sh"
folder=$tap_dir
analyze=$(command -v analyze) make_workspace="$SWEEP_BUILD/tests/bench/bench_analysis make"
export NO_COLOR=1
out=$folder/out err=$folder/err
check() { # name, then a command that is true when all is well
  local name=$1; shift
  "$@"
  tap_result "$name" $? "$(head -15 "$out" "$err" 2>/dev/null)"
}
run() { "$analyze" "$@" >"$out" 2>"$err"; rc=$?; }
says() { grep -qF -- "$1" "$out"; }
refuses() { # exit code, part of the message; stdout stays empty
  [ "$rc" = "$1" ] && grep -qF -- "$2" "$err" && [ ! -s "$out" ]
}

if ! $make_workspace "$folder/work" 3 40 2>"$err"; then echo "Bail out! $(cat "$err")"; exit 1; fi
db=$folder/work/results.db
command -v gnuplot >/dev/null && drawn=1 || drawn=

# ---- the figure of the paper
run ddr-vs-solve "$db"
if [ $drawn ]; then
  check "ddr-vs-solve answers" [ $rc = 0 ]
  for kind in svg png csv gp; do check "ddr-vs-solve writes .$kind" [ -s "$folder/work/figures/ddr-vs-solve.$kind" ]; done
  check "the svg says where it comes from" grep -q '^query: SELECT .*FROM run' "$folder/work/figures/ddr-vs-solve.svg"
  check "the png says where it comes from" grep -qa 'iTXtDescription' "$folder/work/figures/ddr-vs-solve.png"
  mkdir "$folder/again" && cp "$folder/work/figures/ddr-vs-solve.gp" "$folder/again"
  (cd "$folder/again" && gnuplot ddr-vs-solve.gp) >"$out" 2>"$err"
  check "gnuplot draws again from the script alone" [ -s "$folder/again/ddr-vs-solve.svg" -a -s "$folder/again/ddr-vs-solve.png" -a ! -s "$err" ]
else
  for i in 1 2 3 4 5 6 7 8; do tap_skip "drawing $i" "no gnuplot"; done
fi
run ddr-vs-solve "$db"
check "the table has a row a configuration" [ "$(grep -cE '^(com|eps) [0-9.]+ +3 ' "$out")" = 12 ]
check "the table is sorted by solve rate" bash -c "grep -oE '^(com|eps) [0-9.]+ +3 +[0-9.]+ [kM] +[0-9.]+' '$out' | awk '{ if (NR > 1 && \$NF > last) exit 1; last = \$NF }'"
check "a correlation is printed under each of four budgets" [ "$(grep -cE 'transitions: Spearman ρ = .*\[' "$out")" = 4 ]
check "the relation is read in a sentence" grep -qE '^At .* transitions (a higher DDR|no relation)' "$out"
check "the solve rate before training is named" says "(before training)"
check "unfinished and diverged runs are counted, not dropped" grep -q '34 finished, 1 stopped, 1 diverged' "$out"
csv=$folder/work/figures/ddr-vs-solve.csv
check "each run is in the CSV once per budget" [ "$(grep -vc '^#' "$csv")" = $((1 + 4 * 36)) ]
check "the CSV's comments carry filter, commit, date and interval" [ "$(grep -cE '^# (filter|program|trainer|date|interval): ' "$csv")" = 5 ]

# The numbers, computed here from the database with nothing of the program's but its SQL.
run sql "$db" --csv "SELECT run_id, sum(transitions / iteration) / sum(kl) FROM iteration WHERE transitions <= 327680 GROUP BY 1 ORDER BY 1"
mine=$(tail -n +2 "$out" | awk -F, '{ printf "%s %.6g\n", $1, $2 }')
# a run that diverged or failed before the budget has the score of its untrained policy
run sql "$db" --csv "SELECT run_id, CASE WHEN (SELECT status IN ('diverged', 'failed') AND transitions < 327600 FROM run WHERE id = run_id)
  THEN coalesce(max(iif(iteration = 0, solve_rate, NULL)), 0) ELSE max(solve_rate) END AS best
  FROM evaluation WHERE level_set = 'train' AND transitions <= 327680 GROUP BY 1 ORDER BY 1"
best=$(tail -n +2 "$out" | awk -F, '{ printf "%s %.6g\n", $1, $2 }')
run ddr-vs-solve "$db" --budget 327600 -o "$folder/one"
header=$(grep -v '^#' "$folder/one/ddr-vs-solve.csv" | head -1)
column() { tr , '\n' <<<"$header" | grep -nx "$1" | cut -d: -f1; }
theirs() { grep -v '^#' "$folder/one/ddr-vs-solve.csv" | tail -n +2 | awk -F, -v c="$(column "$1")" '{ printf "%s %.6g\n", $2, $c }' | sort; }
check "DDR is transitions over KL, up to the budget in whole iterations" [ "$(theirs ddr)" = "$mine" ]
check "the solve rate is the largest up to the budget" [ "$(theirs best_solve_rate)" = "$best" ]
run ddr-vs-solve "$db" --measure final -o "$folder/one"
check "--measure final" [ $rc = 0 -o ! $drawn ]
cp "$folder/one/ddr-vs-solve.csv" "$folder/first.csv"
OMP_NUM_THREADS=3 run ddr-vs-solve "$db" --measure final -o "$folder/one"
check "the bootstrap does not depend on threads" diff <(grep -v '^# date' "$folder/first.csv") <(grep -v '^# date' "$folder/one/ddr-vs-solve.csv")
run ddr-vs-solve "$db" --json -o "$folder/one"
check "--json is JSON and nothing else" bash -c "head -1 '$out' | grep -q '^{' && tail -1 '$out' | grep -q '^}' && grep -q '\"spearman\"' '$out'"
run ddr-vs-solve "$db" --sweep two_grids --where algo.name=ppo --where seed=0 --where seed=1 -o "$folder/one"
check "--sweep and --where choose" says "12 runs of 6 configurations (2 seeds each)"
run ddr-vs-solve "$db" --where com=8 -o "$folder/one"
check "too few configurations are no correlation" bash -c "tr '\n' ' ' <'$out' | grep -q 'too few for a correlation'"
for style in paper slides dark; do run ddr-vs-solve "$db" --style $style --color-by algo.name -o "$folder/one"; check "style $style" [ $rc = 0 -o ! $drawn ]; done

# ---- curves
run curves "$db" -o "$folder/curves"
check "curves: a row a configuration" [ "$(grep -cE '^(com|eps) [0-9.]+ +3 ' "$out")" = 12 ]
check "curves are sorted as numbers" [ "$(grep -oE '^com [0-9]+' "$out" | tr '\n' ' ')" = "com 2 com 8 com 32 com 128 com 512 com 2048 " ]
check "curves: n and the interval are in the CSV" grep -q 'transitions,n,mean,low,high$' "$folder/curves/curves.csv"
check "a run that ended early is not extrapolated" [ "$(grep -E '^eps 0.8,' "$folder/curves/curves.csv" | awk -F, '$4 > 140000 && $5 == 3' | wc -l)" = 0 ]
for y in kl ddr entropy iteration.solve_rate episode_return; do
  run curves "$db" --y $y --x wall_seconds --group algo.name -o "$folder/curves"
  check "curves --y $y" grep -qE '^PPO-EWMA +18 ' "$out"
done
run curves "$db" --level-set easy -o "$folder/easy"
check "curves --level-set" [ "$(awk -F, '/^(com|eps)/ && $7 != 1' "$folder/easy/curves.csv" | wc -l)" = 0 ]
run curves "$db" -o "$folder/easy"
check "by default the training levels are drawn" [ "$(awk -F, '/^(com|eps)/ && $7 != 1' "$folder/easy/curves.csv" | wc -l)" -gt 0 ]
run curves "$db" --y explained_variance
check "a column that was not measured" refuses 1 "no run has a value of iteration.explained_variance"

# ---- help
run --help; check "help lists the figures" bash -c "[ $rc = 0 ] && grep -q ddr-vs-solve '$out' && grep -q curves '$out'"
run figures; check "figures lists the figures" bash -c "[ $rc = 0 ] && grep -q '^ddr-vs-solve ' '$out' && grep -q '^curves ' '$out'"
for command in ddr-vs-solve curves figures sql; do run $command --help; check "$command --help" bash -c "[ $rc = 0 ] && grep -q '^Usage:' '$out' && grep -q -- --help '$out'"; done

# ---- SQL
run sql "$db" "SELECT count(*) AS runs FROM run"; check "sql prints a table" bash -c "grep -qx ' *runs *' '$out' && grep -qx ' *36 *' '$out'"
run sql "$db" "SELECT 1 AS a, 'x' AS b, NULL AS c" --json; check "sql --json" bash -c "tr -d ' \n' <'$out' | grep -qF '[{\"a\":1,\"b\":\"x\",\"c\":null}]'"
run sql "$db" "SELECT run_id, level_set, solve_rate, ddr FROM best_solve_rate ORDER BY 3 DESC" --csv
check "sql reads the views, as its help shows" [ "$(wc -l <"$out")" = 73 ]
run sql "$db" "DELETE FROM run"; check "sql cannot change anything" [ $rc != 0 ]
for text in "VACUUM INTO '$folder/copy.db'" "ATTACH '$folder/copy.db' AS x" "PRAGMA user_version = 9" "CREATE TEMP TABLE x(a)" \
            "INSERT INTO run(id) VALUES('x')" "UPDATE run SET seed = 1 RETURNING id" "DROP VIEW run_ddr" "WITH a AS (SELECT 1) DELETE FROM run"; do
  run sql "$db" "$text"; check "sql refuses: $text" refuses 2 "more than read"
done
run sql "$db" "SELECT load_extension('x')"; check "sql loads no extension" refuses 2 "not authorized"
check "sql made no file" [ ! -e "$folder/copy.db" ]
run sql "$db" --csv "SELECT count(*) AS n FROM run, json_each(config) AS j WHERE j.key = 'ppo'"; check "sql has JSON tables" [ "$(tail -1 "$out")" = 36 ]
run sql "$db" "SELECT '12' AS a, 12 AS b, 9e999 AS c" --json; check "sql --json keeps text that looks like a number" bash -c "tr -d ' \n' <'$out' | grep -qF '[{\"a\":\"12\",\"b\":12,\"c\":\"inf\"}]'"
run sql "$db" "SELECT count(*) AS n FROM run" --csv; check "and nothing was changed" [ "$(tail -1 "$out")" = 36 ]
run sql "$db" "SELEC 1"; check "sql reports SQL's own error" [ $rc != 0 -a -s "$err" ]
run sql "$db"; check "sql without a statement" refuses 2 "one quoted statement"

# ---- refusals
run ddr-vs-solve; check "no database named, and none here" refuses 2 "results.db: no such file"
SWEEP_ROOT=$(dirname "$db") run curves -o "$folder/named"; check "without a name it is that of SWEEP_ROOT, which is reported" grep -q "^note: results of $(dirname "$db")/results.db" "$err"
run ddr-vs-solve "$db" more; check "too many operands" refuses 2 "unexpected argument"
run export parquet "$db"; check "an unknown format" refuses 2 "unknown format \"parquet\"; expected a format (csv, jsonl, tensorboard or mlflow)"
run ddr-vs-solve "$folder/nothing.db"; check "no such file" refuses 2 "no such file"
run curves "$folder/nothing.db"; check "and none is made" [ ! -e "$folder/nothing.db" ]
echo "a letter to a friend, which is no database at all" >"$folder/letter.db"
run ddr-vs-solve "$folder/letter.db"; check "another program's file" refuses 1 "letter.db"
run ddr-vs-solve "$folder"; check "a folder is no database" [ $rc != 0 -a -s "$err" ]
run ddr-vs-solve "$db" --sweep two_grid; check "an unknown sweep: the nearest" refuses 2 "two_grids"
run ddr-vs-solve "$db" --where ppo.con=8; check "an unknown key: the nearest" refuses 2 "ppo.com"
run ddr-vs-solve "$db" --where ppo.com=9; check "a value that no run has: those there are" refuses 1 "2048"
run ddr-vs-solve "$db" --where ppo.com; check "--where without a value" refuses 2 "key=value"
run ddr-vs-solve "$db" --color-by epsilom; check "--color-by an unknown key" refuses 2 "epsilon"
for budget in 0 -5 abc nan inf "" , 1e6,x; do run ddr-vs-solve "$db" --budget "$budget"; check "--budget '$budget'" refuses 2 "budget"; done
run ddr-vs-solve "$db" --budget 1; check "a budget before the first evaluation" refuses 1 "inside these budgets"
run ddr-vs-solve "$db" --measure mean; check "--measure unknown" refuses 2 "best or final"
run ddr-vs-solve "$db" --style pape; check "an unknown style: the nearest" refuses 2 "paper"
run ddr-vs-solve "$db" --level-set test; check "an unknown level set" refuses 2 "train"
run ddr-vs-solve "$db" --bugdet 1e6; check "an unknown option: the nearest" refuses 2 "--budget"
run curves "$db" --y solve_rat; check "an unknown column: the nearest" refuses 2 "solve_rate"
run curves "$db" --y level_set; check "a column that is not a number" refuses 2 "level_set"
run curves "$db" --y "kl FROM run; DROP TABLE run; --"; check "SQL is no column" refuses 2 "no such column"
run curves "$db" --x steps; check "an unknown x" refuses 2 "wall_seconds"
run curvs "$db"; check "an unknown command: the nearest" refuses 2 "curves"
printf 'x' >"$folder/file"
run ddr-vs-solve "$db" -o "$folder/file/figures"; check "a folder that cannot be made" bash -c "[ $rc = 1 ] && grep -q '$folder/file' '$err'"
if [ "$(id -u)" != 0 ]; then
  mkdir -m 555 "$folder/locked"
  run ddr-vs-solve "$db" -o "$folder/locked"; check "a folder without write permission" bash -c "[ $rc = 1 ] && grep -q locked '$err'"
else
  tap_skip "a folder without write permission" "root may write anywhere"
fi
if [ $drawn ]; then
  PATH=/nonexistent run ddr-vs-solve "$db" -o "$folder/without"
  check "without gnuplot: numbers, script and a message" bash -c "[ $rc = 1 ] && grep -q gnuplot '$err' && [ -s '$folder/without/ddr-vs-solve.csv' ] && [ -s '$folder/without/ddr-vs-solve.gp' ]"
else
  tap_skip "without gnuplot" "no gnuplot at all"
fi

# ---- young databases
$make_workspace "$folder/young" 1 1 2>/dev/null
rm -rf "$folder/young/runs"
run ddr-vs-solve "$folder/young/results.db"; check "runs that have not begun" refuses 1 "has an evaluation yet"
run curves "$folder/young/results.db"; check "curves of runs that have not begun" refuses 1 "has an evaluation yet"
run sql "$folder/young/results.db" --csv "SELECT count(*) AS n FROM run"; check "sql answers on them" [ "$(tail -1 "$out")" = 12 ]

# ---- new rows are imported first; damage is reported
$make_workspace "$folder/new" 1 20 2>/dev/null
stats=$(ls "$folder"/new/runs/*/*/stats.1.tsv | head -1)
sed -i '7s/0/1/' "$stats"
run ddr-vs-solve "$folder/new/results.db"
check "run logs next to the database are imported" says "12 runs of 12 configurations (1 seed each)"
check "a damaged line is a note" grep -qi 'damaged line' "$err"
tap_done
