#!/usr/bin/env bash
# The best checkpoint of a run: its evaluation, the other checkpoints, kill -9 and resume, damaged files, two ranks, and
# the commands that read, list and remove it. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
cat >"$tap_dir/small.ini" <<'INI'
[env]
morphologies = car
difficulty   = 0
level_count  = 4
num          = 8
[train]
threads      = 1
total_steps  = 1280
[ppo]
num_steps       = 16
num_minibatches = 2
epochs          = 2
learning_rate   = 3e-3
[net]
width = 8
depth = 1
[eval]
episodes = 8
count    = 10
[checkpoint]
every = 0
best  = return
INI
folder() { echo "$tap_dir/$1"/runs/*/*; }
best_of() { trainer checkpoint "$(folder "$1")/ckpt/best.ckpt" | grep -vE '^file|section +clock'; } # ROOT
iteration_of() { best_of "$1" | sed -n 's/^iteration *//p'; }
# expected ROOT: the first iteration with the highest return, but the one before training
expected() {
  awk -F'\t' '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i ~ /^episode_return/) c = i; next }
    $1 > 0 && (!found || $c > most) { found = 1; most = $c; at = $1 } END { print at }' "$(folder "$1")"/eval.*.tsv
}

tap_run "a run trains to its end" 0 "finished, 10 of 10" train whole
tap_check "its best checkpoint is of the best evaluation" "$([ "$(iteration_of whole)" = "$(expected whole)" ] ||
  echo "of iteration $(iteration_of whole), not $(expected whole)")"
tap_check "and has its score" "$(best_of whole | grep -q 'section *best evaluation' || best_of whole)"
tap_check "the log names it" "$(grep -q "best checkpoint: iteration $(expected whole), return" "$(folder whole)/log.txt" || echo no)"
train none --quiet --set checkpoint.best=none
tap_check "checkpoint.best = none keeps none" "$(ls "$(folder none)/ckpt/best.ckpt" 2>/dev/null)"
same_bytes "and trains the same" whole none
tap_check "both have the same run id" "$(diff <(basename "$(folder whole)") <(basename "$(folder none)"))"

# ---- kill -9 and resume
mkdir -p "$tap_dir/killed"
hold
"$paced" --config "$tap_dir/small.ini" --root "$tap_dir/killed" --quiet & pid=$!
tap_wait 60 has_checkpoint killed
kill -9 $pid; wait $pid 2>/dev/null
fast
touch "$(folder killed)/ckpt/best.ckpt.tmp" # of a crash within a write
train killed --quiet --resume
tap_check "after kill -9 and a resume it is the same" "$([ -s "$(folder killed)/ckpt/best.ckpt" ] || echo "none"
  diff <(best_of whole) <(best_of killed); ls "$(folder killed)"/ckpt/*.tmp 2>/dev/null)"
stopped_and_resumed stopped
tap_check "after a stop, too" "$(diff <(best_of whole) <(best_of stopped))"
# A file with a score that this run does not reach stays.
folder=$(folder stopped)
tap_run "a run with a damaged best checkpoint continues" 0 "" \
  sh -c "truncate -s 100 '$folder/ckpt/best.ckpt' && '$paced' --config '$tap_dir/small.ini' --root '$tap_dir/stopped' --quiet --force"
tap_check "--force starts over and writes it again" "$(diff <(best_of whole) <(best_of stopped))"

cp -r "$tap_dir/stopped" "$tap_dir/damaged"
truncate -s 100 "$(folder damaged)"/ckpt/iteration-*.ckpt
file() { stat -c %i "$(folder damaged)/ckpt/best.ckpt"; }
before=$(file)
tap_run "where all other checkpoints are damaged, a run starts again" 0 "finished" train damaged --resume
tap_check "and keeps the best one" "$(diff <(best_of whole) <(best_of damaged); [ "$(file)" = "$before" ] || echo "another file")"

# ---- commands
run=$(basename "$(folder whole)")
at=$(expected whole)
tap_run "trainer checkpoint --best" 0 "iteration  $at" trainer checkpoint "$run" --best --root "$tap_dir/whole"
tap_run "trainer export --best" 0 "of run $run after iteration $at" trainer export "$run" --best --root "$tap_dir/whole" \
  --safetensors "$tap_dir/best.safetensors"
tap_run "trainer play --best" 0 "after iteration $at" trainer play --checkpoint "$run" --best --root "$tap_dir/whole" --steps 2 \
  -o "$tap_dir/play.png"
tap_run "the newest otherwise" 0 "iteration  10" trainer checkpoint "$run" --root "$tap_dir/whole"
tap_run "a run without one" 2 "has no best checkpoint" trainer export "$run" --best --root "$tap_dir/none" --onnx "$tap_dir/x.onnx"
tap_run "--best with a file" 2 "--best applies to a run" trainer checkpoint --best "$(newest whole)"

# ---- two ranks
if command -v mpirun >/dev/null && ! trainer info | grep -q '^MPI  *no'; then
  export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe TMPDIR=/tmp
  mkdir "$tap_dir/ranks"
  timeout 120 mpirun -n 2 trainer --config "$tap_dir/small.ini" --root "$tap_dir/ranks" --quiet >"$tap_dir/out" 2>&1
  tap_check "two ranks keep one" "$([ "$(iteration_of ranks)" = "$(expected ranks)" ] || tail -3 "$tap_dir/out")"
else tap_skip "two ranks" "no MPI"; fi

# ---- sweeps: names of files, bundle, archive
{ printf '%s\n' '[sweep]' 'name = small' 'seeds = 1' '[grid eps]' 'ppo.epsilon = 0.1, 0.2'; cat "$tap_dir/small.ini"; } >"$tap_dir/sweep.ini"
mkdir "$tap_dir/sweep"
sweep submit "$tap_dir/sweep.ini" --root "$tap_dir/sweep" --wait >"$tap_dir/out" 2>&1 || cat "$tap_dir/out"
cd "$tap_dir" || exit 1
mkdir files
tap_expect "an export into a directory is named by what differs, the seed and the id" 0 "^files/epsilon=0.1,seed=[0-9]+-[0-9a-f]{16}.onnx: policy" \
  trainer export small/0 --root sweep --onnx files
tap_expect "the best one, too" 0 "^files/epsilon=0.2,seed=[0-9]+-[0-9a-f]{16}.safetensors: weights" \
  trainer export small/1 --best --root sweep --safetensors files
tap_expect "and a video" 0 "^files/epsilon=0.2,seed=[0-9]+-[0-9a-f]{16}.gif: " trainer play -c small/1 --root sweep --steps 2 -o files
tap_run "a bundle has its checksum" 0 "2 runs" sweep bundle small --root "$tap_dir/sweep" -o "$tap_dir/small.tar.zst"
sweep unbundle small.tar.zst unpacked >"$tap_dir/out" 2>&1
tap_check "and that of the best checkpoint" "$(cut -f 2 unpacked/checkpoints.tsv | grep -qx best.ckpt || cat "$tap_dir/out")"
tap_run "sweep rm --checkpoints" 0 "" sweep rm small --checkpoints --root "$tap_dir/sweep" --yes
tap_check "removes it" "$(find "$tap_dir/sweep/runs" -name '*.ckpt')"
tap_done
