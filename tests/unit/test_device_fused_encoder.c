/* The transformer's fused forward pass (kernels_fused_encoder.h): each matrix that it leaves, element by element,
 * against the CPU's float32 function on the matrices from which the kernel computes it, rounded as there; with
 * numbers of worlds that are a multiple of nothing. The rule that chooses the pass, too. */
#define DEVICE_TESTS run_all
#include "transformer_tools.h"

/* ---- the stages -------------------------------------------------------------------------------------------------- */

static void check_embedding(void) {
  float *shapes = space(rows, W);
  for (int k = 0; k < KINDS; k++) {
    const OpsTransformerKind *kind = &t.kind[k];
    const int count = worlds * kind->pack.count, width = kind->pack.width;
    float *x = space(count, kind->features), *y = space(count, width);
    float *padded = space(count, OPS_TRANSFORMER_FEATURES);
    if (count > 0) {
      host->entity->slice(host, here, kind->offset, kind->pack.count * kind->features, x);
      round_numbers(x, (size_t)(count * kind->features));
      for (int i = 0; i < count * kind->features; i++)
        padded[i / kind->features * OPS_TRANSFORMER_FEATURES + i % kind->features] = x[i];
      assert_bf16("features", padded, kind->copied, (size_t)(count * OPS_TRANSFORMER_FEATURES));
      dense(x, kind->w, true, y, count, kind->features, width, OPS_TANH);
      assert_floats(NAMES[k], y, kind->embedded, (size_t)(count * width));
    }
    float *embedded = numbers(kind->embedded, (size_t)(count * width), OPS_NUMBERS_FLOAT);
    if (kind->is_shape) host->entity->pack(host, here, &kind->pack, embedded, shapes);
    free(x), free(y), free(padded), free(embedded);
  }

  host->entity->dummy(host, worlds, entities, W, shapes);
  assert_bf16("shapes", shapes, t.shapes, (size_t)(rows * W));
  free(shapes);
}

static void check_norm(const OpsTransformerNorm *norm, const float *x) {
  float *normalized = space(rows, W), *y = space(rows, W), *inverse = space(rows, 1), *moments = space(rows, 2);
  memcpy(normalized, x, (size_t)(rows * W) * sizeof *x);
  host->norm_forward(host, normalized, inverse, theta + norm->gain, theta + norm->gain + W, y, rows, W, 1e-6,
                     OPS_LINEAR);
  for (int r = 0; r < rows; r++) {
    double sum = 0;
    for (int c = 0; c < W; c++) sum += (double)x[r * W + c];
    moments[2 * r] = (float)(sum / W);
    moments[2 * r + 1] = inverse[r];
  }
  assert_floats("norm: mean and inverse", moments, norm->moments, (size_t)(2 * rows));
  free(normalized), free(y), free(inverse), free(moments);
}

/* Checks attention between the norm of x and the gate's y. */
static void check_attention(const OpsTransformerLayer *layer, const float *x) {
  float *y = norm_of(&layer->norm_1, x, true), *qkv = space(rows, 3 * ATTENDED), *out = space(rows, W);
  float *attended = space(rows, ATTENDED);
  dense(y, layer->qkv_w, true, qkv, rows, W, 3 * ATTENDED, OPS_LINEAR);
  assert_floats("qkv", qkv, layer->qkv, (size_t)(rows * 3 * ATTENDED));
  free(qkv);
  qkv = numbers(layer->qkv, (size_t)(rows * 3 * ATTENDED), OPS_NUMBERS_FLOAT);
  host->entity->attend(host, here, &t.attention, qkv, attended);
  assert_bf16("attended", attended, layer->attended, (size_t)(rows * ATTENDED));
  free(attended);
  attended = entity_numbers(layer->attended, ATTENDED);
  dense(attended, layer->out_w, true, out, rows, ATTENDED, W, OPS_RELU);
  assert_bf16("out", out, layer->out, (size_t)(rows * W));
  free(y), free(qkv), free(out), free(attended);
}

static void check_dense(const OpsTransformerLayer *layer, const float *x) {
  float *y = norm_of(&layer->norm_2, x, true), *out = space(rows, W);
  dense(y, layer->dense_w, true, out, rows, W, W, OPS_RELU);
  assert_bf16("dense", out, layer->dense, (size_t)(rows * W));
  free(y), free(out);
}

