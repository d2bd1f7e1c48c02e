#!/usr/bin/env bash
# Figures other than DDR: settings, heat map, bars, profiles, tables, KL profiles, curves' panels, and the papers'
# figures by name. Their values are recomputed here with SQL and awk. TAP.
set -u
export COLUMNS=200 # whole sentences on a line
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
f=$tap_dir/figures work=$tap_dir/work db=$tap_dir/work/results.db
tap_simulate "$work" 3 40
if ! command -v gnuplot >/dev/null; then tap_skip "figures" "no gnuplot"; tap_done; fi
draw() { analyze "$@" -o "$f"; }
rows() { grep -v '^#' "$f/$1.csv" | tail -n +2; }
# same NAME A B: two lists of numbers, one a line, to five digits
same() { # name, theirs, mine
  local difference
  difference=$(paste <(echo "$2") <(echo "$3") | awk -F'\t' '{ n = split($1, a, " "); m = split($2, b, " "); if (n != m) { print; next }
    for (i = 1; i <= n; i++) if (a[i] != b[i] && (a[i] - b[i]) ^ 2 > 1e-10 * (b[i] ^ 2 + 1e-12)) { print; next } }')
  [ -n "$2" ] && [ -z "$difference" ]; tap_result "$1" $? "theirs, mine: $difference"
}

# ---- settings: mean and interval of the last solve rates: Wilson's of the mean with t(0.975, 2) = 4.302653
wilson='function wilson(m, variance, k, w) { k = 18.5128205 * variance / (m * (1 - m)); w = sqrt(k * m * (1 - m) + k * k / 4)
  return m " " (m + k / 2 - w) / (1 + k) " " (m + k / 2 + w) / (1 + k) }'
final="SELECT json_extract(config, '\$.ppo.com') AS com, seed, (SELECT solve_rate FROM evaluation e WHERE e.run_id = run.id AND
  level_set = 'train' ORDER BY iteration DESC LIMIT 1) AS final FROM run WHERE json_extract(config, '\$.algo.name') = 'ppo_ewma'
  ORDER BY com, seed"
analyze sql "$db" --csv "$final" | tail -n +2 >"$tap_dir/final"
mine=$(awk -F, "$wilson"'{ n[$1]++; s[$1] += $3; q[$1] += $3 * $3; if (n[$1] == 3) { m = s[$1] / 3; print wilson(m, (q[$1] - 3 * m * m) / 6) } }' "$tap_dir/final")
tap_run "settings" 0 "17 finished, 1 stopped" draw settings "$db" --x ppo.com --where algo.name=ppo_ewma --group none
same "settings: mean and 95 % interval of each value" "$(rows settings | awk -F, '{ print $(NF-2), $(NF-1), $NF }')" "$mine"
tap_run "a stopped run is counted and hollow" 0 "Unfinished, with current values" draw settings "$db" --x ppo.com --where algo.name=ppo_ewma --group none
tap_run "settings --best-of" 0 "eps " draw settings "$db" --x seed --where algo.name=ppo --group none --best-of ppo.epsilon
best=$(analyze sql "$db" --csv "SELECT seed, max(f) FROM (SELECT seed, (SELECT solve_rate FROM evaluation e WHERE e.run_id = run.id
  AND level_set = 'train' ORDER BY iteration DESC LIMIT 1) AS f FROM run WHERE json_extract(config, '\$.algo.name') = 'ppo') GROUP BY 1 ORDER BY 1" |
  tail -n +2 | cut -d, -f2)
same "the best of a setting at each place" "$(rows settings | awk -F, '{ print $(NF-2) }')" "$best"
tap_run "settings --measure --budget --json" 0 '"mean":' draw settings "$db" --x epsilon --where algo.name=ppo --measure speed --budget 1e5 --json

# ---- heat map: a cell a run
tap_run "heatmap" 0 "final solve rate" draw heatmap "$db" --x ppo.com --y seed --where algo.name=ppo_ewma
same "each cell is its run" "$(rows heatmap | sort -t, -k1,1g -k2,2g | awk -F, '{ print $1, $2, $5 }')" "$(sort -t, -k1,1g -k2,2g "$tap_dir/final" | tr , ' ' | awk '{ print $1 + 0, $2, $3 }')"
tap_run "heatmap without runs in some cells" 0 "unused" bash -c "analyze heatmap '$db' --x ppo.com --y ppo.epsilon -o '$f' >/dev/null && grep -v '^#' '$f/heatmap.csv' | awk -F, '\$3 == 0 { found = 1 } END { print found ? \"unused\" : \"none\" }'"

# ---- bars and profiles: three runs, none of which IQM drops, one task
tap_run "bars" 0 "IQM" draw bars "$db" --where algo.name=ppo_ewma --aggregate mean,iqm,median,"optimality gap"
mean=$(awk '{ print $1 }' <<<"$mine")
same "mean" "$(rows bars | awk -F, '/,mean,/ { print $(NF-2) }')" "$mean"
same "interquartile mean" "$(rows bars | awk -F, '/,iqm,/ { print $(NF-2) }')" "$mean"
same "optimality gap" "$(rows bars | awk -F, '/optimality/ { print $(NF-2) }')" "$(awk '{ print 1 - $1 }' <<<"$mean")"
rows bars | awk -F, '{ if (!($(NF-1) <= $(NF-2) && $(NF-2) <= $NF)) exit 1 }'; tap_result "values lie inside their intervals" $?
tap_run "profiles" 0 "configuration" draw bars --profile "$db" --where algo.name=ppo_ewma
tap_run "profiles have no other interval" 2 "exclude each other" draw bars --profile "$db" --interval t
tap_run "a table of configurations has no measures" 2 "--measure requires --runs" draw table "$db" --measure kl
tap_run "a table of runs has no groups" 2 "exclude each other" analyze table --runs "$db" --group com
tap_run "a table of runs writes no file" 2 "redirect its output" analyze table --runs "$db" -o "$f"
tap_run "a table of runs is text or CSV" 2 "expected text or csv" analyze table --runs "$db" --format latex
same "the share of runs above a score" "$(rows bars-profile | awk -F, '$(NF-4) == 0.5 { print $(NF-2) }')" \
  "$(awk -F, '{ n[$1] += $3 > 0.5; k[$1]++; if (k[$1] == 3) print n[$1] / 3 }' "$tap_dir/final")"
