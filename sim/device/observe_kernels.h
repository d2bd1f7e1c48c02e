/* Kernels of observations on a device. The host builds a table of each element's source (SimObserved). Listed in
 * kernels.def; launched by batch_device.c. */
#ifndef SIM_OBSERVE_KERNELS_H
#define SIM_OBSERVE_KERNELS_H
#include "sim/device/batch_kernels.h"
#include "sim/task/observe_entity.h"

typedef struct SimDeviceObserve {
  SimDeviceBatch batch;
  CoreDivisor length;          /* elements of a row: batch.observation_length */
  float *observations;         /* [worlds][length] */
} SimDeviceObserve;

/* A world's state, its level's constants, and the index of the next element of its row. */
typedef struct SimObserveAt {
  const SimWorld *world;
  const SimModel *model;
  const float *template_row;
  uint32_t next;
} SimObserveAt;

CORE_KERNEL_FN SimObserveAt sim_observe_at(const SimDeviceBatch *batch, const SimWorld *world, uint32_t next) {
  const size_t level = (size_t)world->level;
  const SimObserveAt at = {world, &batch->models[level], batch->templates + level * (size_t)batch->whole_length, next};
  return at;
}

CORE_KERNEL_FN SimObserved sim_observe_source_of(const SimDeviceBatch *batch, uint32_t i) {
  SimObserved o;
  memcpy(&o, &batch->observed[i], sizeof o);
  return o;
}

/* ---- flat and padded: four neighboring elements per thread ------------------------------------------------------- */

enum { SIM_OBSERVE_FOUR = 4 };
typedef struct SimObserveFour { SIM_WARP_ALIGN float x[SIM_OBSERVE_FOUR]; } SimObserveFour;

/* Reads four elements, starting at `at`; angular velocities are marked in *turns, and still to be replaced by their
 * tanh. Beyond the last world its elements repeat. */
CORE_KERNEL_FN SimObserveFour sim_observe_read(const SimDeviceObserve *a, SimObserveAt at, uint32_t *turns) {
  const SimDeviceBatch *batch = &a->batch;
  const SimWorld *last = batch->worlds + (batch->first + batch->count - 1);
  SimObserveFour four;

  CORE_DEVICE_UNROLL for (unsigned k = 0; k < SIM_OBSERVE_FOUR; k++) {
    if (at.next == (uint32_t)a->length.number) at = sim_observe_at(batch, at.world < last ? at.world + 1 : last, 0);
    const SimObserved o = sim_observe_source_of(batch, at.next++);
    if (o.number == SIM_OBSERVED_CONSTANT || !at.model->moves[o.shape]) {
      four.x[k] = at.template_row[o.place];
      continue;
    }
    four.x[k] = (&at.world->body[o.shape].velocity.x)[o.number];
    if (o.number == SIM_OBSERVED_ANGULAR_VELOCITY) *turns |= 1u << k;
    else four.x[k] = sim_observe_clip(four.x[k]);
  }
  return four;
}

/* The last elements of all may be fewer than four. */
CORE_KERNEL_FN void sim_observe_write(const SimObserveFour *four, size_t count, float *to) {
  if (count >= SIM_OBSERVE_FOUR && (uintptr_t)to % sizeof *four == 0) {
    *(SimObserveFour *)(void *)to = *four;
    return;
  }
  CORE_DEVICE_UNROLL for (unsigned k = 0; k < SIM_OBSERVE_FOUR; k++)
    if (k < count) to[k] = four->x[k];
}

/* Among four neighbors usually at most one is an angular velocity, so that a warp computes its tanh once for 128
 * elements. */
CORE_KERNEL_FN void sim_observe_rows(const CoreDeviceThread *at, const SimDeviceObserve *a) {
  const size_t length = a->length.number, numbers = length * (size_t)a->batch.count;
  const size_t stride = SIM_OBSERVE_FOUR * core_device_stride(at);
  float *first = a->observations + length * (size_t)a->batch.first;

  for (size_t i = SIM_OBSERVE_FOUR * core_device_first(at); i < numbers; i += stride) {
    const CoreDivided place = core_divide(i, a->length);
    const SimWorld *world = &a->batch.worlds[(size_t)a->batch.first + place.whole];
    uint32_t turns = 0;
    SimObserveFour four = sim_observe_read(a, sim_observe_at(&a->batch, world, (uint32_t)place.rest), &turns);

    /* Angular velocities are rare, so that only they are computed one by one. */
    for (uint32_t left = turns; left; left &= left - 1) {
      const uint32_t now = left & (0u - left);
      const real w = now == 1   ? four.x[0]
                     : now == 2 ? four.x[1]
                     : now == 4 ? four.x[2]
                                : four.x[3];
      const real shown = sim_observe_clip(sim_observe_angular_velocity(w));
      CORE_DEVICE_UNROLL for (unsigned k = 0; k < SIM_OBSERVE_FOUR; k++)
        if (now >> k & 1u) four.x[k] = shown;
    }

    sim_observe_write(&four, numbers - i, first + i);
  }
}

/* ---- entities: an element per thread ----------------------------------------------------------------------------- */

CORE_KERNEL_FN void sim_observe_entities(const CoreDeviceThread *at, const SimDeviceObserve *a) {
  const size_t first = a->length.number * (size_t)a->batch.first, numbers = a->length.number * (size_t)a->batch.count;
  for (size_t i = core_device_first(at); i < numbers; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->length);
    const SimWorld *world = &a->batch.worlds[(size_t)a->batch.first + place.whole];
    const SimObserveAt row = sim_observe_at(&a->batch, world, (uint32_t)place.rest);
    a->observations[first + i] =
      sim_entity_number(row.model, world, row.template_row, sim_observe_source_of(&a->batch, row.next));
  }
}

#endif
