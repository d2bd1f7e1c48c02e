/* Bodies and arguments of all kernels in kernels.def, for generating tables of them. */
#ifndef TRAINER_OPS_KERNELS_BODIES_H
#define TRAINER_OPS_KERNELS_BODIES_H
#include "trainer/ops/kernels/kernels_attention.h"
#include "trainer/ops/kernels/kernels_bf16.h"
#include "trainer/ops/kernels/kernels_compact.h"
#include "trainer/ops/kernels/kernels_dense.h"
#include "trainer/ops/kernels/kernels_entity.h"
#include "trainer/ops/kernels/kernels_fused_backward.h"
#include "trainer/ops/kernels/kernels_fused_encoder.h"
#include "trainer/ops/kernels/kernels_lstm.h"
#include "trainer/ops/kernels/kernels_measure.h"
#include "trainer/ops/kernels/kernels_mlp.h"
#include "trainer/ops/kernels/kernels_noisy.h"
#include "trainer/ops/kernels/kernels_normalize.h"
#include "trainer/ops/kernels/kernels_normalize_each.h"
#include "trainer/ops/kernels/kernels_image.h"
#include "trainer/ops/kernels/kernels_policy.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/kernels/kernels_tile.h"
#include "trainer/ops/kernels/kernels_update.h"
#include "trainer/ops/kernels/kernels_weights.h"
#endif