cp "$f/bars.csv" "$tap_dir/first"
OMP_NUM_THREADS=3 draw bars "$db" --where algo.name=ppo_ewma --aggregate mean,iqm,median,"optimality gap" >/dev/null
[ -z "$(diff <(grep -v '^# date' "$tap_dir/first") <(grep -v '^# date' "$f/bars.csv"))" ]; tap_result "the same bits with any number of threads" $?

# ---- curves: panels, averages, spreads
last=$(analyze sql "$db" --csv "SELECT max(transitions) FROM evaluation" | tail -1)
at_end() { rows curves | awk -F, -v last="$last" '/^com/ && $(NF-4) == last { print $(NF-2), $(NF-1), $NF }'; }
sd=$(awk -F, '$1 != 2048 { n[$1]++; s[$1] += $3; q[$1] += $3 * $3; if (n[$1] == 3) { m = s[$1] / 3; d = sqrt((q[$1] - 3 * m * m) / 2)
  print m, (m - d < 0 ? 0 : m - d), (m + d > 1 ? 1 : m + d) } }' "$tap_dir/final")
tap_run "curves --interval sd" 0 "com 8" draw curves "$db" --where algo.name=ppo_ewma --interval sd
same "one standard deviation" "$(at_end | head -5)" "$sd"
tap_run "curves --aggregate iqm --interval bootstrap" 0 "95 % bootstrap" draw curves "$db" --where algo.name=ppo_ewma --aggregate iqm --interval bootstrap
tap_run "curves --aggregate iqm" 0 "solve_rate [95 %]" draw curves "$db" --where algo.name=ppo_ewma --aggregate iqm
same "IQM of three runs is their mean" "$(at_end | head -5 | awk '{ print $1 }')" "$(awk '{ print $1 }' <<<"$sd")"
tap_run "curves --best-of" 0 "(best: com" draw curves "$db" --where algo.name=ppo_ewma --group none --best-of com
(cd "$tap_dir" && analyze curves "$db" --where algo.name=ppo_ewma -o one/plot.png >/dev/null 2>&1; cd one && ls | tr '\n' ' ') >"$tap_dir/named"
tap_check "-o FILE writes this file" "$(diff "$tap_dir/named" <(printf 'plot.csv plot.gp plot.pdf plot.png plot.svg '))"
tap_run "several columns are panels" 0 "iteration.entropy" draw curves "$db" --y solve_rate,kl,entropy --group algo.name --name curves
[ "$(rows curves | cut -d, -f1 | sort -u | wc -l)" = 3 ]; tap_result "a row says which column it is" $?
tap_run "panels by a setting" 0 "seed 1" draw curves "$db" --panel seed --group algo.name --log x --x iteration
tap_run "panels by a setting and a column" 0 "iteration.kl: seed 2" draw curves "$db" --panel seed --group algo.name --y solve_rate,kl --name curves
[ "$(rows curves | cut -d, -f1 | sort -u | wc -l)" = 6 ]; tap_result "a row says which setting and column it is" $?
tap_run "some of the panels" 0 "24 runs of 12 configurations (2 seeds each)" draw curves "$db" --panel seed --panels 2- --group algo.name
[ "$(rows curves | cut -d, -f1 | sort -u | tr '\n' ' ')" = "seed 1 seed 2 " ]; tap_result "and no other" $?
# levels: initial and best values of runs, from SQL alone
draw curves "$db" --where algo.name=ppo_ewma --group none --reference untrained,best,optimum=0.9 >/dev/null
levels=$(sed -n 's/^set arrow [0-9]* from graph 0, first \([0-9.]*\) .* nohead .*/\1/p' "$f/curves.gp" | head -3)
same "references: before training, best, a number" "$levels" "$(analyze sql "$db" --csv "SELECT avg(iif(e.iteration = 0, e.solve_rate, NULL)), max(e.solve_rate), 0.9
  FROM evaluation AS e JOIN run ON run.id = run_id WHERE level_set = 'train' AND json_extract(config, '\$.algo.name') = 'ppo_ewma'" | tail -1 | tr , '\n')"
for kind in svg png pdf csv gp; do [ -s "$f/curves.$kind" ] || [ $kind = pdf ]; tap_result "curves.$kind" $?; done
for style in slides dark; do tap_run "style $style" 0 "heatmap.svg" draw heatmap "$db" --x com --y seed --style $style; done

