/* The entity encoders against slow versions in double (tests/oracle/encoder.h): embeddings, gradients by finite
 * differences; independence of order and contents of inactive entities, threads and chunks; parameter counts. */
#include "test.h"

#include <omp.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "oracle/encoder.h"
#include "sim/batch/batch.h"
#include "sim/levels/generate.h"

enum { LEVELS = 6, STEPS = 20, DIFFERENCED = 3 };
static const EncoderKind KIND[] = {ENCODER_SET, ENCODER_STOIX_SET, ENCODER_TRANSFORMER};
enum { KINDS = sizeof KIND / sizeof *KIND };

/* ---- measured values --------------------------------------------------------------------------------------------- */

static float unit(uint32_t purpose, uint32_t i) {
  return 2 * core_random_unit(core_random_4(21, CORE_RANDOM_TEST, purpose, i, 0).v[0]) - 1;
}

/* Observations of random levels after some random steps: [rows][layout.length]. */
static float *observe_random_worlds(SimSize size, int rows) {
  SimLevel level[LEVELS];
  const SimLevelSet set = {level, LEVELS, size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 4, i, &level[i]), CORE_OK);
  options.worlds = rows;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  float *x = calloc((size_t)rows * (size_t)sim_entity_layout(size).length, sizeof *x);
  uint8_t *actions = calloc((size_t)rows, SIM_ACTIONS);
  for (uint32_t t = 0; t < STEPS; t++) {
    for (int i = 0; i < rows * SIM_ACTIONS; i++) actions[i] = (uint8_t)(unit(t, (uint32_t)i) > 0);
    sim_batch_step(batch, actions, &(SimStepOut){.observations = x});
  }
  sim_batch_destroy(&batch);
  free(actions);
  return x;
}

typedef struct Case {
  Encoder encoder;
  Ops *ops;
  CoreArena *arena;
  int rows;
  size_t width, n;
  float *x, *theta, *gradient, *weight, *embedding; /* weight: the gradient at the embedding [rows][width] */
} Case;

/* Initial parameters, and every other one away from 0, so that biases and gates show. */
static Case make_case(EncoderKind kind, SimSize size, int rows, int threads) {
  Case c = {.rows = rows, .arena = core_arena_create("test")};
  const EncoderShape shape = encoder_shape(kind, sim_entity_layout(size));
  c.n = shape.parameters;
  c.width = (size_t)shape.width;
  encoder_register(&c.encoder, &shape, rows, c.arena);
  CORE_ARENA(c.arena, c.theta, c.n, "theta");
  CORE_ARENA(c.arena, c.gradient, c.n, "gradient");
  CORE_ARENA(c.arena, c.weight, (size_t)rows * c.width, "weight");
  CORE_ARENA(c.arena, c.embedding, (size_t)rows * c.width, "embedding");
  assert_int_equal(core_arena_commit(c.arena), CORE_OK);
  const int ops_rows = encoder_ops_rows(&c.encoder), ops_width = encoder_ops_width(&shape, false);
  assert_int_equal(ops_cpu_create(threads, ops_rows, ops_width, &c.ops), CORE_OK);
  encoder_init(&shape, 8, 200, c.theta);
  for (size_t k = 0; k < c.n; k++) c.theta[k] += 0.05f * unit(90, (uint32_t)k);
  for (size_t k = 0; k < (size_t)rows * c.width; k++) c.weight[k] = unit(91, (uint32_t)k);
  c.x = observe_random_worlds(size, rows);
  return c;
}

static void destroy_case(Case *c) {
  ops_destroy(&c->ops);
  core_arena_destroy(&c->arena);
  free(c->x);
}

static void run(Case *c) {
  encoder_forward(&c->encoder, c->ops, c->theta, c->x, c->rows, c->embedding);
  encoder_backward(&c->encoder, c->ops, c->theta, c->x, c->rows, c->embedding, c->weight, c->gradient);
}

static double *doubled(const float *theta, size_t n) {
  double *copy = malloc(n * sizeof *copy);
  for (size_t k = 0; k < n; k++) copy[k] = (double)theta[k];
  return copy;
}

