#!/usr/bin/env bash
# `sweep plan` and `sweep submit` check every distinct configuration with the trainer before anything starts: an error
# at the start of a run is reported at its line in the experiment file, and nothing is written.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root; mkdir "$root"
cd "$tap_dir" || exit 1
export PATH=$tap_dir/bin:$PATH; mkdir bin # of stand-ins
unset SWEEP_TRAINER

# experiment: stdin behind a [sweep] section and a small [env]
experiment() { { printf '[sweep]\nname = s\nseeds = 2\n[env]\nnum = 16\nlevel_count = 8\n'; cat; } >my.ini; }
# refused NAME MESSAGE <<text: both commands refuse it in the same words
refused() {
  experiment
  tap_run "plan: $1" 2 "$2" sweep plan my.ini --root "$root"
  tap_run "submit: $1" 2 "$2" sweep submit my.ini --root "$root"
}

# ---- errors at the start of each run
refused "classes of the public morphologies" "my.ini:7:14: env.difficulty: the public morphologies have no classes; use all, or set env.morphologies to families (all runs)" <<<'difficulty = 0'
refused "a family that is not there" "my.ini:7:16: env.morphologies: unknown 'carr', did you mean 'car'?" <<<'morphologies = carr'
refused "a class that is not there" "my.ini:8:14: env.difficulty" <<<$'morphologies = car\ndifficulty = 7'
refused "an evaluation set that is not there" "my.ini:8:10: eval.levels: 'carr' is not a level file, directory or set; did you mean car? (all runs)" <<<$'[eval]\nlevels = carr'
refused "an encoder of flat observations" "my.ini:8:11: net.encoder = set: it reads entities" <<<$'[net]\nencoder = set'
refused "entities without an encoder" "my.ini:7:16: env.observations = entity: requires an encoder" <<<'observations = entity'
refused "levels that are not there" "my.ini:8:10: env.levels: nosuch: No such file or directory (all runs)" <<<$'task = levels\nlevels = nosuch'
refused "a parent that nobody knows" "my.ini:8:8: init.from = run:0123456789abcdef: neither this sweep nor the workspace has run 0123456789abcdef; submit its sweep first" <<<$'[init]\nfrom = run:0123456789abcdef'
refused "a parent's iteration beyond the run's own" "my.ini:15:13: init.from = run:...@99: this run resumes from there and ends after iteration 2; raise train.total_steps (2 of the 4 runs" <<<$'[train]\ntotal_steps = 8192\n[algo]\nname = ppo_ewma\n[grid parents]\nppo.com = 8\n[grid children]\nppo.com = 64\ninit.from = run:{ppo.com=8}@99'
refused "a parent's iteration beyond the parent's own" "its parent in this sweep ends after iteration 2; name an earlier iteration" <<<$'[algo]\nname = ppo_ewma\n[grid parents]\nppo.com = 8\ntrain.total_steps = 8192\n[grid children]\nppo.com = 64\ntrain.total_steps = 8e5\ninit.from = run:{ppo.com=8 train.total_steps=8192}@99'
refused "a checkpoint file that is not there" "my.ini:8:8: init.from = here/x.ckpt: no such file" <<<$'[init]\nfrom = here/x.ckpt'
refused "more memory than there is" "my.ini:8:11: training needs about" <<<$'[grid m]\nenv.num = 2097152\nppo.num_steps = 512'

# ---- location of the error, and affected runs
experiment <<<$'[grid g]\nenv.morphologies = car, carr\nenv.difficulty = 0, 7\nppo.epsilon = 0.1, 0.2, 0.3'
out=$(sweep plan my.ini --root "$root" 2>&1); rc=$?
tap_check "equal errors are reported once, with their number of runs" "$(
  [ $rc = 2 ] && [ "$(grep -c 'my.ini' <<<"$out")" = 2 ] &&
  grep -qF "my.ini:8:20: env.morphologies: unknown 'carr'" <<<"$out" && grep -qF '(12 of the 24 runs: env.morphologies=carr' <<<"$out" &&
  grep -qF 'my.ini:9:18: env.difficulty' <<<"$out" && grep -qF '(6 of the 24 runs: ' <<<"$out" || echo "$rc $out")"
