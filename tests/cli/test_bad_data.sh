#!/usr/bin/env bash
# Figures, claims and reports on difficult data: infinities and missing values, which are counted; files that are not a
# database, truncated, of a newer version or locked; runs without evaluations or rows. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
work=$tap_dir/work db=$tap_dir/work/results.db f=$tap_dir/figures
tap_simulate "$work" 3 40
value() { analyze sql "$db" --csv "$1" 2>/dev/null | tail -1; }
if ! command -v gnuplot >/dev/null; then tap_skip "bad data in figures" "no gnuplot"; tap_done; fi
set -o pipefail
draw() { analyze "$@" -o "$f" | tr -s '\n ' ' '; } # on one line: notes are wrapped

# ---- infinities and missing numbers. In the log of com 8's seed 0: KL infinite at iterations 10 to 12, not measured
# (empty) at 20, gradient norms infinite throughout; in that of seed 1 the last evaluation has no solve rate.
run_of() { grep -l "^com = 8\$" $(grep -l "^seed = $1\$" $(grep -l "ppo_ewma" "$work"/runs/*/*/config.ini)) | head -1; }
edit() { # file, awk statements over fields by name (column["kl"]): lines are written again with their checksums
  { sed -n 1,2p "$1"; tail -n +3 "$1" | awk -F'\t' -v OFS='\t' -v names="$(sed -n 2p "$1")" '
      BEGIN { n = split(names, name, "\t"); for (i = 1; i < n; i++) { sub(/\[.*/, "", name[i]); column[name[i]] = i } }
      { '"$2"'; line = $1; for (i = 2; i < n; i++) line = line OFS $i; print line }' | tool crc; } >"$1.new" && mv "$1.new" "$1"
}
first=$(dirname "$(run_of 0)") second=$(dirname "$(run_of 1)")
[ -s "$first/stats.1.tsv" ] && [ -s "$second/eval.1.tsv" ] || { echo "Bail out! no run logs of com 8"; exit 1; }
edit "$first/stats.1.tsv" '$column["grad_norm_actor"] = "inf"; if ($1 >= 10 && $1 <= 12) $column["kl"] = "inf"; if ($1 == 20) $column["kl"] = ""'
edit "$second/eval.1.tsv" 'if ($1 == 40 && $column["level_set"] == "train") $column["solve_rate"] = ""'
tap_run "a log with infinities is imported whole" 0 "" analyze sql "$db" "SELECT 1"
tap_check "the store has them: infinite is a number, not measured is NULL" "$(said=$(value "SELECT (SELECT count(*) FROM iteration WHERE
  kl = 9e999), (SELECT count(*) FROM iteration WHERE kl IS NULL AND iteration = 20), (SELECT count(*) FROM iteration WHERE
  grad_norm_actor = 9e999), (SELECT count(*) FROM evaluation WHERE solve_rate IS NULL)"); [ "$said" = 3,1,40,1 ] || echo "$said")"
tap_run "curves count values that no line can show" 0 "Infinite values, skipped: 3, in 1 run." draw curves "$db" --y kl --where com=8
tap_run "and of several columns" 0 "skipped: 43, in 1 run." draw curves "$db" --y kl,grad_norm_actor --where algo.name=ppo_ewma
draw curves "$db" --y kl --where com=8 --json >"$tap_dir/json"
tap_check "curves --json counts them" "$([ "$(tool json infinite_values <"$tap_dir/json")" = 3 ] || cat "$tap_dir/json")"
tap_check "the other runs' lines are drawn" "$([ "$(tool json configurations 0 runs <"$tap_dir/json")" = 3 ] || cat "$tap_dir/json")"
tap_run "settings: a run without a finite value is counted" 0 "Not plotted, without a value: 1." draw settings "$db" --x com --group none \
  --where algo.name=ppo_ewma --measure kl
tap_run "a gradient norm that is infinite throughout" 0 "Not plotted, without a value: 1." draw bars "$db" --measure grad_norm \
  --where algo.name=ppo_ewma
tap_run "ddr-vs-solve: a run of infinite KL is counted" 0 "without an evaluation or a finite positive DDR: 1." draw ddr-vs-solve "$db" --where algo.name=ppo_ewma
analyze claims "$db" --sweep two_grids --json >"$tap_dir/json"
missing() { # CLAIM: how many of its runs lack the measure
  for i in $(seq 0 120); do [ "$(tool json claims "$i" id <"$tap_dir/json" 2>/dev/null)" = "$1" ] && tool json claims "$i" without_measure <"$tap_dir/json"; done
}
tap_check "claims use the finite values of a run whose KL was temporarily infinite" "$([ "$(missing com_kl)" = 0 ] || { missing com_kl; head -30 "$tap_dir/json"; })"
tap_check "claims count a run without its measure" "$([ "$(missing com_gradient)" = 1 ] || { missing com_gradient; head -30 "$tap_dir/json"; })"
tap_run "report" 0 "index.html" analyze report "$db" --no-figures -o "$tap_dir/report"
tap_check "the page counts them" "$(grep -q 'Infinite values, skipped: [0-9]*, in 1 run' "$tap_dir/report/index.html" || grep -o '"note": *"[^"]*"' "$tap_dir/report/index.html")"
tap_check "and is valid JSON" "$(sed -n 's/.*<script[^>]*application\/json[^>]*>//p' "$tap_dir/report/index.html" | sed 's/<\/script>.*//' | head -1 | tool json title 2>&1 >/dev/null)"
tap_run "check names them" 0 "KL is infinite in 3 iterations" analyze check "$db"
for command in "advise $db --hours 1 -o $tap_dir/next.ini" "curves $db --terminal" "compare $db com=8 com=128" "table $db -o $f"; do
  # shellcheck disable=SC2086
  analyze $command >"$tap_dir/out" 2>&1; code=$?
  [ $code -le 1 ] && ! grep -qiE "nan|inf\b" "$tap_dir/out"; tap_result "${command%% *} continues, and prints neither nan nor inf" $? "$code: $(head -5 "$tap_dir/out")"
done
analyze export csv "$db" -o "$tap_dir/csv" >/dev/null && analyze export jsonl "$db" -o "$tap_dir/jsonl" >/dev/null
tap_run "exports agree about them" 0 "good" tool export "$tap_dir"

# ---- runs without evaluations, without rows, of one seed, of unequal lengths
cp "$db" "$tap_dir/none.db"; tool sql "$tap_dir/none.db" "DELETE FROM evaluation"
for figure in curves "settings --x com" "heatmap --x com --y epsilon" bars "bars --profile" ddr-vs-solve; do
  # shellcheck disable=SC2086
  tap_expect "${figure%% *} without evaluations says so" 1 "has an evaluation yet|has a value of final" draw ${figure%% *} "$tap_dir/none.db" ${figure#"${figure%% *}"}
done
tap_run "curves of iterations need none" 0 "kl" draw curves "$tap_dir/none.db" --y kl
tap_run "claims without evaluations are undecided" 0 "undecided" analyze claims "$tap_dir/none.db"
tap_run "a report without evaluations" 0 "index.html" analyze report "$tap_dir/none.db" --no-figures -o "$tap_dir/report"
tap_run "advice without evaluations says so" 1 "" analyze advise "$tap_dir/none.db" --hours 1
tool sql "$tap_dir/none.db" "DELETE FROM run; DELETE FROM sweep; DELETE FROM sweep_run"
for command in curves bars table "settings --x com" "claims" "report --no-figures" "advise --hours 1"; do
  # shellcheck disable=SC2086
  tap_run "${command%% *} of a database without runs" 1 "contains no runs yet" analyze ${command%% *} "$tap_dir/none.db" ${command#"${command%% *}"}
done
line=$(value "SELECT max(transitions) FROM evaluation WHERE run_id = '$(basename "$second")' AND level_set = 'train' AND solve_rate IS NOT NULL")
draw curves "$db" --where com=8 >/dev/null
tap_check "a line continues after its shorter run, with the remaining runs" "$(grep -v '^#' "$f/curves.csv" | awk -F, -v end="$line" 'NR > 1 && $(NF-3) != ($(NF-4) > end ? 2 : 3) { print }')"

# ---- files that are no results.db of this version: one line that names the file, and no figure
head -c 30000 "$db" >"$tap_dir/cut.db"
head -c 5000 /dev/urandom >"$tap_dir/noise.db"
tool sql "$tap_dir/other.db" "CREATE TABLE t(a)"
: >"$tap_dir/empty.db"
cp "$db" "$tap_dir/newer.db"; tool sql "$tap_dir/newer.db" "PRAGMA user_version = 77"
says() { case $1 in cut) echo "rebuild" ;; noise) echo "not a database of sweep" ;; other) echo "another program" ;; empty) echo "contains no results yet" ;; newer) echo "newer version" ;; esac; }
for file in cut noise other empty newer; do
  wrong=
  for command in curves bars "bars --profile" table ddr-vs-solve "heatmap --x com --y epsilon" "settings --x com" kl-profile coverage claims report \
    "compare com=8 com=128" "advise --hours 1" "export csv" check "merge -o $tap_dir/merged.db"; do
    name=${command%% *} rest=${command#"${command%% *}"}
    [ "$name" = export ] && name="export csv" rest="-o $tap_dir/x"
    # shellcheck disable=SC2086
    out=$(analyze $name "$tap_dir/$file.db" $rest 2>&1); code=$?
    if [ $code -lt 1 ] || [ $code -gt 2 ] || ! grep -q "$file.db.*$(says $file)" <<<"$out"; then wrong="$wrong$name: $code $out"$'\n'; fi
  done
  tap_check "all commands on a database that is: $file" "$wrong"
done

# ---- locked by another process: all wait five seconds and name the holder. Concurrently, since each waits.
cp "$db" "$tap_dir/locked.db"
mkfifo "$tap_dir/hold"
tool lock "$tap_dir/locked.db" 600 <"$tap_dir/hold" >"$tap_dir/said" & holder=$!
exec 7>"$tap_dir/hold"
tap_wait 60 grep -q locked "$tap_dir/said"
pids=
for command in curves claims "report --no-figures" check "export csv" "sql"; do
  name=${command%% *}
  (
    case $name in sql) set -- sql "$tap_dir/locked.db" "SELECT count(*) FROM run" ;; export) set -- export csv "$tap_dir/locked.db" -o "$tap_dir/x" ;;
      report) set -- report --no-figures "$tap_dir/locked.db" -o "$tap_dir/x" ;; *) set -- "$name" "$tap_dir/locked.db" ;; esac
    analyze "$@" >"$tap_dir/locked.$name" 2>&1; echo "exit $?" >>"$tap_dir/locked.$name"
  ) & pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
for name in curves claims report check export sql; do
  grep -q "exit 1" "$tap_dir/locked.$name" && grep -qE "locked.db: (process [0-9]+ \(cli_tool\)|another program) has kept it locked for 5 s" "$tap_dir/locked.$name"
  tap_result "$name on a locked database" $? "$(cat "$tap_dir/locked.$name")"
done
exec 7>&-; wait "$holder"
tap_run "and when it is free" 0 "36" analyze sql "$tap_dir/locked.db" "SELECT count(*) FROM run"
tap_done
