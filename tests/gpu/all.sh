#!/usr/bin/env bash
# Everything that only a GPU can show, in one go: builds, runs each test that has a part for GPUs, compute-sanitizer on
# small sizes, and the benchmarks; one report with all of it. Exits 1 where a part failed, 77 where there is no GPU.
# Usage: tests/gpu/all.sh [REPORT]     (default: build/gpu_report.txt)
set -u
cd "$(dirname "$0")/../.." || exit 1
report=${1:-build/gpu_report.txt} failed=0
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
  echo "tests/gpu/all.sh: this machine shows no GPU (nvidia-smi -L); nothing was run" >&2
  exit 77
fi
nvcc=${CUDA_HOME:+$CUDA_HOME/bin/nvcc}
nvcc=${nvcc:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ ! -x "$nvcc" ]; then
  echo "tests/gpu/all.sh: no nvcc, so the build would have no GPU in it; set CUDA_HOME" >&2
  exit 1
fi
tests=(test_batch_bits test_device_ops test_device_training)
make -j"$(nproc)" all "${tests[@]/#/build/tests/unit/}" build/tests/bench/bench_device || exit 1
mkdir -p "$(dirname "$report")"

part() { # title command...
  local title=$1 rc; shift
  { echo; echo "==== $title"; echo "\$ $*"; } >>"$report"
  timeout 900 "$@" >>"$report" 2>&1; rc=$?
  echo "==== exit $rc" >>"$report"
  printf '%-50s %s\n' "$title" "$([ $rc -eq 0 ] && echo ok || echo "FAILED ($rc)")"
  [ $rc -eq 0 ] || failed=1
}
{ echo "commit $(git rev-parse HEAD 2>/dev/null || echo unknown)"; date -u; nvidia-smi; "$nvcc" --version; build/bin/trainer info; } >"$report" 2>&1
for t in "${tests[@]}"; do part "$t" "build/tests/unit/$t"; done
# A test that was skipped for want of a GPU proves nothing.
if grep -q 'SKIPPED.*gpu' "$report"; then echo "a GPU test was skipped: see $report"; failed=1; fi
sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
for tool in memcheck racecheck synccheck initcheck; do
  if [ ! -x "$sanitizer" ]; then echo "compute-sanitizer is not there: $tool was not run" | tee -a "$report"; continue; fi
  part "compute-sanitizer $tool, ops" "$sanitizer" --tool "$tool" --error-exitcode 9 build/tests/unit/test_device_ops
done
# Physics: shared memory of teams, in every width; steps of a few worlds only, since racecheck is slow.
for tool in memcheck racecheck synccheck; do
  [ -x "$sanitizer" ] || continue
  part "compute-sanitizer $tool, physics" env TEST_BITS=gpu "$sanitizer" --tool "$tool" --error-exitcode 9 \
    build/tests/unit/test_batch_bits
done
# Ranks: NCCL with a GPU each, MPI on copies also with two on one.
gpus=$(nvidia-smi -L | grep -c '^GPU') mpi=(mpirun --oversubscribe)
if [ "$(id -u)" -eq 0 ]; then mpi+=(--allow-run-as-root); fi
if ! command -v mpirun >/dev/null; then echo "no mpirun: ranks were not run" | tee -a "$report"; else
  make build/tests/mpi/ranks_devices build/tests/mpi/ranks_queue || exit 1
  if [ "$gpus" -lt 2 ]; then echo "one GPU: NCCL between ranks was not run" | tee -a "$report"; else
    part "NCCL, $gpus ranks" "${mpi[@]}" -n "$gpus" build/tests/mpi/ranks_devices nccl
    part "updates in graphs, 2 ranks" "${mpi[@]}" -n 2 build/tests/mpi/ranks_queue
  fi
  root=$(mktemp -d)
  small=(--set train.device=cuda --set env.num=1024 --set ppo.num_steps=16 --set train.total_steps=65536 --set eval.count=0)
  for ranks in 1 $([ "$gpus" -lt 2 ] || echo 2); do
    mkdir "$root/$ranks"
    part "comm.deterministic, $ranks ranks" "${mpi[@]}" -n "$ranks" build/bin/trainer --root "$root/$ranks" "${small[@]}" \
      --set comm.deterministic=yes
    build/bin/trainer checkpoint "$root/$ranks"/runs/*/*/ckpt/*.ckpt | grep -vE '^file|section +clock' >"$root/bits.$ranks"
  done
  [ "$gpus" -lt 2 ] || part "the same bits from 1 and 2 GPUs" cmp "$root/bits.1" "$root/bits.2"
  part "two ranks on one GPU" env CUDA_VISIBLE_DEVICES=0 "${mpi[@]}" -n 2 build/bin/trainer --root "$root" "${small[@]}" \
    --set comm.share_gpu=yes
  rm -rf "$root"
fi
part "benchmarks" build/tests/bench/bench_device
root=$(mktemp -d)
part "training, 65 536 worlds, 3 x 256" build/bin/trainer --root "$root" --set train.device=cuda --set eval.count=0 \
  --set metrics.representation_every=1000 --set env.num=65536 --set ppo.num_steps=64 --set ppo.num_minibatches=16 \
  --set ppo.epochs=8 --set net.width=256 --set net.depth=3 --set train.total_steps=20971520
rm -rf "$root"
NVCC=$nvcc tests/tools/kernels.sh >>"$report" 2>&1 || failed=1
echo "report: $report"
exit $failed
