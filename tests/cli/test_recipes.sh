#!/usr/bin/env bash
# The recipes of docs/results.md for other programs, run as printed: a fenced block is found by its first line. Each
# must agree with `analyze sql`. Missing programs are skipped. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with pandas, pyarrow, polars and duckdb
set -u
. "$(dirname "$0")/tap.sh"
page=$(cd "$(dirname "$0")/../../docs" && pwd)/results.md
tap_simulate "$tap_dir/work" 2 20
cd "$tap_dir/work" || exit 1
# Without a limit, and with an integer: R takes the type of a column from its first value.
tool sql results.db "UPDATE run SET config = json_set(config, '$.ppo.epsilon', 'inf') WHERE seed != 1"
analyze export csv results.db >"$tap_dir/out" 2>&1 || { echo "Bail out! $(cat "$tap_dir/out")"; exit 1; }

recipe() { # the block whose first line ends in the name
  ran+=("$1")
  awk -v name="$1" '/^```/ { inside = !inside && /^```./; first = inside; next } inside && first { first = 0; on = substr($0, length($0) - length(name) + 1) == name }
    inside && on' "$page"
}
ran=()
python=
for candidate in "${SWEEP_PYTHON:-}" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null && { python=$candidate; break; }
done
can_import() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null; }
means=$(analyze sql results.db --csv "SELECT run_id, printf('%.12g', avg(kl)) FROM iteration GROUP BY run_id ORDER BY run_id" | tail -n +2)
sums=$(analyze sql results.db --csv "SELECT count(*), count(DISTINCT run_id), sum(iteration), printf('%.12g', sum(kl)), printf('%.12g', sum(ddr)) FROM iteration" | tail -n +2)
show_means='
for run, kl in sorted(mean.items() if isinstance(mean, dict) else mean): print("%s,%.12g" % (run, kl))'
show_sums='
print("%d,%d,%d,%.12g,%.12g" % (len(rows), rows.run_id.nunique(), rows.iteration.sum(), rows.kl.sum(), rows.ddr.sum()))'

# try NAME EXPECTED COMMAND...: passes the recipe, followed by stdin, to the command
try() {
  local name=$1 expected=$2 text out; shift 2
  text=$(recipe "$name"; cat); ran+=("$name")
  [ -n "$text" ] || { tap_result "$name" 1 "is not on the page"; return; }
  out=$("$@" <<<"$text" 2>&1)
  tap_check "$name" "$([ "$out" = "$expected" ] || { echo "expected:"; head -3 <<<"$expected"; echo "found:"; head -5 <<<"$out"; })"
}
skip() { ran+=("$1"); tap_skip "$1" "$2"; }
try_python() { # name, expected, modules, code that prints the result
  local name=$1 module
  [ -n "$python" ] || { skip "$name" "no Python"; return; }
  for module in $3; do can_import "$module" || { skip "$name" "no $module for $python"; return; }; done
  try "$name" "$2" "$python" - <<<"$4"
}

try_python "Python: no package needed" "$means" "" "$show_means"
try_python "pandas: the same into a data frame" "$sums" pandas "$show_sums"
mkdir late; cp results.db late # polars takes types from the first rows, where a column may be empty
tool sql late/results.db "UPDATE iteration SET kl = NULL WHERE run_id IN (SELECT DISTINCT run_id FROM iteration ORDER BY 1 LIMIT 20)"
cd late || exit 1
try_python "polars" "$(tool sql results.db "SELECT count(*), count(DISTINCT run_id), sum(iteration), printf('%.12g', sum(kl)), printf('%.12g', sum(ddr)) FROM iteration" | tr '|' ,)" polars '
print("%d,%d,%d,%.12g,%.12g" % (len(rows), rows["run_id"].n_unique(), rows["iteration"].sum(), rows["kl"].sum(), rows["ddr"].sum()))'
cd ..
name="the sqlite3 shell"
if command -v sqlite3 >/dev/null; then
  rounded() { sh | sort | awk -F'|' '{ printf "%s,%.12g\n", $1, $2 }'; }
  try "$name" "$means" rounded </dev/null
else skip "$name" "no sqlite3"; fi
if command -v Rscript >/dev/null && Rscript -e 'library(RSQLite)' >/dev/null 2>&1; then
  try "R" "$means" Rscript - <<<'cat(sprintf("%s,%.12g\n", mean$run_id, mean$kl), sep = "")'
  infinite=$(tool sql results.db "SELECT count(*), (SELECT count(*) FROM run WHERE seed != 1) FROM run" | tr '|' ,)
  try "R: one setting as numbers" "$infinite numeric" Rscript -e 'options(warn = 2)' -e 'source(file("stdin"))' \
    <<<'cat(sprintf("%d,%d %s\n", nrow(epsilon), sum(is.infinite(epsilon$value)), class(epsilon$value)))'
