#!/usr/bin/env bash
# The GPU's programs on a stand-in for the CUDA runtime (runtime.h): the host's side of core/device/device_cuda.c,
# trainer/ops/device/cuda_library.c and trainer/ranks/nccl.c runs as on a GPU, with nvcc's code registered and CUDA's
# rules enforced, and must give the same results. TAP; needs nvcc, no GPU.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
built=$SWEEP_BUILD/tests/runtime
if [ ! -x "$built/trainer" ]; then
  tap_skip "the CUDA runtime's stand-in" "no nvcc"
  tap_done
  exit
fi
export TEST_DEVICE=gpu CMOCKA_MESSAGE_OUTPUT=STDOUT OMP_NUM_THREADS=1 LD_LIBRARY_PATH=$built/lib
export RUNTIME_PTXAS=$SWEEP_BUILD/obj/sim/device/kernels_cuda.ptxas:$SWEEP_BUILD/obj/trainer/ops/kernels/kernels_cuda.ptxas
unset CUDA_VISIBLE_DEVICES CORE_DEVICE RUNTIME_STAND_IN CUBLASLT_STAND_IN

tap_run "the stand-in keeps CUDA's rules" 0 "PASSED" "$built/rules"
# Longer programs run whole in check-long only (TEST_LONG).
longer='test_device_rollout|test_device_training'
! is_long || longer=none
for program in $(grep -vE "test_batch_bits|test_level_device|$longer" tests/gpu/programs.txt); do # below
  tap_run "$program" 0 "PASSED" "$built/$program"
done
tap_run "trainings in each precision" 0 "PASSED" env TEST_ONLY='test_gpu*' "$built/test_device_training"
tap_run "a queued training" 0 "PASSED" env TEST_ONLY=test_queued_sapg "$built/test_device_training"
tap_run "physics: the CPU's hash" 0 "PASSED" env TEST_BITS=gpu_brief "$built/test_batch_bits"
! is_long || tap_run "the benchmark of the GPU runs" 0 "rollout_s_new_filtered_halves_2" env BENCH_SMALL=1 "$built/bench_device"
for lacks in plain none some; do
  tap_run "layers in bf16, epilogues of cuBLASLt: $lacks" 0 "PASSED" env CUBLASLT_STAND_IN=$lacks \
    "$built/test_device_chain"
done
# A library may sum in any order: by shape, in parts of k, or with the rounding of tensor cores; the tolerances must hold
# for all. In `make check`, one of them and short programs.
ways=shape
! is_long || ways="shape split tensor"
for sums in $ways; do
  for program in $(grep -E 'test_device_|hosted' tests/gpu/programs.txt); do
    is_long || grep -qE '(ops|heads|chain|_bf16|sapg)$' <<<"$program" || continue
    tap_run "$program, sums of cuBLASLt: $sums" 0 "PASSED" env CUBLASLT_STAND_IN=$sums "$built/$program"
  done
done

# ---- the trainer itself ----
settings=(train.device=cuda env.num=64 ppo.num_steps=8 ppo.epochs=2 ppo.num_minibatches=4 net.width=16
  train.total_steps=2048 eval.count=0)
