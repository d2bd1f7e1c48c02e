#!/usr/bin/env bash
# All checks that need a GPU: tests with a part for GPUs, trainings, timings, counters, and compute-sanitizer on small
# sizes. Prints each part's result as it ends, and writes one report, which is saved after each part. Exit code 1: a part
# failed; 77: no GPU.
# Usage: tests/gpu/all.sh [correctness|figures|counters|ranks|jax] [REPORT]     (REPORT: build/gpu_report.txt)
#   Without one of these words: what nine minutes of a GPU tell, in the order of its worth. correctness, figures and
#   counters have the rest; each fits ten minutes. ranks is for two GPUs and more. jax compares with Kinetix' transformer
#   in JAX (PEER_JAX=python that has it): six minutes, and five more in bfloat16.
#   GPU_SECONDS=540  of all parts; those that it leaves no time for are listed as not run
#   GPU_PARTS=REGEX  only the parts whose names match
#   GPU_BUILT=FILE   what tests/gpu/pack.sh made, for machines with no libraries to build with. Or unpack it anywhere, and
#                    call the tests/gpu/all.sh in it.
set -u
cd "$(dirname "$0")/../.." || exit 1
stage=correctness # words of the command line that want the next parts
case ${1:-} in correctness|figures|counters|ranks|jax) wanted=$1; shift ;; *) wanted=brief ;; esac
report=${1:-build/gpu_report.txt} failed=0 limit=${GPU_SECONDS:-540} parts=${GPU_PARTS:-.} built=${GPU_BUILT:-}
smi() { timeout -k 5 30 nvidia-smi "$@"; } # a driver at fault may never answer
sees_gpu() { # TRAINER: whether it finds a GPU, for containers without nvidia-smi
  [ -x "$1" ] && timeout -k 5 60 "$1" info 2>/dev/null | grep -q 'compute capability'
}
if ! smi -L 2>/dev/null | grep -q GPU && ! sees_gpu built/trainer && ! sees_gpu build/bin/trainer; then
  echo "tests/gpu/all.sh: this machine shows no GPU (nvidia-smi -L, trainer info); nothing was run" >&2
  exit 77
