#!/usr/bin/env bash
# Environments in Python through worker processes: they train, their episodes are counted correctly, and an error in one
# ends the run with a message and leaves no worker behind. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/small.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python
export OPENBLAS_NUM_THREADS=1 # numpy's threads, which nothing here needs, are busy when they begin
{ printf '%s\n' '[env]' 'task = gym/Count-v0' 'num = 6'; small_settings; } >"$tap_dir/small.ini"

# ---- without Python
tap_run "no Python" 2 "cannot run /nowhere/python, the Python of its worker; set env.python" train none --set env.python=/nowhere/python
tap_run "G11: and the message names the path" 2 "cannot run $tap_dir/no_python" env HOME="$tap_dir" trainer --root "$tap_dir/none" \
  --set env.task=gym/Count-v0 --set env.python="~/no_python" --dry-run
printf '#!/bin/sh\nexec python3 -S -E "$@"\n' >"$tap_dir/bare"; chmod +x "$tap_dir/bare"
if command -v python3 >/dev/null; then
  tap_run "a Python without the package" 2 "has no package gymnasium" train none --set env.python="$tap_dir/bare"
  tap_run "G11: ~ is the home folder" 2 "has no package gymnasium" env HOME="$tap_dir" trainer --root "$tap_dir/none" \
    --set env.task=gym/Count-v0 --set env.python="~/bare" --dry-run
fi
tap_run "no worker" 2 "env.workers = 0 is out of range" train none --set env.workers=0
if ! "$SWEEP_PYTHON" -c "import gymnasium" 2>/dev/null; then
  tap_skip "environments in Python" "no Gymnasium in build/python: make python"
  tap_done
fi
export PYTHONWARNINGS=ignore PYTHONPATH=$PWD/tests/cli/environments SWEEP_TEST_ENVIRONMENTS=1 PYTHONDONTWRITEBYTECODE=1

# ---- episodes: ten steps with rewards 1 to 10, one after the other, without a step between them
column() { # root name: the column's values
  awk -F'\t' -v name="$2" '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i ~ "^" name "(\\[|$)") c = i; next } $c != "" { print $c }' \
    "$tap_dir/$1"/runs/*/*/stats.*.tsv | sort -u | tr '\n' ' '
}
tap_run "a run trains to its end" 0 "finished, 10 of 10 iterations" train count --set eval.count=1
tap_result "its episodes have ten steps" "$([ "$(column count episode_length)" = "10 " ]; echo $?)" "$(column count episode_length)"
tap_result "and return 55" "$([ "$(column count episode_return)" = "55 " ]; echo $?)" "$(column count episode_return)"
tap_result "6 worlds x 160 steps have 96 of them" \
  "$([ "$(awk -F'\t' '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i ~ /^episodes/) c = i; next } { s += $c } END { print s }' \
    "$tap_dir"/count/runs/*/*/stats.*.tsv)" = 96 ]; echo $?)"
