/* Kernels of a recurrent policy's sequences (trainer/rollout/states.h): their rows in a rollout, the states that
 * entered them, and clearing states at the ends of episodes. The functions of one element are also called by the
 * host. */
#ifndef TRAINER_OPS_KERNELS_SEQUENCES_H
#define TRAINER_OPS_KERNELS_SEQUENCES_H
#include "trainer/math/sapg_layout.h"

/* rows[n]: the rollout's rows of the sequences `order`, one sequence after the other. */
typedef struct OpsSequenceRows { SapgLayout layout; const uint32_t *order; uint32_t *rows; size_t n; } OpsSequenceRows;
CORE_DEVICE_FN void ops_sequence_row(const OpsSequenceRows *a, size_t i) {
  const size_t length = (size_t)a->layout.sequence;
  a->rows[i] = sapg_sample(&a->layout, a->order[i / length], (uint32_t)(i % length));
}
CORE_KERNEL_FN void ops_sequence_rows(const CoreDeviceThread *at, const OpsSequenceRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_sequence_row(a, i);
}

/* rows [sequences][length], one sequence after the other -> by_step [length][sequences], one step after the other. */
typedef struct OpsStepRows { const uint32_t *rows; uint32_t *by_step; size_t n, length; } OpsStepRows;
CORE_DEVICE_FN void ops_step_row(const OpsStepRows *a, size_t i) {
  const size_t sequences = a->n / a->length;
  a->by_step[i] = a->rows[i % sequences * a->length + i / sequences];
}
CORE_KERNEL_FN void ops_step_rows(const CoreDeviceThread *at, const OpsStepRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_step_row(a, i);
}

/* starts[n]: for sequences that begin with these rows of [steps][worlds], the rows of their states among [steps /
 * length][worlds]. */
typedef struct OpsStartRows { const uint32_t *rows; uint32_t *starts; size_t n; uint32_t worlds, length; } OpsStartRows;
CORE_DEVICE_FN void ops_start_row(const OpsStartRows *a, size_t i) {
  a->starts[i] = a->rows[i] / a->worlds / a->length * a->worlds + a->rows[i] % a->worlds;
}
CORE_KERNEL_FN void ops_start_rows(const CoreDeviceThread *at, const OpsStartRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_start_row(a, i);
}

/* Clears states [worlds][state_size] where done. */
typedef struct OpsEndStates { float *states; const uint8_t *done; size_t worlds; CoreDivisor state_size; } OpsEndStates;
CORE_DEVICE_FN void ops_end_state(const OpsEndStates *a, size_t i) {
  if (a->done[core_divide(i, a->state_size).whole]) a->states[i] = 0;
}
CORE_KERNEL_FN void ops_end_states(const CoreDeviceThread *at, const OpsEndStates *a) {
  const size_t n = a->worlds * a->state_size.number;
  for (size_t i = core_device_first(at); i < n; i += core_device_stride(at)) ops_end_state(a, i);
}

#endif
