#!/usr/bin/env bash
# A trainer that is killed, stopped, or deprived of a checkpoint or its disk ends with the same bytes as an
# uninterrupted one. The moments are random, but no result depends on them.
set -u
. "$(dirname "$0")/restart.sh"
train "$work/reference"; rc=$?
tap_check "an undisturbed run finishes with every row" "$([ $rc -eq 0 ] || echo "exit $rc"
  [ "$(state "$work/reference" status)" = finished ] || echo "status $(state "$work/reference" status)"
  [ "$(rows "$work/reference" stats | wc -l)" -eq 200 ] || echo "$(rows "$work/reference" stats | wc -l) stats rows"
  [ "$(rows "$work/reference" eval | wc -l)" -eq 7 ] || echo "$(rows "$work/reference" eval | wc -l) eval rows")"

kill_often "$work/killed" 12 200
train "$work/killed" --resume; rc=$?
tap_check "killed $kills times with SIGKILL, the run ends with the same checkpoint and rows" "$([ $rc -eq 0 ] || echo "exit $rc"
  [ $kills -eq 12 ] || echo "$kills kills"
  grep -q "continuing after iteration" "$(folder "$work/killed")/log.txt" || echo "no attempt went on from a checkpoint"
  same_as_reference "$work/killed")"
tap_check "each run log of the killed attempts has complete lines, except the last" "$(for log in "$(folder "$work/killed")"/stats.*.tsv; do
    awk -F'\t' -v name="$log" '/^#/ {next} $1 == "iteration" {f = NF; next} torn {print name ":" torn} NF != f {torn = NR}' "$log"; done | head -5)"

# PQN carries its exploration and RAdam's count, which PPO has not.
pqn=(--set algo.name=pqn --set env.actions=discrete --set pqn.exploration_fraction=0.9)
train "$work/pqn-reference" "${pqn[@]}"
problems=
for i in 1 2 3; do
  interrupt KILL "$work/pqn" "${pqn[@]}"
  [ $code -eq 137 ] || problems+="kill $i: exit $code"$'\n'
done
train "$work/pqn" "${pqn[@]}" --resume; rc=$?
tap_check "a killed run of pqn ends with the same checkpoint and rows" "$problems$([ $rc -eq 0 ] || echo "exit $rc"
  [ "$(rows "$work/pqn" stats | wc -l)" -eq 200 ] || echo "$(rows "$work/pqn" stats | wc -l) rows"
  grep -q "continuing after iteration" "$(folder "$work/pqn")/log.txt" || echo "no attempt went on from a checkpoint"
  same_as_reference "$work/pqn" "$work/pqn-reference")"

# Rows of sixteen iterations each: unfinished ones are in the checkpoint.
train "$work/merged-reference" --set log.rows=20
problems=
for signal in KILL TERM KILL; do
  interrupt $signal "$work/merged" --set log.rows=20
done
train "$work/merged" --set log.rows=0 --resume; rc=$?
tap_check "a killed run whose rows cover several iterations ends with the same rows, also with another log.rows" "$([ $rc -eq 0 ] || echo "exit $rc"
  [ "$(rows "$work/merged" stats | cut -f1 | paste -sd' ')" = "$(seq -s' ' 16 16 192) 200" ] || rows "$work/merged" stats | cut -f1 | paste -sd' '
  grep -q "continuing after iteration" "$(folder "$work/merged")/log.txt" || echo "no attempt went on from a checkpoint"
  same_as_reference "$work/merged" "$work/merged-reference")"

problems=
for signal in TERM INT USR1 USR2; do
  interrupt $signal "$work/stopped"
  [ $code -eq 75 ] || problems+="SIG$signal: exit $code instead of 75"$'\n'
  [ "$(state "$work/stopped" status)" = stopped ] || problems+="SIG$signal: status $(state "$work/stopped" status)"$'\n'
done
tap_check "SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 give exit 75 and state stopped" "$problems"

problems=$(trainer --config "$work/small.ini" --root "$work/stopped" --quiet 2>&1); rc=$?
tap_check "without --resume a stopped run is left alone" "$([ $rc -eq 2 ] || echo "exit $rc"
  grep -q -- '--resume continues, --force starts over' <<<"$problems" || echo "$problems")"

printf '\xff' | dd of="$(newest "$work/stopped")" bs=1 seek=3000 conv=notrunc status=none
train "$work/stopped" --resume; rc=$?
tap_check "with the newest checkpoint damaged, the one before is used and the end is the same" "$([ $rc -eq 0 ] || echo "exit $rc"
  grep -q 'warn .*damaged.*trying the checkpoint before it' "$(folder "$work/stopped")/log.txt" || echo "no warning in log.txt"
  same_as_reference "$work/stopped")"

