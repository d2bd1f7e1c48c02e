/* Residual convolutions for Procgen (encoder.h): Espeholt et al. 2018, "IMPALA", Figure 3, without its LSTM, as in
 * CleanRL. Each of three stages is a convolution, a pool, and two blocks x + conv(relu(conv(relu x))); a final relu
 * follows. */
#include "trainer/nets/encoder_internal.h"

#include <stdio.h>

enum { STAGES = 3, BLOCKS = 2, STAGE_TENSORS = 2 + 4 * BLOCKS };
/* Returns a stage's first tensor: a kernel and bias of the stage's convolution, then of each block's two. */
static int first_of(int stage) { return stage * STAGE_TENSORS; }
static int block_of(int stage, int block, int which) { return first_of(stage) + 2 + 4 * block + 2 * which; }

typedef struct Stage { OpsConv conv, block; OpsPool3 pool; } Stage;

static OpsConv conv_of(int height, int width, int in, int out) {
  return (OpsConv){height, width, in, out, {3, 3}, {1, 1}, {1, 1}};
}

static void stages_of(const EncoderShape *shape, Stage stage[STAGES]) {
  static const int channels[STAGES] = {16, 32, 32};
  int height = shape->pixels.height, width = shape->pixels.width, in = shape->pixels.frames * shape->pixels.channels;
  for (int s = 0; s < STAGES; s++) {
    stage[s].conv = conv_of(height, width, in, channels[s]);
    stage[s].pool = (OpsPool3){height, width, channels[s]};
    height = ops_pool3_side(height);
    width = ops_pool3_side(width);
    in = channels[s];
    stage[s].block = conv_of(height, width, in, in);
  }
}

static void list(EncoderShape *shape) {
  Stage stage[STAGES];
  stages_of(shape, stage);
  for (int s = 0; s < STAGES; s++) {
    char name[ENCODER_NAME / 2];
    snprintf(name, sizeof name, "stage %d", s);
    encoder_add_conv(shape, name, &stage[s].conv, ENCODER_UNIFORM);
    for (int b = 0; b < 2 * BLOCKS; b++) {
      snprintf(name, sizeof name, "stage %d.%d.%d", s, b / 2, b % 2);
      encoder_add_conv(shape, name, &stage[s].block, ENCODER_UNIFORM);
    }
  }
  shape->width = (int)ops_conv_outputs(&stage[STAGES - 1].block);
}

/* Activations for the backward pass. */
typedef struct Memory {
  Stage stage[STAGES];
  float *x[STAGES];                   /* the pixels, then the outputs of earlier stages */
  uint8_t *from[STAGES];
  float *entry[STAGES][BLOCKS], *hidden[STAGES][BLOCKS]; /* relu(x), relu(conv(relu(x))) of a block */
  float *last;                        /* relu of the last stage's output: the embedding */
} Memory;

static Memory lay_out(const EncoderShape *shape, int rows, float *base, size_t *used) {
  const size_t n = (size_t)rows;
  Memory m;
  *used = 0;
  stages_of(shape, m.stage);

  for (int s = 0; s < STAGES; s++) {
    const size_t outputs = n * ops_conv_outputs(&m.stage[s].block);
    m.x[s] = encoder_reserve(base, used, n * ops_conv_inputs(&m.stage[s].conv));
    m.from[s] = (uint8_t *)encoder_reserve(base, used, (outputs + sizeof(float) - 1) / sizeof(float));
    for (int b = 0; b < BLOCKS; b++) {
      m.entry[s][b] = encoder_reserve(base, used, outputs);
      m.hidden[s][b] = encoder_reserve(base, used, outputs);
    }
  }

  m.last = encoder_reserve(base, used, n * (size_t)shape->width);
  return m;
}

static size_t floats(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out(shape, rows, NULL, &used);
  return used;
}

/* Buffers at a stage's convolution; at its output, two; inside a block. Gradients in the backward pass. */
typedef struct Scratch { float *wide, *at, *next, *inner, *conv; } Scratch;

static Scratch lay_out_scratch(const EncoderShape *shape, int rows, float *base, size_t *used) {
  const size_t n = (size_t)rows;
  Stage stage[STAGES];
  Scratch s;
  size_t widest = 0, output = 0, conv = 0;
  *used = 0;
  stages_of(shape, stage);

  for (int i = 0; i < STAGES; i++) {
    const size_t sizes[] = {ops_conv_outputs(&stage[i].conv), ops_conv_outputs(&stage[i].block),
                            ops_conv_scratch(&stage[i].conv, rows), ops_conv_scratch(&stage[i].block, rows)};
    if (sizes[0] > widest) widest = sizes[0];
    if (sizes[1] > output) output = sizes[1];
    if (sizes[2] > conv) conv = sizes[2];
    if (sizes[3] > conv) conv = sizes[3];
  }

  s.wide = encoder_reserve(base, used, n * widest);
  s.at = encoder_reserve(base, used, n * output);
  s.next = encoder_reserve(base, used, n * output);
  s.inner = encoder_reserve(base, used, n * output);
  s.conv = encoder_reserve(base, used, conv);
  return s;
}

