/* The device's ops against the CPU's: the emulator runs every kernel's body for all blocks and threads, between two
 * barriers forward and backward, in memory that host code cannot access. Results without matrix products and sums over
 * the rows of a matrix have the same bits; the others differ in the order of their terms. On a machine with a GPU the
 * same comparison runs there, with a tolerance where the device has its own float64 exponentials. */
#include "test.h"

#include "core/memory.h"
#include "sim/device/kernels_bodies.h"
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_bodies.h"

#define PARTS(F) \
  F(sums) F(elementwise) F(gather) F(permutation) F(gae) F(episodes) F(dense) F(rounded_factors) F(norm) F(shards) \
  F(advantages)
#include "device_parts.h"

enum { IN = 37, OUT = 21, N = 20000 };

/* ---- long vectors ------------------------------------------------------------------------------------------------ */

static void test_sums(void) {
  float *x = normals(1, N, 3), *y = normals(2, N, 2);
  const size_t sizes[] = {1, 15, 4096, 4097, N};
  float *dx = UP(x, N), *dy = UP(y, N);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    Moments a, b;
    const size_t n = sizes[i];
    assert_true(ops->norm_squared(ops, dx, n) == host_ops->norm_squared(host_ops, x, n));
    assert_true(ops->distance_squared(ops, dx, dy, n) == host_ops->distance_squared(host_ops, x, y, n));
    ops->moments(ops, dx, i % 2 ? dy : NULL, n, &a);
    host_ops->moments(host_ops, x, i % 2 ? y : NULL, n, &b);
    assert_memory_equal(&a, &b, sizeof a);
  }
  assert_int_equal(ops->first_nonfinite(ops, dx, N), N);
  x[777] = NAN, x[12345] = INFINITY;
  assert_int_equal(ops->first_nonfinite(ops, UP(x, N), N), 777);
  free(x), free(y);
}

static void test_elementwise(void) {
  float *theta = normals(3, N, 1), *gradient = normals(4, N, 1), *m = normals(5, N, 1), *v = normals(6, N, 1);
  for (int i = 0; i < N; i++) v[i] = fabsf(v[i]);
  float *dtheta = UP(theta, N), *dgradient = UP(gradient, N), *dm = UP(m, N), *dv = UP(v, N);
  for (int t = 1; t < 8; t += 3) {
    ops->adam(ops, dtheta, dgradient, dm, dv, N, 0.7, 1 - 1e-2, 1e-3, 0.9, 0.999, 1e-8, t);
    host_ops->adam(host_ops, theta, gradient, m, v, N, 0.7, 1 - 1e-2, 1e-3, 0.9, 0.999, 1e-8, t);
    ops->radam(ops, dtheta, dgradient, dm, dv, N, 0.7, 1e-3, 0.9, 0.99, 1e-8, t);
    host_ops->radam(host_ops, theta, gradient, m, v, N, 0.7, 1e-3, 0.9, 0.99, 1e-8, t);
  }
  assert_same(theta, dtheta, N, 0);
  assert_same(m, dm, N, 0);
  assert_same(v, dv, N, 0);
  const double keeps[] = {0.9, 0};
  for (int i = 0; i < 2; i++) {
    ops->ewma(ops, dm, dtheta, N, keeps[i]);
    host_ops->ewma(host_ops, m, theta, N, keeps[i]);
    assert_same(m, dm, N, 0);
  }
  ops->add(ops, dm, dv, N), host_ops->add(host_ops, m, v, N);
  ops->normalize(ops, dm, N, 0.3, 1.7), host_ops->normalize(host_ops, m, N, 0.3, 1.7);
  assert_same(m, dm, N, 0);
  ops->bound(ops, dm, N, -0.5f, 0.25f, dv), host_ops->bound(host_ops, m, N, -0.5f, 0.25f, v);
  assert_same(v, dv, N, 0);
  free(theta), free(gradient), free(m), free(v);
}

