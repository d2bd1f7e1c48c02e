#!/usr/bin/env bash
# User code of runs: modules next to the experiment file are found, run exactly as hashed and only if the user trusts
# them; the same holds for the file's choice of Python. TAP.
set -u
. tests/cli/tap.sh
python=${SWEEP_PYTHON:-python3}
"$python" -c 'import gymnasium' 2>/dev/null || { tap_skip "code of Python environments" "no Python with gymnasium"; tap_done; }
python=$(realpath -s "$(command -v "$python")"); export SWEEP_PYTHON=$python
unset PYTHONPATH
study=$tap_dir/study root=$tap_dir/workspace ran=$tap_dir/ran
mkdir "$study" "$root" "$tap_dir/elsewhere"
cat >"$study/walk.py" <<PY
import gymnasium, numpy
from rewards import step_reward
open("$ran", "a").write("walk\n")
class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 10, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 5
        return numpy.array([self.place], numpy.float32), {}
    def step(self, action):
        self.place += 1 if action else -1
        return numpy.array([self.place], numpy.float32), step_reward(self.place), self.place in (0, 10), False, {}
gymnasium.register("Walk-v0", entry_point=Walk, max_episode_steps=30)
PY
echo "def step_reward(place): return float(place == 10)" >"$study/rewards.py"
cat >"$study/walk.ini" <<INI
[sweep]
name = walk
seeds = 2
[env]
task = gym/walk:Walk-v0
num = 2
[train]
threads = 1
total_steps = 64
[ppo]
num_steps = 8
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 1
episodes = 2
INI
hash_of() { b2sum -l 128 "$1" | cut -c1-32; }
nothing_ran() { tap_result "$1" "$([ ! -e "$ran" ]; echo $?)" "$(cat "$ran" 2>/dev/null)"; rm -f "$ran"; }
tree=$PWD; cd "$tap_dir/elsewhere" || exit 1
sweep_here() { sweep "$1" "$study/walk.ini" --root "$root" "${@:2}"; }

# ---- trust
tap_run "a plan names the module that is not trusted, with the hash of its file" 0 "walk.py (BLAKE2b $(hash_of "$study/walk.py"))" sweep_here plan
tap_run "and its imports from the same directory" 0 "rewards.py (BLAKE2b $(hash_of "$study/rewards.py"))" sweep_here plan
tap_run "and says so in JSON" 0 '"untrusted"' sweep_here plan --json
for words in "submit --local --wait" "submit --no-check --local --wait"; do
  tap_run "sweep $words refuses it" 2 "that you have not trusted" sweep_here $words