# ---- tables
tap_run "table" 0 "IQM of final" draw table "$db" --group com --where algo.name=ppo_ewma
tap_run "table in Markdown" 0 "| com 8 | 3 |" draw table "$db" --group com --where algo.name=ppo_ewma --format markdown
tap_run "table in LaTeX" 0 'com 8 & 3 & ' draw table "$db" --group com --where algo.name=ppo_ewma --format latex
grep -q '^% query: ' "$f/table.tex" && grep -q '^\\end{tabular}' "$f/table.tex"; tap_result "LaTeX carries its source" $?
for ending in md tex csv txt; do analyze table "$db" --group com -o "$tap_dir/as/tab.$ending" >/dev/null 2>&1; done
tap_check "the ending of -o FILE is the format" "$(diff <(cd "$tap_dir/as" && grep -lE '^(\| com 8 \||com 8 & |"?com 8"?,|com 8[[:blank:]])' tab.* | tr '\n' ' ') <(printf 'tab.csv tab.md tab.tex tab.txt '))"
draw table "$db" --group com --where algo.name=ppo_ewma --json >"$tap_dir/table.json"
same "table --json" "$(awk -F'[:,]' '/"final"|"final_low"|"final_high"/ { v[++n] = $2 } n == 3 { print v[1] + 0, v[2] + 0, v[3] + 0; n = 0 }' "$tap_dir/table.json")" \
  "$(awk '{ print $1 + 0, $2 + 0, $3 + 0 }' <<<"$mine")"

# ---- one interval per quantity: the mean final solve rate of com 8, wherever it is shown
eight=$(sed -n 2p <<<"$mine")
of_8() { draw "$1" "$db" "${@:2}" -w algo.name=ppo_ewma -w com=8 >/dev/null; }
of_8 bars --group com; of_8 settings --x com --group none; of_8 curves --group none; of_8 heatmap --x com --y algo.name
same "bars" "$(rows bars | awk -F, '/,mean,/ { print $(NF-2), $(NF-1), $NF }')" "$eight"
same "bars' IQM of three" "$(rows bars | awk -F, '/,iqm,/ { print $(NF-2), $(NF-1), $NF }')" "$eight"
same "settings" "$(rows settings | awk -F, '{ print $(NF-2), $(NF-1), $NF }')" "$eight"
same "heatmap" "$(rows heatmap | awk -F, '{ print $(NF-2), $(NF-1), $NF }')" "$eight"
same "curves" "$(rows curves | tail -1 | awk -F, '{ print $(NF-2), $(NF-1), $NF }')" "$eight"
draw ddr-vs-solve "$db" -w com=8 -w algo.name=ppo_ewma --json >"$tap_dir/ddr.json"
same "ddr-vs-solve" "$(awk '/"final_solve_rate"/ { on = 1 } on && /"(mean|low|high)"/ { gsub(/[",]/, ""); printf "%s ", $2 }' "$tap_dir/ddr.json")" "$eight"
analyze compare "$db" com=8 com=32 -w algo.name=ppo_ewma --json >"$tap_dir/compare.json"
same "compare" "$(awk '/"mean"/ { on = 1 } /"iqm"/ { exit } on && /"(estimate|low|high)"/ { gsub(/[",]/, ""); printf "%s ", $2 }' "$tap_dir/compare.json")" "$eight"
analyze report "$db" -w com=8 -w algo.name=ppo_ewma -o "$tap_dir/report" --no-figures >/dev/null
same "report" "$(grep -o '"final":\[[^]]*\]' "$tap_dir/report/index.html" | head -1 | tr -d '"final:[]' | tr , ' ')" "$eight"
# Two runs have no interval, and each figure says so.
two="-w algo.name=ppo_ewma -w com=8 -w seed=0 -w seed=1"
for figure in "table --group com" "bars --group com" "settings --x com --group none" "curves --group com" ddr-vs-solve; do
  tap_run "two runs: ${figure%% *}" 0 "[n = 2]" draw ${figure%% *} "$db" ${figure#"${figure%% *}"} $two
done
tap_run "two runs: the required number is reported" 0 "n = 2: no interval, which needs 3 runs." draw table "$db" --group com $two
draw heatmap "$db" --x com --y algo.name $two >/dev/null
same "two runs: none in the CSV either" "$(rows heatmap | awk -F, '{ print $4, $(NF-1) $NF "none" }')" "2 none"
tap_run "two runs: compare has no verdict" 0 "too few runs for a verdict" analyze compare "$db" com=8 com=32 -w seed=0 -w seed=1
tap_run "--name: two figures in one directory" 0 "/mine.svg" draw bars "$db" --group com --name mine
tap_run "curves of another column have a name of their own" 0 "/curves-kl-ddr.svg" draw curves "$db" --y kl,ddr -w algo.name=ppo_ewma
tap_run "a name is no path" 2 "--name '../x'" draw bars "$db" --name ../x
tap_run "figures --json" 0 '"experiment": "experiments/fig9_scaling.ini"' analyze figures --json
tap_run "report --json" 0 '"bytes": ' analyze report "$db" -w com=8 -w algo.name=ppo_ewma -o "$tap_dir/report" --no-figures --json
tap_run "merge --json" 0 '"runs_added": 36' analyze merge "$db" -o "$tap_dir/merged.db" --json
tap_run "bars --interval bootstrap" 0 "95 % stratified bootstrap" draw bars "$db" --group com --interval bootstrap
# KL's mean is geometric for every kind of interval
for figure in "bars --aggregate mean,iqm" "settings --x algo"; do
  means() { draw $figure "$db" --group none --measure kl --interval "$1" >/dev/null; rows "${figure%% *}" | awk -F, '{ print $(NF-2) }'; }
  same "${figure%% *} --interval bootstrap: the geometric mean of KL" "$(means t)" "$(means bootstrap)"
done
cp "$db" "$tap_dir/consecutive.db"
tool sql "$tap_dir/consecutive.db" "UPDATE run SET config = json_set(config, '$.metrics.profile_every', 1); UPDATE iteration SET kl_consecutive = iif((SELECT key FROM run WHERE id = run_id) % 2, 0.001, 0.1)"
tap_run "the mean of consecutive KL is labeled as geometric, too" 0 "Means are geometric." draw bars "$tap_dir/consecutive.db" --measure kl_consecutive -w com=8
# tasks have equal weight in a mean, for every kind of band: one run of a task weighs as much as the two of another
cp "$db" "$tap_dir/tasks.db"
tool sql "$tap_dir/tasks.db" "UPDATE run SET config = json_set(config, '$.env.difficulty', '0') WHERE seed = 0; UPDATE evaluation SET solve_rate = solve_rate / 4 WHERE run_id IN (SELECT id FROM run WHERE seed = 0)"
means() { draw curves "$tap_dir/tasks.db" -w com=8 --group none --interval "$1" >/dev/null; rows curves | awk -F, '{ print $(NF-2) }'; }
same "curves --interval sd: the mean of the other intervals" "$(means sd)" "$(means t)"

# a trial that a rule has stopped does not run
cp "$db" "$tap_dir/search.db"
tool sql "$tap_dir/search.db" "UPDATE sweep SET ini = '[search s]' || char(10) || 'trials = 6' || char(10) || 'seeds = 3' || char(10) || 'ppo.com = log 2 .. 4096'; UPDATE run SET status = 'stopped by rule' WHERE seed = 1 AND json_extract(config, '$.ppo.com') = 8; UPDATE run SET status = 'running' WHERE seed = 1 AND json_extract(config, '$.ppo.com') = 32"
search() { draw search "$tap_dir/search.db" --sweep two_grids -w algo=ppo_ewma; }
tap_run "search: a trial stopped by rule" 0 "(1 stopped by rule)" search
tap_run "search: one that runs" 0 "(1 not ended)" search

# values of three digits are printed in full in a heat map's cells
cp "$db" "$tap_dir/returns.db"
tool sql "$tap_dir/returns.db" "UPDATE evaluation SET solve_rate = NULL, episode_return = 432"
draw heatmap "$tap_dir/returns.db" --x com --y algo -w algo=ppo_ewma >/dev/null
tap_check "heatmap: returns of hundreds" "$(grep -q "'432'" "$f/heatmap.gp" || grep -o "'4[^']*'" "$f/heatmap.gp" | head -3)"

