/* Kernels of masked attention among the shapes of one world (entity.h). A thread has a query of a head, and in the
 * backward pass also the key and value of the same entity. Scores are computed again in each pass over the keys: an
 * array of them would be in local memory. Every sum has the CPU's order (row_attention_internal.h), so with float
 * matrices the bits are the CPU's. */
#ifndef TRAINER_OPS_KERNELS_ATTENTION_H
#define TRAINER_OPS_KERNELS_ATTENTION_H
#include "trainer/ops/kernels/kernels_bf16.h"
#include "trainer/ops/row_attention_internal.h"

enum { KERNEL_HEAD_SIZE = 2 };
typedef struct __attribute__((aligned(8))) OpsHeadVector { float x[KERNEL_HEAD_SIZE]; } OpsHeadVector;

typedef struct OpsAttend {
  OpsRows x;
  OpsAttention attention;
  const float *qkv, *dout;     /* [rows][entities][3][heads][size], [rows][entities][heads][size] */
  void *out;                   /* shape of dout; backward: of qkv */
  CoreDivisor32 heads, entities;
  OpsNumbers numbers;          /* type of out; bf16: exponentials are approximations */
} OpsAttend;

/* A thread's query, or key and value. */
typedef struct OpsAttendPlace {
  const OpsAttend *a;
  RowWorld world;
  int entity, head;
  OpsNumbers as;               /* a->numbers */
  const float *dout;           /* backward: [rows][heads][size]; i below is the place of the query there */
} OpsAttendPlace;

/* A query's softmax: its largest score, and the sum of exp(score - largest), bf16: its inverse. */
typedef struct OpsSoftmax {
  float largest, sum;
  float mean;                  /* mean gradient at the probabilities */
} OpsSoftmax;

CORE_KERNEL_FN OpsAttendPlace ops_attend_place(const OpsAttend *a, const OpsNumbers as, uint32_t i) {
  const OpsAttention *s = &a->attention;
  const CoreDivided32 place = core_divide_32(i, a->heads), query = core_divide_32(place.whole, a->entities);
  const size_t row = query.whole;
  const RowWorld world = {s, a->x.x + row * (size_t)a->x.stride,
                          a->qkv + row * (size_t)(s->entities * 3 * s->heads * KERNEL_HEAD_SIZE)};
  const OpsAttendPlace result = {a, world, (int)query.rest, (int)place.rest, as, a->dout};
  return result;
}

/* Returns the keys to which a query may attend, bit e for entity e, or with `is_key` the queries that may attend to a
 * key. The entity itself is active. */
CORE_KERNEL_FN uint32_t ops_attend_partners(const OpsAttendPlace *p, const bool is_key) {
  const OpsAttention *s = &p->a->attention;
  const int shapes = s->entities - 1, own = p->entity > 0 ? p->entity - 1 : 0, step = is_key ? shapes : 1;
  const float *active = p->world.observation + s->mask;
  const float *relation = p->world.observation + s->relations + (is_key ? own : own * shapes);
  const unsigned bit = row_attention_bit(s, p->head);
  uint32_t partners = 1; /* the dummy */
  for (int shape = 0; shape < shapes; shape++) {
    const bool is_related = p->entity == 0 || ((unsigned)relation[shape * step] & bit) != 0;
    partners |= (uint32_t)(is_related & (active[shape] != 0)) << (shape + 1);
  }
  return partners;
}

/* Returns the head's query (part 0), key (1) or value (2) of an entity of the thread's world. */
CORE_KERNEL_FN OpsHeadVector ops_head_vector(const OpsAttendPlace *p, int entity, int part) {
  const uint32_t place = ((uint32_t)entity * 3 + (uint32_t)part) * p->a->heads.number + (uint32_t)p->head;
  return ((const OpsHeadVector *)(const void *)p->world.qkv)[place];
}

CORE_KERNEL_FN float ops_attend_exp(const OpsNumbers as, float x) {
  return as == OPS_NUMBERS_BF16 ? ops_exp_rounded(x) : fast_exp(x);
}

CORE_KERNEL_FN float ops_attend_score(OpsHeadVector q, OpsHeadVector k) {
  return 1.0f / sqrtf((float)KERNEL_HEAD_SIZE) * row_dot(q.x, k.x, KERNEL_HEAD_SIZE);
}

