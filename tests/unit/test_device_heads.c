/* The device's heads, losses and embeddings against the CPU's, in the manner of test_device_ops.c. */
#define PARTS(F) F(heads) F(continuous_extras) F(penalties) F(values_and_q) F(embedding)
#include "test.h"

#include "device_parts.h"

static const OpsHead gaussian = {.kind = OPS_GAUSSIAN, .factors = 3, .logits = 6, .low = -1, .high = 1};
static const OpsHead affine = {.kind = OPS_TANH_AFFINE, .factors = 3, .logits = 6, .low = -1, .high = 1};
static const OpsHead one_factor = {.factors = 1, .logits = 11, .size = {11}};

/* Two arms with a hand each have 46 actions; OPS_FACTORS_MAX classes of two. */
static const OpsHead two_arms = {.kind = OPS_GAUSSIAN, .factors = 46, .logits = 92, .low = -1, .high = 1};
static OpsHead most_factors(void) {
  OpsHead head = {.factors = OPS_FACTORS_MAX, .logits = 2 * OPS_FACTORS_MAX};
  for (int i = 0; i < OPS_FACTORS_MAX; i++) head.size[i] = 2;
  return head;
}

static void check_head(const OpsHead *head) {
  const size_t width = (size_t)head->logits, bytes = ops_head_action_bytes(head);
  const double exact = ops_head_is_continuous(head) ? 1e-6 : 0; /* these heads use the machine's exponentials */
  float *logits = normals(20, ROWS * width, 1), *other = normals(21, ROWS * width, 1);
  float logp[ROWS], behavior[ROWS], proximal[ROWS], *advantage = normals(22, ROWS, 1);
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
    behavior[i] = logp[i] + 0.2f * (float)sin(i), proximal[i] = logp[i] + 0.1f * (float)cos(i);
  float *gbehavior = UP(behavior, ROWS), *gproximal = UP(proximal, ROWS), *gadvantage = UP(advantage, ROWS);
  for (int ewma = 0; ewma < 2; ewma++) {
    OpsPolicySums a, b;
    host_ops->policy_loss(host_ops, head, other, actions, behavior, ewma ? proximal : NULL, advantage, ROWS, 0.1, 0.01,
                          dlogits, &a);
    ops->policy_loss(ops, head, gother, gactions, gbehavior, ewma ? gproximal : NULL, gadvantage, ROWS, 0.1, 0.01,
                     gdlogits, &b);
    assert_same(dlogits, gdlogits, ROWS * width, exact);
    const double *left = (const double *)&a, *right = (const double *)&b;
    for (size_t k = 0; k < sizeof a / sizeof *left; k++)
      assert_near(right[k], left[k], 1e-6 * (is_gpu() ? 1 : 1e-6) * (1 + fabs(left[k])));
  }
  free(logits), free(other), free(advantage), free(dlogits), free(actions);
}

static void test_heads(void) {
  const OpsHead most = most_factors(), *const heads[] = {&kinetix, &one_factor, &gaussian, &affine, &two_arms, &most};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
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

  host_ops->gaussian_regularize(host_ops, &gaussian, logits, set, coefficient, 0.5, 0.1, ROWS, dlogits, &a);
  ops->gaussian_regularize(ops, &gaussian, glogits, gset, gcoefficient, 0.5, 0.1, ROWS, gdlogits, &b);
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

/* The cap on ratios, and both penalties for KL. */
static void test_penalties(void) {
  const size_t n = ROWS * 16; /* logits of the head */
  float *logp = normals(40, ROWS, 1), *behavior = normals(41, ROWS, 1), capped[ROWS], weights[ROWS];
  float *logits = normals(42, n, 1), *reference = normals(43, n, 1), *dlogits = normals(44, n, 1);
  float *glogp = UP(logp, ROWS), *gbehavior = UP(behavior, ROWS), *gcapped = UP(logp, ROWS), *gweights = UP(logp, ROWS);
  float *glogits = UP(logits, n), *greference = UP(reference, n), *gdlogits = UP(dlogits, n);
  double sum, gsum;
  host_ops->cap(host_ops, behavior, logp, log(1.2), ROWS, capped);
  ops->cap(ops, gbehavior, glogp, log(1.2), ROWS, gcapped);
  assert_same(capped, gcapped, ROWS, 0);
  host_ops->kl_penalty_weights(host_ops, logp, behavior, 0.3, ROWS, weights, &sum);
  ops->kl_penalty_weights(ops, glogp, gbehavior, 0.3, ROWS, gweights, &gsum);
  assert_same(weights, gweights, ROWS, 0);
  assert_near(gsum, sum, 1e-10 * sum);
  host_ops->exact_kl_penalty(host_ops, &kinetix, logits, reference, ROWS, 0.7, dlogits, &sum);
  ops->exact_kl_penalty(ops, &kinetix, glogits, greference, ROWS, 0.7, gdlogits, &gsum);
  assert_same(dlogits, gdlogits, n, 1e-6);
  assert_near(gsum, sum, 1e-10 * sum);
  free(logp), free(behavior), free(logits), free(reference), free(dlogits);
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

int main(void) {
  const struct CMUnitTest gpu[] = {GPU_TESTS}, tests[] = {cmocka_unit_test(test_emulated), cmocka_unit_test(test_gpu)};
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return is_gpu_requested() ? cmocka_run_group_tests(gpu, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
