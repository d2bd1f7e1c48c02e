#!/usr/bin/env bash
# Third-party programs as runs: [program], [settings] and [metric], from the experiment file to figures.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
tree=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tap_dir" || exit 1
mkdir w
export SWEEP_ROOT=$tap_dir/w OMP_NUM_THREADS=1

# The program: prints a line of JSON every 10 steps, and misbehaves as its name requests.
cat > train.sh <<'SH'
#!/bin/sh
# train.sh STEPS LR SEED [resume FILE]
steps=$1 lr=$2 seed=$3 step=0
if [ "${4:-}" = resume ] && [ -f "$5" ]; then step=$(cat "$5"); fi
trap 'echo $step > "$SWEEP_DIR/last"; exit 75' TERM USR2
while [ $step -lt "$steps" ]; do
  step=$((step + 10))
  echo "{\"step\": $step, \"reward\": $lr, \"losses\": {\"kl\": 0.0$seed}, \"own\": $step}" >> "$SWEEP_METRICS"
  [ -n "${SLOW:-}" ] && sleep 0.4
done
: > "$SWEEP_DIR/trained"
echo "trained $SWEEP_RUN, attempt $SWEEP_ATTEMPT, seed $SWEEP_SEED, $(cat "$SWEEP_CONFIG")"
SH
own() { # NAME COMMAND [LINES OF [program]...]
  printf '[sweep]\nname = %s\nseeds = 2\ngoal = max episode_return\n[program]\ncommand = %s\nstep = step of {steps}\n' \
    "$1" "$2"
  shift 2
  [ $# -gt 0 ] && printf '%s\n' "$@"
  printf '[settings]\nlr = 0.5\nsteps = 100\n[metric]\nepisode_return = reward\nkl = losses/kl\n[grid g]\nlr = 0.25, 0.5\n'
}
rows() { analyze sql w/results.db "$1" 2>/dev/null | tail -n +2 | awk '{ for (i = 1; i <= NF; i++) sub(/\.0$/, "", $i); $1 = $1; print }'; }

own own 'sh train.sh {steps} {lr} {seed}' > own.ini
tap_run "the plan counts runs and says which code they are of" 0 "train.sh" sweep plan own.ini
tap_run "a typo is rejected, with a suggestion" 2 "did you mean lr" sweep plan own.ini --set lrr=1
tap_run "runs of a program finish" 0 "100 %  4 finished" timeout 120 sweep submit own.ini --wait
tap_run "submitting again starts nothing" 0 "nothing to start: 4 runs are finished" sweep submit own.ini
sweep collect > /dev/null
tap_check "each line is a row, once" "$(diff <(rows 'SELECT count(*), count(DISTINCT run_id) FROM iteration') <(echo '40 4'))"
tap_check "known metrics are columns, the score is an evaluation" "$(
  diff <(rows "SELECT DISTINCT e.episode_return, i.kl FROM evaluation AS e JOIN iteration AS i USING(run_id) \
JOIN run ON run.id = run_id WHERE run.seed = 1 AND level_set = 'train' ORDER BY 1") <(printf '0.25 0.01\n0.5 0.01\n'))"
tap_check "settings are in run.config" "$(
  diff <(rows "SELECT json_extract(config, '\$.settings.lr'), count(*) FROM run GROUP BY 1") <(printf '0.25 2\n0.5 2\n'))"
tap_run "curves are drawn by the program's settings" 0 "lr 0.25" analyze curves w/results.db --sweep own -o f.svg
tap_run "and by its metrics' own names" 0 "metric.own" analyze curves w/results.db --sweep own --y own,kl -o f.svg
tap_check "which are rows of the table metric" "$(
  diff <(rows "SELECT name, count(*), max(value), max(step) FROM metric GROUP BY name") <(echo 'own 40 100 100'))"
tap_run "compare takes the program's settings" 0 "A: lr=0.25" analyze compare w/results.db lr=0.25 lr=0.5
tap_run "names of other implementations are accepted" 0 "transitions  kl" \
  analyze curves w/results.db --sweep own --y losses/approx_kl --where 'train.seed=0' -o f.svg
