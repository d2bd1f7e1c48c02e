#!/usr/bin/env bash
# `sweep plan` and the general command line: output, every kind of invalid input with its message and exit code;
# planning writes nothing.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root experiments=$(cd "$(dirname "$0")/../../experiments" && pwd); mkdir "$root"
cd "$tap_dir" || exit 1

# file NAME: stdin becomes an experiment file with a [sweep] section before it
file() { { printf '[sweep]\nname = s\n'; cat; } >"$1"; }
# refused NAME MESSAGE <<text: the plan of the text fails with exit code 2 and the message
refused() { local name=$1 message=$2; file bad.ini; tap_run "$name" 2 "$message" sweep plan bad.ini --root "$root"; }
plan() { sweep plan "$@" --root "$root"; }

cat >good.ini <<'EOF'
[sweep]
name = good
seeds = 2
[train]
total_steps = 1e6
[ppo]
epochs = 4
[grid com]
algo.name = ppo_ewma
ppo.com = 8, 64, 512
[grid eps]
ppo.epsilon = 0.1, 0.2
[grid both]
ppo.epsilon = 0.2, 0.4
[zip scale]
net.width = 64, 128
ppo.learning_rate = 1e-3, 3e-4
[profile demo]
sweep.seeds = 1
sweep.grids = com
[slurm]
time = 02:00:00
EOF

printf '#!/bin/sh\necho $OMP_WAIT_POLICY >%s\nexec trainer "$@"\n' "$tap_dir/policy" >trainer.sh; chmod +x trainer.sh
env -u OMP_WAIT_POLICY SWEEP_TRAINER="$tap_dir/trainer.sh" sweep plan good.ini --root "$root" >out 2>&1
tap_check "threads of the check do not spin while they wait" "$(grep -qx passive policy || cat policy out)"
rm trainer.sh policy out

# ---- output of a plan
tap_run "the axes of a grid are listed" 0 "8, 64, 512" plan good.ini
tap_run "cells are counted block by block" 0 "14 (com 6, eps 4, both 4)" plan good.ini
tap_run "duplicates are merged and counted" 0 "24 (4 duplicates merged)" plan good.ini
tap_run "--speed prices them" 0 "in total (at 1 k transitions/s)" plan good.ini --speed 1e3
tap_expect "and prints the cost on several processors" 0 "gives a run 6 \(2 ranks of 3\): [0-9.]+ k? ?processor hours" \
  plan good.ini --speed 1e3 --set slurm.ranks_per_run=2 --set slurm.cpus_per_run=3
tap_run "--speed of nothing" 2 "--speed -1: expected a positive number of transitions per second" plan good.ini --speed=-1
tap_run "without measurements the model prices them" 0 "run time in total (by the model, since nothing was measured)" plan good.ini
tap_run "with evaluations and checkpoints" 0 ", evaluations at most " plan good.ini
tap_run "and bytes" 0 "B of logs and checkpoints" plan good.ini
tap_run "a profile selects" 0 "runs         6" plan good.ini --profile demo
tap_run "--set overrides" 0 "runs         12" plan good.ini --set sweep.seeds=1
tap_run "--runs lists each run" 0 "algo.name=ppo_ewma ppo.com=512 seed=1" plan good.ini --runs
plan good.ini --json --runs >plan.json
at() { tool json "$@" <plan.json; }
said="$(at runs) $(at duplicates) $(at cells) $(at to_run) $(at modeled_runs) $(at grids 0 axes 2 settings) $(at transitions)"
# 1e6 steps in whole iterations of 2048 * 256
tap_check "--json says the same" "$([ "$said" = "24 4 14 24 24 {\"ppo.com\":[8.0,64.0,512.0]} $((24 * 2 * 2048 * 256)).0" ] || echo "$said")"
ids=$(for i in $(seq 0 23); do [ "$(at run_list "$i" index)" = "$i" ] && at run_list "$i" id; done)
tap_check "--json lists each run once, by its index" "$([ "$(sort -u <<<"$ids" | wc -l)" = 24 ] || echo "$ids")"
tap_result "planning wrote nothing" "$(ls -A "$root" | wc -l)" "$(ls -A "$root")"

