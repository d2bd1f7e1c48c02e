/* The kernels of the trainer for the GPU. */
#include "trainer/ops/kernels_compact.h"
#include "trainer/ops/kernels_dense.h"
#include "trainer/ops/kernels_entity.h"
#include "trainer/ops/kernels_normalise.h"
#include "trainer/ops/kernels_policy.h"
#include "trainer/ops/kernels_ranks.h"
#include "trainer/ops/kernels_rows.h"
#include "trainer/ops/kernels_update.h"

#define KERNELS "trainer/ops/kernels.def"
#include "core/device_entries.inc"