# a panel of runs without a goal shows the return, the others their solve rate
cp "$db" "$tap_dir/mixed.db"
tool sql "$tap_dir/mixed.db" "UPDATE evaluation SET solve_rate = NULL, episode_return = 432 WHERE run_id IN (SELECT id FROM run WHERE json_extract(config, '$.algo.name') = 'ppo_ewma')"
draw curves "$tap_dir/mixed.db" >"$tap_dir/out"
tap_check "curves: each panel has its column" "$(grep -qE '^evaluation\.episode_return: PPO-EWMA.* 432 ' "$tap_dir/out" && grep -qE '^PPO .* 0\.' "$tap_dir/out" &&
  ! grep -q 'Without a value' "$tap_dir/out" || cat "$tap_dir/out")"
tap_run "and its axis" 0 "'return' at screen" grep "^set label .* 'return'" "$f/curves.gp"
draw curves "$tap_dir/mixed.db" --reference optimum=0.9 >"$tap_dir/out"
tap_check "a reference is drawn where its column is" "$([ "$(grep -c '^set arrow.*first 0\.9 ' "$f/curves.gp")" -eq 1 ] || grep '^set arrow' "$f/curves.gp")"
draw curves "$tap_dir/mixed.db" --y solve_rate,episode_return >"$tap_dir/out"
tap_check "a column with panels of its own replaces no other" \
  "$(grep -q '^evaluation\.episode_return .* 432 ' "$tap_dir/out" || cat "$tap_dir/out"
    awk '/^evaluation\.episode_return/ && / 432 / { print $1, $2, $3 }' "$tap_dir/out" | sort | uniq -d)"
tool sql "$tap_dir/mixed.db" "UPDATE evaluation SET episode_return = 9e999 WHERE iteration = 0 AND solve_rate IS NULL"
draw curves "$tap_dir/mixed.db" >"$tap_dir/out"
tap_check "runs with infinite values are counted" "$(tr '\n' ' ' <"$tap_dir/out" | grep -qE 'skipped: [0-9]+, in [1-9]' || cat "$tap_dir/out")"

# of one run a task no bootstrap knows a spread: no interval, as of every other kind
cp "$db" "$tap_dir/single.db"
tool sql "$tap_dir/single.db" "UPDATE run SET config = json_set(config, '$.env.difficulty', CAST(seed AS TEXT))"
for figure in "bars --group com" "settings --x com --aggregate iqm" "curves --group com --aggregate iqm" "bars --profile --group com"; do
  option="--interval bootstrap" name=${figure%% *}
  [ "${figure% --group*}" = "bars --profile" ] && option='' name=bars-profile
  draw $figure "$tap_dir/single.db" -w algo=ppo_ewma $option >"$tap_dir/out" 2>&1
  tap_check "$name: no interval of one run a task" "$(rows "$name" | awk -F, '{ n++ } $(NF-1) $NF != "" { print; exit }
    END { if (!n) print "no rows" }'; grep -F -- '[0' "$tap_dir/out" | head -2)"
done

# values that a log axis cannot show are reported: two runs whose solve rate is 0 are not in the means of curves
cp "$db" "$tap_dir/zeros.db"
tool sql "$tap_dir/zeros.db" "UPDATE evaluation SET solve_rate = 0 WHERE run_id IN (SELECT id FROM run WHERE seed = 1 AND json_extract(config, '$.ppo.com') IN (8, 32) AND json_extract(config, '$.algo.name') = 'ppo_ewma')"
tap_run "curves --log y: runs at 0 are counted" 0 "and not in its means: 42, in 2 runs." draw curves "$tap_dir/zeros.db" --log y -w com=8 -w com=32
tap_run "and in the picture" 0 "in 2 runs." grep -o "in 2 runs[.]" "$f/curves.svg"
tap_run "the dashed line of those that are left is no later one" 0 "or have no value above 0" grep -o "or have no value above 0" "$f/curves.svg"
draw settings "$tap_dir/zeros.db" --x com --log-y -w algo=ppo_ewma >/dev/null
tap_run "settings --log-y: dots at 0 are counted" 0 "below 0, but in the means: 2." eval 'sed -n "s/^set label [0-9]* .\(.*\). at screen.*/\1/p" "$f/settings.gp" | tr "\n" " "'
# an interval that reaches below 0 is drawn down to the axis
draw settings "$tap_dir/zeros.db" --x com --log-y --measure gain -w algo=ppo_ewma >/dev/null
low=$(grep -o '^set yrange \[[^:]*' "$f/settings.gp" | tail -1 | cut -d'[' -f2)
tap_check "settings --log-y: no interval vanishes" "$(sed -n '/^\$whiskers_0/,/^EOD/p' "$f/settings.gp" |
  awk -v low="$low" 'NF == 5 && $3 == 0 { n++; if ($2 < low) print } END { if (n != 6) print n + 0 " intervals" }')"

