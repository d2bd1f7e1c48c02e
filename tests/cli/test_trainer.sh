#!/usr/bin/env bash
# The trainer's command line: what it prints, what it refuses, with which exit code. TAP.
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/trainer-cli.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
n=0 bad=0
check() { # name, problems (empty = good)
  n=$((n + 1))
  if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; sed 's/^/#   /' <<<"$2"; fi
}
expect() { # name, exit code, pattern in stdout+stderr, command...
  local name=$1 code=$2 pattern=$3 out rc; shift 3
  out=$("$@" 2>&1 </dev/null); rc=$?
  check "$name" "$([ $rc -eq "$code" ] || echo "exit $rc instead of $code"
    grep -qE -- "$pattern" <<<"$out" || { echo "no /$pattern/ in:"; head -5 <<<"$out"; })"
}
small=(--set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8 --set ppo.num_steps=16
  --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.episodes=4 --set eval.count=1
  --set train.threads=1 --set train.total_steps=256)

expect "no command shows the overview" 0 'checkpoint' trainer
expect "--help lists options" 0 '--dry-run' trainer --help
expect "--help lists settings" 0 'ppo\.epsilon|epsilon' trainer --help
expect "--version" 0 '^trainer [0-9]+\.' trainer --version
expect "info names the arithmetic" 0 'ops +cpu' trainer info
expect "config --markdown is a table" 0 '^\|' trainer config --markdown
trainer config >defaults.ini
expect "config prints a file that is read back" 0 'iterations' trainer --config defaults.ini --dry-run

expect "unknown option, nearest named" 2 'resume' trainer --resum
expect "unknown command, nearest named" 2 'config' trainer confg
expect "unknown key, nearest named" 2 'ppo\.epsilon' trainer --set ppo.epsilom=0.1
expect "value out of range" 2 'env\.num' trainer --set env.num=0
expect "value of the wrong type" 2 'ppo\.epochs' trainer --set ppo.epochs=many
expect "--set without a value" 2 'set' trainer --set ppo.epochs
expect "minibatches that do not divide" 2 'ppo\.num_minibatches' trainer --set ppo.num_minibatches=7
expect "a file that is not there" 1 'nowhere\.ini' trainer --config nowhere.ini
printf '[ppo]\nepsilom = 1\n' >bad.ini
expect "a bad file is named with line and column" 2 'bad\.ini:2:' trainer --config bad.ini
expect "a stray operand" 2 'ppo\.epochs=3' trainer --set ppo.epochs=2 ppo.epochs=3
expect "--resume with --force" 2 'exclude' trainer --resume --force
expect "cuda in a build without it" 2 'built without CUDA' trainer "${small[@]}" --set train.device=cuda
expect "levels that are not there" 2 'no-such' trainer "${small[@]}" --set env.task=levels --set env.levels=no-such
expect "a workspace that is no folder" 1 'bad\.ini' trainer "${small[@]}" --root bad.ini
expect "more memory than there is, with numbers and settings" 1 'env\.num' \
  trainer "${small[@]}" --set env.num=4194304 --set ppo.num_steps=512
expect "a checkpoint that is none" 1 'damaged, or no checkpoint' trainer checkpoint defaults.ini

expect "--dry-run tells sizes and memory" 0 'memory +about' trainer "${small[@]}" --dry-run
expect "--dry-run tells what a scaling scheme comes to" 0 'scaling +hybrid, factor 4: env.num 8192, ppo.num_minibatches 64 of 32768' \
  trainer --dry-run --set scale.scheme=hybrid --set scale.factor=4
expect "a scaling that does not come out whole is refused" 2 'env.num = 2048 times 0.3 is no whole number' \
  trainer --dry-run --set scale.scheme=more_minibatches --set scale.factor=0.3
check "--dry-run writes nothing" "$(ls | grep runs)"

expect "pqn refuses actions that are not a few" 2 'env.actions = multi_discrete has not; set env.actions = discrete' \
  trainer "${small[@]}" --set algo.name=pqn --dry-run
expect "pqn runs to its end" 0 'finished, 2 of 2' trainer "${small[@]}" --set algo.name=pqn --set env.actions=discrete
check "its log has a loss of Q and no critic" "$(awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) { sub(/\[.*/, "", $i); c[$i] = i } }
  NR == 3 && ($c["value_loss"] == "" || $c["kl"] == "" || $c["grad_norm_critic"] != "" || $c["policy_loss"] != "") { print }
  END { if (NR != 4) print NR " lines" }' runs/*/stats.1.tsv)"
rm -r runs

