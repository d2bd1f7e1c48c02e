#!/usr/bin/env bash
# `analyze export tensorboard`: TensorBoard's own reader reads the event files, value for value those of results.db;
# skipped without that package. And the recipe of docs/export.md for W&B, with a stand-in. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with tensorboard
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
tap_simulate "$tap_dir/work" 2 20
cd "$tap_dir" || exit 1
sweep collect --root work >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
db=work/results.db
runs=$(analyze sql $db --csv "SELECT count(*) FROM run" | tail -1)
sweep=$(analyze sql $db --csv "SELECT name FROM sweep ORDER BY name LIMIT 1" | tail -1)
first=$(analyze sql $db --csv "SELECT id FROM run ORDER BY id LIMIT 1" | tail -1)
tap_run "all runs" 0 "$runs runs, " analyze export tensorboard $db -o events
tap_check "one file per run, and nothing else" "$(n=$(find events -type f | wc -l); [ "$n" = "$runs" ] || find events | head)"
tap_check "a second call writes the same bytes" "$(cp -r events before; analyze export tensorboard $db -o events >/dev/null; diff -r before events)"
tap_check "directories are named by what differs, the seed and the id" "$(ls events | grep -vE '^([a-z_0-9]+=[A-Za-z0-9._+-]+,)*seed=[0-9]+-[0-9a-f]{16}$')"
tap_check "names are unique without the id in a sweep" "$(analyze export tensorboard $db --sweep "$sweep" -o unique >/dev/null; ls unique | sed 's/-[0-9a-f]*$//' | sort | uniq -d)"
tap_check "a directory of an earlier name is renamed" "$(mv events/*-"$first" "events/$first"; analyze export tensorboard $db -o events >/dev/null; diff -r before events)"
tap_check "run.csv has the names" "$(analyze export csv $db -o named >/dev/null; head -1 named/run.csv | grep -q ',name$' || head -1 named/run.csv
  [ "$(tail -n +2 named/run.csv | grep -oE 'seed=[0-9]+"?$' | wc -l)" = "$runs" ] || tail -1 named/run.csv | cut -c1-300
  tool json tables <named/schema.json | grep -q 'readable name' || echo "not in schema.json")"
tap_run "of a sweep" 0 "runs, " analyze export tensorboard $db --sweep "$sweep" -o of_sweep
tap_run "each 100th iteration is less" 0 "$runs runs, " analyze export tensorboard $db --every 100 -o thin
tap_check "but has the last" "$([ "$(du -sb thin | cut -f1)" -lt "$(du -sb events | cut -f1)" ] || du -sb thin events)"
tap_run "without a database: that of the workspace" 0 "$runs runs, " env SWEEP_ROOT="$tap_dir/work" analyze export tensorboard -o again
tap_run "an unknown sweep" 2 "no sweep nosuch here" analyze export tensorboard $db --sweep nosuch -o none
tap_run "and no empty tables are written" 2 "did you mean two_grids" analyze export csv $db --sweep two_grid -o none
tap_run "nor of several sweeps" 2 "takes one sweep" analyze export csv $db --sweep two_grids,two_grids -o none
tap_check "no file of it" "$(ls -d none 2>/dev/null)"
tap_run "no iteration at all" 2 "--every 0: expected at least 1" analyze export tensorboard $db --every 0 -o none
tap_run "a folder that is a file" 1 "out" analyze export tensorboard $db -o out
tap_run "no database" 2 "no such file" analyze export tensorboard nowhere.db -o none
tap_run "another format" 2 'unknown format "wandb"' analyze export wandb $db
cp $db bad.db
tool sql bad.db "INSERT INTO run(id, status) VALUES('../../../etc/passwd', 'finished')" >/dev/null
tap_run "an id that is a path" 1 "a run with an invalid id" analyze export tensorboard bad.db -o bad
tap_check "writes nothing outside" "$(find . -name passwd)"

# ---- W&B: the page's lines, with a module that records its calls
analyze export csv $db -o export >out 2>&1 || cat out
mkdir stand_in; cat >stand_in/wandb.py <<'PY'
import contextlib, os

@contextlib.contextmanager
def init(project, id, name, config):
    class Run:
        def log(self, values, step):
            if "kl" in values: print(id, config["env"]["task"], step, repr(values["kl"]), sep=",", file=out)
    with open("logged", "a") as out: yield Run()
PY
awk '/^```/ { inside = !inside && /^```./; first = inside; next } inside && first { first = 0; on = /to W&B$/ } inside && on' "$top/docs/export.md" >wb.py
if command -v python3 >/dev/null; then
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=stand_in python3 wb.py >out 2>&1 || cat out
  tap_check "the page's lines give W&B each iteration" "$(cmp <(cut -d, -f1,3 logged) <(analyze sql $db --csv "SELECT run_id, CAST(transitions AS INTEGER) FROM iteration WHERE kl IS NOT NULL" | tail -n +2) 2>&1)"
  tap_check "with its values and settings" "$(cmp <(cut -d, -f2,4 logged | sort | uniq | wc -l) <(analyze sql $db --csv "SELECT count(DISTINCT json_extract(config, '\$.env.task') || ',' || kl) FROM iteration JOIN run ON run.id = run_id" | tail -n +2) 2>&1)"
else tap_skip "the page's lines for W&B" "no python3"; fi

python=
for candidate in "${SWEEP_PYTHON:-}" "$SWEEP_BUILD/python/bin/python" python3; do
  [ -n "$candidate" ] && "$candidate" -c 'from tensorboard.backend.event_processing import event_accumulator' 2>/dev/null &&
    { python=$candidate; break; }
done
if [ -z "$python" ]; then tap_skip "TensorBoard reads them" "no Python with tensorboard (make python)"; tap_done; fi
analyze export csv $db -o csv >out 2>&1 || cat out
out=$(PYTHONPATH=$top/tests/tools "$python" "$top/tests/tools/tensorboard_check.py" events csv "$first" 2>errors)
while IFS=$'\t' read -r name problem; do [ "$name" = end ] || tap_check "$name" "$problem"; done <<<"$out"
tap_check "the check completes" "$([ "$(tail -1 <<<"$out" | cut -f1)" = "end" ] || tail -5 errors)"
tap_done
