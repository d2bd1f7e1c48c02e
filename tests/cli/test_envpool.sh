#!/usr/bin/env bash
# Environments of EnvPool, which resets an ended episode in the next step: that step never reaches the trainer;
# otherwise its worlds equal EnvPool's. Uses a stand-in, and EnvPool itself if ENVPOOL_PYTHON names a Python that has it
# (pip install envpool gymnasium: 650 MB). TAP.
set -u
. tests/cli/tap.sh
. tests/cli/small.sh
export PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python
{ printf '%s\n' '[env]' 'task = envpool/Count-v0' 'num = 6' 'workers = 2'; small_settings; } >"$tap_dir/small.ini"
run() { mkdir -p "$tap_dir/$1"; local root=$tap_dir/$1; shift; trainer --config "$tap_dir/small.ini" --root "$root" "$@"; }
# same NAME TASK WORLDS STEPS SETTINGS...: cli_env's lines are envpool_alone.py's
same() {
  local name=$1 task=$2 worlds=$3 steps=$4; shift 4
  "$SWEEP_BUILD/tests/cli/cli_env" "envpool/$task" "$worlds" "$steps" train.seed=5 "$@" >"$tap_dir/ours" 2>&1
  "$SWEEP_PYTHON" tests/cli/environments/envpool_alone.py "$task" "$worlds" "$steps" 5 >"$tap_dir/theirs" 2>&1
  tap_result "$name" "$(cmp -s "$tap_dir/ours" "$tap_dir/theirs"; echo $?)" "$(diff "$tap_dir/ours" "$tap_dir/theirs" | head -6)"
}
ended() { awk '$5 == 1' "$tap_dir/ours" | wc -l; }

if "$SWEEP_PYTHON" -c "import gymnasium" 2>/dev/null; then
  export PYTHONPATH=$PWD/tests/cli/environments/stand_in
  same "next-step resets: the worlds without the steps that do nothing" Count-v0 4 50 env.workers=1
  tap_result "each ended five times" "$([ "$(ended)" = 20 ]; echo $?)" "$(ended)"
  late=$(awk '$5 == 1 && $6 == 1' "$tap_dir/ours" | wc -l)
  tap_result "every other one by the time limit" "$([ "$late" = 10 ]; echo $?)" "$late"
  same "the same worlds by three workers" Count-v0 4 50 env.workers=3
  tap_run "a run trains to its end" 0 "finished, 10 of 10 iterations" run count --set eval.count=1
  tap_run "a name nearly right" 2 "did you mean envpool/Count-v0" run count --set env.task=envpool/Cout-v0
  tap_run "the list" 0 "envpool/Counter-v0" trainer tasks envpool
  unset PYTHONPATH
else
  tap_skip "a stand-in for EnvPool" "no Gymnasium in build/python: make python"
fi

export SWEEP_PYTHON=${ENVPOOL_PYTHON:-$SWEEP_PYTHON}
if ! "$SWEEP_PYTHON" -c "import envpool" 2>/dev/null; then
  tap_skip "EnvPool itself" "ENVPOOL_PYTHON names no Python that has it"
  tap_done
fi
same "EnvPool's CartPole" CartPole-v1 3 200 env.workers=2
tap_result "which ended" "$([ "$(ended)" -gt 9 ]; echo $?)" "$(ended)"
same "EnvPool's Pong, pictures" Pong-v5 2 60 env.workers=1 net.encoder=nature
tap_run "CartPole trains" 0 "finished, 10 of 10" run cart --set env.task=envpool/CartPole-v1
tap_run "HalfCheetah trains" 0 "finished, 10 of 10" run cheetah --set env.task=envpool/HalfCheetah-v4
tap_run "Pong trains, from pixels" 0 "finished, 2 of 2" run pong --set env.task=envpool/Pong-v5 --set net.encoder=nature \
  --set env.num=2 --set net.trunk_width=16 --set net.sharing=shared --set net.depth=0 --set train.total_steps=64 --set eval.count=0
tap_done
