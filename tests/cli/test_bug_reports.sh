#!/usr/bin/env bash
# Situations from public bug reports of comparable tools, end to end; each check begins with the id of its report. Unit
# tests cover the details; tests/slurm/test_bug_reports.sh has those that need a cluster. TAP.
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tap_dir"

# ---- G, environments: observations, actions, rewards, infos -------------------------------------------------------------
environments_of_reports() {
  local root=$tap_dir/odd python=$SWEEP_BUILD/python/bin/python kind
  "$python" -c 'import gymnasium' 2>/dev/null || { tap_skip "G1 to G23: environments in Python" "no Gymnasium in build/python: make python"; return; }
  mkdir "$root"; cat >"$root/odd_kinds.py" <<'PYTHON'
import fractions
import gymnasium
import numpy
from gymnasium import spaces


class Base(gymnasium.Env):
    observation_space = spaces.Box(-100, 100, (2,), numpy.float32)
    action_space = spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.see(), self.info()

    def see(self):
        return numpy.array([self.steps, 1.0], numpy.float32)

    def info(self):
        return {}

    def reward(self):
        return float(self.steps)

    def step(self, action):
        assert self.action_space.contains(action), (action, self.action_space)
        self.steps += 1
        return self.see(), self.reward(), self.steps == 6, False, self.info()


def kind(name, **members):
    cls = type(name, (Base,), members)
    gymnasium.register(f"{name}-v0", entry_point=cls)


line = spaces.Box(-100, 100, (), numpy.float32)
kind("ListObs", see=lambda self: [float(self.steps), 1.0])
kind("TupleObs", see=lambda self: (self.steps, 1))
kind("ScalarObs", see=lambda self: float(self.steps), observation_space=line)
kind("Float64Obs", see=lambda self: numpy.array([self.steps, 1.0]))
kind("IntObs", see=lambda self: numpy.array([self.steps, 1]), observation_space=spaces.Box(-9, 100, (2,), numpy.int32))
kind("InfoNone", info=lambda self: {"winner": 1 if self.steps % 2 else None})
kind("InfoText", info=lambda self: {"reason": 0 if self.steps % 2 else "fell"})
kind("InfoShapes", info=lambda self: {"path": numpy.zeros((self.steps, 2))})
kind("InfoFinal", info=lambda self: {"final_obs": 7, "final_info": "x", "_final_obs": None})
kind("RewardArray", reward=lambda self: numpy.array([self.steps], numpy.float32))
kind("RewardZero", reward=lambda self: numpy.array(1.0))
kind("RewardBool", reward=lambda self: True)
kind("RewardFraction", reward=lambda self: fractions.Fraction(1, 3))
kind("RewardNone", reward=lambda self: None)
kind("Strict", action_space=spaces.Box(-0.1, 0.1, (2,), numpy.float64))
kind("StrictHalf", action_space=spaces.Box(numpy.array([0.0, -numpy.inf]), numpy.array([numpy.inf, 0.3]), dtype=numpy.float64))
kind("StrictTiny", action_space=spaces.Box(0.1, 0.3, (1,), numpy.float16))
kind("StrictInt", action_space=spaces.Box(-2, 2, (3,), numpy.int8))
kind("StrictDiscrete", action_space=spaces.Discrete(3, start=-1))
kind("StrictMulti", action_space=spaces.MultiDiscrete([2, 3], start=[5, -1]))
kind("StrictBinary", action_space=spaces.MultiBinary(3))
kind("Nested", observation_space=spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple((spaces.Box(-1, 1, (2, 2)), spaces.Text(4)))}),
     see=lambda self: {"a": self.steps % 3, "b": (numpy.zeros((2, 2), numpy.float32), "ab")})