tap_run "four workers" 0 "finished, 10 of 10" train four --set env.workers=4 --set eval.count=1
tap_result "count the same" "$([ "$(column four episode_length)$(column four episode_return)" = "10 55 " ]; echo $?)"
looks=(--set metrics.every=1 --set metrics.representation_every=1 --set eval.count=0)
tap_run "states are recorded" 0 "finished" train seen "${looks[@]}"
parent=$(basename "$tap_dir"/seen/runs/*/*)
tap_run "a run continues from it" 0 "starting from" train seen "${looks[@]}" --set train.total_steps=1056 --set "init.from=run:$parent"
tap_result "and continues its parent's counts" "$(grep -q 1056 <<<"$(column seen coverage_states)"; echo $?)" \
  "$(column seen coverage_states)"
tap_run "more workers than worlds are as many as worlds" 0 "finished" train many --set env.num=2 --set ppo.num_minibatches=2 --set env.workers=100

# ---- halves of the worlds in flight: the bytes of all together
shards=(--set comm.deterministic=yes --set comm.shards=2 --set metrics.representation_every=1)
halves=(--set train.rollout_halves=2)
trained() { contents "$1" | grep -v '^run '; } # env.workers is part of the run's name
same_training() { # NAME ROOT ROOT
  tap_check "$1" "$([ -s "$(newest "$2")" ] || echo "no checkpoint"; diff <(trained "$2") <(trained "$3"))"
}
train together --quiet "${shards[@]}"
for workers in 1 2 4; do
  train halves$workers --quiet "${shards[@]}" "${halves[@]}" --set env.workers=$workers
  same_training "halves in flight, env.workers = $workers: the bytes of all worlds together" together halves$workers
done
pendulum=(--set env.task=gym/Pendulum-v1 --set env.truncation=bootstrap)
train pendulum_together --quiet "${shards[@]}" "${pendulum[@]}"
train pendulum_halves --quiet "${shards[@]}" "${pendulum[@]}" "${halves[@]}" --set env.workers=2
same_training "time limits, too" pendulum_together pendulum_halves
film=("${shards[@]}" --set env.task=gym/Film-v0 --set net.encoder=nature --set train.total_steps=192)
train film_together --quiet "${film[@]}"
train film_halves --quiet "${film[@]}" "${halves[@]}"
same_bytes "pixels, too" film_together film_halves
ahead() { SWEEP_TEST_AHEAD=$tap_dir/began train ahead "$@"; }
tap_run "one half continues before the other is awaited" 0 "finished" ahead --set env.task=gym/Ahead-v0 \
  --set env.num=2 --set env.workers=2 --set env.timeout=30 --set train.seed=1000 "${shards[@]}" "${halves[@]}"
tap_expect "a worker that dies in flight" 1 "killed by signal 9" train dies_halves --set env.task=gym/Dies-v0 "${shards[@]}" \
  "${halves[@]}" --set env.workers=2

# ---- the list of tasks
tap_run "Gymnasium's tasks" 0 "gym/CartPole-v1" trainer tasks gym
tap_run "for scripts" 0 '"gym/CartPole-v1"' trainer tasks --json gym
tap_run "a kind that is none" 2 "none of gym, atari, envpool" trainer tasks gmy

# ---- spaces
tap_run "dictionaries, tuples, several classes" 0 "finished" train folded --set env.task=gym/Folded-v0
tap_run "bits" 0 "finished" train bits --set env.task=gym/Bits-v0
tap_run "actions that are whole numbers" 0 "finished" train whole --set env.task=gym/Whole-v0
tap_run "bounds that differ" 0 "finished" train uneven --set env.task=gym/Uneven-v0
tap_run "Pendulum-v1" 0 "finished" train pendulum --set env.task=gym/Pendulum-v1 --set eval.count=1 --set env.normalize_observations=cleanrl
tap_run "Q values: its classes are known without env.actions" 0 "finished" train q --set algo.name=pqn
tap_run "Q values of real numbers" 2 "env.task = gym/Pendulum-v1 expects other actions; set algo.name to ppo" \
  train q --set algo.name=pqn --set env.task=gym/Pendulum-v1
tap_run "a deviation of classes" 2 "env.task = gym/Count-v0 expects classes; set algo.name to ppo" \
  train q --set algo.name=sapg --set sapg.blocks=2
tap_run "words cannot be had" 2 "observations of Text" train words --set env.task=gym/Words-v0

# ---- pixels
nature=(--set net.encoder=nature)
tap_run "an encoder of pixels" 0 "finished" train film --set env.task=gym/Film-v0 "${nature[@]}" --set env.clip_rewards=sign \
  --set train.total_steps=192
tap_result "clipped rewards: returns are whole" "$([ "$(column film episode_return)" = "55 " ]; echo $?)" "$(column film episode_return)"
tap_run "and numbers" 2 "net.encoder = nature reads pictures of bytes" train none "${nature[@]}"
tap_run "too small a picture" 2 "too small for its convolutions" train none --set env.task=gym/Stacked-v0 "${nature[@]}"
tap_run "a row of bytes" 2 "set net.encoder to none" train none --set env.task=gym/Row-v0 "${nature[@]}"
tap_run "a screen without an encoder takes memory for its numbers, not for their square" 0 "finished" train screen \
  --set env.task=gym/Screen-v0 --set env.num=2 --set ppo.num_minibatches=2 --set train.total_steps=64
tap_run "pixels are not rounded" 2 "set train.observation_storage to float32" \
  train none --set env.task=gym/Film-v0 "${nature[@]}" --set train.observation_storage=float16

# ---- errors
tap_run "an id that is none" 2 "Environment \`CartPol\` doesn't exist" train none --set env.task=gym/CartPol-v1
fails() { # name pattern task options...
  local name=$1 pattern=$2 task=$3; shift 3
  tap_expect "$name" 1 "$pattern" train "$task" --set "env.task=gym/$task-v0" "$@"
  tap_expect "$name: the run's reason" 0 "$pattern" cat "$tap_dir/$task"/runs/*/*/attempts.tsv
}
fails "an error is told" "the wheel came off" Raises
tap_expect "with where it came from" 0 "File .*sitecustomize.py" cat "$tap_dir"/Raises/runs/*/*/log.txt
fails "numbers that are not finite" "observations that are not finite" Nan
tap_run "a last observation that is not finite ends an episode, and no run" 0 "finished" train lost \
  --set env.task=gym/Lost-v0 --set env.normalize_observations=cleanrl_each