/* ---- against the oracle ------------------------------------------------------------------------------------------ */

static void embeddings_are_the_oracles(void **state) {
  (void)state;
  const SimSize size[] = {SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L};
  for (int k = 0; k < KINDS; k++) {
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
      Case c = make_case(KIND[k], size[s], 12, 1);
      double *theta = doubled(c.theta, c.n), expected[256], worst = 0;
      run(&c);
      for (int r = 0; r < c.rows; r++) {
        oracle_encoder(&c.encoder.shape, theta, c.x + (size_t)(r * c.encoder.shape.layout.length), expected);
        for (size_t i = 0; i < c.width; i++) {
          const double off = fabs((double)c.embedding[(size_t)r * c.width + i] - expected[i]);
          worst = fmax(worst, off / (1 + fabs(expected[i])));
        }
      }
      if (worst > 2e-5) print_message("# kind %d size %zu: off by %g\n", k, s, worst);
      assert_true(worst <= 2e-5);
      free(theta);
      destroy_case(&c);
    }
  }
}

static double scalar(const Case *c, const double *theta) {
  double sum = 0, embedding[256];
  for (int r = 0; r < c->rows; r++) {
    oracle_encoder(&c->encoder.shape, theta, c->x + (size_t)(r * c->encoder.shape.layout.length), embedding);
    for (size_t i = 0; i < c->width; i++) sum += (double)c->weight[(size_t)r * c->width + i] * embedding[i];
  }
  return sum;
}

/* The gradient of one parameter by central differences; where a relu bends within the step, a smaller step decides. */
static bool agrees(const Case *c, double *theta, size_t k, double largest) {
  const double kept = theta[k];
  double difference = 0;
  for (double step = 1e-4; step > 1e-7; step /= 8) {
    theta[k] = kept + step;
    difference = scalar(c, theta);
    theta[k] = kept - step;
    difference = (difference - scalar(c, theta)) / (2 * step);
    theta[k] = kept;
    if (fabs(difference - (double)c->gradient[k]) <= 2e-4 * (largest + fabs(difference))) return true;
  }
  print_message("# parameter %zu: gradient %g, by differences %g\n", k, (double)c->gradient[k], difference);
  return false;
}

/* Some parameters of every tensor, the one with the largest gradient among them. */
static void gradients_are_differences(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    Case c = make_case(KIND[kind], SIM_SIZE_M, 3, 1);
    double *theta = doubled(c.theta, c.n);
    run(&c);
    for (int i = 0; i < c.encoder.shape.tensors; i++) {
      const EncoderTensor *t = &c.encoder.shape.tensor[i];
      const size_t size = (size_t)t->rows * (size_t)t->columns;
      size_t top = t->offset;
      for (size_t k = t->offset; k < t->offset + size; k++)
        if (fabsf(c.gradient[k]) > fabsf(c.gradient[top])) top = k;
      assert_true(c.gradient[top] != 0); /* else the test would not see the tensor */
      for (uint32_t d = 0; d < DIFFERENCED; d++) {
        const uint32_t word = core_random_4(3, CORE_RANDOM_TEST, (uint32_t)i, d, 0).v[0];
        const size_t k = d == 0 ? top : t->offset + core_random_below(word, (uint32_t)size);
        if (!agrees(&c, theta, k, fabs((double)c.gradient[top]))) fail_msg("tensor '%s'", t->name);
      }
    }
    free(theta);
    destroy_case(&c);
  }
}

/* ---- invariance -------------------------------------------------------------------------------------------------- */

/* Other numbers in the rows of entities that the masks hide. */
static void spoil_hidden(const SimEntityLayout *l, float *row) {
  const struct { int offset, features, count, mask; } kind[] = {
      {l->polygons, SIM_ENTITY_POLYGON, l->size.polygons, l->polygon_mask},
      {l->circles, SIM_ENTITY_CIRCLE, l->size.circles, l->circle_mask},
      {l->joints, SIM_ENTITY_JOINT, 2 * l->size.joints, l->joint_mask},
      {l->thrusters, SIM_ENTITY_THRUSTER, l->size.thrusters, l->thruster_mask},
  };
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < kind[k].count; i++)
      for (int f = 0; row[kind[k].mask + i] == 0 && f < kind[k].features; f++)
        row[kind[k].offset + i * kind[k].features + f] = 3 * unit(92, (uint32_t)(100 * i + f));
}

