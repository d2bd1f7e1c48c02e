#!/usr/bin/env bash
# Trainings with unwritten memory full of NaN (CORE_MEMORY_FILL) end with the weights of those whose memory is zero: none
# reads what was never written. On the CPU and on the emulated device. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
settings=(env.num=8 ppo.num_steps=8 ppo.epochs=2 ppo.num_minibatches=2 net.width=16 net.depth=2 train.total_steps=128
  eval.count=1 eval.episodes=4 metrics.states=32 metrics.representation_every=2 train.threads=1 env.morphologies=car+unicycle
  env.difficulty=0 env.level_count=4 env.max_steps=8)
weights() { # FOLDER SETTING...: the sections of the last checkpoint, by their hashes
  local root=$tap_dir/$1 setting arguments=(); shift
  mkdir -p "$root"
  for setting in "${settings[@]}" "$@"; do arguments+=(--set "$setting"); done
  trainer --root "$root" "${arguments[@]}" >"$root/out" 2>&1 || tail -n 3 "$root/out"
  trainer checkpoint "$root"/runs/*/*/ckpt/iteration-*.ckpt | grep -vE '^file|section +clock'
}
compare() { # NAME SETTING...
  local name=$1; shift
  weights "zero $name" "$@" >"$tap_dir/zero"
  CORE_MEMORY_FILL=nan weights "nan $name" "$@" >"$tap_dir/nan"
  tap_check "$name" "$([ "$(wc -l <"$tap_dir/zero")" -ge 5 ] || echo "no checkpoint"; diff "$tap_dir/zero" "$tap_dir/nan")"
}
compare "ppo"
compare "ppo_ewma, normalized" algo.name=ppo_ewma net.norm=layer env.normalize_observations=cleanrl env.normalize_rewards=cleanrl
compare "pqn in shards" algo.name=pqn env.actions=discrete comm.deterministic=yes comm.shards=2
compare "sapg" algo.name=sapg env.num=12 env.actions=continuous sapg.blocks=3 sapg.embedding=4 \
  env.normalize_observations=rl_games train.total_steps=192
compare "a transformer" env.observations=entity net.encoder=transformer net.sharing=shared
compare "new levels, kept as states" env.task=random_s env.reset=new_filtered train.observation_storage=state
compare "sfl" env.task=random_s env.curriculum=sfl sfl.batch_size=12 sfl.num_batches=2 sfl.buffer_size=5 sfl.period=2 \
  sfl.rollout_steps=30
export CORE_DEVICE=emulated
compare "on a device" train.device=cuda train.precision=bf16
compare "on a device, in halves and shards" train.device=cuda comm.deterministic=yes comm.shards=2 train.rollout_halves=2
compare "on a device, a transformer" train.device=cuda env.observations=entity net.encoder=transformer env.num=2 \
  ppo.num_steps=4 ppo.num_minibatches=1 train.total_steps=16 eval.count=0 env.max_steps=4
tap_done
