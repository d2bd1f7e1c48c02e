#!/usr/bin/env bash
# The compiled GPU kernels have properties that the emulator cannot check: no float32 operation is contracted,
# approximate or flushed to zero, so that the bits can equal the CPU's; and none needs more registers than its threads
# can have. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
sim=$SWEEP_BUILD/obj/sim/device/kernels_cuda ops=$SWEEP_BUILD/obj/trainer/ops/kernels/kernels_cuda
if [ ! -e "$sim.ptx" ] || [ ! -e "$ops.ptx" ]; then
  tap_skip "GPU kernels" "this build has no CUDA"
  tap_done
fi

# instructions FILE: all but moves, loads, stores, comparisons and conversions, each form once
instructions() { grep -oE '^[[:space:]]+(@!?%p[0-9]+ )?[a-z0-9_]+(\.[a-z0-9_]+)+' "$1" | awk '{ print $NF }' | sort -u; }
# Of float32: + - * and fma not rounded as IEEE 754 has it, quick approximations, denormals flushed; but not those that
# REGEX names.
loose() {
  instructions "$1" | grep -E '\.f32$' | grep -E '^fma|\.ftz|\.approx|^(add|sub|mul|mad|div|sqrt|rcp)\.' |
    grep -vE '^(add|sub|mul|div|sqrt|rcp)\.rn\.f32$' | grep -vxE "${2:-none}"
}
tap_check "the simulator's kernels round every float32 operation once" "$(loose "$sim.ptx")"
# A tanh in float64, which is CUDA's own, begins with ex2.approx.
tap_check "the trainer's kernels round every float32 operation once, except activations rounded to bf16" \
  "$(loose "$ops.ptx" '(tanh|rcp|ex2)\.approx(\.ftz)?\.f32')"
approximate=$(awk '/^\.visible \.entry/ { name = $3; sub(/^_Z[0-9]+/, "", name); sub(/_kernel[0-9].*/, "", name) }
  /(tanh|rcp)\.approx(\.ftz)?\.f32/ { print name }' "$ops.ptx" | sort -u | paste -sd ' ')
expected="ops_encoder ops_encoder_backward ops_entity_attend ops_entity_attend_gradient ops_gate_close ops_gate_open ops_hidden_activate"
expected="$expected ops_hidden_gradient ops_mlp_forward ops_mlp_learn"
tap_check "these are approximated in hardware" "$([ "$approximate" = "$expected" ] || echo "kernels: $approximate")"
tap_check "nor does the simulator contract or approximate float64" \
  "$(instructions "$sim.ptx" | grep -E '\.f64$' | grep -E '^fma|^mad|\.approx')"
tap_check "the simulator calls nothing of CUDA's mathematics" "$(grep -oE '__nv_[a-z0-9_]+|__internal_[a-z0-9_]+' "$sim.ptx" | sort -u)"

# kernels: name, architecture, registers, bytes spilled, a line each
kernels() {
  awk '/Compiling entry function/ { split($0, q, "\047"); name = q[2]; arch = q[4]; sub(/^_Z[0-9]+/, "", name); sub(/_kernel[0-9].*/, "", name) }
    /bytes stack frame/ { spilled = $5 + $9 }
    /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print name, arch, $(i + 1), spilled }' "$sim.ptxas" "$ops.ptxas"
}
listed=$(grep -hc '^KERNEL(' sim/device/kernels.def trainer/ops/kernels/kernels.def | paste -sd+ | { read -r sum; echo $((sum)); })
architectures=$(kernels | awk '{ print $2 }' | sort -u | wc -l)
tap_check "the compiler reported on every kernel" \
  "$([ "$architectures" -ge 1 ] && [ "$(kernels | wc -l)" -eq $((listed * architectures)) ] || echo "$(kernels | wc -l) reports of $listed kernels, $architectures architectures")"
tap_check "no kernel spills registers" "$(kernels | awk '$4 > 0')"
# A processor has 65 536 registers: 256 threads a block (DEVICE_THREADS) may have all 255, 512 (KERNEL_MEASURE_THREADS) 128 each,
# 1024 (KERNEL_REWARD_THREADS) 64.
tap_check "blocks of 512 and 1024 threads find registers" \
  "$(kernels | awk '($1 ~ /^ops_(reward_moments|unit_sums)$/ && $3 > 64) || ($1 == "ops_descend_measured" && $3 > 128)')"
tap_done
