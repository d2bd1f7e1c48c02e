#!/usr/bin/env bash
# nvcc's PTX for the kernels gives the CPU's bits: tests of the emulated device run it, translated to C by tests/ptx,
# instead of the kernels' own bodies, and check for races between threads (races.c). The translator is tested first, on
# PTX fragments with known results. Longer parts run in check-long only (TEST_LONG). TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
ptx=$SWEEP_BUILD/tests/ptx unit=$SWEEP_BUILD/tests/unit

# ---- the translator ------------------------------------------------------------------------------
cases() { CORE_DEVICE_CODE=$ptx/cases.so "$ptx/cases" "$@"; }
tap_run "instructions give the results of the PTX ISA" 0 " 0 wrong" cases run
fault() { tap_run "$1" 134 "$3" cases fault "$2"; } # the program aborts
fault "an access beyond an allocation of device memory ends the program" global "outside of device memory: 4 bytes"
fault "so does a misaligned one" misaligned "a misaligned access to global memory: 8 bytes"
fault "one beyond shared memory" shared "an access beyond the block's shared memory"
fault "beyond local memory" local "an access outside of local memory"
fault "beyond the arguments" parameter "an access beyond a parameter"
fault "and one through a generic pointer to nowhere" generic "an access outside of all memory"
fault "a barrier's mask must be a group's" mask "a mask that is not that of the thread's own group"

# race NAME: the report on a kernel of `races`
race() { rm -f "$tap_dir/race"; PTX_RACES=$tap_dir/race cases race "$1" && cat "$tap_dir/race"; }
for name in none barrier warp_barrier same_value atomics shared_barrier; do
  tap_expect "no race is reported: $name" 0 '^1 launches watched, 0 races' race $name
done
for name in neighbor other_warp later_write one_word one_byte read_of_atomics shared ballot; do
  tap_expect "a race is reported: $name" 0 "^race in race_$name: " race $name
done

# tile NAME: on one line the reports on a kernel of `tiles`, run in each order of threads
tile() { local order; for order in forward backward isolated; do printf '%s ' "$(cases tile "$1" $order)"; done; }
right='^(# [a-z_]*: 0 threads wrong ){3}$' wrong='^(# [a-z_]*: [1-9][0-9]* threads wrong ){3}$'
for name in ldmatrix ldmatrix_trans mma copy copy_of_zeros two_groups overwritten_after_barrier; do
  tap_expect "in every order of threads: $name" 0 "$right" tile $name
done
for name in late_wait wait_for_too_few no_barrier barrier_before_wait no_commit; do
  tap_expect "in every order, a result is wrong: $name" 0 "$wrong" tile $name
done
tap_expect "a copy onto what others still read gives wrong results" 0 ': [1-9][0-9]* threads wrong' \
  cases tile overwritten backward
tap_expect "a missing barrier of a warp gives wrong results" 0 ': [1-9][0-9]* threads wrong' \
  cases tile no_warp_barrier isolated
tap_run "a copy that is never waited for ends the program" 134 "" cases tile no_wait forward
races_of_tile() { rm -f "$tap_dir/race"; PTX_RACES=$tap_dir/race cases tile "$1" forward && cat "$tap_dir/race"; }
for name in ldmatrix ldmatrix_trans copy two_groups overwritten_after_barrier; do
  tap_expect "no race is reported: $name" 0 '1 launches watched, 0 races' races_of_tile $name
done
for name in no_warp_barrier late_wait wait_for_too_few no_barrier barrier_before_wait no_commit overwritten; do
  tap_expect "a race is reported: $name" 0 "race in $name: " races_of_tile $name
done

# translate TEXT: a kernel with that text
translate() {
  printf '%s\n' '.version 9.0' '.target sm_90' '.address_size 64' \
    '.visible .entry _Z8a_kernel4Case(.param .align 8 .b8 p[16])' '{' '.reg .b32 %r<3>;' '.reg .b64 %rd<3>;' "$1" \
    'ret;' '}' >"$tap_dir/a.ptx"
  "$ptx/ptx_translate" --parts 1 ${2:+--target "$2"} "$tap_dir/a" "$tap_dir/a.ptx"
}
tap_run "an unknown instruction is an error with its line" 2 \
  "a.ptx:8: dp4a.u32.u32 %r1, %r2, %r0, %r1: an instruction that is not known" \
  translate 'dp4a.u32.u32 %r1, %r2, %r0, %r1;'