tap_run "the log has its output" 0 "attempt 1, seed 0, {\"lr\": 0.25, \"steps\": 100}" sweep logs own/0
tap_run "the database can be rebuilt" 0 "new rows from 4 runs" sweep collect --rebuild

tap_run "the trainer has no policy of it" 2 "a run of a program has no policy of the trainer" trainer export own/0 --onnx p.onnx
tap_run "to play" 2 "a run of a program has no policy" trainer play --checkpoint own/0
tap_run "and no checkpoint" 2 "a run of a program has no policy" trainer checkpoint own/0
first=$(sed -n 's/^0\t//p' w/sweeps/own/manifest.tsv)
tap_run "to begin from" 2 "a run of a program has no policy" trainer --set "init.from=run:$first" --set train.total_steps=1000
tap_run "and does not run it" 2 "a configuration of the program train" trainer --config "w/runs/${first:0:2}/$first/config.ini"

own rated 'sh train.sh {steps} {lr} {seed}' | sed 's/^goal = .*/goal = max solve_rate/; s/^episode_return = .*/solve_rate = reward\nsteps_per_second = own/; s/^lr = 0.25, .*/lr = 0.3, 0.6/' \
  > rated.ini
tap_run "a goal may be a solve rate" 0 "4 finished" timeout 120 sweep submit rated.ini --wait
sweep collect > /dev/null
tap_check "which is the score, as is that of the trainer; and a program may report its speed" "$(
  diff <(rows "SELECT DISTINCT best_solve_rate, best_return IS NULL, steps_per_second FROM run_summary \
WHERE sweeps LIKE '%rated%' ORDER BY 1") <(printf '0.3 1 100\n0.6 1 100\n'))"

sed -e 's/^name = .*/name = prefixed/' -e 's/^goal = .*/goal = max metric.kept/' -e 's/^command = .*/command = sh prefixed.sh {lr}/' own.ini > prefixed.ini
echo 'echo "{\"step\": 100, \"metric.kept\": $1}" >> $SWEEP_METRICS' > prefixed.sh
tap_run "a metric of a goal may itself begin with metric." 0 "4 finished" timeout 120 sweep submit prefixed.ini --wait
sweep collect > /dev/null
tap_check "and is the score" "$(diff <(rows "SELECT DISTINCT best_return FROM run_summary WHERE sweeps = 'prefixed' ORDER BY 1") \
  <(printf '0.25\n0.5\n'))"
sed -e 's/^name = .*/name = more/' -e 's/^steps = .*/steps = 40/' -e 's/^lr = 0.25, .*/lr = 0.25/' own.ini > more.ini
timeout 120 sweep submit more.ini --wait > /dev/null 2>&1
tap_run "the mode of a setting is that of its equivalent in a program" 0 "4 finished" \
  analyze table w/results.db --sweep own,more --where ppo.learning_rate=mode --group none
tap_check "which has most runs" "$(diff <(echo 0.25) <(analyze table w/results.db --sweep own,more --where ppo.learning_rate=mode --group lr --json | tool json 0 lr))"

# ---- ends
own broken 'sh -c "echo one >&2; echo the last line >&2; exit 3"' > broken.ini
tap_run "a failure's reason is the last line of standard error" 1 "exit code 3: the last line" \
  timeout 120 sweep submit broken.ini --wait
own silent true > silent.ini
tap_run "a run without metrics finishes" 0 "4 finished" timeout 120 sweep submit silent.ini --wait
tap_run "and says that it has none" 0 "finished without metrics: none was found in metrics = jsonl" sweep status silent --runs
cp train.sh ppo.sh
files=$(find w/runs -path '*/files/trained' | wc -l)
tap_expect "--checkpoints removes the files of programs, too" 0 "^removed own: checkpoints of 4 runs" sweep rm own --checkpoints --yes
tap_check "of that sweep" "$(diff <(find w/runs -path '*/files/trained' | wc -l) <(echo $((files - 4))))"
own named 'sh ppo.sh {steps} {lr} {seed}' > named.ini
tap_run "a program with the name of an algorithm" 0 "4 finished" timeout 120 sweep submit named.ini --wait
tap_check "keeps the extension in its name" "$(diff <(rows "SELECT DISTINCT algorithm FROM run_summary \
WHERE sweeps = 'named'") <(echo ppo.sh))"
own diverged 'sh -c "exit 76"' > diverged.ini
tap_run "exit code 76 is a divergence" 1 "diverged" timeout 120 sweep submit diverged.ini --wait
own absent 'no-such-program-here {lr}' > absent.ini
tap_run "a program that is not there is found by the plan" 2 "there is no program no-such-program-here in PATH" \
  sweep plan absent.ini