train() { # FOLDER SETTINGS...; array `ranks`: the mpirun command line
  local root=$tap_dir/$1 setting arguments=(); shift
  mkdir -p "$root"
  for setting in "${settings[@]}" "$@"; do arguments+=(--set "$setting"); done
  "${ranks[@]}" "$built/trainer" --root "$root" "${arguments[@]}"
}
weights() { "$built/trainer" checkpoint "$tap_dir/$1"/runs/*/*/ckpt/*4.ckpt | grep -vE '^file|section +clock'; }
same() { # prints the differences of the last checkpoints
  [ "$(weights "$1" | wc -l)" -ge 5 ] || echo "no checkpoint of $1"
  diff <(weights "$1") <(weights "$2")
}

ranks=()
tap_expect "trainer info names the GPU" 0 "CUDA +stand-in for an NVIDIA H200, compute capability 9.0, 140.4 GiB" \
  "$built/trainer" info
CUDA_VISIBLE_DEVICES='' tap_expect "no GPU is visible" 0 "no CUDA-capable device" "$built/trainer" info
RUNTIME_STAND_IN=report tap_expect "a training captures graphs" 0 "[1-9][0-9]* captures, [1-9][0-9]* graphs" \
  train one
RUNTIME_STAND_IN=order=forward train forward >/dev/null 2>&1
tap_check "identical bits with streams and graphs in order" "$(same one forward)"
RUNTIME_STAND_IN=order=turns train turns >/dev/null 2>&1
tap_check "identical bits with alternating order" "$(same one turns)"
train halves train.rollout_halves=2 >/dev/null 2>&1
tap_check "identical bits with the worlds in halves" "$(same one halves)"
CORE_DEVICE_CODE=$SWEEP_BUILD/tests/ptx/kernels.so train code >/dev/null 2>&1
tap_check "identical bits with nvcc's code (tests/ptx) instead of the kernels' bodies" "$(same one code)"
RUNTIME_STAND_IN=memory=600 tap_expect "too little memory is detected in advance" 1 "memory" \
  train small env.num=65536
CUBLASLT_STAND_IN=broken tap_expect "cuBLASLt cannot be initialized" 2 "cannot be initialized on this GPU: CUBLAS_STATUS_NOT_INIT" \
  train broken
CUBLASLT_STAND_IN=broken tap_expect "train.device = auto falls back to the CPU and reports the reason" 0 \
  "computing on the CPU .*CUBLAS_STATUS_NOT_INIT" train broken_auto train.device=auto
RUNTIME_STAND_IN=kernels=none tap_expect "kernels of other GPUs only" 2 "no kernel image .*rebuild with CUDA_TARGETS" \
  train other
RUNTIME_STAND_IN=kernels=none tap_expect "auto falls back to the CPU, too" 0 "computing on the CPU .*no kernel image" \
  train other_auto train.device=auto
RUNTIME_STAND_IN=driver=old tap_expect "an old driver: versions and remedy" 0 \
  "driver supports CUDA 12.4, but this program was built with CUDA 1[3-9].*needs driver 580.*rebuild with CUDA 12" \
  "$built/trainer" info
CUBLASLT_STAND_IN=none tap_expect "training without products of cuBLASLt" 0 "finished" train alone train.precision=bf16
tap_check "the log names them" "$(grep -q 'cuBLASLt has no algorithm for a product of' "$tap_dir"/alone/runs/*/*/log.txt ||
  cat "$tap_dir"/alone/runs/*/*/log.txt)"
CORE_DEVICE_TIMES=1 train times train.precision=bf16 >"$tap_dir/times.txt" 2>&1
tap_check "kernels and products are timed" "$(grep -q ' sim_step_warp$' "$tap_dir/times.txt" &&
  grep -q " product of 16 x 128' x 16 (bf16)$" "$tap_dir/times.txt" || cat "$tap_dir/times.txt")"
train bf16 train.precision=bf16 >/dev/null 2>&1
TRAINER_PRODUCTS=timed train timed train.precision=bf16 >/dev/null 2>&1
tap_check "identical bits when each is timed" "$(same bf16 times)"
tap_check "identical bits when algorithms are selected by timing" "$(same bf16 timed)"
tap_check "the log names the algorithms" "$(grep -q 'product of .*: algorithm [13] of 3, .* split [14]$' "$tap_dir"/timed/runs/*/*/log.txt ||
  cat "$tap_dir"/timed/runs/*/*/log.txt)"
TRAINER_PRODUCTS=fast tap_expect "an unknown selection method" 2 "TRAINER_PRODUCTS=fast" train fast train.precision=bf16
tap_expect "layers in one launch" 0 "finished" train fused train.precision=bf16 net.width=64
TRAINER_FUSED=off TRAINER_TILES=none tap_expect "without ops_tile_gradient" 0 "finished" train tiles train.precision=bf16 net.width=64
CUBLASLT_STAND_IN=some train some train.precision=bf16 >/dev/null 2>&1
CUBLASLT_STAND_IN=some CORE_ARENA_GUARD=1 train guarded train.precision=bf16 >/dev/null 2>&1
tap_check "identical bits with a separate block per buffer" "$(same some guarded)"

if ! command -v mpirun >/dev/null || ! "$built/trainer" info | grep -q '^MPI *yes'; then
  tap_skip "ranks" "no mpirun, or a build without MPI"
