#!/usr/bin/env bash
# The code and the command of third-party programs: which files are hashed, what sweep plan says of them, and which words
# a program gets. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
mkdir w study
export SWEEP_ROOT=$tap_dir/w OMP_NUM_THREADS=1
unset PYTHONPATH
cd study || exit 1

# ini NAME COMMAND
ini() {
  printf '[sweep]\nname = %s\nseeds = 2\n[program]\ncommand = %s\n' "$1" "$2" > "$1.ini"
}
# The files of a plan's line `code`, in order.
code_of() { # COMMAND
  ini named "$1"
  sweep plan named.ini --json --no-check 2>&1 | tool json code 0 files | tr -d '"' | sed 's/ [0-9a-f]\{12\}//g'
}
hashes() { tap_check "$1" "$(diff <(code_of "$2") <(echo "$3"))"; } # NAME COMMAND FILES
skips() { # NAME COMMAND TEXT
  ini named "$2"
  tap_expect "$1" 0 "$3" sweep plan named.ini --no-check
}

if command -v python3 > /dev/null; then
  mkdir -p pkg/sub lazy venv/lib/python3.11/site-packages/installed elsewhere ns/inner src/laid conf tools "odd dir"
  touch pkg/__init__.py pkg/sub/__init__.py pkg/util.py pkg/sub/near.py lazy/one.py types_only.py dynamic.py helper.py \
    venv/pyvenv.cfg venv/own.py venv/lib/python3.11/site-packages/installed/__init__.py ns/inner/part.py src/laid/__init__.py \
    conf/config.yaml tools/beside.py pkg/sub/started.py worker.py random.py
  cat > pkg/sub/train.py <<'PY'
from __future__ import annotations
import os, numpy, installed, venv.own
from typing import TYPE_CHECKING
from . import near
from ..util import anything
if TYPE_CHECKING:
    from types_only import T
def later():
    import lazy.one as one, importlib
    importlib.import_module("dynamic")
try:
    import json, missing_package
except ImportError: pass
PY
  all='pkg/sub/train.py, pkg/sub/__init__.py, pkg/sub/near.py, pkg/__init__.py, pkg/util.py, types_only.py, lazy/one.py, dynamic.py'
  hashes "python -m has its module, its packages and its imports" 'python3 -m pkg.sub.train --lr 1' "$all"
  for command in 'python3 -um pkg.sub.train' 'python -W ignore -mpkg.sub.train' 'uv run -m pkg.sub.train' \
    'uv run --with torch python -m pkg.sub.train' 'poetry run python -m pkg.sub.train' 'conda run -n e python -m pkg.sub.train' \
    'accelerate launch --num_processes 2 -m pkg.sub.train' 'accelerate launch --module pkg.sub.train' 'torchrun --nproc_per_node=2 -m pkg.sub.train' \
    'python -m torch.distributed.run --nproc_per_node 2 -m pkg.sub.train' 'nice -n 5 python3 -O -m pkg.sub.train' \
    'env A=1 .venv/bin/python -m pkg.sub.train' 'sh -c "exec python3 -m pkg.sub.train"' "python3 -c 'import pkg.sub.train'"; do
    tap_check "and so does $command" "$(diff <(code_of "$command" | tr ',' '\n' | tr -d ' ' | sort) <(tr ',' '\n' <<<"$all" | tr -d ' ' | sort))"
  done

  echo 'import helper, ns.inner.part as p, laid