tap_run "layers too wide for ranks are named" 0 "the last hidden layer has 2048 units; feature ranks are measured up to 1024 and will be missing" \
  plan good.ini --set net.widths=256-2048 --set sweep.grids=eps --set sweep.seeds=1
tap_check "those of 1024 are not" "$(plan good.ini --set net.widths=1024 --set sweep.grids=eps --set sweep.seeds=1 2>&1 | grep 'feature ranks')"

printf '[env]\nnum = 1048576\nlevel_count = 4\n[train]\ndevice = cuda\n[ppo]\nnum_minibatches = 8192\nminibatch_by = environments\n[slurm]\nranks_per_run = 128\ngpus_per_run = 128\n' | file padded.ini
tap_run "padded minibatches are named" 0 "each of 128 ranks would compute 8 times its rows of a minibatch" plan padded.ini
tap_check "blocks are not padded" "$(plan padded.ini --set ppo.shuffle=blocks 2>&1 | grep 'times its rows')"

# ---- experiments of the repository
for experiment in "$OLDPWD"/experiments/*.ini; do
  for profile in "" $(sed -nE 's/^\[profile ([^] ]+)\].*/\1/p' "$experiment"); do
    out=$(plan "$experiment" ${profile:+--profile "$profile"} 2>&1); rc=$?
    if [ $rc = 2 ] && grep -qE 'levels: .*kinetix/.*No such file|run `make mujoco`|has no package gymnasium' <<<"$out"; then # neither is ours
      out=$(plan "$experiment" ${profile:+--profile "$profile"} --no-check 2>&1); rc=$?
    fi
    tap_result "${experiment##*/} ${profile:-without profile} can be planned" $rc "$out"
  done
done

