#!/usr/bin/env bash
# Requests that reach the local executor at bad moments: while it finishes a sweep, is being stopped or waits for
# others; and runs that two sweeps share. None is lost, done twice or blocks the others. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_TRAINER=$paced
mkdir "$SWEEP_ROOT"
cleanup() { fast; kill ${holder:-} 2>/dev/null; sweep stop --no-wait >/dev/null 2>&1; end_executor; tap_cleanup; }
end_executor() { local pid; pid=$(executor); [ -z "$pid" ] || kill "$pid" 2>/dev/null; }
trap cleanup EXIT

experiment() { # NAME EPSILONS [LINES]: a run each
  cat >"$tap_dir/$1.ini" <<INI
[sweep]
name = $1
seeds = 1
[env]
num = 16
level_count = 8
[train]
total_steps = 1024
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 8
[eval]
count = 1
episodes = 8
[grid eps]
ppo.epsilon = $2
${3:-}
INI
}
submit() { sweep submit "$@" --local --no-check; }
queued() { [ -e "$SWEEP_ROOT/sweeps/$1/queued" ]; }
idle() { ! queued "$1"; }
executor() { cat "$SWEEP_ROOT"/sweeps/*/queued 2>/dev/null | sed -n 's/^executor=//p' | grep -vx 0 | head -1; }
ids() { sed '/^#/d' "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | grep -oE '\b[0-9a-f]{16}\b'; }
run_of() { local id; id=$(ids "$1" | sed -n "${2:-1}p"); echo "$SWEEP_ROOT/runs/${id:0:2}/$id"; } # SWEEP [NUMBER]
is() { grep -qsx "status=$3" "$(run_of "$1" "$2")/state"; } # SWEEP NUMBER STATUS
pid_of() { sed -n 's/^pid=//p' "$(run_of "$1" "$2")/state"; }
gone() { [ ! -e "/proc/$1" ]; } # also reaped
said() { tail -n 8 "$SWEEP_ROOT/executor.log"; }
hold_import() { # until release_import
  rm -f "$tap_dir/never"; mkfifo "$tap_dir/never"; : >"$tap_dir/held"
  "$SWEEP_BUILD/tests/cli/cli_tool" hold "$SWEEP_ROOT/.import.lock" 3600 <>"$tap_dir/never" >"$tap_dir/held" & holder=$!
  tap_wait 60 grep -q locked "$tap_dir/held"
}
release_import() { kill "$holder"; wait "$holder" 2>/dev/null; }

# ---- a submission while the executor finishes the sweep
experiment late 0.1
hold
submit "$tap_dir/late.ini" >/dev/null
tap_wait 60 is late 1 running
hold_import
trainer=$(pid_of late 1)
fast
tap_wait 60 gone "$trainer"
submit "$tap_dir/late.ini" --set sweep.seeds=2 >"$tap_dir/said" 2>&1 & submitter=$!
asked() { grep -qsx executor=0 "$SWEEP_ROOT/sweeps/late/queued" || ! kill -0 "$submitter" 2>/dev/null; }
tap_wait 60 asked
release_import
wait "$submitter"; tap_result "a submission while the sweep is finished" $? "$(cat "$tap_dir/said")"
tap_wait 60 idle late
tap_run "is not lost" 0 "2 finished" sweep status late

# ---- the executor is stopped, and one sweep ends before the other
experiment one 0.11
experiment two 0.12,0.13
hold
submit "$tap_dir/one.ini" >/dev/null
submit "$tap_dir/two.ini" --jobs 3 >/dev/null
tap_wait 60 is one 1 running
tap_wait 60 is two 1 running
trainer=$(pid_of one 1) other=$(pid_of two 1) process=$(executor)
kill -STOP "$other"
kill "$process"
tap_wait 60 gone "$trainer"
fast
submit "$tap_dir/one.ini" >"$tap_dir/said" 2>&1 & submitter=$!
asked() { grep -qsx executor=0 "$SWEEP_ROOT/sweeps/one/queued" || ! kill -0 "$submitter" 2>/dev/null; }
tap_wait 60 asked
kill -CONT "$other"
tap_wait 60 gone "$process"; tap_result "a stopped executor ends" $? "$(said)"
wait "$submitter"; tap_check "a submission meanwhile starts the next" "$(grep -q 'started executor' "$tap_dir/said" || cat "$tap_dir/said")"
tap_wait 60 idle one; tap_wait 60 idle two
tap_run "which continues both" 0 "1 finished" sweep status one
tap_run "independently of the request" 0 "2 finished" sweep status two

# ---- a sweep is stopped and submitted again before its runs have ended
experiment back 0.14
hold
submit "$tap_dir/back.ini" >/dev/null
tap_wait 60 is back 1 running
trainer=$(pid_of back 1)
kill -STOP "$trainer"
sweep stop back --no-wait >/dev/null
is_told() { local pending; pending=$(sed -n 's/^ShdPnd:\t//p' "/proc/$trainer/status"); (( 0x$pending & 1 << 14 )); } # SIGTERM
tap_wait 60 is_told
submit "$tap_dir/back.ini" >"$tap_dir/said" 2>&1
tap_check "a submission of a sweep that is just stopped" "$(grep -q 'added to executor' "$tap_dir/said" || cat "$tap_dir/said")"
fast
kill -CONT "$trainer"
tap_wait 60 idle back
tap_run "resumes the runs that were stopped" 0 "1 finished" sweep status back

# ---- the executor dies between runs that --force starts over
experiment over 0.15,0.16
submit "$tap_dir/over.ini" --wait >/dev/null
hold
submit over --jobs 1 --force >/dev/null
tap_wait 60 is over 1 running
process=$(executor)
kill -STOP "$process" # before it can start the second
fast
tap_wait 60 is over 1 finished
kill -9 "$process"
tap_wait 60 gone "$process"
experiment other 0.17
submit "$tap_dir/other.ini" >/dev/null
tap_wait 60 idle over; tap_wait 60 idle other
attempts() { sed -n 's/^attempt=//p' "$(run_of "$1" "$2")/state"; } # SWEEP NUMBER
tap_check "a run that was started over and has finished stays" "$([ "$(attempts over 1)" = 2 ] || echo "attempt $(attempts over 1)")"
tap_check "the other one is started over yet" "$([ "$(attempts over 2)" = 2 ] || echo "attempt $(attempts over 2)")"
tap_run "both are there" 0 "2 finished" sweep status over
submit over --force --wait >/dev/null 2>&1
tap_check "requested again, all are restarted" "$([ "$(attempts over 1) $(attempts over 2)" = "3 3" ] || echo "attempts $(attempts over 1), $(attempts over 2)")"

# ---- runs that two sweeps share
done_of() { grep -o "$1: done, .*" "$SWEEP_ROOT/executor.log"; } # SWEEP: written after the sweep has left the queue
experiment elder 0.18
experiment kin 0.18 '[grid children]
ppo.epsilon = 0.19, 0.195
init.from = "run:{ppo.epsilon=0.18}"
init.restore = weights'
experiment after 0.2,0.21,0.22,0.23
hold
submit "$tap_dir/elder.ini" >/dev/null
tap_wait 60 is elder 1 running
submit "$tap_dir/kin.ini" --jobs 3 >/dev/null
submit "$tap_dir/after.ini" --jobs 4 >/dev/null
tap_wait 60 is after 1 running # by now the executor has passed kin
fast
tap_wait 60 idle elder; tap_wait 60 idle kin; tap_wait 60 idle after
tap_wait 60 done_of kin >/dev/null
tap_check "a child waits for its parent, which another sweep trains" "$(done_of kin | grep -qx 'kin: done, 3 finished and 0 failed in this session' || said)"

experiment first 0.24,0.25,0.26
experiment shares 0.26,0.27,0.28
experiment next 0.29,0.31
hold
submit "$tap_dir/first.ini" --jobs 2 >/dev/null
tap_wait 60 is first 2 running
submit "$tap_dir/shares.ini" --jobs 3 >/dev/null
tap_wait 60 is shares 1 running
trainer=$(pid_of shares 1)
kill -STOP "$trainer"
fast
tap_wait 60 is first 2 finished
tap_wait 60 is shares 3 finished
submit "$tap_dir/next.ini" --jobs 2 >/dev/null
tap_wait 60 is next 2 finished # by now the executor has passed the runs left over from first
kill -CONT "$trainer"
tap_wait 60 idle first; tap_wait 60 idle shares
tap_wait 60 done_of first >/dev/null
tap_check "a run that another sweep has begun is no failure" "$(done_of first | grep -qx 'first: done, 3 finished and 0 failed in this session' || said)"

# ---- a sweep with few slots next to one that leaves a processor free
if [ "$(nproc)" -ge 2 ]; then
  experiment wide 0.35,0.36
  experiment narrow 0.37
  hold
  submit "$tap_dir/wide.ini" --jobs 2 >/dev/null
  tap_wait 60 is wide 1 running; tap_wait 60 is wide 2 running
  trainer=$(pid_of wide 1)
  kill -STOP "$trainer"
  fast
  tap_wait 60 is wide 2 finished
  submit "$tap_dir/narrow.ini" --jobs 1 >/dev/null
  tap_wait 60 is narrow 1 finished; tap_result "runs of other sweeps do not take a sweep's places" $? "$(said)"
  kill -CONT "$trainer"
  tap_wait 60 idle wide; tap_wait 60 idle narrow
else tap_skip "runs of other sweeps do not take a sweep's places" "one processor"; fi

# ---- another process is importing while a sweep ends
experiment ended 0.32
experiment joins 0.33
experiment closes 0.34
hold_import
submit "$tap_dir/ended.ini" >/dev/null
waits() { process=$(executor); [ -n "$process" ] && sed -n "/executor $process of/,\$p" "$SWEEP_ROOT/executor.log" | grep -q 'another process is importing'; }
tap_wait 60 waits
tap_run "a submission meanwhile is taken" 0 "added to executor" submit "$tap_dir/joins.ini"
tap_wait 60 is joins 1 finished; tap_result "and its run is trained" $? "$(said)"
queued ended; tap_result "the sweep that has ended waits for its last import" $?
kill "$process"
tap_wait 60 gone "$process"; tap_result "a stop is obeyed" $? "$(said)"
release_import
submit "$tap_dir/closes.ini" >/dev/null
tap_wait 60 idle ended; tap_wait 60 idle joins; tap_wait 60 idle closes
tap_check "the next executor ends them" "$(analyze sql "$SWEEP_ROOT/results.db" "SELECT count(*) AS n FROM run WHERE status = 'finished'" |
  grep -qw "$(grep -lx status=finished "$SWEEP_ROOT"/runs/*/*/state | wc -l)" || said)"
tap_done
