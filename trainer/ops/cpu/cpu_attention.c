/* Masked attention among the shapes of a world (row_attention_internal.h) on the CPU. Threads take whole worlds. The
 * heads of a query are the lanes of vectors, each of which computes what row_attend() computes, bit by bit: no sum is
 * over heads. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_attention_internal.h"

enum { QUERY, KEY, VALUE };
enum { LANES = 8, HEAD_SIZE_MAX = 4 }; /* heads of a vector; elements of a head's query, at most */
typedef float Lanes[LANES];
typedef Lanes Head[HEAD_SIZE_MAX];

/* A vector of heads of one world. Lanes beyond the last head are zero. */
typedef struct Heads {
  int first, count, size, entities;
  float scale;
  int32_t bits[LANES];                                     /* relations of the heads */
  Head part[3][OPS_ENTITIES_MAX];                          /* queries, keys and values */
  Head gradient[3][OPS_ENTITIES_MAX];                      /* theirs, in a backward pass */
  int32_t relations[OPS_ENTITIES_MAX][OPS_ENTITIES_MAX];   /* [query][key] */
} Heads;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void read_part(const RowWorld *w, const Heads *heads, int part, Head *lanes) {
  if (heads->count < LANES) memset(lanes, 0, (size_t)heads->entities * sizeof *lanes);
  for (int entity = 0; entity < heads->entities; entity++)
    for (int head = 0; head < heads->count; head++)
      for (int i = 0; i < heads->size; i++)
        lanes[entity][i][head] = row_attention_part(w, entity, part, heads->first + head)[i];
}

/* Writes a part of the gradient, whose world is `w`. */
static void write_part(const RowWorld *w, const Heads *heads, int part, const Head *lanes) {
  for (int entity = 0; entity < heads->entities; entity++)
    for (int head = 0; head < heads->count; head++)
      for (int i = 0; i < heads->size; i++)
        ((float *)(uintptr_t)row_attention_part(w, entity, part, heads->first + head))[i] = lanes[entity][i][head];
}

