#!/usr/bin/env bash
# Continuous actions on the command line: every learner and head trains, a run stopped after nearly every iteration ends
# with the same bytes as an uninterrupted one, its policy plays, and its weights are inherited. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh

cat >"$tap_dir/small.ini" <<'INI'
[env]
morphologies = car
difficulty = 0
level_count = 2
num = 12
max_steps = 32
actions = continuous
[train]
threads = 1
total_steps = 7680
[ppo]
num_steps = 16
num_minibatches = 4
epochs = 2
[sapg]
blocks = 3
embedding = 4
[net]
width = 8
depth = 1
[eval]
episodes = 4
count = 2
[checkpoint]
every = 0
INI
run_of() { basename "$tap_dir/$1"/runs/*/*; }

number=0
while read -r name options; do
  number=$((number + 1))
  # shellcheck disable=SC2086
  tap_run "$name trains to its end" 0 "finished, 40 of 40 iterations" train "whole$number" $options
  # shellcheck disable=SC2086
  stopped_and_resumed "parts$number" $options
  tap_result "$name stopped and resumed is finished" $?
  same_bytes "$name: the same bytes as undisturbed" "whole$number" "parts$number"
done <<'LEARNERS'
gaussian --set algo.name=ppo_ewma --set net.action_head=gaussian --set env.normalize_observations=cleanrl --set env.normalize_rewards=cleanrl --set net.sharing=joint --set ppo.normalize_advantage=minibatch_unbiased
tanh_affine --set algo.name=ppo --set net.action_head=tanh_affine --set env.normalize_observations=stoix --set env.normalize_rewards=ppo_ewma
sapg --set algo.name=sapg --set env.normalize_observations=rl_games --set net.sharing=shared --set sapg.clip=paper
each --set algo.name=ppo --set env.normalize_observations=cleanrl_each --set env.normalize_rewards=cleanrl_each --set eval.actions=mean
LEARNERS

# ---- information on a finished run
for k in 1 2 3 4; do
  tap_run "policy $k plays through its own statistics" 0 "return" trainer play --checkpoint "$(run_of whole$k)" \
    --root "$tap_dir/whole$k" --steps 3 -o "$tap_dir/a.svg"
  statistics=$(trainer checkpoint "$(ls "$tap_dir/whole$k"/runs/*/*/ckpt/iteration-*.ckpt | tail -1)" | grep -c "observation moments")
  tap_result "its checkpoint holds them" "$([ "$statistics" -eq 1 ]; echo $?)"
done
tap_run "weights are inherited with their statistics" 0 "starting from" train whole1 --set algo.name=ppo_ewma \
  --set net.action_head=gaussian --set env.normalize_observations=cleanrl --set net.sharing=joint --set train.seed=3 \
  --set "init.from=run:$(run_of whole1)" --set init.restore=weights
train plain --quiet --set train.total_steps=192
tap_run "a parent without them is refused" 2 "its env.normalize_observations is none, here it is cleanrl" train plain --set train.seed=4 \
  --set env.normalize_observations=cleanrl --set "init.from=run:$(run_of plain)" --set init.restore=weights

tap_run "worlds continue from the pooled statistics of the parent's worlds" 0 "starting from" train whole4 --set algo.name=ppo \
  --set env.normalize_observations=cleanrl_each --set train.seed=5 --set env.num=24 --set eval.actions=mean \
  --set "init.from=run:$(run_of whole4)" --set init.restore=weights
sections=$(trainer checkpoint "$(ls "$tap_dir"/whole4/runs/*/*/ckpt/iteration-*.ckpt | head -1)")
tap_check "checkpoints have a record of each world" "$(grep -q 'moments of each world' <<<"$sections" &&
  grep -q 'reward moments of each' <<<"$sections" || echo "$sections")"

# ---- invalid settings
tap_run "time limits that the environment does not report" 2 "kinetix environments lack; set env.truncation to terminate" \
  trainer --dry-run --set env.truncation=bootstrap
tap_run "sapg with classes" 2 "set env.actions = continuous" trainer --dry-run --set algo.name=sapg --set env.num=12
tap_run "pqn with real numbers" 2 "set env.actions = discrete" trainer --dry-run --set algo.name=pqn --set env.actions=continuous
tap_run "worlds that are no blocks" 2 "env.num to 12 or 15" trainer --dry-run --config "$tap_dir/small.ini" \
  --set algo.name=sapg --set env.num=13
tap_run "more followers than there are" 2 "set it to 0 to 2" trainer --dry-run --config "$tap_dir/small.ini" \
  --set algo.name=sapg --set sapg.off_policy_ratio=3
tap_run "a head that sapg has not" 2 "net.action_head to gaussian" trainer --dry-run --config "$tap_dir/small.ini" \
  --set algo.name=sapg --set net.action_head=tanh_affine
tap_run "sequences that do not divide" 2 "sapg.sequence_length = 5" trainer --dry-run --config "$tap_dir/small.ini" \
  --set algo.name=sapg --set sapg.sequence_length=5
tap_done
