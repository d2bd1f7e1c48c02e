#!/usr/bin/env bash
# [search NAME] on a real Slurm: a wave is an array; its last task proposes the next and submits it, once; a failed run
# does not block it; sweep submit continues if no task could.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "a search on a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
id_of() { sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }
journal_of() { echo "$SWEEP_ROOT/sweeps/$1/search.s.tsv"; }
waves_of() { tail -n +3 "$(journal_of "$1")" | cut -f2 | uniq -c | tr -s ' \n' ' '; }
ended() { # SWEEP RUNS: this number of runs has ended, and nothing is in the queue
  queue_empty && [ "$(tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | wc -l)" = "$2" ]
}
tpe=("[search s]" "method = tpe" "startup = 3" "wave = 2" "trials = 7" "goal = min kl" "ppo.learning_rate = log 1e-4 .. 1e-1")

# ---- waves follow by themselves; two tasks end at about the same time
experiment waves 2 20 "time = 00:20:00" "${tpe[@]}"
tap_run "submit" 0 "6 runs submitted in 1 array" submit waves
tap_wait 600 ended waves 14; tap_result "wave after wave" $? "$(squeue; tail -n 5 "$SWEEP_ROOT"/sweeps/waves/batches/*.out)"
tap_check "two waves of two trials" "$([ "$(waves_of waves)" = " 2 1 2 2 " ] || cat "$(journal_of waves)")"
tap_check "three batches" "$(ls "$SWEEP_ROOT"/sweeps/waves/batches | grep -cE '^[0-9]+$|^[0-9]+\.tsv$' | grep -qx 3 || ls "$SWEEP_ROOT/sweeps/waves/batches")"
counts waves 14 20
tap_run "submitting again submits nothing" 0 "nothing to submit" submit waves

# ---- trials that a program proposes, in the job of the last task
install -m 755 docs/examples/ask_random.py "$tap_dir/ask.py"
experiment asked 1 20 "time = 00:20:00" "[search s]" "method = command:ask.py" "startup = 3" "wave = 2" "trials = 7" "goal = min kl" \
  "ppo.learning_rate = log 1e-4 .. 1e-1"
tap_run "submit a search by a program" 0 "3 runs submitted in 1 array" submit asked
tap_wait 600 ended asked 7; tap_result "its waves follow by themselves" $? "$(squeue; fresh_status asked)"
tap_check "two waves of two trials by the program" "$([ "$(waves_of asked)" = " 2 1 2 2 " ] || cat "$(journal_of asked)")"

# ---- a limit on the jobs in the queue: a task that ends submits the jobs that the limit held back
limit 3
experiment narrow 2 20 "time = 00:20:00" "${tpe[@]}"
tap_run "as much of the first wave as fits" 75 "3 runs submitted in 1 array" limited sweep submit "$tap_dir/narrow.ini"
tap_wait 600 ended narrow 14; tap_result "the rest and the other waves follow by themselves" $? "$(squeue; fresh_status narrow)"
counts narrow 14 20

# ---- a run that fails, and one sweep with --wait
cat >"$tap_dir/failing" <<SH
#!/bin/sh
case "\$*" in *"\$(cat "$tap_dir/fails")"*) echo again >>"$tap_dir/tried"; exit 3 ;; esac
exec "$paced" "\$@"
SH
chmod +x "$tap_dir/failing"
experiment fails 1 20 "time = 00:20:00" "${tpe[@]}"
sweep submit "$tap_dir/fails.ini" --no-start >/dev/null
id_of fails 1 >"$tap_dir/fails"
tap_run "submit --wait with a run that fails" 1 "failed" env SWEEP_TRAINER="$tap_dir/failing" sweep submit "$tap_dir/fails.ini" --wait --no-check
tap_run "the waves went on" 0 "6 finished, 1 failed" fresh_status fails
tap_check "it was started once" "$([ "$(wc -l <"$tap_dir/tried")" = 1 ] || cat "$tap_dir/tried")"
tap_done