CORE_KERNEL_FN float ops_attend_probability(const OpsAttendPlace *p, const OpsSoftmax *softmax, OpsHeadVector q,
                                            OpsHeadVector k) {
  const float e = ops_attend_exp(p->as, ops_attend_score(q, k) - softmax->largest);
  return p->as == OPS_NUMBERS_BF16 ? e * softmax->sum : e / softmax->sum;
}

CORE_KERNEL_FN OpsSoftmax ops_attend_softmax(const OpsAttendPlace *p, OpsHeadVector q, uint32_t keys) {
  const int entities = p->a->attention.entities;
  OpsSoftmax softmax = {-INFINITY, 0, 0};
  for (int key = 0; key < entities; key++) {
    const float score = ops_attend_score(q, ops_head_vector(p, key, 1));
    if ((keys >> key & 1) && score > softmax.largest) softmax.largest = score;
  }
  for (int key = 0; key < entities; key++) {
    const float score = ops_attend_score(q, ops_head_vector(p, key, 1));
    if (keys >> key & 1) softmax.sum += ops_attend_exp(p->as, score - softmax.largest);
  }
  if (p->as == OPS_NUMBERS_BF16) softmax.sum = ops_inverse_rounded(softmax.sum);
  return softmax;
}

/* Writes a vector of `out`, of which it is number i. */
CORE_KERNEL_FN void ops_put_head_vector(const OpsAttend *a, const OpsNumbers as, size_t i, OpsHeadVector vector) {
  if (as == OPS_NUMBERS_BF16) ((uint32_t *)a->out)[i] = row_bf16_pair(vector.x[0], vector.x[1]);
  else ((OpsHeadVector *)a->out)[i] = vector;
}

/* Adds factor * vector. */
CORE_KERNEL_FN void ops_add_head_vector(OpsHeadVector *sum, float factor, OpsHeadVector vector) {
  CORE_DEVICE_UNROLL for (int i = 0; i < KERNEL_HEAD_SIZE; i++) sum->x[i] += factor * vector.x[i];
}

/* Returns the output of the thread's query. */
CORE_KERNEL_FN OpsHeadVector ops_attend_query(const OpsAttendPlace *p) {
  OpsHeadVector out = {{0, 0}};
  if (!row_is_active(&p->world, p->entity)) return out;

  const OpsHeadVector q = ops_head_vector(p, p->entity, 0);
  const uint32_t keys = ops_attend_partners(p, false);
  const OpsSoftmax softmax = ops_attend_softmax(p, q, keys);
  for (int key = 0; key < p->a->attention.entities; key++) {
    const float weight = ops_attend_probability(p, &softmax, q, ops_head_vector(p, key, 1));
    if ((keys >> key & 1) && weight != 0) ops_add_head_vector(&out, weight, ops_head_vector(p, key, 2));
  }
  return out;
}

CORE_KERNEL_FN void ops_attend_by(const CoreDeviceThread *at, const OpsAttend *a, const OpsNumbers as) {
  const uint32_t each = a->entities.number * a->heads.number;
  for (size_t i = core_device_first(at); i < (size_t)a->x.rows * each; i += core_device_stride(at)) {
    const OpsAttendPlace p = ops_attend_place(a, as, (uint32_t)i);
    ops_put_head_vector(a, as, i, ops_attend_query(&p));
  }
}

