#!/usr/bin/env bash
# method = optuna:SAMPLER: real samplers through the bridge, the same trials in another workspace and after kills, and
# what Optuna lacks or refuses.
#   SWEEP_PYTHON=/path/to/python3: a Python with optuna, cmaes and scipy, and torch for GPSampler
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD
. tests/cli/tap.sh
for candidate in "${SWEEP_PYTHON:-}" "$SWEEP_BUILD/python/bin/python" python3; do
  if [ -n "$candidate" ] && "$candidate" -c "import optuna, cmaes, scipy" 2>/dev/null; then python=$(realpath -s "$(command -v "$candidate")"); break; fi
done
export SWEEP_ROOT=$tap_dir/work SWEEP_SITE=none PATH=$SWEEP_BUILD/bin:$PATH OMP_NUM_THREADS=1
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
mkdir "$SWEEP_ROOT" "$tap_dir/other"; cd "$tap_dir" || exit 1
cat >run.sh <<'SH'
#!/bin/sh
while [ -e "$HOLD" ]; do sleep 0.05; done
awk -v x="$1" -v n="$2" -v g="$3" 'BEGIN { d = log(n / 256) / log(2); q = log(g / (1 - g)) - 4
  score = -(log(x / 0.01) ^ 2 + d * d + q * q); print "{\"step\": 10, \"score\": " score ", \"cost\": " n "}" }' >>"$SWEEP_METRICS"
SH
export HOLD=$tap_dir/hold
experiment() { # NAME LINES...
  printf '%s\n' "[sweep]" "name = $1" "goal = max score" "[program]" "command = sh run.sh {x} {n} {g}" "step = step" "[settings]" "x = 0.5" \
    "n = 64" "g = 0.9" "[search s]" "x = log 1e-4 .. 1" "n = pow2 16 .. 1024" "g = logit 0.5 .. 0.9999" "startup = 4" "wave = 4" "${@:2}" >"$1.ini"
}
submit() { timeout 600 sweep submit "$1.ini" --local --jobs 2 "${@:2}"; }
journal() { echo "${2:-$SWEEP_ROOT}/sweeps/$1/search.s.tsv"; }
same() { cmp "$1" "$2" 2>&1; }

# ---- without Optuna
printf '#!/bin/sh\nexec "%s" -S -E "$@"\n' "$(python3 -c 'import sys; print(sys.executable)')" >bare; chmod +x bare # without site-packages
experiment lacking "method = optuna:TPESampler" "goal = max score" "trials = 8"
tap_run "without Optuna nothing is trained" 1 "cannot import Optuna" env SWEEP_PYTHON="$tap_dir/bare" sweep submit lacking.ini --local
tap_check "nothing was recorded" "$(ls work/sweeps 2>/dev/null)"
if [ -z "${python:-}" ]; then tap_skip "samplers of Optuna" "no Python with optuna, cmaes and scipy; set SWEEP_PYTHON"; tap_done; fi
export SWEEP_PYTHON=$python

# ---- errors of a file, before anything is trained
refused() { experiment wrong "method = $3" "goal = ${4:-max score}" "trials = 8"; tap_run "$1" 1 "$2" submit wrong; }
refused "no such sampler" "has no sampler FooSampler; it has" optuna:FooSampler
refused "an argument that it does not have" "unexpected keyword argument 'sigma'" "optuna:CmaEsSampler(sigma=1)"
refused "an argument that is no literal" "arguments with literal values" "optuna:CmaEsSampler(sigma0=open('/etc/passwd'))"
refused "a seed" "the seed follows from the names of sweep and search" "optuna:TPESampler(seed=1)"
refused "two goals for a sampler of one" "CmaEsSampler cannot be used" optuna:CmaEsSampler "max score, min metric.cost"
tap_check "nothing was recorded" "$(ls work/sweeps 2>/dev/null)"

# ---- samplers: waves, the same trials elsewhere
samplers=("TPESampler" "CmaEsSampler(sigma0=0.3, popsize=4)" "QMCSampler")
if "$python" -c "import torch" 2>/dev/null; then samplers+=(GPSampler); else tap_skip GPSampler "no torch in $python"; fi
for sampler in "${samplers[@]}"; do
  name=one_${sampler%%(*}
  experiment "$name" "method = optuna:$sampler" "goal = max score" "trials = 16"
  tap_run "$sampler" 0 "16 finished" submit "$name" --wait
  tap_check "$sampler: three waves of four, no trial twice" "$(tail -n +3 "$(journal "$name")" | cut -f2 | uniq -c | tr -s ' \n' ' ' | grep -qx ' 4 1 4 2 4 3 ' || cat "$(journal "$name")"
    tail -n +3 "$(journal "$name")" | cut -f3- | sort | uniq -d)"
  tap_run "$sampler: again" 0 "16 finished" submit "$name" --wait --root other
  tap_check "$sampler: the same trials" "$(same "$(journal "$name")" "$(journal "$name" other)")"
done
tap_check "CMA-ES learns: its last waves are nearer to the optimum than the random trials" "$(analyze search work/results.db --sweep one_CmaEsSampler --json | python3 -c "
import json, sys
value = {t['trial']: t['value'] for t in json.load(sys.stdin)['trials']}
start, late = sum(value[t] for t in range(4)) / 4, sum(value[t] for t in range(8, 16)) / 8
if not late > start: print(late, start)")"
for sampler in NSGAIISampler TPESampler; do
  experiment "two_$sampler" "method = optuna:$sampler" "goal = max score, min metric.cost" "trials = 12"
  tap_run "$sampler: two goals" 0 "12 finished" submit "two_$sampler" --wait
done

# ---- killed while runs of the first wave run
sed 's/^name = one_CmaEsSampler/name = killed/' one_CmaEsSampler.ini >killed.ini
tap_run "not killed" 0 "16 finished" submit killed --wait --root other
touch hold
submit killed >/dev/null
cat >until.sh <<'SH'
[ "$(tail -n +3 "$1" 2>/dev/null | wc -l)" -ge "$2" ]
SH
ran() { [ "$(sweep status killed --json | tool json 0 count running)" -ge 1 ]; }
tap_wait 300 ran; tap_result "runs of the first trials run" $?
kill -9 "$(tap_executor work killed)"
rm hold; submit killed >/dev/null
tap_wait 300 sh until.sh "$(journal killed)" 4; tap_result "the first wave is recorded" $?
tap_executor_lives work/sweeps/killed/queued && kill -9 "$executor" 2>/dev/null # unless it has ended
tap_run "it goes on" 0 "16 finished" submit killed --wait
tap_check "with the same trials" "$(same "$(journal killed)" "$(journal killed other)")"
tap_done