from cycle import *
from random import choice' > x.py
  echo 'import x' > cycle.py
  hashed='x.py, helper.py, ns/inner/part.py, src/laid/__init__.py, cycle.py, random.py'
  hashes "a script has modules, namespace packages and cycles" 'python3 -u x.py' "$hashed"
  for command in 'uv run x.py' 'torchrun --nproc_per_node 2 x.py --a b' 'accelerate launch x.py' 'poetry run python x.py' \
    'conda run -n e python x.py' 'python3 ./x.py' 'venv/bin/python x.py' "python3 $PWD/x.py"; do
    tap_check "with $command, too" "$(code_of "$command" | sed 's|\./||' | grep -vx "$hashed")"
  done
  printf '#!/bin/bash\ncd "$(dirname "$0")" || exit\n# python3 types_only.py\nsource setup.sh\nexec python3 "$PWD/x.py" "$@"\n' > run.sh
  echo 'export A=1' > setup.sh
  hashes "a shell script has the scripts that it starts" 'bash run.sh {seed}' "run.sh, setup.sh, $hashed"
  echo 'python3 nowhere.py' > lost.sh
  skips "or they are reported" 'sh lost.sh' '^not hashed   nowhere.py \(named by a shell script, but not found\)'
  printf 'import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), "tools"))\nimport beside\n' > added.py
  hashes "sys.path is followed" 'python3 added.py' 'added.py, tools/beside.py'
  printf 'import sys\nfrom pathlib import Path\nsys.path.append(str(Path(__file__).resolve().parent.parent))\nimport helper\n' > tools/up.py
  hashes "by pathlib, too" 'python3 tools/up.py' 'tools/up.py, helper.py'
  printf 'import subprocess, sys\nsubprocess.run([sys.executable, "worker.py"])\n' > parent.py
  hashes "a script that a constant names" 'python3 parent.py' 'parent.py, worker.py'
  printf 'import torch\ntorch.utils.cpp_extension.load("k", sources=["kernel.cu", "absent.cpp"])\nimport fast\n' > build.py; touch kernel.cu fast.pyx
  hashes "sources that it compiles" 'python3 build.py' 'build.py, fast.pyx, kernel.cu'
  mkdir -p entry && printf '[project.scripts]\ntrain = "pkg.cli:main"\n[tool.other]\nx = "helper:y"\n' > entry/pyproject.toml
  mkdir entry/pkg && touch entry/pkg/__init__.py entry/pkg/cli.py
  for command in 'uv run train' 'poetry run train --lr 1' train; do
    ini entered "$command" && echo 'cwd = entry' >> entered.ini
    tap_expect "a command of pyproject.toml has its module: $command" 0 '^code +pkg/cli.py [0-9a-f]+, pkg/__init__.py' sweep plan entered.ini --no-check
  done
  printf 'print "old"\nimport helper\n' > two.py
  hashes "a file for Python 2" 'python3 two.py' 'two.py, helper.py'
  skips "and says what may be missing" 'python3 two.py' '^not hashed   some imports of two.py \(line 1: '
  printf '@hydra.main(version_base=None, config_path="conf", config_name="config")\ndef main(cfg): pass\n' > hydra_app.py
  skips "a configuration of Hydra is not hashed" 'python3 hydra_app.py' '^not hashed   conf/config.yaml \(configuration that hydra_app.py reads by Hydra\)'
  skips "nor is the file of an option" 'python3 helper.py --config=conf/config.yaml' '^not hashed   conf/config.yaml \(named by --config'
  printf 'import importlib\nimportlib.import_module(name)\nfrom . import absent\nfrom pkg.gone import x\n' > pkg/unknown.py
  skips "imports by name are reported" 'python3 -m pkg.unknown' 'modules that pkg/unknown.py imports by name \(line 2\)'
  skips "and modules that are not there" 'python3 -m pkg.unknown' 'pkg.gone \(imported by pkg/unknown.py, but not found\)'
  skips "a module of the command, too" 'python3 -m no.such' '^not hashed   the module no.such'
  ini chosen 'python3 {algo}.py'; printf '[settings]\nalgo = helper | worker\n' >> chosen.ini
  tap_expect "each value of a choice names a file" 0 '^code +helper.py [0-9a-f]+, worker.py' sweep plan chosen.ini

  ini either 'python3 {cuda?helper.py:worker.py}'; printf '[settings]\ncuda = True\n[grid g]\ncuda = True, False\n' >> either.ini
  tap_expect "both scripts of a condition" 0 '^code +helper.py [0-9a-f]+, worker.py' sweep plan either.ini
  ini void '{cuda?true}'; printf '[settings]\ncuda = True\n[grid g]\ncuda = True, False\n' >> void.ini
  tap_run "a command of no word is refused" 2 "program.command: it is empty in some runs" sweep plan void.ini
  ini varied 'python3 {script}'; printf '[settings]\nscript = helper.py\n[grid g]\nscript = helper.py, worker.py\n' >> varied.ini
  tap_expect "but not each text of a grid, which is reported" 0 '^not hashed   worker.py \(only some runs have it' sweep plan varied.ini
  mkdir -p project/exp project/lib outside && touch project/setup.py project/lib/__init__.py outside/near.py project/exp/unreadable.py
  printf 'import lib, linked\n' > project/exp/main.py; ln -s ../../outside/near.py project/exp/linked.py
  ini upper 'python3 main.py' && echo 'cwd = project/exp' >> upper.ini
  tap_expect "a package above the working directory is reported" 0 "^not hashed   lib \\(in .*/study/project, outside of" sweep plan upper.ini
  tap_expect "a link to a module is the module" 0 '^code +main.py [0-9a-f]+, linked.py' sweep plan upper.ini
  printf 'import near\n' > outside/main.py
  ini beyond 'python3 ../../outside/main.py' && echo 'cwd = project/exp' >> beyond.ini
  tap_expect "a script elsewhere has the modules of its directory" 0 '^code +../../outside/main.py [0-9a-f]+, ../../outside/near.py' sweep plan beyond.ini
  ini gone 'python3 main.py' && echo 'cwd = nowhere' >> gone.ini
  tap_run "a working directory must exist" 2 "program.cwd: there is no directory $PWD/nowhere" sweep plan gone.ini
  mkdir none && ln -s "$(command -v b2sum)" none/
  tap_expect "without Python the plan says so" 0 '^not hashed   imported modules \(they could not be searched' env PATH=none SWEEP_PYTHON=no-python \
    "$SWEEP_BUILD/bin/sweep" plan named.ini --no-check

  # ---- an edited import
  ini edited 'python3 x.py'
  timeout 120 sweep submit edited.ini --wait > /dev/null 2>&1
  echo '# edited' >> helper.py
  tap_expect "the plan names the file whose edit makes new runs" 0 'helper.py changed since these runs: 2 runs keep the old code' sweep plan edited.ini
  tap_run "in JSON, too" 0 '"differs": "helper.py changed"' sweep plan edited.ini --json
  tap_run "by its name a sweep with an edited import does not run" 2 "edited since the sweep was submitted (helper.py changed)" sweep submit edited --force
  tap_run "nor does more of it" 2 "(helper.py changed)" sweep submit edited --seeds 3
  tap_run "submit says what keeps the old code" 0 "helper.py changed since these runs: 2 runs keep the old code" sweep submit edited.ini --no-start

  # ---- programs and scripts that a command names by their absolute paths
  mkdir -p ../far/env/bin ../far/data
  for name in run.sh plain other.pl t.jl; do echo 'echo 1' > ../far/$name; done
  printf '#!/bin/sh\ntrue\n' > ../far/started; cp /bin/true ../far/compiled; echo 'import near' > ../far/train.py; touch ../far/near.py
  echo 'import near' > ../far/script; echo x > ../far/data/set.bin; cp ../far/started ../far/env/bin/tool; touch ../far/env/pyvenv.cfg
  chmod 755 ../far/started ../far/compiled ../far/data/set.bin ../far/env/bin/tool; cp ../far/compiled ../far/mpirun
  far=$tap_dir/far
  while IFS='|' read -r command files; do hashes "$command" "${command//FAR/$far}" "$files"; done <<'END'
