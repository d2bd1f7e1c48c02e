/* Transformer over shapes (encoder.h). Polygons, circles and a dummy of ones attend to each other under masks of four
 * relations (two heads each); gates (GTrXL) replace residual sums; after each layer joints and thrusters send messages
 * to their shapes. The embedding is the mean over the dummy and the active shapes. */
#include <stdio.h>

#include "trainer/nets/encoder_internal.h"

enum { LAYERS = OPS_TRANSFORMER_LAYERS, WIDTH = OPS_TRANSFORMER_WIDTH, HEADS = OPS_TRANSFORMER_HEADS, HEAD_SIZE = 2,
       ATTENDED = HEADS * HEAD_SIZE,
       FEATURES_MIN = OPS_TRANSFORMER_FEATURES / 2 /* floats in the room of a fused pass's bf16 */ };
#define NORM_EPSILON 1e-6

/* Tensor indices: a kernel and bias for each kind of entity, then each layer's. */
enum { ENTITY_KERNEL = 0, FIRST_LAYER = 2 * ENCODER_ENTITY_KINDS };
enum { NORM_1 = 0, QKV = 2, OUT = 4, GATE_1 = 6, NORM_2 = 10, DENSE = 12, GATE_2 = 14, JOINT = 18, THRUSTER = 20,
       LAYER_TENSORS = 22 };
enum { GATE_Y = 0, GATE_X = 1, GATE_G = 2, GATE_BIAS = 3 }; /* tensors of a gate: Wr Wz Wg, Ur Uz, Ug, b */

static int layer_tensor(int layer, int which) { return FIRST_LAYER + layer * LAYER_TENSORS + which; }
static bool is_shape(int kind) { return kind == ENCODER_POLYGONS || kind == ENCODER_CIRCLES; }
/* Returns the width of an embedding; a shape's last element encodes its kind. */
static int embedded_width(int kind) { return is_shape(kind) ? WIDTH - 1 : WIDTH; }

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const char *named(char buffer[ENCODER_NAME], int layer, const char *what, int number, const char *part) {
  if (number) snprintf(buffer, ENCODER_NAME, "layer %d %s %d%s", layer, what, number, part);
  else snprintf(buffer, ENCODER_NAME, "layer %d %s%s", layer, what, part);
  return buffer;
}

static void list_norm(EncoderShape *shape, int layer, int number) {
  char name[ENCODER_NAME];
  encoder_add(shape, named(name, layer, "norm", number, " gain"), 1, WIDTH, ENCODER_ONES);
  encoder_add(shape, named(name, layer, "norm", number, " offset"), 1, WIDTH, ENCODER_ZEROS);
}

static void list_gate(EncoderShape *shape, int layer, int number) {
  char name[ENCODER_NAME];
  encoder_add(shape, named(name, layer, "gate", number, " W"), WIDTH, 3 * WIDTH, ENCODER_LECUN);
  encoder_add(shape, named(name, layer, "gate", number, " U"), WIDTH, 2 * WIDTH, ENCODER_LECUN);
  encoder_add(shape, named(name, layer, "gate", number, " Ug"), WIDTH, WIDTH, ENCODER_LECUN);
  encoder_add(shape, named(name, layer, "gate", number, " b"), 1, WIDTH, ENCODER_ZEROS);
}

static void list(EncoderShape *shape) {
  char name[ENCODER_NAME];
  shape->width = WIDTH;
  shape->heads = HEADS;

  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    encoder_add_dense(shape, e.name, e.features, embedded_width(kind), ENCODER_ORTHOGONAL);
  }

  for (int layer = 0; layer < LAYERS; layer++) {
    list_norm(shape, layer, 1);
    encoder_add_dense(shape, named(name, layer, "qkv", 0, ""), WIDTH, 3 * ATTENDED, ENCODER_LECUN);
    encoder_add_dense(shape, named(name, layer, "out", 0, ""), ATTENDED, WIDTH, ENCODER_LECUN);
    list_gate(shape, layer, 1);
    list_norm(shape, layer, 2);
    encoder_add_dense(shape, named(name, layer, "dense", 0, ""), WIDTH, WIDTH, ENCODER_LECUN);
    list_gate(shape, layer, 2);
    encoder_add_dense(shape, named(name, layer, "joint", 0, ""), 3 * WIDTH, WIDTH, ENCODER_LECUN);
    encoder_add_dense(shape, named(name, layer, "thruster", 0, ""), 2 * WIDTH, WIDTH, ENCODER_LECUN);
  }
}