interrupt TERM "$work/damaged"
for file in "$(folder "$work/damaged")"/ckpt/iteration-*.ckpt; do truncate -s 100 "$file"; done
train "$work/damaged" --resume; rc=$?
tap_check "with every checkpoint damaged, the run starts over and the end is the same" "$([ $rc -eq 0 ] && [ $code -eq 75 ] || echo "exit $code, then $rc"
  same_as_reference "$work/damaged")"

start "$work/held" --set train.total_steps=1e12
tap_wait 60 has_checkpoint "$work/held"
message=$(trainer --config "$work/small.ini" --root "$work/held" --set train.total_steps=1e12 --resume 2>&1); rc=$?
tap_check "a second trainer is rejected with the name of the first" "$([ $rc -eq 1 ] || echo "exit $rc"
  grep -q "$pid" <<<"$message" || echo "no pid $pid: $message"
  grep -q "$(hostname)" <<<"$message" || echo "no host: $message")"
kill -TERM $pid; wait $pid; rc=$?
tap_check "the first one is not disturbed by it" "$([ $rc -eq 75 ] || echo "exit $rc")"

message=$(train "$work/diverged" --set ppo.learning_rate=3 --set net.activation=relu --set net.depth=12 --set net.width=32 \
  --set ppo.lr_schedule=constant --set eval.count=0 --set algo.name=ppo 2>&1); rc=$?
tap_check "a run whose numbers overflow stops as diverged and names tensor and iteration" "$([ $rc -eq 1 ] || echo "exit $rc"
  [ "$(state "$work/diverged" status)" = diverged ] || echo "status $(state "$work/diverged" status)"
  grep -qE 'iteration [0-9]+.*(actor|critic)\.[A-Za-z0-9]+\[' <<<"$message" || echo "$message"
  grep -q "diverged" <<<"$(state "$work/diverged" message)" || echo "state has no message"
  trainer checkpoint "$(newest "$work/diverged")" | grep -q '^iteration' || echo "no good checkpoint is left")"
message=$(train "$work/diverged" --resume --set ppo.learning_rate=3 --set net.activation=relu --set net.depth=12 \
  --set net.width=32 --set ppo.lr_schedule=constant --set eval.count=0 --set algo.name=ppo 2>&1); rc=$?
tap_check "a diverged run is not resumed" "$([ $rc -eq 1 ] && grep -q -- '--force' <<<"$message" || echo "exit $rc: $message")"

train "$work/stopped" --force; rc=$?
tap_check "--force starts a new attempt, with the same end" "$([ $rc -eq 0 ] || echo "exit $rc"
  [ "$(state "$work/stopped" attempt)" -eq 6 ] || echo "attempt $(state "$work/stopped" attempt)"
  same_as_reference "$work/stopped")"

train "$work/sparse" --set checkpoint.every=1e9 --set checkpoint.every_iterations=70 --set checkpoint.keep=9; rc=$?
tap_check "checkpoint.every_iterations saves at its multiples and at the end" "$([ $rc -eq 0 ] || echo "exit $rc"
  ls "$(folder "$work/sparse")/ckpt" | grep -v '^best' | tr -d '\n' | grep -qx 'iteration-0*70.ckptiteration-0*140.ckptiteration-0*200.ckpt' ||
    ls "$(folder "$work/sparse")/ckpt")"

name="a full disk stops neither training nor the run logs"
mkdir -p "$work/disk"
if mount -t tmpfs -o size=4m none "$work/disk" 2>/dev/null; then
  mounted=$work/disk
  slow 20 # so that its logs alone do not fill the disk
  "$paced" --config "$work/small.ini" --root "$work/disk" --set train.total_steps=1e12 --set log.rows=0 --set eval.count=0 >/dev/null 2>"$work/full.err" & pid=$!
  tap_wait 60 has_checkpoint "$work/disk"
  dd if=/dev/zero of="$work/disk/filler" bs=4096 status=none 2>/dev/null
  tap_wait 60 grep -q 'warning: .*space' "$work/full.err" || echo "# no warning: $(tail -2 "$work/full.err")"
  tap_wait 60 grep -q 'warning: a run log cannot be written' "$work/full.err" && delayed=yes || delayed=
  rm "$work/disk/filler"
  tap_wait 120 grep -q 'checkpoints can be written again' "$work/full.err" && again=yes || again=
  kill -TERM $pid; wait $pid; rc=$?
  done_=$(state "$work/disk" iteration)
  tap_check "$name" "$([ $rc -eq 75 ] || echo "exit $rc: $(tail -3 "$work/full.err")"
    [ -n "$delayed" ] || echo "the logs found room"
    [ -n "$again" ] || echo "checkpoints were not written again"
    [ "$(rows "$work/disk" stats | wc -l)" -eq "$done_" ] || echo "$(rows "$work/disk" stats | wc -l) rows of $done_ iterations"
    trainer checkpoint "$(newest "$work/disk")" | grep -q "^iteration  $done_$" || echo "the last checkpoint is not of iteration $done_")"
else
  tap_skip "$name" "a tmpfs cannot be mounted here"
fi
tap_done
