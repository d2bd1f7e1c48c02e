#!/usr/bin/env bash
# analyze report: a complete page that escapes all text, and works in a real browser if one is installed. TAP.
set -u
. tests/cli/tap.sh
export NO_COLOR=1
tap_simulate "$tap_dir/work" 3 30
db=$tap_dir/work/results.db page=$tap_dir/report/index.html
has() { grep -qF -- "$1" "$2"; }

analyze sql "$db" "SELECT 1" >/dev/null # imports
# Difficult contents of a database: names that are markup, quotes, newlines, invalid UTF-8.
hostile='</script><script>document.body.dataset.hacked="yes"</script><img src=x onerror="document.body.dataset.hacked=1">`"'"'"'&amp;'
text="'${hostile//\'/\'\'}' || char(10) || 'line two' || char(9) || char(1)"
tap_check "a database of hostile names" "$(tool sql "$db" "UPDATE run SET host = $text, message = $text, status = 'failed' WHERE seed = 1;
  UPDATE run SET message = CAST(x'fffe3c' AS TEXT) WHERE seed = 2; UPDATE sweep SET ini = $text;
  UPDATE run SET config = json_set(config, '$.env.levels', 'l/<b>bold</b>''\"\`\$(x)') WHERE seed = 0" 2>&1)"
cp "$db" "$tap_dir/results.db" # away from the workspace, whose import would restore the true states
mkdir -p "$tap_dir/report/figures" # of an earlier report: a figure that fails on these runs, and one that draws nothing
for name in heatmap.svg table.png; do echo '<svg>of an earlier report</svg>' >"$tap_dir/report/figures/$name"; done
tap_run "report writes a page" 0 "index.html" analyze report "$tap_dir/results.db" -o "$tap_dir/report"
tap_check "pictures of an earlier report are not shown as its own" "$(grep -oE '"name":"(heatmap|table)"[^}]*"image"' "$page"; cd "$tap_dir/report/figures" && ls heatmap.svg table.png 2>/dev/null)"
tap_result "it has two scripts, its data and its own" "$([ "$(grep -o '<script' "$page" | wc -l)" = 2 ]; echo $?)"
tap_result "markup of the database is not markup of the page" "$(! has '<img src=x' "$page"; echo $?)"
tap_result "it loads nothing" "$(! grep -qE '(src|href)="?(https?:)?//' "$page"; echo $?)"
tap_result "it says whence it comes" "$(has '"program"' "$page" && has 'SELECT id, config' "$page"; echo $?)"
if command -v gnuplot >/dev/null; then
  tap_result "figures are inside" "$(has 'data:image/svg+xml;base64,' "$page"; echo $?)"
  tap_result "and are pictures" "$(grep -o 'svg+xml;base64,[A-Za-z0-9+/=]*' "$page" | head -1 | cut -d, -f2 | base64 -d 2>/dev/null | grep -q '</svg>'; echo $?)"
else
  tap_skip "figures are inside" "no gnuplot"
fi
tap_result "its title is the name of the sweep that has all runs" "$(has '"title":"two_grids"' "$page"; echo $?)"
tap_run "report of one sweep" 0 "index.html" analyze report "$tap_dir/results.db" --sweep two_grids --no-figures -o "$tap_dir/sweep"
tap_run "report of some runs" 0 "index.html" analyze report "$tap_dir/results.db" -w algo=ppo --no-figures -o "$tap_dir/some"
tap_run "report: an unknown sweep" 2 "did you mean two_grids" analyze report "$tap_dir/results.db" --sweep two_grid -o "$tap_dir/x"
tap_run "report: a folder that cannot be made" 1 "a file of that name exists" analyze report "$tap_dir/results.db" -o "$tap_dir/results.db/x/y"
tap_run "report --help" 0 "Usage:" analyze report --help

