#!/usr/bin/env bash
# Ranks with one emulated device each, with queued updates: they learn the same as ranks on CPUs and as one device, up
# to the order of sums, and bit for bit with comm.deterministic; a rank that dies ends the others; too few GPUs for the
# ranks are an error. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
. "$(dirname "$0")/../fault/pace.sh"
. "$(dirname "$0")/launch.sh"
begin "ranks with devices" 576 train.device=cuda
export CORE_DEVICE=emulated
unjudged=(--set eval.count=0) # on an emulated device evaluations take most of the time; some runs below do have them
near() { # what root root limit
  local difference; difference=$("$tests/ranks_difference" "$(newest "$2")" "$(newest "$3")")
  tap_result "$1: weights $difference apart after 3 iterations" \
    "$(awk -v a="${difference:-1}" -v b="$4" 'BEGIN { exit !(a + 0 < b) }'; echo $?)" "$(tail -5 out)"
}

for way in "2 mpi 10" "3 auto 12"; do # MPI on copies; in the device's streams, as NCCL does
  set -- $way
  out=$(mpirun -n $1 "$tests/ranks_devices" $2 2>&1); rc=$?
  tap_result "what $1 ranks' devices tell each other, comm.library = $2 ($(grep -c '^ok' <<<"$out") checks)" \
    $(( rc != 0 || $(grep -c '^ok' <<<"$out") < $3 )) "$(grep -v '^ok' <<<"$out")"
done
out=$(mpirun -n 2 "$tests/ranks_queue" 2>&1); rc=$?
tap_result "2 ranks' minibatches are queued together with communication" \
  $(( rc != 0 || $(grep -c '^ok' <<<"$out") < 3 )) "$out"

train 1 one >out 2>&1
train 2 cpu --set train.device=cpu >out 2>&1
train 2 two >out 2>&1
train 3 three "${unjudged[@]}" --set comm.bucket_kb=1 >out 2>&1 # a bucket a layer
near "2 ranks with devices and 2 on CPUs" cpu two 1e-5
train 2 hosts --set comm.library=mpi >out 2>&1
tap_result "2 ranks whose hosts decide each step: identical bits" \
  "$([ -s "$(newest hosts)" ] && cmp -s <(contents two) <(contents hosts); echo $?)" \
  "$(diff <(contents two) <(contents hosts))"
near "2 ranks with devices and one" one two 1e-5
near "3 ranks, each layer's gradient sent by itself, and one" one three 1e-5
# A common trunk, whose gradient is complete last; layer norm; Gaussians, whose deviations follow the layers in the vector.
trunk=("${unjudged[@]}" --set net.sharing=shared --set net.norm=layer --set env.actions=continuous --set comm.bucket_kb=1)
train 1 trunk1 "${trunk[@]}" >out 2>&1
train 3 trunk3 "${trunk[@]}" >out 2>&1
near "the same with a common trunk, layer norm and real-valued actions" trunk1 trunk3 1e-5
# 12 worlds in minibatches of whole worlds: some ranks have no row of some minibatch.
worlds=("${unjudged[@]}" --set ppo.minibatch_by=environments --set ppo.num_minibatches=6)
train 1 worlds1 "${worlds[@]}" >out 2>&1
train 4 worlds4 "${worlds[@]}" >out 2>&1
near "4 ranks, of which some have no row of a minibatch" worlds1 worlds4 1e-5

for ranks in 1 2 3; do
  train $ranks "d$ranks" --set comm.deterministic=yes --set ppo.normalize_advantage=minibatch >out 2>&1 || cat out
  contents "d$ranks" >"bits.$ranks"
done
tap_result "comm.deterministic: every bit of a checkpoint is the same for 1 to 3 devices" \
  "$([ -s bits.1 ] && cmp -s bits.1 bits.2 && cmp -s bits.1 bits.3; echo $?)" "$(diff bits.1 bits.3)"
q=(--set comm.deterministic=yes --set algo.name=pqn --set env.actions=discrete --set ppo.minibatch_by=transitions
  --set train.observation_storage=state)
for ranks in 1 3; do train $ranks "q$ranks" "${q[@]}" >out 2>&1 || cat out; contents "q$ranks" >"q.$ranks"; done
tap_result "and with Q values and observations stored as states" "$([ -s q.1 ] && cmp -s q.1 q.3; echo $?)" "$(diff q.1 q.3)"
memory=("${unjudged[@]}" --set comm.deterministic=yes --set net.memory=lstm --set net.memory_width=8 --set ppo.sequence_length=8)
for ranks in 1 3; do train $ranks "m$ranks" "${memory[@]}" >out 2>&1 || cat out; contents "m$ranks" >"m.$ranks"; done
tap_result "and of policies with memory" "$([ -s m.1 ] && cmp -s m.1 m.3; echo $?)" "$(diff m.1 m.3)"
saved=("${unjudged[@]}" --set comm.deterministic=yes --set checkpoint.every=0)
train 1 whole "${saved[@]}" >out 2>&1
hold
launch 2 moved "${saved[@]}"
kill -USR1 $pid
wait $pid; stopped=$?
fast
train 3 moved "${saved[@]}" --resume >out 2>&1; rc=$?
tap_result "3 devices go on from a checkpoint of 2, to the bits of a run that never stopped" \
  "$([ $stopped -eq 75 ] && [ $rc -eq 0 ] && cmp -s <(contents whole) <(contents moved); echo $?)" "exit $stopped, then $rc: $(tail -5 out)"