static void test_gather(void) {
  enum { WIDTH = 7, SOURCE = 90 };
  float *source = normals(7, SOURCE * WIDTH, 1), target[ROWS * WIDTH];
  uint32_t *index = random_rows(ROWS, SOURCE);
  float *dsource = UP(source, SOURCE * WIDTH), *dtarget = UP(target, ROWS * WIDTH);
  uint32_t *dindex = UP(index, ROWS);

  memset(target, 0, sizeof target);
  ops->gather_rows(ops, dsource, dindex, dtarget, ROWS, WIDTH);
  host_ops->gather_rows(host_ops, source, index, target, ROWS, WIDTH);
  assert_same(target, dtarget, ROWS * WIDTH, 0);

  for (size_t bytes = 1; bytes <= 12; bytes++) {
    ops->gather_bytes(ops, dsource, dindex, dtarget, ROWS, bytes);
    host_ops->gather_bytes(host_ops, source, index, target, ROWS, bytes);
    void *got = down(dtarget, ROWS * bytes);
    assert_memory_equal(got, target, ROWS * bytes);
    free(got);
  }

  char fields[ROWS * 17] = {0}, *dfields = UP(fields, sizeof fields);
  const float *from = source;
  for (int host = 0; host < 2; host++, from = dsource) { /* rows of 4, 6, 4 and 3 bytes, one array behind the other */
    char *to = host == 0 ? fields : dfields;
    const OpsField field[] = {{from, to, 4}, {from + 1, to + 4 * ROWS, 6}, {from + 30, to + 10 * ROWS, 4},
                              {from, to + 14 * ROWS, 3}};
    if (host == 0) host_ops->gather_fields(host_ops, field, 4, index, ROWS);
    else ops->gather_fields(ops, field, 4, dindex, ROWS);
  }

  void *got = down(dfields, sizeof fields);
  assert_memory_equal(got, fields, sizeof fields);
  free(got);
  free(source), free(index);
}

/* The shuffle of the host's loop, place by place; and rows of whole worlds. */
static void test_permutation(void) {
  static const uint32_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 65, 1000, N};
  uint32_t *order = core_memory_allocate(N * sizeof *order);
  uint32_t *zeros = core_memory_zero_allocate(2 * N, sizeof *zeros);
  uint32_t *dorder = UP(zeros, N), *scratch = UP(zeros, 2 * N);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
      core_random_permutation(11, CORE_RANDOM_SHUFFLE, 5, epoch, order, sizes[i]);
      ops->permute(ops, 11, CORE_RANDOM_SHUFFLE, 5, epoch, dorder, sizes[i], scratch);
      uint32_t *got = down(dorder, sizes[i] * sizeof *got);
      assert_memory_equal(got, order, sizes[i] * sizeof *got);
      free(got);
    }
  enum { COUNT = 90, STEPS = 7, WORLDS = 300 };
  uint32_t rows[COUNT * STEPS];
  core_random_permutation(11, CORE_RANDOM_SHUFFLE, 5, 0, order, WORLDS);
  host_ops->world_rows(host_ops, order, COUNT, STEPS, WORLDS, rows);
  ops->world_rows(ops, UP(order, WORLDS), COUNT, STEPS, WORLDS, dorder);
  uint32_t *got = down(dorder, sizeof rows);
  assert_memory_equal(got, rows, sizeof rows);
  free(got), free(order), free(zeros);
}

static void test_gae(void) {
  enum { STEPS = 9, WORLDS = 150, ALL = STEPS * WORLDS };
  float *reward = normals(8, ALL, 1), *value = normals(9, ALL + WORLDS, 1), *bootstrap = normals(10, ALL, 1);
  float advantage[ALL], target[ALL], zeros[ALL] = {0};
  uint8_t done[ALL], cut[ALL];
  for (int i = 0; i < ALL; i++) done[i] = i % 7 == 0, cut[i] = i % 11 == 0;
  float *dadvantage = UP(zeros, ALL), *dtarget = UP(zeros, ALL), *dreward = UP(reward, ALL);
  float *dvalue = UP(value, ALL + WORLDS), *dbootstrap = UP(bootstrap, ALL);
  uint8_t *ddone = UP(done, ALL), *dcut = UP(cut, ALL);
  for (int some = 0; some < 2; some++) {
    ops->gae(ops, 0.99, 0.9, 0.5, dreward, dvalue, ddone, some ? dcut : NULL, some ? dbootstrap : NULL, STEPS, WORLDS,
             dadvantage, dtarget);
    host_ops->gae(host_ops, 0.99, 0.9, 0.5, reward, value, done, some ? cut : NULL, some ? bootstrap : NULL, STEPS,
                  WORLDS, advantage, target);
    assert_same(advantage, dadvantage, ALL, 0);
    assert_same(target, dtarget, ALL, 0);
  }
  free(reward), free(value), free(bootstrap);
}

