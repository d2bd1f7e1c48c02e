#!/usr/bin/env bash
# Runs of a program on a real Slurm: arrays, a requeued task, [stop] by the program's metric.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "programs on a real cluster" "$cluster_problem"; tap_done; fi
cat > "$tap_dir/train.sh" <<'SH'
step=0
[ -f "$SWEEP_DIR/last" ] && step=$(cat "$SWEEP_DIR/last")
trap 'exit 75' TERM USR2
while [ $step -lt "$1" ]; do
  step=$((step + 1))
  echo "{\"step\": $step, \"reward\": $2}" >> "$SWEEP_METRICS"
  echo $step > "$SWEEP_DIR/.last" && mv "$SWEEP_DIR/.last" "$SWEEP_DIR/last"
  sleep 0.02
done
SH
program() { # NAME SEEDS STEPS [LINES...]
  { printf '[sweep]\nname = %s\nseeds = %s\ngoal = max episode_return\n' "$1" "$2"
    printf '[program]\ncommand = sh train.sh {steps} {lr} {seed}\nstep = step of {steps}\n'
    printf '[settings]\nlr = 0.1\nsteps = %s\n[metric]\nepisode_return = reward\n[slurm]\nmem = 100M\ntime = 00:20:00\n' "$3"
    printf '%s\n' "${@:4}"; } > "$tap_dir/$1.ini"
}
program arrays 2 40 "[grid g]" "lr = 0.1, 0.5"
tap_run "submit" 0 "4 runs submitted in 1 array" submit arrays
tap_wait 300 queue_empty
counts arrays 4 40

# ---- a node dies under it
program moved 1 200
submit moved > /dev/null
tap_wait 120 running 1
sleep 1
job=$(squeue -h -o %A | head -1)
scontrol requeue "$job" > /dev/null
tap_wait 400 queue_empty
counts moved 1 200
run=$(sed -n 3p "$SWEEP_ROOT/sweeps/moved/manifest.tsv" | cut -f2)
tap_check "its load was recorded" "$(awk -F '\t' 'NF == 6 && $3 > 0 { n++ } END { if (n < 1) print "no interval" }' "$SWEEP_ROOT/runs/${run:0:2}/$run/load.tsv" 2>&1)"
if command -v curl > /dev/null && ! sweep --version | grep -q 'without.*libmicrohttpd'; then
  sweep serve --port 0 --json > "$tap_dir/served" 2>&1 & server=$!
  tap_wait 30 grep -q '^}' "$tap_dir/served"
  used=$(curl -s -H "Authorization: Bearer $(tool json token < "$tap_dir/served")" "http://127.0.0.1:$(tool json port < "$tap_dir/served")/api/resources?run=$run")
  kill $server; wait $server
  tap_check "the page compares it with what its job asked for" "$([ "$(tool json asked memory_mb <<< "$used" | cut -d. -f1) $(tool json asked cpus <<< "$used" | cut -d. -f1)" = "100 1" ] && grep -qE 'used [0-9.]+ of 100 MB, [0-9.e-]+ of 1 CPU' <<< "$used" || echo "$used")"
else
  tap_skip "the page compares it with what its job asked for" "no curl or no libmicrohttpd"
fi

# ---- failed runs again
cat > "$tap_dir/flaky.sh" <<'SH'
[ "$SWEEP_ATTEMPT" -gt 1 ] || { echo "no luck with $1" >&2; exit 3; }
echo "{\"step\": 40, \"reward\": $1}" >> "$SWEEP_METRICS"
SH
program flaky 1 40 "[grid g]" "lr = 0.1, 0.5"
sed -i 's/^command = .*/command = sh flaky.sh {lr}/' "$tap_dir/flaky.ini"
submit flaky > /dev/null
tap_wait 300 queue_empty
tap_run "a failed program says why" 0 "no luck with 0.1" sweep status flaky --runs
tap_run "and is retried" 0 "2 runs" sweep submit flaky --failed
tap_wait 300 queue_empty
counts flaky 2 1

# ---- [stop] by the score
program rungs 1 220 "[grid g]" "lr = 0.1, 0.2, 0.3, 0.4" "[stop]" "rule = asha" "min = 20" "eta = 2" "every = 0.5"
tap_run "submit with a rule" 0 "4 runs submitted" submit rungs
tap_wait 300 queue_empty
rm -rf "$tap_dir/.cache"
out=$(sweep status rungs --json)
finished=$(tool json 0 count finished <<<"$out") stopped=$(tool json 0 count "stopped by rule" <<<"$out")
tap_check "some finish, the others are stopped by rule" "$([ "$finished" -ge 1 ] && [ "$stopped" -ge 1 ] && [ $((finished + stopped)) -eq 4 ] || echo "$out" | head -40)"
tap_done