sh FAR/run.sh|../far/run.sh
env sh FAR/run.sh|../far/run.sh
FAR/started|../far/started
FAR/compiled --lr 1|../far/compiled
bash -e FAR/run.sh --data FAR/data/set.bin|../far/run.sh
bash FAR/plain FAR/data/set.bin|../far/plain
env -i A=b sh FAR/run.sh|../far/run.sh
nice -n 5 python3 FAR/train.py|../far/train.py, ../far/near.py
python3 -u FAR/train.py --out FAR/new|../far/train.py, ../far/near.py
python3 FAR/script|../far/script, ../far/near.py
time FAR/started|../far/started
srun -n 2 FAR/compiled|../far/compiled
mpirun -n 2 FAR/compiled|../far/compiled
FAR/mpirun -n 2 FAR/compiled|../far/compiled
FAR/env/bin/tool FAR/run.sh|../far/run.sh
perl FAR/other.pl|../far/other.pl
julia --project FAR/t.jl|../far/t.jl
timeout -k 5 10 stdbuf -o L FAR/started FAR/data/set.bin|../far/started
sh -c "cd / && FAR/started && sh FAR/plain"|../far/plain, ../far/started
/usr/bin/env bash FAR/run.sh|../far/run.sh
END
  ini data "/bin/true $far/data/set.bin"
  tap_check "but neither the system's nor data" "$(sweep plan data.ini --no-check 2>&1 | grep '^code')"
  tap_check "without Python, too" "$(diff <(SWEEP_PYTHON=/bin/false code_of "env sh $far/run.sh $far/data/../started") <(echo "$far/run.sh, $far/data/../started"))"

  # ---- what the program gets
  printf 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--bias", type=float)\np.add_argument("--cuda", action="store_true")