# ---- bad input in a file
refused "unknown key" "bad.ini:4:1: ppo.epsilom is not a setting; did you mean ppo.epsilon?" <<<$'[ppo]\nepsilom = 1'
refused "unknown key in a grid" "bad.ini:4:1: ppo.coms is not a setting; did you mean ppo.com?" <<<$'[grid g]\nppo.coms = 1'
refused "unknown section" "bad.ini:3:1: [pop] is not a section; did you mean [ppo]?" <<<$'[pop]\nepochs = 1'
refused "unknown slurm key" "bad.ini:4:1: slurm.tme is not a setting; did you mean slurm.time?" <<<$'[slurm]\ntme = 1'
refused "wrong type" "bad.ini:4:10: ppo.epochs = many is not a whole number" <<<$'[ppo]\nepochs = many'
refused "a list where one value belongs" "lists are allowed in [grid NAME] sections" <<<$'[ppo]\nepochs = 1, 2'
refused "out of range" "bad.ini:4:9: ppo.gamma = 1.5 is out of range" <<<$'[ppo]\ngamma = 1.5'
refused "out of range inside a list" "bad.ini:4:20: ppo.epochs = 0 is out of range" <<<$'[grid g]\nppo.epochs = 4, 8, 0'
refused "empty grid" "bad.ini:3:1: empty grid" <<<'[grid g]'
refused "empty item" "bad.ini:4:16: ppo.epochs: an item of the list is empty" <<<$'[grid g]\nppo.epochs = 4,,8'
refused "zip lists of different length" "ppo.com has 2 values and env.num (line 4) has 3" <<<$'[zip z]\nenv.num = 1, 2, 3\nppo.com = 1, 2'
refused "two sections that contradict" "bad.ini:6:1: ppo.epochs = 8 contradicts line 4, which sets it to 4" <<<$'[ppo]\nepochs = 4\n[ppo]\nepochs = 8'
refused "one key twice in a grid" "bad.ini:5:1: ppo.com is set twice in [grid g], first in line 4" <<<$'[grid g]\nppo.com = 1\nppo.com = 2'
refused "a key in a zip and a grid" "[zip z] (line 4)" <<<$'[zip z]\nppo.com = 1, 2\n[grid g]\nppo.com = 3'
refused "seeds where they do not belong" "train.seed is given by seeds in [sweep]" <<<$'[train]\nseed = 3'
refused "settings that do not go together" "bad.ini:3:1: [grid g], the cell env.num=60 ppo.num_steps=1: " <<<$'[grid g]\nenv.num = 64, 60\nppo.num_steps = 1'
refused "a list that nothing reads" "bad.ini:4:1: [grid g] gives values to ppo.com, which nothing reads: ppo.com is read only if algo.name is ppo_ewma, but it is ppo; 2 of the 3 runs would be bit-identical duplicates of others; set algo.name = ppo_ewma in that grid" <<<$'[grid g]\nppo.com = 8, 64, 512'
refused "a list that only some of the cells read" "bad.ini:5:1: [grid g] gives values to ppo.com, which nothing reads" <<<$'[grid g]\nalgo.name = ppo, ppo_ewma\nppo.com = 8, 64, 512'
refused "blocks that differ in nothing that is read" "bad.ini:4:1: [grid a] gives values to sapg.blocks, which nothing reads" <<<$'[grid a]\nsapg.blocks = 4\n[grid b]\nppo.epochs = 8'
refused "schemes of factor 1" "two cells have the same settings: scale.scheme=more_minibatches seed=0 and scale.scheme=larger_minibatches seed=0; 1 of the 2 runs" <<<$'[grid a]\nscale.scheme = more_minibatches, larger_minibatches'
refused "COM without a clip" "ppo.com has no effect without a clip (ppo.epsilon = inf) or KL penalty: ppo.com=8 seed=0 and ppo.com=64 seed=0; 1 of the 2 runs" <<<$'[algo]\nname = ppo_ewma\n[ppo]\nepsilon = inf\n[grid g]\nppo.com = 8, 64'
refused "the rule of the EWMA without a clip" "ppo.ewma_rule has no effect without a clip" <<<$'[algo]\nname = ppo_ewma\n[ppo]\nepsilon = inf\n[grid g]\nppo.ewma_rule = plain, bias_corrected'
for reason in "kl_penalty = 1" "ddr_target = 1e6" "epsilon = 0.8"; do
  file clips.ini <<<$'[algo]\nname = ppo_ewma\n[ppo]\n'"$([[ $reason = eps* ]] || echo 'epsilon = inf')"$'\n'"$reason"$'\n[grid g]\nppo.com = 8, 64'
  tap_run "COM with $reason" 0 "runs         2" plan clips.ini
done
refused "another word for unread" "sweep.unread = yes: expected refuse or allow" <<<$'[sweep]\nunread = yes'
file copies.ini <<<$'[sweep]\nunread = allow\n[grid g]\nppo.com = 8, 64, 512'
tap_run "duplicates that are meant" 0 "runs         3" plan copies.ini
file zips.ini <<<$'[zip z]\nppo.com = 8, 64, 512\nppo.epsilon = 0.1, 0.2, 0.3'
tap_run "an unread value next to one that is read creates no duplicate" 0 "runs         3" plan zips.ini
refused "too many runs" "more than 10000000 runs" <<<$'[grid g]\nenv.level_count = 1..100000\nppo.epochs = 1..1000'
refused "an endless range" "at most 1000000 values" <<<$'[grid g]\ntrain.total_steps = 1..999999999999'
refused "an unclosed section" "bad.ini:3:" <<<'[grid g'
for name in 'a/b' '..' '../x' '-rf' '"a b"' "a'b" '"a\"b"' '$(id)' '`id`' ''; do
  printf '[sweep]\nname = %s\n' "$name" >bad.ini
  tap_run "the name ${name:-(empty)} is refused" 2 "bad.ini:2:" plan bad.ini
