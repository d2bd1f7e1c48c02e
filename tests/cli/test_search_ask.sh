#!/usr/bin/env bash
# Searches whose trials a program proposes (method = command:FILE) and those with two goals: the protocol, programs that
# misbehave, kills at several moments, trust, the Pareto front. Runs are those of a program, which end at once.
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD
. tests/cli/tap.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_SITE=none PATH=$SWEEP_BUILD/bin:$PATH
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
mkdir "$SWEEP_ROOT"; cd "$tap_dir" || exit 1

# The objective: a score that is best at x = 0.5 and n = 256, and a cost that rises with n; it fails below x = 0.02.
cat >run.sh <<'SH'
#!/bin/sh
while [ -e "$HOLD" ]; do sleep 0.05; done
awk -v x="$1" -v n="$2" 'BEGIN { if (x < 0.02) exit 3
  d = log(n / 256) / log(2); print "{\"step\": 10, \"score\": " 1 - (x - 0.5) * (x - 0.5) - d * d / 40 ", \"cost\": " n "}" }' >>"$SWEEP_METRICS"
SH
export HOLD=$tap_dir/hold
goal="goal = max score" space=("x = 0.02 .. 1" "n = pow2 16 .. 1024")
# experiment NAME LINES...: NAME.ini with a search of these lines
experiment() {
  { printf '%s\n' "[sweep]" "name = $1" "goal = max score" "[program]" "command = sh run.sh {x} {n}" "step = step" "[settings]" "x = 0.5" "n = 64" \
      "kind = a | b" "deep = 0.5" "[search s]" "${goal:-}" "${space[@]}"
    printf '%s\n' "${@:2}"; } >"$1.ini"
}
submit() { timeout 300 sweep submit "$1.ini" --local --jobs 2 "${@:2}"; }
journal() { echo "${2:-$SWEEP_ROOT}/sweeps/$1/search.s.tsv"; } # SWEEP [ROOT]
recorded() { [ -e "$(journal "$1")" ] && tail -n +3 "$(journal "$1")" | wc -l || echo 0; }
waves() { tail -n +3 "$(journal "$1")" | cut -f2 | uniq -c | tr -s ' \n' ' '; }
same() { cmp "$1" "$2" 2>&1; }
proposer() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; } # FILE LINES

# ---- the example of the page: waves, the question, the same trials again
cp "$tree/docs/examples/ask_random.py" ask.py
proposer ask.sh "tee -a $tap_dir/questions | python3 $tap_dir/ask.py"
lines=("startup = 3" "wave = 4" "trials = 11")
experiment asked "method = command:ask.sh" "${lines[@]}"
out=$(sweep plan asked.ini 2>&1)
tap_check "plan shows the method and asks nothing" "$(grep -qE "^search s +command:$tap_dir/ask.sh, 11 trials for max metric.score; 3 random ones, then waves of 4; 3 proposed" <<<"$out" || echo "$out"
  [ ! -e questions ] || cat questions)"
tap_run "a search by a program" 0 "11 finished" submit asked --wait
tap_is "two waves of four" " 4 1 4 2 " "$(waves asked)"
tap_check "a question is checked before anything is trained" "$(head -2 questions | tail -1 | grep -qx '{"ask": 0, "wave": 0, "seed": [0-9]*}' || head -2 questions)"
head -1 questions >head; sed -n 3,7p questions >first
tap_check "the head has goals and space" "$(for text in '"protocol": 1' '"search": "s"' '"goals": [{"direction": "max", "measure": "metric.score"}]' \
  '{"setting": "x", "kind": "real", "scale": "linear", "low": 0.02, "high": 1.0}' '{"setting": "n", "kind": "integer", "scale": "pow2", "low": 16, "high": 1024}'; do
  grep -qF -- "$text" head || echo "no $text in $(cat head)"; done)"