# ---- many runs: of more than 5000 those that need a look or have a mark
many() { # RUNS: copies of one run as seeds
  cp "$db" "$tap_dir/many.db"
  tool sql "$tap_dir/many.db" "DELETE FROM run WHERE seed > 0 OR id <> (SELECT min(id) FROM run WHERE seed = 0);
    UPDATE run SET status = 'finished'; DELETE FROM annotation;
    INSERT INTO run(id, seed, config, iterations, transitions_total, status)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)
      SELECT printf('%016x', i), i, json_set(config, '$.train.seed', i), iterations, transitions_total, 'pending' FROM n, run;
    UPDATE run SET status = 'failed' WHERE seed IN (2, 4711); UPDATE run SET status = 'diverged' WHERE seed = 3000;
    INSERT INTO annotation(subject, name, key, value) VALUES('run', printf('%016x', 77), 'tag', 'odd')" 2>&1
  analyze report "$tap_dir/many.db" --no-figures -o "$tap_dir/many" 2>&1 >/dev/null
}
listed() { sed -n 's/.*"runs":\(\[{"id".*\)/\1/p' "$tap_dir/many/index.html" | sed 's/\],"[a-z].*//' | grep -o '"id":"' | wc -l; }
tap_check "a report of 5000 runs" "$(many 5000)"
tap_check "lists all" "$([ "$(listed)" = 5000 ] || listed; has '"runs_note"' "$tap_dir/many/index.html" && echo "has a note")"
tap_check "a report of 5001 runs" "$(many 5001)"
tap_check "lists those that failed, diverged or have a tag" "$([ "$(listed)" = 4 ] || listed
  for id in 0000000000000002 0000000000001267 0000000000000bb8 000000000000004d; do has "\"id\":\"$id\"" "$tap_dir/many/index.html" || echo "not $id"; done)"
tap_result "and says so" "$(has '4 of 5001 runs: those that failed' "$tap_dir/many/index.html"; echo $?)"
tap_result "but averages over all" "$(has '["runs",5001.0]' "$tap_dir/many/index.html"; echo $?)"

# ---- two sweeps: a section each; claims only of experiments that have run
. tests/cli/small.sh
for sweep in one two; do
  { printf '[sweep]\nname = %s\n[env]\nnum = 4\nlevel_count = 2\nmorphologies = %s\n' $sweep $([ $sweep = one ] && echo car || echo hopper); small_settings
    printf '[grid main]\nppo.epsilon = 0.1, 0.2\n'; } >"$tap_dir/$sweep.ini"
  sweep submit "$tap_dir/$sweep.ini" --root "$tap_dir/two" --local --wait >/dev/null 2>&1
done
tap_run "report of two sweeps" 0 "index.html" analyze report "$tap_dir/two/results.db" --no-figures -o "$tap_dir/two/report"
tap_result "it has a section for each" "$(has '"title":"Sweep one"' "$tap_dir/two/report/index.html" && has '"title":"Sweep two"' "$tap_dir/two/report/index.html"; echo $?)"
tap_result "no claims of experiments that have not run" "$(has '"claims":[]' "$tap_dir/two/report/index.html"; echo $?)"
tap_result "labels name the settings that differ within a sweep" "$(! grep -oE '"label":"[^"]*' "$tap_dir/two/report/index.html" | grep -q morphologies; echo $?)"
tap_run "report of one of them" 0 "index.html" analyze report "$tap_dir/two/results.db" --sweep one --no-figures -o "$tap_dir/two/one"
tap_result "it has one section" "$(has '"title":""' "$tap_dir/two/one/index.html"; echo $?)"

# ---- in a browser: the unchanged page, and a copy that a script clicks through
browser=
for name in chromium chromium-browser google-chrome; do command -v $name >/dev/null && browser=$name && break; done
if [ -z "$browser" ]; then
  tap_skip "the page in a browser" "no chromium is installed"
  tap_done
fi
show() { # page, size: its document after the scripts, and the console's messages
  timeout 300 $browser --headless=new --no-sandbox --disable-gpu --user-data-dir="$tap_dir/profile" --virtual-time-budget=5000 \
    --window-size="$2" --enable-logging=stderr --v=0 --dump-dom "file://$1" 2>"$tap_dir/console" >"$tap_dir/dom"
}
show "$page" 1280,900
if [ ! -s "$tap_dir/dom" ]; then
  tap_skip "the page in a browser" "$browser does not start here"
  tap_done
fi
tap_result "the page draws itself" "$(has 'data-ready="yes"' "$tap_dir/dom"; echo $?)" "$(cat "$tap_dir/console")"
tap_result "the console is silent" "$(! grep -q 'CONSOLE' "$tap_dir/console"; echo $?)" "$(grep CONSOLE "$tap_dir/console")"
tap_result "nothing of the database was run" "$(! has 'data-hacked' "$tap_dir/dom"; echo $?)"
tap_result "it is shown as text instead" "$(has '&lt;img src=x onerror=' "$tap_dir/dom"; echo $?)"
for part in overview curves figures configurations runs problems provenance; do
  tap_result "it has the part: $part" "$(has "<section id=\"$part\"" "$tap_dir/dom"; echo $?)"
