/* Masked attention among the shapes of a world (row_attention_internal.h) on the CPU: threads take whole worlds. */
#include "trainer/ops/cpu/cpu_entity_internal.h"
#include "trainer/ops/row_attention_internal.h"

static void attend_world(const RowWorld *w, float *out) {
  const OpsAttention *a = w->attention;
  for (int query = 0; query < a->entities; query++)
    for (int head = 0; head < a->heads; head++)
      row_attend(w, query, head, out + ((size_t)query * a->heads + head) * a->size);
}

static void attend_world_backward(const RowWorld *w, const float *dout, float *dqkv) {
  const OpsAttention *a = w->attention;
  memset(dqkv, 0, (size_t)a->entities * 3 * a->heads * a->size * sizeof *dqkv);
  for (int query = 0; query < a->entities; query++)
    for (int head = 0; head < a->heads; head++)
      row_attend_backward(w, query, head, dout + ((size_t)query * a->heads + head) * a->size, dqkv);
}

static RowWorld world_of(OpsRows x, const OpsAttention *a, const float *qkv, int row) {
  return (RowWorld){a, x.x + (size_t)row * x.stride, qkv + (size_t)row * a->entities * 3 * a->heads * a->size};
}

static void check(const OpsAttention *a) {
  CORE_CHECK(a->entities <= OPS_ENTITIES_MAX && a->heads % a->kinds == 0);
}

void cpu_attend(Ops *ops, OpsRows x, const OpsAttention *a, const float *qkv, float *out) {
  check(a);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < x.rows; row++) {
    const RowWorld w = world_of(x, a, qkv, row);
    attend_world(&w, out + (size_t)row * a->entities * a->heads * a->size);
  }
}

void cpu_attend_backward(Ops *ops, OpsRows x, const OpsAttention *a, const float *qkv, const float *dout, float *dqkv) {
  check(a);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < x.rows; row++) {
    const RowWorld w = world_of(x, a, qkv, row);
    attend_world_backward(&w, dout + (size_t)row * a->entities * a->heads * a->size,
                          dqkv + (size_t)row * a->entities * 3 * a->heads * a->size);
  }
}
