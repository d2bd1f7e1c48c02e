/* The kernels of padded and entity observations on a device: one thread per feature, so that writes coalesce. Listed in
 * kernels.def; launched by batch_device.c. */
#ifndef SIM_OBSERVE_KERNELS_H
#define SIM_OBSERVE_KERNELS_H
#include "sim/device/batch_kernels.h"
#include "sim/task/observe_entity.h"

typedef struct SimDeviceEntities {
  SimDeviceBatch batch;
  SimEntityLayout layout;
  float *observations;         /* [worlds][layout.length] */
} SimDeviceEntities;

CORE_KERNEL_FN void sim_observe_entities(const CoreDeviceThread *at, const SimDeviceEntities *a) {
  const size_t length = (size_t)a->layout.length, first = length * (size_t)a->batch.first;
  const size_t end = first + length * (size_t)a->batch.count;
  for (size_t i = first + core_device_first(at); i < end; i += core_device_stride(at)) {
    const SimWorld *world = &a->batch.worlds[i / length];
    const float *template_row = a->batch.templates + (size_t)world->level * length;
    a->observations[i] =
      sim_entity_feature(&a->batch.models[world->level], world, &a->layout, template_row, (int)(i % length));
  }
}

typedef struct SimDevicePadded {
  SimDeviceBatch batch;
  SimPaddedLayout layout;
  float *observations;         /* [worlds][layout.length] */
} SimDevicePadded;

CORE_KERNEL_FN void sim_observe_matrix(const CoreDeviceThread *at, const SimDevicePadded *a) {
  const size_t length = (size_t)a->layout.length, first = length * (size_t)a->batch.first;
  const size_t end = first + length * (size_t)a->batch.count;
  for (size_t i = first + core_device_first(at); i < end; i += core_device_stride(at)) {
    const SimWorld *world = &a->batch.worlds[i / length];
    const float *template_row = a->batch.templates + (size_t)world->level * length;
    a->observations[i] =
      sim_padded_feature(&a->batch.models[world->level], world, a->layout, template_row, (int)(i % length));
  }
}

#endif