# ---- rendering: the SVGs' coordinates, to a hundredth of a pixel
# Dots of a group that is alone at its positions (squares: PPO-EWMA, above the axis) are at the ticks.
draw settings "$db" --x com >"$tap_dir/out"
off_tick() { awk -v FS="[(,' ]+" '/ d=.M[0-9.]+,[0-9.]+ L[0-9.]+,[0-9.]+  / { match($0, / d=.M.*/); split(substr($0, RSTART + 5), p, /[ ,L]+/)
    if (p[1] == p[3] && p[4] - p[2] > 4 && p[4] - p[2] < 5) { tick[p[1]] = 1; floor = p[2] } }
  /href=.#gpPt3. transform/ { match($0, /translate\([0-9.]+,[0-9.]+/); split(substr($0, RSTART + 10), p, ","); if (p[2] + 0 < floor) { n++; if (!(p[1] in tick)) print "a dot at " p[1] } }
  END { if (n != 18) print n + 0 " dots" }' "$1"; }
tap_check "dots are on their ticks, with any other groups" "$(off_tick "$f/settings.svg")"
grep -q '^eps 0.025 *none ' "$tap_dir/out"; tap_result "the table and the figure use the same word for an unused setting" $? "$(head -3 "$tap_dir/out")"
# slanted FILE: strokes that are neither level nor upright; axes, ticks and legends have none either
slanted() { tr '\n\t' '  ' <"$1" | grep -o "stroke='rgb([^>]* d='M[^']*'" | sed "s/.* d='//; s/'//" | awk '{ for (i = 1; i <= NF; i++) {
    place = $i; sub(/^[ML]/, "", place); split(place, p, ",")
    if ($i !~ /^M/) { strokes++; if (p[1] != x && p[2] != y) print "from " x "," y " to " $i } x = p[1]; y = p[2] } }
  END { if (strokes < 40) print strokes + 0 " strokes" }'; }
draw bars "$db" >/dev/null; tap_check "bars' intervals and their caps are level or upright" "$(slanted "$f/bars.svg" | head -3)"
[ "$(grep -c 'with vectors nohead' "$f/bars.gp")" = 2 ]; tap_result "and drawn as strokes: a line of two points has slanted ends in a PNG" $?
draw bars --profile "$db" --group algo.name >/dev/null; tap_check "profiles go in steps" "$(slanted "$f/bars-profile.svg" | head -3)"
draw heatmap "$db" --x com --y epsilon >"$tap_dir/out"
grep -q '^ppo.epsilon . ppo.com  *none ' "$tap_dir/out" && grep -q ' –.*–' "$tap_dir/out" && grep -q 'n = 3 runs; –: no run' "$tap_dir/out"
tap_result "a heat map's table has the picture's words" $? "$(cat "$tap_dir/out")"
grep -qE '>(Number: mean of n = 3 runs; –: no run\.)' "$f/heatmap.svg"; tap_result "and its caption is one thought a line" $? "$(grep -o 'Number.*' "$f/heatmap.svg")"

