/* Masked attention among the shapes of one world (entity.h): forward and backward of one query of a head. Worlds have a
 * dozen shapes and heads of two elements, so these are loops, not matrix products; probabilities are recomputed for the
 * gradient. A device's threads compute the same sums (kernels_attention.h). */
#ifndef TRAINER_OPS_ROW_ATTENTION_INTERNAL_H
#define TRAINER_OPS_ROW_ATTENTION_INTERNAL_H
#include "trainer/ops/entity.h"
#include "trainer/ops/fast_math_internal.h"

/* Inputs of one world. */
typedef struct RowWorld {
  const OpsAttention *attention;
  const float *observation, *qkv;
} RowWorld;

CORE_DEVICE_FN int row_is_active(const RowWorld *w, int entity) {
  return entity == 0 || w->observation[w->attention->mask + entity - 1] != 0;
}

/* Returns the bits of the relations in which `query` may attend to `key`: all of them if either is the dummy. */
CORE_DEVICE_FN unsigned row_relations(const RowWorld *w, int query, int key) {
  if (!row_is_active(w, key)) return 0;
  if (query == 0 || key == 0) return ~0u;
  const int shapes = w->attention->entities - 1;
  return (unsigned)w->observation[w->attention->relations + (query - 1) * shapes + key - 1];
}

/* Returns the head's query (part 0), key (1) or value (2) of an entity. */
CORE_DEVICE_FN const float *row_attention_part(const RowWorld *w, int entity, int part, int head) {
  const OpsAttention *a = w->attention;
  return w->qkv + (((size_t)entity * 3 + part) * a->heads + head) * a->size;
}

CORE_DEVICE_FN float row_dot(const float *x, const float *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

CORE_DEVICE_FN unsigned row_attention_bit(const OpsAttention *a, int head) { return 1u << head * a->kinds / a->heads; }

/* Computes the probabilities of an active query; the dummy is always a valid key. */
CORE_DEVICE_FN void row_attention_weigh(const RowWorld *w, int query, int head, float *p) {
  const OpsAttention *a = w->attention;
  const float scale = 1.0f / sqrtf((float)a->size), *q = row_attention_part(w, query, 0, head);
  float largest = -INFINITY, sum = 0;
  for (int key = 0; key < a->entities; key++) {
    p[key] = -INFINITY;
    if ((row_relations(w, query, key) & row_attention_bit(a, head)) == 0) continue;
    p[key] = scale * row_dot(q, row_attention_part(w, key, 1, head), a->size);
    if (p[key] > largest) largest = p[key];
  }
  for (int key = 0; key < a->entities; key++) {
    p[key] = p[key] == -INFINITY ? 0 : fast_exp(p[key] - largest);
    sum += p[key];
  }
  for (int key = 0; key < a->entities; key++) p[key] /= sum;
}

/* Computes the output of one query of a head: out [size] (set; 0 for an inactive query). */
CORE_DEVICE_FN void row_attend(const RowWorld *w, int query, int head, float *out) {
  const OpsAttention *a = w->attention;
  float p[OPS_ENTITIES_MAX];
  for (int i = 0; i < a->size; i++) out[i] = 0;
  if (!row_is_active(w, query)) return;
  row_attention_weigh(w, query, head, p);
  for (int key = 0; key < a->entities; key++)
    if (p[key] != 0)
      for (int i = 0; i < a->size; i++) out[i] += p[key] * row_attention_part(w, key, 2, head)[i];
}

/* Adds the gradients of one query of one head to the head's queries, keys and values in dqkv, the world's. */
CORE_DEVICE_FN void row_attend_backward(const RowWorld *w, int query, int head, const float *dout, float *dqkv) {
  const OpsAttention *a = w->attention;
  const RowWorld gradient = {a, w->observation, dqkv};
  const float scale = 1.0f / sqrtf((float)a->size), *q = row_attention_part(w, query, 0, head);
  float p[OPS_ENTITIES_MAX], mean = 0, *dq = (float *)row_attention_part(&gradient, query, 0, head);
  float dp[OPS_ENTITIES_MAX];

  if (!row_is_active(w, query)) return;
  row_attention_weigh(w, query, head, p);
  for (int key = 0; key < a->entities; key++) {
    dp[key] = p[key] != 0 ? row_dot(dout, row_attention_part(w, key, 2, head), a->size) : 0;
    mean += p[key] * dp[key];
  }

  for (int key = 0; key < a->entities; key++) {
    const float ds = scale * p[key] * (dp[key] - mean), *k = row_attention_part(w, key, 1, head);
    float *dk = (float *)row_attention_part(&gradient, key, 1, head);
    float *dv = (float *)row_attention_part(&gradient, key, 2, head);
    if (p[key] == 0) continue;
    for (int i = 0; i < a->size; i++) {
      dq[i] += ds * k[i];
      dk[i] += ds * q[i];
      dv[i] += p[key] * dout[i];
    }
  }
}

#endif