tap_run "a program that is not there says so" 1 "cannot start no-such-program-here" \
  timeout 120 sweep submit absent.ini --wait --no-check

# ---- the example of a shell script
tap_run "a shell script runs" 0 "9 finished" timeout 60 sweep submit "$tree/docs/examples/descent.ini" --wait
sweep collect > /dev/null
tap_run "its output gives curves" 0 "lr 0.01" analyze curves w/results.db --sweep descent --y loss -o f.svg
tap_check "one row per line" "$(diff <(rows "SELECT count(*), max(step) FROM metric JOIN sweep_run USING (run_id) \
WHERE sweep = 'descent' AND name = 'loss'") <(echo '1800 200'))"
tap_run "and a verdict" 0 "A: lr=0.1" analyze compare w/results.db --sweep descent lr=0.1 lr=0.01

# ---- profiles and --set
{ own varied 'sh train.sh {steps} {lr} {seed} varied'
  printf '%s\n' '[profile cluster]' 'program.setup = echo prepared' 'program.resume = resume' '[profile bad]' 'program.grace = 9'; } > varied.ini
tap_run "a profile and --set change keys of [program]" 0 "4 finished" \
  timeout 120 sweep submit varied.ini --profile cluster --set program.grace=7 --wait
tap_check "of the profile" "$(grep -hxE 'setup = "echo prepared"|grace = "7"|resume = "resume"' w/sweeps/varied/sweep.ini | wc -l | grep -vx 3)"
tap_expect "and they are used" 0 "^prepared" sweep logs varied/0
for key in command='sh train.sh {steps} 0 {seed}' code=none cwd=w; do
  tap_run "${key%%=*} of a submitted sweep is fixed" 2 "program.${key%%=*} of a submitted sweep is fixed" \
    sweep submit varied --set "program.$key"
done
tap_run "their values are checked" 2 "set program.command=sh {lrr}: command: {lrr} is not a setting" \
  sweep plan varied.ini --set 'program.command=sh {lrr}'
sed -i 's/grace = 9/grace = soon/' varied.ini
tap_expect "in every profile" 2 "varied.ini:[0-9]*:17: grace = soon: expected at most one day, in seconds or with a unit" sweep plan varied.ini
tap_run "their names, too" 2 "did you mean program.setup" sweep plan own.ini --set program.setupp=x
tap_run "a file without a program has none" 2 "a key of [program], which this file does not have" \
  sweep plan "$tree/experiments/fig1b_convex.ini" --set program.setup=x

# ---- code
own asked 'sh asked.sh {lr}' > asked.ini
echo 'echo "{\"step\": 100, \"reward\": $1}" >> $SWEEP_METRICS' > asked.sh
timeout 120 sweep submit asked.ini --wait > /dev/null 2>&1
tap_run "another user's workspace runs no command" 2 "a sweep that you have not trusted" \
  env XDG_CONFIG_HOME="$tap_dir/nobody" sweep submit asked --force
echo '# edited' >> asked.sh
tap_run "by its name alone a sweep does not run edited code" 2 "were edited since" sweep submit asked --force
tap_run "an edited script makes new runs" 0 "4 new in the manifest" sweep submit asked.ini --no-start

# ---- other metrics with the same run ids
own mapped 'sh train.sh {steps} {lr} {seed} mapped' > mapped.ini
timeout 120 sweep submit mapped.ini --wait > /dev/null 2>&1
sed -i 's/^kl = .*/kl = own/' mapped.ini
tap_run "the plan tells of runs whose metrics had other names" 0 "4 finished runs keep rows that were read with kl = losses/kl, now own" \
  sweep plan mapped.ini
tap_run "so does a submission" 0 "--force runs them again" sweep submit mapped.ini
tap_run "which --force does" 0 "4 finished" timeout 120 sweep submit mapped.ini --force --wait
tap_check "and then nothing is told" "$(sweep plan mapped.ini | grep 'keep rows')"