else skip "R" "no R with RSQLite"; skip "R: one setting as numbers" "no R with RSQLite"; fi

# ---- DuckDB. Its reader of SQLite is an extension of its own, which it fetches when it is first needed, or which Python's
# package duckdb_extension_sqlite_scanner has.
export HOME=$tap_dir
duck() {
  "$python" -c 'import sys, duckdb
rows = duckdb.connect().execute(sys.stdin.read()).fetchall()
for row in rows: print(",".join("%.12g" % x if isinstance(x, float) else str(x) for x in row))'
}
duck_setup() {
  can_import duckdb || { echo "no duckdb for ${python:-Python}"; return; }
  "$python" - 2>/dev/null <<<'
import duckdb, duckdb_extension_sqlite_scanner as package, glob, os, shutil
version, platform = duckdb.connect().execute("SELECT library_version, p FROM pragma_version(), (SELECT platform AS p FROM pragma_platform())").fetchone()
folder = os.path.join(os.environ["HOME"], ".duckdb", "extensions", version, platform)
os.makedirs(folder)
for file in glob.glob(os.path.dirname(package.__file__) + "/extensions/*/*.duckdb_extension"): shutil.copy(file, folder)'
  duck <<<"LOAD sqlite; SELECT 1" >/dev/null 2>&1 || duck <<<"INSTALL sqlite; SELECT 1" >/dev/null 2>&1 || echo "DuckDB cannot fetch its reader of SQLite"
}
without=$(duck_setup)
summary=$(analyze sql results.db --csv "SELECT algorithm, printf('%.12g', avg(best_solve_rate)) FROM run_summary GROUP BY algorithm ORDER BY algorithm" | tail -n +2)
try_duck() {
  [ -z "$without" ] || { skip "$1" "$without"; return; }
  try "$1" "$2" duck </dev/null
}
try_duck "DuckDB: from the database" "$summary"
if [ -z "$without" ]; then # every view of the file, row by row, as SQLite has it
  for view in best_solve_rate run_summary run_ddr layer_metric setting; do
    columns=$(tool sql results.db "SELECT group_concat(name, ', ') FROM pragma_table_info('$view')")
    ours=$(analyze sql results.db --csv "SELECT $columns FROM $view" | tail -n +2 | sort)
    theirs=$(duck <<<"ATTACH 'results.db' AS results (TYPE sqlite, READ_ONLY); SELECT $columns FROM results.$view" 2>&1 | sort)
    same=$(paste -d'\n' <(printf '%s\n' "$ours") <(printf '%s\n' "$theirs" | sed 's/None//g; s/Inf/inf/g') | awk -F, 'NR % 2 { line = $0; n = split(line, a, ","); next }
      { for (i = 1; i <= n; i++) { gsub(/"/, "", a[i]); if (a[i] != $i && !(a[i] + 0 != 0 && ($i - a[i]) ^ 2 <= 1e-18 * a[i] ^ 2)) { print "SQLite: " line; print "DuckDB: " $0; exit } } }')
    tap_check "DuckDB reads the view $view as SQLite does" "$same"
  done
  tap_check "and its list of tables is no error" "$(duck <<<"ATTACH 'results.db' AS results (TYPE sqlite, READ_ONLY); 
    SELECT 'no ' || name FROM (VALUES ('run'), ('evaluation')) AS wanted(name) WHERE name NOT IN (SELECT name FROM (SHOW ALL TABLES))" 2>&1)"
else tap_skip "DuckDB reads the views as SQLite does" "$without"; fi
name="DuckDB: iterations from the export, and Parquet"
if can_import duckdb; then try "$name" "$means" duck </dev/null; else skip "$name" "$without"; fi
try_python "pandas: every exported table with its types, and Parquet (pyarrow)" "$(analyze sql results.db --csv "SELECT 'float64', count(*) FROM iteration" | tail -1)" \
  "pandas pyarrow" 'frame = pandas.read_parquet("export/iteration.parquet"); print("%s,%d" % (frame.kl.dtype, len(frame)))'

tap_check "no recipe of the page is left out" "$(awk '/^```/ { inside = !inside && /^```./; first = inside; next } first { sub(/^(#|--) /, ""); print; first = 0 }' "$page" |
  sort | comm -23 - <(printf '%s\n' "${ran[@]}" | sort -u))"
tap_done
