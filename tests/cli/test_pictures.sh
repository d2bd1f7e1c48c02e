#!/usr/bin/env bash
# Text and layout of figures: no overlaps, nothing beyond the page; figures of several sweeps, of many lines, of long
# labels, and those of the documentation. Pango measures the texts, as librsvg would. TAP.
set -u
export COLUMNS=200
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/small.sh"
cd "$(dirname "$0")/../.." || exit 1
f=$tap_dir/figures root=$tap_dir/work db=$tap_dir/work/results.db
texts() { # NAME PICTURE...: no text of the pictures is out of place
  local name=$1 out rc; shift
  out=$(python3 tests/tools/picture_texts.py "$@" 2>&1); rc=$?
  if [ "$rc" -eq 77 ]; then tap_skip "$name" "$out"; else tap_result "$name" "$rc" "$out"; fi
}
texts "the documentation's pictures" docs/study/*.svg docs/gallery/*.svg
if ! command -v gnuplot >/dev/null; then tap_skip "figures" "no gnuplot"; tap_done; fi

# ---- two sweeps on two tasks: a grid of 12 settings, and two COM
sweep_file() { # NAME GRID
  { printf '[sweep]\nname = %s\nseeds = 1\n[env]\ntask = loco512\nnum = 4\n%s\nlevel_count = 2\n' "$1" "$2"; small_settings | sed "s/^count = 0/count = 3/"
    printf '[grid main]\n%s\n' "$3"; } >"$tap_dir/$1.ini"
  sweep submit "$tap_dir/$1.ini" --root "$root" --local --wait >/dev/null 2>"$tap_dir/error" || { echo "Bail out! $(cat "$tap_dir/error")"; exit 1; }
}
sweep_file rates 'morphologies = car' $'ppo.epsilon = 0.1, 0.2, 0.4\nppo.learning_rate = 1e-4, 3e-4, 1e-3, 3e-3'
sweep_file ages 'morphologies = hopper' $'algo.name = ppo_ewma\nppo.com = 8, 64\nppo.epochs = 2'
rows() { grep -v '^#' "$f/$1.csv" | tail -n +2; }
tap_run "curves of two sweeps" 0 "14 finished" analyze curves "$db" -o "$f"
labels=$(rows curves | cut -d, -f1-3 | grep -oE '^("[^"]*"|[^,]*),("[^"]*"|[^,]*)' | sort -u)
! grep -qE "width|budget|morphologies|envs" <<<"$labels"; tap_result "labels name the settings that differ within a sweep" $? "$labels"
grep -q "rates" <<<"$labels" && grep -q "ages" <<<"$labels"; tap_result "labels name the sweeps" $? "$labels"
most=$(rows curves | cut -d, -f1-3 | grep -oE '^("[^"]*"|[^,]*),("[^"]*"|[^,]*)' | sort -u | sed -E 's/^("[^"]*"|[^,]*),.*/\1/' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $1 }')
[ "$most" -le 8 ]; tap_result "a panel has few lines" $? "$most: $labels"
tap_run "curves of one sweep" 0 "12 finished" analyze curves "$db" --sweep rates --name one -o "$f"
[ "$(rows one | cut -d, -f1 | sort -u | wc -l)" -ge 3 ]; tap_result "many lines get panels" $? "$(rows one | head -3)"
grep -q "panels: " <(tr '\n' ' ' <"$f/one.svg"); tap_result "the caption names the settings of lines and panels" $?
long=env.task,env.morphologies,env.num,train.total_steps,ppo.num_steps,ppo.num_minibatches,ppo.epochs,ppo.epsilon,ppo.learning_rate,net.width
tap_run "curves with labels of ten settings" 0 "14 finished" analyze curves "$db" --group "$long" --name long -o "$f"
for figure in bars "bars --profile" ddr-vs-solve table layers; do analyze $figure "$db" -o "$f" >/dev/null 2>&1; done
analyze settings "$db" --x ppo.learning_rate -o "$f" >/dev/null 2>&1
analyze bars "$db" --group "$long" --name long-bars -o "$f" >/dev/null 2>&1
texts "figures of two sweeps, and of long labels" "$f"/*.svg
cut=$(grep -oE '<text>[^<]*…[^<]*</text>' "$f/long.svg" | sort | uniq -d)
[ -z "$cut" ]; tap_result "labels that are cut differ" $? "$cut"

# ---- a run that diverged before the budget counts with the score of its untrained policy
cp "$db" "$tap_dir/diverged.db" # away from the workspace, whose import would restore the true state
best=$(analyze sql "$db" --csv "SELECT run_id FROM evaluation ORDER BY solve_rate DESC LIMIT 1" | tail -1 | tr -d '"')
untrained=$(analyze sql "$db" --csv "SELECT solve_rate FROM evaluation WHERE run_id = '$best' AND iteration = 0" | tail -1)
tool sql "$tap_dir/diverged.db" "UPDATE run SET status = 'diverged' WHERE id = '$best'"
tap_run "ddr-vs-solve with a run that diverged" 0 "1 diverged" analyze ddr-vs-solve "$tap_dir/diverged.db" --budget 2000 -o "$f"
shown=$(grep -v '^#' "$f/ddr-vs-solve.csv" | awk -F, -v id="$best" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^best_solve/) k = NF - i; next } $2 == id { print $(NF - k) + 0 }')
[ "$shown" = "$(awk "BEGIN { print $untrained + 0 }")" ]; tap_result "its dot has the score of its untrained policy" $? "$best: $shown, not $untrained"
legend=$(grep -oE '<text>[^<]*(<tspan[^>]*>[^<]*)?' "$f/ddr-vs-solve.svg" | sed 's/<[^>]*>//g')
grep -qx sweep <<<"$legend" && grep -qx algorithm <<<"$legend"; tap_result "the legend explains colors and shapes" $? "$legend"
tap_run "ddr-vs-solve of one sweep" 0 "12 finished" analyze ddr-vs-solve "$db" --sweep rates --name rates -o "$f"
legend=$(grep -oE '<text>[^<]*(<tspan[^>]*>[^<]*)?' "$f/rates.svg" | sed 's/<[^>]*>//g')
grep -qx lr <<<"$legend" && grep -qx 0.003 <<<"$legend"; tap_result "colors are of the varied setting" $? "$legend"
tap_done
