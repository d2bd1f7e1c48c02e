#!/usr/bin/env bash
# Runs of several ranks on this machine: they learn the same as one process, up to the order of sums or bit for bit;
# they all end when one does; and a checkpoint does not depend on the number of ranks. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
. "$(dirname "$0")/../fault/pace.sh"
. "$(dirname "$0")/launch.sh"
begin ranks 960 metrics.profile_every=2 metrics.noise_every=2
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status"; } # or only not yet buried
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b) }'; }
# Columns of two logs that differ by more than a part in 10^k of each other, clocks and checksums left out.
compare_logs() { # file file limit
  paste -d '\n' "$1" "$2" | awk -F'\t' -v limit="$3" '
    /^#/ { next }
    NR <= 4 { for (i = 1; i <= NF; i++) { name[i] = $i; drop[i] = $i ~ /seconds|crc32|steps_per/ } next }
    NR % 2 { split($0, a, "\t"); next }
    { for (i = 1; i <= NF; i++) { d = a[i] - $i; if (d < 0) d = -d; m = $i < 0 ? -$i : $i
        if (!drop[i] && (a[i] == "") + ($i == "") == 1) print "line " NR / 2 ": " name[i] " is empty in one"
        if (!drop[i] && d > limit * (m + 1e-3)) print "line " NR / 2 ": " name[i] " " a[i] " and " $i } }' | head -5
}

for ranks in 2 4; do
  out=$(mpirun -n $ranks "$tests/ranks_exchange" 2>&1); rc=$?
  tap_result "what $ranks ranks tell each other ($(grep -c '^ok' <<<"$out") checks)" \
    $(( rc != 0 || $(grep -c '^ok' <<<"$out") < 16 )) "$(grep -v '^ok' <<<"$out")"
done

train 1 one >/dev/null; rc=$?
tap_result "one process, for comparison" $rc
for ranks in 2 3 4; do
  train $ranks "r$ranks" >out 2>&1; rc=$?
  difference=$("$tests/ranks_difference" "$(newest one)" "$(newest "r$ranks")")
  below "${difference:-1}" 1e-5
  tap_result "$ranks ranks: the weights after 5 iterations are $difference from those of one process" $(( $? + rc )) "$(tail -5 out)"
  problems=$(compare_logs "$(folder one)/stats.1.tsv" "$(folder "r$ranks")/stats.1.tsv" 1e-3
    [ "$(wc -l <"$(folder "r$ranks")/stats.1.tsv")" -eq 7 ] || echo "not 5 rows"
    compare_logs "$(folder one)/eval.1.tsv" "$(folder "r$ranks")/eval.1.tsv" 1e-3
    compare_logs "$(folder one)/profile.3.tsv" "$(folder "r$ranks")/profile.3.tsv" 1e-2)
  tap_result "$ranks ranks: and so are statistics, evaluations and the profile" "$([ -z "$problems" ]; echo $?)" "$problems"
done
tap_result "the log names ranks and hosts" "$(grep -q 'rank 3 of 4 on .* (process' "$(folder r4)/log.txt"; echo $?)"
tap_result "only one of them wrote" "$([ "$(ls "$(folder r4)" | grep -c stats)" -eq 1 ] &&
  [ "$(grep -c 'attempt 1' "$(folder r4)/log.txt")" -eq 1 ]; echo $?)" "$(ls "$(folder r4)"; cat "$(folder r4)/log.txt")"

for by in transitions environments; do
  for ranks in 1 2 3 4; do
    if [ $ranks = 2 ] && [ $by = environments ]; then continue; fi
    train $ranks "d$by$ranks" --set comm.deterministic=yes --set ppo.minibatch_by=$by --set ppo.normalize_advantage=minibatch \
      >out 2>&1 || cat out
    contents "d$by$ranks" >"$by.$ranks"
  done
  tap_result "comm.deterministic: every bit of a checkpoint is the same for 1 to 4 ranks, minibatches by $by" \
    "$(problem=0; for other in "$by".*; do cmp -s $by.1 "$other" || problem=1; done; echo $problem)" "$(diff $by.1 $by.4)"
