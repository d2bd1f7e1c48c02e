#!/usr/bin/env bash
# analyze import: runs of Weights & Biases, TensorBoard and tables become runs of a workspace. Settings, seeds and every
# value are compared with what a writer of the published formats wrote (tests/tools/import_files.py). TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
files=$(cd "$(dirname "$0")/../tools" && pwd)/import_files.py
cd "$tap_dir" || exit 1
unset SWEEP_ROOT
command -v python3 >/dev/null || { tap_skip "imports" "no python3"; tap_done; }
python3 -S "$files" . || exit 1
sql() { analyze sql w/results.db --csv "$1" | tail -n +2 | tr -d '"'; }
# values SWEEP: "lr seed step return" of every evaluation's metric, and those that the writer wrote
values() {
  sql "SELECT coalesce(json_extract(r.config, '$.settings.lr'), 0.1), r.seed, m.step, m.value FROM metric m JOIN run r ON r.id = m.run_id
    JOIN sweep_run s ON s.run_id = r.id WHERE s.sweep = '$1' AND m.name IN ('return', 'charts/episodic_return')" | tr , ' ' |
    awk '{ printf "%g %d %g %.6g\n", $1, $2, $3, $4 }' | sort
}
expected() { # LRS ENVIRONMENTS
  for lr in $1; do for seed in 0 1 2; do for step in 0 100 200 300 400 500 600 700 800 900; do
    for _ in $2; do awk -v lr="$lr" -v s="$seed" -v x="$step" 'BEGIN { printf "%g %d %g %.6g\n", lr, s, x, (x / 100 + s) * (lr == 0.01 ? 2 : 1) }'; done
  done; done; done | sort
}
same() { tap_check "$1" "$(diff <(values "$2") <(expected "$3" "$4") | head -4)"; }
settings() { sql "SELECT DISTINCT $2 FROM run r JOIN sweep_run s ON s.run_id = r.id WHERE s.sweep = '$1' ORDER BY 1"; }
sums() { find wandb cleanrl hparams path tables long.csv -type f -exec cksum {} + | sort; }
sums >before

# ---- Weights & Biases
tap_run "wandb" 0 "6 runs, 6 of them new" analyze import wandb wandb --sweep wb --root w -m kl=losses/approx_kl
same "each value, also behind a record over several blocks" wb "0.1 0.01" one
tap_check "settings, nested ones too" "$([ "$(settings wb "json_extract(config, '$.settings.env') || ' ' || json_extract(config, '$.settings.net.size') ||
  json_extract(config, '$.settings.\"net.size\"')" | wc -l)" -ge 1 ] || echo none; cat w/runs/*/*/config.ini | sort -u | grep -qx 'net.size = 64' || echo "no net.size"
  cat w/runs/*/*/config.ini | grep -qx 'version = "3.10"' || echo "no version"
  cat w/runs/*/*/config.ini | grep _wandb)"