static void test_episodes(void) {
  enum { WORLDS = 200, LEVELS = 3 };
  float *reward = normals(11, WORLDS, 1);
  uint8_t done[WORLDS], solved[WORLDS];
  int32_t level[WORLDS], length[WORLDS];
  double returns[WORLDS] = {0}, finished[WORLDS] = {0}, *sums;
  int64_t attempts[LEVELS] = {0}, solutions[LEVELS] = {0}, count[OPS_EPISODE_COUNTS] = {0}, *counts;

  for (int w = 0; w < WORLDS; w++) {
    done[w] = w % 3 == 0, solved[w] = w % 6 == 0 ? 1 + w % 5 : 0, level[w] = w / 3 % LEVELS, length[w] = w;
    returns[w] = 0.1 * w;
  }

  const int32_t number[LEVELS] = {2, 0, 1}, *numbers = UP(number, LEVELS);
  OpsEpisodes here = {WORLDS, 50, returns, finished, attempts, solutions, count, NULL};
  OpsEpisodes there = {
    WORLDS,       50,  UP(returns, WORLDS), UP(finished, WORLDS), UP(attempts, LEVELS), UP(solutions, LEVELS),
    UP(count, OPS_EPISODE_COUNTS), NULL};
  const OpsEpisodeStep step = {reward, done, solved, level, length};
  const OpsEpisodeStep device_step = {UP(reward, WORLDS), UP(done, WORLDS), UP(solved, WORLDS), UP(level, WORLDS),
                                      UP(length, WORLDS)};

  for (int t = 0; t < 3; t++) {
    host_ops->count_episodes(host_ops, &here, &step);
    ops->count_episodes(ops, &there, &device_step);
    here.level_of_slot = number, there.level_of_slot = numbers; /* as where a rank has some of the levels */
  }

  assert_true(attempts[0] != attempts[1] && attempts[1] != attempts[2]);
  sums = down(there.returns, sizeof returns);
  assert_memory_equal(sums, returns, sizeof returns);
  free(sums);
  sums = down(there.finished, sizeof finished);
  for (int w = 1; w < WORLDS; w++) sums[0] += sums[w];
  assert_near(sums[0], finished[0], 1e-10);
  free(sums);

  const struct { const void *there; const int64_t *here; size_t n; } whole[] = {
    {there.attempts, attempts, LEVELS}, {there.solutions, solutions, LEVELS}, {there.count, count, OPS_EPISODE_COUNTS}};
  for (int i = 0; i < 3; i++) {
    counts = down(whole[i].there, whole[i].n * sizeof *counts);
    assert_memory_equal(counts, whole[i].here, whole[i].n * sizeof *counts);
    free(counts);
  }
  free(reward);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Rounds x to `bits` bits of fraction, by the machine's own arithmetic. */
static double round_to(float x, int bits) {
  int exponent;
  const double fraction = frexp((double)x, &exponent); /* 0.5 .. 1 */
  return ldexp(round(ldexp(fraction, bits + 1)), exponent - bits - 1);
}

static void test_dense(void) {
  float *x = normals(12, ROWS * IN, 1), *w = normals(13, IN * OUT, 0.2), *b = normals(14, OUT, 0.2);
  float *upstream = normals(15, ROWS * OUT, 1), y[ROWS * OUT], dy[ROWS * OUT], dx[ROWS * IN], dw[IN * OUT], db[OUT];
  float *gx = UP(x, ROWS * IN), *gw = UP(w, IN * OUT), *gb = UP(b, OUT), *gy = UP(upstream, ROWS * OUT);
  float *gdy = UP(upstream, ROWS * OUT), *gdx = UP(x, ROWS * IN), *gdw = UP(w, IN * OUT), *gdb = UP(b, OUT);
  for (OpsActivation a = OPS_LINEAR; a <= OPS_ELU; a++) {
    host_ops->dense_forward(host_ops, x, w, b, y, ROWS, IN, OUT, a);
    ops->dense_forward(ops, gx, gw, gb, gy, ROWS, IN, OUT, a);
    assert_close(y, gy, ROWS * OUT, 1e-6);
    memcpy(dy, upstream, sizeof dy);
    core_device_to_device(device, gdy, upstream, sizeof dy);
    host_ops->dense_backward(host_ops, x, w, b, y, dy, dx, dw, db, ROWS, IN, OUT, a);
    ops->dense_backward(ops, gx, gw, gb, gy, gdy, gdx, gdw, gdb, ROWS, IN, OUT, a);
    assert_close(dy, gdy, ROWS * OUT, 3e-6);
    assert_close(dx, gdx, ROWS * IN, 3e-6);
    assert_close(dw, gdw, IN * OUT, 3e-6);
    assert_close(db, gdb, OUT, 3e-6);
    ops->dense_backward(ops, gx, gw, gb, gy, gdy, NULL, gdw, gdb, ROWS, IN, OUT, a);
  }
  free(x), free(w), free(b), free(upstream);
}

/* Rounded factors: those of the CPU's bf16, and a TF32 product that is exact in doubles of rounded numbers. */
static void test_rounded_factors(void) {
  float *x = normals(12, ROWS * IN, 1), *w = normals(13, IN * OUT, 0.2), *b = normals(14, OUT, 0.2);
  float y[ROWS * OUT], dy[ROWS * OUT], dx[ROWS * IN], dw[IN * OUT], db[OUT];
  float *gx = UP(x, ROWS * IN), *gw = UP(w, IN * OUT), *gb = UP(b, OUT), *gy = UP(y, ROWS * OUT);
  float *gdy = UP(x, ROWS * OUT), *gdx = UP(x, ROWS * IN), *gdw = UP(w, IN * OUT), *gdb = UP(b, OUT);
  const double bf16 = is_gpu() ? 3e-2 : 1e-6; /* a GPU may truncate where the CPU rounds, or not round at all */
  Ops *host, *rounded;
  assert_int_equal(ops_cpu_create_bf16(1, ROWS, 64, &host), CORE_OK);
  assert_int_equal(ops_device_create(device, OPS_BF16, ROWS, 64, false, &rounded), CORE_OK);
  memcpy(dy, x, sizeof dy);
  host->dense_forward(host, x, w, b, y, ROWS, IN, OUT, OPS_TANH);
  rounded->dense_forward(rounded, gx, gw, gb, gy, ROWS, IN, OUT, OPS_TANH);
  assert_close(y, gy, ROWS * OUT, bf16);
  host->dense_backward(host, x, w, b, y, dy, dx, dw, db, ROWS, IN, OUT, OPS_LINEAR);
  rounded->dense_backward(rounded, gx, gw, gb, gy, gdy, gdx, gdw, gdb, ROWS, IN, OUT, OPS_LINEAR);
  assert_close(dx, gdx, ROWS * IN, bf16);
  assert_close(dw, gdw, IN * OUT, bf16);
  ops_destroy(&host), ops_destroy(&rounded);

  assert_int_equal(ops_device_create(device, OPS_TF32, ROWS, 64, false, &rounded), CORE_OK);
  memset(b, 0, OUT * sizeof *b);
  rounded->dense_forward(rounded, gx, gw, UP(b, OUT), gy, ROWS, IN, OUT, OPS_LINEAR);
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < OUT; c++) {
      double sum = 0;
      for (int k = 0; k < IN; k++) sum += round_to(x[r * IN + k], 10) * round_to(w[k * OUT + c], 10);
      y[r * OUT + c] = (float)sum;
    }
  assert_close(y, gy, ROWS * OUT, is_gpu() ? 1e-3 : 1e-6); /* a GPU may cut where this rounds */
  ops_destroy(&rounded);
  free(x), free(w), free(b);
}

