#!/usr/bin/env bash
# `trainer export`: policies as ONNX, checked with onnxruntime, and weights as safetensors, checked with its own
# package, for every kind of network. Parts that need these packages are skipped without them. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with numpy, onnxruntime, safetensors and, for pictures, gymnasium
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore
cd "$tap_dir"
python=
for candidate in "${SWEEP_PYTHON:-}" "$SWEEP_BUILD/python/bin/python" python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import numpy' 2>/dev/null && { python=$candidate; break; }
done
small=(--quiet --set env.num=8 --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=2 --set net.width=16
  --set net.depth=2 --set train.total_steps=512 --set eval.count=0)
loco=(--set env.task=loco512 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4)
mkdir policies
train() { # name, settings: a run's directory policies/NAME, the trainer's outputs for random observations, and both files
  local name=$1 run; shift
  trainer --root "trained/$name" "${small[@]}" "$@" >out 2>&1 || { tap_check "training of $name" "$(cat out)"; return; }
  run=$(echo trained/"$name"/runs/*/*/); mv "${run%/}" "policies/$name"
  "$SWEEP_BUILD/tests/cli/cli_policy" "policies/$name" 16 >"policies/$name.logits" 2>&1 || cat "policies/$name.logits"
  trainer export "policies/$name" --onnx "policies/$name.onnx" --safetensors "policies/$name.safetensors" >out 2>&1 ||
    tap_check "export of $name" "$(cat out)"
}
train plain "${loco[@]}"
train shared "${loco[@]}" --set net.sharing=shared --set net.norm=layer --set net.activation=silu --set env.normalize_observations=stoix
train halves "${loco[@]}" --set net.sharing=joint --set net.activation=elu --set env.actions=discrete \
  --set env.normalize_observations=cleanrl --set train.observation_storage=float16
train gaussian "${loco[@]}" --set env.actions=continuous --set net.activation=relu --set net.widths=20-13 --set env.normalize_observations=rl_games
train affine "${loco[@]}" --set env.actions=continuous --set net.action_head=tanh_affine --set net.sharing=shared --set net.trunk_widths=24-20
train flat "${loco[@]}" --set net.depth=0
train q "${loco[@]}" --set algo.name=pqn --set env.actions=discrete
train set "${loco[@]}" --set net.encoder=set --set env.observations=entity
train stoix_set "${loco[@]}" --set net.encoder=stoix_set --set env.observations=entity --set net.sharing=shared
train each "${loco[@]}" --set env.actions=continuous --set env.normalize_observations=cleanrl_each
train ewma "${loco[@]}" --set algo.name=ppo_ewma --set net.sharing=shared --set net.norm=layer
train memory "${loco[@]}" --set net.memory=lstm --set net.memory_width=12 --set ppo.sequence_length=8 --set env.normalize_observations=stoix
train memory_shared "${loco[@]}" --set net.memory=lstm --set net.memory_width=12 --set ppo.sequence_length=8 --set net.sharing=shared --set env.actions=continuous
train memory_sapg "${loco[@]}" --set net.memory=lstm --set net.memory_width=12 --set ppo.sequence_length=8 --set algo.name=sapg --set sapg.blocks=2 --set env.actions=continuous
train sapg "${loco[@]}" --set algo.name=sapg --set sapg.blocks=2 --set env.actions=continuous
if [ -n "$python" ] && PYTHONPATH=$top/tests/cli/environments "$python" -c 'import gymnasium' 2>/dev/null; then
  export PYTHONPATH=$top/tests/cli/environments SWEEP_TEST_ENVIRONMENTS=1
  film=(--set env.task=gym/Film-v0 --set env.python="$python" --set train.total_steps=256)
  train nature "${film[@]}" --set net.encoder=nature --set net.sharing=shared
  train nature_norm "${film[@]}" --set net.encoder=nature --set net.norm=layer
  train impala "${film[@]}" --set net.encoder=impala --set net.sharing=shared --set net.depth=0
  train colors "${film[@]}" --set env.task=gym/StackedColors-v0 --set net.encoder=impala
  mkdir spaces; mv policies pictures_and_others; mv spaces policies
  steep=(--set env.python="$python" --set ppo.learning_rate=0.1 --set ppo.max_grad_norm=100 --set ppo.epochs=8 --set net.norm=none)
  names="DiscreteFrom MultiSquare BinarySquare Half HalfBounded Uneven UInt8 Int8 Int32"
  ! is_long || names=$(cd "$top/tests/cli/environments" && "$python" -c 'import action_spaces; print(*action_spaces.SPACES)')
  for space in $names; do
    train "$space" --set env.task="gym/action_spaces:$space-v0" "${steep[@]}"
  done
  mv policies spaces; mv pictures_and_others policies
  exported() { trainer export "$1" --onnx "$2.onnx" --safetensors "$2.safetensors" 2>&1 >/dev/null; }
  told_apart() { # runs whose files differ if the environment is missing
    local run
    for run in spaces/*/ policies/colors/ policies/nature/; do
      env -u PYTHONPATH bash -c "$(declare -f exported); exported $run recorded"
      mv "$run/spaces.json" record; exported "$run" made; mv record "$run/spaces.json"
      cmp recorded.onnx made.onnx && cmp recorded.safetensors made.safetensors || echo "$run"
    done
  }
  tap_check "a policy is exported without its environment" "$(told_apart)"
  cp policies/nature/spaces.json record; sed -i 's/"height": [0-9]*/"height": 7/' policies/nature/spaces.json
  tap_run "a damaged record is named" 1 "policies/nature/spaces.json: the record of the environment's spaces is damaged" \
    trainer export policies/nature --onnx damaged.onnx
  mv record policies/nature/spaces.json
else tap_skip "pictures" "no Python with gymnasium (make python)"; fi
told() { # COMMAND...: its lines "name<TAB>problem", the last being "end"
  local out
  out=$("$@" 2>errors)
  while IFS=$'\t' read -r name problem; do
    case $name in end) ;; skip) tap_skip "${problem%%:*}" "${problem#*: }" ;; *) tap_check "$name" "$problem" ;; esac
  done <<<"$out"
  tap_check "the files are read to the end" "$([ "$(tail -1 <<<"$out" | cut -f1)" = "end" ] || tail -5 errors)"
}
if [ -d spaces ]; then
  told env PYTHONPATH="$top/python:$top/tests/cli/environments" "$python" "$top/tests/tools/policy_actions.py" spaces "$top/trainer/envs/bridge"