/* ---- memory of a chunk ------------------------------------------------------------------------------------------- */

/* N = rows * (1 + shapes); matrices are [N][WIDTH] unless stated otherwise. Layers: entity.h. */
typedef OpsTransformerNorm Norm;
typedef OpsTransformerGate Gate;
typedef OpsTransformerLayer Layer;

typedef struct Memory {
  float *features[ENCODER_ENTITY_KINDS], *embedded[ENCODER_ENTITY_KINDS], *dembedded[ENCODER_ENTITY_KINDS];
  float *shapes;              /* input of the first layer */
  Layer layer[LAYERS];
  float *weights;             /* [N] weights of the mean */
  float *messages;            /* [rows][2 J or T][WIDTH], and their gradient */
  float *dgathered;           /* [rows][2 J or T][3 or 2 WIDTH] */
  float *dqkv, *dattended;
  float *gradients;           /* all that follow; of a fused backward pass, others (fused_gradients) */
  float *a, *u, *ug;          /* gate inputs, and their gradients: [N][3 WIDTH], [N][2 WIDTH], [N][WIDTH] */
  float *dx, *dy, *dz, *dt;   /* gradients during the backward pass */
  float *sums;                /* [2 WIDTH] */
} Memory;

static Norm place_norm(size_t n, float *base, size_t *used) {
  Norm norm = {0};
  norm.normalized = encoder_reserve(base, used, n * WIDTH);
  norm.inverse = encoder_reserve(base, used, n);
  norm.y = encoder_reserve(base, used, n * WIDTH);
  return norm;
}

static Gate place_gate(size_t n, float *base, size_t *used) {
  Gate gate = {0};
  gate.r = encoder_reserve(base, used, n * WIDTH);
  gate.z = encoder_reserve(base, used, n * WIDTH);
  gate.rx = encoder_reserve(base, used, n * WIDTH);
  gate.h = encoder_reserve(base, used, n * WIDTH);
  gate.out = encoder_reserve(base, used, n * WIDTH);
  return gate;
}

static void place_layer(const EncoderShape *shape, size_t rows, size_t n, float *base, size_t *used, Layer *layer) {
  const SimSize size = shape->layout.size;
  layer->norm_1 = place_norm(n, base, used);
  layer->norm_2 = place_norm(n, base, used);
  layer->qkv = encoder_reserve(base, used, n * 3 * ATTENDED);
  layer->attended = encoder_reserve(base, used, n * ATTENDED);
  layer->out = encoder_reserve(base, used, n * WIDTH);
  layer->dense = encoder_reserve(base, used, n * WIDTH);
  layer->gate_1 = place_gate(n, base, used);
  layer->gate_2 = place_gate(n, base, used);
  layer->gathered[0] = encoder_reserve(base, used, rows * (size_t)(2 * size.joints) * 3 * WIDTH);
  layer->gathered[1] = encoder_reserve(base, used, rows * (size_t)size.thrusters * 2 * WIDTH);
}

