#!/usr/bin/env bash
# Exports of runs with named metrics, as programs and environments have them: TensorBoard's event files, MLflow's requests
# and the recipe of docs/export.md for W&B contain each of them, under a name of its own. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with tensorboard
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$SWEEP_BUILD/bin:$PATH
command -v python3 >/dev/null || { tap_skip "named metrics in exports" "no python3"; tap_done; }
cd "$tap_dir" || exit 1
export PYTHONPATH=$top/tests/tools:$tap_dir/stand_in PYTHONDONTWRITEBYTECODE=1

# ---- A program whose names are those of columns, not allowed by MLflow, alike but for one character, or of W&B's own.
cat >odd.py <<'PY'
import json, os, sys
names = ["charts/SPS", "losses/policy loss", "mAP@0.5", "mAP#0.5", "loss[delta=1.3]", "Größe", "größe", "π", "损失", "é",
         "x\ty", " lead", "trail ", "a" * 120, "=1+1", "'=1+1", "-", "a//b", "/a", "a/", ".", "..", "a/../b", "a:b", "a\\b",
         "train/kl", "train/loss", "metric/train/kl", "metric/a", "metric/kl", "eval/train/solve_rate", "eval/return",
         "eval.train.solve_rate", "metric/eval.train.solve_rate", "transitions", "metric/transitions", "_step", "nan", "1"]
unit = float(sys.argv[1])
with open(os.environ["SWEEP_METRICS"], "a") as file:
    for i in range(1, 11):
        values = {name: i / 100 + n for n, name in enumerate(names)}
        if i == 7: values["π"] = float("nan")
        if i % 5 == 0: values["sparse"] = i # a name that few records have
        file.write(json.dumps({"step": i * unit, "kl": i / 1000, "return": i, **values}, ensure_ascii=False) + "\n")
PY
cat >odd.ini <<'INI'
[sweep]
name = odd
seeds = 2
goal = max return
[program]
command = python3 odd.py {unit}
step = step of {end}
[settings]
unit = 1.0
end = 1000
lr = 0.2
tiny = 1e-5
[grid whole]
unit = 100.0
[grid fractions]
unit = 0.25
INI
export SWEEP_ROOT=$tap_dir/w
timeout 200 sweep submit odd.ini --wait >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
sweep collect >/dev/null
db=w/results.db
checks() { # checks() PYTHON KIND OUTPUT
  local out; out=$("$1" "$top/tests/tools/export_metrics_check.py" "$2" $db "$3" 2>errors)
  while IFS=$'\t' read -r name problem; do [ "$name" = end ] || tap_check "$name" "$problem"; done <<<"$out"
  tap_check "$2: the check completes" "$([ "$(tail -1 <<<"$out" | cut -f1)" = end ] || tail -5 errors)"
}

# ---- MLflow
python3 "$top/tests/tools/mlflow_stub.py" port sent 2>stub.err & stub=$!
trap 'kill $stub 2>/dev/null; tap_cleanup' EXIT
tap_wait 30 test -s port || { echo "Bail out! $(cat stub.err)"; exit 1; }
mlflow() { analyze export mlflow $db --url "http://127.0.0.1:$(cat port)" "$@"; }
tap_run "MLflow accepts each name" 0 "4 runs" mlflow
checks python3 mlflow sent
tap_check "settings have the digits of config.ini" "$(grep -c '"key": "settings.lr", "value": "0.2"' sent | grep -qx 4 || grep settings.lr sent | head -1
  grep -c '"key": "settings.tiny", "value": "1e-5"' sent | grep -qx 4 || grep settings.tiny sent | head -1)"
lines=$(wc -l <sent)
tap_run "each 5th iteration" 0 "4 runs" mlflow --every 5
tap_check "has the metrics of iterations 5 and 10, and a sparse one" "$(tail -n +$((lines + 1)) sent | python3 -c '
import json, sys, collections
steps = collections.defaultdict(set)
for line in sys.stdin:
    row = json.loads(line)
    if row["kind"] == "metrics": steps[row["key"]].add(row["step"])
for name in ("charts/SPS", "sparse", "kl"):
    if steps[name] != {500, 1000, 5, 10}: print(name, steps[name])')"
kill $stub

# ---- W&B: the page's lines, with a module that records its calls
mkdir stand_in; cat >stand_in/wandb.py <<'PY'
import contextlib, json

@contextlib.contextmanager
def init(project, id, name, config):
    class Run:
        last = -1
        def log(self, values, step):
            assert step > self.last and all(type(value) is float for value in values.values())
            self.last = step
            for key, value in values.items(): print(json.dumps({"run": id, "key": key, "step": step, "value": value}), file=out)
    with open("logged", "a") as out: yield Run()
PY
analyze export csv $db -o export >/dev/null
awk '/^```/ { inside = !inside && /^```./; first = inside; next } inside && first { first = 0; on = /to W&B$/ } inside && on' "$top/docs/export.md" >wb.py
tap_run "the page's lines for W&B" 0 "" python3 wb.py
checks python3 wandb logged

# ---- TensorBoard
python=
for candidate in "${SWEEP_PYTHON:-}" "$SWEEP_BUILD/python/bin/python" python3; do
  [ -n "$candidate" ] && "$candidate" -c 'from tensorboard.backend.event_processing import event_accumulator' 2>/dev/null &&
    { python=$candidate; break; }
done
tap_run "event files" 0 "4 runs" analyze export tensorboard $db -o events
if [ -n "$python" ]; then checks "$python" tensorboard events; else tap_skip "TensorBoard reads them" "no Python with tensorboard (make python)"; fi
tap_done