done
# Minibatches of blocks hold equally many rows of each rank; slices do not, and give the same bits, too.
for shuffle in blocks none; do
  for ranks in 1 2 4; do
    train $ranks "s$shuffle$ranks" --set comm.deterministic=yes --set ppo.minibatch_by=environments --set ppo.shuffle=$shuffle \
      >out 2>&1 || cat out
    contents "s$shuffle$ranks" >"s$shuffle.$ranks"
  done
  tap_result "comm.deterministic: every bit of a checkpoint is the same for 1 to 4 ranks, ppo.shuffle = $shuffle" \
    "$(problem=0; for other in "s$shuffle".*; do cmp -s s$shuffle.1 "$other" || problem=1; done; echo $problem)"
done
# Policies with memory: sequences of shards, states that follow their worlds; a common memory, then one a network.
memory=(--set comm.deterministic=yes --set net.memory=lstm --set net.memory_width=8 --set ppo.sequence_length=8)
for ranks in 1 2 3; do
  train $ranks "memory$ranks" "${memory[@]}" --set net.sharing=shared >out 2>&1 || cat out
  train $ranks "leads$ranks" "${memory[@]}" --set algo.name=sapg --set sapg.blocks=3 --set env.actions=continuous \
    --set sapg.sequence_length=8 --set net.sharing=joint >out 2>&1 || cat out
  for what in memory leads; do contents "$what$ranks" >"$what.$ranks"; done
done
for what in memory leads; do
  tap_result "comm.deterministic: and of recurrent policies ($what), for 1 to 3 ranks" \
    "$([ -s $what.1 ] && cmp -s $what.1 $what.2 && cmp -s $what.1 $what.3; echo $?)" "$(diff $what.1 $what.3)"
done
for ranks in 1 3; do
  train $ranks "t$ranks" --set comm.deterministic=yes --set ppo.learning_rate=3e-3 --set ppo.ddr_target=3e4 >out 2>&1 || cat out
  contents "t$ranks" >"target.$ranks"
done
cmp -s target.1 target.3 && ! cmp -s target.1 transitions.1
tap_result "a COM or epsilon that holds a DDR moves alike on 1 and 3 ranks" $? "$(diff target.1 target.3)"
for ranks in 1 3; do
  train $ranks "p$ranks" --set comm.deterministic=yes --set ppo.learning_rate=3e-3 --set ppo.kl_penalty=1 --set ppo.epsilon=inf \
    --set ppo.kl_penalty_form=exact --set ppo.kl_penalty_target=0.01 --set ppo.target_kl=0.02 --set ppo.target_kl_check=minibatch \
    --set ppo.weight_decay=0.1 >out 2>&1 || cat out
  contents "p$ranks" >"penalty.$ranks"
done
cmp -s penalty.1 penalty.3 && grep -q 'section *kl penalty' penalty.1
tap_result "a KL penalty that follows the KL, and epochs that it ends, are alike on 1 and 3 ranks" $? "$(diff penalty.1 penalty.3)"
# The first rank decides how bf16 products are computed: the others' settings do not matter.
bf16=(--config small.ini --quiet --set comm.deterministic=yes --set train.precision=bf16)
TRAINER_BF16=rounded train 1 bf16.1 "${bf16[@]}" >out 2>&1 || cat out
mkdir -p bf16.2
timeout 300 mpirun -n 1 env TRAINER_BF16=rounded trainer "${bf16[@]}" --root bf16.2 : -n 1 env TRAINER_BF16= trainer "${bf16[@]}" \
  --root bf16.2 >>out 2>&1 || cat out
for ranks in 1 2; do contents bf16.$ranks >bf16.$ranks.sections; done
tap_result "bf16: the first rank chooses for all" \
  "$([ -s bf16.1.sections ] && grep -q 'section *bf16' bf16.1.sections && cmp -s bf16.1.sections bf16.2.sections; echo $?)" \
  "$(diff bf16.1.sections bf16.2.sections; cat out)"