p.add_argument("--no-clip", action="store_false", dest="clip")\np.add_argument("--anneal", action=argparse.BooleanOptionalAction)
p.add_argument("--version")\nprint(p.parse_args())\n' > p.py
  ini parsed 'python3 p.py {flags} {cuda?--cuda} {clip?:--no-clip} {anneal?--anneal:--no-anneal}'
  printf '[settings]\nbias = 0.5\nversion = 3.10\ncuda = True\nclip = True\nanneal = True\n[zip z]\nbias = -0.00001, -1e-5k\ncuda = True, False\nclip = True, False\nanneal = True, False\n' >> parsed.ini
  sed -i 's/-1e-5k/-1e-7/' parsed.ini
  timeout 120 sweep submit parsed.ini --wait > /dev/null 2>&1
  tap_run "argparse reads negative numbers, versions and flags" 0 "Namespace(bias=-1e-05, cuda=True, clip=True, anneal=True, version='3.10')" sweep logs parsed/0
  tap_run "and flags that are not there" 0 "Namespace(bias=-1e-07, cuda=False, clip=False, anneal=False, version='3.10')" sweep logs parsed/1
  tap_run "the log has the command as it was executed" 0 ": python3 p.py --bias=-1e-7 --version 3.10 --no-clip --no-anneal" sweep logs parsed/1
  tap_run "which the plan prints" 0 "command      python3 p.py --bias=-0.00001 --version 3.10 --cuda --anneal" sweep plan parsed.ini
else tap_skip "imports of Python programs" "no python3"; fi

mkdir ../hydra && cd ../hydra || exit 1
python=${SWEEP_PYTHON:-python3}
if "$python" -c 'import hydra.core.override_parser.overrides_parser' 2> /dev/null; then
  cat > overrides.py <<'PY'
import json, sys
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
given = {}
for override in OverridesParser.create().parse_overrides(sys.argv[1:]):
    given[override.key_or_group] = OmegaConf.to_container(OmegaConf.create({"v": override.value()}), resolve=True)["v"]
print(json.dumps(given) == json.dumps(json.loads(open("expected.json").read())), given)
PY
  ini hydra "$python overrides.py {overrides}"
  cat >> hydra.ini <<'INI'
[settings]
a = "a=b"
b = "x,y"
c = "3 #4"
d = "{a: 1}"
e = "it's \"here\""
f = ""
g = 1.0
h = "007"
i = [64,[a,b]]
j = "back\\slash\\"
k = "${x}"
l = null
m = True
n = "True"
o = "q\\'q"
INI
  printf '%s' '{"a": "a=b", "b": "x,y", "c": "3 #4", "d": "{a: 1}", "e": "it'"'"'s \"here\"", "f": "", "g": 1.0, "h": "007", "i": [64, ["a", "b"]],' \
    ' "j": "back\\slash\\", "k": "${x}", "l": null, "m": true, "n": "True", "o": "q\\'"'"'q"}' > expected.json
  timeout 120 sweep submit hydra.ini --wait > /dev/null 2>&1
  tap_run "Hydra reads every override as it was written" 0 "True {" sweep logs hydra/0
