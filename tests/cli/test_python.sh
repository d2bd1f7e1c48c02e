#!/usr/bin/env bash
# The Python package `sweepdb` (python/): results.db, worlds and policies, as in docs/python.md. Skipped if no Python
# has numpy; the worlds also without gymnasium. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with numpy, gymnasium and, for more, pandas, polars and torch
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
python=
for candidate in "${SWEEP_PYTHON:-}" "$SWEEP_BUILD/python/bin/python" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
  "$candidate" -c 'import numpy, sqlite3, ctypes, sys; assert sys.version_info >= (3, 9)' 2>/dev/null && { python=$candidate; break; }
done
if [ -z "$python" ]; then tap_skip "the Python package" "no Python 3.9 with numpy (make python)"; tap_done; fi
export PYTHONPATH=$top/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
cd "$tap_dir"

# checks FILE ARGUMENT...: its lines "name<TAB>problem" as results
checks() {
  local out name problem; out=$("$python" "$top/tests/tools/$1" "${@:2}" 2>"$tap_dir/errors")
  while IFS=$'\t' read -r name problem; do [ "$name" = end ] || tap_check "$name" "$problem"; done <<<"$out"
  tap_check "$1 completes" "$([ "$(tail -1 <<<"$out" | cut -f1)" = "end" ] || tail -5 "$tap_dir/errors")"
}

# ---- results.db
tap_simulate "$tap_dir/work" 2 20
sweep collect --root "$tap_dir/work" >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
checks sweepdb_results.py work/results.db
tap_check "the package reads the schema that sweep writes" \
  "$([ "$("$python" -c 'import sweepdb; print(sweepdb.SCHEMA_VERSION)')" = "$(tool sql work/results.db 'PRAGMA user_version')" ] ||
    echo "raise SCHEMA_VERSION in python/sweepdb/database.py when it reads the new schema")"

# ---- states in a plane: runs of 400 states in 8 dimensions, two of which vary
"$python" - work <<'PYTHON' || { echo "Bail out! no states"; exit 1; }
import pathlib, sys, numpy
random = numpy.random.default_rng(0)
for run in sorted(pathlib.Path(sys.argv[1]).glob("runs/*/*/")):
    for iteration in (5, 10):
        numpy.save(run / f"states.{iteration}.npy", random.normal(size=(200, 8)).astype("float32"))
PYTHON
out=$("$python" "$top/python/examples/umap_states.py" work/results.db --group algo.name --output states.png 2>errors)
plane=PCA; "$python" -c 'import umap' 2>/dev/null && plane=UMAP
tap_check "visited states in a plane ($plane)" \
  "$(awk -F'\t' -v plane=$plane '$3 == "400 states" && $4 ~ /^coverage 0\.[01]/ && $5 == plane { n++ } { text = text $0 "\n" } END { if (n < 1) print text }' <<<"$out"; cat errors | grep -v 'is not installed')"
[ $plane = UMAP ] || tap_skip "visited states by UMAP" "$python has no umap-learn"

# ---- worlds
export LIBSIM=$SWEEP_BUILD/lib/libsim.so.1
without=
[ -e "$LIBSIM" ] && ! nm -D "$LIBSIM" | grep -q __asan_init || without="no libsim here, or built with a sanitizer"
"$python" -c 'import gymnasium; from gymnasium.vector import AutoresetMode' 2>/dev/null || without="$python has no gymnasium 1.1 (make python)"
if [ -n "$without" ]; then tap_skip "worlds" "$without"; else checks sweepdb_worlds.py "$top/tests/fuzz/corpus/level/car-0-004.json"; fi
if [ -z "$without" ] && "$python" -c 'import torch' 2>/dev/null; then
  tap_check "the example of PPO trains" "$("$python" "$top/python/examples/ppo.py" 2 16 2>&1 | awk -F'\t' 'NF == 3 && $1 == 1024 * NR { n++ } { text = text $0 } END { if (n != 2) print text }')"
else tap_skip "the example of PPO trains" "${without:-no torch}"; fi
if [ -z "$without" ] && "$python" -c 'import stable_baselines3' 2>/dev/null; then
  tap_check "the example with Stable-Baselines3 trains" "$("$python" "$top/python/examples/sb3_ppo.py" 20480 2>&1 |
    awk -F'\t' '{ text = text $0 "\n" } NF > 1 { said = said " " $1; rate = $NF } $1 == "untrained" { before = rate }
      END { if (said != " untrained 20480 trained" || !(rate > 3 * before)) print text }')"
else tap_skip "the example with Stable-Baselines3 trains" "${without:-no stable_baselines3}"; fi

# ---- policies
small=(--quiet --set env.task=loco512 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8
  --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=2 --set net.width=16 --set net.depth=2
  --set train.total_steps=512 --set eval.count=0)