/* Returns the gate's output, rounded. */
static float *check_gate(const OpsTransformerGate *gate, const float *x, const float *of_y, bool is_stored) {
  const size_t n = (size_t)(rows * W), u_w = gate->w + 3 * W * W;
  float *y = entity_numbers(of_y, W), *rx = reset_inputs(gate, x);
  float *z = entity_numbers(gate->z, W), *a = space(rows, 3 * W), *u = space(rows, 2 * W), *ug = space(rows, W);
  float *own_r = space(rows, W), *own_z = space(rows, W), *h = space(rows, W), *out = space(rows, W);
  dense(y, gate->w, false, a, rows, W, 3 * W, OPS_LINEAR);
  dense(x, u_w, false, u, rows, W, 2 * W, OPS_LINEAR);
  dense(rx, u_w + 2 * W * W, false, ug, rows, W, W, OPS_LINEAR);

  host->entity->gate_open(host, a, u, theta + gate->w + 6 * W * W, x, rows, W, own_r, own_z, out);
  for (size_t i = 0; i < n; i++)
    if (y[i] > 0) own_r[i] = -own_r[i];
  assert_bf16("gate: r and the signs of y", own_r, gate->r, n);
  assert_bf16("gate: z", own_z, gate->z, n);
  host->entity->gate_close(host, a, ug, z, x, rows, W, h, out);
  assert_bf16("gate: h", h, gate->h, n);

  free(h);
  h = entity_numbers(gate->h, W);
  for (size_t i = 0; i < n; i++) out[i] = (1 - z[i]) * x[i] + z[i] * h[i];
  if (is_stored) assert_bf16("gate: out", out, gate->out, n);
  round_numbers(out, n);
  free(y), free(rx), free(z), free(a), free(u), free(ug), free(own_r), free(own_z), free(h);
  return out;
}

/* Adds the messages to x, a gate's output. */
static void check_messages(const OpsTransformerLayer *layer, float *x) {
  float *message[2];
  for (int s = 0; s < 2; s++) {
    const OpsMessage *m = &t.message[s];
    const int count = worlds * m->count, parts = m->ends + 1;
    const size_t gathered = (size_t)(count * parts * W);
    float *embedded = numbers(t.kind[2 + s].embedded, (size_t)(count * W), OPS_NUMBERS_FLOAT);
    float *both = space(count, parts * W);
    message[s] = space(count, W);
    host->entity->gather(host, here, m, x, embedded, both);
    assert_bf16("gathered", both, layer->gathered[s], gathered);
    round_numbers(both, gathered);
    dense(both, layer->message[s], true, message[s], count, parts * W, W, OPS_LINEAR);
    round_numbers(message[s], (size_t)(count * W));
    free(embedded), free(both);
  }
  for (int s = 0; s < 2; s++) {
    host->entity->scatter(host, here, &t.message[s], message[s], x);
    free(message[s]);
  }
}

/* A message may be rounded to the other side if its sum has another order, which a sum with a shape of other sign
 * magnifies. */
