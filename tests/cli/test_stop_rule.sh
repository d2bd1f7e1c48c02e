#!/usr/bin/env bash
# [stop] with real trainings on this machine: a run whose policy has collapsed is stopped, keeps its checkpoint, is
# marked wherever runs are shown, and resumes to the same bits as an uninterrupted run. unit/test_stop_rules covers the
# rules' decisions.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_SITE=none SWEEP_TRAINER=$paced
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
mkdir "$SWEEP_ROOT"

# experiment NAME ITERATIONS LINES...: $tap_dir/NAME.ini with the settings that follow
experiment() {
  local name=$1 iterations=$2; shift 2
  { printf '%s\n' "[sweep]" "name = $name" "[env]" "num = 16" "morphologies = car" "difficulty = 0" "level_count = 8" \
      "[train]" "total_steps = $((256 * iterations))" "[ppo]" "num_steps = 16" "num_minibatches = 4" "epochs = 2" \
      "[net]" "width = 16" "depth = 1" "[eval]" "count = 40" "episodes = 8" "[checkpoint]" "every = 0"
    printf '%s\n' "$@"; } >"$tap_dir/$name.ini"
}
id_of() { sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; } # SWEEP INDEX
folder_of() { echo "$SWEEP_ROOT/runs/${1:0:2}/$1"; }
states() { grep -lx "status=$1" "$SWEEP_ROOT"/runs/*/*/state 2>/dev/null | wc -l; } # of all sweeps
at_least() { [ "$(states "$1")" -ge "$2" ]; }
idle() { [ ! -e "$SWEEP_ROOT/sweeps/$1/queued" ]; }
contents() { trainer checkpoint "$(ls "$1"/ckpt/iteration-*.ckpt | tail -1)" | grep -vE '^file|section +clock'; } # FOLDER
same_as_unstopped() { # ID: why not
  local reference=$tap_dir/reference/runs/${1:0:2}/$1
  trainer --config "$(folder_of "$1")/config.ini" --root "$tap_dir/reference" --quiet >/dev/null 2>&1
  [ -s "$reference/state" ] && diff <(contents "$(folder_of "$1")") <(contents "$reference") || echo "they differ"
}

# ---- stagnation. A learning rate of 1 collapses the policy within an iteration; 1e-12 leaves it as it is, at a DDR that
# ddr_below spares.
experiment study 400 "[grid lr]" "ppo.learning_rate = 1, 1e-12" "[stop]" "rule = stagnation" "patience = 0.2" \
  "ddr_below = 1e9" "every = 0.2"
tap_run "plan prints the rule" 0 "stagnation, after a tenth of the budget, after 20 % of it without improvement, where DDR is below 1 G; by score" \
  sweep plan "$tap_dir/study.ini"
slow 100
tap_run "submit" 0 "2 runs to do" sweep submit "$tap_dir/study.ini" --local --jobs 2
tap_wait 120 at_least "stopped by rule" 1; tap_result "the run on its plateau is stopped" $? "$(sweep status study --runs; cat "$SWEEP_ROOT/executor.log")"
fast
tap_wait 120 idle study
run=$(id_of study 0) spared=$(id_of study 1)
tap_run "status counts it" 0 "1 finished, 1 stopped by rule" sweep status study
tap_run "and says why" 0 "stagnation: not risen in its last 20 % of the budget" sweep status study --runs
tap_check "--json too" "$([ "$(sweep status study --json | tool json 0 run 0 status) $(sweep status study --json | tool json 0 count 'stopped by rule')" = "stopped by rule 1" ] &&
  sweep status study --json | tool json 0 run 0 reason | grep -q '^stagnation: ' || sweep status study --json)"
tap_check "it is no trouble" "$(sweep status study --failed | grep -F "$run")"
tap_check "it has a checkpoint" "$(ls "$(folder_of "$run")"/ckpt/*[1-9]*.ckpt >/dev/null 2>&1 || echo none)"
tap_check "the decision is in the journal" "$(awk -F'\t' -v run="$run" '
  $3 == "stop" && $4 == run && $5 == "stagnation" && $6 == "-" && $7 > 20000 && $8 <= $9 && $10 ~ /^not risen/ && $11 == ";" { n++ }
  END { if (n != 1 || NR != 1) print NR " lines, " n + 0 " good" }' "$SWEEP_ROOT/sweeps/study/stop.log")"