experiment <<<$'[profile p]\nenv.morphologies = carr'
tap_run "a profile's line" 2 "my.ini:8:20: env.morphologies" sweep plan my.ini --profile p --root "$root"
tap_run "--set" 2 "--set net.encoder=set: net.encoder = set" sweep plan my.ini --set net.encoder=set --root "$root"
tap_check "nothing was written" "$(ls -A "$root")"

# ---- valid configurations
experiment <<<$'[grid g]\nppo.epsilon = 0.1, 0.2, 0.3\nenv.num = 16, 32'
tap_run "plan --test-only needs Slurm" 1 "--test-only asks Slurm, which is not on this machine" sweep plan my.ini --test-only --root "$root"
tap_check "it writes nothing" "$(ls -A "$root")"
tap_run "configurations that start alike are checked once" 0 "checked      the trainer would start all 2 configurations" sweep plan my.ini --root "$root"
said=$(sweep plan my.ini --root "$root" --json | tool json checked checked)
tap_check "--json has the number checked" "$([ "$said" = 2 ] || echo "$said")"
experiment <<<'morphologies = carr'
out=$(sweep plan my.ini --no-check --root "$root"); rc=$?
tap_check "--no-check starts no trainer" "$([ $rc = 0 ] && ! grep -q '^checked' <<<"$out" || echo "$rc $out")"
experiment <<<$'[checkpoint]\nkeep = 9\n[grid a]\nppo.epochs = 8\n[grid b]\ninit.from = run:{ppo.epochs=8}\nppo.epochs = 4'
tap_run "parents of the same sweep need not be there yet" 0 "all 2 configurations" sweep plan my.ini --root "$root"

# ---- other machines: the file has a [slurm] section
experiment <<<$'[train]\ndevice = cuda\nprecision = tf32\n[slurm]\nmem = 1G\ngpus_per_run = 1'
tap_run "a login node needs no GPU" 0 "the trainer would start it" sweep plan my.ini --root "$root"
experiment <<<$'[grid m]\nenv.num = 2097152\nppo.num_steps = 512\n[slurm]\nmem = 4G'
tap_run "memory is compared with the job's request" 2 "my.ini:11:7: slurm.mem: a run needs about" sweep plan my.ini --root "$root"
experiment <<<$'[grid m]\nenv.num = 2097152\nppo.num_steps = 512\n[slurm]\ncpus_per_run = 1'
tap_run "without a request it is a warning" 0 "set slurm.mem unless the partition" sweep plan my.ini --root "$root"
# ---- GPUs of other machines: the number of ranks is the file's, per block
experiment <<<$'[train]\ndevice = cuda\n[grid m]\nenv.num = 1048576\nppo.num_steps = 256\n[slurm]\ngpus_per_run = 1\ngpu_type = a100'
tap_run "a run that no GPU of that type holds is refused, with the number that would do" 2 \
  "slurm.gpu_type = a100 has 40 GB; slurm.gpus_per_run = 16 and slurm.ranks_per_run = 16 are enough" \
  sweep plan my.ini --root "$root"
gpus=$(sweep plan my.ini --root "$root" 2>&1 | sed -n 's/.*slurm.ranks_per_run = \([0-9]*\) are enough.*/\1/p')
tap_run "that number does" 0 "the trainer would start it" sweep plan my.ini --root "$root" --set "slurm.gpus_per_run=$gpus" --set "slurm.ranks_per_run=$gpus"
tap_run "half of it does not" 2 "slurm.gpus_per_run = $gpus and slurm.ranks_per_run = $gpus are enough" sweep plan my.ini --root "$root" \
  --set "slurm.gpus_per_run=$((gpus / 2))" --set "slurm.ranks_per_run=$((gpus / 2))"
tap_run "GPUs without a rank do not help" 2 "slurm.gpus_per_run = $gpus and slurm.ranks_per_run = $gpus are enough" sweep plan my.ini --root "$root" \
  --set "slurm.gpus_per_run=$gpus" --set slurm.ranks_per_run=1
