/* Permutation-invariant encoder (encoder.h): every entity goes through a layer of its kind (60 units, tanh, plus a
 * one-hot encoding of its kind in four more elements), then through all heads (relu), whose outputs are summed over the
 * entities. Inactive entities enter as zeros, so that each adds relu(the heads' bias), as in the reference. */
#include "trainer/nets/encoder_internal.h"

enum { ENTITY = ENCODER_SET_ENTITY, KINDS = ENCODER_ENTITY_KINDS, EMBEDDED = ENCODER_SET_EMBEDDED, WIDTH = 256 };
/* Tensor indices: a kernel and bias for each kind, then those of the heads side by side. */
enum { ENTITY_KERNEL = 0, HEADS_KERNEL = 2 * KINDS };
static void list(EncoderShape *shape, int heads) {
  shape->width = WIDTH;
  shape->heads = heads;
  for (int kind = 0; kind < KINDS; kind++) {
    const EncoderEntities entities = encoder_entities(&shape->layout, kind);
    encoder_add_dense(shape, entities.name, entities.features, EMBEDDED, ENCODER_ORTHOGONAL);
  }
  encoder_add_dense(shape, "heads", ENTITY, WIDTH, ENCODER_HEADS);
}

static void list_set(EncoderShape *shape) { list(shape, 8); }
static void list_stoix(EncoderShape *shape) { list(shape, 4); }

typedef struct Memory {
  float *features[KINDS];     /* [rows][count][features] */
  float *embedded[KINDS];     /* [rows][count][EMBEDDED] */
  float *matrix;              /* [rows][entities][ENTITY] */
  float *heads;               /* [rows][entities][WIDTH] */
  float *dembedded, *dmatrix, *dheads;
} Memory;

static Memory lay_out(const EncoderShape *shape, int rows, float *base, size_t *used) {
  const size_t n = (size_t)rows, entities = (size_t)encoder_entity_count(&shape->layout);
  Memory m;
  *used = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    m.features[kind] = encoder_reserve(base, used, n * (size_t)(e.count * e.features));
    m.embedded[kind] = encoder_reserve(base, used, n * (size_t)e.count * EMBEDDED);
  }
  m.matrix = encoder_reserve(base, used, n * entities * ENTITY);
  m.heads = encoder_reserve(base, used, n * entities * WIDTH);
  m.dembedded = encoder_reserve(base, used, n * entities * EMBEDDED);
  m.dmatrix = encoder_reserve(base, used, n * entities * ENTITY);
  m.dheads = encoder_reserve(base, used, n * entities * WIDTH);
  return m;
}

static size_t floats(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out(shape, rows, NULL, &used);
  return used;
}

static OpsPack pack_of(const EncoderShape *shape, int kind) {
  OpsPack pack = {.width = EMBEDDED, .columns = ENTITY, .tag = encoder_set_tag(kind),
                  .entities = encoder_entity_count(&shape->layout)};
  for (int before = 0; before < kind; before++) pack.first += encoder_entities(&shape->layout, before).count;
  const EncoderEntities e = encoder_entities(&shape->layout, kind);
  pack.mask = e.mask;
  pack.count = e.count;
  return pack;
}

static OpsActivation last_activation(const EncoderShape *shape) {
  return shape->kind == ENCODER_SET ? OPS_TANH : OPS_LINEAR;
}

static void forward(const EncoderPass *pass, float *embedding) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows, entities = encoder_entity_count(&shape->layout);
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);

  for (int kind = 0; kind < KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    const OpsPack pack = pack_of(shape, kind);
    if (e.count == 0) continue;
    ops->entity->slice(ops, pass->x, e.offset, e.count * e.features, m.features[kind]);
    encoder_dense(pass, ENTITY_KERNEL + 2 * kind, true, m.features[kind], m.embedded[kind], rows * e.count, OPS_TANH);
    ops->entity->pack(ops, pass->x, &pack, m.embedded[kind], m.matrix);
  }

  encoder_layer(pass, HEADS_KERNEL, true, m.matrix, m.heads, ENCODER_NO_FLOATS, rows * entities, OPS_RELU);
  ops->entity->pool(ops, m.heads, NULL, rows, entities, WIDTH, last_activation(shape), embedding);
}

static void backward(const EncoderPass *pass, const float *embedding, const float *dembedding, float *gradient) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows, entities = encoder_entity_count(&shape->layout);
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);

  ops->entity->pool_backward(ops, embedding, dembedding, NULL, rows, entities, WIDTH, last_activation(shape), m.dheads);
  encoder_layer_backward(pass, HEADS_KERNEL, true, m.matrix, m.heads, ENCODER_NO_FLOATS, m.dheads, m.dmatrix, gradient,
                         NULL, rows * entities, OPS_RELU);

  for (int kind = 0; kind < KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    const OpsPack pack = pack_of(shape, kind);
    if (e.count == 0) continue;
    ops->entity->unpack(ops, pass->x, &pack, m.dmatrix, m.dembedded);
    encoder_dense_backward(pass, ENTITY_KERNEL + 2 * kind, true, m.features[kind], m.embedded[kind], m.dembedded, NULL,
                           gradient, NULL, rows * e.count, OPS_TANH);
  }
}

const EncoderDesign ENCODER_DESIGN_SET = {"set", list_set, floats, NULL, forward, backward, NULL};
const EncoderDesign ENCODER_DESIGN_STOIX_SET = {"stoix_set", list_stoix, floats, NULL, forward, backward, NULL};
