#!/usr/bin/env bash
# analyze check, merge and export on the command line, and damaged or unexpected databases. TAP.
set -u
. tests/cli/tap.sh
make_workspace="$SWEEP_BUILD/tests/bench/bench_analysis make"
export NO_COLOR=1
$make_workspace "$tap_dir/work" 2 20 || { echo "Bail out! no workspace"; exit 1; }
db=$tap_dir/work/results.db
value() { analyze sql "$1" --csv "$2" 2>/dev/null | tail -1; }

# ---- check
rows=$(value "$db" "SELECT count(*) FROM iteration")
tap_run "check: a sound database" 0 "24 runs, $rows iterations" analyze check "$db"
tap_run "check: diverged runs are reported" 0 "1 failed, diverged or lost" analyze check "$db"
cp "$db" "$tap_dir/bare.db"
tap_run "check: a database without a workspace" 0 "0 damaged" analyze check "$tap_dir/bare.db"
tool sql "$db" "DELETE FROM iteration WHERE iteration = 3 AND run_id IN (SELECT run_id FROM iteration WHERE iteration = 20);
  INSERT INTO iteration(run_id, iteration) VALUES('0123456789abcdef', 1)"
tap_run "check: orphans make it fail" 1 "iteration: 1 rows of runs that are not in" analyze check "$db"
tap_run "check: gaps are named" 1 "1 of its 20 iterations are missing, the first: 3" analyze check "$db"
tap_run "check --json" 1 '"severity": "damage"' analyze check --json "$db"
tap_run "check --repair mends" 0 "23 mended" analyze check --repair "$db"
tap_run "and all is there again" 0 "24 runs, $rows iterations" analyze check "$db"
tap_result "a copy was kept" "$([ -s "$db.before-repair" ]; echo $?)"
tool sql "$tap_dir/other.db" "CREATE TABLE t(a)"
tap_run "check: another program's database" 2 "another program's database" analyze check "$tap_dir/other.db"
tool sql "$tap_dir/bare.db" "PRAGMA user_version = 77"
for command in "check" "sql" "merge -o $tap_dir/x.db" "export csv -o $tap_dir/x" "curves -o $tap_dir/x"; do
  operand=(); [ "$command" = sql ] && operand=("SELECT 1")
  tap_run "a newer database: ${command%% *}" 2 "newer version" analyze $command "$tap_dir/bare.db" "${operand[@]}"
done
tap_run "check: a missing file" 2 "no such file" analyze check "$tap_dir/nowhere.db"
head -c 50000 "$db" >"$tap_dir/cut.db"
tap_run "a cut file" 1 "rebuild" analyze check "$tap_dir/cut.db"
head -c 5000 /dev/urandom >"$tap_dir/noise.db"
tap_run "no database at all" 1 "not a database of sweep" analyze check "$tap_dir/noise.db"
: >"$tap_dir/empty.db"
tap_run "an empty file" 2 "contains no results yet" analyze check "$tap_dir/empty.db"
tap_run "a directory" 2 "is a directory" analyze check "$tap_dir"