static void test_norm(void) {
  float *z = normals(16, ROWS * OUT, 2), *gain = normals(17, OUT, 1), *offset = normals(18, OUT, 1), inverse[ROWS];
  float *upstream = normals(19, ROWS * OUT, 1), y[ROWS * OUT], dy[ROWS * OUT], dgain[OUT], doffset[OUT];
  float *ggain = UP(gain, OUT), *goffset = UP(offset, OUT), *ginverse = UP(inverse, ROWS), *gy = UP(y, ROWS * OUT);
  float *gz = UP(z, ROWS * OUT), *gdy = UP(upstream, ROWS * OUT), *gdgain = UP(dgain, OUT),
        *gdoffset = UP(doffset, OUT);
  for (OpsActivation a = OPS_LINEAR; a <= OPS_ELU; a++) {
    host_ops->norm_forward(host_ops, z, inverse, gain, offset, y, ROWS, OUT, 1e-6, a);
    ops->norm_forward(ops, gz, ginverse, ggain, goffset, gy, ROWS, OUT, 1e-6, a);
    assert_same(z, gz, ROWS * OUT, 0);
    assert_same(inverse, ginverse, ROWS, 0);
    assert_same(y, gy, ROWS * OUT, 0);
    memcpy(dy, upstream, sizeof dy);
    core_device_to_device(device, gdy, upstream, sizeof dy);
    host_ops->norm_backward(host_ops, z, inverse, gain, offset, y, dy, dgain, doffset, ROWS, OUT, a);
    ops->norm_backward(ops, gz, ginverse, ggain, goffset, gy, gdy, gdgain, gdoffset, ROWS, OUT, a);
    assert_same(dy, gdy, ROWS * OUT, 0);
    assert_close(dgain, gdgain, OUT, 1e-7);
    assert_close(doffset, gdoffset, OUT, 1e-7);
  }
  free(z), free(gain), free(offset), free(upstream);
}