tap_check "the first wave knows the values of three trials" "$(grep -c '^{"trial": [0-2], "wave": 0, "state": "ended", "settings": {"x": [0-9.]*, "n": [0-9]*}, "values": \[[-0-9.]*\]}$' first | grep -qx 3 || cat first)"
tap_check "and asks for four" "$(grep -q '"ask": 4, "wave": 1, "seed": ' first || cat first)"
for trial in 0 1 2; do
  told=$(sed -n "s/^{\"trial\": $trial,.*\"values\": \[\([-0-9.]*\)\]}/\1/p" first)
  shown=$(analyze search work/results.db --sweep asked --json | python3 -c "import json,sys; print([t['value'] for t in json.load(sys.stdin)['trials'] if t['trial'] == $trial][0])")
  tap_check "trial $trial was told its value" "$(awk -v a="$told" -v b="$shown" 'BEGIN { d = a - b; if (a == "" || d * d > 1e-12) print a " instead of " b }')"
done
tap_check "powers of two only" "$(tail -n +3 "$(journal asked)" | sed 's/.*n=//' | grep -vxE '16|32|64|128|256|512|1024')"
mkdir other
tap_run "in a new workspace" 0 "11 finished" submit asked --wait --root other
tap_check "the same trials" "$(same "$(journal asked)" "$(journal asked other)")"

# ---- killed at every moment: while the program thinks, after its answer, before the runs of a wave, within them
proposer slow.sh "touch $tap_dir/thinks; while [ -e $tap_dir/think ]; do sleep 0.05; done; exec python3 $tap_dir/ask.py"
sed 's/name = asked/name = killed/; s/ask.sh/slow.sh/' asked.ini >killed.ini
tap_run "not killed" 0 "11 finished" submit killed --wait --root other
below() { for pid in "$@"; do echo "$pid"; below $(ps -o pid= --ppid "$pid"); done; } # processes and their descendants
kill_at() { # TEXT COMMAND...: kills the executor and what it has started once the command succeeds
  tap_wait 300 "${@:2}"; tap_result "$1" $? "$(tail -3 work/executor.log)"
  kill -9 $(below $(tap_executor "$SWEEP_ROOT" killed)) 2>/dev/null
}
rm -f thinks; touch think
submit killed --no-check >/dev/null 2>&1
kill_at "killed while the program thinks" test -e thinks
rm -f think thinks
tap_is "nothing is recorded" 0 "$(recorded killed)"
touch hold
submit killed >/dev/null 2>&1
third() { [ "$(recorded killed)" -ge 4 ]; }
kill_at "killed when the first wave is recorded" third
cp "$(journal killed)" before
submit killed >/dev/null 2>&1
runs_wave() { [ "$(sweep status killed --json | tool json 0 count running)" -ge 1 ]; }
kill_at "killed while runs of the wave run" runs_wave
rm -f hold
tap_run "it goes on" 0 "11 finished" submit killed --wait
tap_check "with what was recorded" "$(head -n "$(wc -l <before)" "$(journal killed)" | same - before)"
tap_check "the trials are those of a search that was not killed" "$(same "$(journal killed)" "$(journal killed other)")"

# ---- status says what a search waits for
touch hold
experiment waiting "method = command:ask.sh" "${lines[@]}"
submit waiting >/dev/null
tap_run "status: runs of a wave" 0 "search s: 3 of 11 trials; the next wave waits for 3 runs" sweep status waiting
rm -f hold
done_waiting() { [ ! -e "$SWEEP_ROOT/sweeps/waiting/queued" ]; }
tap_wait 300 done_waiting
tap_check "status: nothing, once all trials are there" "$(sweep status waiting | grep 'search s')"