CORE_KERNEL_FN void ops_entity_attend(const CoreDeviceThread *at, const OpsAttend *a) {
  if (a->numbers == OPS_NUMBERS_BF16) ops_attend_by(at, a, OPS_NUMBERS_BF16);
  else ops_attend_by(at, a, OPS_NUMBERS_FLOAT);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* Returns the gradient at the output of the head's query of an entity; i: the place of the thread's. */
CORE_KERNEL_FN OpsHeadVector ops_attend_dout(const OpsAttendPlace *p, uint32_t i, int entity) {
  const uint32_t place = i - (uint32_t)(p->entity - entity) * p->a->heads.number;
  return ((const OpsHeadVector *)(const void *)p->dout)[place];
}

/* Computes a query's softmax, and its gradient *dq. */
CORE_KERNEL_FN OpsSoftmax ops_attend_query_gradient(const OpsAttendPlace *p, uint32_t i, OpsHeadVector *dq) {
  const int entities = p->a->attention.entities;
  const OpsHeadVector q = ops_head_vector(p, p->entity, 0), dout = ops_attend_dout(p, i, p->entity);
  const uint32_t keys = ops_attend_partners(p, false);
  const float scale = 1.0f / sqrtf((float)KERNEL_HEAD_SIZE);

  OpsSoftmax softmax = ops_attend_softmax(p, q, keys);
  for (int key = 0; key < entities; key++) {
    const float weight = ops_attend_probability(p, &softmax, q, ops_head_vector(p, key, 1));
    const OpsHeadVector v = ops_head_vector(p, key, 2);
    if ((keys >> key & 1) && weight != 0) softmax.mean += weight * row_dot(dout.x, v.x, KERNEL_HEAD_SIZE);
  }

  for (int key = 0; key < entities; key++) {
    const OpsHeadVector k = ops_head_vector(p, key, 1), v = ops_head_vector(p, key, 2);
    const float weight = ops_attend_probability(p, &softmax, q, k);
    const float ds = scale * weight * (row_dot(dout.x, v.x, KERNEL_HEAD_SIZE) - softmax.mean);
    if ((keys >> key & 1) && weight != 0) ops_add_head_vector(dq, ds, k);
  }
  return softmax;
}

/* Computes the gradients of the key and value of the thread's entity; softmax[]: of the head's queries, `heads`
 * apart. */
CORE_KERNEL_FN void ops_attend_key_gradient(const OpsAttendPlace *p, uint32_t i, const OpsSoftmax *softmax,
                                            OpsHeadVector *dk, OpsHeadVector *dv) {
  const OpsHeadVector k = ops_head_vector(p, p->entity, 1), v = ops_head_vector(p, p->entity, 2);
  const uint32_t queries = ops_attend_partners(p, true);
  const float scale = 1.0f / sqrtf((float)KERNEL_HEAD_SIZE);
  for (int query = 0; query < p->a->attention.entities; query++) {
    if (!(queries >> query & 1)) continue;
    const OpsSoftmax own = softmax[(uint32_t)query * p->a->heads.number];
    const OpsHeadVector q = ops_head_vector(p, query, 0), dout = ops_attend_dout(p, i, query);
    const float weight = ops_attend_probability(p, &own, q, k);
    const float ds = scale * weight * (row_dot(dout.x, v.x, KERNEL_HEAD_SIZE) - own.mean);
    if (weight == 0) continue;
    ops_add_head_vector(dk, ds, q);
    ops_add_head_vector(dv, weight, dout);
  }
}

/* Computes the gradient of attention. A block has whole rows; shared memory: an OpsSoftmax per thread. */
CORE_KERNEL_FN void ops_attend_gradient_by(const CoreDeviceThread *at, const OpsAttend *a, const OpsNumbers as) {
  const size_t heads = a->heads.number, n = (size_t)a->x.rows * a->entities.number * heads;
  OpsSoftmax *softmax = (OpsSoftmax *)at->shared;

  for (size_t first = (size_t)at->block * at->threads; first < n; first += core_device_stride(at)) {
    const size_t i = first + at->thread;
    const bool is_within = i < n;
    const OpsAttendPlace p = ops_attend_place(a, as, (uint32_t)(is_within ? i : first));
    const bool is_active = is_within && row_is_active(&p.world, p.entity);
    OpsHeadVector dq = {{0, 0}}, dk = {{0, 0}}, dv = {{0, 0}};

    if (is_active) softmax[at->thread] = ops_attend_query_gradient(&p, (uint32_t)i, &dq);
    core_device_barrier(at);
    if (is_active)
      ops_attend_key_gradient(&p, (uint32_t)i, softmax + at->thread - (size_t)p.entity * heads, &dk, &dv);
    core_device_barrier(at);

    if (!is_within) continue;
    const size_t part = (i - (size_t)p.head) * 3 + (size_t)p.head;
    ops_put_head_vector(a, as, part, dq);
    ops_put_head_vector(a, as, part + heads, dk);
    ops_put_head_vector(a, as, part + 2 * heads, dv);
  }
}

CORE_KERNEL_FN void ops_entity_attend_gradient(const CoreDeviceThread *at, const OpsAttend *a) {
  if (a->numbers == OPS_NUMBERS_BF16) ops_attend_gradient_by(at, a, OPS_NUMBERS_BF16);
  else ops_attend_gradient_by(at, a, OPS_NUMBERS_FLOAT);
}

#endif