fi
nvcc=${CUDA_HOME:+$CUDA_HOME/bin/nvcc}
nvcc=${nvcc:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
cuda=${nvcc%/bin/nvcc}
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$cuda/lib64:$cuda/lib # cuBLASLt, NCCL
mapfile -t programs <tests/gpu/programs.txt # the unit tests that have parts for a GPU
work=$(mktemp -d)
[ -z "$built" ] || { mkdir "$work/pack" && tar -xzf "$built" -C "$work/pack" || exit 1; built=$work/pack/built; }
[ -n "$built" ] || [ ! -x built/trainer ] || built=$PWD/built # this is an unpacked pack
if [ -n "$built" ]; then
  export LD_LIBRARY_PATH=$(cd "$built" && pwd)/lib:$LD_LIBRARY_PATH
  trainer=$built/trainer unit=$built bench=$built/bench_device ranks=$built/ranks_devices
  if [ -d "$built/mpi" ]; then # of tests/gpu/pack.sh --ranks
    mpi=$(cd "$built/mpi" && pwd)
    export PATH=$mpi/bin:$PATH OPAL_PREFIX=$mpi OPAL_BINDIR=$mpi/bin OPAL_LIBDIR=$mpi/../lib OPAL_PKGLIBDIR=$mpi/components
    export OPAL_PKGDATADIR=$mpi/messages OPAL_SYSCONFDIR=$mpi PMIX_MCA_pmix_mca_base_component_path=$mpi/pmix
    export PMIX_INSTALL_PREFIX=$mpi
  fi
else
  if [ ! -x "$nvcc" ] || ! command -v make >/dev/null || ! command -v pkg-config >/dev/null; then
    echo "tests/gpu/all.sh: no nvcc, make or pkg-config to build with; set CUDA_HOME, or bring the archive of" \
      "tests/gpu/pack.sh (GPU_BUILT=FILE)" >&2
    exit 1
  fi
  trainer=build/bin/trainer unit=build/tests/unit bench=build/tests/bench/bench_device ranks=build/tests/mpi/ranks_devices
  make -j"$(nproc)" CUDA_HOME="$cuda" "$trainer" "${programs[@]/#/$unit/}" "$bench" "$ranks" "${ranks%devices}queue" || {
    echo "tests/gpu/all.sh: the build failed, see above; nothing was run" >&2
    exit 1
  }
fi
# One line instead of as many failures as there are parts: where the program cannot start, or cannot use the GPU.
nothing() { # EXIT-CODE REASON
  echo "tests/gpu/all.sh: $2; nothing was run" >&2
  rm -rf "$work"
  exit "$1"
}
timeout -k 5 60 "$trainer" info >"$work/info" 2>&1 || nothing 1 "$trainer does not start: $(tail -n 1 "$work/info")"
unusable=$(sed -nE 's/^CUDA +(built in, but|no:) +//p' "$work/info")
[ -z "$unusable" ] || nothing 77 "$unusable"
mkdir -p "$(dirname "$report")"
# Kernels that the driver compiles for a GPU younger than the build are kept for the next call.
cache=$(cd "$(dirname "$report")" && pwd)/.gpu_cache
summary=$report.summary
export OMP_WAIT_POLICY=passive NO_COLOR=1 CUDA_CACHE_PATH=$cache

# The summary closes the report, also when this script is terminated.
finish() {
  { echo; echo "==== summary"; cat "$summary"; } >>"$report"
  rm -rf "$work" "$summary" "$report.part"
  echo "report: $report"
}
trap finish EXIT
child=
trap 'echo "ended from outside after $SECONDS s" >>"$summary"; [ -z "$child" ] || kill "$child"; exit 1' TERM INT HUP
say() { printf '%-52s %s\n' "$1" "$2" | tee -a "$summary"; }

# part SECONDS NAME COMMAND...: at most so long, and no longer than there is time for everything. Its output is in
# REPORT.part while it runs, line by line, since a failure of CUDA ends a program at once.
lines=(); ! command -v stdbuf >/dev/null || lines=(stdbuf -oL)
is_wanted() { [[ " $stage " == *" $wanted "* && $1 =~ $parts ]]; } # NAME of a part
# What a part's output tells, in few lines: tests; the last iteration of a training; times and counters of kernels.
results() {
  local passed
  passed=$(grep -cE '^ok [0-9]+' "$report.part")
  [ "$passed" -eq 0 ] || echo "$passed tests passed"
  grep -E '^not ok' "$report.part" | head -8
  grep -E '^iteration [0-9]+: ' "$report.part" | tail -n 1
  grep -E '^(result|peer|[a-z_]+,[a-z0-9_]+,[a-z0-9_]+,[0-9])' "$report.part" | head -24
  grep -A 16 -E '^ +times +all, ms +each, us' "$report.part"
  awk '/^  [a-zA-Z_][a-zA-Z0-9_<>:]*.*\(.*\)/ { name = $1 } # ncu: a kernel, then rows "metric unit least most mean"
    $1 ~ /^(gpu__time_duration|dram__bytes|dram__throughput|sm__throughput)/ { print name, $1, $2, $NF }' "$report.part" | head -40
  grep -E '^=+ (ERROR|RACECHECK) SUMMARY' "$report.part"
}
part() {
  local seconds=$1 name=$2 begin left=$((limit - SECONDS)); shift 2
  rc=0
  is_wanted "$name" || return 0
  if [ "$left" -lt 5 ]; then say "$name" "not run: no time is left"; return 0; fi
  begin=$SECONDS
  timeout -k 5 $((seconds < left ? seconds : left)) "${lines[@]}" "$@" >"$report.part" 2>&1 </dev/null & child=$!
  wait "$child"; rc=$?
  child=
  { echo; echo "==== $name"; echo "\$ $*"; head -c 200000 "$report.part"; echo "==== exit $rc, $((SECONDS - begin)) s of at most $seconds"; } >>"$report"
  case $rc in
    0) say "$name" "ok, $((SECONDS - begin)) s" ;;
    77) say "$name" "not run: $(tail -n 1 "$report.part")" ;;
    124|137) say "$name" "FAILED: not done after $((SECONDS - begin)) s"; failed=1 ;;
    *) say "$name" "FAILED ($rc), $((SECONDS - begin)) s"; failed=1 ;;
  esac
  results 2>/dev/null | cut -c 1-150 | sed 's/^/    /' | tee -a "$summary"
  return 0
}
# tests SECONDS NAME PROGRAM: its tests for GPUs; where one of them ends the program, each again in a process of its own.
tests() {
  local seconds=$1 name=$2 program=$3 source=tests/unit/${3##*/}.c test
  part "$seconds" "$name" "$program"
  [ $rc -ge 128 ] && [ $rc -ne 137 ] || return 0
  for test in $(grep -oE 'cmocka_unit_test\(test_[a-z0-9_]+' "$source" | sed 's/.*(//' | sort -u) \
              $(sed -n '/^#define PARTS/,/[^\\]$/p' "$source" | grep -oE 'F\([a-z_]+\)' | sed 's/F(\(.*\))/gpu_\1/'); do
    part 30 "    $name: $test" env TEST_ONLY="$test" CUDA_LAUNCH_BLOCKING=1 "$program" # so that it names the kernel
  done
}
# Ranks: NCCL with a GPU each, MPI on copies also with two on one.
ranks_parts() {
  local gpus mpi=(mpirun --oversubscribe) n
  [[ " $stage " == *" $wanted "* ]] || return 0
  local small=(--set train.device=cuda --set env.num=1024 --set ppo.num_steps=16 --set train.total_steps=65536 --set eval.count=0)
  gpus=$(smi -L 2>/dev/null | grep -c '^GPU')
  [ "$(id -u)" -ne 0 ] || mpi+=(--allow-run-as-root)
  mkdir "$work/shared"
  if ! command -v mpirun >/dev/null || [ ! -x "$ranks" ]; then lacking "ranks" "no mpirun, or a build without MPI"; else
    part 60 "two ranks on one GPU" env CUDA_VISIBLE_DEVICES=0 "${mpi[@]}" -n 2 "$trainer" --root "$work/shared" "${small[@]}" \
      --set comm.share_gpu=yes
    if [ "$gpus" -lt 2 ]; then lacking "NCCL between ranks" "one GPU"; else
      part 60 "NCCL, $gpus ranks" "${mpi[@]}" -n "$gpus" "$ranks" nccl
      [ ! -x "${ranks%devices}queue" ] || part 60 "updates in graphs, 2 ranks" "${mpi[@]}" -n 2 "${ranks%devices}queue"
      for n in 1 2; do
        mkdir "$work/$n"
        part 60 "comm.deterministic, $n ranks" "${mpi[@]}" -n "$n" "$trainer" --root "$work/$n" "${small[@]}" --set comm.deterministic=yes
        "$trainer" checkpoint "$work/$n"/runs/*/*/ckpt/iteration-*.ckpt | grep -vE '^file|section +clock' >"$work/bits.$n"
      done
      part 10 "the same bits from 1 and 2 GPUs" cmp "$work/bits.1" "$work/bits.2"
    fi
  fi
}
lacking() { ! is_wanted "$1" || say "$1" "not run: $2"; }

: >"$summary"
{ echo "commit $(cat "$built/commit" 2>/dev/null || git rev-parse HEAD 2>/dev/null || echo unknown)"; date -u; uname -r
  smi; "$nvcc" --version; cat "$work/info"; } >"$report" 2>&1
export CMOCKA_MESSAGE_OUTPUT=TAP TEST_DEVICE=gpu

# cuBLASLt is not always part of the CUDA installation: PyTorch brings its own. Finds that of the build before it is needed.
major=$(cat "$built/cuda" 2>/dev/null || "$nvcc" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+).*/\1/p')
libraries() {
  local name found folder
  for name in "libcublasLt.so.${major:-13}" libnccl.so.2; do
    found=$(ldconfig -p 2>/dev/null | awk -v n="$name" '$1 == n { print $NF; exit }')
    while [ -z "$found" ] && read -r folder; do [ ! -e "$folder/$name" ] || found=$folder/$name; done < <(
      tr : '\n' <<<"$LD_LIBRARY_PATH"
      ls -d /usr/local/cuda*/lib64 /opt/*/lib64 /opt/*/*/lib64 2>/dev/null
      ls -d $(python3 -c 'import sys; print(*[p + "/nvidia/*/lib" for p in sys.path if p])' 2>/dev/null) 2>/dev/null)
    echo "$name ${found:-is nowhere}"
  done
}
libraries >"$work/libraries"
for found in $(awk '$2 ~ "^/" { sub("/[^/]*$", "", $2); print $2 }' "$work/libraries" | sort -u); do
  export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$found
done
stage="brief correctness figures counters ranks jax"
part 10 "libraries: where they are" cat "$work/libraries"

# ---- parts of several of the words ----------------------------------------------------------------------------------

# On GPUs that the build has no code for, the driver compiles its PTX: half a minute for the physics.
first_launch() {
  mkdir -p "$work/first" # a workspace exists before it is named
  part 60 "the first launch" env "$trainer" --root "$work/first" --set train.device=cuda --set env.num=64 \
    --set ppo.num_steps=4 --set ppo.num_minibatches=1 --set train.total_steps=512 --set eval.count=0
}
# Tests of kernels in bf16: name and program.
bf16=()
for program in test_device_entity_bf16 test_device_bf16 test_device_encoder test_device_chain; do
  case $program in
    test_device_entity_bf16) name="entity kernels in bf16: the CPU's numbers" ;;
    test_device_bf16) name="kernels in bf16: the CPU's numbers" ;;
    test_device_encoder) name="encoders in bf16: the CPU's numbers" ;;
    test_device_chain) name="layers in bf16: the definition" ;;
  esac
  [[ " ${programs[*]} " != *" $program "* ]] || bf16+=("$name" "$program")