# ---- search, stop, and our trainer in the same file
{ own searched 'sh train.sh {steps} {lr} {seed}' | sed -e '/^\[grid g\]/,$d' -e 's/^seeds = 2/seeds = 1/'
  printf '[search s]\nmethod = tpe\ntrials = 6\nstartup = 3\nwave = 3\nlr = log 1e-3 .. 1\n'; } > searched.ini
tap_run "a search proposes trials by the program's score" 0 "6 finished" timeout 120 sweep submit searched.ini --wait
tap_run "and analyze search explains them by its settings" 0 "final" analyze search w/results.db --sweep searched -o f.svg
sed -e 's/^name = searched/name = named_goal/' -e '/^goal = /d' -e 's/^\[search s\]/&\ngoal = min own/' -e 's/^steps = 100/steps = 40/' \
  searched.ini > named_goal.ini
tap_run "or by any of its metrics" 0 "6 finished" timeout 120 sweep submit named_goal.ini --wait
tap_run "which analyze search takes, too" 0 "late own" analyze search w/results.db --sweep named_goal -o f.svg
tap_run "and analyze table --runs" 0 "metric.own" analyze table --runs w/results.db --sweep named_goal --measure own,entropy
{ own rungs 'sh train.sh {steps} {lr} {seed}' | sed -e 's/^lr = 0.25, 0.5/lr = 0.1, 0.2, 0.3, 0.4/' -e 's/^seeds = 2/seeds = 1/'
  printf '[stop]\nrule = asha\nmin = 20\neta = 2\nevery = 0.2\n'; } > rungs.ini
SLOW=1 timeout 200 sweep submit rungs.ini --wait > out 2>&1
tap_check "a rule stops runs by the program's score" "$(grep -qE '[1-3] finished, [1-3] stopped by rule' out || tail -3 out)"
{ own mixed 'sh train.sh {steps} {lr} {seed}'
  printf '%s\n' '[train]' 'total_steps = 512' '[env]' 'num = 8' 'morphologies = car' 'level_count = 2' '[ppo]' 'num_steps = 16' \
    'num_minibatches = 2' 'epochs = 1' '[net]' 'width = 8' 'depth = 1' '[eval]' 'count = 1' 'episodes = 2' \
    '[grid ours]' 'program = no' 'ppo.epsilon = 0.1, 0.3'; } > mixed.ini
tap_run "runs of the trainer and of a program finish in one sweep" 0 "8 finished" timeout 200 sweep submit mixed.ini --wait
tap_check "status gives each run its own settings" "$(sweep status mixed --json | tool json 0 run 0 settings | grep -E 'net.width|ppo' ;
  sweep status mixed --runs | grep -q 'ppo.epsilon\|epsilon' || sweep status mixed --runs)"
tap_run "and are drawn in one figure" 0 "eps 0.1" analyze curves w/results.db --sweep mixed --y episode_return -o f.svg
analyze settings w/results.db --sweep mixed --x ppo.learning_rate --group algo > out
tap_check "the program's lr and the trainer's learning rate are one axis" "$(
  grep -q '^train .* 0.25 ' out && grep -q '^PPO .* 0.0003 ' out || cat out)"
analyze settings w/results.db --sweep mixed --x lr --group algo > other
tap_check "by the program's name, too" "$(diff <(sed 1d out | tr -s ' ') <(sed 1d other | tr -s ' '))"
tap_run "a setting that no run has is no axis" 2 "no selected run has this setting" \
  analyze settings w/results.db --sweep own --x ppo.com
tap_check "a program's progress is in steps, as its end is" "$(
  diff <(sweep status own --runs | awk '$3 == "finished" { print $4, $5 }' | sort -u) <(echo '100 100'))"
tap_run "a program is selected by its name, and has the task of the other side" 0 "A - B" \
  analyze compare w/results.db --sweep mixed --measure final_return algo=train algo=ppo