sgd=(--set algo.name=noisy_sgd --set train.total_steps=300)
expect "noisy_sgd runs to its end" 0 'finished, 300 of 300 iterations' trainer "${sgd[@]}" --set sgd.learning_rate=0:0.1+100:0.01
log=$(echo runs/*/stats.1.tsv)
check "its log holds distance and rate" "$(awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) c[$i] = i }
  NR == 103 && ($c["learning_rate"] != 0.01 || $c["distance"] > 2 || $c["kl[nat]"] != "") { print } END { if (NR != 302) print NR }' "$log")"
expect "noisy_sgd that diverges says so" 1 'converges below 1' trainer "${sgd[@]}" --set sgd.learning_rate=20
expect "a schedule that is none" 2 "sgd.learning_rate: 'x' is no number" trainer "${sgd[@]}" --set sgd.learning_rate=0:x
expect "noisy_sgd can not be scaled" 2 'no environments' trainer "${sgd[@]}" --set scale.scheme=hybrid --set scale.factor=2
rm -r runs

expect "KL profiles are written" 0 'finished, 2 of 2' trainer "${small[@]}" --set metrics.profile_every=2
check "one file, a line a minibatch, ending at no KL" "$(cd runs/*; ls profile.*.tsv | grep -vx profile.1.tsv
  awk -F'\t' 'NF != 4 { print NR ": " NF " fields" } END { if (NR != 4 || $2 != 100 || $4 != 0) print }' profile.1.tsv)"
rm -r runs

# ---- going on from another run
long=("${small[@]}" --set algo.name=ppo_ewma --set train.total_steps=512)
expect "a parent" 0 'finished, 2 of 2' trainer "${long[@]}" --set train.total_steps=256
parent=$(basename runs/*)
expect "init.from goes on with another COM" 0 "starting from $parent@2 .init.restore = all., at iteration 2 of 4" \
  trainer "${long[@]}" --set ppo.com=8 --set "init.from=run:$parent"
child=$(ls runs | grep -v "$parent")
check "its state and log.txt name the parent, its log begins behind it" "$(grep -qx "parent=$parent@2" "runs/$child/state" ||
  echo "no parent in state"; grep -q "starting from $parent@2" "runs/$child/log.txt" || echo "not in log.txt"
  awk 'NR == 3 && $1 != 3 { print } END { if (NR != 4) print NR " lines" }' "runs/$child/stats.1.tsv")"
expect "by path, only the weights" 0 'starting from .*init.restore = weights., at iteration 0 of 2' trainer "${small[@]}" \
  --set "init.from=runs/$parent/ckpt/iteration-000000000002.ckpt" --set init.restore=weights
expect "another shape is refused" 2 'net.width, net.depth' trainer "${long[@]}" --set net.width=8 --set "init.from=run:$parent"
expect "an iteration that was not kept" 2 'has kept no checkpoint of iteration 7' trainer "${long[@]}" --set "init.from=run:$parent@7"
expect "a run that is not there" 2 'no run 0123456789abcdef' trainer "${long[@]}" --set init.from=run:0123456789abcdef
expect "Q values can not start from an actor" 2 'its algo.name is ppo_ewma, here it is pqn' trainer "${long[@]}" \
  --set algo.name=pqn --set env.actions=discrete --set "init.from=run:$parent"
expect "init.from that is none" 2 'write run:<id>' trainer "${long[@]}" --set init.from=run:1234 --dry-run
rm -r runs

expect "a run finishes with a summary" 0 'finished, 2 of 2 iterations' trainer "${small[@]}"
run=$(echo runs/*)
check "its folder holds config, state, logs and a checkpoint" "$(for f in config.ini state stats.1.tsv eval.1.tsv log.txt \
  ckpt/iteration-000000000002.ckpt; do [ -s "$run/$f" ] || echo "no $f"; done)"
check "config.ini gives the same run" "$(trainer --config "$run/config.ini" 2>&1 | grep -q 'finished already' || echo "not recognised"
  [ "$(ls runs | wc -l)" -eq 1 ] || ls runs)"
expect "a finished run says so" 0 'is finished already' trainer "${small[@]}"
expect "and says so with --resume" 0 'is finished already' trainer "${small[@]}" --resume
expect "--force runs it again" 0 'finished, 2 of 2' trainer "${small[@]}" --force
check "as a second attempt" "$([ -s "$run/stats.2.tsv" ] || ls "$run")"
check "--quiet prints nothing" "$(trainer "${small[@]}" --set train.seed=5 --quiet 2>&1)"
mkdir -p other
check "\$SWEEP_ROOT names the workspace" "$(SWEEP_ROOT=$work/other trainer "${small[@]}" --quiet; [ -d other/runs ] || ls other)"
check "settings that are only manner do not change the run" "$(trainer "${small[@]}" --set checkpoint.every=1 --quiet; ls runs | sed 1,2d)"
rm -r runs other

expect "--dry-run tells on what else is evaluated" 0 'as often on +random_s/3' trainer "${small[@]}" --set eval.levels=random_s/3 --dry-run
expect "evaluations on other levels" 0 'finished, 2 of 2' trainer "${small[@]}" --set eval.levels=random_s/3+chain
check "have rows of their own" "$(awk -F'\t' '$1 ~ /^[0-9]+$/ { n[$2]++ } END { for (k in n) print k, n[k] }' runs/*/eval.1.tsv |
  sort | tr '\n' ' ' | grep -vx 'chain 2 random_s/3 2 train 2 ')"
expect "discrete actions" 0 'finished, 2 of 2' trainer "${small[@]}" --set env.actions=discrete
expect "a new level each episode" 0 'finished, 2 of 2' trainer "${small[@]}" --set env.task=random_s --set env.reset=new
expect "without a generator there are none" 2 'use random_s' trainer "${small[@]}" --set env.reset=new
run=$(basename "$(grep -l 'actions = discrete' runs/*/config.ini | xargs dirname)")
expect "a discrete policy plays" 0 'car|step|solved' trainer play --checkpoint "$run" --level 2 -o play.svg
echo "1..$n"
exit $bad