[ "$(settings wb "seed" | tr '\n' ' ')" = "0 1 2 " ]; tap_result "seeds" $?
[ "$(sql "SELECT count(*) FROM run WHERE status = 'failed'")" = 1 ]; tap_result "a run that ended with exit code 1 has failed" $?
tap_run "the reason" 0 "exit code 1" sweep status wb --runs --root w
[ "$(sql "SELECT count(*) FROM iteration WHERE kl = 0.01")" = 54 ]; tap_result "[metric]: KL is the column, and NaN none" $?
tap_run "a figure" 0 "lr 0.01" analyze bars w/results.db --sweep wb --group lr -o figures
tap_run "the same files again" 0 "6 runs, 0 of them new" analyze import wandb wandb --sweep wb --root w -m kl=losses/approx_kl
same "change nothing" wb "0.1 0.01" one
cp -r wandb cut && truncate -s -40 cut/run-0.01-1/run-0.01-1.wandb
tap_run "a torn file" 0 "incomplete after byte" analyze import wandb cut --sweep cut --root w
head -c 7 wandb/run-0.1-0/*.wandb >version.wandb && printf '\001' | dd of=version.wandb bs=1 seek=6 conv=notrunc 2>/dev/null
tap_run "another version of the format" 1 "reads version 0" analyze import wandb version.wandb --sweep v --root w
tap_run "another file" 2 "is not a file of Weights & Biases" analyze import wandb long.csv --sweep v --root w
tap_run "a directory without runs" 1 "contains no run of Weights & Biases" analyze import wandb tables --sweep v --root w

# ---- TensorBoard
tap_run "tensorboard: hyperparameters of CleanRL" 0 "goal max charts/episodic_return" analyze import tensorboard cleanrl --sweep cleanrl --root w
same "each value" cleanrl 0.01 "two environments"
[ "$(settings cleanrl "json_extract(config, '$.settings.env_id')" | tr '\n' ' ')" = "Ant-v4 Hopper-v4 " ]; tap_result "settings" $?
tap_run "tensorboard: the HParams plugin, in a directory of its own" 0 "6 runs, 6 of them new" analyze import tensorboard hparams --sweep hparams --root w
same "each value" hparams 0.01 "two environments"
[ "$(settings hparams "json_extract(config, '$.settings.target_kl') || json_extract(config, '$.settings.anneal') || json_extract(config, '$.settings.lr')")" = "nonetrue0.01" ]
tap_result "settings of each kind" $? "$(settings hparams config | head -2)"
tap_run "tensorboard: settings in the path" 0 "6 runs, 6 of them new" analyze import tensorboard path --path '{env}__{lr}__{seed}' --sweep path --root w
same "each value" path 0.01 "two environments"
tap_run "a pattern that does not match" 2 "is not in" analyze import tensorboard path --path '{env}--{seed}' --sweep v --root w
tap_run "another beginning" 2 "does not match" analyze import tensorboard path --path 'Bee{x}' --sweep v --root w
tap_run "a pattern that ends too early" 2 "continues with" analyze import tensorboard path --path 'Ant-v4__0.01' --sweep v --root w
tap_run "a pattern without an end" 2 "has no }" analyze import tensorboard path --path '{env' --sweep v --root w
tap_run "runs that nothing tells apart are numbered" 0 "6 runs" analyze import tensorboard path --sweep numbered --root w
[ "$(settings numbered seed | tr '\n' ' ')" = "0 1 2 3 4 5 " ]; tap_result "from 0" $?

# ---- tables
tap_run "csv: several runs in one table" 0 "6 runs, 6 of them new" analyze import csv long.csv --by lr,seed,env --sweep long --root w
same "each value" long "0.1 0.01" one
[ "$(settings long "json_extract(config, '$.settings.env')")" = "Ant, v4" ]; tap_result "a quoted field" $?
tap_run "values that are no numbers are reported" 0 "such as 'x'" analyze import csv long.csv --by lr,seed,env --sweep long --root w
tap_run "csv: a run each, its settings in the path" 0 "3 runs, 3 of them new" analyze import csv tables --path 'lr{lr}_s{seed}.csv' --sweep short --root w
same "each value" short 0.1 one
tap_run "an unknown column" 2 "did you mean seed?" analyze import csv long.csv --by seeds --sweep v --root w
printf '1,2\n3,4\n' >numbers.csv; : >empty.csv
tap_run "a table without names" 2 "expected a line of names" analyze import csv numbers.csv --sweep v --root w
tap_run "an empty table" 1 "is empty" analyze import csv empty.csv --sweep v --root w
tap_run "no file" 1 "No such file" analyze import csv absent.csv --sweep v --root w
tap_run "runs of equal settings and seed" 2 "have the same settings and seed" analyze import csv tables --set seed=1 --sweep v --root w
tap_run "a seed that is none" 2 "expected an integer" analyze import csv tables --set seed=x --sweep v --root w
tap_run "a bad --set" 2 "expected NAME=VALUE" analyze import csv tables --set x --sweep v --root w
tap_run "an unknown goal" 2 "the runs have no such metric; did you mean return?" analyze import csv tables --goal 'max returns' --sweep v --root w
tap_run "an unknown step" 2 "did you mean step?" analyze import csv tables --step steps --sweep v --root w
tap_run "an unknown kind" 2 "expected wandb, tensorboard or csv" analyze import mlflow tables --sweep v --root w
tap_run "no sweep" 2 "missing --sweep" analyze import csv tables --root w
tap_run "a name that is a path" 2 "begins with" analyze import csv tables --sweep ../v --root w
[ ! -e w/sweeps/v ]; tap_result "refused imports leave nothing" $?
mkdir odd && printf 'step,return\n1,2\n' >"odd/a \"
\$(touch pwned) "$'\e'"[31m.csv"
tap_run "a hostile name of a file" 0 "1 runs" analyze import csv odd --path '{x}.csv' --sweep odd --root w
tap_check "is shown as one line" "$(LC_ALL=C grep -c $'\e' w/sweeps/odd/sweep.ini w/runs/*/*/config.ini | grep -v ':0$')"
[ ! -e pwned ]; tap_result "runs nothing" $?

# ---- the sweep: read-only, like any other to read
sums >after
cmp -s before after; tap_result "the files are as they were" $?
tap_run "status" 0 "5 finished, 1 failed" sweep status wb --root w
for command in "submit wb" "submit wb --force" "submit wb --failed" "submit wb --seeds 9" "plan wb"; do
  # shellcheck disable=SC2086
  tap_run "$command is refused" 2 "they are read-only" sweep $command --root w
done
tap_run "an import into a sweep of another kind" 2 "was not imported" bash -c "mkdir -p w/sweeps/own && echo '[sweep]' >w/sweeps/own/sweep.ini &&
  analyze import csv tables --path 'lr{lr}_s{seed}.csv' --sweep own --root w"
rm -r w/sweeps/own
count() { sql "SELECT (SELECT count(*) FROM metric) || ' ' || (SELECT count(*) FROM evaluation) || ' ' || (SELECT count(*) FROM sweep_run)"; }
whole=$(count)
tap_run "collect --rebuild" 0 "new rows" sweep collect --rebuild --root w
[ "$(count)" = "$whole" ]; tap_result "finds all of it in the workspace" $? "$whole: $(count)"
tap_run "check: only the run that has failed" 0 "0 damaged, 1 warnings" analyze check w/results.db
tap_run "compare with runs of another sweep" 0 "difference" analyze compare w/results.db lr=0.1 lr=0.01 --sweep long
sweep rm wb --yes --root w >/dev/null 2>&1; [ ! -e w/sweeps/wb ] && [ "$(find wandb -name '*.wandb' | wc -l)" = 6 ]; tap_result "rm removes the copy only" $?
tap_run "--json" 0 '"new": 3' analyze import csv tables --path 'lr{lr}_s{seed}.csv' --sweep again --root w2 --json
tap_run "--help" 0 "Usage:" analyze import --help
tap_done
