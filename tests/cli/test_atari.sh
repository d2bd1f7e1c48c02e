#!/usr/bin/env bash
# Games of the Arcade Learning Environment: the trainer's worlds equal those of ale-py's AtariVectorEnv, byte for byte,
# with lives handled as in CleanRL, for any number of workers; errors name what is missing. TAP.
set -u
. tests/cli/tap.sh
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
cat >"$tap_dir/small.ini" <<'INI'
[env]
task = atari/Breakout
num = 2
workers = 2
[train]
threads = 1
total_steps = 400
[ppo]
num_steps = 100
num_minibatches = 4
epochs = 1
[net]
width = 4
depth = 1
[eval]
count = 0
[checkpoint]
every = 0
INI
run() { mkdir -p "$tap_dir/run"; trainer --config "$tap_dir/small.ini" --root "$tap_dir/run" "$@"; }

tap_run "the list has games" 0 "atari/<Game>" trainer tasks
tap_run "a setting out of its range" 2 "atari.sticky" run --dry-run --set atari.sticky=1.5
printf '#!/bin/sh\nexec python3 -S -E "$@"\n' >"$tap_dir/bare"; chmod +x "$tap_dir/bare"
if command -v python3 >/dev/null; then
  tap_expect "a Python without the package" 2 "has no package .*install it with" run --set env.python="$tap_dir/bare"
fi
if ! "$SWEEP_PYTHON" -c "import ale_py.vector_env" 2>/dev/null; then
  tap_skip "the games" "no ale-py in build/python: make python"
  tap_done
fi
without() { # PACKAGE: the message of a Python without it
  mkdir -p "$tap_dir/without"; printf 'import sys; sys.modules["%s"] = None\n' "$1" >"$tap_dir/without/sitecustomize.py"
  PYTHONPATH=$tap_dir/without run
}
tap_expect "ale-py is missing" 2 "has no package ale_py.*pip install ale-py" without ale_py
tap_run "a game nearly right" 2 "did you mean atari/Breakout?" run --set env.task=atari/Breakot
tap_run "a game by its ROM's name" 2 "did you mean atari/MsPacman" run --set env.task=atari/ms_pacman
tap_run "a game for two" 2 "has no game Warlords" run --set env.task=atari/Warlords

# same NAME "TASK WORLDS STEPS SETTINGS" "ROM WORLDS STEPS SEED LIVES OPTIONS": cli_env's lines are atari.py's
same() {
  # shellcheck disable=SC2086
  "$SWEEP_BUILD/tests/cli/cli_env" $2 net.encoder=nature >"$tap_dir/ours" 2>&1
  # shellcheck disable=SC2086
  "$SWEEP_PYTHON" tests/cli/environments/atari.py $3 >"$tap_dir/theirs" 2>&1
  tap_result "$1" "$(cmp -s "$tap_dir/ours" "$tap_dir/theirs"; echo $?)" "$(diff "$tap_dir/ours" "$tap_dir/theirs" | head -6)"
}
count() { awk -v c="$1" '$c == 1' "$tap_dir/ours" | wc -l; } # lines with a 1 in that column
same "whole games" "atari/Breakout 3 220 train.seed=5 env.workers=2 atari.episodic_life=no" "breakout 3 220 5 0"
tap_result "some ended" "$([ "$(count 5)" -gt 0 ] && [ "$(count 5)" = "$(count 7)" ]; echo $?)" "$(count 5) $(count 7)"
same "lives" "atari/Breakout 2 480 train.seed=5 env.workers=2" "breakout 2 480 5 1"
tap_result "more lives ended than games" "$([ "$(count 7)" -gt 0 ] && [ "$(count 5)" -gt $((3 * $(count 7))) ]; echo $?)" \
  "$(count 5) $(count 7)"
cp "$tap_dir/ours" "$tap_dir/two"
same "one worker for both worlds" "atari/Breakout 2 480 train.seed=5 env.workers=1" "breakout 2 480 5 1"
tap_result "gives the same" "$(cmp -s "$tap_dir/ours" "$tap_dir/two"; echo $?)"
same "lives without FIRE" "atari/Qbert 1 200 train.seed=1 atari.fire_reset=no" "qbert 1 200 1 1 use_fire_reset=False"
same "sticky actions" "atari/Pong 2 40 train.seed=5 atari.episodic_life=no atari.sticky=0.25" "pong 2 40 5 0 repeat_action_probability=0.25"
cp "$tap_dir/ours" "$tap_dir/sticky"
same "actions that are not" "atari/Pong 2 40 train.seed=5 atari.episodic_life=no" "pong 2 40 5 0"
tap_result "are others" "$(cmp -s "$tap_dir/ours" "$tap_dir/sticky" && echo 1 || echo 0)"
same "the other settings" \
  "atari/Pong 2 40 train.seed=5 atari.episodic_life=no atari.frame_skip=2 atari.full_actions=yes atari.noop_max=5 \
   atari.fire_reset=no" \
  "pong 2 40 5 0 frameskip=2 full_action_space=True noop_max=5 use_fire_reset=False"

tap_run "a run trains to its end" 0 "finished, 2 of 2 iterations" run --set env.num=2
tap_done