tap_check "bf16: the log names the choice" "$(grep -q 'bf16 products: .*x16 by rounded factors.*TRAINER_BF16 chose' \
  "$(folder bf16.2)/log.txt" || cat "$(folder bf16.2)/log.txt")"
train 3 bf16.3 --set train.precision=bf16 >out 2>&1; rc=$?
tap_result "bf16: ranks that measure agree on every weight" $rc "$(cat out)"

# Running statistics, a common trunk, real-valued actions with sampled entropies.
others=(--set comm.deterministic=yes --set env.normalize_observations=cleanrl --set env.normalize_rewards=ppo_ewma
  --set net.sharing=shared --set env.actions=continuous --set net.action_head=tanh_affine)
for ranks in 1 3; do train $ranks "other$ranks" "${others[@]}" >out 2>&1 || cat out; contents "other$ranks" >other.$ranks; done
tap_result "the same with running statistics, a common trunk and real-valued actions" \
  "$([ -s other.1 ] && cmp -s other.1 other.3; echo $?)" "$(diff other.1 other.3; cat out)"
each=("${others[@]}" --set env.normalize_observations=cleanrl_each --set env.normalize_rewards=cleanrl_each --set eval.actions=mean)
for ranks in 1 3; do train $ranks "each$ranks" "${each[@]}" >out 2>&1 || cat out; contents "each$ranks" >each.$ranks; done
tap_result "with each world's own statistics" \
  "$([ -s each.1 ] && cmp -s each.1 each.3 && cmp -s <(grep -v '^#' "$(folder each1)/eval.1.tsv") <(grep -v '^#' "$(folder each3)/eval.1.tsv"); echo $?)" \
  "$(diff each.1 each.3; cat out)"
q=(--set comm.deterministic=yes --set algo.name=pqn --set env.actions=discrete --set ppo.minibatch_by=transitions)
for ranks in 1 3; do train $ranks "q$ranks" "${q[@]}" >out 2>&1 || cat out; contents "q$ranks" >q.$ranks; done
tap_result "and with Q values" "$([ -s q.1 ] && cmp -s q.1 q.3; echo $?)" "$(diff q.1 q.3; cat out)"
g=(--set comm.deterministic=yes --set env.actions=continuous --set ppo.lr_schedule=kl --set ppo.bounds_coef=1e-2
  --set ppo.normalize_value=yes)
for ranks in 1 3; do train $ranks "g$ranks" "${g[@]}" >out 2>&1 || cat out; contents "g$ranks" >g.$ranks; done
tap_result "and with rl_games' learning rate, bounds and values" "$([ -s g.1 ] && cmp -s g.1 g.3; echo $?)" "$(diff g.1 g.3; cat out)"
# A curriculum, whose searches of 25 levels and whose new levels do not divide evenly; and blocks of worlds that are not the
# ranks', the leader learning from both followers.
sfl=(--set env.task=random_s --set env.curriculum=sfl --set env.level_count=6 --set env.max_steps=16 --set sfl.batch_size=25
  --set sfl.num_batches=2 --set sfl.rollout_steps=32 --set sfl.buffer_size=8 --set sfl.period=2 --set sfl.sampled_ratio=0.4)
sapg=(--set algo.name=sapg --set env.actions=continuous --set sapg.blocks=3 --set sapg.off_policy_ratio=2 --set net.sharing=joint
  --set env.normalize_observations=rl_games --set sapg.entropy_scale=0.005)
