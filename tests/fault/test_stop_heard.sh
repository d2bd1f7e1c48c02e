#!/usr/bin/env bash
# A stop is handled wherever environments step, also during a step that does not return; the resumed run repeats the
# interrupted work, with the values of an uninterrupted one. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/small.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python OPENBLAS_NUM_THREADS=1
rows() { cat "$tap_dir/$1"/runs/*/*/eval.*.tsv | grep -E '^[0-9]' | sort -n; } # ROOT: rows of evaluations
state() { sed -n "s/^$2=//p" "$tap_dir/$1"/runs/*/*/state; }

# ---- the simulator: evaluations that a stop interrupts at their first step; a search of levels
printf '%s\n' '[env]' 'task = random_s' 'num = 8' '[train]' 'threads = 1' 'total_steps = 768' '[ppo]' 'num_steps = 16' \
  'num_minibatches = 2' 'epochs = 1' '[net]' 'width = 8' 'depth = 1' '[eval]' 'count = 6' 'episodes = 4' '[checkpoint]' \
  'every = 0' >"$tap_dir/small.ini"
train whole --quiet
stopped_and_resumed parts
tap_result "a run is stopped before an evaluation, and resumes" $?
same_bytes "to the bytes of an undisturbed one" whole parts
tap_check "with its evaluations, each of them once" "$(diff <(rows whole) <(rows parts))"
tap_result "and there are seven" "$([ "$(rows parts | wc -l)" = 7 ]; echo $?)"
search=(--set env.curriculum=sfl --set sfl.sampled_ratio=0.5 --set sfl.batch_size=8 --set sfl.num_batches=2 --set sfl.period=1
  --set sfl.buffer_size=4 --set sfl.rollout_steps=64 --set env.max_steps=16 --set eval.count=0)
train search_whole --quiet "${search[@]}"
stopped_and_resumed search_parts "${search[@]}"
tap_result "a run with a curriculum too" $?
same_bytes "to the same bytes" search_whole search_parts

# ---- worlds in Python that do not come back from a step
if ! "$SWEEP_PYTHON" -c "import gymnasium" 2>/dev/null; then
  tap_skip "environments in Python" "no Gymnasium in build/python: make python"
  tap_done
fi
export PYTHONWARNINGS=ignore PYTHONPATH=$PWD/tests/cli/environments SWEEP_TEST_ENVIRONMENTS=1 PYTHONDONTWRITEBYTECODE=1
export SWEEP_TEST_MARK=$tap_dir/mark
{ printf '%s\n' '[env]' 'task = gym/Stuck-v0' 'num = 4' 'normalize_observations = stoix' 'normalize_warmup = 20' 'normalize_rewards = cleanrl'; small_settings; } \
  >"$tap_dir/small.ini"
is_stuck() { [ -e "$SWEEP_TEST_MARK" ]; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }
are_gone() { for worker in $workers; do [ ! -s "/proc/$worker/cmdline" ] || return 1; done; }
evaluations=(--set eval.count=2 --set eval.episodes=8)
train undisturbed --quiet "${evaluations[@]}"
# stuck NAME "PURPOSE NUMBER" SIGNAL ITERATION: a run that is stuck there is stopped, after so many iterations
stuck() {
  local root=${1// /_} code
  rm -f "$SWEEP_TEST_MARK"; mkdir "$tap_dir/$root"
  SWEEP_TEST_STUCK=$2 trainer --config "$tap_dir/small.ini" --root "$tap_dir/$root" "${evaluations[@]}" >"$tap_dir/out" 2>&1 & pid=$!
  tap_wait 60 is_stuck
  workers=$(children_of $pid)
  kill -"$3" $pid
  tap_wait 60 has_ended $pid
  wait $pid; code=$?
  tap_result "$1: SIG$3 is heard" "$([ $code = 75 ] && [ "$(state "$root" status)" = stopped ] && grep -q "stopped by signal" "$tap_dir/out"
    echo $?)" "exit code $code: $(tail -3 "$tap_dir/out")"
  contents "$root" >"$tap_dir/$root.stopped" 2>/dev/null
  tap_result "after $4 iterations" "$([ "$(state "$root" iteration)" = "$4" ]; echo $?)" "$(state "$root" iteration)"
  tap_result "and no worker is left" "$(tap_wait 20 are_gone; echo $?)" "$workers"
  tap_run "it resumes" 0 "finished, 15 of 15" train "$root" --resume "${evaluations[@]}"
  tap_result "and has each evaluation once" "$([ "$(rows "$root" | cut -f1 | tr '\n' ' ')" = "0 8 15 " ]; echo $?)" "$(rows "$root")"
}
stuck "statistics before training" "28 0" TERM 0
stuck "the box of coverage" "29 0" USR1 0
stuck "a rollout" "27 0" USR2 0
stuck "the first evaluation" "30 0" INT 0
tap_check "observations of the interrupted rollout are discarded" \
  "$(diff <(grep moments "$tap_dir/a_rollout.stopped") <(grep moments "$tap_dir/the_first_evaluation.stopped"))"
tap_check "which is the undisturbed run's" "$(diff <(rows undisturbed | head -1) <(rows the_first_evaluation | head -1))"
stuck "a later evaluation" "30 1" TERM 8
tap_check "those before it are the undisturbed run's" "$(diff <(rows undisturbed | head -2) <(rows a_later_evaluation | head -2))"
tap_expect "no error is reported" 1 "^$" grep -h " error " "$tap_dir"/*/runs/*/*/log.txt

# ---- several ranks: one gets the signal, and all stop
. tests/mpi/launch.sh
if ! command -v mpirun >/dev/null 2>&1 || trainer info | grep -q '^MPI  *no'; then
  tap_skip "a stop that one of two ranks is told" "no MPI"
  tap_done
fi
# told NAME "PURPOSE NUMBER" RANK
told() {
  local root=$tap_dir/ranks.${2% *}
  rm -f "$SWEEP_TEST_MARK"; mkdir "$root"
  SWEEP_TEST_STUCK=$2 mpirun -n 2 trainer --config "$tap_dir/small.ini" --root "$root" "${evaluations[@]}" >"$tap_dir/out" 2>&1 & pid=$!
  tap_wait 60 is_stuck
  kill -USR1 "$(process_of "$3" "$root")"
  tap_wait 60 has_ended $pid
  wait $pid
  tap_result "a stop of rank $3 of two: both stop in $1" "$([ $? = 75 ] && [ "$(state "$root" status)" = stopped ]; echo $?)" \
    "$(tail -5 "$tap_dir/out")"
  tap_run "and go on, as one process" 0 "finished, 15 of 15" timeout 200 trainer --config "$tap_dir/small.ini" --root "$root" \
    --resume "${evaluations[@]}"
}
told "an evaluation" "30 0" 1
told "a rollout" "27 0" 1
told "statistics before training" "28 0" 0
tap_done
