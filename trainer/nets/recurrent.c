/* Shape, initial values and passes of the LSTM (recurrent.h); its arithmetic is the ops'. */
#include "trainer/nets/recurrent.h"

#include <math.h>
#include <stdio.h>

#include "core/random.h"
#include "trainer/nets/network.h"

RecurrentShape recurrent_shape(int in, int width) {
  const size_t w = (size_t)width, gates = 4 * w;
  RecurrentShape shape = {.in = in, .width = width};
  shape.bx = (size_t)in * gates;
  shape.wh = shape.bx + gates;
  shape.bh = shape.wh + w * gates;
  shape.gain = shape.bh + gates;
  shape.offset = shape.gain + w;
  shape.parameters = shape.offset + w;
  return shape;
}

void recurrent_register(Recurrent *recurrent, const RecurrentShape *shape, int networks, int max_rows,
                        CoreArena *arena) {
  const size_t rows = (size_t)max_rows, width = (size_t)shape->width;
  *recurrent = (Recurrent){.shape = *shape, .states = 2 * networks * shape->width};
  CORE_ARENA_DEVICE(arena, recurrent->gates, rows * 4 * width, "activations: gates [rows][4][width]");
  CORE_ARENA_DEVICE(arena, recurrent->h_in, rows * width, "activations: outputs that enter [rows][width]");
  CORE_ARENA_DEVICE(arena, recurrent->c_in, rows * width, "activations: cells that enter [rows][width]");
  CORE_ARENA_DEVICE(arena, recurrent->h, rows * width, "activations: outputs of the memory [rows][width]");
  CORE_ARENA_DEVICE(arena, recurrent->inverse, rows, "activations: inverse deviations [rows]");
  CORE_ARENA_DEVICE(arena, recurrent->output, rows * width, "activations: outputs, normalized [rows][width]");
  CORE_ARENA_DEVICE(arena, recurrent->dstate, 2 * rows * width, "gradients at states [2][rows][width]");
  if (core_arena_device(arena))
    CORE_ARENA_DEVICE(arena, recurrent->step_products, rows * 4 * width,
                      "activations: products of a step [rows][4][width]");
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Draws row `number` of a tensor, [columns]. */
static void draw_row(uint64_t seed, uint32_t tensor, uint32_t number, size_t columns, float bound, float *row) {
  for (size_t k = 0; k < columns; k++) {
    const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_WEIGHTS, tensor, number, (uint32_t)(k / 4));
    row[k] = bound * (2 * core_random_unit(words.v[k % 4]) - 1);
  }
}

void recurrent_init(const RecurrentShape *shape, uint64_t seed, uint32_t tensor, const int32_t *row,
                          float *theta) {
  const size_t gates = 4 * (size_t)shape->width;
  const float bound = (float)(1 / sqrt(shape->width));
  for (int i = 0; i < shape->in; i++)
    draw_row(seed, tensor, (uint32_t)(row ? row[i] : i), gates, bound, theta + shape->wx + (size_t)i * gates);
  draw_row(seed, tensor + 1, 0, gates, bound, theta + shape->bx);
  for (int i = 0; i < shape->width; i++)
    draw_row(seed, tensor + 2, (uint32_t)i, gates, bound, theta + shape->wh + (size_t)i * gates);
  draw_row(seed, tensor + 3, 0, gates, bound, theta + shape->bh);
  for (int i = 0; i < shape->width; i++) {
    theta[shape->gain + (size_t)i] = 1;
    theta[shape->offset + (size_t)i] = 0;
  }
}

const char *recurrent_parameter_name(const RecurrentShape *shape, const char *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  const struct { const char *name; size_t first; bool is_kernel; } part[] = {
    {"Wx", shape->wx, true}, {"bx", shape->bx, false}, {"Wh", shape->wh, true},
    {"bh", shape->bh, false}, {"gain", shape->gain, false}, {"offset", shape->offset, false}};
  const size_t columns = 4 * (size_t)shape->width;
  int p = sizeof part / sizeof *part - 1;
  while (p > 0 && k < part[p].first) p--;
  const size_t element = k - part[p].first;
  if (part[p].is_kernel)
    snprintf(buffer, NAME, "%s.lstm %s[%zu,%zu]", network, part[p].name, element / columns, element % columns);
  else snprintf(buffer, NAME, "%s.lstm %s[%zu]", network, part[p].name, element);
  return buffer;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static OpsLstm lstm_of(const Recurrent *recurrent, const float *theta, const float *x, int rows,
                       const RecurrentSequences *sequences, int network, int first) {
  const RecurrentShape *shape = &recurrent->shape;
  const size_t own = (size_t)first * (size_t)recurrent->states + 2 * (size_t)network * (size_t)shape->width;
  CORE_CHECK(sequences->start != NULL && rows % sequences->length == 0 && (first == 0 || sequences->length == 1));
  return (OpsLstm){.in = shape->in, .width = shape->width, .sequences = rows / sequences->length,
                   .length = sequences->length,
                   .wx = theta + shape->wx, .bx = theta + shape->bx, .wh = theta + shape->wh, .bh = theta + shape->bh,
                   .x = x, .start = sequences->start + own,
                   .stride = (size_t)recurrent->states, .begins = sequences->begins ? sequences->begins + first : NULL,
                   .gates = recurrent->gates, .h_in = recurrent->h_in, .c_in = recurrent->c_in, .h = recurrent->h,
                   .end = sequences->end ? sequences->end + own : NULL, .step_products = recurrent->step_products};
}

void recurrent_forward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                       const RecurrentSequences *sequences, int network, int first) {
  const RecurrentShape *shape = &recurrent->shape;
  const OpsLstm lstm = lstm_of(recurrent, theta, x, rows, sequences, network, first);
  ops->recurrent->lstm_forward(ops, &lstm);
  ops->norm_forward(ops, recurrent->h, recurrent->inverse, theta + shape->gain, theta + shape->offset,
                    recurrent->output, rows, shape->width, NETWORK_NORM_EPSILON, OPS_LINEAR);
}

void recurrent_backward(const Recurrent *recurrent, Ops *ops, const float *theta, const float *x, int rows,
                        const RecurrentSequences *sequences, float *doutput, float *dx, float *gradient) {
  const RecurrentShape *shape = &recurrent->shape;
  const OpsLstm lstm = lstm_of(recurrent, theta, x, rows, sequences, 0, 0);
  const OpsLstmGradients gradients = {gradient + shape->wx, gradient + shape->bx, gradient + shape->wh,
                                      gradient + shape->bh, dx, recurrent->dstate};
  ops->norm_backward(ops, recurrent->h, recurrent->inverse, theta + shape->gain, theta + shape->offset,
                     recurrent->output, doutput, gradient + shape->gain, gradient + shape->offset, rows, shape->width,
                     OPS_LINEAR);
  ops->recurrent->lstm_backward(ops, &lstm, doutput, &gradients);
}