kind("Mission", observation_space=spaces.Dict({"image": spaces.Box(0, 1, (2,)), "words": spaces.Sequence(spaces.Discrete(3))}))
kind("Wrong", see=lambda self: numpy.zeros(3, numpy.float32) if self.steps else numpy.zeros(2, numpy.float32))
PYTHON
  one() { # KIND SETTINGS...
    (cd "$root" && PYTHONPATH=$root SWEEP_PYTHON=$python OMP_NUM_THREADS=1 timeout 120 trainer --root "$root/$1" --set env.task="gym/odd_kinds:$1-v0" \
      --set env.num=3 --set ppo.num_steps=8 --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=8 --set net.depth=1 \
      --set train.total_steps=96 --set eval.count=0 --set eval.episodes=3 --set env.max_steps=50 "${@:2}")
  }
  # An evaluation starts three more workers: one kind of each report has one.
  for kind in ListObs InfoNone RewardArray Strict Nested; do
    tap_run "G1, G2, G4, G5, G17, G19, G23: gym/odd_kinds:$kind-v0 trains and is evaluated" 0 "finished, 4 of 4 iterations" \
      one $kind --set eval.count=1
  done
  for kind in TupleObs ScalarObs Float64Obs IntObs InfoText InfoShapes InfoFinal RewardZero RewardBool RewardFraction \
    StrictHalf StrictTiny StrictInt StrictDiscrete StrictMulti StrictBinary; do
    tap_run "G1, G2, G4, G5, G17, G19, G23: gym/odd_kinds:$kind-v0 trains" 0 "finished, 4 of 4 iterations" one $kind
  done
  exported() { # KIND: the metadata of the policy that was trained above
    (cd "$root" && PYTHONPATH=$root SWEEP_PYTHON=$python trainer export "$1"/runs/*/*/ --onnx policy.onnx >out 2>&1 || cat out
     grep -a -o '{"type".*' policy.onnx)
  }
  tap_expect "X1: an exported policy says the bounds of each number" 0 '"dtype": "float64", "low": \[0.0, null\], "high": \[null, 0.3\]' \
    exported StrictHalf
  tap_expect "X2: and that they are whole" 0 '"dtype": "int8", "low": \[-2, -2, -2\]' exported StrictInt
  tap_expect "X2: and the first class" 0 '"dtype": "int64", "start": \[5, -1\]' exported StrictMulti
  tap_expect "X2: a single one, too" 0 '"type": "Discrete", "shape": \[\], "dtype": "int64", "start": -1' exported StrictDiscrete
  tap_run "G10: spaces without a fixed number of values are named" 2 "observations['words'] of Sequence have no fixed number of values" one Mission
  tap_run "G16: a reward that is none" 1 "gave the reward None, which is not a number" one RewardNone
  tap_run "an observation that changes its shape" 1 "changed the shape of its observations: world 0 gave (3,), not (2,)" one Wrong
  mkdir "$root/old"; mkdir "$root/old/gymnasium"; echo '__version__ = "0.26.3"' >"$root/old/gymnasium/__init__.py"
  tap_run "G9: a version that is too old is named" 2 "has gymnasium 0.26.3; gymnasium 0.29 or newer is needed" \
    env PYTHONPATH="$root/old" SWEEP_PYTHON="$python" trainer --root "$root/run" --set env.task=gym/CartPole-v1 --dry-run
}
environments_of_reports

# ---- H6: small stacks ---------------------------------------------------------------------------------------------------

with_stack() { # KIBIBYTES OF-A-THREAD
  (ulimit -s "$1"; OMP_STACKSIZE=$2 OMP_NUM_THREADS=2 timeout 60 trainer --root "$tap_dir/h6" --force --set env.task=random_l --set env.reset=new_filtered \
    --set env.num=8 --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set net.width=8 --set train.total_steps=256 --set eval.count=0)
}
tap_run "H6: ulimit -s 1024 is enough" 0 "finished" with_stack 1024 2M
tap_run "H6: so is OMP_STACKSIZE=256k" 0 "finished" with_stack 8192 256k

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
    "declares no time limit: .*10000 steps.*env.max_steps.*max_episode_steps" one_run
  tap_expect "G3: a limit of 10**9 steps is none" 0 "declares no time limit" one_run --set env.task=gym/Endless-v1
  tap_check "G3: unfinished episodes are not measured" "$(diff <(results) <(printf '0\ttrain\t0\t\t\t0\t\t\t\n2\ttrain\t128\t\t\t0\t\t\t\n'))"
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
  tap_check "G3: their number is as configured" "$(results | awk -F'\t' '$6 < 1 || $6 > 31 || $7 != 10 || $8 != 10')"

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
  tap_result "G8: a stop interrupts an evaluation whose step does not return" "$([ $? = 75 ]; echo $?)" "$(tail -3 "$root/out")"
  tap_run "G8: the resumed run evaluates" 0 "finished, 2 of 2" trainer "${common[@]}" --set env.task=gym/Stuck-v0 --resume
  tap_check "G8: each evaluation once" "$(diff <(cut -f1,6,7 "$root"/plain/runs/*/*/eval.*.tsv | grep '^[0-9]') <(printf '0\t4\t55\n2\t4\t55\n'))"
}
evaluations_bug_reports