static Memory lay_out(const EncoderShape *shape, int count, float *base, size_t *used) {
  const SimSize size = shape->layout.size;
  const size_t rows = (size_t)count, n = rows * (size_t)(1 + shape->layout.shapes);
  const size_t senders = rows * (size_t)(2 * size.joints + size.thrusters);
  Memory m;
  *used = 0;

  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    const int features = e.features > FEATURES_MIN ? e.features : FEATURES_MIN;
    m.features[kind] = encoder_reserve(base, used, rows * (size_t)(e.count * features));
    m.embedded[kind] = encoder_reserve(base, used, rows * (size_t)e.count * WIDTH);
    m.dembedded[kind] = encoder_reserve(base, used, rows * (size_t)e.count * WIDTH);
  }

  m.shapes = encoder_reserve(base, used, n * WIDTH);
  for (int layer = 0; layer < LAYERS; layer++) place_layer(shape, rows, n, base, used, &m.layer[layer]);

  m.weights = encoder_reserve(base, used, n);
  m.messages = encoder_reserve(base, used, senders * WIDTH);
  m.dgathered = encoder_reserve(base, used, senders * 3 * WIDTH);
  m.dqkv = encoder_reserve(base, used, n * 3 * ATTENDED);
  m.dattended = encoder_reserve(base, used, n * ATTENDED);
  m.gradients = m.a = encoder_reserve(base, used, n * 3 * WIDTH);
  m.u = encoder_reserve(base, used, n * 2 * WIDTH);
  m.ug = encoder_reserve(base, used, n * WIDTH);
  m.dx = encoder_reserve(base, used, n * WIDTH);
  m.dy = encoder_reserve(base, used, n * WIDTH);
  m.dz = encoder_reserve(base, used, n * WIDTH);
  m.dt = encoder_reserve(base, used, n * WIDTH);
  m.sums = encoder_reserve(base, used, 2 * WIDTH);
  return m;
}

static size_t floats(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out(shape, rows, NULL, &used);
  return used;
}

/* ---- shapes for the ops ------------------------------------------------------------------------------------------ */

static int entities_of(const EncoderPass *pass) { return 1 + pass->shape->layout.shapes; }
static int matrix_rows(const EncoderPass *pass) { return pass->x.rows * entities_of(pass); }

static OpsPack pack_of(const EncoderPass *pass, int kind) {
  const EncoderEntities e = encoder_entities(&pass->shape->layout, kind);
  return (OpsPack){.mask = e.mask, .count = e.count, .width = WIDTH - 1, .columns = WIDTH,
                   .first = kind == ENCODER_POLYGONS ? 1 : 1 + pass->shape->layout.size.polygons,
                   .entities = entities_of(pass), .tag = kind == ENCODER_POLYGONS ? WIDTH - 1 : -1};
}

static OpsAttention attention_of(const EncoderPass *pass) {
  const SimEntityLayout *l = &pass->shape->layout;
  return (OpsAttention){.relations = l->attention, .mask = l->polygon_mask, .kinds = SIM_ATTEND_KINDS,
                        .entities = entities_of(pass), .heads = HEADS, .size = HEAD_SIZE};
}

/* Returns the message layout of a sender: 0 joints, 1 thrusters. */
static OpsMessage message_of(const EncoderPass *pass, int sender) {
  const SimEntityLayout *l = &pass->shape->layout;
  if (sender == 0)
    return (OpsMessage){.mask = l->joint_mask, .shapes = l->joint_shapes, .count = 2 * l->size.joints, .ends = 2,
                        .entities = entities_of(pass), .width = WIDTH};
  return (OpsMessage){.mask = l->thruster_mask, .shapes = l->thruster_shapes, .count = l->size.thrusters, .ends = 1,
                      .entities = entities_of(pass), .width = WIDTH};
}
static const int SENDER_KIND[2] = {ENCODER_JOINTS, ENCODER_THRUSTERS}, SENDER_TENSOR[2] = {JOINT, THRUSTER};

static const float *parameter(const EncoderPass *pass, int tensor) {
  return pass->theta + pass->shape->tensor[tensor].offset;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void embed(const EncoderPass *pass, const Memory *m) {
  Ops *ops = pass->ops;
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&pass->shape->layout, kind);
    if (e.count == 0) continue;
    ops->entity->slice(ops, pass->x, e.offset, e.count * e.features, m->features[kind]);
    encoder_dense(pass, ENTITY_KERNEL + 2 * kind, true, m->features[kind], m->embedded[kind], pass->x.rows * e.count,
                  OPS_TANH);
    const OpsPack pack = pack_of(pass, kind);
    if (is_shape(kind)) ops->entity->pack(ops, pass->x, &pack, m->embedded[kind], m->shapes);
  }
  ops->entity->dummy(ops, pass->x.rows, entities_of(pass), WIDTH, m->shapes);
}