# ---- programs that misbehave: a clear error, nothing is recorded, and a mended program goes on
good='{\"settings\": {\"x\": 0.5, \"n\": 64}}'
experiment bad "method = command:bad.sh" "startup = 2" "wave = 2" "trials = 4" "timeout = 60"
proposer bad.sh "true"
submit bad --no-check --wait >out 2>&1
bad() { # NAME TEXT SHELL: the program answers the first question well, and then runs SHELL
  proposer bad.sh "cat >$tap_dir/question; grep -q '\"ask\": 0' $tap_dir/question && exit 0
$3"
  tap_run "$1" "${code:-1}" "$2" submit bad
  tap_is "$1: nothing is recorded" 0 "$(recorded bad)"
}
bad "a program that dies" "it failed with exit code 3: no gpu left; nothing was recorded, so sweep submit bad asks again" "echo no gpu left >&2; exit 3"
tap_run "status tells why" 0 "search s: 2 of 4 trials; the next wave was not proposed: [search s]: method = command:$tap_dir/bad.sh: it failed with exit code 3: no gpu left" sweep status bad
tap_is "status --json, too" 0 "$(sweep status bad --json | tool json 0 open_searches 0 waits_for_runs)"
bad "one that is killed" "it was killed by signal 9" 'kill -9 $$'
sed -i 's/^timeout = 60/timeout = 1/' bad.ini
bad "one that hangs" "it did not end within timeout = 1 seconds, and was killed" "echo $good; sleep 100"
sed -i 's/^timeout = 1$/timeout = 60/' bad.ini
bad "garbage" "line 1 of its answer is no object of JSON: 'trial one'" "echo trial one"
bad "garbage after a trial" "line 2 of its answer is no object of JSON: '[1, 2]'" "echo $good; echo '[1, 2]'"
bad "no settings" "line 1 of its answer has no settings: '{}'" "echo '{}'; echo '{}'"
bad "too few" "it proposed 1 trials, but was asked for 2" "echo $good"
bad "too many" "it proposed 3 trials, but was asked for 2" "echo $good; echo $good; echo $good"
bad "nothing" "it proposed 0 trials, but was asked for 2" "true"
bad "beyond a bound" "has x = 1.5, which is outside of the space; its values are 0.02 .. 1" "echo $good | sed 's/0.5/1.5/'; echo $good"
bad "no power of two" "has n = 65, which is outside of the space; its values are pow2 16 .. 1024" "echo $good | sed 's/64/65/'; echo $good"
bad "a fraction" "has n = 64.5, which is no whole number" "echo $good | sed 's/64/64.5/'; echo $good"
bad "NaN" "is no object of JSON" "echo $good | sed 's/0.5/NaN/'; echo $good"
bad "a text" "has x = \"0.5\", which is no number" "echo $good | sed 's/0.5/\"0.5\"/'; echo $good"
bad "null" "has x = null, which is no number" "echo $good | sed 's/0.5/null/'; echo $good"
bad "a setting that is missing" "line 1 of its answer has no value of n" "echo '{\"settings\": {\"x\": 0.5}}'; echo $good"
bad "a setting that is not searched" "has lr, which is not searched" "echo $good | sed 's/\"x\"/\"lr\": 1, \"x\"/'; echo $good"
bad "an error of its own" "bad.sh: out of ideas; nothing was recorded" "echo '{\"error\": \"out of ideas\"}'"
bad "control characters" "is no object of JSON: '?[31mred'" "printf '\\033[31mred\\n'"
code=2 bad "always the same trial" "its program proposed 10 trials, none of which can be run; the last one was refused: it repeats trial 0. If the space has no other trials, lower trials to 2" \
  "first=\$(sed -n 's/.*\"trial\": 0,.*\"settings\": \\({[^}]*}\\).*/\\1/p' $tap_dir/question); echo \"{\\\"settings\\\": \$first}\"; echo \"{\\\"settings\\\": \$first}\""
refused=$(grep -c '"refused": {"x": ' question)
tap_is "and it is told what was refused" 8 "$refused"
tap_check "with the reason" "$(grep -q '"reason": "it repeats trial 0"' question || cat question)"
proposer bad.sh "exec python3 $tap_dir/ask.py"
tap_run "a program that was changed is refused by name" 2 "the program was changed after the sweep was submitted; submit the experiment file again" sweep submit bad --local
tap_run "and accepted with its file" 0 "4 finished" submit bad --wait
tap_check "status has no problem any more" "$(sweep status bad | grep 'search s'; ls work/sweeps/bad | grep problem)"

# ---- a wave is smaller where the space is exhausted
space=("kind = choice a, b" "n = choice 16, 32")
experiment finite "method = command:ask.sh" "startup = 1" "wave = 2" "trials = 6"
tap_run "all trials of a finite space" 2 "none of which can be run; the last one was refused: it repeats trial" eval 'submit finite --wait >out 2>&1; submit finite'
tap_is "are trained" 4 "$(sweep status finite --json | tool json 0 count finished)"

