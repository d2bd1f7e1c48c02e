#!/usr/bin/env bash
# Several runs side by side on one GPU, as sweep task packs them (runs_per_task, gpus_per_run < 1): each learns, bit by bit,
# what it learns alone, and is held against its own part of the memory. On an emulated GPU. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$tap_dir"
export OMP_NUM_THREADS=1 CORE_DEVICE=emulated:gpus=1,memory=64M
small=(--quiet --set train.device=cuda --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8
  --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=2 --set net.width=16 --set net.depth=2
  --set train.total_steps=512 --set eval.count=0)
contents() { trainer checkpoint "$1"/runs/*/*/ckpt/*.ckpt | grep -vE '^file|section +clock'; }

for seed in 1 2 3 4; do
  mkdir "alone$seed" "packed$seed"
  trainer --root "alone$seed" "${small[@]}" --set train.seed=$seed >out 2>&1 || cat out
done
pids=()
for seed in 1 2 3 4; do
  CORE_DEVICE_SHARE=0.25 trainer --root "packed$seed" "${small[@]}" --set train.seed=$seed >"out$seed" 2>&1 & pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
tap_result "four runs side by side on one GPU end well" $failed "$(cat out?)"
for seed in 1 2 3 4; do
  contents "alone$seed" >a; contents "packed$seed" >b
  tap_result "run $seed of them has the bits of the run alone" "$([ -s a ] && cmp -s a b; echo $?)" "$(diff a b)"
done
tap_expect "a run that is too large for its part of the memory says so" 1 'training needs about .*which has 1\.[0-9]*MB.*lower|raise' \
  env CORE_DEVICE_SHARE=0.02 trainer --root alone1 "${small[@]}" --set env.num=64 --set net.width=256 --set train.seed=9
tap_expect "a part that is none" 2 'CORE_DEVICE_SHARE = all: write the part' env CORE_DEVICE_SHARE=all trainer --root alone1 "${small[@]}" \
  --set train.seed=9
tap_done
