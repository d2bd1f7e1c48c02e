#!/usr/bin/env bash
# Prints the resources of each GPU kernel, as the compiler reports them: a Markdown table of registers, stack and
# spills.
# Usage: tests/tools/kernels.sh [ARCHITECTURE]   (make kernels; needs nvcc but no GPU)
set -u
cd "$(dirname "$0")/../.." || exit 1
arch=${1:-sm_90} nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "kernels.sh: no nvcc; set CUDA_HOME or NVCC" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "| kernel ($arch) | registers | stack, bytes | spilled, bytes |"
echo "|---|---|---|---|"
for source in sim/device/kernels_cuda.cu trainer/ops/kernels/kernels_cuda.cu; do
  "$nvcc" -std=c++17 -I. -O3 --fmad=false -gencode="arch=compute_${arch#sm_},code=$arch" -Xptxas -v -Xcompiler -w -c \
    -o "$work/kernels.o" "$source" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  c++filt <"$work/log" | awk '
    /Compiling entry function/ { split($0, q, "\047"); name = q[2]; sub(/\(.*/, "", name); sub(/_kernel$/, "", name) }
    /bytes stack frame/ { stack = $1; spilled = $5 }
    /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print "| " name " | " $(i + 1) " | " stack " | " spilled " |" }'
done