for learner in sfl sapg; do
  declare -n settings=$learner
  train 1 "$learner.1" "${settings[@]}" >out 2>&1 || cat out
  for ranks in 2 3 4; do
    train $ranks "$learner.$ranks" "${settings[@]}" >out 2>&1; rc=$?
    difference=$("$tests/ranks_difference" "$(newest "$learner.1")" "$(newest "$learner.$ranks")")
    below "${difference:-1}" 1e-5
    tap_result "$learner, $ranks ranks: the weights after 5 iterations are $difference from those of one process" $(( $? + rc )) \
      "$(tail -5 out)"
    problems=$(for log in stats.1 eval.1 profile.3; do
      compare_logs "$(folder "$learner.1")/$log.tsv" "$(folder "$learner.$ranks")/$log.tsv" 1e-2; done)
    tap_check "$learner, $ranks ranks: and so are statistics, evaluations and the profile" "$problems"
  done
  for ranks in 1 2 3 4; do
    train $ranks "$learner.d$ranks" "${settings[@]}" --set comm.deterministic=yes --set sapg.clip=paper >out 2>&1 || cat out
    contents "$learner.d$ranks" >"$learner.bits.$ranks"
  done
  tap_result "$learner: with comm.deterministic every bit of a checkpoint is the same for 1 to 4 ranks" \
    "$(problem=0; [ -s $learner.bits.1 ] || problem=1; for other in $learner.bits.*; do
      cmp -s $learner.bits.1 "$other" || problem=1; done; echo $problem)" "$(diff $learner.bits.1 $learner.bits.4)"
  endless=("${settings[@]}" --set train.total_steps=1e9 --set checkpoint.every=0 --set eval.count=0)
  launch 3 "dead.$learner" "${endless[@]}"
  kill -9 "$(process_of 1 "dead.$learner")"
  ends $pid; rc=$?
  tap_result "$learner: a killed rank ends the run" \
    "$([ $rc -ne 0 ] && [ "$(state "dead.$learner" status)" = failed ] &&
      state "dead.$learner" message | grep -q "rank 1 of 3 on .* ended without notice: killed"; echo $?)" \
    "exit $rc, $(state "dead.$learner" status): $(state "dead.$learner" message); $(cat out)"
  launch 1 "dead.$learner" "${endless[@]}" --resume
  kill -TERM $pid; wait $pid; rc=$?
  tap_result "$learner: and continues with one process" \
    "$([ $rc -eq 75 ] && grep -q "continuing after iteration" "$(folder "dead.$learner")/log.txt"; echo $?)" "exit $rc: $(cat out)"
done
tap_check "the search's results are in the log, whole" "$(awk -F'\t' 'NR == 2 { for (i = 1; i <= NF; i++) c[$i] = i }
  NR == 3 && $c["search_solve_rate"] == "" { print "no search" }' "$(folder sfl.4)/stats.1.tsv")"
train 4 few --set eval.episodes=2 >out 2>&1; rc=$?
train 1 few1 --set eval.episodes=2
tap_check "more ranks than attempts of an evaluation: some play none" "$([ $rc -eq 0 ] || tail -3 out
  compare_logs "$(folder few1)/eval.1.tsv" "$(folder few)/eval.1.tsv" 1e-3)"
train 4 little "${sfl[@]}" --set sfl.batch_size=3 --set sfl.buffer_size=2 >out 2>&1; rc=$?
tap_check "more ranks than levels of a search's batch" "$([ $rc -eq 0 ] || tail -3 out)"
tap_result "comm.shards chooses other bits" "$(train 1 shards --set comm.deterministic=yes --set comm.shards=3 \
  --set ppo.minibatch_by=transitions --set ppo.normalize_advantage=minibatch; contents shards >shards.1; cmp -s shards.1 transitions.1
  [ $? -eq 1 ]; echo $?)"

# From a checkpoint of 2 ranks, stopped by a signal to the second of them, on with 3 and with 1, against no stop at all.
saved=(--set comm.deterministic=yes --set checkpoint.every=0)
train 1 whole "${saved[@]}"
hold
launch 2 moved "${saved[@]}"
kill -USR1 "$(process_of 1 moved)" # it waits for the first rank, which is held
fast
wait $pid; rc=$?
tap_result "a signal to another rank stops all after the same iteration, with exit code 75" \
  "$([ $rc -eq 75 ] && [ "$(state moved status)" = stopped ] && grep -q 'stopped by signal 10' "$(folder moved)/log.txt"; echo $?)" \
  "exit $rc, $(state moved status): $(cat out)"