static void inactive_entities_have_no_influence(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    Case c = make_case(KIND[k], SIM_SIZE_L, 16, 1);
    const SimEntityLayout *l = &c.encoder.shape.layout;
    float *before = malloc(c.n * sizeof *before), *embedding = malloc((size_t)c.rows * c.width * sizeof *embedding);
    float *rows = malloc((size_t)(c.rows * l->length) * sizeof *rows);
    run(&c);
    memcpy(before, c.gradient, c.n * sizeof *before);
    memcpy(embedding, c.embedding, (size_t)c.rows * c.width * sizeof *embedding);
    memcpy(rows, c.x, (size_t)(c.rows * l->length) * sizeof *rows);
    for (int r = 0; r < c.rows; r++) spoil_hidden(l, c.x + (size_t)(r * l->length));
    assert_memory_not_equal(rows, c.x, (size_t)(c.rows * l->length) * sizeof *rows);
    run(&c);
    assert_memory_equal(embedding, c.embedding, (size_t)c.rows * c.width * sizeof *embedding);
    assert_memory_equal(before, c.gradient, c.n * sizeof *before);
    free(before), free(embedding), free(rows);
    destroy_case(&c);
  }
}

/* Shuffles the slots of a level; the simulator remaps all indices. */
static void order_of_entities_does_not_matter(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    Case c = make_case(KIND[k], SIM_SIZE_L, 2, 1);
    const size_t length = (size_t)c.encoder.shape.layout.length;
    double worst = 0;

    for (uint32_t number = 0; number < LEVELS; number++) {
      SimLevel level;
      assert_int_equal(sim_generate_level(SIM_SIZE_L, 4, number, &level), CORE_OK);
      for (int row = 0; row < 2; row++) {
        SimBatch *batch;
        const SimLevelSet set = {&level, 1, SIM_SIZE_L};
        SimBatchOptions options = sim_batch_options_default();
        options.observation = SIM_OBSERVATION_ENTITY;
        assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
        sim_batch_reset(batch, c.x + (size_t)row * length);
        sim_batch_destroy(&batch);
        sim_generate_permute(&level, 5, number);
      }

      assert_memory_not_equal(c.x, c.x + length, length * sizeof *c.x);
      encoder_forward(&c.encoder, c.ops, c.theta, c.x, 2, c.embedding);
      for (size_t i = 0; i < c.width; i++)
        worst = fmax(worst, fabs((double)(c.embedding[i] - c.embedding[c.width + i])));
    }

    if (worst > 1e-5) print_message("# kind %d: off by %g\n", k, worst);
    assert_true(worst <= 1e-5);
    destroy_case(&c);
  }
}

/* More rows than a chunk: the embedding of each row is that of the row alone, and threads do not matter. */
static void threads_and_pieces_do_not_matter(void **state) {
  (void)state;
  enum { ROWS = 2 * ENCODER_CHUNK + 37 };
  for (int k = 0; k < KINDS; k++) {
    Case one = make_case(KIND[k], SIM_SIZE_S, ROWS, 1), three = make_case(KIND[k], SIM_SIZE_S, ROWS, 3);
    run(&one);
    run(&three);
    assert_memory_equal(one.embedding, three.embedding, ROWS * one.width * sizeof *one.embedding);
    assert_memory_equal(one.gradient, three.gradient, one.n * sizeof *one.gradient);
    Case few = make_case(KIND[k], SIM_SIZE_S, 5, 1);
    for (int first = 0; first + few.rows <= ROWS; first += 101) {
      const size_t at = (size_t)first * one.width;
      encoder_forward(&few.encoder, few.ops, one.theta, one.x + (size_t)(first * one.encoder.shape.layout.length),
                      few.rows, few.embedding);
      for (size_t i = 0; i < (size_t)few.rows * one.width; i++)
        assert_true(fabsf(few.embedding[i] - one.embedding[at + i]) <= 1e-5f * (1 + fabsf(one.embedding[at + i])));
    }
    destroy_case(&one), destroy_case(&three), destroy_case(&few);
  }
}

