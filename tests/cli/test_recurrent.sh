#!/usr/bin/env bash
# Recurrent policies on the command line: one solves a T-maze, which requires memory; a run is stopped and resumed bit
# for bit, with any number of threads; unsupported settings have messages. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
mkdir -p "$tap_dir/include/sweep"
cp trainer/envs/library/environment.h "$tap_dir/include/sweep/"
maze=$tap_dir/t_maze.so
tap_run "the T-maze compiles" 0 "" gcc -O2 -std=c17 -Wall -Wextra -Werror -shared -fPIC -I"$tap_dir/include" -o "$maze" \
  tests/cli/environments/t_maze.c
cat >"$tap_dir/small.ini" <<INI
[env]
task = library:$maze/t_maze
num = 32
[train]
threads = 1
total_steps = 8192
[ppo]
num_steps = 32
num_minibatches = 4
epochs = 2
sequence_length = 16
[net]
sharing = shared
trunk_width = 16
width = 16
depth = 1
memory = lstm
memory_width = 8
[eval]
count = 2
episodes = 32
[checkpoint]
every = 0
INI

# ---- stop and resume
tap_run "a run trains to its end" 0 "finished, 8 of 8 iterations" train whole
stopped_and_resumed parts
tap_result "a stop saves it, and it resumes" $?
same_bytes "stopped and resumed: the bytes of an undisturbed run" whole parts
train threads --quiet --set train.threads=3
same_bytes "three threads: the same bytes" whole threads
tap_result "the states of 32 worlds, 8 outputs and 8 cells each, are in the checkpoint" \
  "$(contents whole | grep -qE '^section +memory +2048 bytes'; echo $?)" "$(contents whole)"

# ---- it begins from another run
begins() { train "from_$1" --set init.from="$(newest "$1")" --set init.restore=weights "${@:2}"; }
train none --quiet --set net.memory=none
tap_run "not from a run without memory" 2 "its net.memory is none, here it is lstm" begins none --set train.seed=1
tap_run "nor from one of another width" 2 "net.width, net.depth and the rest of" begins whole --set net.memory_width=9
tap_run "but from one with the same" 0 "finished" begins whole --set train.seed=1
stopped other # then a checkpoint of the run without memory in its folder
cp "$(newest none)" "$(dirname "$(newest other)")/"
tap_run "a checkpoint without memory is no checkpoint of this run" 2 "belongs to run" train other --resume

# ---- a policy that plays
seen=(--set env.task=loco512 --set env.morphologies=car --set env.difficulty=0 --set env.level_count=2 --set env.max_steps=32)
tap_run "the simulator, too" 0 "finished, 1 of 1" train seen "${seen[@]}" --set train.total_steps=1024 --set eval.count=0
tap_run "trainer play goes through an episode" 0 "after iteration 1" trainer play --checkpoint "$(newest seen)" -o "$tap_dir/a.png"

# ---- unsupported settings
wrong() { tap_run "$1" 2 "$2" trainer --config "$tap_dir/small.ini" --dry-run "${@:3}"; }
wrong "a sequence that does not divide the rollout" \
  "ppo.num_steps = 32 is not a multiple of ppo.sequence_length = 12; set the latter to a divisor of it" --set ppo.sequence_length=12
wrong "the same of sapg" "ppo.num_steps = 32 is not a multiple of sapg.sequence_length = 12" --set sapg.sequence_length=12 \
  --set algo.name=sapg --set env.num=30 --set env.task=loco512 --set env.actions=continuous
wrong "minibatches that split sequences" \
  "a minibatch of 8 transitions does not consist of whole sequences of ppo.sequence_length = 16 steps, as net.memory = lstm requires; set ppo.num_minibatches to 64" \
  --set ppo.num_minibatches=128
wrong "Q values" "net.memory = lstm: algo.name = pqn learns Q values of single transitions; set net.memory to none" \
  --set algo.name=pqn --set net.sharing=separate
wrong "no networks at all" "net.memory = lstm: algo.name = noisy_sgd has no policy" --set algo.name=noisy_sgd
tap_done