tap_run "so is a known one in an unknown form" 2 "a.ptx:8: setp.lt.and.s32" translate 'setp.lt.and.s32 %r1, %r2, %r0, %r1;'
tap_run "a register of the wrong width" 2 "a register of another width: '%rd1'" translate 'add.s32 %r1, %rd1, 1;'
tap_run "an undeclared register" 2 "an operand that is not known: '%r3'" translate 'add.s32 %r1, %r3, 1;'
tap_run "a barrier of a part of the block is refused" 2 "a barrier of a part of the block: '1'" translate 'bar.sync 1;'
tap_run "a target missing from the file is an error" 2 "a.ptx: no code for sm_80" translate '' sm_80
tap_run "a library without a kernel ends the program" 2 "no kernel 'sim_" \
  env CORE_DEVICE_CODE="$ptx/cases.so" TEST_ONLY=on_a_device "$unit/test_batch_bits"
tap_run "and so does a missing library" 2 "CORE_DEVICE_CODE = /nonexistent.so" \
  env CORE_DEVICE_CODE=/nonexistent.so "$ptx/cases" run

# ---- nvcc's code ---------------------------------------------------------------------------------
if [ ! -e "$ptx/kernels.so" ]; then
  tap_skip "nvcc's code gives the CPU's bits" "this build has no CUDA"
  tap_done
fi
export PTX_RAN=$tap_dir/ran # names of the kernels that have run
# part NAME TESTS PROGRAM: the program's tests of these names pass on nvcc's PTX
part() {
  local log rc without=()
  [ "$3" != test_batch_bits ] || without=(-u TEST_LONG) # its large hash would take hours
  # races in short parts only, because the check takes several times as long
  log=$(env "${without[@]}" ${races:+PTX_RACES="$races"} CORE_DEVICE_CODE="$ptx/kernels.so" TEST_ONLY="$2" CMOCKA_MESSAGE_OUTPUT=STDOUT "$unit/$3" 2>&1); rc=$?
  [ $rc -eq 0 ] && grep -q '\[  PASSED  \] [1-9]' <<<"$log"
  tap_result "$1" $? "exit code $rc: $(tail -30 <<<"$log")"
}
same=$(for file in sim/device/kernels_cuda trainer/ops/kernels/kernels_cuda; do # one section per target, separated by comments
  awk -v folder="$tap_dir" '/^\.version/ { n++ }
    !/^\.target/ && !/^\/\// && NF > 0 && n > 0 { print >(folder "/section." n) }' "$SWEEP_BUILD/obj/$file.ptx"
  for section in "$tap_dir"/section.*; do
    cmp -s "$tap_dir/section.1" "$section" || echo "$file.ptx: section ${section##*.} is another than the first"
  done
  rm "$tap_dir"/section.*
done)
tap_check "all targets have the same PTX" "$same"
part "physics: the pinned hash" on_a_device test_batch_bits
races=$tap_dir/races
part "physics with one thread per world" 'on_a_device_with_a_thread*' test_batch_bits
part "worlds that become NaN" 'worlds_that_are*' test_batch_bits
part "every function of ops.h, in every order of threads" '*' test_device_ops
part "every function of entity.h" '*' test_device_entity
part "kernels of bf16 matrices, each alone" test_forward test_device_bf16
part "kernels of bf16 matrices of entities, each alone" test_isolated test_device_entity_bf16
part "fused layers in bf16, layer by layer" test_forward test_device_mlp
part "fused layers in bf16, with each thread's own view" test_isolated test_device_mlp
part "gradients of several layers' kernels" test_isolated test_device_weights
part "the fused encoder, with each thread's own view" test_isolated test_device_fused_encoder
part "its fused gradient, with each thread's own view" test_isolated test_device_fused_backward
part "SAPG's samples and half precision" '*' test_device_sapg
part "measurements of hidden layers" test_forward test_device_measure
part "a training: ppo" test_ppo test_device_training
is_long || races=
part "generated and filtered levels" 'test_forward' test_level_device
part "padded and entity observations" '*' test_observe
part "every function of picture.h, and encoders of pixels" '*' test_device_picture
part "an LSTM's steps, and trainings of policies with memory" '*' test_recurrent
part "the noisy parabola, except for the last bits of its noise" '*' test_noisy_sgd
part "losses and schedules of other implementations" '*' test_regularizers
for training in normalization curriculum queued_shards; do
  part "a training: $training" "test_$training" test_device_training
