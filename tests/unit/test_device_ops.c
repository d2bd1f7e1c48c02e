/* The device's ops against the CPU's: every kernel's body is run by the emulator for all blocks and threads, between
 * two barriers forward and backward, in memory that host code can not touch. Where no matrix product and no sum over
 * the rows of a matrix is involved the bits are the same; those differ in the order of their terms. On a machine with a
 * GPU the same comparison runs there, with a tolerance where the device has its own exponentials in float64. */
#include "core/memory.h"
#include "sim/device/kernels_bodies.h"
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_bodies.h"

#include "device_tools.h"
#include "ops_tools.h"

enum { ROWS = 300, IN = 37, OUT = 21, N = 20000, BUFFERS = 32 };

static CoreDevice *device;
static Ops *host_ops, *ops;
static void *buffer[BUFFERS];
static size_t size_of[BUFFERS];
static int buffers;

/* Device memory with a copy of host's. */
static void *up(const void *host, size_t bytes) {
  assert_true(buffers < BUFFERS);
  assert_int_equal(device->allocate(device, bytes, &buffer[buffers]), CORE_OK);
  core_device_to_device(device, buffer[buffers], host, bytes);
  size_of[buffers] = bytes;
  return buffer[buffers++];
}
#define UP(x, n) up((x), (n) * sizeof *(x))

static void *down(const void *memory, size_t bytes) {
  void *host = core_memory_zero_allocate(1, bytes);
  core_device_to_host(device, host, memory, bytes);
  return host;
}

static void forget(void) {
  while (buffers > 0) device->release(device, buffer[--buffers]);
}

static bool is_gpu(void) { return device->stream != NULL; }

/* The same bits; on a GPU at most so far apart, relative to the largest. tolerance 0: the same there too. */
static void assert_same(const float *host, const float *memory, size_t n, double tolerance) {
  float *got = down(memory, n * sizeof *got);
  double largest = 0;
  if (!is_gpu() || tolerance == 0) assert_memory_equal(got, host, n * sizeof *got);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], (double)host[i], tolerance * largest);
  free(got);
}
static void assert_close(const float *host, const float *memory, size_t n, double tolerance) {
  float *got = down(memory, n * sizeof *got);
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)host[i]));
  for (size_t i = 0; i < n; i++) assert_near((double)got[i], (double)host[i], tolerance * largest);
  free(got);
}

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
    ops->adam(ops, dtheta, dgradient, dm, dv, N, 0.7, 1e-3, 0.9, 0.999, 1e-8, t);
    host_ops->adam(host_ops, theta, gradient, m, v, N, 0.7, 1e-3, 0.9, 0.999, 1e-8, t);
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
  ops->standardise(ops, dm, N, 0.3, 1.7), host_ops->standardise(host_ops, m, N, 0.3, 1.7);
  assert_same(m, dm, N, 0);
  ops->bound(ops, dm, N, -0.5f, 0.25f, dv), host_ops->bound(host_ops, m, N, -0.5f, 0.25f, v);
  assert_same(v, dv, N, 0);
  free(theta), free(gradient), free(m), free(v);
}

