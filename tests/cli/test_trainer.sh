#!/usr/bin/env bash
# The trainer's command line: output, errors and exit codes. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$tap_dir"
small=(--set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8 --set ppo.num_steps=16
  --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.episodes=4 --set eval.count=1
  --set train.threads=1 --set train.total_steps=256)

tap_expect "no command shows the overview" 0 'checkpoint' trainer
tap_expect "--help lists options" 0 '--dry-run' trainer --help
tap_expect "--help lists settings" 0 'ppo\.epsilon|epsilon' trainer --help
tap_expect "--version" 0 '^trainer [0-9]+\.' trainer --version
tap_expect "info names the arithmetic" 0 'ops +cpu' trainer info
tap_expect "info --json" 0 '"threads": [1-9]' trainer info --json
tap_expect "config --json" 0 '"name": "ppo.epsilon"' trainer config --json
tap_expect "info takes no operand" 2 'unexpected argument' trainer info now
tap_expect "info takes no unknown option" 2 'did you mean --json' trainer info --jsn
tap_expect "a full disk during --help is reported" 1 'cannot write to standard output' bash -c 'trainer --help >/dev/full'
tap_expect "config --markdown is a table" 0 '^\|' trainer config --markdown
trainer config >defaults.ini
tap_expect "config prints a file that is read back" 0 'iterations' trainer --config defaults.ini --dry-run

tap_expect "unknown option, nearest named" 2 'resume' trainer --resum
tap_expect "unknown command, nearest named" 2 'config' trainer confg
tap_expect "unknown key, nearest named" 2 'ppo\.epsilon' trainer --set ppo.epsilom=0.1
tap_expect "value out of range" 2 'env\.num' trainer --set env.num=0
tap_expect "value of the wrong type" 2 'ppo\.epochs' trainer --set ppo.epochs=many
tap_expect "--set without a value" 2 'set' trainer --set ppo.epochs
tap_expect "minibatches that do not divide" 2 'ppo\.num_minibatches' trainer --set ppo.num_minibatches=7
tap_expect "a file that is not there" 1 'nowhere\.ini' trainer --config nowhere.ini
printf '[ppo]\nepsilom = 1\n' >bad.ini
tap_expect "a bad file is named with line and column" 2 'bad\.ini:2:' trainer --config bad.ini
tap_expect "a stray operand" 2 'ppo\.epochs=3' trainer --set ppo.epochs=2 ppo.epochs=3
tap_expect "--resume with --force" 2 'exclude' trainer --resume --force
tap_expect "cuda without CUDA or a GPU" 2 'built without CUDA|no GPU is available' env CUDA_VISIBLE_DEVICES= trainer "${small[@]}" --set train.device=cuda
tap_expect "levels that are not there" 2 'no-such' trainer "${small[@]}" --set env.task=levels --set env.levels=no-such
tap_expect "a workspace that is no folder" 1 'bad\.ini' trainer "${small[@]}" --root bad.ini
tap_expect "more memory than there is, with numbers and settings" 1 'env\.num' \
  trainer "${small[@]}" --set env.num=4194304 --set ppo.num_steps=512
tap_expect "a checkpoint that is none" 1 'damaged, or not a checkpoint' trainer checkpoint defaults.ini

tap_expect "--dry-run prints sizes and memory" 0 'memory +about' trainer "${small[@]}" --dry-run
tap_expect "--dry-run prints the values of a scaling scheme" 0 'scaling +hybrid, factor 4: env.num 8192, ppo.num_minibatches 64 of 32768' \
  trainer --dry-run --set scale.scheme=hybrid --set scale.factor=4
tap_expect "and names the rate of the learner that is run" 0 '65536 transitions, pqn.learning_rate 0.0005$' trainer --dry-run \
  --set scale.scheme=larger_minibatches_sqrt --set scale.factor=4 --set algo.name=pqn --set env.actions=discrete \
  --set pqn.learning_rate=2.5e-4
tap_expect "a scaling that does not come out whole is refused" 2 'env.num = 2048 times 0.3 is not a whole number' \
  trainer --dry-run --set scale.scheme=more_minibatches --set scale.factor=0.3
tap_expect "--dry-run --json" 0 '"transitions_total": 256' trainer "${small[@]}" --dry-run --json
tap_expect "--json alone" 2 '--json goes with --dry-run' trainer "${small[@]}" --json
tap_check "--dry-run writes nothing" "$(ls | grep runs)"