cp -r moved moved1
train 3 moved "${saved[@]}" --resume >out 2>&1; rc=$?
tap_result "3 ranks go on from the checkpoint of 2, to the bits of a run that never stopped" \
  "$([ $rc -eq 0 ] && cmp -s <(contents whole) <(contents moved); echo $?)" "exit $rc: $(tail -5 out; diff <(contents whole) <(contents moved))"
train 1 moved1 "${saved[@]}" --resume; rc=$?
tap_result "and so does one process" "$([ $rc -eq 0 ] && cmp -s <(contents whole) <(contents moved1); echo $?)" "exit $rc"
parent=$(basename "$(folder r2)")
train 3 r2 --set "init.from=run:$parent" --set train.total_steps=1920 --set ppo.com=3 >out 2>&1; rc=$?
tap_result "init.from takes a checkpoint of 2 ranks over to 3" "$rc" "$(cat out)"

# Deaths. The launcher ends the others, too; the run's directory must name the rank and the reason.
for victim in 1 2; do
  launch 3 "dead$victim" --set train.total_steps=1e9 --set checkpoint.every=0
  kill -9 "$(process_of $victim "dead$victim")"
  ends $pid; rc=$?
  pattern="rank $victim of 3 on .* (process [0-9]*) ended without notice: killed"
  tap_result "rank $victim killed: the run ends, its state and log name rank and reason" \
    "$([ $rc -ne 0 ] && [ "$(state dead$victim status)" = failed ] &&
      grep -q "$pattern" "$(folder dead$victim)/log.txt" && state dead$victim message | grep -q "$pattern"; echo $?)" \
    "exit $rc, $(state dead$victim status): $(state dead$victim message); $(cat out)"
  trainer checkpoint "$(newest dead$victim)" >out 2>&1
  tap_result "and its last checkpoint is good" $? "$(cat out)"
done
launch 2 dead0 --set train.total_steps=1e9 --set checkpoint.every=0
other=$(process_of 1 dead0)
kill -9 "$(process_of 0 dead0)"
ends $pid; rc=$?
tap_result "the first rank killed: the others end too" "$([ $rc -ne 0 ] && tap_wait 60 gone "$other"; echo $?)" "exit $rc: $(cat out)"
out=$(timeout 300 mpirun -n 3 "$tests/ranks_exchange" die 2 11 2>&1); rc=$?
tap_result "a rank that crashes says which signal it was" \
  "$([ $rc -ne 0 ] && grep -q 'rank 2 of 3 on .* ended by signal 11 (Segmentation fault)' <<<"$out"; echo $?)" "exit $rc: $out"

tap_run "ranks that do not divide env.num" 2 "env.num = 12: not divisible by 5 ranks; set env.num to 15" \
  mpirun -n 5 trainer --config small.ini --root one --dry-run
tap_run "shards that the ranks do not divide" 2 "4 shards are not divisible by 3 ranks; set comm.shards" \
  mpirun -n 3 trainer --config small.ini --root one --dry-run --set comm.deterministic=yes --set comm.shards=4
tap_run "minibatches that do not divide, with several ranks" 2 "ppo.num_minibatches = 7" \
  mpirun -n 2 trainer --config small.ini --root one --dry-run --set ppo.num_minibatches=7
tap_run "noisy_sgd has nothing to divide" 2 "no environments to divide over 2 ranks" \
  mpirun -n 2 trainer --set algo.name=noisy_sgd --root one --dry-run
tap_run "a plan prints the ranks" 0 "ranks          3" mpirun -n 3 trainer --config small.ini --dry-run
tap_run "a run that diverges does so at all ranks, and says where" 1 "diverged in iteration" mpirun -n 2 trainer --config small.ini \
  --root r3 --quiet --set ppo.learning_rate=10 --set ppo.max_grad_norm=inf --set net.activation=relu --set net.depth=12 \
  --set eval.count=0 --set algo.name=ppo
tap_run "tasks that MPI does not see" 2 "2 tasks were started but MPI sees 1" env SLURM_STEP_NUM_TASKS=2 \
  trainer --config small.ini --root one --dry-run
tap_run "one task of a launcher is a plain process" 0 "threads" mpirun -n 1 trainer --config small.ini --dry-run
tap_done
