/* Golden case "pqn": a Q network with layer norm, several steps in a row: Q values, loss, gradient, PyTorch's clip,
 * RAdam; and RAdam alone. */
#ifndef TESTS_GOLDEN_PQN_H
#define TESTS_GOLDEN_PQN_H
#include "tests/golden/golden_check.h"
#include "tests/trainer_steps.h"
#include "trainer/nets/network.h"
#include "trainer/update/optimizer.h"

typedef struct GoldQ {
  NetworkShape shape;
  int rows, actions;
  size_t n;
  float *theta, *gradient, *scratch, *dq;
  NetworkActivations activations;
  Optimizer optimizer;
} GoldQ;

static void q_from_file(Check *check, GoldQ *q) {
  size_t sizes = 0;
  double *size = check_input(check, "hp/sizes", &sizes), widest = 0;
  if (sizes < 2 || sizes > NETWORK_LAYERS_MAX) check_give_up(check, "hp/sizes: %zu sizes", sizes);
  if (fabs(check_real(check, "hp/layernorm_eps") - NETWORK_NORM_EPSILON) > 1e-12)
    check_give_up(check, "hp/layernorm_eps is not the network's");
  int width[NETWORK_LAYERS_MAX];
  for (size_t i = 0; i < sizes; i++) {
    if (!(size[i] >= 1 && size[i] <= 4096)) check_give_up(check, "hp/sizes: width %g", size[i]);
    width[i] = (int)size[i];
    widest = fmax(widest, size[i]);
  }
  q->shape = network_shape(width[0], width + 1, (int)sizes - 2, width[sizes - 1], OPS_RELU, 1);
  q->shape.layer_norm = true;
  q->actions = q->shape.width[sizes - 1];
  q->n = network_parameters(&q->shape);
  q->rows = (int)check_entry(check, "in/step0/obs")->dimension[0];
  if (q->rows < 1 || q->rows > 1 << 16) check_give_up(check, "in/step0/obs: %d rows", q->rows);
  q->theta = check_input_float(check, "in/theta", &q->n);
  q->gradient = check_floats(check, q->n);
  q->scratch = check_floats(check, 2 * (size_t)q->rows * (size_t)widest);
  q->dq = check_floats(check, (size_t)q->rows * (size_t)q->actions);
  network_place_activations(&q->shape, q->rows, check_floats(check, network_activation_floats(&q->shape, q->rows)),
                            &q->activations);
  q->optimizer = (Optimizer){.rule = OPTIMIZER_RADAM,
                             .m = check_floats(check, q->n),
                             .v = check_floats(check, q->n),
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .epsilon = 1e-8,
                             .max_norm = check_real(check, "hp/max_norm"),
                             .norm_epsilon = 1e-6};
}

static void q_step(Check *check, GoldQ *q, int step, double rate) {
  char in[32], out[32];
  size_t rows = (size_t)q->rows, inputs = rows * (size_t)q->shape.width[0];
  int clipped;
  double norm;
  OpsValueSums sums;
  Ops *ops = check->ops;
  snprintf(in, sizeof in, "in/step%d/", step);
  snprintf(out, sizeof out, "step%d/", step);
  float *x = check_input_float(check, check_name(check, in, "obs"), &inputs);
  float *target = check_input_float(check, check_name(check, in, "target"), &rows);
  uint8_t *action = check_input_bytes(check, check_name(check, in, "action"), &rows, q->actions);
  network_forward(ops, &q->shape, q->theta, x, q->rows, &q->activations);
  const float *values = q->activations.hidden[q->shape.layers - 1];
  ops->q_loss(ops, values, action, target, q->rows, q->actions, q->dq, &sums);
  check_singles(check, "", check_name(check, out, "q"), CHECK_SINGLE, values, rows * (size_t)q->actions);
  check_scalar(check, "", check_name(check, out, "loss"), CHECK_SINGLE, sums.loss / (double)rows);
  network_backward(ops, &q->shape, q->theta, x, q->rows, &q->activations, q->dq, q->scratch, q->gradient);
  check_singles(check, "", check_name(check, out, "grad"), CHECK_SINGLE, q->gradient, q->n);
  optimizer_step(ops, &q->optimizer, q->theta, q->gradient, q->n, rate, &norm, &clipped);
  check_scalar(check, "", check_name(check, out, "grad_norm"), CHECK_SINGLE, norm);
  check_singles(check, "", check_name(check, out, "theta"), CHECK_SINGLE, q->theta, q->n);
}

static void case_pqn(Check *check) {
  GoldQ q;
  char next[32] = "in/step0/obs";
  q_from_file(check, &q);
  for (int step = 0; check_has(check, next); snprintf(next, sizeof next, "in/step%d/obs", ++step))
    q_step(check, &q, step, check_real(check, "hp/lr"));
}

#endif