tap_expect "pqn refuses actions that are not a few" 2 'env.actions = multi_discrete does not provide; set env.actions = discrete' \
  trainer "${small[@]}" --set algo.name=pqn --dry-run
tap_expect "pqn runs to its end" 0 'finished, 2 of 2' trainer "${small[@]}" --set algo.name=pqn --set env.actions=discrete
tap_check "its log has a loss of Q and no critic" "$(awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) { sub(/\[.*/, "", $i); c[$i] = i } }
  NR == 3 && ($c["value_loss"] == "" || $c["kl"] == "" || $c["grad_norm_critic"] != "" || $c["policy_loss"] != "") { print }
  END { if (NR != 4) print NR " lines" }' runs/*/*/stats.1.tsv)"
rm -r runs

sgd=(--set algo.name=noisy_sgd --set train.total_steps=300)
tap_expect "noisy_sgd runs to its end" 0 'finished, 300 of 300 iterations' trainer "${sgd[@]}" --set sgd.learning_rate=0:0.1+100:0.01
log=$(echo runs/*/*/stats.1.tsv)
tap_check "its log holds distance and rate" "$(awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) c[$i] = i }
  NR == 103 && ($c["learning_rate"] != 0.01 || $c["distance"] > 2 || $c["kl[nat]"] != "") { print } END { if (NR != 302) print NR }' "$log")"
tap_expect "noisy_sgd that diverges says so" 1 'learning_rate below 1' trainer "${sgd[@]}" --set sgd.learning_rate=20
tap_expect "a schedule that is none" 2 "sgd.learning_rate: 'x' is not a number" trainer "${sgd[@]}" --set sgd.learning_rate=0:x
tap_expect "noisy_sgd cannot be scaled" 2 'no environments' trainer "${sgd[@]}" --set scale.scheme=hybrid --set scale.factor=2
rm -r runs

tap_expect "KL profiles are written" 0 'finished, 2 of 2' trainer "${small[@]}" --set metrics.profile_every=2
tap_check "one file, a line a minibatch, ending at no KL" "$(cd runs/*/*; ls profile.*.tsv | grep -vx profile.1.tsv
  awk -F'\t' 'NF != 6 { print NR ": " NF " fields" } NR == 2 && $5 != 100 { print "not all of the rollout counts at first: " $5 } END { if (NR != 4 || $2 != 100 || $4 != 0) print }' profile.1.tsv)"
rm -r runs

# ---- going on from another run
long=("${small[@]}" --set algo.name=ppo_ewma --set train.total_steps=512)
tap_expect "a parent" 0 'finished, 2 of 2' trainer "${long[@]}" --set train.total_steps=256
parent=$(basename runs/*/*)
tap_expect "init.from continues with another COM" 0 "starting from $parent@2 .init.restore = all., at iteration 2 of 4" \
  trainer "${long[@]}" --set ppo.com=8 --set "init.from=run:$parent"
child=$(basename -a runs/*/* | grep -v "$parent")
tap_check "its state and log.txt name the parent, its log begins behind it" "$(grep -qx "parent=$parent@2" "runs/${child:0:2}/$child/state" ||
  echo "no parent in state"; grep -q "starting from $parent@2" "runs/${child:0:2}/$child/log.txt" || echo "not in log.txt"
  awk 'NR == 3 && $1 != 3 { print } END { if (NR != 4) print NR " lines" }' "runs/${child:0:2}/$child/stats.1.tsv")"
tap_expect "by path, only the weights" 0 'starting from .*init.restore = weights., at iteration 0 of 2' trainer "${small[@]}" \
  --set "init.from=runs/${parent:0:2}/$parent/ckpt/iteration-000000000002.ckpt" --set init.restore=weights
tap_expect "another shape is refused" 2 'net.width, net.depth' trainer "${long[@]}" --set net.width=8 --set "init.from=run:$parent"
tap_expect "an iteration that was not kept" 2 'has kept no checkpoint of iteration 7' trainer "${long[@]}" --set "init.from=run:$parent@7"
tap_expect "a run that is not there" 2 'no run 0123456789abcdef' trainer "${long[@]}" --set init.from=run:0123456789abcdef
tap_expect "Q values cannot start from an actor" 2 'its algo.name is ppo_ewma, here it is pqn' trainer "${long[@]}" \
  --set algo.name=pqn --set env.actions=discrete --set "init.from=run:$parent"
