#!/usr/bin/env bash
# Builds what tests/gpu/all.sh runs and puts it, with that script and the shared libraries that it needs, into one file of at
# most 64 MiB, for a GPU machine that has the driver and CUDA but none of the libraries to build with (and no network):
#   mkdir gpu && tar -xzf gpu.tar.gz -C gpu && gpu/tests/gpu/all.sh report.txt      there
# Needs nvcc, no GPU. Without oneDNN, MPI, libgd and libcurl, so that it is small; such a machine must have this one's kind of
# processor and a C library at least as new. For Hopper GPUs; drivers compile its PTX for newer ones.
# --ranks: with MPI and NCCL, for all.sh ranks on a machine of two GPUs and more. Needs Open MPI 4 and nccl.h here; mpirun and
# its libraries are part of the archive, NCCL's library is not (CUDA's or PyTorch's there).
# Usage: tests/gpu/pack.sh [--ranks] [FILE]     (default: build/gpu.tar.gz, with --ranks build/gpu_ranks.tar.gz)
set -eu
cd "$(dirname "$0")/../.."
ranks=''
[ "${1:-}" != --ranks ] || { ranks=_ranks; shift; }
file=${1:-build/gpu$ranks.tar.gz} build=build/gpu_objects$ranks pack=build/gpu_objects$ranks/pack target=build/gpu_objects$ranks/pack/built
targets=${CUDA_TARGETS:--gencode=arch=compute_80,code=[sm_90,compute_80]} # the PTX that tests/ptx has tried
programs=(bin/trainer tests/bench/bench_device)
mapfile -t tests <tests/gpu/programs.txt
programs+=("${tests[@]/#/tests/unit/}")
features=(HAS_DNNL=0 HAS_OPENBLAS=0 HAS_GD=0 HAS_CURL=0)
if [ -n "$ranks" ]; then programs+=(tests/mpi/ranks_devices tests/mpi/ranks_queue); else features+=(HAS_MPI=0); fi
make -j"$(nproc)" BUILD="$build" CUDA_TARGETS="$targets" "${features[@]}" "${programs[@]/#/$build/}" "$build/lib/libsim.so"
if "$build/bin/trainer" info | grep -q 'built without CUDA'; then
  echo "tests/gpu/pack.sh: there is no nvcc, so no CUDA is in this build; set CUDA_HOME" >&2
  exit 1
fi
if [ -n "$ranks" ] && ! "$build/bin/trainer" info | grep -q '^MPI *yes'; then
  echo "tests/gpu/pack.sh: there is no MPI to build with; install libopenmpi-dev and openmpi-bin" >&2
  exit 1
fi
rm -rf "$pack"
mkdir -p "$target/lib"
for p in "${programs[@]}"; do strip -o "$target/$(basename "$p")" "$build/$p"; done
# libraries_of FILE...: the other machine has its own of the C library, the compiler and the driver.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(ld-linux|libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|libcuda)[-.]' | xargs -r cp -L -t "$target/lib"
}
libraries_of "$target"/test_device_training "$target"/trainer
cp -L "$build/lib/libsim.so" "$target/lib/" # for the levels of Kinetix (jax_gpu_levels.py)
# Open MPI: mpirun, its components, which it opens by name, and its messages. all.sh sets OPAL_PREFIX and the like.
if [ -n "$ranks" ]; then
  folder() { ompi_info --path "$1" --parsable | sed -n 's/^path:[a-z]*://p'; }
  mkdir -p "$target/mpi/bin"
  cp -L "$(command -v mpirun)" "$target/mpi/bin/mpirun"
  cp -rL "$(folder pkglibdir)" "$target/mpi/components"
  cp -rL "$(folder pkgdatadir)" "$target/mpi/messages"
  pmix=$(ls -d "$(folder libdir)"/pmix "$(folder libdir)"/../../pmix*/lib/pmix 2>/dev/null | head -n 1 || true)
  [ -z "$pmix" ] || cp -rL "$pmix" "$target/mpi/pmix"
  libraries_of "$target"/mpi/bin/mpirun "$target"/mpi/components/*.so $(ls "$target"/mpi/pmix/*.so 2>/dev/null)
fi
git rev-parse HEAD >"$target/commit" 2>/dev/null || true
"${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+).*/\1/p' >"$target/cuda"
[ -s "$target/cuda" ] || rm -f "$target/cuda"
mkdir -p "$pack/tests/gpu" "$pack/tests/unit" "$pack/tests/bench/peers" "$(dirname "$file")"
cp tests/gpu/all.sh tests/gpu/programs.txt "$pack/tests/gpu/"
cp tests/bench/peers/{jax_gpu,jax_gpu_levels,jax_gpu_transformer,distrax_part}.py "$pack/tests/bench/peers/"
for t in "${tests[@]}"; do cp "tests/unit/$t.c" "$pack/tests/unit/"; done # all.sh reads the names of their tests
tar -czf "$file" -C "$pack" built tests # not ".", whose mode tar gives to the folder it unpacks in
ls -lh "$file"
if [ "$(stat -c %s "$file")" -gt $((64 << 20)) ]; then echo "tests/gpu/pack.sh: $file is larger than 64 MiB" >&2; exit 1; fi