mkdir policies
train() { # name, settings: a run's directory policies/NAME, and next to it the trainer's outputs for random observations
  local name=$1 run; shift
  trainer --root "trained/$name" "${small[@]}" "$@" >out 2>&1 || { tap_check "training of $name" "$(cat out)"; return; }
  run=$(echo trained/"$name"/runs/*/*/); mv "${run%/}" "policies/$name"
  [ "$name" = memory ] && return
  "$SWEEP_BUILD/tests/cli/cli_policy" "policies/$name" 16 >"policies/$name.logits" 2>out || [ "$name" = sapg ] || cat out
  trainer export "policies/$name" --safetensors "policies/$name.safetensors" >out 2>&1 || cat out
}
train plain
train norms --set net.sharing=shared --set net.norm=layer --set net.activation=silu --set env.normalize_observations=stoix
train halves --set net.sharing=joint --set net.activation=elu --set env.actions=discrete --set env.normalize_observations=cleanrl \
  --set train.observation_storage=float16
train gaussian --set env.actions=continuous --set net.activation=relu --set net.widths=20-13
train affine --set env.actions=continuous --set net.action_head=tanh_affine --set net.sharing=shared --set net.trunk_widths=24-20
train flat --set net.depth=0
train q --set algo.name=pqn --set env.actions=discrete
train encoder --set net.encoder=set --set env.observations=entity
train memory --set net.memory=lstm --set ppo.sequence_length=8
train sapg --set algo.name=sapg --set sapg.blocks=2 --set env.actions=continuous
if [ -z "$without" ]; then checks sweepdb_policy.py policies worlds; else checks sweepdb_policy.py policies; fi

# ---- the page
recipe() { # the block of docs/python.md whose first line ends in the name
  awk -v name="$1" '/^```/ { inside = !inside && /^```./; first = inside; next } inside && first { first = 0; on = substr($0, length($0) - length(name) + 1) == name }
    inside && on' "$top/docs/python.md"
}
ran=()
try() { # name, folder, expected, code that prints the result
  local out; ran+=("$1")
  out=$(cd "$2" && { recipe "$1"; echo "$4"; } | "$python" - 2>&1 | tail -1)
  tap_check "the page: $1" "$([ -n "$3" ] && [ "$out" = "$3" ] || { echo "expected: $3"; echo "found: $out"; })"
}
experiment='[sweep]
name = first
[env]
morphologies = car
difficulty = 0
level_count = 4
num = 8
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 2
[net]
width = 16
depth = 2
[train]
total_steps = 512
[eval]
count = 0'
mkdir first; echo "$experiment" >first/first.ini
count() { analyze sql work/results.db --csv "SELECT count(*) FROM iteration JOIN run ON run.id = run_id WHERE $1" | tail -1; }
try "results as a data frame" work "$(count "json_extract(config, '\$.ppo.com') = 8 AND iteration.iteration <= 1000")" 'print(len(rows["kl"]))'
try "the last KL of each finished run" work "$(analyze sql work/results.db --csv "SELECT count(DISTINCT run_id), printf('%.12g', sum(kl)) FROM
  (SELECT run_id, kl, row_number() OVER (PARTITION BY run_id ORDER BY iteration.iteration DESC) AS place FROM iteration JOIN run ON run.id = run_id
   WHERE run.status = 'finished') WHERE place = 1" | tail -1)" 'print("%d,%.12g" % (len(last), sum(last.values())))'
if [ -n "$without" ]; then ran+=("many worlds that step together"); tap_skip "the page: worlds" "$without"
else try "many worlds that step together" work "(1024,) True" 'print(rewards.shape, len(observations) == 1024)'; fi
mkdir -p work/runs/ab && cp -r policies/plain work/runs/ab/policy
try "a trained policy, and what it does" work "(3, 16) (3, 6)" 'print(logits.shape, actions.shape)'
try "submit an experiment, and wait for it" first "True 1" \
  'import sweepdb; print(isinstance(result, dict), len(sweepdb.open("results.db", frame="numpy").runs(where={"status": "finished"})["id"]))'

tap_expect "the example that submits" 0 'epsilon 0.4: solve rate [01]\.[0-9]{2} of 2 seeds' "$python" "$top/python/examples/submit.py" from_python
if "$python" -c 'import mypy' 2>/dev/null; then
  tap_check "type hints hold (mypy)" "$(cd "$top/python" && "$python" -m mypy --cache-dir="$tap_dir/mypy" --no-error-summary 2>&1)"
else tap_skip "type hints hold" "no mypy (make python)"; fi

# ---- installed
if cp -r "$top/python" package && "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target installed ./package >out 2>&1; then
  tap_check "pip installs it" "$(cd "$tap_dir/work" && PYTHONPATH=$tap_dir/installed "$python" -c '
import sweepdb; assert sweepdb.__file__.startswith("'"$tap_dir"'/installed"); sweepdb.open("results.db", frame="numpy").runs()' 2>&1)"
else tap_skip "pip installs it" "pip has no setuptools here: $(tail -1 out)"; fi
tap_check "every block of the page is tried" "$(awk '/^```/ { inside = !inside && /^```./; first = inside; next } first { sub(/^# /, ""); print; first = 0 }' \
  "$top/docs/python.md" | sort | comm -23 - <(printf '%s\n' "${ran[@]}" | sort -u))"
tap_done
