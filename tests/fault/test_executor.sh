#!/usr/bin/env bash
# The local executor: effects on a sweep when it or its trainers are killed, stopped or started twice.
cd "$(dirname "$0")/../.."
. tests/cli/tap.sh
export SWEEP_ROOT=$tap_dir/work
mkdir -p "$SWEEP_ROOT"
running_pids() { # number of runs whose state is running and whose process exists (a zombie does not count: reaping orphans may be slow)
  local state pid
  for state in "$SWEEP_ROOT"/runs/*/*/state; do
    grep -qs '^status=running' "$state" || continue
    pid=$(sed -n 's/^pid=//p' "$state")
    [ -e "/proc/$pid/exe" ] && echo "$pid"
  done
}
two_run() { [ "$(running_pids | wc -l)" = 2 ]; }
cleanup() { sweep stop --root "$SWEEP_ROOT" >/dev/null 2>&1; tap_cleanup; }
trap cleanup EXIT

experiment() { # name iterations
  cat >"$tap_dir/$1.ini" <<INI
[sweep]
name = $1
seeds = 2
[env]
num = 16
morphologies = car
level_count = 8
[train]
total_steps = $((16 * 16 * $2))
[ppo]
num_steps = 16
num_minibatches = 4
epochs = 2
[net]
width = 16
depth = 1
[eval]
count = 2
episodes = 8
[checkpoint]
every = 0
[grid eps]
ppo.epsilon = 0.1, 0.3
INI
}

experiment whole 12
tap_run "submit --wait runs everything" 0 "4 finished" sweep submit "$tap_dir/whole.ini" --wait
tap_run "submitting again starts nothing" 0 "nothing to start" sweep submit "$tap_dir/whole.ini"
sweep collect >/dev/null 2>&1
rows=$(analyze sql "$SWEEP_ROOT/results.db" "SELECT count(*) AS n FROM iteration" | grep -oE '[0-9]+' | tail -1)
[ "$rows" = 48 ]; tap_result "every iteration of every run is in results.db once" $? "$rows rows, not 48"

# A killed executor takes its trainers with it (they checkpoint); the next submit continues.
experiment killed 1000000000 # longer than any test: it is stopped, never finished
sweep submit "$tap_dir/killed.ini" --jobs 2 >/dev/null
tap_wait 60 two_run
pids=$(running_pids)
kill -9 "$(tap_executor "$SWEEP_ROOT" killed)"
gone() { for pid in $pids; do [ ! -e "/proc/$pid/exe" ] || return 1; done; }
tap_wait 60 gone; tap_result "trainers end when their executor is killed" $? "$pids, now: $(running_pids)"
tap_run "status says that the executor is gone" 0 "the executor is gone" sweep status killed
before=$(cat "$SWEEP_ROOT"/runs/*/*/stats.1.tsv | wc -l)
tap_run "submit starts a new executor" 0 "started executor" sweep submit "$tap_dir/killed.ini" --jobs 2
again() { ls "$SWEEP_ROOT"/runs/*/*/stats.2.tsv >/dev/null 2>&1 && two_run; }
tap_wait 60 again; tap_result "interrupted runs go on as a second attempt" $?
after=$(cat "$SWEEP_ROOT"/runs/*/*/stats.1.tsv | wc -l)
[ "$before" = "$after" ]; tap_result "the first attempt's log is unchanged" $? "$before then $after lines"

# A second executor does not start: the living one takes the new sweep.
experiment second 8
tap_run "a second submit joins the living executor" 0 "added to executor" sweep submit "$tap_dir/second.ini"

# A trainer killed from outside is restarted and continues.
victim=$(running_pids | head -1)
kill -9 "$victim"
replaced() { grep -qF 'killed (SIGKILL)' "$SWEEP_ROOT/executor.log"; }
tap_wait 60 replaced; tap_result "a killed trainer is noticed and started again" $?

tap_run "stop ends the sweep with checkpoints" 0 "stopped" sweep stop killed
sweep status killed >"$tap_dir/out" 2>&1
grep -q running "$tap_dir/out"; [ $? -ne 0 ]; tap_result "nothing runs after stop" $? "$(cat "$tap_dir/out")"
began=0 bare=
while read -r run; do # of the stopped sweep's runs; those of the sweep that joined go on meanwhile
  [ -e "$run/stats.1.tsv" ] || continue
  began=$((began + 1))
  [ -n "$(find "$run/ckpt" -type f)" ] || bare+="$run "
done < <(grep -oE '\b[0-9a-f]{16}\b' "$SWEEP_ROOT/sweeps/killed/manifest.tsv" | sed -E "s|^(..)|$SWEEP_ROOT/runs/\1/\1|")
[ $began -gt 0 ] && [ -z "$bare" ]; tap_result "stopped runs have checkpoints" $? "$began began, without a checkpoint: $bare"
tap_run "a stopped sweep resumes where it was" 0 "4 runs to do" sweep submit "$tap_dir/killed.ini"
sweep stop killed >/dev/null
sweep submit second --wait >/dev/null 2>&1
tap_run "the sweep that joined is finished too" 0 "4 finished" sweep status second

# Failures: a trainer that cannot start, a run that fails. An executor that still lives would take them, and which one
# was the last `queued` no longer says.
pids=$(sed -n 's/.*executor \([0-9]*\) of .*/\1/p' "$SWEEP_ROOT/executor.log"); tap_wait 60 gone
experiment broken 4
tap_run "a trainer that is not there fails the runs with the reason" 1 "cannot start" \
  env SWEEP_TRAINER=/nonexistent/trainer sweep submit "$tap_dir/broken.ini" --wait
tap_run "--failed lists them" 0 "failed" sweep status broken --failed
tap_run "a file with other runs is judged by those alone" 0 "4 failed" sweep submit "$tap_dir/broken.ini" --set ppo.gamma=0.97 --wait
tap_run "the next submit tries the failed ones again" 0 "8 finished" sweep submit "$tap_dir/broken.ini" --wait

id=$(sed -n '3s/.*\t//p' "$SWEEP_ROOT/sweeps/whole/manifest.tsv")
tap_run "logs prints a run's messages" 0 "iteration" sweep logs "$id"
tap_run "logs of an unknown run" 2 "does not exist" sweep logs ffffffffffffffff
tap_run "stop of a run that does not run" 2 "is not running" sweep stop "$id"
tap_run "status --json is JSON" 0 '"finished": 4' sweep status whole --json
tap_run "force runs finished runs again" 0 "4 finished" sweep submit "$tap_dir/whole.ini" --force --wait
ls "$SWEEP_ROOT/runs/${id:0:2}/$id/stats.2.tsv" >/dev/null 2>&1; tap_result "as a second attempt" $?
tap_done
