#!/usr/bin/env bash
# [stop] on a real Slurm: tasks decide, stop their own runs and submit promoted ones; nothing is lost or done twice, and
# sweep submit --by-rule resumes stopped runs.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "early stopping on a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
id_of() { sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }
# rows NAME: every iteration that a run has done is in results.db once
rows() {
  sweep collect >/dev/null 2>&1
  local id done_; for id in $(tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2); do
    done_=$(sed -n 's/^iteration=//p' "$(folder_of "$id")/state")
    [ "$(analyze sql "$SWEEP_ROOT/results.db" "SELECT count(*) AS n FROM iteration WHERE run_id = '$id'" | grep -oE '[0-9]+' | tail -1)" = "$done_" ] ||
      echo "$id has done $done_ iterations"
  done
}

# ---- asha: four settings, the best of which continue from rungs at 60 and 120 of 240 iterations
experiment rungs 1 240 "time = 00:20:00" "[grid lr]" "ppo.learning_rate = 1e-4, 1e-3, 3e-3, 1e-2" "[stop]" "rule = asha" \
  "min = $((60 * 128))" "eta = 2" "measure = entropy" "goal = min" "every = 0.5"
slow 30
tap_run "submit" 0 "4 runs submitted" submit rungs
tap_wait 600 queue_empty
fast
out=$(fresh_status rungs --json)
finished=$(tool json 0 count finished <<<"$out") stopped=$(tool json 0 count "stopped by rule" <<<"$out")
tap_check "some finish, the others are stopped by rule" "$([ "$finished" -ge 1 ] && [ "$stopped" -ge 1 ] && [ $((finished + stopped)) -eq 4 ] ||
  { echo "$out"; cat "$SWEEP_ROOT"/sweeps/rungs/{stop,submit}.log; tail -n 20 "$SWEEP_ROOT"/sweeps/rungs/batches/*.out; })"
tap_run "status says why" 0 "asha: " fresh_status rungs --runs
tap_check "none of them is trouble" "$(fresh_status rungs --failed | grep -E '^ +[0-9]')"
tap_check "promoted runs came back as Slurm's" "$([ "$(grep -c 'promote' "$SWEEP_ROOT/sweeps/rungs/stop.log")" -ge 1 ] || echo "nothing was promoted")"
tap_check "no row is lost, none is there twice" "$(rows rungs)"
tap_check "no decision is recorded twice" "$(cut -f3-6 "$SWEEP_ROOT/sweeps/rungs/stop.log" | sort | uniq -d)"
tap_run "submitting again leaves them" 0 "stopped by rule (sweep submit --by-rule resumes them)" submit rungs
tap_run "--by-rule takes them up" 0 "$stopped runs submitted" sweep submit rungs --by-rule
tap_wait 600 queue_empty
counts rungs 4 240

# ---- two runs share a task: one is stopped, the other continues
experiment packed 1 240 "time = 00:20:00" "runs_per_task = 2" "[grid lr]" "ppo.learning_rate = 1e-2, 1e-12" "[stop]" \
  "rule = stagnation" "measure = kl" "patience = 0.2" "min_rise = 1000" "ddr_below = 1e9" "every = 0.5"
slow 30
submit packed >/dev/null
tap_wait 600 queue_empty
fast
tap_run "one of two runs in a task is stopped" 0 "1 finished, 1 stopped by rule" fresh_status packed
tap_check "its record says so" "$(grep -x "cause=rule" "$(folder_of "$(id_of packed 0)")/job" >/dev/null || cat "$(folder_of "$(id_of packed 0)")/job")"
tap_check "and it has a checkpoint" "$(ls "$(folder_of "$(id_of packed 0)")"/ckpt/*[1-9]*.ckpt >/dev/null 2>&1 || echo none)"
tap_check "no row is lost" "$(rows packed)"
tap_run "one of them is named" 0 "1 runs submitted" sweep submit packed 0
tap_wait 600 queue_empty
counts packed 2 240
tap_done