static size_t scratch(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out_scratch(shape, rows, NULL, &used);
  return used;
}

static void forward(const EncoderPass *pass, float *embedding) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows;
  const size_t n = (size_t)rows * (size_t)shape->width;
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);
  const Scratch work = lay_out_scratch(shape, rows, pass->scratch, &used);

  ops->image->pixels(ops, &shape->pixels, pass->x.x, rows, m.x[0]);
  for (int s = 0; s < STAGES; s++) {
    const size_t outputs = (size_t)rows * ops_conv_outputs(&m.stage[s].block);
    float *x = work.at, *y = work.next;
    encoder_conv(pass, first_of(s), m.x[s], work.wide, OPS_LINEAR, work.conv);
    ops->image->pool_forward(ops, &m.stage[s].pool, work.wide, x, m.from[s], rows);

    for (int b = 0; b < BLOCKS; b++) {
      if (b == BLOCKS - 1 && s < STAGES - 1) y = m.x[s + 1];
      ops->image->relu_forward(ops, x, m.entry[s][b], outputs);
      encoder_conv(pass, block_of(s, b, 0), m.entry[s][b], m.hidden[s][b], OPS_RELU, work.conv);
      encoder_conv(pass, block_of(s, b, 1), m.hidden[s][b], y, OPS_LINEAR, work.conv);
      ops->add(ops, y, x, outputs);
      float *swap = x;
      x = y;
      y = swap;
    }

    if (s == STAGES - 1) ops->image->relu_forward(ops, x, m.last, n);
  }
  core_device_copy(ops->device, embedding, m.last, n * sizeof *embedding);
}

/* Turns the gradient at block b's output, work->at, into that at its input. */
static void backward_block(const EncoderPass *pass, const Memory *m, const Scratch *work, int s, int b,
                           float *dpacked) {
  Ops *ops = pass->ops;
  const size_t outputs = (size_t)pass->x.rows * ops_conv_outputs(&m->stage[s].block);
  float *dhidden = work->inner, *dentry = work->next;
  encoder_conv_backward(pass, block_of(s, b, 1), m->hidden[s][b], NULL, work->at, dhidden, dpacked, OPS_LINEAR,
                        work->conv);
  encoder_conv_backward(pass, block_of(s, b, 0), m->entry[s][b], m->hidden[s][b], dhidden, dentry, dpacked, OPS_RELU,
                        work->conv);
  ops->image->relu_backward(ops, m->entry[s][b], dentry, outputs);
  ops->add(ops, work->at, dentry, outputs);
}

static void backward(const EncoderPass *pass, const float *embedding, const float *dembedding, float *dpacked) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows;
  const size_t n = (size_t)rows * (size_t)shape->width;
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);
  const Scratch work = lay_out_scratch(shape, rows, pass->scratch, &used);
  (void)embedding;

  core_device_copy(ops->device, work.at, dembedding, n * sizeof *work.at);
  ops->image->relu_backward(ops, m.last, work.at, n);
  for (int s = STAGES - 1; s >= 0; s--) {
    for (int b = BLOCKS - 1; b >= 0; b--) backward_block(pass, &m, &work, s, b, dpacked);
    ops->image->pool_backward(ops, &m.stage[s].pool, m.from[s], work.at, work.wide, rows);
    encoder_conv_backward(pass, first_of(s), m.x[s], NULL, work.wide, s > 0 ? work.at : NULL, dpacked, OPS_LINEAR,
                          work.conv);
  }
}

/* Lists the convolutions. A convolution's units are measured after the relu that follows it: after a stage's pool,
 * inside a block, after a block. The last block of the first two stages has none. */
static int layers(const EncoderShape *shape, int rows, float *memory, EncoderLayer layer[ENCODER_LAYERS_MAX]) {
  size_t used;
  int count = 0;
  const Memory m = lay_out(shape, rows, memory, &used);

  for (int s = 0; s < STAGES; s++) {
    const OpsConv *block = &m.stage[s].block;
    const int channels = block->out, positions = ops_conv_height(block) * ops_conv_width(block);
    layer[count++] = (EncoderLayer){first_of(s), channels, positions, m.entry[s][0]};
    for (int b = 0; b < BLOCKS; b++) {
      const float *after_last = s + 1 < STAGES ? NULL : m.last;
      const float *behind = b + 1 < BLOCKS ? m.entry[s][b + 1] : after_last;
      const bool has_relu = b + 1 < BLOCKS || s + 1 == STAGES;
      layer[count++] = (EncoderLayer){block_of(s, b, 0), channels, positions, m.hidden[s][b]};
      layer[count++] = (EncoderLayer){block_of(s, b, 1), channels, has_relu ? positions : 0, behind};
    }
  }

  return count;
}

const EncoderDesign ENCODER_DESIGN_IMPALA = {"impala", list, floats, scratch, forward, backward, layers};