static void norm(const EncoderPass *pass, int tensor, const float *x, const Norm *norm) {
  const OpsRows all = {x, matrix_rows(pass), WIDTH};
  if (pass->ops->entity->norm) {
    pass->ops->entity->norm(pass->ops, x, norm->normalized, norm->inverse, parameter(pass, tensor),
                            parameter(pass, tensor + 1), norm->y, all.rows, WIDTH, NORM_EPSILON);
    return;
  }
  pass->ops->entity->slice(pass->ops, all, 0, WIDTH, norm->normalized); /* works in place */
  pass->ops->norm_forward(pass->ops, norm->normalized, norm->inverse, parameter(pass, tensor),
                          parameter(pass, tensor + 1), norm->y, all.rows, WIDTH, NORM_EPSILON, OPS_LINEAR);
}

static void gate(const EncoderPass *pass, const Memory *m, int tensor, const float *x, const float *y, const Gate *g) {
  Ops *ops = pass->ops;
  const int n = matrix_rows(pass);
  encoder_layer(pass, tensor + GATE_Y, false, y, m->a, ENCODER_NO_FLOATS, n, OPS_LINEAR);
  encoder_layer(pass, tensor + GATE_X, false, x, m->u, ENCODER_NO_FLOATS, n, OPS_LINEAR);
  ops->entity->gate_open(ops, m->a, m->u, parameter(pass, tensor + GATE_BIAS), x, n, WIDTH, g->r, g->z, g->rx);
  encoder_layer(pass, tensor + GATE_G, false, g->rx, m->ug, ENCODER_NO_FLOATS, n, OPS_LINEAR);
  ops->entity->gate_close(ops, m->a, m->ug, g->z, x, n, WIDTH, g->h, g->out);
}

/* All messages read the shapes before any of them is added. */
static void send(const EncoderPass *pass, const Memory *m, int layer, float *shapes) {
  Ops *ops = pass->ops;
  float *messages = m->messages;
  OpsMessage message[2] = {message_of(pass, 0), message_of(pass, 1)};
  for (int s = 0; s < 2; s++) {
    const int count = pass->x.rows * message[s].count;
    if (count == 0) continue;
    ops->entity->gather(ops, pass->x, &message[s], shapes, m->embedded[SENDER_KIND[s]], m->layer[layer].gathered[s]);
    encoder_layer(pass, layer_tensor(layer, SENDER_TENSOR[s]), true, m->layer[layer].gathered[s], messages,
                  ENCODER_NO_FLOATS, count, OPS_LINEAR);
    messages += (size_t)count * WIDTH;
  }
  ops->entity->scatter(ops, pass->x, &message[0], m->messages, shapes);
  ops->entity->scatter(ops, pass->x, &message[1],
                       m->messages + (size_t)pass->x.rows * (size_t)message[0].count * WIDTH, shapes);
}

static const float *layer_input(const Memory *m, int layer) {
  return layer == 0 ? m->shapes : m->layer[layer - 1].gate_2.out;
}

static void layer_forward(const EncoderPass *pass, const Memory *m, int layer) {
  Ops *ops = pass->ops;
  const Layer *l = &m->layer[layer];
  const float *x = layer_input(m, layer);
  const OpsAttention attention = attention_of(pass);
  const int n = matrix_rows(pass);
  norm(pass, layer_tensor(layer, NORM_1), x, &l->norm_1);
  encoder_layer(pass, layer_tensor(layer, QKV), true, l->norm_1.y, l->qkv, ENCODER_FLOAT_RESULT, n, OPS_LINEAR);
  ops->entity->attend(ops, pass->x, &attention, l->qkv, l->attended);
  encoder_layer(pass, layer_tensor(layer, OUT), true, l->attended, l->out, ENCODER_NO_FLOATS, n, OPS_RELU);
  gate(pass, m, layer_tensor(layer, GATE_1), x, l->out, &l->gate_1);
  norm(pass, layer_tensor(layer, NORM_2), l->gate_1.out, &l->norm_2);
  encoder_layer(pass, layer_tensor(layer, DENSE), true, l->norm_2.y, l->dense, ENCODER_NO_FLOATS, n, OPS_RELU);
  gate(pass, m, layer_tensor(layer, GATE_2), l->gate_1.out, l->dense, &l->gate_2);
  send(pass, m, layer, l->gate_2.out);
}