else
  mpi=(mpirun --oversubscribe)
  [ "$(id -u)" -ne 0 ] || mpi+=(--allow-run-as-root)
  ranks=("${mpi[@]}" -n 2)
  RUNTIME_STAND_IN=gpus=2 tap_expect "two ranks, a GPU each, sums by MPI" 0 "finished, 4 of 4" \
    train two comm.library=mpi
  RUNTIME_STAND_IN=gpus=1 tap_expect "two ranks on one GPU" 0 "finished, 4 of 4" train shared comm.share_gpu=yes
  shards=(comm.deterministic=yes comm.shards=4 comm.library=mpi env.num=60 train.total_steps=1920)
  ranks=()
  TRAINER_QUEUE=none CUBLASLT_STAND_IN=shape train shards_1 "${shards[@]}" >/dev/null 2>&1
  ranks=("${mpi[@]}" -n 2)
  CUBLASLT_STAND_IN=shape RUNTIME_STAND_IN=gpus=2 train shards_2 "${shards[@]}" >/dev/null 2>&1
  tap_check "comm.deterministic: one rank's bits where cuBLASLt chooses by shape and alignment" \
    "$(same shards_1 shards_2)"
  if [ ! -x "$built/ranks_queue" ]; then tap_skip "NCCL" "built without NCCL"; else
    export RUNTIME_STAND_IN=gpus=2
    tap_run "communication of two ranks by NCCL" 0 "ok 12" "${ranks[@]}" "$built/ranks_devices" nccl
    tap_run "minibatches are queued together with communication" 0 "ok 3" "${ranks[@]}" "$built/ranks_queue"
    tap_expect "two ranks' training, sums by NCCL" 0 "finished, 4 of 4" train nccl comm.library=nccl
    # ends_with WHAT SECONDS PATTERN HOW: a rank that fails or hangs (NCCL_STAND_IN) ends the run of both ranks in time, with
    # exit code 1 and its reason in the run's state.
    ends_with() {
      local root=failing.$((++failing)) begin=$SECONDS rc
      NCCL_STAND_IN=$4 train "$root" comm.library=nccl >"$tap_dir/$root.txt" 2>&1; rc=$?
      tap_check "$1: the run ends within $2 s, with the reason" "$([ $rc -eq 1 ] && [ $((SECONDS - begin)) -le "$2" ] &&
        grep -qE "^message=.*$3" "$tap_dir/$root"/runs/*/*/state && grep -q '^status=failed' "$tap_dir/$root"/runs/*/*/state ||
        { echo "exit $rc after $((SECONDS - begin)) s"; cat "$tap_dir/$root.txt" "$tap_dir/$root"/runs/*/*/state; })"
    }
    failing=0 refused='cannot connect 2 ranks: .*Connection refused'
    export TRAINER_CONNECT_SECONDS=5 TRAINER_SUM_SECONDS=5
    ends_with "rank 1 cannot create the communicator" 60 "rank 1 of 2 on .*$refused" fail_rank=1
    tap_check "the rank has printed it itself, too" "$(grep -c "^trainer: rank 1 of 2 on .*$refused" "$tap_dir/failing.1.txt" |
      grep -vx 2)"
    ends_with "the first sum hangs at rank 0" 60 "the first sum of 2 ranks is not complete after 5 s" hang_rank=0,call=1
    ends_with "a later sum fails at rank 1" 60 "rank 1 of 2 on .*ncclAllReduce failed: .*Connection refused" fail_rank=1,call=9
    if is_long; then
      ends_with "rank 0 cannot create the communicator" 60 "$refused" fail_rank=0
      ends_with "rank 1 does not join" 60 "connecting of 2 ranks is not complete after 5 s" hang_rank=1
      ends_with "the first sum fails at rank 1" 60 "rank 1 of 2 on .*$refused" fail_rank=1,call=1
      ends_with "the first gathering hangs at rank 1" 60 "rank 1 .*the first gathering of 2 ranks is not complete" hang_rank=1,call=3
      ends_with "a later sum fails at rank 0" 60 "rank 0 of 2 on .*ncclAllReduce failed: .*Connection refused" fail_rank=0,call=9
      ends_with "a later sum hangs at rank 1" 60 "rank 1 of 2 on .*ncclAllReduce is not complete after 5 s" hang_rank=1,call=9
    fi
    ends_with "the GPU of rank 1 never completes a sum" 60 "rank 1 of 2 on .*is not complete after 5 s" stick_rank=1,call=9
    TRAINER_CONNECT_SECONDS=11 ends_with "connecting takes longer than 10 s" 60 "is not complete after 11 s" hang_rank=1
    tap_check "after 10 s the log has advice" "$(grep -q 'not connected after 10 s.*NCCL_SOCKET_IFNAME' \
      "$tap_dir/failing.$failing"/runs/*/*/log.txt || cat "$tap_dir/failing.$failing"/runs/*/*/log.txt)"
    unset TRAINER_CONNECT_SECONDS TRAINER_SUM_SECONDS
    [ "${TEST_RUNTIME:-}" != all ] ||
      ends_with "with the default limit" 150 "connecting of 2 ranks is not complete after 120 s" hang_rank=1
    unset RUNTIME_STAND_IN
    tap_check "identical bits with sums by MPI" "$(same two nccl)"
  fi
  ranks=("${mpi[@]}" -n 3)
  RUNTIME_STAND_IN=gpus=2 tap_expect "more ranks than GPUs" 2 "3 processes on .* share 2 GPUs" train three
  ranks=("${mpi[@]}" -n 1 -x CUDA_VISIBLE_DEVICES=1 "$built/trainer" --root "$tap_dir/apart")
  mkdir "$tap_dir/apart"
  for setting in "${settings[@]}" comm.library=mpi; do ranks+=(--set "$setting"); done
  ranks+=(: -n 1 -x CUDA_VISIBLE_DEVICES=0)
  RUNTIME_STAND_IN=gpus=2 tap_expect "ranks with one visible GPU each" 0 "finished, 4 of 4" train apart comm.library=mpi
fi
tap_done