# ---- on a terminal of any width, no line is longer, and nothing is cut
if command -v script >/dev/null; then
  for width in 60 80 120; do
    for figure in "settings $db --x com" "heatmap $db --x com --y epsilon" "bars $db --aggregate mean,iqm,median" "bars --profile $db" "ddr-vs-solve $db" \
      "curves $db --y solve_rate,kl,entropy --group algo.name"; do
      script -qc "stty cols $width rows 50; analyze $figure -o $f" /dev/null </dev/null 2>&1 | tr -d '\r' | grep -v "^$f/" >"$tap_dir/out"
      tap_check "${figure%% *} at $width columns" "$(LC_ALL=C tr -d '\200-\277' <"$tap_dir/out" | awk -v w="$width" 'length($0) > w { print } END { if (NR < 8) print NR " lines" }'
        grep -F … "$tap_dir/out"
        for word in $(analyze ${figure%% *} ${figure#"${figure%% *}"} -o "$f" | grep -v "^$f/" | tr -sc 'a-zA-Z0-9_' '\n' | sort -u); do grep -qF -- "$word" "$tap_dir/out" || echo "no $word"; done)"
    done
  done
else
  tap_skip "figures on terminals" "no script(1)"
fi

# A narrow terminal: no line wraps, rows can be distinguished, differing settings come first and common ones once.
narrow() { COLUMNS=$1 draw table "$db" --group num_steps,com,algo.name -w algo.name=ppo_ewma >"$tap_dir/narrow"; sed '/^[0-9]* runs of/,$d' "$tap_dir/narrow"; }
for columns in 80 60; do
  [ "$(narrow $columns | awk '{ print length($0) }' | sort -n | tail -1)" -le $columns ]; tap_result "table in $columns columns: no line is longer" $? "$(cat "$tap_dir/narrow")"
  [ "$(narrow $columns | grep '^com ' | sort | uniq -d | wc -l)-$(narrow $columns | grep -c '^com ')" = 0-6 ]; tap_result "table in $columns columns: every row its own" $? "$(cat "$tap_dir/narrow")"
  [ "$(narrow $columns | grep -c '^all: algo ppo_ewma, steps 64$')" = 1 ]; tap_result "table in $columns columns: common settings are printed once" $? "$(cat "$tap_dir/narrow")"
done

# ---- conditions
tap_run "max among the runs that the other conditions leave" 0 "3 runs of 1 configuration" draw curves "$db" --where algo.name=ppo_ewma \
  --where epsilon=max --where com=8
tap_run "--where KEY=max" 0 "3 runs of 1 configuration" draw curves "$db" --where algo.name=ppo_ewma --where com=max
mode=$(analyze sql "$db" --csv "SELECT json_extract(config, '\$.env.num') AS worlds, count(*) AS n FROM run GROUP BY worlds ORDER BY n DESC" | sed -n 2p)
tap_run "--where KEY=mode: the most frequent value" 0 "${mode#*,} runs of" draw curves "$db" --where env.num=mode
tap_run "--where KEY=min" 0 "3 runs of 1 configuration" draw curves "$db" --where algo.name=ppo --where epsilon=min
tap_run "--common repeats a reference in each panel" 0 "36 runs of 12 configurations" draw curves "$db" --panel seed --group algo.name,epsilon,com --common seed=1
[ "$(rows curves | awk -F, '{ print $1 }' | sort -u | tr '\n' ' ')" = "seed 0 seed 2 " ]; tap_result "and has no panel of its own" $?

# ---- refusals
refused() { local name=$1 text=$2; shift 2; tap_run "$name" 2 "$text" draw "$@"; }
refused "an unknown figure: the nearest" "settings" setings "$db"
refused "an unknown paper figure: the nearest" "fig1" fig1z "$db"
refused "settings without --x" "--x KEY" settings "$db"
refused "an unknown setting: the nearest" "ppo.com" settings "$db" --x ppo.con
refused "a name of two settings" "ppo.lr_schedule or pqn.lr_schedule" settings "$db" --x lr_schedule
refused "two settings on one axis" "one setting" settings "$db" --x com,epsilon
refused "an unknown measure: the nearest" "final" settings "$db" --x com --measure finall
refused "a budget that is none" "budget" settings "$db" --x com --budget=-3
refused "heatmap with one axis" "--y KEY" heatmap "$db" --x com
refused "an unknown aggregate" "iqm" bars "$db" --aggregate iqmm
refused "an unknown average" "did you mean iqm" curves "$db" --aggregate iqms
refused "an unknown interval" "bootstrap" curves "$db" --interval students
refused "a standard deviation of an IQM" "takes t or bootstrap" curves "$db" --aggregate iqm --interval sd
refused "bars of an unknown interval" "t or bootstrap" bars "$db" --interval sd
refused "panels of nothing" "there are no panels" curves "$db" --panels 1-2
for range in 0 2-1 x 1-y -; do refused "panels $range" "expected numbers from 1" curves "$db" --panel seed --panels=$range; done
tap_run "panels that are not there" 1 "there are only 3" draw curves "$db" --panel seed --panels 4-
refused "an unknown reference" "untrained, best" curves "$db" --reference optimal
refused "a reference that is not a number" "expected a number" curves "$db" --reference optimum=high
refused "--log z" "x, y or xy" curves "$db" --log z
refused "a table of another kind" "markdown" table "$db" --format html
tap_run "a table as a picture" 2 "a table is no .png; expected .txt, .md, .tex or .csv" analyze table "$db" -o "$tap_dir/as/tab.png"
tap_run "an ending of another format" 2 "tab.md: --format latex writes .tex" analyze table "$db" -o "$tap_dir/as/tab.md" --format latex
refused "a paper's figure without its runs: what makes them" "sweep submit experiments/fig9_scaling.ini" fig9 "$db"
tap_run "no layers: that first, before a choice of configurations" 1 "no run has logged its layers" draw layers "$db"
refused "coverage of too many configurations" "--where" coverage "$db" --group seed,com,epsilon
tap_run "visited states that were not saved" 1 "metrics.visited_states" draw coverage "$db" --group algo.name
tap_run "layers that were not logged" 1 "metrics.layers = true" draw layers "$db" --group algo.name
refused "an unknown column of layers" "did you mean dormant?" layers "$db" --y dormat
tap_run "KL profiles that were not written" 1 "metrics.profile_every" draw kl-profile "$db" --group algo.name
tap_simulate "$tap_dir/young" 1 1; rm -rf "$tap_dir/young/runs"
for figure in "settings --x com" "heatmap --x com --y seed" bars "bars --profile" table; do
  # shellcheck disable=SC2086
  tap_run "$figure of runs that have not begun" 1 "no run has a value" draw ${figure%% *} "$tap_dir/young/results.db" ${figure#"${figure%% *}"}
done
tap_simulate "$tap_dir/one" 1 20
for figure in "settings --x com --group none" "heatmap --x com --y epsilon" "bars" "bars --profile" "table" "curves --aggregate iqm"; do
  # shellcheck disable=SC2086
  tap_run "$figure with a single seed" 0 "(1 seed" draw ${figure%% *} "$tap_dir/one/results.db" ${figure#"${figure%% *}"}
done

# ---- real runs: the noisy parabola, scaled environments, a switch, KL profiles
real=$tap_dir/real; mkdir "$real"
submit() { sweep submit "$@" --root "$real" --wait >"$tap_dir/out" 2>&1; tap_result "sweep submit $(basename "$1")" $? "$(tail -3 "$tap_dir/out")"; }
submit experiments/fig1b_convex.ini --profile demo
tap_run "fig1b" 0 "learning_rate 0.1" draw fig1b "$real/results.db"
# stationary: E|x|^2 = 9 eta / (4 (1 - eta)), 0.5 for 0.1
rows fig1b | awk -F, '$2 == 0.1 && $3 > 500 { n++; s += $5 } END { exit !(n > 100 && s / n > 0.47 && s / n < 0.51) }'
tap_result "the noisy parabola converges to its closed form" $? "$(rows fig1b | tail -3)"
tap_run "fig2a" 0 "20 finished" draw fig2a "$real/results.db"
submit experiments/fig9_scaling.ini --profile demo --set sweep.seeds=1 --set train.total_steps=32768 --set eval.count=1 --set eval.episodes=24
tap_run "fig9" 0 "scheme more_minibatches" draw fig9 "$real/results.db"
lines=$(rows fig9 | awk -F, '{ print $1, $3 }' | sort -u | tr '\n' ';')
[ "$lines" = "$(for s in larger_minibatches larger_minibatches_sqrt more_minibatches; do for n in 128 32 512 8; do printf 'scheme %s %s;' $s $n; done; done)" ]
tap_result "each scheme's panel has the four sizes, the reference in all" $? "$lines"
for figure in fig13 fig14; do tap_run $figure 0 "10 runs of 10 configurations" draw $figure "$real/results.db"; done
[ "$(rows fig14 | wc -l)" = 12 ]; tap_result "a place for each scheme and size" $?
for n in 0 1; do # the run of seed 0 has no score
  printf '[sweep]\nname = scored_%s\nseeds = %s..%s\n[env]\nnum = 8\nmorphologies = car\nlevel_count = 4\n[train]\ntotal_steps = 2048\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\nepochs = 1\n[net]\nwidth = 16\ndepth = 1\n[metrics]\nprofile_every = 1\nlimit_epochs = 4\n[eval]\ncount = %s\nepisodes = 4\n' $n $n $n $n >"$tap_dir/scored_$n.ini"
  submit "$tap_dir/scored_$n.ini"
done
tap_run "the best run of some without a score" 0 "kl-profile" draw kl-profile "$real/results.db" --sweep scored_0,scored_1 --group algo.name --best
same "is one run a line" "$(rows kl-profile | awk -F, '/reference,95,0,/ { print $(NF-3); exit }')" 1
id=$(analyze sql "$real/results.db" --csv "SELECT run_id FROM sweep_run WHERE sweep = 'scored_1'" | tail -1)
same "KL to the limit of a batch" "$(rows kl-profile | awk -F, '/limit,95,0,/ { print $(NF-2); exit }')" "$(awk -F'\t' 'NR == 2 { print $6 }' "$real/runs/${id:0:2}/$id/profile.15.tsv")"
if trainer --dry-run --set env.task=mujoco/HalfCheetah-v4 >/dev/null 2>&1; then
  submit experiments/fixed_point/fig2_kl_minibatch.ini --profile demo --set sweep.seeds=1 --set train.total_steps=4096 --set eval.count=1 --set eval.episodes=2 --set metrics.profile_every=1
  tap_run "fixed-point-fig2" 0 "minibatches 64" draw fixed-point-fig2 "$real/results.db"
  ids=$(analyze sql "$real/results.db" --csv "SELECT id FROM run JOIN sweep_run ON run_id = id WHERE sweep = 'fixed_point_fig2' AND json_extract(config, '\$.ppo.num_minibatches') = 8" | tail -n +2)
  mine=$(for id in $ids; do awk -F'\t' 'NR == 2 { print log($4) }' "$real/runs/${id:0:2}/$id/profile.2.tsv"; done | awk '{ s += $1 } END { print exp(s / NR) }')
  draw kl-profile "$real/results.db" --sweep fixed_point_fig2 --group ppo.num_minibatches >/dev/null
  same "geometric mean over the runs' profiles" "$(rows kl-profile | awk -F, '/reference,95,0,/ { print $(NF-2); exit }')" "$mine"
  tap_run "the best run of each configuration" 0 "minibatches 64" draw kl-profile "$real/results.db" --sweep fixed_point_fig2 --group ppo.num_minibatches --best
  same "one run a line" "$(rows kl-profile | awk -F, '/reference,95,0,/ { print $(NF-3); exit }')" 1
  one=$(for id in $ids; do analyze sql "$real/results.db" --csv "SELECT json_extract(config, '\$.env.task') FROM run WHERE id = '$id'" | tail -1 |
    grep -q HalfCheetah && awk -F'\t' 'NR == 2 { print $4 }' "$real/runs/${id:0:2}/$id/profile.2.tsv"; done)
  same "a panel a task" "$(rows fixed-point-fig2 | awk -F, '/HalfCheetah/ && /reference,95,0,/ { print $(NF-2); exit }')" "$one"
else
  tap_skip "KL profiles of MuJoCo's tasks" "no MuJoCo"
fi
# visited states: one plane for the runs of a task; coverage_50 at the largest common number of states
submit experiments/onpolicy/fig1b_more_data.ini --profile demo --set sweep.seeds=1 --set train.total_steps=8192 --set eval.count=1 \
  --set eval.episodes=8 --set metrics.visited_states=300 --set metrics.representation_every=1 --set metrics.states=512 \
  --set metrics.layers=true
tap_run "onpolicy-fig2" 0 "wheelfeet: envs 32, steps 128" draw onpolicy-fig2 "$real/results.db"
rows onpolicy-fig2 | awk -F, '{ n++; if ($(NF-3) != 300 || !($(NF-2) > 0.004 && $(NF-2) < 0.12 && $(NF-1) <= $(NF-2))) bad = 1 } END { exit bad || n != 6 }'
tap_result "each run covers some of its plane, by equally many states" $? "$(rows onpolicy-fig2)"
# layers: means over runs, from SQL alone; squares of a network's norms add up to its own
where="json_extract(config, '\$.env.num') = 32 AND json_extract(config, '\$.ppo.num_steps') = 128"
tap_run "layers" 0 "actor" draw layers "$real/results.db" --sweep onpolicy_fig1b_more_data --where env.num=32 --where ppo.num_steps=128 --group none
same "means of each layer" "$(rows layers | awk -F, '{ print $(NF-7), $(NF-6), $(NF-4), $(NF-3), $(NF-2) }' | sed 's/^actor/1/; s/^critic/2/')" \
  "$(analyze sql "$real/results.db" --csv "SELECT iif(network = 'actor', 1, 2), layer, l.transitions, count(*), avg(m.value) FROM
  layer_metric AS m JOIN layer AS l USING (run_id, iteration, network, layer) JOIN run ON id = run_id WHERE $where AND
  metric = 'weight_norm' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" | tail -n +2 | tr , ' ')"
off=$(analyze sql "$real/results.db" --csv "SELECT count(*), sum(abs(total - weight_norm_actor) > 1e-6 * total) FROM (SELECT run_id AS r,
  layer.iteration AS i, sqrt(sum(weight_norm * weight_norm)) AS total FROM layer WHERE network = 'actor' GROUP BY 1, 2) JOIN iteration ON run_id = r AND
  iteration = i" | tail -1)
[ "${off%,*}" -gt 5 ] && [ "${off#*,}" = 0 ]; tap_result "layers' norms are the network's" $? "$off"
id=$(rows onpolicy-fig2 | awk -F, 'NR == 1 { print $(NF-6) }'); last=$(ls "$real/runs/${id:0:2}/$id" | sed -n 's/^states\.\(.*\)\.npy$/\1/p' | sort -n | tail -1)
mv "$real/runs/${id:0:2}/$id/states.$last.npy" "$tap_dir/aside"
tap_run "a run with fewer states sets how many are compared, as all have ended" 0 '"states": 150.0' draw coverage "$real/results.db" \
  --sweep onpolicy_fig1b_more_data --json
head -c 200 "$tap_dir/aside" >"$real/runs/${id:0:2}/$id/states.$last.npy"
tap_run "a file of states that was cut short" 1 "states.$last.npy: not a complete float32 matrix" draw coverage "$real/results.db" --sweep onpolicy_fig1b_more_data
mv "$tap_dir/aside" "$real/runs/${id:0:2}/$id/states.$last.npy"
tap_run "onpolicy-fig9" 0 "random projection" draw onpolicy-fig9 "$real/results.db"
mine=$(analyze sql "$real/results.db" --csv "WITH r AS (SELECT id, json_extract(config, '\$.env.morphologies') AS task,
  json_extract(config, '\$.env.num') AS num, json_extract(config, '\$.ppo.num_steps') AS steps, (SELECT max(coverage_states) FROM
  iteration WHERE run_id = id) AS s FROM run JOIN sweep_run ON run_id = id WHERE sweep = 'onpolicy_fig1b_more_data' AND steps = 128),
  m AS (SELECT task AS t, min(s) AS fewest FROM r GROUP BY task) SELECT (SELECT max(coverage_50) FROM iteration WHERE run_id = id AND
  coverage_states <= fewest) AS c FROM r JOIN m ON t = task ORDER BY task, num" | tail -n +2)
same "coverage at equal numbers of states" "$(rows onpolicy-fig9 | awk -F, '{ print $(NF-2) }')" "$mine"
# user text is only a label; a run that failed is counted
cat >"$tap_dir/hostile.ini" <<'INI'
[sweep]
name = hostile
[env]
num = 8
level_count = 4
[train]
total_steps = 64
[ppo]
num_steps = 8
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 1
episodes = 4
[grid good]
env.task = loco512
env.morphologies = car
[grid bad]
env.task = levels
env.levels = "it's `touch pwned` {/:Bold x}_^ <b>.json"
INI
sweep submit "$tap_dir/hostile.ini" --root "$real" --wait --no-check >/dev/null 2>&1 # there is no such level
(cd "$tap_dir" && tap_run "hostile labels" 0 "1 finished, 1 failed" analyze curves "$real/results.db" --sweep hostile --group env.levels -o "$f" && [ ! -e pwned ])
tap_count=$((tap_count + 1))
grep -qF "it's ´touch pwned´ {/:Bold x}_^ &lt;b" "$f/curves.svg" && [ ! -e "$f/pwned" ] && [ ! -e pwned ]
tap_result "are text in the picture" $? "$(grep -o 'it.s.*' "$f/curves.svg" | head -3)"

for paper in $(sed -n 's/^FIGURE("\([^"]*\)".*/\1/p' analysis/figures/papers.def); do
  tap_run "$paper is of a figure and options that are there, and its experiment is a file" 0 "Options:" analyze "$paper" --help
  # on other runs: errors may be about these runs, never about a key, a column or an option
  answer=$(draw "$paper" "$db" --sweep two_grids 2>&1); case $answer in *"unknown key"*|*"can be "*|*"no such column"*|*"unknown option"*|*"expected"*)
    tap_result "$paper: its options" 1 "$answer" ;; esac
  [ -f "$(analyze "$paper" --help | sed -n 's/^Runs: sweep submit //p')" ] || tap_result "$paper: its experiment" 1
done
tap_done
