#!/usr/bin/env bash
# Commands on a sweep of many finished runs: user seconds, wall seconds and MB of each, as CSV rows. One real run of a
# program (ten metrics, five rows) is copied to all runs.
# Usage: tests/bench/runs.sh BUILD. BENCH_RUNS: number of runs, in steps of 100 seeds (default: 10000); 100000 take an
# hour and 3 GB.
set -eu
build=$(cd "$1" && pwd) runs=${BENCH_RUNS:-10000}
export PATH=$build/bin:$PATH SWEEP_SITE=none NO_COLOR=1 LC_ALL=C.UTF-8
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-runs-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
command -v python3 >/dev/null && command -v curl >/dev/null || { echo "# no rows for runs: no python3 or no curl"; exit 0; }
machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
commit=$(sweep --version | sed 's/.*commit //; s/[^0-9a-f+].*//')
row() { echo "runs,${1}_$runs,$2,$3,$4,1,${machine:-unknown},$commit"; } # case metric value unit
# timed CASE COMMAND...
timed() {
  local name=$1; shift
  /usr/bin/time -f '%U %e %M' -o time "$@" >out 2>err || { echo "# $name failed: $(tail -1 err)" >&2; return; }
  read -r user wall kilobytes <time
  row "$name" user "$user" s; row "$name" wall "$wall" s; row "$name" memory $((kilobytes / 1024)) MB
}

# ---- the workspace
cat >p.py <<'P'
import json, os
with open(os.environ["SWEEP_METRICS"], "a") as f:
    for step in range(5): f.write(json.dumps({"step": step, **{f"metric_{i}": step * i * 0.37 for i in range(10)}}) + "\n")
P
experiment() { printf '[sweep]\nname = %s\nseeds = %s\ngoal = max metric_3\n[program]\ncommand = python3 p.py\nstep = step of 5\n[settings]\na = 1\n' "$@"; }
experiment one 1 >one.ini
{ experiment big 100; printf '[grid g]\na = '; seq -s, 1 $((runs / 100)); } >big.ini
sweep submit one.ini --root model --local --wait >/dev/null 2>&1
timed plan sweep plan big.ini --root w0
timed submit sweep submit big.ini --root w --local --no-start
python3 - w "$(echo model/runs/*/*)" <<'P'
import os, re, sys
root, model = sys.argv[1:]
names = [n for n in os.listdir(model) if re.fullmatch(r"state|attempts\.tsv|(stats|metrics|eval)\.1\.tsv", n)]
texts = {n: open(f"{model}/{n}", "rb").read() for n in names}
old = os.path.basename(model).encode()
for line in open(root + "/sweeps/big/manifest.tsv"):
    found = re.fullmatch(r"\d+\t([0-9a-f]{16})\n", line)
    if not found: continue
    run = found[1]
    directory = f"{root}/runs/{run[:2]}/{run}"
    os.makedirs(directory, exist_ok=True)
    for name, text in texts.items():
        with open(f"{directory}/{name}", "wb") as f: f.write(text.replace(old, run.encode()))
P

# ---- commands
timed import sweep collect --root w
timed status sweep status --root w
timed status_runs sweep status --runs --root w
timed status_json sweep status --json --root w
timed table analyze table w/results.db
timed curves analyze curves w/results.db --y metric_3 -o figures
timed report analyze report w/results.db -o report

# ---- the live page: the longest wait for each request, and the server's memory
sweep serve --root w --port 0 --json >address 2>err & server=$!
until grep -q '^}' address || ! kill -0 $server; do sleep 0.1; done
port=$(sed -n 's/.*"port": \([0-9]*\).*/\1/p' address) token=$(sed -n 's/.*"token": "\([^"]*\)".*/\1/p' address)
for path in overview 'runs?sweep=big' 'runs?sweep=big&sort=best&text=7' 'columns?sweep=big' \
  'curves?sweep=big&column=metric.metric_3' 'curves?sweep=big&column=score&group=a' 'scatter?sweep=big' status; do
  wall=$(curl -s -m 300 -o body -w '%{time_total}' -H "Authorization: Bearer $token" "http://127.0.0.1:$port/api/$path")
  row "serve $path" wall "$wall" s
done
row serve memory $(($(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$server/status") / 1024)) MB
from=$(date +%s%N); kill $server; wait $server
row serve_stop wall "$(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.2f", ns / 1e9 }')" s

# ---- the end
timed archive sweep rm big --checkpoints --yes --root w
timed rm sweep rm big --yes --root w

# ---- runs of `true` on one machine: the executor's memory
count=$((runs < 10000 ? runs : 10000))
printf '[sweep]\nname = many\nseeds = %s\n[program]\ncommand = true\n' "$count" >many.ini
timed many sweep submit many.ini --root many --local
from=$(date +%s%N) kilobytes=0
while [ -e many/sweeps/many/queued ]; do
  executor=$(sed -n 's/^process \([0-9]*\).*/\1/p' many/.executor*.lock 2>/dev/null | head -1)
  now=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/${executor:-none}/status" 2>/dev/null || true)
  [ "${now:-0}" -le "$kilobytes" ] || kilobytes=$now
  sleep 0.5
done
row many wall "$(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.1f", ns / 1e9 }')" s
row many_executor memory $((kilobytes / 1024)) MB