# Running statistics, of all ranks' worlds at each of them; and a curriculum, whose new levels and searches of 25 levels do
# not divide evenly.
running=("${unjudged[@]}" --set env.normalize_observations=cleanrl --set env.normalize_rewards=cleanrl)
each=(--set env.normalize_observations=cleanrl_each --set env.normalize_rewards=cleanrl_each --set eval.actions=mean)
slowly=("${unjudged[@]}" --set env.normalize_observations=stoix --set env.normalize_warmup=5 --set env.normalize_rewards=ppo_ewma)
sfl=("${unjudged[@]}" --set env.task=random_s --set env.curriculum=sfl --set env.level_count=6 --set env.max_steps=16 --set sfl.batch_size=25
  --set sfl.num_batches=2 --set sfl.rollout_steps=32 --set sfl.buffer_size=8 --set sfl.period=2 --set sfl.sampled_ratio=0.4
  --set env.normalize_observations=rl_games)
# SAPG: ranks divide the worlds and not the blocks; three ranks of which the middle one has no world of the leader.
sapg=(--set algo.name=sapg --set env.actions=continuous --set sapg.blocks=3 --set sapg.embedding=4 --set sapg.clip=paper
  --set sapg.off_policy_ratio=2 --set ppo.num_minibatches=4 --set env.normalize_observations=rl_games
  --set train.observation_storage=float16)
# Filtered levels, tried ahead of their time, some of them too late.
filtered=("${unjudged[@]}" --set env.task=random_s --set env.level_count=1 --set env.reset=new_filtered --set env.max_steps=10
  --set train.observation_storage=state)
kinds="running sfl sapg" restores=all
! is_long || kinds+=" each slowly filtered" restores+=" weights"
for what in $kinds; do
  declare -n settings=$what
  train 2 "$what.cpu" --set train.device=cpu "${settings[@]}" >out 2>&1
  train 2 "$what.2" "${settings[@]}" >out 2>&1
  near "$what: 2 ranks with devices and 2 on CPUs" "$what.cpu" "$what.2" 1e-4
  for ranks in 1 3; do
    train $ranks "$what.d$ranks" --set comm.deterministic=yes "${settings[@]}" >out 2>&1 || cat out
    contents "$what.d$ranks" >"$what.bits.$ranks"
  done
  tap_result "$what: with comm.deterministic every bit of a checkpoint is the same for 1 and 3 devices" \
    "$([ -s $what.bits.1 ] && cmp -s $what.bits.1 $what.bits.3; echo $?)" \
    "$(diff $what.bits.1 $what.bits.3; cat out)"
done
tap_check "statistics of new levels, of sampled ones and of the search are those of ranks on CPUs" \
  "$(columns() { awk -F'\t' '/^#/ { next } !named { for (i = 1; i <= NF; i++) name[i] = $i; named = 1; next }
      { for (i = 1; i <= NF; i++) if (name[i] ~ /^(episodes|solve_rate.*|search_.*|buffer_.*)$/) printf "%s=%s ", name[i], $i; print "" }' \
      "$(folder "$1")/stats.1.tsv"; }
    columns sfl.cpu >columns.cpu; columns sfl.2 >columns.2
    grep -q 'search_solve_rate=[0-9]' columns.cpu || echo "no search"; diff columns.cpu columns.2)"
# From another run's checkpoint: all of it, or its networks.
for restore in $restores; do
  for ranks in 1 2; do
    mkdir -p "from.$restore$ranks"
    train $ranks "from.$restore$ranks" --set comm.deterministic=yes "${running[@]}" --set train.total_steps=960 \
      --set init.from="$(newest running.d1)" --set init.restore=$restore >out 2>&1 || cat out
    contents "from.$restore$ranks" >"from.$restore.bits.$ranks"
  done
  tap_result "init.from, init.restore = $restore: 2 devices begin where 1 does, to the bit" \
    "$([ -s from.$restore.bits.1 ] && cmp -s from.$restore.bits.1 from.$restore.bits.2; echo $?)" \
    "$(diff from.$restore.bits.1 from.$restore.bits.2; cat out)"
done

launch 3 dead --set train.total_steps=1e9 --set checkpoint.every=0
kill -9 "$(process_of 1 dead)"
ends $pid; rc=$?
tap_result "a killed rank ends the others, which name it" \
  "$([ $rc -ne 0 ] && [ "$(state dead status)" = failed ] &&
    state dead message | grep -q 'rank 1 of 3 on .* ended without notice: killed'; echo $?)" \
  "exit $rc, $(state dead status): $(state dead message); $(cat out)"

tap_expect "more ranks than GPUs" 2 "2 processes on .* share 1 GPU" env CORE_DEVICE=emulated:gpus=1 \
  mpirun -n 2 trainer --config small.ini --root one --dry-run
tap_run "unless they may share one" 0 "ranks          2" env CORE_DEVICE=emulated:gpus=1 \
  mpirun -n 2 trainer --config small.ini --root one --dry-run --set comm.share_gpu=yes
tap_run "a machine without GPUs" 2 "no GPU is visible to its 2 processes" env CORE_DEVICE=emulated:gpus=0 \
  mpirun -n 2 trainer --config small.ini --root one --dry-run
mkdir -p nccl
tap_expect "NCCL that cannot be had" 2 "comm.library = nccl: .*set comm.library = mpi" \
  mpirun -n 2 trainer --config small.ini --root nccl --quiet --set comm.library=nccl
tap_run "a run that diverges does so at all ranks, and says where" 1 "diverged in iteration" mpirun -n 2 trainer --config small.ini \
  --root one --quiet --set ppo.learning_rate=10 --set ppo.max_grad_norm=inf --set net.activation=relu --set net.depth=12 \
  "${unjudged[@]}" --set algo.name=ppo
tap_done
