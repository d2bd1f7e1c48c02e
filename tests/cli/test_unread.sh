#!/usr/bin/env bash
# core/config/config_reads.def lists the settings that a run does not read: changing such a setting leaves the weights,
# worlds and rows unchanged, bit for bit. One case per row of the table. TAP.
set -u
steps=1280
. "$(dirname "$0")/../fault/restart.sh"
contents() { trainer checkpoint "$(newest "$1")" 2>&1 | grep -vE '^(file|run) |section +clock'; } # ids differ
# same SETTING VALUE OPTIONS...: compares the run with its defaults and OPTIONS to the one with another value
cases=0
same() {
  local setting=$1 value=$2 options=(); shift 2
  for option in "$@"; do options+=(--set "$option"); done
  cases=$((cases + 1))
  local one=$work/$cases.one other=$work/$cases.other problems=
  train "$one" "${options[@]}" 2>"$work/said" || problems="exit $?: $(tail -1 "$work/said")"
  train "$other" "${options[@]}" --set "$setting=$value" 2>"$work/said" || problems+="with it: exit $?: $(tail -1 "$work/said")"
  [ "$(basename "$(folder "$one")")" != "$(basename "$(folder "$other")")" ] || problems+="the value is the default"
  tap_check "$setting is not read${*:+ with $*}" "${problems:-$(same_as_reference "$other" "$one")}"
}
same ppo.com 512 algo.name=ppo
same ppo.ewma_rule plain algo.name=ppo
same ppo.kl_penalty 0.3 algo.name=pqn env.actions=discrete
same ppo.epsilon 0.4 algo.name=pqn env.actions=discrete
same ppo.gae_lambda 0.5 algo.name=pqn env.actions=discrete
same pqn.exploration_fraction 0.7
same sapg.blocks 4
same sgd.noise 0.5
same sfl.sampled_ratio 0.25
same ppo.adv_ewma_decay 0.5 ppo.normalize_advantage=batch
same ppo.norm_epsilon 0.5 ppo.max_grad_norm=inf
same env.normalize_rewards_gamma 0.5
same net.width 64 net.depth=0
same net.trunk_width 64
same net.action_head tanh_affine env.actions=discrete
same eval.episodes 9 eval.count=0
same init.restore weights
tap_done