fails "at a time limit it is learnt from" "a last observation that is not finite" Late
fails "another shape" "shape" Shape
fails "a picture that is turned" "shape" Turns
fails "a worker that is killed" "was killed by signal 9" Dies
fails "a worker that hangs" "did not reply within 2 s; env.timeout" Hangs --set env.timeout=2
tap_run "it may print" 0 "finished" train prints --set env.task=gym/Prints-v0
mkdir "$tap_dir/quiet"
tap_result "but not on the trainer's output" "$(trainer --config "$tap_dir/small.ini" --root "$tap_dir/quiet" --quiet \
  --set env.task=gym/Prints-v0 2>/dev/null | wc -c)"
timeout 300 trainer --config "$tap_dir/small.ini" --root "$tap_dir/quiet" --quiet --set env.task=gym/Forks-v0 \
  >/dev/null 2>&1
tap_result "a fork of it holds nothing up" $?
processes_of() { grep -lzxF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null; }
tap_check "and ends with it" "$(processes_of gym/Forks-v0)"
train plain --quiet
train doubles --quiet --set env.task=gym/Doubles-v0
tap_result "one that comes back as the worker changes nothing" \
  "$([ -n "$(column plain kl)" ] && [ "$(column plain kl)" = "$(column doubles kl)" ]; echo $?)" "$(column doubles kl)"
none_of() { [ -z "$(processes_of "$1")" ]; }
tap_wait 20 none_of gym/Doubles-v0
tap_check "and ends" "$(processes_of gym/Doubles-v0)"