# ---- merge
$make_workspace "$tap_dir/second" 3 20
value "$tap_dir/second/results.db" "SELECT 1" >/dev/null # imports
tap_run "merge: the first" 0 "24 runs added" analyze merge "$db" -o "$tap_dir/all.db"
tap_run "merge: the second has 12 more" 0 "12 runs added" analyze merge "$tap_dir/second/results.db" -o "$tap_dir/all.db"
before=$(analyze export csv "$tap_dir/all.db" -o "$tap_dir/one" >/dev/null; cat "$tap_dir"/one/*.csv | cksum)
tap_run "merge again adds nothing" 0 "0 runs added, 0 replaced" analyze merge "$db" "$tap_dir/second/results.db" -o "$tap_dir/all.db"
after=$(analyze export csv "$tap_dir/all.db" -o "$tap_dir/two" >/dev/null; cat "$tap_dir"/two/*.csv | cksum)
tap_result "and changes nothing" "$([ "$before" = "$after" ]; echo $?)"
tap_run "the merged database is valid" 0 "36 runs" analyze check "$tap_dir/all.db"
mkdir "$tap_dir/third"; cp -r "$tap_dir/second/runs" "$tap_dir/third"
(cd "$tap_dir/third" && analyze merge "$db" -o own.db >/dev/null)
for command in "sql own.db 'SELECT count(*) FROM run'" "check own.db" "table own.db"; do
  (cd "$tap_dir/third" && eval "analyze $command" >/dev/null 2>&1)
done
tap_result "a merged database takes in nothing where it lies" "$([ "$(value "$tap_dir/third/own.db" "SELECT count(*) FROM run")" = 24 ]; echo $?)"
cp "$tap_dir/third/own.db" "$tap_dir/third/results.db"
tap_run "nor as results.db: collect" 2 "made by analyze merge" sweep collect --root "$tap_dir/third"
tap_run "nor as results.db: rebuild" 2 "made by analyze merge" sweep collect --rebuild --root "$tap_dir/third"
rm "$tap_dir/third/results.db"
tap_run "a results.db that is merged into continues importing" 0 "runs added" analyze merge "$db" -o "$tap_dir/second/results.db"
tap_run "so it does" 0 "new row" sweep collect --root "$tap_dir/second"
log=$(ls "$tap_dir"/second/runs/*/*/stats.1.tsv | head -1)
all=$(value "$tap_dir/second/results.db" "SELECT count(*) FROM iteration")
cp "$log" "$tap_dir/kept.tsv"; head -c 900 "$tap_dir/kept.tsv" >"$log"; touch "$(dirname "$log")/x"
tap_run "a log that lost its end: collect reports it" 1 "has lost its last" sweep collect --root "$tap_dir/second"
tap_run "and check" 1 "bytes shorter than what was imported" analyze check "$tap_dir/second/results.db"
tap_run "and check --repair leaves it alone" 1 "the rows are kept" analyze check --repair "$tap_dir/second/results.db"
tap_result "no row is lost" "$([ "$(value "$tap_dir/second/results.db" "SELECT count(*) FROM iteration")" = "$all" ]; echo $?)"
cp "$tap_dir/kept.tsv" "$log"
tap_run "merge: the output is a source" 2 "both a source and the output" analyze merge "$db" -o "$db"
tap_run "merge without an output" 2 "expected databases and an output" analyze merge "$db"

# ---- export
tap_run "export csv" 0 "iteration.csv  $rows rows" analyze export csv "$db" -o "$tap_dir/csv"
tap_run "export jsonl" 0 "iteration.jsonl  $rows rows" analyze export jsonl "$db" -o "$tap_dir/jsonl"
tap_result "a CSV has a header and its rows" "$([ "$(wc -l <"$tap_dir/csv/evaluation.csv")" = $((1 + $(value "$db" "SELECT count(*) FROM evaluation"))) ]; echo $?)"
tap_run "the schema names types and units" 0 '"type": "double"' cat "$tap_dir/csv/schema.json"
tap_run "export of a format that is none" 2 "csv|jsonl" analyze export parquet "$db"
tap_run "the files agree with the schema" 0 "good" tool export "$tap_dir"
# ---- a file of an older version: each command reports it in one line, and sweep collect --rebuild recreates the file
old=$tap_dir/old; mkdir -p "$old/runs"
tool sql "$old/results.db" "$(cat tests/unit/schema_v1.sql)"
for command in table check "export csv" sql "merge -o $old/x.db"; do
  operand=(); [ "$command" = sql ] && operand=("SELECT 1")
  tap_run "an older database: ${command%% *}" 2 "rebuild it from the run logs with: sweep collect --rebuild" analyze $command "$old/results.db" "${operand[@]}"
done
tap_run "sweep collect says so, too" 2 "rebuild it from the run logs with: sweep collect --rebuild" sweep collect --root "$old"
tap_check "none of them changed it" "$(v=$(tool sql "$old/results.db" "PRAGMA user_version"); [ "$v" = 1 ] || echo "version $v")"
tap_run "sweep collect --rebuild replaces it" 0 "" sweep collect --rebuild --root "$old"
tap_run "now it is read" 0 "0" analyze sql "$old/results.db" "SELECT count(*) AS n FROM iteration"

for command in check merge export; do tap_run "$command --help" 0 "Usage:" analyze $command --help; done
tap_done
