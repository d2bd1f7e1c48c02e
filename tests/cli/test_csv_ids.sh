#!/usr/bin/env bash
# Ids of runs that read as numbers ("0684670735522928", "13236110316e3573") stay text in every CSV. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with pandas
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
cat >p.py <<'PY'
import json, os
with open(os.environ["SWEEP_METRICS"], "a") as file:
    for step in range(10, 101, 10): file.write(json.dumps({"step": step, "reward": step / 100, "kl": 0.01, "own": 1}) + "\n")
PY
cat >ids.ini <<'INI' # the id is a hash of the command, the settings and the seed
[sweep]
name = ids
seeds = 359, 1694, 4721
goal = max reward
[program]
command = python3 p.py {dir}
step = step of 100
code = none
[settings]
lr = 0.1
INI
command -v python3 >/dev/null || { tap_skip "ids that read as numbers" "no python3"; tap_done; }
export SWEEP_ROOT=$tap_dir/w
timeout 120 sweep submit ids.ini --wait >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
sweep collect >/dev/null
db=w/results.db
ids=$(tool sql $db "SELECT id FROM run ORDER BY id")
tap_check "all ids read as numbers" "$(grep -vE '^([0-9]{16}|[0-9]+e[0-9]+)$' <<<"$ids")"

analyze export csv $db -o export >/dev/null
sweep status ids --csv >export/status.csv
sweep status ids --cost --csv >export/report.csv
analyze table --runs $db --format csv >export/measures.csv
analyze sql $db --csv "SELECT id, seed FROM run" >export/sql.csv
analyze ddr-vs-solve $db -o figures >/dev/null 2>&1; cp figures/ddr-vs-solve.csv export/
for table in run sweep_run attempt evaluation iteration metric run_ddr run_summary status report measures sql ddr-vs-solve; do
  tap_check "$table.csv: each id is text" "$(python3 - "$table" "$ids" <<'PY'
import csv, re, sys
ids, found = set(sys.argv[2].split()), set()
for row in csv.reader(line for line in open(f"export/{sys.argv[1]}.csv", newline="") if not line.startswith("#")):
    bare = [cell for cell in row if cell in ids]
    if bare: print("a bare id:", bare)
    found |= {cell[1:] for cell in row if cell[:1] == "'"}
if found != ids: print("found only", found)
PY
)"
done
tap_check "JSON has plain ids" "$(analyze table --runs $db --json | grep -c '"run": "[0-9e]*"' | grep -qx 3 || analyze table --runs $db --json | head -5
  analyze ddr-vs-solve $db -o figures --json 2>/dev/null | grep -q "'[0-9]" && echo "with apostrophe")"
first=$(head -1 <<<"$ids")
tap_run "commands take an id from a CSV" 0 "finished" sweep logs "'$first"

python=
for candidate in "${SWEEP_PYTHON:-}" python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import pandas' 2>/dev/null && { python=$candidate; break; }
done
if [ -n "$python" ]; then
  tap_check "pandas keeps and joins them" "$(cd export && "$python" -c '
import pandas
run, rows = pandas.read_csv("run.csv"), pandas.read_csv("iteration.csv")
if not pandas.api.types.is_string_dtype(run.id) or run.id.nunique() != 3: print(run.id)
if len(rows.merge(run, left_on="run_id", right_on="id")) != 30: print("not joined")
if sorted(run.id.str.removeprefix("\x27")) != """'"$ids"'""".split(): print("not restored")' 2>&1)"
else tap_skip "pandas keeps and joins them" "no pandas"; fi
if command -v Rscript >/dev/null; then
  tap_check "R keeps them" "$(cd export && Rscript -e 'ids <- read.csv("run.csv")$id; if (!is.character(ids) || length(unique(ids)) != 3) print(ids)' 2>&1)"
else tap_skip "R keeps them" "no R"; fi
tap_done