# ---- an upgrade replaces the executor's file while it runs
mkdir bin && cp "$SWEEP_BUILD/bin/sweep" bin/
own upgraded 'sh -c "cp bin/sweep bin/new && mv bin/new bin/sweep && sh train.sh {steps} {lr} {seed}"' > upgraded.ini
tap_run "later runs start the new file" 0 "4 finished" timeout 120 bin/sweep submit upgraded.ini --jobs 1 --wait

own dashed 'sh train.sh {steps} {learning-rate} {seed}' | sed -e 's/^lr = 0.5/learning-rate = 0.5/' -e 's/^lr =/learning-rate =/' > dashed.ini
own double 'sh train.sh {steps} {lr} {seed} {actor_lr}' | sed -e 's/^lr = 0.5/&\nactor_lr = 0.5/' -e 's/^lr = 0.25, 0.5/&\nactor_lr = 0.1, 0.2/' \
  > double.ini
for name in dashed double; do timeout 60 sweep submit $name.ini --wait > /dev/null 2>&1; done
sweep collect > /dev/null
tap_check "other spellings of a setting are one key" "$(diff <(analyze settings w/results.db --sweep own,dashed --x learning-rate \
  --group none -o f 2>/dev/null | awk '$2 == 0.25 || $2 == 0.5 { print $2, $3 }') <(printf '0.25 4\n0.5 4\n'))"
tap_check "two settings with one meaning are two" "$(diff <(analyze table w/results.db --sweep double,dashed 2>/dev/null | \
  grep -c 'actor_lr 0') <(echo 4))"

# ---- helpers
if command -v python3 > /dev/null; then
  cp "$tree/python/sweepdb/run.py" helper.py
  cat > learn.py <<'PY'
import json, os, time
import helper as run
def load(path): return json.load(open(path))
def save(path): json.dump({"step": step}, open(path, "w"))
state = run.resume(load)
for step in range(state["step"] + 1 if state else 1, run.config.steps + 1):
    run.log(step, reward=run.config.lr, x=float("nan"))
    assert not run.should_stop() or step > 50
    run.save_and_exit_if_told(save)
    if run.attempt == 1 and step == 50: os.kill(os.getpid(), 15)
PY
  own helper 'python3 learn.py' 'code = learn.py helper.py' > helper.ini
  timeout 120 sweep submit helper.ini --wait > /dev/null 2>&1
  tap_run "sweepdb.run saves and exits with 75, and resumes" 0 "4 finished" timeout 120 sweep submit helper.ini --wait
  sweep collect > /dev/null
  tap_check "each step is there once, of two attempts" "$(
    diff <(rows "SELECT count(*), count(DISTINCT i.transitions), max(attempt) FROM iteration AS i JOIN run ON run.id = i.run_id \
JOIN sweep_run AS s ON s.run_id = i.run_id WHERE sweep = 'helper' GROUP BY i.run_id") <(printf '100 100 2\n%.0s' 1 2 3 4))"
  tap_run "outside of sweep it prints, and has the defaults" 0 '{"step": 3, "loss": 0.5}' env -u SWEEP_METRICS -u SWEEP_CONFIG \
    python3 -c 'import helper; helper.defaults(rate=0.5); helper.log(3, loss=helper.config.rate); print(helper.resume(open))'
  echo '{"rate": 2}' > config.json
  tap_run "which do not replace a setting" 0 "2 7" env SWEEP_CONFIG=config.json \
    python3 -c 'import helper; helper.defaults(rate=0.5, steps=7); print(helper.config.rate, helper.config.steps)'
else tap_skip "sweepdb.run" "no python3"; fi
if command -v "${CC:-gcc}" > /dev/null; then
  cat > learn.c <<'C'
#include "sweep/program/run.h"
int main(int argc, char **argv) {
  sweep_run_begin();
  for (int step = 1; step <= atoi(argv[1]); step++) sweep_run_log(step, "reward", step == 7 ? 0.0 / 0.0 : atof(argv[2]));
  return argc != 3;
}
C
  tap_run "<sweep/run.h> compiles without a warning" 0 "" "${CC:-gcc}" -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -I"$tree" -o learn learn.c
  own inc './learn {steps} {lr}' > inc.ini
  tap_run "and its program runs" 0 "4 finished" timeout 120 sweep submit inc.ini --wait
else tap_skip "<sweep/run.h>" "no compiler"; fi
tap_done