# ---- X, exported policies -----------------------------------------------------------------------------------------------

# ---- X, figures and tables ----------------------------------------------------------------------------------------------

# ---- H, hosts, paths and processes --------------------------------------------------------------------------------------
small="-s train.total_steps=512 -s env.num=4 -s ppo.num_steps=32 -s ppo.num_minibatches=2 -s eval.count=1 -s eval.episodes=2 -s net.width=8"
printf '[sweep]\nname = %s\nseeds = 1\n[grid g]\nppo.epsilon = 0.1, 0.4\n' host >host.ini
latin=$(printf 'caf\xe9')
mkdir -p "$latin" && cp host.ini "$latin/"
in_latin() { (cd "$latin" && "$@"); }
tap_run "H1: --json in a folder whose name is not UTF-8: submit" 0 '"runs": 2' in_latin sweep submit host.ini --no-start --no-check --json
tap_run "H1: --seeds" 0 '"runs": 4' in_latin sweep submit host --seeds 2 --no-start --no-check --json
tap_run "H1: plan" 0 '"runs": 4' in_latin sweep plan host --json --no-check
tap_run "H1: status" 0 '"host"' in_latin sweep status host --json
tap_run "H1: bundle" 0 '"runs": 4' in_latin sweep bundle host --json
tap_run "H1: unbundle" 0 '"verified": true' in_latin sweep unbundle host.tar.zst out --json
tap_check "H1: the output is UTF-8" "$(in_latin sweep status host --json | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1 || echo "it is not")"
tap_run "H2: without HOME and other variables" 0 "4 pending" env -i PATH="$PATH" sweep status host --root "$latin"
mkdir gone
in_gone() { (cd gone && rmdir ../gone && "$@"); }
tap_run "H3: a current directory that was removed" 1 "the current directory no longer exists" in_gone sweep status
tap_run "H4: /dev/full" 1 "" bash -c 'sweep status host --root "$1" >/dev/full' _ "$latin"
tap_run "H5: twenty open files" 0 "4 pending" bash -c 'ulimit -n 20; sweep status host --root "$1"' _ "$latin"
tap_run "H7: OMP_NUM_THREADS of no number" 0 "" env OMP_NUM_THREADS=abc trainer --dry-run
tap_run "H8: a time zone that is none" 0 "4 pending" env TZ=No/Where TERM=none COLUMNS=7 sweep status host --root "$latin"
cp -r "$latin" copy && mv copy moved
tap_run "H10, H11: a workspace that was copied and moved" 0 "4 pending" sweep status host --root moved
tap_run "H13: a PREFIX with a blank" 2 "cannot hold blanks" make -C "$top" --no-print-directory -n install PREFIX="$tap_dir/in st"
mkdir "with blank" && cp host.ini "with blank/"
tap_run "H14: blanks in paths" 0 "2 new in the manifest" sweep submit "with blank/host.ini" --root "with blank/work" --no-start --no-check
tap_run "H15: --set with blanks" 0 "ppo.gamma=0.9" sweep plan host.ini --no-check --set "ppo.gamma = 0.9"
tap_run "H15: and of the trainer" 0 "" trainer --dry-run --set "ppo.gamma = 0.9"
tap_run "H15: an experiment from a pipe" 0 "host" bash -c 'sweep plan <(cat host.ini) --no-check'
sed 's/0.1, 0.4/0.2, 0.3/' host.ini >other.ini
tap_run "H16: another file of the same name loses nothing" 0 "earlier ones are no longer in the file and stay as they are" sweep submit other.ini --root moved --no-start --no-check
tap_run "X4: MLflow: an address that is no server" 2 "is not a server URL" env MLFLOW_TRACKING_URI=file:/tmp/runs analyze export mlflow moved/results.db
for hostile in $'esc\e[31m' $'c1\xc2\x9b31m' $'raw\x9b31m' $'turn\xe2\x80\xaetxt'; do
  tap_check "F6: no control reaches the terminal: $(cat -v <<<"$hostile")" "$(
    { sweep plan "$hostile.ini"; sweep status "$hostile"; trainer --set "env.levels=$hostile" --dry-run; sweep plan host.ini --set "$hostile=1"
      sweep plan host.ini --set "env.levels=$hostile" --json; analyze table moved/results.db --where "levels=$hostile"; } 2>&1 |
      LC_ALL=C grep -naP '\x1b|\xc2[\x80-\x9f]|(?<![\x80-\xbf\xc2-\xf4])[\x80-\x9f]|\xe2\x80\xae' | cat -v)"