tap_expect "a run's folder is no checkpoint" 2 'is a directory; name a file in its ckpt/, or the run as run:<id>' \
  trainer "${long[@]}" --set "init.from=runs/${parent:0:2}/$parent"
tap_expect "a parent's id that is cut short is refused with the whole one" 2 "whole id has to stand there: run:$parent@2$" \
  trainer "${long[@]}" --set "init.from=run:${parent:0:6}@2"
tap_expect "init.from that is none" 2 "init.from = run:1234: no run of .* begins with '1234'" trainer "${long[@]}" --set init.from=run:1234 --dry-run
tap_expect "init.from that is no id at all" 2 'expected run:<id>' trainer "${long[@]}" --set init.from=run:xyz --dry-run
rm -r runs

tap_expect "a run finishes with a summary" 0 'finished, 2 of 2 iterations' trainer "${small[@]}"
run=$(echo runs/*/*)
tap_check "its folder holds config, state, logs and a checkpoint" "$(for f in config.ini state stats.1.tsv eval.1.tsv log.txt \
  ckpt/iteration-000000000002.ckpt; do [ -s "$run/$f" ] || echo "no $f"; done)"
id=${run##*/}
tap_expect "checkpoint takes a run's first digits" 0 'iteration  2' trainer checkpoint "${id:0:5}"
tap_expect "and its folder" 0 'iteration  2' trainer checkpoint "$run/"
tap_expect "checkpoint of a run that is none" 2 "'zzz' is not a run of $tap_dir" trainer checkpoint zzz
tap_expect "a checkpoint that is not there" 2 'no checkpoint runs/x.ckpt' trainer checkpoint runs/x.ckpt
tap_expect "checkpoint --json" 0 '"iteration": 2' trainer checkpoint --json "$run"/ckpt/iteration-000000000002.ckpt
tap_check "one episode a level has no standard error" "$(grep -o 'evaluation after.*' "$run/log.txt" | grep -v 'solve rate [0-9.]*, return')"
tap_check "config.ini gives the same run" "$(trainer --config "$run/config.ini" 2>&1 | grep -q 'already finished' || echo "not recognized"
  [ "$(ls runs | wc -l)" -eq 1 ] || ls runs)"
tap_expect "a finished run says so" 0 'already finished' trainer "${small[@]}"
tap_expect "and says so with --resume" 0 'already finished' trainer "${small[@]}" --resume
tap_expect "--force runs it again" 0 'finished, 2 of 2' trainer "${small[@]}" --force
tap_check "as a second attempt" "$([ -s "$run/stats.2.tsv" ] || ls "$run")"
tap_check "--quiet prints nothing" "$(trainer "${small[@]}" --set train.seed=5 --quiet 2>&1)"
mkdir -p other
tap_check "\$SWEEP_ROOT names the workspace" "$(SWEEP_ROOT=$tap_dir/other trainer "${small[@]}" --quiet; [ -d other/runs ] || ls other)"
tap_check "execution settings do not change the run id" "$(trainer "${small[@]}" --set checkpoint.every=1 --quiet; ls runs | sed 1,2d)"
rm -r runs other

tap_expect "--dry-run lists the evaluation sets" 0 'as often on +random_s/3' trainer "${small[@]}" --set eval.levels=random_s/3 --dry-run
tap_expect "evaluations on other levels" 0 'finished, 2 of 2' trainer "${small[@]}" --set eval.levels=random_s/3+chain
tap_check "have rows of their own" "$(awk -F'\t' '$1 ~ /^[0-9]+$/ { n[$2]++ } END { for (k in n) print k, n[k] }' runs/*/*/eval.1.tsv |
  sort | tr '\n' ' ' | grep -vx 'chain 2 random_s/3 2 train 2 ')"
tap_expect "discrete actions" 0 'finished, 2 of 2' trainer "${small[@]}" --set env.actions=discrete
tap_expect "a new level each episode" 0 'finished, 2 of 2' trainer "${small[@]}" --set env.task=random_s --set env.reset=new
tap_expect "without a generator there are none" 2 'set env.task to random_s' trainer "${small[@]}" --set env.reset=new
run=$(basename "$(grep -l 'actions = discrete' runs/*/*/config.ini | xargs dirname)")
tap_expect "a discrete policy plays" 0 'car|step|solved' trainer play --checkpoint "$run" --level 2 -o play.svg
tap_done
