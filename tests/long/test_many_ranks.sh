#!/usr/bin/env bash
# SFL on 1 to 16 ranks of this machine with comm.deterministic: every bit of a checkpoint is that of one rank. Minibatches
# of blocks, new levels spread over all worlds, searches that all ranks share. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
. "$(dirname "$0")/../fault/pace.sh"
. "$(dirname "$0")/../mpi/launch.sh"
begin "many ranks" 2560
sfl=(--set env.num=32 --set comm.deterministic=yes --set comm.shards=16 --set ppo.minibatch_by=environments
  --set ppo.shuffle=blocks --set env.task=random_s --set env.curriculum=sfl --set env.level_count=6 --set env.max_steps=16
  --set sfl.batch_size=32 --set sfl.num_batches=2 --set sfl.rollout_steps=32 --set sfl.buffer_size=8 --set sfl.period=2
  --set sfl.placement=spread --set eval.episodes=16)
for ranks in 1 2 4 8 16; do
  train $ranks "r$ranks" "${sfl[@]}" >out 2>&1; rc=$?
  contents "r$ranks" >"sections.$ranks"
  [ $rc = 0 ] && [ -s sections.1 ] && cmp -s sections.1 "sections.$ranks"
  tap_result "$ranks ranks: the bits of one" $? "$(tail -3 out; diff sections.1 "sections.$ranks" | head -5)"
done
tap_done
