#!/usr/bin/env bash
# Trains environments of public packages for a few thousand steps each and prints a table of what came of it: package, task,
# observations, actions, result, with tabs between. Needs the network for pip, minutes, and some gigabytes. By hand, or by
# `make check-long ONLY=public`.
#   tests/tools/public_envs.sh FOLDER [NAME...]
# Exit code 77: there is no network, or no pip.
# FOLDER: where a virtual environment is made for each package, and kept. NAME: of a task in the list below, or a part of it.
set -u
folder=${1:?usage: public_envs.sh FOLDER [NAME...]}; shift
mkdir -p "$folder"; folder=$(cd "$folder" && pwd)
command -v trainer >/dev/null || { echo "public_envs.sh: no trainer in PATH; make, then add build/bin" >&2; exit 2; }

# the virtual environment | packages | task without gym/ | further settings
tasks='
base|gymnasium[classic-control,toy-text]|Acrobot-v1|
base|gymnasium[classic-control,toy-text]|MountainCarContinuous-v0|
base|gymnasium[classic-control,toy-text]|Taxi-v4|
base|gymnasium[classic-control,toy-text]|Blackjack-v1|
base|gymnasium[classic-control,toy-text]|FrozenLake8x8-v1|
box2d|gymnasium[box2d]|LunarLander-v3|
box2d|gymnasium[box2d]|BipedalWalker-v3|
box2d|gymnasium[box2d]|CarRacing-v3|net.encoder=nature eval.count=0 train.total_steps=512
mujoco|gymnasium[mujoco]|HalfCheetah-v5|
mujoco|gymnasium[mujoco]|Humanoid-v5|
minigrid|minigrid|minigrid.wrappers:MiniGrid-DoorKey-5x5-v0|refused
minigrid|minigrid|with_wrappers:MiniGrid-v0|
highway|highway-env|highway_env:parking-v0|
highway|highway-env|highway_env:highway-fast-v0|train.total_steps=512
ale|ale-py|ale_py:ALE/Pong-v5|net.encoder=nature eval.count=0 train.total_steps=512
ale|ale-py|with_wrappers:BreakoutRam-v0|eval.count=0
robotics|gymnasium-robotics mujoco<3.4|gymnasium_robotics:FetchReach-v4|
robotics|gymnasium-robotics mujoco<3.4|gymnasium_robotics:AdroitHandDoor-v1|train.total_steps=512
robotics|gymnasium-robotics mujoco<3.4|gymnasium_robotics:PointMaze_UMaze-v3|
panda|panda-gym numpy<2|panda_gym:PandaReach-v3|
flappy|flappy-bird-gymnasium|flappy_bird_gymnasium:FlappyBird-v0|
metaworld|metaworld mujoco<3.4 packaging|with_wrappers:MetaWorld-v0|train.total_steps=512
pusht|gym-pusht|gym_pusht:gym_pusht/PushT-v0|
tetris|tetris-gymnasium|tetris_gymnasium.envs.tetris:tetris_gymnasium/Tetris|
vizdoom|vizdoom|vizdoom.gymnasium_wrapper:VizdoomBasic-v1|
minihack|minihack|minihack:MiniHack-Room-5x5-v0|
popgym|popgym|popgym:popgym-RepeatPreviousEasy-v0|
mo|mo-gymnasium|with_wrappers:DeepSeaTreasure-v0|
anytrading|gym-anytrading|gym_anytrading:forex-v0|eval.count=0
classics|gym-classics|with_wrappers:Classic-v0|
memory|memory-gym|memory_gym:MortarMayhem-Grid-v0|net.encoder=nature eval.count=0 train.total_steps=512
sailing|gym-sailing|gym_sailing:Sailboat-v0|
boing|boing-gym|boing_gym:Boing-v0|
race|gymnasium-search-race|gymnasium_search_race:gymnasium_search_race/SearchRace-v3|
simplegrid|gym-simplegrid|gym_simplegrid:SimpleGrid-8x8-v0|
bsuite|shimmy[bsuite] packaging|shimmy:bsuite/catch-v0|
envpack|envpack|envpack:envpack/2048-v0|
miniworld|miniworld|miniworld:MiniWorld-OneRoom-v0|
xarm|gym-xarm mujoco<3.4|gym_xarm:gym_xarm/XarmLift-v0|train.total_steps=512
pyflyt|pyflyt|PyFlyt.gym_envs:PyFlyt/QuadX-Hover-v4|train.total_steps=512
'

# Environments whose observations, rewards or arguments need a wrapper, registered as docs/environments.md says.
mkdir -p "$folder/modules"
cat >"$folder/modules/with_wrappers.py" <<'PYTHON'
import gymnasium