done

# ---- I, experiment files ------------------------------------------------------------------------------------------------
ini() { printf "$1" >reported.ini; } # TEXT, as printf reads it
plan() { sweep plan reported.ini --no-check; }
ini '\xef\xbb\xbf[sweep]\r\nname = crlf\r\n[grid g]\r\nppo.epsilon = 0.1, 0.2'
tap_run "I1: a byte order mark, CRLF, no last newline" 0 "crlf" plan
ini '[\x00s\x00w\x00'
tap_run "I2: UTF-16" 2 "reported.ini: contains a NUL byte" plan
ini '[sweep]\nname = x\n[grid g]\nppo.num_steps =\xc2\xa016\n'
tap_run "I3: a no-break space" 2 "reported.ini:4:16: character U+00A0 (no-break space)" plan
ini '[sweep]\nname = x\n\xc2\xa0[grid g]\nppo.num_steps = 16\n'
tap_run "I3: an indentation of one" 2 "reported.ini:3:1: character U+00A0" plan
ini '[sweep]\nname = x\n[grid g]\nppo.epsilon = 0.1, \xe2\x88\x920.2\n'
tap_run "I3: a minus sign of typography" 2 "reported.ini:4:20: character U+2212 (minus sign)" plan
ini '[sweep]\nname = x\n\xef\xbb\xbf[grid g]\nppo.epsilon = 0.1\n'
tap_run "I3: a byte order mark inside, after cat" 2 "reported.ini:3:1: character U+FEFF (byte order mark)" plan
ini '[sweep]\nname = \xe2\x80\x9cx\xe2\x80\x9d\n'
tap_run "I3: quotation marks of typography" 2 "double quotation mark" plan
ini '; \xc2\xa0 \xe2\x80\x93 caf\xc3\xa9\n[sweep]\nname = x\n[grid g]\nppo.epsilon = 0.1 ; \xe2\x88\x92\n'
tap_run "I3: all of them are accepted in comments" 0 "x" plan
ini '[sweep]\nname = x\n[grid g]\nppo.epsilon = 0,25\n'
tap_run "I4: a decimal comma in a list" 0 "for one value write 0.25" plan
ini '[sweep]\nname = x\n[grid g]\nppo.epsilon = 0, 25\n'
tap_check "I4: but not two values with a blank" "$(plan 2>&1 | grep "if one was meant")"
tap_run "I4: a decimal comma of one value" 2 "decimals have a point" trainer --dry-run --set ppo.epsilon=0,25
ini '; caf\xe9\n[sweep]\nname = x\n'
tap_run "X5: a comment in Windows-1252" 2 "reported.ini:1:6: byte 0xe9 is not UTF-8 text" plan
ini '[sweep]\nname: x\n'
tap_run "I5: a colon for an equals sign" 2 "reported.ini:2:1:" plan
ini '[sweep]\nname = x\n[grid g]\nppo.epsilon = [0.1, 0.2]\n'
tap_run "I5: a list in brackets" 2 "reported.ini:4:" plan
ini '[sweep]\nname = x\n[search s]\ntrials = 4\nppo.learning_rate = log 0 .. 1\n'
tap_run "I6: the logarithm of 0" 2 "reported.ini:5:" plan

tap_done