/* Activations of several chunks that are kept for the backward pass, and those that are computed again. */
static void kept_activations_are_the_recomputed_ones(void **state) {
  (void)state;
  enum { ROWS = 2 * ENCODER_CHUNK + 37 };
  for (int k = 0; k < KINDS; k++) {
    Case kept = make_case(KIND[k], SIM_SIZE_S, ROWS, 2), again = make_case(KIND[k], SIM_SIZE_S, ROWS, 2);
    assert_int_equal(kept.encoder.kept, 3);
    again.encoder.kept = 1;

    run(&kept);
    run(&again);
    assert_memory_equal(kept.embedding, again.embedding, ROWS * kept.width * sizeof *kept.embedding);
    assert_memory_equal(kept.gradient, again.gradient, kept.n * sizeof *kept.gradient);
    destroy_case(&kept), destroy_case(&again);
  }
}

/* Pieces' gradients add up to the whole one. */
static void pieces_add_up(void **state) {
  (void)state;
  enum { ROWS = ENCODER_CHUNK + 10 };
  for (int k = 0; k < KINDS; k++) {
    Case c = make_case(KIND[k], SIM_SIZE_S, ROWS, 1);
    float *sum = calloc(c.n, sizeof *sum);
    double worst = 0, largest = 0;
    for (int first = 0; first < ROWS; first += 38) {
      const float *x = c.x + (size_t)(first * c.encoder.shape.layout.length);
      const int rows = ROWS - first < 38 ? ROWS - first : 38;
      encoder_forward(&c.encoder, c.ops, c.theta, x, rows, c.embedding);
      encoder_backward(&c.encoder, c.ops, c.theta, x, rows, c.embedding, c.weight + (size_t)first * c.width,
                       c.gradient);
      for (size_t i = 0; i < c.n; i++) sum[i] += c.gradient[i];
    }
    run(&c);
    for (size_t i = 0; i < c.n; i++) {
      worst = fmax(worst, fabs((double)(c.gradient[i] - sum[i])));
      largest = fmax(largest, fabs((double)sum[i]));
    }
    assert_true(largest > 0 && worst <= 2e-5 * largest);
    free(sum);
    destroy_case(&c);
  }
}

/* Rows of a chunk by the memory that they may take of a device of so much. */
static void pieces_fill_a_device(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    const EncoderShape shape = encoder_shape(KIND[k], sim_entity_layout(SIM_SIZE_S));
    const size_t sizes[] = {(size_t)1 << 20, (size_t)1 << 30, (size_t)80 << 30, SIZE_MAX};
    int chunk[4];
    for (int i = 0; i < 4; i++) {
      CoreDevice *device = core_device_emulated_sized(CORE_DEVICE_FORWARD, sizes[i]);
      CoreArena *arena = core_arena_create("test");
      Encoder encoder;
      core_arena_set_device(arena, device);
      encoder_register(&encoder, &shape, 1 << 20, arena);
      chunk[i] = encoder.chunk_rows;
      if (chunk[i] > ENCODER_CHUNK)
        assert_true(core_arena_device_bytes(arena) < sizes[i] / 8);
      encoder_register(&encoder, &shape, 77, arena);
      assert_int_equal(encoder.chunk_rows, 77);
      core_arena_destroy(&arena);
      core_device_close(&device);
    }
    assert_int_equal(chunk[0], ENCODER_CHUNK);
    assert_true(chunk[1] >= chunk[0] && chunk[2] > 4 * ENCODER_CHUNK);
    assert_int_equal(chunk[3], ENCODER_CHUNK_DEVICE);
    if (k == 0) print_message("# rows of a piece in 1 GiB: %d, in 80 GiB: %d\n", chunk[1], chunk[2]);
  }
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* The counts of the public networks (flax) without their heads, for any size of world. */
static void parameter_counts_are_the_public_ones(void **state) {
  (void)state;
  const SimEntityLayout s = sim_entity_layout(SIM_SIZE_S), l = sim_entity_layout(SIM_SIZE_L);
  assert_int_equal(encoder_shape(ENCODER_SET, s).parameters, 21440);
  assert_int_equal(encoder_shape(ENCODER_STOIX_SET, s).parameters, 21440);
  assert_int_equal(encoder_shape(ENCODER_TRANSFORMER, s).parameters, 619056);
  assert_int_equal(encoder_shape(ENCODER_TRANSFORMER, l).parameters, 619056);
}