def minigrid(**kwargs):
    from minigrid import wrappers
    return wrappers.ImgObsWrapper(gymnasium.make("MiniGrid-DoorKey-5x5-v0", **kwargs))

def metaworld(**kwargs):
    import metaworld
    return gymnasium.make("Meta-World/MT1", env_name="reach-v3", **kwargs)

def breakout(**kwargs):
    import ale_py
    return gymnasium.make("ALE/Breakout-v5", obs_type="ram", **kwargs)

def classic(**kwargs):
    import gym_classics
    gym_classics.register("gymnasium")
    return gymnasium.make("ClassicGridworld-v0", **kwargs)

def treasure(**kwargs):
    import mo_gymnasium
    return mo_gymnasium.wrappers.LinearReward(mo_gymnasium.make("deep-sea-treasure-v0", **kwargs))

MAKERS = {"MiniGrid-v0": minigrid, "MetaWorld-v0": metaworld, "BreakoutRam-v0": breakout, "Classic-v0": classic, "DeepSeaTreasure-v0": treasure}
for name, make in MAKERS.items():
    gymnasium.register(name, entry_point=make)
PYTHON
export PYTHONPATH=$folder/modules
export SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy PYGLET_HEADLESS=1 MUJOCO_GL=${MUJOCO_GL:-egl} # no windows

make_venv() { # NAME PACKAGES: a Python with them; false where they cannot be had
  local venv=$folder/$1
  [ -e "$venv/made" ] && return 0
  python3 -m venv "$venv" >"$folder/$1.log" 2>&1 &&
    timeout 900 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "gymnasium>=0.29" $2 >>"$folder/$1.log" 2>&1 && touch "$venv/made"
}

spaces() { # PYTHON TASK: "observations<TAB>actions"
  timeout 120 "$1" -W ignore - "$2" <<'PYTHON' 2>/dev/null
import sys, gymnasium
from gymnasium import spaces
def short(space):
    name = type(space).__name__
    if isinstance(space, spaces.Box):
        return f"Box{space.shape} {space.dtype}"
    if isinstance(space, spaces.Dict):
        return "Dict(" + ", ".join(f"{key}: {short(part)}" for key, part in space.spaces.items()) + ")"
    if isinstance(space, spaces.Tuple):
        return "Tuple(" + ", ".join(short(part) for part in space.spaces) + ")"
    return f"Discrete({space.n})" if isinstance(space, spaces.Discrete) else str(space)[:60]
env = gymnasium.make(sys.argv[1])
print(f"\n{short(env.observation_space)}\t{short(env.action_space)}")
PYTHON
}

train() { # PYTHON TASK SETTINGS...
  local python=$1 task=$2 setting settings=(); shift 2
  for setting; do settings+=(--set "$setting"); done
  rm -rf "$folder/run"; mkdir -p "$folder/work"
  cd "$folder/work" || return # some write files there
  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 timeout 600 \
    trainer --root "$folder/run" --set env.python="$python" --set env.task="gym/$task" --set env.num=2 --set ppo.num_steps=64 \
    --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set train.total_steps=2048 --set train.threads=1 \
    --set eval.count=1 --set eval.episodes=2 --set env.max_steps=200 "${settings[@]}" >"$folder/out" 2>&1
}

try() ( # VENV PACKAGES TASK SETTINGS
  local python=$folder/$1/bin/python packages=$2 task=$3 result found remarks
  if ! make_venv "$1" "$packages"; then
    result="not installed: $(grep -v '^$' "$folder/$1.log" | tail -1 | cut -c1-160)"
  elif [ "$4" = refused ]; then
    train "$python" "$task"
    result="refused: $(tail -1 "$folder/out" | cut -c1-300)"
  elif train "$python" "$task" $4; then
    result=trains
  else
    result="FAILS: $(tail -1 "$folder/out" | cut -c1-300)"
  fi
  remarks=$(grep -h '^warning: .*check_env' "$folder/out" 2>/dev/null | sed 's/^warning: [^ ]*//' | cut -c1-200 | paste -sd' ')
  found=$(spaces "$python" "$task" | tail -1)
  printf '%s\t%s\t%s\t%s\t%s\n' "$packages" "$task" "${found:-?	?}" "$result" "$remarks"
)

if ! timeout 120 python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder/try" gym-pusht >"$folder/try.log" 2>&1; then
  echo "public_envs.sh: pip cannot fetch packages: $(tail -1 "$folder/try.log")" >&2
  exit 77
fi
printf 'packages\ttask\tobservations\tactions\tresult\tcheck_env\n'
while IFS='|' read -r venv packages task settings; do
  [ -n "$venv" ] || continue
  chosen=$#
  for name; do [[ $task == *"$name"* ]] && chosen=0; done
  [ "$chosen" = 0 ] && try "$venv" "$packages" "$task" "$settings" </dev/null
done <<<"$tasks"
