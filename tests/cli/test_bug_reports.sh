#!/usr/bin/env bash
# Situations taken from public bug reports of comparable tools, tried end to end; each check begins with the id of its
# report. Unit tests hold the details. Those that need a cluster stand in tests/slurm/test_bug_reports.sh. TAP.
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tap_dir"

# ---- G, environments: observations, actions, rewards, infos -------------------------------------------------------------

# ---- G, evaluations and seeds -------------------------------------------------------------------------------------------

evaluations_bug_reports() {
  local root=$tap_dir/g python=$SWEEP_BUILD/python/bin/python common run
  mkdir -p "$root"
  if ! "$python" -c "import gymnasium" 2>/dev/null; then
    tap_skip "G3, G6, G7, G8: evaluations of environments in Python" "no Gymnasium in build/python: make python"
    return
  fi
  export SWEEP_PYTHON=$python PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1 SWEEP_TEST_ENVIRONMENTS=1
  export PYTHONPATH=$top/tests/cli/environments SWEEP_TEST_SEEDS=$root/seeds SWEEP_TEST_MADE=$root/made SWEEP_TEST_MARK=$root/mark
  cat >"$root/forever.ini" <<'INI'
[sweep]
name = forever
[env]
task = gym/Endless-v0
num = 4
[train]
threads = 1
total_steps = 128
[ppo]
num_steps = 16
num_minibatches = 1
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 1
episodes = 4
INI
  sed '/^\[sweep\]/,/^name/d' "$root/forever.ini" >"$root/small.ini"
  common=(--config "$root/small.ini" --root "$root/plain")
  one_run() { rm -rf "$root/plain"; mkdir "$root/plain"; trainer "${common[@]}" "$@"; }
  results() { cut -f1-9 "$root"/plain/runs/*/*/eval.1.tsv | grep '^[0-9]'; }

  tap_expect "G3: an evaluation without an end has a limit, and a warning names the ways out" 0 \
    "states no time limit: .*10000 steps.*env.max_steps.*max_episode_steps" one_run
  tap_expect "G3: a limit of 10**9 steps is none" 0 "states no time limit" one_run --set env.task=gym/Endless-v1
  tap_check "G3: what did not end is not measured" "$(diff <(results) <(printf '0\ttrain\t0\t\t\t0\t\t\t\n2\ttrain\t128\t\t\t0\t\t\t\n'))"
  tap_expect "G3: nor in the log" 0 "on train: not measured \(0 of 4 attempts ended\)" cat "$root"/plain/runs/*/*/log.txt
  mkdir "$root/sweep"
  tap_run "G3: a sweep of it" 0 "" sweep submit "$root/forever.ini" --root "$root/sweep" --local --wait --trust
  sweep collect --root "$root/sweep" >/dev/null 2>&1
  tap_expect "G3: results.db has NULL" 0 "^2[[:space:]|,]*2$" analyze sql "$root/sweep/results.db" \
    "select count(*), sum(episode_return is null and episode_length is null and episodes = 0) from evaluation" --csv
  tap_expect "G3: the status has no return of 0" 1 "^$" grep -E '"episode_return": *0' <(sweep status forever --root "$root/sweep" --json)
  tap_expect "G3: env.max_steps is its limit" 0 "return 20" one_run --set env.max_steps=20
  tap_check "G3: of evaluations too" "$(diff <(results | cut -f6-8) <(printf '4\t20\t20\n4\t20\t20\n'))"
  tap_run "G3: means are over the attempts that ended" 0 "" one_run --set env.task=gym/Some-v0 --set eval.episodes=32
  tap_check "G3: of which there are as many as said" "$(results | awk -F'\t' '$6 < 1 || $6 > 31 || $7 != 10 || $8 != 10')"

  for run in 0 1 2; do one_run --quiet --set env.task=gym/Told-v0 --set train.seed=$run --set eval.episodes=8; done
  # Three runs of 4 training worlds and 2 evaluations of 8 attempts; the coverage's box has 8 worlds, the same for all runs.
  tap_check "G6: no seed is given twice, but those of the coverage's box to each run" \
    "$(sort "$root/seeds" | uniq -c | awk '{ n[$1]++ } END { if (n[1] != 60 || n[3] != 8 || length(n) != 2) for (k in n) print n[k] " seeds " k " times" }')"
  first_evaluation() { one_run --quiet --set env.task=gym/CartPole-v1 --set eval.episodes=30 "$@"; results | head -1; }
  first_evaluation >"$root/four"
  tap_check "G6: an evaluation does not depend on the number of workers" "$(first_evaluation --set env.workers=3 | diff "$root/four" -)"
  tap_check "G6: nor of worlds" "$(first_evaluation --set env.num=7 --set ppo.num_minibatches=1 | diff "$root/four" -)"
  rm -f "$root/made"
  tap_run "G7: a plan says how many instances there are" 0 "instances      of the environment 13 at once: 4 to train, 4 to evaluate in turns" \
    one_run --dry-run --set env.task=gym/Told-v0 --set eval.episodes=512
  rm -f "$root/made"
  tap_run "G7: 512 attempts take turns" 0 "return 55" one_run --set env.task=gym/Told-v0 --set eval.episodes=512
  tap_check "G7: over a few instances" "$(awk 'END { if (NR > 20) print NR }' "$root/made")"
  tap_check "G7: all of them" "$(results | awk -F'\t' '$6 != 512')"

  rm -rf "$root/plain"; mkdir "$root/plain"
  SWEEP_TEST_STUCK="30 0" trainer "${common[@]}" --set env.task=gym/Stuck-v0 >"$root/out" 2>&1 & run=$!
  tap_wait 60 test -e "$SWEEP_TEST_MARK"
  kill -TERM $run
  wait $run
  tap_result "G8: a stop is heard in an evaluation whose step does not come back" "$([ $? = 75 ]; echo $?)" "$(tail -3 "$root/out")"
  tap_run "G8: the resumed run evaluates" 0 "finished, 2 of 2" trainer "${common[@]}" --set env.task=gym/Stuck-v0 --resume
  tap_check "G8: each evaluation once" "$(diff <(cut -f1,6,7 "$root"/plain/runs/*/*/eval.*.tsv | grep '^[0-9]') <(printf '0\t4\t55\n2\t4\t55\n'))"
}
evaluations_bug_reports

# ---- X, exported policies -----------------------------------------------------------------------------------------------

# ---- X, figures and tables ----------------------------------------------------------------------------------------------

# ---- H, hosts, paths and processes --------------------------------------------------------------------------------------

# ---- I, experiment files ------------------------------------------------------------------------------------------------

tap_done