else tap_skip "Hydra's parser" "no hydra-core"; fi

# ---- the plan's remarks
hint() { # NAME COMMAND TEXT
  ini hinted "$2"
  tap_run "hint: $1" 0 "$3" sweep plan hinted.ini --no-check
}
no_hint() { ini hinted "$2"; tap_check "no hint: $1" "$(sweep plan hinted.ini --no-check 2>&1 | grep '^hint  ')"; }
hint "a cut comment" 'echo run #3' "command ends before the comment '#3'"
hint "after a semicolon" 'echo a ; echo b' "command ends before the comment '; echo b'"
hint "&&" 'echo a && echo b' 'no shell interprets &&'
hint "a pipe" 'echo a | tee b' 'no shell interprets |'
hint "a redirection" 'echo a > b' 'no shell interprets >'
hint "a variable" 'echo $HOME/x' 'no shell interprets $HOME'
hint "a variable in double quotes" 'echo "$HOME/x y"' 'no shell interprets $HOME'
hint "a home" 'echo ~/x' 'no shell interprets ~/'
hint "backquotes" 'echo `date`' 'no shell interprets `date`'
hint "a pattern" 'echo *.txt' 'no shell interprets *'
hint "the end of a command" 'echo a; echo b' 'no shell interprets ;'
no_hint "single quotes" "echo '\$HOME && x'"
no_hint "sh -c" 'sh -c "echo \$HOME && x > y"'
no_hint "ordinary words" 'echo a=b --x={seed} 5% user@host http://a/b?c=d&e=f'
tap_run "no code at all is a warning" 0 "no code of the program is known" sweep plan hinted.ini
ini hinted 'echo a'; echo 'code = none' >> hinted.ini
tap_check "unless the user says so" "$(sweep plan hinted.ini 2>&1 | grep 'no code')"
touch there.sh
for command in 'python3 nosuch.py' 'python3 -u nosuch.py --a there.sh' 'sh nosuch.sh' 'bash nosuch' 'env A=1 python3 nosuch.py'; do
  ini absent "$command"
  tap_run "the plan misses the script of $command" 2 "there is no file $PWD/nosuch" sweep plan absent.ini
done
for command in 'nice echo x nosuch.py' 'sh there.sh nosuch.py' 'sh -c "python3 nosuch.py"' 'python3 -c pass nosuch.py' 'echo nosuch.py' 'env echo --out=x.py'; do
  ini present "$command"
  tap_run "but not of $command" 0 "checked      the command" sweep plan present.ini
done

# ---- files that runs share
for metrics in csv:p.csv jsonl:p.jsonl 'csv:{dir}/../../../../p.csv' 'csv:./a/../p.csv' 'csv:{run}/../p.csv'; do
  ini shared 'echo {seed}'; echo "metrics = $metrics" >> shared.ini
  tap_run "runs may not share $metrics" 2 "put {dir} or {run} into the path" sweep plan shared.ini
  tap_run "nor is it submitted" 2 "and would read each other's rows" sweep submit shared.ini
done
for metrics in 'csv:{dir}/p.csv' 'jsonl:{dir}/p.jsonl' 'csv:out/{seed}.csv' tensorboard:runs jsonl 'csv:a/../{run}.csv'; do
  ini own 'echo {seed}'; echo "metrics = $metrics" >> own.ini
  tap_run "but $metrics" 0 "checked      the command" sweep plan own.ini
done
ini own 'echo {seed}'; echo "metrics = csv:p.csv" >> own.ini; sed -i 's/^seeds = 2/seeds = 1/' own.ini
tap_run "or a file of the only run" 0 "checked      the command" sweep plan own.ini

# ---- a directory that no file can name
mkdir "$tap_dir"/$'bad\xff' && cp own.ini "$tap_dir"/$'bad\xff'
tap_run "a directory whose name is not UTF-8 is refused at once" 2 "byte 0xff, which is not UTF-8" sweep submit "$tap_dir"/$'bad\xff'/own.ini
tap_done