static void read_heads(const RowWorld *w, int first, Heads *heads) {
  const OpsAttention *a = w->attention;
  heads->first = first;
  heads->count = a->heads - first < LANES ? a->heads - first : LANES;
  heads->size = a->size;
  heads->entities = a->entities;
  heads->scale = 1.0f / sqrtf((float)a->size);
  for (int head = 0; head < LANES; head++)
    heads->bits[head] = head < heads->count ? (int32_t)row_attention_bit(a, first + head) : 0;

  for (int part = 0; part < 3; part++) read_part(w, heads, part, heads->part[part]);
  for (int query = 0; query < a->entities; query++)
    for (int key = 0; key < a->entities; key++) heads->relations[query][key] = (int32_t)row_relations(w, query, key);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Computes the probabilities of the keys of a query, as row_attention_weigh(). */
CPU_VECTOR static void weigh(const Heads *heads, int query, Lanes *restrict p) {
  Lanes largest, sum = {0};
  for (int lane = 0; lane < LANES; lane++) largest[lane] = -INFINITY;

  for (int key = 0; key < heads->entities; key++) {
    const int32_t related = heads->relations[query][key];
    const Lanes *q = heads->part[QUERY][query], *k = heads->part[KEY][key];
    Lanes dot = {0};
    for (int i = 0; i < heads->size; i++)
      for (int lane = 0; lane < LANES; lane++) dot[lane] += q[i][lane] * k[i][lane];
    for (int lane = 0; lane < LANES; lane++) {
      p[key][lane] = (related & heads->bits[lane]) != 0 ? heads->scale * dot[lane] : -INFINITY;
      largest[lane] = p[key][lane] > largest[lane] ? p[key][lane] : largest[lane];
    }
  }

  for (int key = 0; key < heads->entities; key++)
    for (int lane = 0; lane < LANES; lane++) {
      const float power = fast_exp(p[key][lane] - largest[lane]);
      p[key][lane] = p[key][lane] == -INFINITY ? 0 : power;
      sum[lane] += p[key][lane];
    }
  for (int key = 0; key < heads->entities; key++)
    for (int lane = 0; lane < LANES; lane++) p[key][lane] /= sum[lane];
}

/* Computes the outputs of a query, as row_attend(). */
CPU_VECTOR static void attend(const Heads *heads, const Lanes *restrict p, Lanes *restrict out) {
  for (int i = 0; i < heads->size; i++)
    for (int lane = 0; lane < LANES; lane++) out[i][lane] = 0;
  for (int key = 0; key < heads->entities; key++)
    for (int i = 0; i < heads->size; i++)
      for (int lane = 0; lane < LANES; lane++) {
        const float sum = out[i][lane] + p[key][lane] * heads->part[VALUE][key][i][lane];
        out[i][lane] = p[key][lane] != 0 ? sum : out[i][lane];
      }
}

/* Adds the gradients of a query, as row_attend_backward(). */
CPU_VECTOR static void attend_backward(Heads *restrict heads, int query, const Lanes *restrict p,
                                       const Lanes *restrict dout) {
  Lanes dp[OPS_ENTITIES_MAX], mean = {0};

  for (int key = 0; key < heads->entities; key++) {
    Lanes dot = {0};
    for (int i = 0; i < heads->size; i++)
      for (int lane = 0; lane < LANES; lane++) dot[lane] += dout[i][lane] * heads->part[VALUE][key][i][lane];
    for (int lane = 0; lane < LANES; lane++) {
      dp[key][lane] = p[key][lane] != 0 ? dot[lane] : 0;
      mean[lane] += p[key][lane] * dp[key][lane];
    }
  }

  for (int key = 0; key < heads->entities; key++)
    for (int i = 0; i < heads->size; i++)
      for (int lane = 0; lane < LANES; lane++) {
        const float weight = p[key][lane], ds = heads->scale * weight * (dp[key][lane] - mean[lane]);
        const float dquery = heads->gradient[QUERY][query][i][lane] + ds * heads->part[KEY][key][i][lane];
        const float dkey = heads->gradient[KEY][key][i][lane] + ds * heads->part[QUERY][query][i][lane];
        const float dvalue = heads->gradient[VALUE][key][i][lane] + weight * dout[i][lane];
        heads->gradient[QUERY][query][i][lane] = weight != 0 ? dquery : heads->gradient[QUERY][query][i][lane];
        heads->gradient[KEY][key][i][lane] = weight != 0 ? dkey : heads->gradient[KEY][key][i][lane];
        heads->gradient[VALUE][key][i][lane] = weight != 0 ? dvalue : heads->gradient[VALUE][key][i][lane];
      }
}

/* out: [entities][heads][size] */
static void attend_world(const RowWorld *w, float *out) {
  const OpsAttention *a = w->attention;
  Heads heads;
  for (int first = 0; first < a->heads; first += LANES) {
    read_heads(w, first, &heads);
    for (int query = 0; query < a->entities; query++) {
      Lanes p[OPS_ENTITIES_MAX];
      Head lanes = {{0}};
      if (row_is_active(w, query)) {
        weigh(&heads, query, p);
        attend(&heads, p, lanes);
      }
      for (int head = 0; head < heads.count; head++)
        for (int i = 0; i < a->size; i++) out[((size_t)query * a->heads + first + head) * a->size + i] = lanes[i][head];
    }
  }
}

static void attend_world_backward(const RowWorld *w, const float *dout, float *dqkv) {
  const OpsAttention *a = w->attention;
  const RowWorld gradient = {a, w->observation, dqkv};
  Heads heads;
  for (int first = 0; first < a->heads; first += LANES) {
    read_heads(w, first, &heads);
    for (int part = 0; part < 3; part++) memset(heads.gradient[part], 0, (size_t)a->entities * sizeof(Head));
    for (int query = 0; query < a->entities; query++) {
      Lanes p[OPS_ENTITIES_MAX];
      Head lanes = {{0}};
      if (!row_is_active(w, query)) continue;
      for (int head = 0; head < heads.count; head++)
        for (int i = 0; i < a->size; i++)
          lanes[i][head] = dout[((size_t)query * a->heads + first + head) * a->size + i];
      weigh(&heads, query, p);
      attend_backward(&heads, query, p, lanes);
    }
    for (int part = 0; part < 3; part++) write_part(&gradient, &heads, part, heads.gradient[part]);
  }
}

static RowWorld world_of(OpsRows x, const OpsAttention *a, const float *qkv, int row) {
  return (RowWorld){a, x.x + (size_t)row * x.stride, qkv + (size_t)row * a->entities * 3 * a->heads * a->size};
}

static void check(const OpsAttention *a) {
  CORE_CHECK(a->entities <= OPS_ENTITIES_MAX && a->heads % a->kinds == 0 && a->size <= HEAD_SIZE_MAX);
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