/* Orthonormal columns times sqrt(2), of the heads' kernels one above the other too; LeCun's variance, cut at 2. */
static void initial_values_are_as_specified(void **state) {
  (void)state;
  const EncoderShape set = encoder_shape(ENCODER_SET, sim_entity_layout(SIM_SIZE_M));
  const EncoderShape transformer = encoder_shape(ENCODER_TRANSFORMER, sim_entity_layout(SIM_SIZE_M));
  const size_t bytes = transformer.parameters * sizeof(float);
  float *theta = malloc(bytes), *again = malloc(bytes);

  encoder_init(&set, 1, 200, theta);
  const float *heads = theta + set.tensor[8].offset; /* [64][8 heads of 32] */
  assert_string_equal(set.tensor[8].name, "heads W");
  for (int a = 0; a < 32; a++) {
    for (int b = 0; b < 32; b++) {
      double dot = 0;
      for (int i = 0; i < 64; i++)
        for (int h = 0; h < 8; h++) dot += (double)heads[i * 256 + h * 32 + a] * (double)heads[i * 256 + h * 32 + b];
      assert_true(fabs(dot - (a == b ? 2 : 0)) < 1e-5);
    }
  }

  encoder_init(&transformer, 1, 200, theta);
  encoder_init(&transformer, 1, 200, again);
  assert_memory_equal(theta, again, bytes);

  for (int i = 8; i < transformer.tensors; i++) {
    const EncoderTensor *t = &transformer.tensor[i];
    const size_t n = (size_t)t->rows * (size_t)t->columns;
    const double bound = 2 / 0.87962566 / sqrt(t->rows) * 1.0001;
    double variance = 0;
    for (size_t k = 0; k < n; k++) variance += (double)theta[t->offset + k] * (double)theta[t->offset + k] / (double)n;
    if (t->init == ENCODER_LECUN) { /* five standard errors of the estimated variance */
      assert_true(fabs(variance * t->rows - 1) < 5 * sqrt(2.0 / (double)n));
      for (size_t k = 0; k < n; k++) assert_true(fabs((double)theta[t->offset + k]) <= bound);
    } else {
      assert_true(variance == (t->init == ENCODER_ONES ? 1 : 0));
    }
  }

  free(theta), free(again);
}

static void every_parameter_has_a_name(void **state) {
  (void)state;
  char name[64];
  const EncoderShape shape = encoder_shape(ENCODER_TRANSFORMER, sim_entity_layout(SIM_SIZE_M));
  assert_string_equal(encoder_parameter_name(&shape, "actor", 0, name), "actor.polygon W[0,0]");
  assert_string_equal(encoder_parameter_name(&shape, "actor", shape.parameters - 1, name),
                      "actor.layer 1 thruster b[127]");
  const EncoderTensor *t = &shape.tensor[8 + 22 + 8];
  assert_string_equal(encoder_parameter_name(&shape, "critic", t->offset + 3 * 128 + 17, name),
                      "critic.layer 1 gate 1 Ug[3,17]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(embeddings_are_the_oracles),
    cmocka_unit_test(gradients_are_differences),
    cmocka_unit_test(inactive_entities_have_no_influence),
    cmocka_unit_test(order_of_entities_does_not_matter),
    cmocka_unit_test(threads_and_pieces_do_not_matter),
    cmocka_unit_test(kept_activations_are_the_recomputed_ones), cmocka_unit_test(pieces_add_up),
    cmocka_unit_test(pieces_fill_a_device),
    cmocka_unit_test(parameter_counts_are_the_public_ones),
    cmocka_unit_test(initial_values_are_as_specified),
    cmocka_unit_test(every_parameter_has_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