static uint32_t *random_rows(int rows, uint32_t of) {
  uint32_t *index = core_memory_allocate((size_t)rows * sizeof *index);
  for (int i = 0; i < rows; i++)
    index[i] = core_random_below(core_random_4(9, CORE_RANDOM_TEST, (uint32_t)i, 0, 0).v[0], of);
  return index;
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

/* x with so many bits of fraction, by the machine's own arithmetic. */
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
  const double bf16 = is_gpu() ? 1e-2 : 1e-6; /* a GPU may cut where the CPU rounds, or not round at all */
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

/* ---- heads and losses -------------------------------------------------------------------------------------------- */

static const OpsHead gaussian = {.kind = OPS_GAUSSIAN, .factors = 3, .logits = 6, .low = -1, .high = 1};
static const OpsHead affine = {.kind = OPS_TANH_AFFINE, .factors = 3, .logits = 6, .low = -1, .high = 1};
static const OpsHead one_factor = {.factors = 1, .logits = 11, .size = {11}};

static void check_head(const OpsHead *head) {
  const size_t width = (size_t)head->logits, bytes = ops_head_action_bytes(head);
  const double exact = ops_head_is_continuous(head) ? 1e-6 : 0; /* which take the machine's exponentials */
  float *logits = normals(20, ROWS * width, 1), *other = normals(21, ROWS * width, 1);
  float logp[ROWS], behaviour[ROWS], proximal[ROWS], *advantage = normals(22, ROWS, 1);
  float *dlogits = normals(23, ROWS * width, 1);
  uint8_t *actions = core_memory_zero_allocate(ROWS, bytes);
  float *glogits = UP(logits, ROWS * width), *gother = UP(other, ROWS * width), *glogp = UP(logp, ROWS);
  float *gdlogits = UP(dlogits, ROWS * width);
  uint8_t *gactions = UP(actions, ROWS * bytes), *got;
  double kl[4];
  host_ops->policy_sample(host_ops, head, logits, ROWS, 5, CORE_RANDOM_TEST, 1000, 17, actions, logp);
  ops->policy_sample(ops, head, glogits, ROWS, 5, CORE_RANDOM_TEST, 1000, 17, gactions, glogp);
  got = down(gactions, ROWS * bytes);
  if (!is_gpu() || !ops_head_is_continuous(head)) assert_memory_equal(got, actions, ROWS * bytes);
  core_device_to_device(device, gactions, actions, ROWS * bytes);
  free(got);
  assert_same(logp, glogp, ROWS, exact);
  host_ops->policy_logp(host_ops, head, other, actions, logp, ROWS);
  ops->policy_logp(ops, head, gother, gactions, glogp, ROWS);
  assert_same(logp, glogp, ROWS, exact);
  host_ops->policy_kl(host_ops, head, logits, other, ROWS, &kl[0], &kl[1]);
  ops->policy_kl(ops, head, glogits, gother, ROWS, &kl[2], &kl[3]);
  assert_near(kl[2], kl[0], 1e-12 * fabs(kl[0]));
  assert_near(kl[3], kl[1], 1e-12 * fabs(kl[1]));
  for (int i = 0; i < ROWS; i++)
    behaviour[i] = logp[i] + 0.2f * (float)sin(i), proximal[i] = logp[i] + 0.1f * (float)cos(i);
  float *gbehaviour = UP(behaviour, ROWS), *gproximal = UP(proximal, ROWS), *gadvantage = UP(advantage, ROWS);
  for (int ewma = 0; ewma < 2; ewma++) {
    OpsPolicySums a, b;
    host_ops->policy_loss(host_ops, head, other, actions, behaviour, ewma ? proximal : NULL, advantage, ROWS, 0.1, 0.01,
                          dlogits, &a);
    ops->policy_loss(ops, head, gother, gactions, gbehaviour, ewma ? gproximal : NULL, gadvantage, ROWS, 0.1, 0.01,
                     gdlogits, &b);
    assert_same(dlogits, gdlogits, ROWS * width, exact);
    const double *left = (const double *)&a, *right = (const double *)&b;
    for (size_t k = 0; k < sizeof a / sizeof *left; k++)
      assert_near(right[k], left[k], 1e-6 * (is_gpu() ? 1 : 1e-6) * (1 + fabs(left[k])));
  }
  free(logits), free(other), free(advantage), free(dlogits), free(actions);
}

static void test_heads(void) {
  const OpsHead *heads[] = {&kinetix, &one_factor, &gaussian, &affine};
  for (int i = 0; i < 4; i++) {
    check_head(heads[i]);
    forget();
  }
}

static void test_continuous_extras(void) {
  enum { SETS = 3, FACTORS = 3, WIDTH = 6 };
  float *logits = normals(24, ROWS * WIDTH, 1), *dlogits = normals(25, ROWS * WIDTH, 1), noise[ROWS * FACTORS];
  float mean[ROWS * FACTORS], sigma[SETS * FACTORS], coefficient[SETS] = {0.1f, 0, 0.3f};
  uint32_t *index = random_rows(ROWS, 100000);
  int32_t set[ROWS];
  for (int i = 0; i < ROWS; i++) set[i] = (i / 7) % SETS;
  float *glogits = UP(logits, ROWS * WIDTH), *gdlogits = UP(dlogits, ROWS * WIDTH), *gnoise = UP(noise, ROWS * FACTORS);
  float *gmean = UP(mean, ROWS * FACTORS), *gsigma = UP(sigma, SETS * FACTORS), *gcoefficient = UP(coefficient, SETS);
  uint32_t *gindex = UP(index, ROWS);
  int32_t *gset = UP(set, ROWS);
  OpsGaussianSums a, b;
  host_ops->normal_rows(host_ops, 3, CORE_RANDOM_TEST, index, 8, ROWS, FACTORS, noise);
  ops->normal_rows(ops, 3, CORE_RANDOM_TEST, gindex, 8, ROWS, FACTORS, gnoise);
  assert_same(noise, gnoise, ROWS * FACTORS, 1e-6);
  double entropy, gentropy;
  ops->policy_sampled_entropy(ops, &affine, glogits, gnoise, ROWS, 0.02, gdlogits, &gentropy);
  host_ops->policy_sampled_entropy(host_ops, &affine, logits, noise, ROWS, 0.02, dlogits, &entropy);
  assert_near(gentropy, entropy, 1e-8);
  assert_same(dlogits, gdlogits, ROWS * WIDTH, 1e-6);
  host_ops->gaussian_regularise(host_ops, &gaussian, logits, set, coefficient, 0.5, 0.1, ROWS, dlogits, &a);
  ops->gaussian_regularise(ops, &gaussian, glogits, gset, gcoefficient, 0.5, 0.1, ROWS, gdlogits, &b);
  assert_same(dlogits, gdlogits, ROWS * WIDTH, 1e-6);
  assert_near(b.entropy, a.entropy, 1e-9);
  assert_near(b.bounds, a.bounds, 1e-9);
  host_ops->gaussian_split(host_ops, dlogits, set, ROWS, FACTORS, SETS, mean, sigma);
  core_device_to_device(device, gdlogits, dlogits, ROWS * WIDTH * sizeof *dlogits);
  ops->gaussian_split(ops, gdlogits, gset, ROWS, FACTORS, SETS, gmean, gsigma);
  assert_same(mean, gmean, ROWS * FACTORS, 0);
  assert_close(sigma, gsigma, SETS * FACTORS, 1e-7);
  core_device_to_device(device, gsigma, sigma, sizeof sigma);
  host_ops->gaussian_join(host_ops, mean, sigma, set, ROWS, FACTORS, logits);
  ops->gaussian_join(ops, gmean, gsigma, gset, ROWS, FACTORS, glogits);
  assert_same(logits, glogits, ROWS * WIDTH, 0);
  free(logits), free(dlogits), free(index);
}

static void test_values_and_q(void) {
  enum { COLUMNS = 5 };
  float *value = normals(26, ROWS, 1), *old = normals(27, ROWS, 1), *target = normals(28, ROWS, 1), dvalue[ROWS];
  float *q = normals(29, ROWS * COLUMNS, 1), dq[ROWS * COLUMNS], values[ROWS];
  uint8_t actions[ROWS];
  OpsValueSums a, b;
  for (int i = 0; i < ROWS; i++) actions[i] = (uint8_t)(i % COLUMNS);
  q[3] = q[4] = 9; /* equal ones */
  float *gvalue = UP(value, ROWS), *gold = UP(old, ROWS), *gtarget = UP(target, ROWS), *gdvalue = UP(dvalue, ROWS);
  float *gq = UP(q, ROWS * COLUMNS), *gdq = UP(dq, ROWS * COLUMNS), *gvalues = UP(values, ROWS);
  uint8_t *gactions = UP(actions, ROWS);
  for (int clip = 0; clip < 2; clip++) {
    host_ops->value_loss(host_ops, value, old, target, ROWS, clip, 0.2, 0.5, dvalue, &a);
    ops->value_loss(ops, gvalue, gold, gtarget, ROWS, clip, 0.2, 0.5, gdvalue, &b);
    assert_same(dvalue, gdvalue, ROWS, 0);
    assert_near(b.loss, a.loss, 1e-10);
  }
  host_ops->q_loss(host_ops, q, actions, target, ROWS, COLUMNS, dq, &a);
  ops->q_loss(ops, gq, gactions, gtarget, ROWS, COLUMNS, gdq, &b);
  assert_same(dq, gdq, ROWS * COLUMNS, 0);
  assert_near(b.loss, a.loss, 1e-10);
  host_ops->q_values(host_ops, q, ROWS, COLUMNS, values);
  ops->q_values(ops, gq, ROWS, COLUMNS, gvalues);
  assert_same(values, gvalues, ROWS, 0);
  host_ops->q_policy(host_ops, q, ROWS, COLUMNS, 0.1);
  ops->q_policy(ops, gq, ROWS, COLUMNS, 0.1);
  assert_same(q, gq, ROWS * COLUMNS, 0);
  free(value), free(old), free(target), free(q);
}

static void test_embedding(void) {
  enum {
    FEATURES = 5,
    WIDTH = 4,
    SETS = 30,
    JOINED = FEATURES + WIDTH
  }; /* more sums than a row of the ops has room for */
  float *x = normals(30, ROWS * (FEATURES + 1), 1), *embedding = normals(31, SETS * WIDTH, 1), joined[ROWS * JOINED];
  float dembedding[SETS * WIDTH];
  int32_t set[ROWS], *got;
  for (int i = 0; i < ROWS; i++) x[i * (FEATURES + 1) + FEATURES] = (float)(i % SETS);
  float *gx = UP(x, ROWS * (FEATURES + 1)), *gembedding = UP(embedding, SETS * WIDTH),
        *gjoined = UP(joined, ROWS * JOINED);
  float *gdembedding = UP(dembedding, SETS * WIDTH);
  int32_t *gset = UP(set, ROWS);
  host_ops->embed_forward(host_ops, x, embedding, ROWS, FEATURES, WIDTH, joined, set);
  ops->embed_forward(ops, gx, gembedding, ROWS, FEATURES, WIDTH, gjoined, gset);
  assert_same(joined, gjoined, ROWS * JOINED, 0);
  got = down(gset, sizeof set);
  assert_memory_equal(got, set, sizeof set);
  free(got);
  host_ops->embed_backward(host_ops, joined, set, ROWS, FEATURES, WIDTH, SETS, dembedding);
  ops->embed_backward(ops, gjoined, gset, ROWS, FEATURES, WIDTH, SETS, gdembedding);
  assert_close(dembedding, gdembedding, SETS * WIDTH, 1e-7);
  free(x), free(embedding);
}

/* ---- the emulator itself ----------------------------------------------------------------------------------------- */

/* Waits in half of its threads only, or lacks the barrier between writing and reading a neighbour's number. */
typedef struct Neighbours { int32_t *out; int barrier; } Neighbours;
static void read_neighbour(const CoreDeviceThread *at, const void *arguments) {
  const Neighbours *n = arguments;
  int32_t *shared = at->shared;
  shared[at->thread] = (int32_t)at->thread;
  if (n->barrier) core_device_barrier(at);
  n->out[at->thread] = shared[(at->thread + 1) % at->threads];
}

/* What a graph does is what its operations would do, each time it is launched and not before. */
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
  emulated->begin_graph(emulated);
  Increment arguments = {x};
  emulated->launch(emulated, &kernel, 1, 4, 0, &arguments);
  arguments.x = NULL; /* the graph has its own */
  core_device_copy(emulated, (int32_t *)x + 4, x, 4 * sizeof(int32_t));
  emulated->fill(emulated, (int32_t *)x + 8, 0xff, sizeof(int32_t));
  CoreGraph *graph = emulated->end_graph(emulated);
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
  const CoreKernel kernel = {"read_neighbour", read_neighbour, NULL, CORE_GROUP_BLOCK, sizeof(Neighbours)};
  int32_t result[2][2][THREADS];
  (void)state;
  for (int order = 0; order < 2; order++)
    for (int barrier = 0; barrier < 2; barrier++) {
      CoreDevice *emulated = core_device_emulated((CoreDeviceOrder)order);
      void *out;
      assert_int_equal(emulated->allocate(emulated, sizeof result[0][0], &out), CORE_OK);
      emulated->launch(emulated, &kernel, 1, THREADS, THREADS * sizeof(int32_t), &(Neighbours){out, barrier});
      core_device_to_host(emulated, result[order][barrier], out, sizeof result[0][0]);
      core_device_close(&emulated);
    }
  for (int k = 0; k < THREADS; k++) assert_int_equal(result[0][1][k], (k + 1) % THREADS);
  assert_memory_equal(result[0][1], result[1][1], sizeof result[0][1]);
  assert_memory_not_equal(result[0][0], result[1][0], sizeof result[0][0]);
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

/* ---- on every device --------------------------------------------------------------------------------------------- */

#define PARTS(F) \
  F(sums) F(elementwise) F(gather) F(permutation) F(gae) F(episodes) F(dense) F(rounded_factors) F(norm) F(heads) \
  F(continuous_extras) F(values_and_q) F(embedding)

static void begin(void) {
  buffers = 0; /* of a part that failed */
  host_ops = make_ops(1);
  if (ops_device_create(device, OPS_FLOAT32, ROWS, 64, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
}

static void end(void) {
  ops_destroy(&ops);
  ops_destroy(&host_ops);
  core_device_close(&device);
}

static void run_all(void) {
  begin();
#define F(part) test_##part(), forget();
  PARTS(F)
#undef F
  end();
}

/* In every order of threads, and isolated: what is read without a barrier gives another result. */
static void test_emulated(void **state) {
  const CoreDeviceOrder orders[] = {CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED};
  (void)state;
  for (int i = 0; i < 3; i++) {
    device = core_device_emulated(orders[i]);
    run_all();
  }
}

static void test_gpu(void **state) {
  (void)state;
  device = open_gpu(false);
  run_all();
}

/* TEST_DEVICE=gpu (tests/gpu/all.sh): on the GPU alone, which must be there; each part is a test of its own, so that
 * one that fails hides no other. */
static void on_gpu(void (*part)(void)) {
  device = open_gpu(true);
  begin();
  part();
  forget();
  end();
}
#define F(part) static void gpu_##part(void **state) { (void)state, on_gpu(test_##part); }
PARTS(F)
#undef F

int main(void) {
#define F(part) cmocka_unit_test(gpu_##part),
  const struct CMUnitTest gpu[] = {cmocka_unit_test(test_arguments_have_one_layout), PARTS(F)};
#undef F
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  if (asked_for_gpu()) return cmocka_run_group_tests(gpu, NULL, NULL);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_missing_barrier_shows), cmocka_unit_test(test_graph),
    cmocka_unit_test(test_arguments_have_one_layout),
    cmocka_unit_test(test_emulated), cmocka_unit_test(test_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
