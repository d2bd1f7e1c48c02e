#!/usr/bin/env bash
# Part of `make check-long`: in a T-maze, where the sign at the start shows the turn at the end, recurrent policies
# learn the right turn, with each learner that supports them. Without memory every second turn is right. TAP; about five
# minutes.
set -u
. tests/cli/tap.sh
export PATH="$PWD/${SWEEP_BUILD:-build}/bin:$PATH"
seeds=${SEEDS:-0 1}
mkdir -p "$tap_dir/include/sweep"
cp trainer/envs/library/environment.h "$tap_dir/include/sweep/"
gcc -O2 -std=c17 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/t_maze.so" tests/cli/environments/t_maze.c
cat >"$tap_dir/maze.ini" <<INI
[env]
task = library:$tap_dir/t_maze.so/t_maze
num = 66
[train]
total_steps = 150000
[ppo]
num_steps = 32
num_minibatches = 4
epochs = 4
learning_rate = 3e-3
gamma = 0.99
sequence_length = 16
[net]
sharing = shared
trunk_width = 32
width = 32
depth = 1
memory = lstm
memory_width = 16
[eval]
count = 3
episodes = 256
INI

# last NAME SEED OPTIONS...: the solve rate of the last evaluation
last() {
  local root; root=$(mktemp -d "$tap_dir/run.XXXXXX")
  trainer --config "$tap_dir/maze.ini" --root "$root" --quiet --set train.seed="$2" "${@:3}" >"$root/out" 2>&1 ||
    { echo "# $1: $(tail -3 "$root/out")" >&2; return 1; }
  awk -F'\t' '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i ~ /^solve_rate( |$)/) at = i; next } { rate = $at } END { print rate }' \
    "$root"/runs/*/*/eval.1.tsv
}
# between NAME LEAST MOST OPTIONS...: for each seed
between() {
  local name=$1 least=$2 most=$3 seed rate; shift 3
  for seed in $seeds; do
    rate=$(last "$name" "$seed" "$@")
    awk -v r="${rate:-nan}" -v least="$least" -v most="$most" 'BEGIN { exit !(r >= least && r <= most) }'
    tap_result "$name, seed $seed: $rate of the turns at the end are right, $least to $most" $?
  done
}
# 256 turns by chance: 0.5 and four deviations of 0.03
between "ppo without memory" 0 0.63 --set net.memory=none
between "ppo" 0.95 1
between "ppo, a memory each for actor and critic" 0.95 1 --set net.sharing=separate
between "ppo_ewma" 0.95 1 --set algo.name=ppo_ewma --set ppo.com=16
between "sapg" 0.9 1 --set algo.name=sapg --set sapg.sequence_length=16 --set env.task="library:$tap_dir/t_maze.so/t_maze_real" \
  --set sapg.kl_threshold=0 --set train.total_steps=400000
tap_done
