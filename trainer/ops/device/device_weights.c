/* Gradients of the kernels and biases of several layers in one launch and a fold (kernels_weights.h). */
#include "trainer/ops/device/device_internal.h"

/* Slabs of rows; rows of a slab, few of which would move more sums than inputs and gradients. */
enum { SLABS_MAX = 16, SLAB_ROWS_MIN = 512 };

/* Places the product's sums among those of a slab. */
static void place_product(OpsWeightProduct *p, OpsWeights *a) {
  const uintptr_t read = device_address(p->x) | device_address(p->times) | device_address(p->moments) |
                         (p->dz_is_float ? 0 : device_address(p->dz));
  const uint32_t strides = p->row_x | (p->dz_is_float ? 0 : p->row_dz);
  CORE_CHECK(read % sizeof(OpsEight) == 0 && strides % KERNEL_EIGHT == 0 && p->rows > 0);
  CORE_CHECK(p->moments == NULL || p->in % KERNEL_EIGHT == 0);
  p->place = a->elements;
  a->elements += ops_weights_elements(p);
  a->tiles += ops_weights_tiles(p);
}

size_t device_weights_parts_max(int max_width) {
  const size_t chain = (size_t)OPS_MLP_LAYERS * (OPS_MLP_WIDEST + 1) * OPS_MLP_WIDEST;
  const size_t layer = (size_t)20 * OPS_TRANSFORMER_WIDTH * OPS_TRANSFORMER_WIDTH; /* and what is no square */
  return max_width >= 3 * OPS_TRANSFORMER_WIDTH ? OPS_TRANSFORMER_LAYERS * layer : chain;
}

void device_weights(DeviceState *state, const OpsWeightProduct *products, int count) {
  OpsWeights a = {.products = (uint32_t)count};
  size_t rows = 0;
  CORE_CHECK(count > 0 && count <= OPS_WEIGHTS_PRODUCTS);
  for (int i = 0; i < count; i++) {
    a.product[i] = products[i];
    place_product(&a.product[i], &a);
    rows = products[i].rows > rows ? products[i].rows : rows;
  }

  /* slabs that the scratch holds, which depends on the sizes of the run alone */
  const size_t room = state->column_parts_capacity / a.elements, most = room < SLABS_MAX ? room : SLABS_MAX;
  const size_t stages = (rows + OPS_WEIGHTS_STAGE - 1) / OPS_WEIGHTS_STAGE;
  CORE_CHECK(most > 0);
  const size_t slab_rows = (stages + most - 1) / most * OPS_WEIGHTS_STAGE;
  a.slab_rows = (uint32_t)(slab_rows > SLAB_ROWS_MIN ? slab_rows : SLAB_ROWS_MIN);
  const size_t slabs = (rows + a.slab_rows - 1) / a.slab_rows;
  a.parts = device_alloc_parts(state, slabs * a.elements);
  state->device->launch(state->device, &ops_weights_launch, (unsigned)slabs * a.tiles, OPS_WEIGHTS_THREADS,
                        OPS_WEIGHTS_BYTES, &a);
  DEVICE_LAUNCH(state, ops_weights_fold, a.elements, &a);
}