done
printf '[sweep]\nname = a\nb\n' >bad.ini
tap_run "a name with a newline is refused" 2 "bad.ini:3:1:" plan bad.ini
printf '[sweep]\nname = "a\001b"\n' >bad.ini
tap_run "a name with a control character is refused" 2 "bad.ini:2:" plan bad.ini
printf '[ppo]\nepochs = 1\n' >bad.ini
tap_run "a sweep without name is refused" 2 "bad.ini: the sweep has no name" plan bad.ini
printf '[sweep]\nname = s\n\0\n' >bad.ini
tap_run "a NUL byte is refused" 2 "NUL" plan bad.ini
head -c 4096 /dev/urandom >bad.ini
tap_run "a binary file is refused" 2 "bad.ini" plan bad.ini

# ---- bad input on the command line
tap_run "a file that is not there" 1 "missing.ini" plan missing.ini
tap_run "a folder in place of a file" 1 "root" plan ./root
tap_run "a sweep that is not there" 2 "there is no sweep 'nothing' in" plan nothing
tap_run "no argument" 2 "usage: sweep plan" plan
tap_run "the same file twice adds nothing" 0 "good                    24      0" plan good.ini good.ini
tap_run "a run of a sweep that was not submitted" 2 "there is no sweep 'good'" sweep submit good.ini good.ini --root "$root"
tap_run "--seeds takes more seeds" 0 "good: 36 runs, " sweep submit --seeds 3 good.ini --local --no-start --root "$tap_dir/seeds"
tap_run "--seeds wants them" 2 "--seeds needs a value: --seeds N" sweep submit good.ini --root "$root" --seeds
tap_run "an unknown profile" 2 "good.ini has no [profile dmo]; did you mean demo?" plan good.ini --profile dmo
tap_run "an unknown option" 2 "did you mean --profile?" plan good.ini --profle demo
tap_run "--set of an unknown key" 2 "--set ppo.epoch=1: ppo.epoch is not a setting; did you mean ppo.epochs?" plan good.ini --set ppo.epoch=1
tap_run "--set without a value" 2 "expected KEY=VALUE" plan good.ini --set ppo.epochs
tap_run "--set of a swept key" 2 "[grid com] (line 10 of good.ini) sweeps ppo.com over 3 values" plan good.ini --set ppo.com=8
tap_run "--set of a bad name" 2 "sweep.name" plan good.ini --set sweep.name=../x
tap_run "a workspace that is not there is an empty one" 0 "checked      the trainer would start" sweep plan good.ini --root "$tap_dir/nowhere"
tap_check "and is not made" "$(ls -d "$tap_dir/nowhere" 2>/dev/null)"
tap_run "an unknown command" 2 "did you mean" sweep plam good.ini
tap_run "help names the options" 0 "--profile" sweep plan --help
tap_run "help without a command" 0 "rebuild" sweep --help

# ---- a rule with too long an interval
printf '[train]\ntotal_steps = 6144\n[ppo]\nnum_steps = 16\n[env]\nnum = 8\n[stop]\nrule = median\n' | file seldom.ini
tap_run "stop.every is held against the length of runs" 0 "stop.every = 20 is too long for runs of about 6.1 s" plan seldom.ini --speed 1000 --no-check
tap_run "and one is named that is not" 0 "times; use stop.every = 0.61" plan seldom.ini --speed 1000 --no-check
seldom() { plan seldom.ini --no-check "$@" | grep -q "is too long for runs"; }
! seldom --speed 10; tap_result "runs of ten minutes are long enough" $?
! seldom --speed 1000 --set stop.every=0.61; tap_result "so is the named one" $?
seldom; tap_result "the model's speed counts, too" $?

# ---- programs whose speed is unknown
printf '[program]\ncommand = true {lr}\nstep = step of {steps}\ngoal = max reward\n[settings]\nlr = 1\nsteps = 100\n[stop]\nrule = median\n' | file program.ini
printf '[slurm]\ngpus_per_run = 1\n' | cat program.ini - >device.ini
tap_run "a program has no length to hold stop.every against" 0 "unknown speed: measure one run" plan program.ini --no-check
tap_check "and is not called short" "$(plan program.ini --no-check | grep 'is too long for runs')"
tap_run "on GPUs, too, its hours are unknown" 0 '"gpu_hours": null' plan device.ini device.ini --json
tap_run "and the table says so" 0 "?: no run of this program has measured a speed yet" plan device.ini device.ini
tap_run "unless one is assumed" 0 '"gpu_hours": 0.5' plan device.ini device.ini --json --speed 0.05555555555555555