# ---- conditions: what is inactive is ignored, what is active is required
space=("kind = choice a, b" "x = 0.02 .. 1" "deep = logit 0.9 .. 0.9999 when kind = b")
experiment conditions "method = command:ask.sh" "startup = 2" "wave = 6" "trials = 8"
rm -f questions
tap_run "a space with conditions" 0 "8 finished" submit conditions --wait
tap_check "kind b has deep, kind a has not" "$(tail -n +3 "$(journal conditions)" | awk '/kind=a/ && /deep=/ || /kind=b/ && !/deep=/'; tail -n +3 "$(journal conditions)" | grep -c deep= | grep -qE '^[1-5]$' || cat "$(journal conditions)")"
tap_check "the condition is in the question" "$(grep -qF '{"setting": "deep", "kind": "real", "scale": "logit", "low": 0.9, "high": 0.9999, "when": {"setting": "kind", "choices": ["b"]}}' questions || head -1 questions)"

# ---- bad files
space=("x = 0.02 .. 1")
tap_place() { grep -n "^$1" "$2.ini" | cut -d: -f1; }
refused() { experiment bad_file "${@:3}"; tap_run "$1" 2 "$2" sweep plan bad_file.ini; }
refused "a program that does not exist" "nowhere.sh" "method = command:nowhere.sh" "trials = 3"
touch plain.txt
refused "one that is not executable" "plain.txt is not executable; make it so with chmod +x" "method = command:plain.txt" "trials = 3"
refused "no program" "method = command: expected a program" "method = command:" "trials = 3"
refused "no sampler" "expected a sampler of Optuna, such as optuna:GPSampler" "method = optuna:3+4" "trials = 3"
refused "a timeout without a program" "timeout belongs to method = optuna: or command:; the method here is tpe" "method = tpe" "timeout = 3" "trials = 3"
goal= refused "three goals" "a search has at most two goals; remove 'max deep'" "goal = max score, min cost, max deep" "trials = 3"
goal= refused "one goal twice" "metric.score is named twice" "goal = max metric.score, min metric.score" "trials = 3"
refused "a power of two" "48 is no power of two; write bounds such as pow2 16 .. 1024" "n = pow2 48 .. 1024" "trials = 3"
refused "the logit of one" "the logit of 1 does not exist; begin above 0 and end below 1" "deep = logit 0.5 .. 1" "trials = 3"
refused "the logit of a whole number" "n is a whole number, and logit is a scale of numbers between 0 and 1" "n = logit 16 .. 32" "trials = 3"

# ---- two goals
space=("x = 0.02 .. 1" "n = pow2 16 .. 1024")
goal="goal = max score, min metric.cost"
for method in random sobol tpe command:ask.sh; do
  name=two_${method%%:*}
  waves=(); case $method in tpe | command:*) waves=("startup = 6" "wave = 5") ;; esac
  experiment "$name" "method = $method" "trials = 16" "${waves[@]}"
  tap_run "$method: two goals" 0 "16 finished" submit "$name" --wait
  analyze search work/results.db --sweep "$name" --json >"$name.json"
  tap_run "$method: the front" 0 "Pareto front: no trial is better in one goal" analyze search work/results.db --sweep "$name" -o figures
  tap_check "$method: it is the front" "$(python3 - "$name.json" <<'PY'
import json, sys
found = json.load(open(sys.argv[1]))
point = {t["trial"]: (-t["value"], t["second"]["value"]) for t in found["trials"] if not t["bad"]}
beats = lambda a, b: a[0] <= b[0] and a[1] <= b[1] and a != b
front = sorted((t for t in point if not any(beats(point[o], point[t]) for o in point)), key=lambda t: (point[t], t))
if front != found["front"] or not front: print(front, found["front"])
if found["second"] != {"goal": "min", "measure": "metric.cost"}: print(found["second"])
PY
)"
  tap_check "$method: its figure" "$(grep -q 'Pareto front' figures/search-front.svg || ls figures
    [ "$(grep -c ',1$' figures/search-front.csv)" = "$(python3 -c "import json; print(len(json.load(open('$name.json'))['front']))")" ] || cat figures/search-front.csv)"
done
tap_run "analyze names both goals" 0 "16 of 16 trials (tpe) for max metric.score, min metric.cost" eval "analyze search work/results.db --sweep two_tpe -o figures | tr -s '\n ' ' '"
tap_check "with --measure there is one goal" "$(analyze search work/results.db --sweep two_tpe --measure metric.cost -o figures | grep 'Pareto')"
tap_run "a program is told both values" 0 '"values": [' grep -m1 -E '"values": \[[-0-9.]+, [0-9]+(\.0)?\]' questions
tap_done
