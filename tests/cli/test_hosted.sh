#!/usr/bin/env bash
# Environments on the host with train.device = cuda (trainer/wrappers/hosted.h), on the emulated device: halves of the
# worlds in flight, lagging streams, stops and threads change no byte, and episodes equal the CPU's. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
. tests/cli/procgen.sh
export CORE_DEVICE=emulated SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python
unset CORE_DEVICE_CODE
gcc -O2 -std=c17 -shared -fPIC -Itrainer/envs/library -x c -o "$tap_dir/corridor.so" \
  <(sed 's|<sweep/environment.h>|"environment.h"|' docs/examples/corridor.c)
cat >"$tap_dir/small.ini" <<INI
[env]
task = library:$tap_dir/corridor.so/corridor
num = 10
[train]
device = cuda
threads = 1
total_steps = 2560
[ppo]
num_steps = 32
num_minibatches = 4
epochs = 2
[net]
width = 8
depth = 1
[eval]
count = 2
episodes = 8
[checkpoint]
every = 0
INI
halves=(--set train.rollout_halves=2)

# The results of all iterations and evaluations in stats and eval files: NAMES that are columns there.
columns() { # ROOT NAMES...
  local root=$1; shift
  awk -F'\t' -v names="$*" 'BEGIN { n = split(names, name, " ") } /^#/ { next }
    !head[FILENAME] { head[FILENAME] = 1; for (c in at) delete at[c]
      for (i = 1; i <= NF; i++) for (k = 1; k <= n; k++) if ($i ~ "^" name[k] "(\\[|$)") at[k] = i; next }
    { for (k = 1; k <= n; k++) if (k in at) printf "%s ", $(at[k]); print "" }' \
    "$tap_dir/$root"/runs/*/*/{stats,eval}.*.tsv
}
# compare KIND OPTIONS...: whole, in halves, and with streams that lag behind
compare() {
  local kind=$1; shift
  tap_run "$kind: policy and update on a device" 0 "finished" train "$kind" "$@"
  train "$kind-halves" --quiet "$@" "${halves[@]}"
  same_bytes "$kind: halves of the worlds in flight, the same bytes" "$kind" "$kind-halves"
  CORE_DEVICE=emulated:order=backward train "$kind-late" --quiet "$@" "${halves[@]}"
  same_bytes "$kind: streams that lag behind, the same bytes" "$kind" "$kind-late"
  stopped "$kind-parts" "$@" "${halves[@]}"
  train "$kind-parts" --quiet --resume "$@" "${halves[@]}"
  same_bytes "$kind: stopped and resumed, the same bytes" "$kind" "$kind-parts"
  train "$kind-cpu" --quiet "$@" --set train.device=cpu
}
# The device's arithmetic differs in the last digits, which no choice among classes came near to here.
same_episodes() { # KIND
  tap_check "$1: the CPU's episodes" "$(diff <(columns "$1" episodes episode_return episode_length solve_rate) \
    <(columns "$1-cpu" episodes episode_return episode_length solve_rate) | head -5)"
  tap_result "$1: there are some" "$([ "$(columns "$1" episodes | grep -c '[1-9]')" -gt 3 ]; echo $?)"
}

near_evaluations() { # KIND
  tap_check "$1: the CPU's evaluations, nearly" "$(paste <(columns "$1" episode_return episode_length) \
    <(columns "$1-cpu" episode_return episode_length) |
    awk '$1 !~ /nan/ && ($1 - $3) ^ 2 > (0.02 * $3) ^ 2 { print } END { if (NR < 8) print NR " lines" }')"
}

compare library
same_episodes library
tap_run "a plan names no worlds on the device" 0 "library" train none --dry-run
tap_run "states cannot replace observations" 2 "train.observation_storage = state" \
  train none --dry-run --set train.observation_storage=state
train half --quiet --set train.observation_storage=float16
train half-late --quiet --set train.observation_storage=float16 "${halves[@]}"
same_bytes "half precision: the same bytes" half half-late
CORE_DEVICE='' tap_run "auto has them on the CPU" 0 "finished" train auto --set train.device=auto

mujoco=(--set env.task=mujoco/Hopper-v4 --set env.num=6 --set env.truncation=bootstrap)
if ! train none --dry-run "${mujoco[@]}" >"$tap_dir/out" 2>&1; then
  tap_skip "MuJoCo" "$(tail -n 1 "$tap_dir/out")"
else
  compare mujoco "${mujoco[@]}" --set train.threads=2
  near_evaluations mujoco
  sapg=(--set algo.name=sapg --set sapg.blocks=3 --set sapg.sequence_length=4)
  tap_run "sapg: its leader continues after truncations" 0 "finished" train sapg "${mujoco[@]}" "${sapg[@]}"
  train sapg-cpu --quiet "${mujoco[@]}" "${sapg[@]}" --set train.device=cpu
  near_evaluations sapg
  each=(--set env.normalize_observations=cleanrl_each --set env.normalize_rewards=cleanrl_each)
  compare each "${mujoco[@]}" "${each[@]}"
fi
quick_pictures
if ! train none --dry-run --set env.task=procgen/maze >"$tap_dir/out" 2>&1; then
  tap_skip "Procgen" "$(tail -n 1 "$tap_dir/out")"
else
  compare procgen --set env.task=procgen/maze --set env.num=4 --set train.total_steps=512 --set ppo.num_steps=16 \
    --set eval.count=0
  pixels=(--set env.task=procgen/maze --set net.encoder=nature --set env.num=4 --set train.total_steps=64
    --set ppo.num_steps=8 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set eval.count=0)
  tap_run "pixels: policy and update on a device" 0 "finished" train pixels "${pixels[@]}"
  train pixels-late --quiet "${pixels[@]}" "${halves[@]}"
  same_bytes "pixels: halves of the worlds in flight, the same bytes" pixels pixels-late
fi
if ! train none --dry-run --set env.task=gym/CartPole-v1 >"$tap_dir/out" 2>&1; then
  tap_skip "Gymnasium" "$(tail -n 1 "$tap_dir/out")"
else
  gym=(--set env.task=gym/CartPole-v1 --set env.workers=2)
  tap_run "Python's environments: policy and update on a device" 0 "finished" train gym "${gym[@]}"
  train gym-halves --quiet "${gym[@]}" "${halves[@]}"
  same_bytes "they do not step in parts; the same bytes" gym gym-halves
  train gym-cpu --quiet "${gym[@]}" --set train.device=cpu
  same_episodes gym
fi
tap_done