tap_run "report shows the savings" 0 "1 stopped by rule" sweep status study --cost
tap_run "submitting again leaves it" 0 "1 stopped by rule (sweep submit study --by-rule resumes them)" sweep submit study --local
tap_run "plan too" 0 "to run       0" sweep plan study
tap_check "a rebuilt results.db knows it" "$(sweep collect --rebuild >/dev/null; analyze sql "$SWEEP_ROOT/results.db" \
  "SELECT count(*) AS n FROM run WHERE status = 'stopped by rule' AND message LIKE 'stagnation: %'" | grep -qw 1 || echo lost)"

# ---- statistics: censored, never dropped in silence
cd "$tap_dir" || exit 1
out=$(analyze table work/results.db 2>&1 | tr -s ' \n' '  ')
tap_check "captions count censored runs" "$(grep -F '1 stopped by rule (censored: known as far as they came)' <<<"$out" >/dev/null || echo "$out")"
tap_check "and say how it is used" "$(grep -F 'Censored (stopped by rule), with current values: 1.' <<<"$out" >/dev/null || echo "$out")"
tap_check "table --json" "$([ "$(analyze table work/results.db --json | tool json 1 censored)" = 1.0 ] || analyze table work/results.db --json)"
tap_run "compare excludes it, and explains the effect" 1 "A: 1 runs, 1 not ended" analyze compare work/results.db lr=1 lr=1e-12
cd - >/dev/null || exit 1

# ---- taking it up
tap_run "it has not failed" 0 "study: nothing to submit: no run has failed or was lost" sweep submit study --failed
tap_run "a run that was not stopped" 0 "nothing to start: 1 runs are finished" sweep submit study 1
tap_run "by name it is taken up" 0 "study: 1 runs to do" sweep submit study "${run:0:8}"
tap_wait 120 idle study
tap_run "the rule stops it no more" 0 "2 finished" sweep status study
tap_check "stopped and resumed: the bits of an uninterrupted run" "$(same_as_unstopped "$run")"

# ---- asha: runs stop at each rung, and the best go on
experiment rungs 120 "[grid lr]" "ppo.learning_rate = 1e-4, 1e-3, 3e-3, 1e-2, 3e-2" "[stop]" "rule = asha" \
  "min = 5120" "eta = 2" "every = 0.1" # at 20, 40 and 80 iterations
slow 20
tap_run "submit with asha" 0 "5 runs to do" sweep submit "$tap_dir/rungs.ini" --local --jobs 2
tap_wait 300 idle rungs
fast
out=$(sweep status rungs --json)
finished=$(tool json 0 count finished <<<"$out") stopped=$(tool json 0 count "stopped by rule" <<<"$out")
tap_check "some finish, the others are stopped by rule" "$([ "$finished" -ge 1 ] && [ "$stopped" -ge 1 ] && [ $((finished + stopped)) -eq 5 ] || echo "$out")"
log=$SWEEP_ROOT/sweeps/rungs/stop.log
tap_check "only runs that reached their rung are promoted" "$(awk -F'\t' '$3 == "promote" && $10 !~ /^promoted from rung [0-2] / { print }' "$log")"
best=; for i in 0 1 2 3 4; do
  id=$(id_of rungs $i)
  if grep -qx status=finished "$(folder_of "$id")/state"; then best=$id
    tap_check "run $i was promoted" "$(awk -F'\t' -v run="$id" '$3 == "promote" && $4 == run' "$log" | grep -q . || grep "$id" "$log")"
  else
    tap_check "run $i rests at a rung" "$([ "$(grep -F "$id" "$log" | tail -1 | cut -f3)" = stop ] || grep "$id" "$log")"
  fi
done
tap_check "paused at rungs: the bits of an unstopped run" "$(same_as_unstopped "$best")"

# ---- an executor that is killed after writing the journal's line: its successor obeys the line
id=$(awk -F'\t' '$3 == "stop" { last[$4] = 1 } $3 != "stop" { delete last[$4] } END { for (i in last) { print i; exit } }' "$log")
sed -i '/^crc32=/d; s/^status=.*/status=stopped/; s/^message=.*/message=/' "$(folder_of "$id")/state"
tap_run "a stop that was decided and not shown holds" 0 "nothing to start" sweep submit rungs --local
sweep collect >/dev/null
tap_check "collect shows it" "$(grep -x "status=stopped by rule" "$(folder_of "$id")/state" >/dev/null || cat "$(folder_of "$id")/state")"

# ---- without the rule
tap_run "switched off, all go on" 0 "5 finished" sweep submit "$tap_dir/rungs.ini" --set stop.rule=none --local --wait
tap_done