/* Places the gradients that a fused backward pass leaves of all layers, in bf16: in memory that the separate kernels
 * use for those of one gate, and where matrices of bf16 leave half of the room of floats. */
static void fused_gradients(const Memory *m, size_t n, const OpsMessage message[2], size_t rows, OpsTransformer *t) {
  enum { HALF = WIDTH / 2 };
  const size_t joints = rows * (size_t)message[0].count, senders = joints + rows * (size_t)message[1].count;
  float *next = m->gradients;
  _Static_assert(2 * LAYERS * 3 * HALF <= 10 * WIDTH, "gates' da in the room of a to dt");

  for (int l = 0; l < LAYERS; l++) {
    Layer *layer = &t->layer[l];
    Gate *const gate[2] = {&layer->gate_1, &layer->gate_2};
    for (int g = 0; g < 2; g++) {
      gate[g]->da = next;
      next += n * 3 * HALF;
    }

    layer->dout = layer->gate_1.z + n * HALF;
    layer->ddense = layer->gate_2.z + n * HALF;
    layer->dqkv = m->dqkv + (size_t)l * n * 3 * ATTENDED / 2;
    layer->dmessages[0] = m->messages + (size_t)l * senders * HALF;
    layer->dmessages[1] = layer->dmessages[0] + joints * HALF;
  }
}

/* Describes the pass to OpsEntity.transform and transform_backward. */
static OpsTransformer transformer_of(const EncoderPass *pass, const Memory *m) {
  const EncoderTensor *tensor = pass->shape->tensor;
  OpsTransformer t = {.attention = attention_of(pass), .message = {message_of(pass, 0), message_of(pass, 1)},
                      .kinds = ENCODER_ENTITY_KINDS, .layers = LAYERS, .shapes = m->shapes, .weights = m->weights,
                      .theta = pass->theta, .rounded = pass->rounded, .epsilon = (float)NORM_EPSILON,
                      .is_learning = pass->is_learning};

  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&pass->shape->layout, kind);
    t.kind[kind] = (OpsTransformerKind){pack_of(pass, kind), e.offset, e.features, is_shape(kind), m->features[kind],
                                        m->embedded[kind], tensor[ENTITY_KERNEL + 2 * kind].offset,
                                        m->dembedded[kind]};
    t.kind[kind].pack.width = embedded_width(kind);
  }

  for (int l = 0; l < LAYERS; l++) {
    const EncoderTensor *first = &tensor[layer_tensor(l, 0)];
    Layer *layer = &t.layer[l];
    *layer = m->layer[l];
    layer->norm_1.moments = layer->norm_1.normalized; /* in room that separate functions use */
    layer->norm_2.moments = layer->norm_2.normalized;
    layer->norm_1.gain = first[NORM_1].offset;
    layer->norm_2.gain = first[NORM_2].offset;
    layer->gate_1.w = first[GATE_1].offset;
    layer->gate_2.w = first[GATE_2].offset;
    layer->qkv_w = first[QKV].offset;
    layer->out_w = first[OUT].offset;
    layer->dense_w = first[DENSE].offset;
    for (int s = 0; s < 2; s++) layer->message[s] = first[SENDER_TENSOR[s]].offset;
  }
  fused_gradients(m, (size_t)matrix_rows(pass), t.message, (size_t)pass->x.rows, &t);
  return t;
}