done
cat >"$tap_dir/clicks" <<'JS'
<script>
"use strict";
const said = [], note = (name, good) => said.push((good ? "good " : "bad ") + name);
const paths = () => document.querySelectorAll("#chart path.line:not(.rest)").length, first = paths();
const texts = () => [...document.querySelectorAll("#chart text")], buttons = [...document.querySelectorAll(".legend button")];
const drawn = () => [...document.querySelectorAll("#curves .controls [role=status]")].map(e => e.textContent).join();
const whole = () => texts().filter(t => { const b = t.getBoundingClientRect(), c = document.querySelector("#chart svg").getBoundingClientRect();
  return b.left < c.left - 1 || b.right > c.right + 1 || b.top < c.top - 1 || b.bottom > c.bottom + 1; }).length === 0;
note("both axes have a name", texts().some(t => t.textContent === "environment transitions") && texts().some(t => t.textContent.startsWith("score of evaluations")));
note("each curve has its number of runs in brackets", buttons.length > 10 && buttons.every(b => / \([1-3]\)$/.test(b.textContent)));
note("what is switched off is not counted as drawn", drawn() === buttons.filter(b => b.getAttribute("aria-pressed") === "true").length + " of " + buttons.length + " drawn" && drawn().startsWith("10 of "));
const looks = e => e.getAttribute("stroke") + e.getAttribute("stroke-dasharray"), samples = buttons.map(b => looks(b.querySelector("line")));
note("samples look as their curves", [...document.querySelectorAll("#chart path.line:not(.rest)")].every((line, i) => looks(line) === samples[i]));
note("no two curves look alike", new Set(samples).size === samples.length);
note("no number of an axis is cut", whole());
document.querySelector(".legend button").click();
note("a curve is toggled off", paths() === first - 1 && document.querySelector(".legend button").getAttribute("aria-pressed") === "false");
document.querySelector(".legend button").click();
note("and on", paths() === first);
const select = document.querySelector("#curves select");
select.value = "kl"; select.dispatchEvent(new Event("change"));
note("another measure is drawn", paths() > 0 && document.querySelector("#chart svg").getAttribute("aria-label").startsWith("KL"));
document.querySelector("#curves input").click();
note("logarithmic", paths() > 0);
note("the numbers of a logarithmic axis are round", texts().filter(t => t.getAttribute("text-anchor") === "end" && t.getAttribute("x") < 100).length > 1 &&
  texts().filter(t => t.getAttribute("text-anchor") === "end" && t.getAttribute("x") < 100).every(t => /^[125](.0+)?(e|$|0)|^0\.0*[125]$/.test(t.textContent)) && whole());
const chart = document.querySelector("#chart svg"), tip = document.getElementById("tip");
chart.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
note("the keyboard moves the cursor", !tip.hidden && tip.textContent.includes("transitions"));
const box = chart.getBoundingClientRect();
chart.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width / 2, clientY: box.top + 50}));
note("the mouse does", tip.textContent.includes(": "));
chart.dispatchEvent(new PointerEvent("pointerleave"));
note("and leaves", tip.hidden);
const column = n => [...document.querySelectorAll("#configurations tbody tr")].map(r => r.children[n]?.textContent).slice(0, 9);
const head = [...document.querySelectorAll("#configurations th button")].find(b => b.textContent === "final score");
head.click();
const values = () => column(3).map(parseFloat).filter(v => !Number.isNaN(v)), falling = values();
note("a header sorts", falling.length > 3 && falling.every((v, i) => i === 0 || v <= falling[i - 1]));
head.click();
const rising = values();
note("and sorts back", rising.every((v, i) => i === 0 || v >= rising[i - 1]) && head.parentNode.getAttribute("aria-sort") === "ascending");
const filter = document.querySelector("#runs input"), rows = () => document.querySelectorAll("#runs tbody tr").length, all = rows();
filter.value = "eps 0.1"; filter.dispatchEvent(new Event("input"));
note("a table is filtered", rows() > 0 && rows() < all);
note("nothing is wider than the window", document.documentElement.scrollWidth <= innerWidth);
note("every control can be reached", [...document.querySelectorAll("button, select, input, a[href], summary")].every(e => e.tabIndex >= 0));
note("every picture is described", [...document.images].every(i => i.alt && (i.loading === "lazy" || i.complete)));
document.body.dataset.said = said.join(";");
</script>
JS
sed -e "/^<\/body>/{
r $tap_dir/clicks
}" "$page" >"$tap_dir/clicked.html"
for size in 1280,900 390,844; do
  show "$tap_dir/clicked.html" $size
  said=$(grep -o 'data-said="[^"]*"' "$tap_dir/dom" | cut -d'"' -f2)
  tap_result "clicked through at $size" "$([ -n "$said" ]; echo $?)" "$(grep CONSOLE "$tap_dir/console")"
  while read -r verdict name; do
    [ -n "$verdict" ] && tap_result "$size: $name" "$([ "$verdict" = good ]; echo $?)"
  done < <(tr ';' '\n' <<<"$said")
done
tap_done
