/* Masked attention among the shapes of a world (entity.h). Worlds have a dozen shapes and heads of two numbers, so this
 * is loops over one world at a time, not matrix products; probabilities are computed again for the gradient. */
#include "trainer/ops/cpu_entity_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum { MOST = OPS_ENTITIES_MAX };

/* One world's inputs. */
typedef struct World {
  const OpsAttention *attention;
  const float *observation, *qkv;
} World;

static int is_active(const World *w, int entity) {
  return entity == 0 || w->observation[w->attention->mask + entity - 1] != 0;
}

/* May `query` look at `key` in a head of this relation's bit? */
static int is_allowed(const World *w, int query, int key, unsigned bit) {
  if (!is_active(w, key)) return 0;
  if (query == 0 || key == 0) return 1;
  const int shapes = w->attention->entities - 1;
  return ((unsigned)w->observation[w->attention->relations + (query - 1) * shapes + key - 1] & bit) != 0;
}

/* The head's query (part 0), key (1) or value (2) of an entity. */
static const float *part_of(const World *w, int entity, int part, int head) {
  const OpsAttention *a = w->attention;
  return w->qkv + (((size_t)entity * 3 + part) * a->heads + head) * a->size;
}

static float dot(const float *x, const float *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static unsigned bit_of(const OpsAttention *a, int head) { return 1u << head * a->kinds / a->heads; }

/* Probabilities of an active query; there is always the dummy to look at. */
static void weigh(const World *w, int query, int head, float *p) {
  const OpsAttention *a = w->attention;
  const float scale = 1.0f / sqrtf((float)a->size), *q = part_of(w, query, 0, head);
  float largest = -INFINITY, sum = 0;
  for (int key = 0; key < a->entities; key++) {
    p[key] = -INFINITY;
    if (!is_allowed(w, query, key, bit_of(a, head))) continue;
    p[key] = scale * dot(q, part_of(w, key, 1, head), a->size);
    if (p[key] > largest) largest = p[key];
  }
  for (int key = 0; key < a->entities; key++) {
    p[key] = p[key] == -INFINITY ? 0 : fast_exp(p[key] - largest);
    sum += p[key];
  }
  for (int key = 0; key < a->entities; key++) p[key] /= sum;
}

static void attend_world(const World *w, float *out) {
  const OpsAttention *a = w->attention;
  float p[MOST];
  memset(out, 0, (size_t)a->entities * a->heads * a->size * sizeof *out);
  for (int query = 0; query < a->entities; query++) {
    for (int head = 0; is_active(w, query) && head < a->heads; head++) {
      float *sum = out + ((size_t)query * a->heads + head) * a->size;
      weigh(w, query, head, p);
      for (int key = 0; key < a->entities; key++)
        for (int i = 0; p[key] != 0 && i < a->size; i++) sum[i] += p[key] * part_of(w, key, 2, head)[i];
    }
  }
}

/* What one query of one head sends to the queries, keys and values. */
static void query_backward(const World *w, int query, int head, const float *dout, float *dqkv) {
  const OpsAttention *a = w->attention;
  const World gradient = {a, w->observation, dqkv};
  const float scale = 1.0f / sqrtf((float)a->size), *q = part_of(w, query, 0, head);
  float p[MOST], dp[MOST] = {0}, mean = 0, *dq = (float *)part_of(&gradient, query, 0, head);
  weigh(w, query, head, p);
  for (int key = 0; key < a->entities; key++) {
    if (p[key] != 0) dp[key] = dot(dout, part_of(w, key, 2, head), a->size);
    mean += p[key] * dp[key];
  }
  for (int key = 0; key < a->entities; key++) {
    const float ds = scale * p[key] * (dp[key] - mean), *k = part_of(w, key, 1, head);
    float *dk = (float *)part_of(&gradient, key, 1, head), *dv = (float *)part_of(&gradient, key, 2, head);
    for (int i = 0; p[key] != 0 && i < a->size; i++) {
      dq[i] += ds * k[i];
      dk[i] += ds * q[i];
      dv[i] += p[key] * dout[i];
    }
  }
}

static void attend_world_backward(const World *w, const float *dout, float *dqkv) {
  const OpsAttention *a = w->attention;
  memset(dqkv, 0, (size_t)a->entities * 3 * a->heads * a->size * sizeof *dqkv);
  for (int query = 0; query < a->entities; query++)
    for (int head = 0; is_active(w, query) && head < a->heads; head++)
      query_backward(w, query, head, dout + ((size_t)query * a->heads + head) * a->size, dqkv);
}

static World world_of(OpsRows x, const OpsAttention *a, const float *qkv, int row) {
  return (World){a, x.x + (size_t)row * x.stride, qkv + (size_t)row * a->entities * 3 * a->heads * a->size};
}

static void check(const OpsAttention *a) {
  CORE_CHECK(a->entities <= OPS_ENTITIES_MAX && a->heads % a->kinds == 0);
}

void cpu_attend(Ops *ops, OpsRows x, const OpsAttention *a, const float *qkv, float *out) {
  check(a);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < x.rows; row++) {
    const World w = world_of(x, a, qkv, row);
    attend_world(&w, out + (size_t)row * a->entities * a->heads * a->size);
  }
}

void cpu_attend_backward(Ops *ops, OpsRows x, const OpsAttention *a, const float *qkv, const float *dout, float *dqkv) {
  check(a);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < x.rows; row++) {
    const World w = world_of(x, a, qkv, row);
    attend_world_backward(&w, dout + (size_t)row * a->entities * a->heads * a->size,
                          dqkv + (size_t)row * a->entities * 3 * a->heads * a->size);
  }
}