/* ---- the emulator itself ----------------------------------------------------------------------------------------- */

/* Waits in half of its threads only, or lacks the barrier between writing and reading a neighbor's number. */
typedef struct Neighbors { int32_t *out; int barrier; } Neighbors;
static void read_neighbor(const CoreDeviceThread *at, const void *arguments) {
  const Neighbors *n = arguments;
  int32_t *shared = at->shared;
  shared[at->thread] = (int32_t)at->thread;
  if (n->barrier) core_device_barrier(at);
  n->out[at->thread] = shared[(at->thread + 1) % at->threads];
}

/* A graph has the effect of its operations, each time it is launched and not before. */
typedef struct Increment { int32_t *x; } Increment;
static void increment(const CoreDeviceThread *at, const void *arguments) {
  ((const Increment *)arguments)->x[at->thread] += (int32_t)at->thread;
}
static void test_graph(void **state) {
  const CoreKernel kernel = {"increment", increment, NULL, CORE_GROUP_NONE, sizeof(Increment)};
  CoreDevice *emulated = core_device_emulated(CORE_DEVICE_FORWARD);
  int32_t result[12];
  void *x;
  (void)state;
  assert_int_equal(emulated->allocate(emulated, sizeof result, &x), CORE_OK);
  emulated->begin_capture(emulated);
  Increment arguments = {x};
  emulated->launch(emulated, &kernel, 1, 4, 0, &arguments);
  arguments.x = NULL; /* the graph has its own */
  core_device_copy(emulated, (int32_t *)x + 4, x, 4 * sizeof(int32_t));
  emulated->fill(emulated, (int32_t *)x + 8, 0xff, sizeof(int32_t));
  CoreGraph *graph = emulated->end_capture(emulated);
  assert_int_equal(emulated->launches, 0);
  for (int launched = 0; launched < 4; launched++) {
    core_device_to_host(emulated, result, x, sizeof result);
    for (int i = 0; i < 4; i++) assert_int_equal(result[i], launched * i);
    for (int i = 0; i < 4; i++) assert_int_equal(result[4 + i], launched * i);
    assert_int_equal(result[8], launched ? -1 : 0);
    emulated->launch_graph(emulated, graph);
  }
  assert_int_equal(emulated->graphs, 4);
  emulated->destroy_graph(emulated, graph);
  core_device_close(&emulated);
}