fi

if [ -z "$python" ]; then tap_skip "files read by other programs" "no Python with numpy (make python)"
else
  told env PYTHONPATH="$top/python" "$python" "$top/tests/tools/policy_export.py" policies
fi

# ---- the page
recipe() { awk -v name="$1" '/^```/ { inside = !inside && /^```./; first = inside; next } inside && first { first = 0; on = substr($0, length($0) - length(name) + 1) == name }
  inside && on' "$top/docs/export.md"; }
cp policies/plain.onnx policy.onnx; cp policies/plain.safetensors weights.safetensors
try() { # NAME MODULE EXPECTED SHOWN
  [ -n "$python" ] && "$python" -c "import $2" 2>/dev/null || { tap_skip "the page: $1" "no Python with $2 (make python)"; return; }
  local out; out=$({ recipe "$1"; echo "$4"; } | "$python" - 2>&1 | tail -1)
  tap_check "the page: $1" "$([ "$out" = "$3" ] || echo "expected $3, found $out")"
}
try "a policy in onnxruntime" onnxruntime "(4, 16) (4, 6)" 'print(logits.shape, action.shape)'
try "all weights as arrays" safetensors "(16, 16) categorical" 'print(weights["actor.W1"].shape, facts["policy"])'

# ---- errors
refused() { tap_run "$1" "$2" "$3" trainer export "${@:4}"; }
trainer --root transformer "${small[@]}" "${loco[@]}" --set net.encoder=transformer --set env.observations=entity >out 2>&1
refused "the transformer as ONNX" 2 "net.encoder = transformer cannot be exported as ONNX" transformer/runs/*/* --onnx t.onnx
tap_check "leaves no file" "$([ ! -e t.onnx ] || echo "t.onnx is there")"
refused "its weights are written" 0 "t.safetensors: weights of run" transformer/runs/*/* --safetensors t.safetensors
refused "no format" 2 "missing output; give --onnx FILE, --safetensors FILE, or both" policies/plain
refused "no run" 2 "expected one run" --onnx a.onnx
refused "a run that is not there" 2 "nosuch" nosuch --onnx a.onnx --root trained/plain
refused "a folder that is not there" 1 "nowhere/a.onnx" policies/plain --onnx nowhere/a.onnx
cp -r policies/plain damaged; printf 'x' | dd of="$(echo damaged/ckpt/iteration-*.ckpt)" bs=1 seek=2000 conv=notrunc 2>/dev/null
refused "a damaged checkpoint" 1 "damaged: the checksum of \"actor\" is wrong" damaged --safetensors a.safetensors
cp -r policies/plain other; sed -i 's/width = 16/width = 17/' other/config.ini
refused "settings of another run" 2 "belongs to run" other --onnx a.onnx
if [ "$(id -u)" != 0 ]; then
  mkdir closed; chmod a-w closed
  refused "a folder that may not be written" 1 "closed" policies/plain --onnx closed/a.onnx
fi
mkfifo pipe
refused "a pipe" 2 "pipe is not a regular file" policies/plain --onnx pipe
tap_run "a directory: a file named after the run" 0 "policies/seed=0-" trainer export policies/plain --safetensors policies
tap_check "the pipe is still there" "$([ -p pipe ] || echo "it is gone")"
tap_done