done
nothing_ran "none of this has run it"
for file in sitecustomize usercustomize gymnasium numpy json ast cv2; do echo "open('$ran', 'a').write('$file\n')" >"$study/$file.py"; done
cp "$study"/*.py .
tap_run "modules of the folder are not imported by a plan" 0 "not checked" env PYTHONPATH=:. "$(command -v sweep)" plan "$study/walk.ini" --root "$root"
nothing_ran "neither beside the file nor in the current folder"
sed 's|^task = .*|task = gym/CartPole-v1|; s/name = walk/name = pole/' "$study/walk.ini" >"$study/pole.ini"
tap_run "nor for a task that names no module" 0 "the trainer would start it" env PYTHONPATH=:. "$(command -v sweep)" plan "$study/pole.ini" --root "$root"
nothing_ran "nor do they run"
rm -f ./*.py "$study"/{sitecustomize,usercustomize,gymnasium,numpy,json,ast,cv2}.py
tap_run "a plan can trust" 0 "the trainer would start it" sweep_here plan --trust
rm -f "$ran"
tap_run "a trusted module is found next to the experiment, from any directory" 0 "2 finished" sweep_here submit --local --wait
tap_run "and is the code that ran" 0 "walk" cat "$ran"
tap_run "no compiled file is written next to it" 1 "" test -e "$study/__pycache__"
rm -f "$ran"
echo "def step_reward(place): return float(place == 0)" >"$study/rewards.py"
tap_run "a change of an import requires confirmation" 0 "rewards.py (BLAKE2b $(hash_of "$study/rewards.py"))" sweep_here plan
tap_run "more seeds too" 2 "that you have not trusted" sweep submit walk --seeds 3 --root "$root" --local --wait
nothing_ran "and has not run"
echo "def step_reward(place): return float(place == 10)" >"$study/rewards.py"
# a compiled file that claims to be of this source
mkdir "$study/__pycache__"
"$python" - "$study/rewards.py" "$ran" <<'PY'
import importlib.util, marshal, sys
code = compile(f"open({sys.argv[2]!r}, 'a').write('compiled\\n')\ndef step_reward(place): return 0.0", sys.argv[1], "exec")
data = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)  # never checked against it
open(importlib.util.cache_from_source(sys.argv[1]), "wb").write(data)
PY
tap_run "a compiled file next to it is ignored" 0 "" sweep_here submit --local --wait --force
tap_check "the source runs" "$(grep compiled "$ran")"
rm -rf "$ran" "$study/__pycache__"

# ---- a package, and files that are named
mkdir -p "$study/maze/parts"
sed 's/from rewards/from .parts.rewards/; s/Walk-v0/Maze-v0/' "$study/walk.py" >"$study/maze/__init__.py"
cp "$study/rewards.py" "$study/maze/parts/"
printf 'def never(): import elsewhere_made\n' >"$study/maze/tail.py"
sed 's|^task = .*|task = gym/maze:Maze-v0|; s/name = walk/name = maze/' "$study/walk.ini" >"$study/maze.ini"
tap_run "a package is all of its files" 0 "maze/parts/rewards.py (BLAKE2b" sweep plan "$study/maze.ini" --root "$root"
tap_run "a package runs" 0 "2 finished" sweep submit "$study/maze.ini" --root "$root" --local --wait --trust
echo "size = 3" >"$study/data.txt"
tap_run "env.code adds files" 0 "data.txt (BLAKE2b $(hash_of "$study/data.txt"))" sweep plan "$study/maze.ini" --root "$root" --set env.code=data.txt
tap_run "that must be there" 2 "env.code: $study/nothing.txt is not a regular file" sweep plan "$study/maze.ini" --root "$root" --set env.code=nothing.txt
nothing_before=$(cat "$ran"); rm -f "$ran"

named() { sweep plan "$study/walk.ini" --root "$root" --set "env.task=gym/$1:Walk-v0"; }
tap_run "a module that is built in has no file that could be checked" 2 "has no module sys" named sys
tap_run "a folder without a file is none" 2 "has no files" named "$(mkdir "$study/hollow"; echo hollow)"
tap_run "a path is no name of a module" 2 "../walk is not the name of a module" named ../walk
(cd "$study" && "$python" -c 'import zipfile; zipfile.ZipFile("packed.zip", "w").writestr("packed.py", "x = 1")')
tap_run "nor is one in an archive" 2 "module packed has no files" env PYTHONPATH="$study/packed.zip" "$(command -v sweep)" plan "$study/walk.ini" --root "$root" --set env.task=gym/packed:Walk-v0
{ printf 'x = '; printf '%5000s' | tr ' ' '('; } >"$study/deep.py"
tap_run "a file that is not valid Python is hashed, too" 0 "deep.py (BLAKE2b" named deep
mkfifo "$study/pipe.py" "$study/pipe.so"
tap_run "a pipe is no module" 2 "has no module pipe" timeout 20 "$(command -v sweep)" plan "$study/walk.ini" --root "$root" --set env.task=gym/pipe:Walk-v0
tap_run "and no library" 1 "pipe.so: it is not a regular file" timeout 20 "$(command -v sweep)" plan "$study/walk.ini" --root "$root" --set "env.task=library:$study/pipe.so/x"

# ---- a Python of the file's choice
printf '#!/bin/sh\necho python >>"%s"\nexec "%s" "$@"\n' "$ran" "$python" >"$tap_dir/other_python"; chmod +x "$tap_dir/other_python"
sed "s|^task = .*|task = gym/CartPole-v1\npython = $tap_dir/other_python|; s/name = walk/name = other/" "$study/walk.ini" >"$study/other.ini"
tap_run "a Python at home that is none is named" 2 "env.python = ~: $HOME is not a program" sweep plan "$study/other.ini" --root "$root" --set "env.python=~"
tap_run "also without HOME" 2 "env.python = ~/none: $(getent passwd "$(id -u)" | cut -d: -f6)/none is not a program" \
  env -u HOME sweep plan "$study/other.ini" --root "$root" --set "env.python=~/none"
tap_run "a plan does not start a Python that is not trusted" 0 "env.python = $tap_dir/other_python brings code" sweep plan "$study/other.ini" --root "$root"
tap_run "nor a submission" 2 "that you have not trusted" sweep submit "$study/other.ini" --root "$root" --local --wait
nothing_ran "it has not run"
tap_run "the user's own is trusted" 0 "the trainer would start it" env SWEEP_PYTHON="$tap_dir/other_python" sweep plan "$study/other.ini" --root "$root"
tap_run "another one by --trust" 0 "the trainer would start it" sweep plan "$study/other.ini" --root "$root" --trust
rm -f "$ran"; echo "# changed" >>"$tap_dir/other_python"
tap_run "and its change requires confirmation" 0 "brings code that you have not trusted" sweep plan "$study/other.ini" --root "$root"
nothing_ran "and not started"

# ---- runs by other code
root=$tap_dir/changes; mkdir "$root"
walk() { sweep "$1" "$study/walk.ini" --root "$root" "${@:2}"; }
here=(--local --wait --trust)
query() { sweep collect --root "$root" >/dev/null; tool sql "$root/results.db" "$1"; }
tap_run "runs are made" 0 "2 finished" walk submit "${here[@]}"
short=$(hash_of "$study/walk.py" | cut -c1-12)
tap_run "a plan names the code" 0 "code         rewards.py $(hash_of "$study/rewards.py" | cut -c1-12), walk.py $short, gymnasium " walk plan
tap_check "each run's log begins with it" "$(for log in "$root"/runs/*/*/log.txt; do head -2 "$log" | grep -q "code [0-9a-f]\{32\}: rewards.py .*walk.py $short" || head -2 "$log"; done)"
tap_check "its folder has the whole hashes" "$(for file in "$root"/runs/*/*/code.1.tsv; do grep -q "^file	walk.py	$(hash_of "$study/walk.py")" "$file" || cat "$file"; done)"
tap_check "results.db has it" "$([ "$(query "SELECT count(*) FROM run_summary WHERE length(code) = 32 AND code_files LIKE '%walk.py $short, gymnasium%'")" = 2 ] || query "SELECT code, code_files FROM run_summary")"
tap_check "for each attempt" "$([ "$(query "SELECT count(*) FROM attempt JOIN run ON id = run_id WHERE attempt.code = run.code")" = 2 ] || echo differs)"
first=$(query "SELECT DISTINCT code FROM run")
sed -i 's/== 10)$/== 0)/' "$study/rewards.py"
tap_run "a plan says which runs other code made" 0 "other code   2 finished runs were made by other code (rewards.py changed); --force starts them over, --keep accepts the mix" walk plan --trust
tap_run "in JSON too" 0 '"differs": "rewards.py changed"' walk plan --json
tap_run "nothing is submitted in addition" 2 "2 finished runs were made by other code (rewards.py changed); --force" walk submit --local --wait
tap_run "nor is a seed added" 2 "made by other code" sweep submit walk --seeds 3 --root "$root" --local --wait
tap_check "which leaves the sweep as it was" "$([ "$(ls -d "$root"/runs/*/* | wc -l)" = 2 ] && [ ! -e "$root/sweeps/walk/extended" ] || ls "$root"/sweeps/walk)"
tap_run "both answers at once are none" 2 "exclude each other" walk submit --local --force --keep
tap_run "--keep mixes them" 0 "3 finished" sweep submit walk --seeds 3 --root "$root" --local --wait --keep
tap_run "which is recorded" 0 "keep" cat "$root/sweeps/walk/kept"
tap_run "and shown by a plan" 0 "2 finished runs were made by other code (rewards.py changed); kept" walk plan
figure=(analyze curves "$root/results.db" --sweep walk --where num=2 -o "$tap_dir/figures")
tap_run "a figure that averages over them says so" 0 "warning: 1 configuration has runs by different code (rewards.py changed); --where code=HASH takes those of one" "${figure[@]}"
tap_check "in its caption too" "$(grep -rqF "runs by different code" "$tap_dir/figures" || ls "$tap_dir/figures")"
tap_run "so do measures" 0 "runs by different code" analyze table --runs "$root/results.db"
tap_run "and a report" 0 "runs by different code" analyze report "$root/results.db" -o "$tap_dir/report" --no-figures
tap_check "on its page" "$(grep -rqF "runs by different code" "$tap_dir/report" || echo missing)"
sed 's/name = walk/name = wide/; s/num = 2/num = 4/; s/seeds = 2/seeds = 3/' "$study/walk.ini" >"$study/wide.ini"
tap_run "another configuration, by the code of now" 0 "3 finished" sweep submit "$study/wide.ini" --root "$root" --local --wait
tap_run "a comparison gives no verdict" 1 "num=2: no verdict: 1 configuration has runs by different code (rewards.py changed)" analyze compare "$root/results.db" num=2 num=4
tap_run "of runs by one code it does" 0 "too few runs for a verdict" analyze compare "$root/results.db" num=2 num=4 --where "code=$(query "SELECT code FROM run WHERE json_extract(config, '$.env.num') = 4 LIMIT 1")"
tap_run "with different code it shows the differences" 0 "were trained with different code (rewards.py changed)" analyze compare "$root/results.db" "code=$first" num=4
tap_run "a code that no run has" 1 "no run has this tag, pin or code" analyze table --runs "$root/results.db" --where code=0123
tap_run "a code that is none" 2 "expected leading digits of a code hash" analyze table --runs "$root/results.db" --where code=xyz
tap_run "it need not be confirmed again" 0 "nothing to start" walk submit --local
[ "$(query "SELECT count(DISTINCT code) FROM run")" = 2 ]; tap_result "the runs record the difference" $?
tap_run "--force starts them over" 0 "3 finished" walk submit --local --wait --force
[ "$(query "SELECT count(DISTINCT code) FROM run")" = 1 ]; tap_result "and they are of one code" $?
tap_check "a figure of them says nothing" "$("${figure[@]}" 2>&1 | grep "different code")"
[ "$(query "SELECT count(*) FROM attempt WHERE code = '$first'")" = 2 ]; tap_result "the attempts before keep theirs" $?
tap_run "a data file is code" 2 "made by other code (data.txt added)" walk submit --local --set env.code=data.txt --trust
sweep bundle walk --root "$root" -o "$tap_dir/walk2.tar.zst" >/dev/null 2>&1 && sweep unbundle "$tap_dir/walk2.tar.zst" "$tap_dir/looked" >/dev/null
tap_check "a bundle has the code of its runs" "$([ "$(tool sql "$tap_dir/looked/results.db" "SELECT count(*) FROM run_summary WHERE code_files LIKE '%walk.py $short%'")" = 3 ] || echo none)"

# a checkpoint of other code
. "$tree/tests/fault/pace.sh"
one() { # the run by hand: ROOT OPTIONS
  (cd "$study" && "$paced" --config "$tap_dir/one.ini" --root "$1" --quiet "${@:2}")
}
sed -e '/^\[sweep\]/,/^seeds/d' -e 's/total_steps = 64/total_steps = 640/' "$study/walk.ini" >"$tap_dir/one.ini"
mkdir "$tap_dir/one"
hold
one "$tap_dir/one" & pid=$!
tap_wait 60 eval 'grep -q "^iteration=[1-9]" "$tap_dir"/one/runs/*/*/state 2>/dev/null'
fast; slow 100; kill -TERM "$(pgrep -P $pid | head -1)" 2>/dev/null || kill -TERM $pid
wait $pid; fast
tap_check "a run is stopped on its way" "$(grep -q '^status=stopped' "$tap_dir"/one/runs/*/*/state || cat "$tap_dir"/one/runs/*/*/state)"
sed -i 's/== 0)$/== 9)/' "$study/rewards.py"
tap_run "it does not go on under other code" 1 "its checkpoint was made by different code (rewards.py changed); sweep submit --force" one "$tap_dir/one" --resume
tap_run "nor when other code is named" 1 "made by different code" one "$tap_dir/one" --resume --if-changed 00000000000000000000000000000000
cp -r "$tap_dir/one" "$tap_dir/over"
tap_run "knowingly it does" 0 "" one "$tap_dir/one" --resume --if-changed keep
tap_check "and its record has both" "$(grep -Eq '^code=[0-9a-f]{32}\+[0-9a-f]{32}$' "$tap_dir"/one/runs/*/*/state && grep -q '^code_files=.*; before: rewards.py' "$tap_dir"/one/runs/*/*/state || grep code "$tap_dir"/one/runs/*/*/state)"
tap_run "or it starts over" 0 "" one "$tap_dir/over" --resume --if-changed restart
tap_check "with one code" "$(grep -Eq '^code=[0-9a-f]{32}$' "$tap_dir"/over/runs/*/*/state || grep code "$tap_dir"/over/runs/*/*/state)"
root=$tap_dir/workspace

# ---- code from a bundle
sweep bundle walk --root "$root" -o "$tap_dir/walk.tar.zst" >/dev/null 2>&1
plant() { # NAME FILE: a bundle with one more member, listed and hashed as the others are
  rm -rf "$tap_dir/mix" "$tap_dir/out"; mkdir "$tap_dir/mix"; zstd -dqc "$tap_dir/walk.tar.zst" | tar x -C "$tap_dir/mix"
  mkdir -p "$(dirname "$tap_dir/mix/$1")"; cp "$2" "$tap_dir/mix/$1"
  (cd "$tap_dir/mix" && sha256sum "$1" >>SHA256SUMS && tar -c SHA256SUMS $(find . -type f ! -name SHA256SUMS | cut -c3-) | zstd -q) >"$tap_dir/planted.tar.zst"
}
for name in trusted walk.py results.so runs/ab/abcdef0123456789/config.ini results.db-wal sweeps/walk/queued sweeps/walk/kept annotations/sweep-walk.json; do
  plant "$name" "$study/walk.py"
  tap_run "a bundle with a member $name is refused" 1 "sweep bundle does not write a member $name" sweep unbundle "$tap_dir/planted.tar.zst" "$tap_dir/out"
  tap_result "and $name is not there" "$([ ! -e "$tap_dir/out/$name" ]; echo $?)"
done
tap_done
