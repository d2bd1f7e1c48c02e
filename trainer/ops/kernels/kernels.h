/* Kernels of the trainer for launches by the host: ops_adam_launch etc. (kernels.def). */
#ifndef TRAINER_OPS_KERNELS_H
#define TRAINER_OPS_KERNELS_H
#include "core/device/device.h"
#define KERNEL(name, arguments_type, group) extern const CoreKernel name##_launch;
#include "trainer/ops/kernels/kernels.def"
#undef KERNEL

/* ---- elementwise operations -------------------------------------------------------------------------------------- */

/* Run on host or device: a kernel's work on one element is a function (CORE_DEVICE_FN) shared by host and device, the
 * kernel a loop around it. For modules outside the ops whose buffers are on the device or on the host. */
enum {
  KERNELS_THREADS = 256,
  KERNELS_BLOCKS_MAX = 1 << 20,
  KERNELS_LOOP = 1 << 14 /* elements that justify several threads */
};

static inline void kernels_launch(CoreDevice *device, const CoreKernel *kernel, size_t n, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(n, KERNELS_THREADS, KERNELS_BLOCKS_MAX), KERNELS_THREADS, 0,
                 arguments);
}

/* Runs element(arguments, i) for all i < n: on a device by the kernel with that loop; device NULL: on the host. */
#define KERNELS_EACH(device, kernel, element, n, arguments)                              \
  do {                                                                                   \
    if (device) {                                                                        \
      kernels_launch((device), &kernel##_launch, (n), (arguments));                      \
      break;                                                                             \
    }                                                                                    \
    const size_t each_ = (n);                                                            \
    _Pragma("omp parallel for schedule(static) if (each_ > KERNELS_LOOP)")               \
    for (size_t i_ = 0; i_ < each_; i_++) element((arguments), i_);                      \
  } while (0)

#endif