static void check_layers(void) {
  const size_t n = (size_t)(rows * W);
  float *x = entity_numbers(t.shapes, W), *weights = space(rows, 1), *mean = space(worlds, W);
  for (int i = 0; i < LAYERS; i++) {
    const OpsTransformerLayer *layer = &t.layer[i];
    check_norm(&layer->norm_1, x);
    check_attention(layer, x);
    float *middle = check_gate(&layer->gate_1, x, layer->out, true);
    free(x), free(middle);
    x = entity_numbers(layer->gate_1.out, W);
    check_norm(&layer->norm_2, x);
    check_dense(layer, x);
    float *out = check_gate(&layer->gate_2, x, layer->dense, false);
    check_messages(layer, out);
    free(x);
    x = out;
    if (i + 1 == LAYERS) continue;
    assert_elements("layer's output", out, layer->gate_2.out, n, OPS_NUMBERS_BF16, ROUNDED / 4);
    x = entity_numbers(layer->gate_2.out, W);
    free(out);
  }

  round_numbers(x, n);
  host->entity->mean_weights(host, here, shape.layout.polygon_mask, entities - 1, weights);
  assert_floats("weights of the mean", weights, t.weights, (size_t)rows);
  host->entity->pool(host, x, weights, worlds, entities, W, OPS_LINEAR, mean);
  assert_elements("embedding", mean, embedding, (size_t)(worlds * W), OPS_NUMBERS_FLOAT, ROUNDED / 4);
  free(x), free(weights), free(mean);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static const Way WAYS[] = {{&SIM_SIZE_S, WORLDS_MAX, 2}, {&SIM_SIZE_L, WORLDS_MAX, 3}, {&SIM_SIZE_M, 27, 2},
                           {&SIM_SIZE_LOCO, 23, 1}, {&SIM_SIZE_S, 3, 1}};

static void check_way(const Way *way) {
  transform(way);
  check_embedding();
  check_layers();
}

static void run_all(void) { check_ways(WAYS, sizeof WAYS / sizeof *WAYS); }

/* A world's bits do not depend on its place in a tile. */
static void test_places(void **state) {
  enum { SHIFT = 5 };
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  open_ops();
  transform(&(Way){&SIM_SIZE_M, 27, 1});
  float *first = down(embedding, (size_t)(worlds * W) * sizeof *first);
  there.x += SHIFT * there.stride;
  there.rows -= SHIFT;
  assert_true(ops->entity->transform(ops, there, &t, embedding));
  float *second = down(embedding, (size_t)(worlds * W) * sizeof *second);
  assert_memory_equal(second, first + SHIFT * W, (size_t)((worlds - SHIFT) * W) * sizeof *first);
  free(first), free(second);
  forget_worlds();
  close_ops();
}

/* Asserts that the memory is as `unset` made it. */
static void assert_unset(const char *what, const float *memory, size_t n) {
  unsigned char *bytes = down(memory, n * sizeof *memory);
  for (size_t i = 0; i < n * sizeof *memory; i++)
    if (bytes[i] != 0xff) fail_msg("%s is written at byte %zu", what, i);
  free(bytes);
}

static void assert_gate_unset(const OpsTransformerGate *gate) {
  const size_t n = (size_t)(rows * W);
  assert_unset("r", gate->r, n);
  assert_unset("z", gate->z, n);
  assert_unset("h", gate->h, n);
  assert_unset("a gate's output", gate->out, n);
}

/* Without a backward pass the embedding has the same bits, and nothing else is written but what senders read again. */
static void test_acting(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  open_ops();
  transform(&(Way){&SIM_SIZE_M, 27, 1});
  const size_t n = (size_t)(worlds * W) * sizeof *embedding;
  float *first = down(embedding, n);
  forget_worlds();

  make_worlds(SIM_SIZE_M, 27);
  t.is_learning = false;
  assert_true(ops->entity->transform(ops, there, &t, embedding));
  float *second = down(embedding, n);
  assert_memory_equal(second, first, n);

  for (int i = 0; i < LAYERS; i++) {
    const OpsTransformerLayer *layer = &t.layer[i];
    assert_unset("moments", layer->norm_1.moments, (size_t)(2 * rows));
    assert_unset("moments", layer->norm_2.moments, (size_t)(2 * rows));
    assert_gate_unset(&layer->gate_1);
    assert_gate_unset(&layer->gate_2);
    assert_unset("qkv", layer->qkv, (size_t)(rows * 3 * ATTENDED));
    assert_unset("attended", layer->attended, (size_t)(rows * ATTENDED));
    assert_unset("out", layer->out, (size_t)(rows * W));
    assert_unset("dense", layer->dense, (size_t)(rows * W));
    for (int s = 0; s < 2; s++)
      assert_unset("gathered", layer->gathered[s],
                   (size_t)(worlds * t.message[s].count * (t.message[s].ends + 1) * W));
  }
  assert_unset("shapes", t.shapes, (size_t)(rows * W));
  assert_unset("weights of the mean", t.weights, (size_t)rows);
  for (int k = 0; k < KINDS; k++) {
    const OpsTransformerKind *kind = &t.kind[k];
    assert_unset("features", kind->copied, (size_t)(worlds * kind->pack.count * OPS_TRANSFORMER_FEATURES));
    if (kind->is_shape)
      assert_unset("embeddings of shapes", kind->embedded, (size_t)(worlds * kind->pack.count * kind->pack.width));
  }
  free(first), free(second);
  forget_worlds();
  close_ops();
}

/* The rule. */
static void test_choice(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  open_ops();
  make_worlds(SIM_SIZE_S, 3);
  const size_t shared = device->shared_bytes;
  device->shared_bytes = OPS_ENCODER_BACKWARD_SHARED - 1;
  assert_false(ops->entity->transform(ops, there, &t, embedding));
  device->shared_bytes = shared;
  t.attention.heads = 4;
  assert_false(ops->entity->transform(ops, there, &t, embedding));
  t.attention.heads = HEADS;
  t.message[0].count = entities;
  assert_false(ops->entity->transform(ops, there, &t, embedding));
  t.message[0].count = 2 * shape.layout.size.joints;
  t.rounded += 1;
  assert_false(ops->entity->transform(ops, there, &t, embedding));
  t.rounded -= 1;
  assert_true(ops->entity->transform(ops, there, &t, embedding));

  ops_destroy(&ops);
  assert_int_equal(setenv("TRAINER_FUSED", "off", 1), 0);
  assert_int_equal(ops_device_create(device, OPS_BF16, 64, 3 * W, false, &ops), CORE_OK);
  assert_false(ops->entity->transform(ops, there, &t, embedding));
  assert_int_equal(setenv("TRAINER_FUSED", "none", 1), 0);
  Ops *none;
  assert_int_equal(ops_device_create(device, OPS_BF16, 64, 3 * W, false, &none), CORE_USAGE);
  assert_int_equal(unsetenv("TRAINER_FUSED"), 0);
  forget_worlds();
  close_ops();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_places),
                                     cmocka_unit_test(test_acting), cmocka_unit_test(test_choice),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
