#!/usr/bin/env bash
# A program that scores well, then only NaN, and ends as diverged: no command counts it with its last good score. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
command -v python3 >/dev/null || { tap_skip "a program that diverges" "no python3"; tap_done; }
cd "$tap_dir" || exit 1
cat >p.py <<'PY'
import json, os, sys
lr, seed = float(sys.argv[1]), int(sys.argv[2])
with open(os.environ["SWEEP_METRICS"], "a") as file:
    for step in range(1, 101):
        reward = 0.5 * step / 100 + seed / 1000 if lr < 1 else 0.9 + seed / 1000 if step <= 5 else float("nan")
        file.write(json.dumps({"step": step, "reward": reward, "kl": 0.01 * lr}) + "\n")
sys.exit(76 if lr > 1 else 0)
PY
program() { printf '[sweep]\nname = %s\nseeds = %s\ngoal = max reward\n[program]\ncommand = python3 p.py {lr} {seed}\nstep = step of 100\n[settings]\nlr = 0.1\n' "$1" "$2"; }
{ program nan 3; printf '[grid g]\nlr = 0.1, 10.0\n'; } >nan.ini
{ program tune 1; printf '[search s]\nmethod = tpe\ntrials = 12\nstartup = 4\nwave = 4\ngoal = max reward\nlr = log 0.01 .. 100\n'; } >tune.ini
export SWEEP_ROOT=$tap_dir/w
timeout 120 sweep submit nan.ini --wait >out 2>&1
timeout 200 sweep submit tune.ini --wait >>out 2>&1
sweep collect >/dev/null || { echo "Bail out! $(cat out)"; exit 1; }
db=w/results.db
compare() { analyze compare $db --sweep nan lr=0.1 lr=10 "$@"; }
tap_expect "compare counts them as untrained" 0 "B: 3 runs diverged or failed and count with the score of their untrained" compare
tap_check "and does not prefer them" "$(compare | grep 'B scores higher')"
tap_expect "nor at a budget that they passed with NaN" 0 "^B: lr=10 +3 +0.5 " compare --budget 100
tap_expect "but at one before" 0 "B scores higher" compare --budget 3
tap_run "a late mean has no value" 1 "nothing to compare" compare --measure metric.reward
tap_check "measures has neither" "$(analyze table --runs $db --sweep nan --measure final,best,metric.reward | grep diverged | grep '0\.9')"
tap_expect "settings counts them" 0 "3 diverged" analyze settings $db --sweep nan --x lr --measure metric.reward -o f
tap_expect "table as well" 0 'runs 3, final -,' analyze table $db --sweep nan -o f
analyze ddr-vs-solve $db --sweep nan -b 100 -o f >out 2>&1
tap_check "ddr-vs-solve: not reached, and without a score" "$(grep -c ',diverged,0,0,100,.*,,,$' f/ddr-vs-solve.csv | grep -qx 3 || grep diverged f/ddr-vs-solve.csv)"
tap_check "search ranks none of them" "$(analyze search $db --sweep tune | awk '$1 ~ /^[0-9]+$/ && $3 == 1 && $NF > 1')"
tap_expect "and counts them" 0 "with runs that failed or" analyze search $db --sweep tune
tap_done