# ---- stops
stopped parts; code=$?
tap_result "a stop saves the run ($workers workers)" "$([ $code -eq 75 ]; echo $?)" "exit $code"
tap_run "a resumed run says that episodes start again" 0 "episodes start again" train parts --resume
tap_run "and ends" 0 "transitions=960" cat "$tap_dir"/parts/runs/*/*/state
mkdir "$tap_dir/killed"
hold
"$paced" --config "$tap_dir/small.ini" --root "$tap_dir/killed" --quiet & pid=$!
has_workers() { workers=$(children_of $pid); [ -n "$workers" ] && ls "$tap_dir"/killed/runs/*/*/stats* >/dev/null 2>&1; }
tap_wait 60 has_workers
kill -9 $pid; wait $pid 2>/dev/null
fast
are_gone() { for worker in $workers; do [ ! -e "/proc/$worker" ] || grep -q '^State:.*Z' "/proc/$worker/status" || return 1; done; }
tap_wait 20 are_gone
tap_result "a killed trainer takes its workers along" "$([ -n "$workers" ] && are_gone; echo $?)" "workers: $workers"
mkdir "$tap_dir/orphans"
hold
"$paced" --config "$tap_dir/small.ini" --root "$tap_dir/orphans" --quiet --set env.task=gym/Forks-v0 & pid=$!
has_forked() { [ "$(processes_of gym/Forks-v0 | wc -l)" -ge 3 ]; } # a worker and two of its forks
tap_wait 60 has_forked
tap_result "its workers have forked" $?
kill -9 $pid; wait $pid 2>/dev/null
fast
tap_wait 20 none_of gym/Forks-v0
tap_result "and their child processes" $? "$(processes_of gym/Forks-v0)"
# ---- a module that an experiment file names
mkdir -p "$tap_dir/modules" "$tap_dir/workspace"
cat >"$tap_dir/modules/mine.py" <<'PY'
import gymnasium
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
gymnasium.register("Mine-v0", entry_point=CartPoleEnv, max_episode_steps=50)
PY
export PYTHONPATH=$tap_dir/modules${PYTHONPATH:+:$PYTHONPATH}
sed -e 's|^task = .*|task = gym/mine:Mine-v0|' -e '1i [sweep]\nname = mine' "$tap_dir/small.ini" >"$tap_dir/mine.ini"
submit() { sweep submit "$tap_dir/mine.ini" --root "$tap_dir/workspace" --local --wait "$@"; }
hash=$(b2sum -l 128 "$tap_dir/modules/mine.py" | cut -c1-32)
tap_run "by hand it runs" 0 "finished" train mine --set env.task=gym/mine:Mine-v0
tap_run "a plan names it" 0 "$tap_dir/modules/mine.py (BLAKE2b $hash)" sweep plan "$tap_dir/mine.ini" --root "$tap_dir/workspace"
tap_run "a submit refuses it" 2 "pass --trust once" submit
tap_run "once trusted it runs" 0 "" submit --trust
tap_run "the user's list has it" 0 "modules/mine.py" cat "$XDG_CONFIG_HOME/sweep/trusted"
echo "# changed" >>"$tap_dir/modules/mine.py"
tap_run "after a change it is queried again" 2 "pass --trust once" submit
tap_run "a module that is none" 2 "has no module nowhere, neither installed nor in" train none --set env.task=gym/nowhere:Mine-v0

# ---- a plan starts one Python for all runs of an environment
printf '#!/bin/sh\ncase "$1 $7" in *"worker.py check=1") echo check >>"%s" ;; *worker.py*) echo start >>"%s" ;; esac\nexec "%s" "$@"\n' "$tap_dir/starts" "$tap_dir/starts" "$SWEEP_PYTHON" >"$tap_dir/counted"
chmod +x "$tap_dir/counted"
{ printf '%s\n' '[sweep]' 'name = counted' '[grid g]' 'env.task = gym/Count-v0, gym/CartPole-v1'
  printf '%s\n' 'ppo.epsilon = 0.1, 0.2, 0.3'; sed '/^task = /d' "$tap_dir/small.ini"; } >"$tap_dir/counted.ini"
tap_run "six configurations of two environments are planned" 0 "" \
  env SWEEP_PYTHON="$tap_dir/counted" sweep plan "$tap_dir/counted.ini" --root "$tap_dir/workspace"
[ "$(sort "$tap_dir/starts" | uniq -c | tr -d ' \n')" = 2check2start ]
tap_result "by two starts of Python, and Gymnasium's checker for each environment" $? "$(sort "$tap_dir/starts" | uniq -c)"
tap_done