tap_run "slurm.gpu_mem is above the type" 0 "the trainer would start it" sweep plan my.ini --root "$root" --set slurm.gpu_mem=2T
tap_run "unknown memory is a warning" 0 "of each of its GPUs; set slurm.gpu_mem or slurm.gpu_type to check" sweep plan my.ini --root "$root" --set slurm.gpu_type=some
experiment <<INI
[train]
device = cuda
[grid small]
env.num = 16
[grid large]
env.num = 1048576
ppo.num_steps = 256
slurm.gpus_per_run = $gpus
slurm.ranks_per_run = $gpus
[slurm]
gpus_per_run = 1
gpu_type = a100
INI
tap_run "each block by its own GPUs" 0 "all 2 configurations" sweep plan my.ini --root "$root"
sed -i '/^slurm/d' my.ini
tap_run "else only the large one is refused" 2 "(2 of the 4 runs: env.num=1048576" sweep plan my.ini --root "$root"
experiment <<<$'[train]\ndevice = cpu\n[slurm]\ngpus_per_run = 1'
tap_run "GPUs that no run uses are warned of" 0 "slurm.gpus_per_run = 1, but train.device = cpu trains these runs on processors" sweep plan my.ini --root "$root"
experiment <<<$'[slurm]\ngpus_per_run = 2'
tap_run "and those that no rank uses" 0 "a rank uses one GPU; request as many ranks" sweep plan my.ini --root "$root"
experiment <<<$'[slurm]\nranks_per_run = 3'
tap_run "environments are divided over the ranks that the job has" 2 "env.num = 16: not divisible by 3 ranks" sweep plan my.ini --root "$root"
experiment <<<$'[grid small]\nppo.epsilon = 0.1\n[grid wide]\nppo.epsilon = 0.2\nslurm.nodes = 4\nslurm.ranks_per_run = 4'
tap_run "resources that conflict with --set are refused" 2 "[grid wide]: slurm.nodes = 4 needs slurm.ranks_per_run" sweep plan my.ini --root "$root" --set slurm.ranks_per_run=2
tap_run "but not those of a block without runs" 0 "1 rank of 4" sweep plan my.ini --root "$root" --set slurm.cpus_per_run=4 --set slurm.ranks_per_run=1 --where grid=small
experiment <<<$'[grid g]\nppo.shuffle = none\n[slurm]\nranks_per_run = 4'
tap_run "slices that leave ranks idle are warned of" 0 "few of the 4 ranks have environments of a minibatch" sweep plan my.ini --root "$root"
tap_check "but not those of one rank" "$(sweep plan my.ini --root "$root" --set slurm.ranks_per_run=1 --set slurm.cpus_per_run=4 2>&1 | grep 'few of')"

# ---- a trainer that does not answer
experiment </dev/null
tap_run "without a trainer the plan is printed" 0 "cannot start /nowhere/trainer: No such file or directory" env SWEEP_TRAINER=/nowhere/trainer "$SWEEP_BUILD/bin/sweep" plan my.ini --root "$root"
tap_run "an old one does not understand" 0 "0 of 1 configurations: /bin/true does not answer like a trainer of this version" env SWEEP_TRAINER=/bin/true "$SWEEP_BUILD/bin/sweep" plan my.ini --root "$root"
tap_run "submit reports it and continues" 0 "1 of 1 configurations were not checked: /bin/true does not answer" env SWEEP_TRAINER=/bin/true "$SWEEP_BUILD/bin/sweep" submit my.ini --no-start --root "$root"
printf '#!/bin/sh\necho check-configs 1\nread a\nkill -9 $$\n' >bin/dies; chmod +x bin/dies
tap_run "one that dies" 0 "bin/dies was killed by signal 9" env SWEEP_TRAINER="$tap_dir/bin/dies" "$SWEEP_BUILD/bin/sweep" plan my.ini --root "$root"

# ---- an interrupt ends it, and the trainer with it
mkfifo held pids; exec 9<>held # held open, and never written to
printf '#!/bin/sh\necho check-configs 1\necho $$ >%s/pids\nexec cat %s/held\n' "$tap_dir" "$tap_dir" >bin/holds; chmod +x bin/holds
SWEEP_TRAINER=$tap_dir/bin/holds "$SWEEP_BUILD/bin/sweep" submit my.ini --root "$root" >/dev/null 2>&1 &
asker=$!
read -r checker <pids
kill -TERM "$asker"; wait "$asker"; rc=$?
is_gone() { ! readlink "/proc/$checker/exe" >/dev/null; }
tap_wait 30 is_gone; tap_result "its trainer process has ended, too" $?
tap_check "SIGTERM ends a check" "$([ $rc = 143 ] || echo "$rc")"
tap_done
