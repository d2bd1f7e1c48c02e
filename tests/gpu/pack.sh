#!/usr/bin/env bash
# Builds what tests/gpu/all.sh runs and puts it, with that script and the shared libraries that it needs, into one file of at
# most 64 MiB, for a GPU machine that has the driver and CUDA but none of the libraries to build with (and no network):
#   mkdir gpu && tar -xzf gpu.tar.gz -C gpu && gpu/tests/gpu/all.sh correctness report.txt      there; then figures, counters
# Needs nvcc, no GPU. Without oneDNN, MPI, libgd and libcurl, so that it is small; such a machine must have this one's kind of
# processor and a C library at least as new. For Hopper GPUs; drivers compile its PTX for newer ones.
# Usage: tests/gpu/pack.sh [FILE]     (default: build/gpu.tar.gz)
set -eu
cd "$(dirname "$0")/../.."
file=${1:-build/gpu.tar.gz} build=build/gpu_objects pack=build/gpu_objects/pack target=build/gpu_objects/pack/built
targets=${CUDA_TARGETS:--gencode=arch=compute_80,code=[sm_90,compute_80]} # the PTX that tests/ptx has tried
programs=(bin/trainer tests/bench/bench_device)
mapfile -t tests <tests/gpu/programs.txt
programs+=("${tests[@]/#/tests/unit/}")
make -j"$(nproc)" BUILD="$build" CUDA_TARGETS="$targets" HAS_DNNL=0 HAS_OPENBLAS=0 HAS_GD=0 HAS_MPI=0 HAS_CURL=0 "${programs[@]/#/$build/}"
if "$build/bin/trainer" info | grep -q 'built without CUDA'; then
  echo "tests/gpu/pack.sh: there is no nvcc, so no CUDA is in this build; set CUDA_HOME" >&2
  exit 1
fi
rm -rf "$pack"
mkdir -p "$target/lib"
for p in "${programs[@]}"; do strip -o "$target/$(basename "$p")" "$build/$p"; done
# Of the C library, the compiler's and the driver, the other machine has its own.
ldd "$target"/test_device_training "$target"/trainer | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/(ld-linux|libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|libcuda)[-.]' | xargs -r cp -L -t "$target/lib"
git rev-parse HEAD >"$target/commit" 2>/dev/null || true
"${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+).*/\1/p' >"$target/cuda"
[ -s "$target/cuda" ] || rm -f "$target/cuda"
mkdir -p "$pack/tests/gpu" "$pack/tests/unit" "$(dirname "$file")"
cp tests/gpu/all.sh tests/gpu/programs.txt "$pack/tests/gpu/"
for t in "${tests[@]}"; do cp "tests/unit/$t.c" "$pack/tests/unit/"; done # all.sh reads the names of their tests
tar -czf "$file" -C "$pack" built tests # not ".", whose mode tar gives to the folder it unpacks in
ls -lh "$file"
if [ "$(stat -c %s "$file")" -gt $((64 << 20)) ]; then echo "tests/gpu/pack.sh: $file is larger than 64 MiB" >&2; exit 1; fi