# ---- power
tap_expect "power: seeds for each claim of the file, with an assumed spread" 0 "ddr_levers .*none .*0.04 \\(assumed\\)" \
  plan "$experiments/ddr_levers.ini" --power
more() { plan "$experiments/ddr_levers.ini" --power --json "$@" | python3 -c 'import json, sys; claim = json.load(sys.stdin)["claims"][0]; print(*[claim[k] for k in sys.argv[1:]])' power seeds_needed; }
few=$(more --set sweep.seeds=3) many=$(more --set sweep.seeds=20)
tap_check "more seeds have more power, and as many are needed" \
  "$(awk -v few="$few" -v many="$many" 'BEGIN { split(few, f); split(many, m); if (!(f[1] < 0.5 && m[1] > 0.9 && f[2] == m[2] && f[2] > 3)) print few " and " many }')"
tap_simulate "$tap_dir/simulated" 4 3; sweep collect --root "$tap_dir/simulated" >/dev/null
tap_expect "the spread is that of the workspace's runs" 0 "ddr_levers .*none .*0.0[0-9]* \([1-9][0-9]* runs\)" \
  sweep plan "$experiments/ddr_levers.ini" --power --root "$tap_dir/simulated"
printf '[sweep]\nname = fig8_ddr\nseeds = 3\n[train]\ntotal_steps = 1e6\n[grid all]\nppo.epsilon = 0.1, 0.2\nppo.epochs = 1, 4\nenv.num = 16, 64\n' >levers.ini
plan levers.ini --power >levers.txt 2>&1
tap_expect "where levers differ, more seeds hardly help" 0 "ddr_low .* more hardly help" cat levers.txt
tap_expect "which is said" 0 "each lever has an effect of its own" cat levers.txt
tap_check "nor does --json find a number of seeds" "$(plan levers.ini --power --json | python3 -c 'import json, sys
for claim in json.load(sys.stdin)["claims"]:
  if not claim["over_levers"] or claim["seeds_needed"] is not None: print(claim)')"
tap_run "power of a file that no claim uses is refused" 2 "no claim of the papers uses the sweep good; analyze claims --list" plan good.ini --power
tap_run "power is of one file" 2 "power is of one file; found 2 files" plan good.ini good.ini --power

# ---- around an existing sweep
mkdir -p "$root/sweeps/good"; printf 'garbage\n' >"$root/sweeps/good/manifest.tsv"
tap_run "a damaged manifest is reported" 1 "manifest.tsv:1: this is not a manifest" plan good.ini
rm "$root/sweeps/good/manifest.tsv"
printf 'not a database, but long enough to be looked at as one\n' >"$root/results.db"
tap_run "another file as results.db: the plan is printed, by the model" 0 "no measured speeds: " plan good.ini
tap_run "collecting into it is refused" 1 "results.db" sweep collect --root "$root"
tap_run "collect refuses a bad pause" 2 "--every" sweep collect --root "$root" --follow --every 0
tap_run "--rebuild takes no argument" 2 "--rebuild and the name of a sweep exclude each other" sweep collect --rebuild --root "$root" x
printf '[sweep]\nname = pole\nseeds = 1\n[env]\ntask = gym/CartPole-v1\nnum = 8\nworkers = 4\n[slurm]\nmem = 1G\n' >"$tap_dir/pole.ini"
tap_run "Python processes are counted" 0 \
  "9 Python processes per run: at least 225 MB of memory, without the trainer; 4 of them step at once, and slurm.cpus_per_run = 1" \
  sweep plan "$tap_dir/pole.ini" --no-check --root "$tap_dir"
tap_run "no evaluations, no processes for them" 0 '"python_processes": 5' \
  sweep plan "$tap_dir/pole.ini" --no-check --root "$tap_dir" --set eval.count=0 --json
tap_done