static void forward(const EncoderPass *pass, float *embedding) {
  Ops *ops = pass->ops;
  size_t used;
  const Memory m = lay_out(pass->shape, pass->x.rows, pass->memory, &used);
  const OpsTransformer transformer = transformer_of(pass, &m);
  if (ops->entity->transform && ops->entity->transform(ops, pass->x, &transformer, embedding)) return;

  embed(pass, &m);
  for (int layer = 0; layer < LAYERS; layer++) layer_forward(pass, &m, layer);
  ops->entity->mean_weights(ops, pass->x, pass->shape->layout.polygon_mask, pass->shape->layout.shapes, m.weights);
  ops->entity->pool(ops, layer_input(&m, LAYERS), m.weights, pass->x.rows, entities_of(pass), WIDTH, OPS_LINEAR,
                    embedding);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* dshapes: gradient after the messages; becomes that before them. */
static void send_backward(const EncoderPass *pass, const Memory *m, int layer, float *dshapes, float *gradient) {
  Ops *ops = pass->ops;
  const size_t joints = (size_t)pass->x.rows * (size_t)message_of(pass, 0).count;
  float *dgathered[2] = {m->dgathered, m->dgathered + joints * 3 * WIDTH};

  for (int s = 0; s < 2; s++) { /* both before either adds to dshapes */
    const OpsMessage message = message_of(pass, s);
    const int count = pass->x.rows * message.count;
    if (count == 0) continue;
    ops->entity->scatter_backward(ops, pass->x, &message, dshapes, m->messages);
    encoder_layer_backward(pass, layer_tensor(layer, SENDER_TENSOR[s]), true, m->layer[layer].gathered[s], NULL,
                           ENCODER_NO_FLOATS, m->messages, dgathered[s], gradient, NULL, count, OPS_LINEAR);
  }

  for (int s = 0; s < 2; s++) {
    const OpsMessage message = message_of(pass, s);
    ops->entity->gather_backward(ops, pass->x, &message, dgathered[s], dshapes, m->dembedded[SENDER_KIND[s]]);
  }
}

/* dout: gradient at the gate's output; dx, dy (set): at its inputs. Where norm_backward adds it, dx is without the part
 * by u, which is left in m->ug. */
static void gate_backward(const EncoderPass *pass, const Memory *m, int tensor, const float *x, const float *y,
                          const Gate *g, const float *dout, float *dx, float *dy, float *gradient) {
  Ops *ops = pass->ops;
  const int n = matrix_rows(pass);
  float *drx = m->dt, *dbias = gradient + pass->shape->tensor[tensor + GATE_BIAS].offset;
  const bool sums = ops->entity->gate_close_bias_backward != NULL;

  if (sums)
    ops->entity->gate_close_bias_backward(ops, dout, g->z, g->h, x, n, WIDTH, m->ug, m->a, m->u, dx, dbias);
  else ops->entity->gate_close_backward(ops, dout, g->z, g->h, x, n, WIDTH, m->ug, m->a, m->u, dx);
  encoder_layer_backward(pass, tensor + GATE_G, false, g->rx, NULL, ENCODER_NO_FLOATS, m->ug, drx, gradient, NULL, n,
                         OPS_LINEAR);

  ops->entity->gate_open_backward(ops, drx, g->r, x, n, WIDTH, m->a, m->u, dx);
  encoder_layer_backward(pass, tensor + GATE_Y, false, y, NULL, ENCODER_NO_FLOATS, m->a, dy, gradient, NULL, n,
                         OPS_LINEAR);
  encoder_layer_backward(pass, tensor + GATE_X, false, x, NULL, ENCODER_NO_FLOATS, m->u, m->ug, gradient,
                         sums ? NULL : m->sums, n, OPS_LINEAR);

  if (ops->entity->norm_add_gradient == NULL) ops->add(ops, dx, m->ug, (size_t)n * WIDTH);
  if (sums) return;
  ops->entity->slice(ops, (OpsRows){m->sums, 1, 2 * WIDTH}, WIDTH, WIDTH, dbias);
  ops->normalize(ops, dbias, WIDTH, 0, -1); /* it is subtracted where u's z part is added */
}

/* dy: gradient at the norm's output (overwritten); its gradient at the input is added to dx, of the last gate. */
static void norm_backward(const EncoderPass *pass, const Memory *m, int tensor, const Norm *norm, float *dy, float *dx,
                          float *gradient) {
  const int n = matrix_rows(pass);
  float *dgain = gradient + pass->shape->tensor[tensor].offset;
  float *doffset = gradient + pass->shape->tensor[tensor + 1].offset;
  if (pass->ops->entity->norm_add_gradient) {
    pass->ops->entity->norm_add_gradient(pass->ops, norm->normalized, norm->inverse, parameter(pass, tensor), dy,
                                         m->ug, dx, dgain, doffset, n, WIDTH);
    return;
  }
  pass->ops->norm_backward(pass->ops, norm->normalized, norm->inverse, parameter(pass, tensor),
                           parameter(pass, tensor + 1), norm->y, dy, dgain, doffset, n, WIDTH, OPS_LINEAR);
  pass->ops->add(pass->ops, dx, dy, (size_t)n * WIDTH);
}

/* m->dx: gradient at the layer's output; becomes that at its input. */
static void layer_backward(const EncoderPass *pass, const Memory *m, int layer, float *gradient) {
  Ops *ops = pass->ops;
  const Layer *l = &m->layer[layer];
  const float *x = layer_input(m, layer);
  const OpsAttention attention = attention_of(pass);
  const int n = matrix_rows(pass);

  send_backward(pass, m, layer, m->dx, gradient);
  gate_backward(pass, m, layer_tensor(layer, GATE_2), l->gate_1.out, l->dense, &l->gate_2, m->dx, m->dy, m->dz,
                gradient);
  encoder_layer_backward(pass, layer_tensor(layer, DENSE), true, l->norm_2.y, l->dense, ENCODER_NO_FLOATS, m->dz, m->dt,
                         gradient, NULL, n, OPS_RELU);

  norm_backward(pass, m, layer_tensor(layer, NORM_2), &l->norm_2, m->dt, m->dy, gradient);
  gate_backward(pass, m, layer_tensor(layer, GATE_1), x, l->out, &l->gate_1, m->dy, m->dx, m->dz, gradient);
  encoder_layer_backward(pass, layer_tensor(layer, OUT), true, l->attended, l->out, ENCODER_FLOAT_RESULT, m->dz,
                         m->dattended, gradient, NULL, n, OPS_RELU);

  ops->entity->attend_backward(ops, pass->x, &attention, l->qkv, m->dattended, m->dqkv);
  encoder_layer_backward(pass, layer_tensor(layer, QKV), true, l->norm_1.y, NULL, ENCODER_NO_FLOATS, m->dqkv, m->dt,
                         gradient, NULL, n, OPS_LINEAR);
  norm_backward(pass, m, layer_tensor(layer, NORM_1), &l->norm_1, m->dt, m->dx, gradient);
}

/* Sets the gradients at embeddings, and those of all layers' parameters. */
static void layers_backward(const EncoderPass *pass, const Memory *m, const float *embedding, const float *dembedding,
                            float *gradient) {
  Ops *ops = pass->ops;
  const int rows = pass->x.rows;
  for (int s = 0; s < 2; s++)
    core_device_zero(ops->device, m->dembedded[SENDER_KIND[s]],
                     (size_t)(rows * message_of(pass, s).count) * WIDTH * sizeof(float));
  ops->entity->pool_backward(ops, embedding, dembedding, m->weights, rows, entities_of(pass), WIDTH, OPS_LINEAR, m->dx);
  for (int layer = LAYERS - 1; layer >= 0; layer--) layer_backward(pass, m, layer, gradient);
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const OpsPack pack = pack_of(pass, kind);
    if (is_shape(kind)) ops->entity->unpack(ops, pass->x, &pack, m->dx, m->dembedded[kind]);
  }
}

static void backward(const EncoderPass *pass, const float *embedding, const float *dembedding, float *gradient) {
  const OpsEntity *entity = pass->ops->entity;
  const int rows = pass->x.rows;
  size_t used;
  const Memory m = lay_out(pass->shape, rows, pass->memory, &used);
  const OpsTransformer t = transformer_of(pass, &m);

  if (entity->transform_backward && entity->transform_backward(pass->ops, pass->x, &t, dembedding, gradient)) return;

  layers_backward(pass, &m, embedding, dembedding, gradient);
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&pass->shape->layout, kind);
    if (e.count == 0) continue;
    encoder_dense_backward(pass, ENTITY_KERNEL + 2 * kind, true, m.features[kind], m.embedded[kind], m.dembedded[kind],
                           NULL, gradient, NULL, rows * e.count, OPS_TANH);
  }
}

const EncoderDesign ENCODER_DESIGN_TRANSFORMER = {"transformer", list, floats, NULL, forward, backward, NULL};