static void test_a_missing_barrier_shows(void **state) {
  enum { THREADS = 64 };
  const CoreKernel kernel = {"read_neighbor", read_neighbor, NULL, CORE_GROUP_BLOCK, sizeof(Neighbors)};
  int32_t result[2][2][THREADS];
  (void)state;
  for (int order = 0; order < 2; order++)
    for (int barrier = 0; barrier < 2; barrier++) {
      CoreDevice *emulated = core_device_emulated((CoreDeviceOrder)order);
      void *out;
      assert_int_equal(emulated->allocate(emulated, sizeof result[0][0], &out), CORE_OK);
      emulated->launch(emulated, &kernel, 1, THREADS, THREADS * sizeof(int32_t), &(Neighbors){out, barrier});
      core_device_to_host(emulated, result[order][barrier], out, sizeof result[0][0]);
      core_device_close(&emulated);
    }
  for (int k = 0; k < THREADS; k++) assert_int_equal(result[0][1][k], (k + 1) % THREADS);
  assert_memory_equal(result[0][1], result[1][1], sizeof result[0][1]);
  assert_memory_not_equal(result[0][0], result[1][0], sizeof result[0][0]);
}

/* Gradients of shards: their weighted sum, of which a share of 0 reads nothing, and a mean that one joins. */
static void test_shards(void) {
  enum { SHARDS = 3, M = 1000 };
  const double share[SHARDS] = {0.25, 0, 0.75};
  float *of = normals(60, SHARDS * M, 1), mean[M], blended[M];
  for (int i = 0; i < M; i++) {
    of[M + i] = NAN;
    mean[i] = (float)(0.25 * (double)of[i] + 0.75 * (double)of[2 * M + i]);
    blended[i] = 0.25f * mean[i] + 0.75f * of[i];
  }
  float *gof = UP(of, SHARDS * M), *gmean = UP(of, M);
  const OpsFoldShards fold = {.of = gof, .shares = UP(share, SHARDS), .parts = core_divisor(1), .shards = SHARDS,
                              .n = M, .mean = gmean};
  DEVICE_LAUNCH(device_state(ops), ops_fold_shards, M, &fold);
  assert_same(mean, gmean, M, 0);
  const OpsBlend blend = {gmean, gof, M, 0.25f, 0.75f};
  DEVICE_LAUNCH(device_state(ops), ops_blend, M, &blend);
  assert_same(blended, gmean, M, 0);
  free(of);
}

/* Advantages of a minibatch, by their own moments: of n, or of n - 1. */
static void test_advantages(void) {
  enum { M = 50 };
  for (int unbiased = 0; unbiased < 2; unbiased++) {
    float *x = normals(61, M, 3), *gx = UP(x, M);
    Moments moments;
    host_ops->moments(host_ops, x, NULL, M, &moments);
    const double variance = moments.m2 / (M - unbiased);
    ops->update->normalize(ops, gx, M, unbiased);
    for (int i = 0; i < M; i++) x[i] = (float)(((double)x[i] - moments.mean) / (sqrt(variance) + 1e-8));
    assert_close(x, gx, M, 1e-6);
    free(x);
  }
}

/* The host's compiler writes the kernels' arguments and nvcc's code reads them: both must lay them out alike. */
#if CORE_HAS_CUDA
#define KERNEL(name, arguments_type, team) size_t name##_bytes(void);
#include "sim/device/kernels.def"
#include "trainer/ops/kernels/kernels.def"
#undef KERNEL
#endif
static void test_arguments_have_one_layout(void **state) {
  (void)state;
#if CORE_HAS_CUDA
#define KERNEL(name, arguments_type, team) assert_int_equal(name##_bytes(), sizeof(arguments_type));
#include "sim/device/kernels.def"
#include "trainer/ops/kernels/kernels.def"
#undef KERNEL
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest gpu[] = {cmocka_unit_test(test_arguments_have_one_layout), GPU_TESTS};
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  if (is_gpu_requested()) return cmocka_run_group_tests(gpu, NULL, NULL);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_missing_barrier_shows), cmocka_unit_test(test_graph),
    cmocka_unit_test(test_arguments_have_one_layout),
    cmocka_unit_test(test_emulated), cmocka_unit_test(test_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