done
for levels in device new_device filtered_device; do # levels of a set, new levels, filtered levels
  part "observations kept as states: $levels" "test_$levels" test_compact
done
tap_check "no race in the parts with the check" "$(grep '^race' "$tap_dir/races")"
# Physics without one of its first warp barriers, for each in turn: the accesses that it separates become a race.
seen=0 barriers=3
! is_long || barriers=7
for line in $(awk '/entry.*sim_step_warp_kernel/ { inside = 1 } /^}/ { inside = 0 }
  inside && /bar.warp.sync/ && ++count <= most { print NR }' most=$barriers "$SWEEP_BUILD/obj/sim/device/kernels_cuda.ptx"); do
  rm -f "$tap_dir/without"
  TEST_ONLY='worlds_that_are*' CORE_DEVICE_CODE=$ptx/kernels.so PTX_RACES=$tap_dir/without PTX_RACES_WITHOUT=$line \
    "$unit/test_batch_bits" >/dev/null 2>&1
  ! grep -q '^race in' "$tap_dir/without" || seen=$((seen + 1))
done
tap_check "most of $barriers missing barriers are detected" "$([ $seen -gt $((barriers / 2)) ] || echo "$seen of them")"
if command -v mpirun >/dev/null 2>&1 && ! trainer info | grep -q '^MPI  *no'; then
  . tests/mpi/launch.sh
  export CORE_DEVICE=emulated
  cd "$tap_dir" || exit 1
  printf '%s\n' '[env]' morphologies=car difficulty=0 level_count=4 num=12 '[train]' total_steps=384 device=cuda \
    '[ppo]' num_steps=16 num_minibatches=2 epochs=2 '[net]' width=16 depth=2 '[eval]' count=2 episodes=6 >small.ini
  train 2 own >out 2>&1
  CORE_DEVICE_CODE=$ptx/kernels.so train 2 theirs >out 2>&1
  [ -s "$(newest theirs)" ] && cmp -s <(contents own) <(contents theirs)
  tap_result "two ranks: the checkpoint of a training with the kernels' own bodies" $? "$(tail -5 out)"
  cd - >/dev/null || exit 1
  listed=$(sed -nE 's/^\.visible \.entry _Z[0-9]+([a-z0-9_]+)_kernel[0-9].*/\1/p' \
    "$SWEEP_BUILD"/obj/{sim/device,trainer/ops/kernels}/kernels_cuda.ptx)
  tap_check "every kernel has run" "$([ -n "$listed" ] || echo "no kernels in the .ptx files"
    sort -u <<<"$listed" | comm -23 - <(sort -u "$PTX_RAN"))"
else
  tap_skip "two ranks" "no MPI"
fi
if is_long; then
  part "layers in bf16" 'test_forward' test_device_chain
  part "kernels of bf16 matrices of entities at every size" 'test_forward' test_device_entity_bf16
  part "entity encoders in bf16" 'test_forward' test_device_encoder
  part "gradients of several layers' kernels, of more rows" test_forward test_device_weights
  part "the fused encoder at every size" 'test_forward' test_device_fused_encoder
  part "its fused gradient at every size" 'test_forward' test_device_fused_backward
  part "physics in every order of threads, crowded worlds, the large hash" '*' test_batch_bits
  part "levels in the other order of threads" test_backward test_level_device
  part "layers in bf16 in the other order" test_backward test_device_chain
  part "kernels of bf16 matrices in the other order" test_backward test_device_bf16
  part "fused layers in bf16 in the other order" test_backward test_device_mlp
  part "kernels of bf16 matrices of entities in the other order" test_backward test_device_entity_bf16
  part "entity encoders in bf16 in the other order" test_backward test_device_encoder
  part "gradients of several layers' kernels in the other order" test_backward test_device_weights
  part "the fused encoder in the other order" test_backward test_device_fused_encoder
  part "its fused gradient in the other order" test_backward test_device_fused_backward
  part "minibatches: kernels and sums" '*' test_device_update
  part "rollouts in halves" '*' test_device_rollout
  part "all trainings" '*' test_device_training
  part "observations kept as states, of any levels" '*' test_compact
fi
tap_done