done
bf16_tests() {
  local i
  for ((i = 0; i < ${#bf16[@]}; i += 2)); do tests 20 "${bf16[i]}" "$unit/${bf16[i + 1]}"; done
}

# train SETTINGS...: a training in a folder of its own; afterwards the speed of each iteration
steps() {
  awk -F '\t' '/^iteration/ { for (i = 1; i <= NF; i++) { split($i, n, "["); at[n[1]] = i } next }
    /^#/ { next }
    { printf "iteration %s: %.3g steps/s; rollout %s s (environment %s), update %s, other %s, metrics %s; KL %s, entropy %s\n",
        $at["iteration"], $at["steps_per_second"], $at["seconds_rollout"], $at["seconds_environment"], $at["seconds_update"],
        $at["seconds_other"], $at["seconds_metrics"], $at["kl"], $at["entropy"] }' "$1"/runs/*/*/stats.*.tsv
}
train() {
  local root=$work/train setting arguments=() rc
  rm -rf "$root"
  mkdir "$root" || return 1
  for setting in train.device=cuda eval.count=0 metrics.representation_every=1000 "$@"; do arguments+=(--set "$setting"); done
  # training that does not fit into this GPU's memory says so
  "$trainer" --root "$root" --dry-run "${arguments[@]}" >"$work/dry" 2>&1 || ! grep -qi memory "$work/dry" ||
    { grep -i memory "$work/dry" | tail -n 1; return 77; }
  rm -rf "$root"
  mkdir "$root" || return 1
  "$trainer" --root "$root" "${arguments[@]}"; rc=$?
  steps "$root"
  grep -hE 'cuBLASLt|algorithm' "$root"/runs/*/*/log.txt # algorithms that the library rejected, and those selected by timing
  nvidia-smi --query-gpu=memory.used,clocks.sm,power.draw,temperature.gpu --format=csv,noheader
  rm -rf "$root"
  return $rc
}
export -f train steps
export trainer work
training() { # SECONDS NAME SETTINGS...
  local seconds=$1 name=$2; shift 2
  part "$seconds" "$name" bash -c 'train "$@"' train "$@"
}
large=(env.task=random_s ppo.epochs=8 net.width=256 net.depth=3 net.sharing=separate)
worlds_65536=("${large[@]}" env.num=65536 ppo.num_steps=64 ppo.num_minibatches=64 train.total_steps=16777216)
loco=(env.task=loco512 env.num=2048 ppo.num_steps=256 ppo.num_minibatches=32 ppo.epochs=8 net.width=256 net.depth=3
  metrics.representation_every=10 train.total_steps=11534336) # as a file of experiments has it: all metrics; bound by launches
transformer=(env.task=random_s env.observations=entity ppo.epochs=8 ppo.minibatch_by=environments net.sharing=shared
  net.encoder=transformer net.width=128 net.depth=5)
sfl=("${transformer[@]}" env.curriculum=sfl env.max_steps=256 sfl.rollout_steps=512 sfl.num_batches=3 sfl.batch_size=4096
  sfl.buffer_size=1024 sfl.period=128)
sfl_2048=("${sfl[@]}" env.num=2048 ppo.num_steps=256 ppo.num_minibatches=32)

# twice SETTINGS...: a training twice, the second time with each launch waited for. Other bits are a race between streams.
twice() {
  local root=$work/twice n setting arguments=()
  rm -rf "$root"
  for setting in train.device=cuda eval.count=0 "$@"; do arguments+=(--set "$setting"); done
  for n in 0 1; do
    mkdir -p "$root/$n" || return 1
    CUDA_LAUNCH_BLOCKING=$n "$trainer" --root "$root/$n" "${arguments[@]}" || return
    "$trainer" checkpoint "$root/$n"/runs/*/*/ckpt/iteration-*.ckpt | grep -vE '^file|section +clock' >"$root/bits.$n"
  done
  cmp "$root/bits.0" "$root/bits.1"
}
export -f twice
twice_sfl() {
  part 40 "the same SFL training twice: the same bits" bash -c 'twice "$@"' twice "${sfl[@]}" env.num=256 env.max_steps=64 \
    ppo.num_steps=64 ppo.num_minibatches=4 sfl.rollout_steps=64 sfl.batch_size=256 sfl.buffer_size=64 train.precision=bf16 \
    train.total_steps=49152
}

# Times by events, which need no tool: kernels one after the other, products by shape.
counted=(--set train.device=cuda --set eval.count=0 --set metrics.representation_every=1000 --set env.task=random_s
  --set env.num=65536 --set ppo.num_steps=4 --set ppo.num_minibatches=4 --set ppo.epochs=8 --set net.width=256
  --set net.depth=3 --set train.precision=bf16 --set train.total_steps=786432)
counted_sfl=(--set train.device=cuda --set eval.count=0 --set metrics.representation_every=1000)
for setting in "${sfl[@]}" env.num=2048 env.max_steps=64 ppo.num_steps=64 ppo.num_minibatches=8 ppo.epochs=2 \
  sfl.rollout_steps=64 train.precision=bf16 train.total_steps=262144; do counted_sfl+=(--set "$setting"); done
times_of() { # SECONDS NAME VARIABLE=VALUE OPTIONS...
  local seconds=$1 name=$2 variable=$3; shift 3
  rm -rf "$work/times"
  mkdir "$work/times"
  part "$seconds" "$name" env CORE_DEVICE_TIMES=1 "$variable" "$trainer" --root "$work/times" "$@"
}
times_parts() {
  times_of 35 "times of an SFL training, one by one" TRAINER_PRODUCTS= "${counted_sfl[@]}"
  times_of 25 "times of a training, one by one" TRAINER_PRODUCTS= "${counted[@]}"
}

# In containers (gVisor) tools may not attach to the GPU, which would fail every part. Each tool is tried once, before its
# first part.
refusal() { # WHAT-A-SUCCESS-SAYS COMMAND...: why the tool cannot do it here; nothing where it can
  local success=$1; shift
  [ $((limit - SECONDS)) -ge 5 ] || return 0
  timeout -k 5 30 "$@" >"$work/trial" 2>&1 </dev/null
  grep -q "$success" "$work/trial" || grep -m 1 -i error "$work/trial" || echo "no answer"
}
profiler=untried
profiled() { # SECONDS NAME NCU-ARGUMENTS...
  local seconds=$1 name=$2; shift 2
  is_wanted "$name" || return 0
  if [ "$profiler" = untried ]; then
    profiler="no ncu"
    ! command -v ncu >/dev/null ||
      profiler=$(refusal gpu__time_duration ncu --kill yes --launch-count 1 --metrics gpu__time_duration.sum "$bench" ceilings)
  fi
  if [ -z "$profiler" ]; then part "$seconds" "$name" ncu --clock-control none --kill yes "$@"; else lacking "$name" "$profiler"; fi
}
sanitizer=$(command -v compute-sanitizer || echo "$cuda/bin/compute-sanitizer")
[ -x "$sanitizer" ] || sanitizer=$cuda/compute-sanitizer/compute-sanitizer
attaches=untried
checked() { # SECONDS TOOL WHAT COMMAND...
  local seconds=$1 tool=$2 what=$3; shift 3
  is_wanted "$tool, $what" || return 0
  if [ "$attaches" = untried ]; then
    attaches="no compute-sanitizer"
    [ ! -x "$sanitizer" ] ||
      attaches=$(refusal 'ERROR SUMMARY' env TEST_ONLY=gpu_gae "$sanitizer" --tool memcheck "$unit/test_device_ops")
  fi
  if [ -z "$attaches" ]; then part "$seconds" "$tool, $what" "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 20 "$@"
  else lacking "$tool, $what" "$attaches"; fi
}
checked_bf16() {
  local tool i
  for tool in racecheck memcheck; do
    for ((i = 0; i < ${#bf16[@]}; i += 2)); do checked 15 $tool "${bf16[i]%%:*}" "$unit/${bf16[i + 1]}"; done
  done
}
same_as_cpu() { tests 50 "training: as on the CPU" "$unit/test_device_training"; }
ops_heads_physics() {
  tests 40 "ops: the CPU's numbers" "$unit/test_device_ops"
  tests 25 "heads and losses: the CPU's numbers" "$unit/test_device_heads"
  part 35 "physics: the CPU's hash" env TEST_BITS=gpu "$unit/test_batch_bits"
}
several=$(smi -L 2>/dev/null | grep -c '^GPU')

# ---- what nine minutes tell -----------------------------------------------------------------------------------------
stage=brief
first_launch
bf16_tests
times_parts
for precision in bf16 tf32 float32; do
  training 30 "training, SFL on S, transformer, 2048 worlds, $precision" "${sfl_2048[@]}" train.precision=$precision \
    train.total_steps=1048576
done
training 15 "training, 65 536 worlds, bf16" "${worlds_65536[@]}" train.precision=bf16
training 15 "training, loco512, 2048 worlds, bf16" "${loco[@]}" train.precision=bf16
twice_sfl
checked_bf16
same_as_cpu
ops_heads_physics
# The kernels whose times are expected to fall, and the tile kernel of the layers after the encoder.
mkdir "$work/profiled"
profiled 60 "counters of the transformer's kernels" --kernel-name \
  'regex:ops_(gate_|norm_eights|eights_gradient|entity_attend|message_|tile_gradient)' --launch-skip 200 --launch-count 60 \
  --metrics gpu__time_duration.sum,dram__bytes.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,sm__throughput.avg.pct_of_peak_sustained_elapsed \
  --print-summary per-kernel "$trainer" --root "$work/profiled" "${counted_sfl[@]}"

# ---- are the numbers right? ---------------------------------------------------------------------------------------
stage=correctness
first_launch
[ "$several" -lt 2 ] || ranks_parts
ops_heads_physics
bf16_tests
training 60 "training, 1024 worlds" env.num=1024 ppo.num_steps=32 train.total_steps=131072
same_as_cpu
part 60 "the same training twice: the same bits" bash -c 'twice "$@"' twice env.task=random_s env.num=4096 ppo.num_steps=32 \
  ppo.num_minibatches=8 ppo.epochs=4 net.width=256 net.depth=3 train.precision=bf16 train.rollout_halves=2 train.total_steps=1048576
twice_sfl
part 60 "entity matrices: the CPU's numbers" "$unit/test_device_entity"
part 60 "levels drawn: the CPU's" "$unit/test_level_device"
part 60 "rollouts in halves: the same bits" "$unit/test_device_rollout"
part 60 "SAPG and half precision: the CPU's numbers" "$unit/test_device_sapg"
part 60 "measurements: the CPU's numbers" "$unit/test_device_measure"
part 60 "pictures: the CPU's numbers" "$unit/test_device_picture"
part 60 "worlds on the host: the same bits" "$unit/test_hosted"
part 120 "physics: the CPU's hash, 4096 worlds for 1000 steps" env TEST_BITS=gpu_large "$unit/test_batch_bits"
[ "$several" -ge 2 ] || ranks_parts

# ---- how fast is it? ----------------------------------------------------------------------------------------------
stage=figures
part 30 "ceilings: copies, launches, graphs" "$bench" ceilings
part 60 "figures of physics" "$bench" physics
part 90 "figures of products" "$bench" products
times_parts
for precision in bf16 tf32 float32; do
  training 90 "training, 65 536 worlds, $precision" "${worlds_65536[@]}" train.precision=$precision
done
part 60 "figures of rollouts" "$bench" rollouts
for precision in float32 bf16; do training 60 "training, loco512, 2048 worlds, $precision" "${loco[@]}" train.precision=$precision; done
for precision in bf16 tf32 float32; do
  training 60 "training, SFL on S, transformer, 2048 worlds, $precision" "${sfl_2048[@]}" train.precision=$precision \
    train.total_steps=1572864
done
training 60 "training, random L drawn at each reset" "${worlds_65536[@]}" env.task=random_l env.reset=new train.precision=bf16
for way in TRAINER_FUSED=off "TRAINER_FUSED=off TRAINER_TILES=none" TRAINER_PRODUCTS=timed; do
  # shellcheck disable=SC2086
  part 90 "training, 65 536 worlds, bf16, $way" env $way bash -c 'train "$@"' train "${worlds_65536[@]}" train.precision=bf16
done
training 90 "training, 65 536 worlds, bf16, in halves" "${worlds_65536[@]}" train.precision=bf16 train.rollout_halves=2
for storage in state float16; do
  training 120 "training, 1 048 576 worlds, 64 steps, bf16, $storage" "${large[@]}" train.precision=bf16 env.num=1048576 \
    ppo.num_steps=64 ppo.num_minibatches=1024 train.observation_storage=$storage train.total_steps=201326592
done
training 60 "training, minibatches of 1 048 576 rows, bf16" "${worlds_65536[@]}" train.precision=bf16 ppo.num_minibatches=4
training 60 "training, SFL on S, MLP, large searches" "${sfl[@]}" net.encoder=none env.observations=flat net.width=256 net.depth=3 \
  env.num=2048 ppo.num_steps=256 ppo.num_minibatches=32 train.precision=bf16 sfl.batch_size=32768 sfl.num_batches=8 sfl.period=2 \
  train.total_steps=2097152
training 120 "training, 1 048 576 worlds, 256 steps, bf16" "${large[@]}" train.precision=bf16 env.num=1048576 ppo.num_steps=256 \
  ppo.num_minibatches=4096 train.observation_storage=state train.total_steps=268435456

# ---- where does the time go? --------------------------------------------------------------------------------------
stage=counters
mkdir "$work/checked" "$work/counted" "$work/filled" "$work/drawn"
times_of 60 "times of a training, one by one, TRAINER_PRODUCTS=timed" TRAINER_PRODUCTS=timed "${counted[@]}"
profiled 60 "counters of the physics" --kernel-name regex:sim_step_warp --launch-skip 8 --launch-count 1 \
  --section SpeedOfLight --section Occupancy --section WarpStateStats --section MemoryWorkloadAnalysis "$bench" physics
profiled 60 "instructions of physics and observation" --launch-skip 8 --launch-count 4 --kernel-name \
  'regex:sim_(step_warp|observe_rows)' --metrics \
  gpu__time_duration.sum,smsp__inst_executed.sum,smsp__thread_inst_executed_per_inst_executed.ratio,dram__bytes.sum "$bench" physics
profiled 60 "time of each kernel of a training" --metrics gpu__time_duration.sum,dram__bytes.sum \
  --print-summary per-kernel --launch-skip 400 --launch-count 600 "$trainer" --root "$work/counted" "${counted[@]}"
profiled 60 "occupancy of level draws, random L" --kernel-name regex:sim_draw_ahead --launch-skip 4 \
  --launch-count 2 --section SpeedOfLight --section Occupancy "$trainer" --root "$work/drawn" --set train.device=cuda \
  --set eval.count=0 --set env.task=random_l --set env.reset=new --set env.num=65536 --set ppo.num_steps=32 --set train.total_steps=4194304

# ---- what hides? --------------------------------------------------------------------------------------------------
checked_bf16
checked 90 memcheck "ops, each buffer alone" env CORE_ARENA_GUARD=1 "$unit/test_device_ops"
checked 90 memcheck "training, each buffer alone" env CORE_ARENA_GUARD=1 "$trainer" --root "$work/checked" --set train.device=cuda \
  --set eval.count=0 --set env.num=64 --set ppo.num_steps=16 --set train.total_steps=2048
checked 60 memcheck "heads and losses, each buffer alone" env CORE_ARENA_GUARD=1 "$unit/test_device_heads"
part 60 "ops, unwritten memory is NaN" env CORE_MEMORY_FILL=nan "$unit/test_device_ops"
part 60 "training, unwritten memory is NaN" env CORE_MEMORY_FILL=nan "$trainer" --root "$work/filled" --set train.device=cuda \
  --set eval.count=0 --set env.num=64 --set ppo.num_steps=16 --set train.total_steps=2048
checked 90 racecheck "physics" env TEST_BITS=gpu_brief "$unit/test_batch_bits"
checked 90 synccheck "physics" env TEST_BITS=gpu_brief "$unit/test_batch_bits"
checked 90 memcheck "physics, each buffer alone" env TEST_BITS=gpu_brief CORE_ARENA_GUARD=1 "$unit/test_batch_bits"
checked 90 racecheck "ops" "$unit/test_device_ops"
checked 60 racecheck "heads and losses" "$unit/test_device_heads"
checked 60 synccheck "ops" "$unit/test_device_ops"

# ---- several GPUs ---------------------------------------------------------------------------------------------------
stage=ranks
ranks_parts

# ---- Kinetix in JAX, on the same work -------------------------------------------------------------------------------
stage=jax
python=${PEER_JAX:-python3} peers=tests/bench/peers
peer=(env XLA_PYTHON_CLIENT_PREALLOCATE=false "$python")
jax_parts() {
  local library=build/lib/libsim.so precision same=("${transformer[@]}" env.level_count=256 env.num=2048 ppo.num_steps=256
    ppo.num_minibatches=32 ppo.normalize_advantage=minibatch train.total_steps=1572864)
  [ -z "$built" ] || library=$built/lib/libsim.so
  for precision in tf32 bf16; do training 40 "our transformer without a search, $precision" "${same[@]}" train.precision=$precision; done
  training 20 "our 3x256, 2048 worlds x 64, tf32" "${large[@]}" env.level_count=256 env.num=2048 ppo.num_steps=64 \
    ppo.num_minibatches=8 train.precision=tf32 train.total_steps=1310720
  if ! timeout -k 5 60 "$python" -c 'import jax, kinetix' >/dev/null 2>&1; then lacking "Kinetix' transformer in JAX" "no kinetix in $python"; return; fi
  [ -e "$peers/levels/s.npz" ] || part 60 "JAX: levels" "$python" "$peers/jax_gpu_levels.py" "$library" s
  part 240 "Kinetix' transformer in JAX" "${peer[@]}" "$peers/jax_gpu_transformer.py" s 2048 256 32
  part 240 "Kinetix' transformer in JAX, bfloat16" "${peer[@]}" "$peers/jax_gpu_transformer.py" s 2048 256 32 bfloat16
}
[ "$wanted" != jax ] || jax_parts

# A test that was skipped for want of a GPU proves nothing.
if grep -q 'SKIP.*gpu' "$report"; then say "a test for GPUs" "FAILED: skipped, see the report"; failed=1; fi
exit $failed
