/* Difficulty of hand-designed levels, for random actions and for none, against the reference environment's own table:
 * the task as a whole, from physics through rewards and ends of episodes. */
#include "test.h"

#include <omp.h>

#include "core/files.h"
#include "core/random.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"

#define LEVELS "../shared/data/kinetix_levels"
#define TABLE "../shared/data/golden/level_stats.tsv"
enum { ATTEMPTS = 96, STEPS = 256, TABLE_LEVELS = 37, QUANTITIES = 4 };

/* The significance: each of the 37 levels is tested in four quantities (solved, burnt, return, length), and each
 * quantity once over all levels together for a shift in one direction: 152 tests, of which a right simulator fails any
 * with probability below FAMILY (Bonferroni), were its seed drawn at random. */
static const double FAMILY = 0.001;
enum { TESTS = TABLE_LEVELS * QUANTITIES + QUANTITIES };
static const char *const quantities[QUANTITIES] = {"solved", "burnt", "return", "length"};

typedef struct Mean { double mean, sd; } Mean;
typedef struct Statistics { int attempts, solved, red; Mean result, length; } Statistics;
typedef struct Row { char level[64]; bool random; Statistics theirs; } Row;

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static void draw_actions(uint32_t t, int attempts, uint8_t *actions) {
  for (int w = 0; w < attempts; w++) {
    const CoreRandom4 words = core_random_4(9, CORE_RANDOM_TEST, (uint32_t)w, t, 0);
    for (int i = 0; i < SIM_ACTIONS; i++) { /* 16 bits each, in a word's halves */
      const uint32_t half = words.v[i / 2] >> (i % 2 * 16) & 0xffff;
      actions[w * SIM_ACTIONS + i] = (uint8_t)(half * (i < SIM_MOTOR_BINDINGS ? 3u : 2u) >> 16);
    }
  }
}

static Mean mean_of(const double *value, int n) {
  Mean m = {0};
  for (int i = 0; i < n; i++) m.mean += value[i] / n;
  for (int i = 0; i < n; i++) m.sd += (value[i] - m.mean) * (value[i] - m.mean) / (n > 1 ? n - 1 : 1);
  m.sd = sqrt(m.sd);
  return m;
}

/* First episodes of `attempts` worlds on a level, with the reference's padded lanes. */
static Statistics play(const SimLevel *level, int attempts, bool random) {
  const SimLevelSet set = {(SimLevel *)level, 1, level->size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  uint8_t actions[ATTEMPTS * SIM_ACTIONS] = {0}, done[ATTEMPTS], solved[ATTEMPTS], over[ATTEMPTS] = {0};
  float reward[ATTEMPTS];
  double result[ATTEMPTS] = {0}, length[ATTEMPTS] = {0};
  Statistics s = {.attempts = attempts};
  int left = attempts;
  options.worlds = attempts;
  options.pad_writes_zero = true;
  if (sim_batch_create(&options, &set, &batch) != CORE_OK) fail_msg("%s", core_error_message());
  for (uint32_t t = 0; t < STEPS && left > 0; t++) {
    if (random) draw_actions(t, attempts, actions);
    sim_batch_step(batch, actions, &(SimStepOut){.reward = reward, .done = done, .solved = solved});
    for (int w = 0; w < attempts; w++) {
      if (over[w]) continue;
      result[w] += (double)reward[w];
      length[w]++;
      if (!done[w]) continue;
      over[w] = 1;
      left--;
      s.solved += solved[w];
      s.red += !solved[w] && reward[w] < -0.5f;
    }
  }
  sim_batch_destroy(&batch);
  s.result = mean_of(result, attempts);
  s.length = mean_of(length, attempts);
  return s;
}

/* ---- reference's statistics -------------------------------------------------------------------------------------- */

static bool read_row(const char *line, Row *row) {
  char policy[16];
  double solved, red, timeout;
  Statistics *s = &row->theirs;
  if (sscanf(line, "%63s %15s %d %lf %lf %lf %lf %lf %lf %lf", row->level, policy, &s->attempts, &solved, &red,
             &timeout, &s->result.mean, &s->result.sd, &s->length.mean, &s->length.sd) != 10)
    return false;
  row->random = strcmp(policy, "random") == 0;
  s->solved = (int)lround(solved * s->attempts);
  s->red = (int)lround(red * s->attempts);
  return true;
}

static int read_table(Row *rows, int capacity) {
  char *text = NULL, *rest, *line;
  size_t bytes;
  int count = 0;
  if (!core_files_exists(LEVELS) || !core_files_exists(TABLE)) {
    print_message("# %s or %s is not here\n", LEVELS, TABLE);
    skip();
  }
  assert_int_equal(core_files_read(TABLE, 0, &text, &bytes), CORE_OK);
  for (rest = text; (line = strsep(&rest, "\n")) != NULL && count < capacity;) count += read_row(line, &rows[count]);
  free(text);
  return count;
}

static SimLevel read_level(const Row *row) {
  SimLevel level;
  char path[CORE_PATH_MAX];
  assert_int_equal(core_files_path(path, LEVELS "/%s.json", row->level), CORE_OK);
  if (sim_level_read(path, &level) != CORE_OK) fail_msg("%s", core_error_message());
  return level;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static double log_choose(int n, int k) { return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0); }

/* Fisher's exact test, two-sided: the probability of tables that are no likelier than a of n against b of m. */
static double p_of_shares(int a, int n, int b, int m) {
  const int both = a + b;
  const double seen = log_choose(n, a) + log_choose(m, b), all = log_choose(n + m, both);
  double p = 0;
  for (int k = both > m ? both - m : 0; k <= (both < n ? both : n); k++) {
    const double likely = log_choose(n, k) + log_choose(m, both - k);
    if (likely <= seen + 1e-9) p += exp(likely - all);
  }
  return fmin(p, 1);
}

static double p_of_z(double z) { return erfc(fabs(z) / sqrt(2)); }

/* With sign, for the shift over all levels. Beneath 0.001 values are equal: what is the same to the last attempt
 * differs by rounding. */
static double z_of_means(Mean a, int n, Mean b, int m) {
  const double apart = a.mean - b.mean, error = sqrt(a.sd * a.sd / n + b.sd * b.sd / m);
  return fabs(apart) < 1e-3 ? 0 : apart / fmax(error, 1e-3);
}

static double z_of_shares(int a, int n, int b, int m) {
  const double share = (double)(a + b) / (n + m), error = sqrt(share * (1 - share) * (1.0 / n + 1.0 / m));
  return error > 0 ? ((double)a / n - (double)b / m) / error : 0;
}

static void test_random_actions(void **state) {
  (void)state;
  Row rows[2 * TABLE_LEVELS + 1];
  double z_sum[QUANTITIES] = {0}, least = 1;
  int z_count[QUANTITIES] = {0}, levels = 0, wrong = 0;

  const int count = read_table(rows, 2 * TABLE_LEVELS + 1);
  for (int i = 0; i < count; i++) {
    const Statistics *b = &rows[i].theirs;
    if (!rows[i].random) continue;

    const SimLevel level = read_level(&rows[i]);
    const Statistics a = play(&level, ATTEMPTS, true);
    const double z[QUANTITIES] = {z_of_shares(a.solved, a.attempts, b->solved, b->attempts),
                                  z_of_shares(a.red, a.attempts, b->red, b->attempts),
                                  z_of_means(a.result, a.attempts, b->result, b->attempts),
                                  z_of_means(a.length, a.attempts, b->length, b->attempts)};
    const double p[QUANTITIES] = {p_of_shares(a.solved, a.attempts, b->solved, b->attempts),
                                  p_of_shares(a.red, a.attempts, b->red, b->attempts), p_of_z(z[2]), p_of_z(z[3])};

    levels++;
    for (int q = 0; q < QUANTITIES; q++) {
      z_sum[q] += z[q];
      z_count[q] += z[q] != 0;
      least = fmin(least, p[q]);
      if (p[q] >= FAMILY / TESTS) continue;
      wrong++;
      print_error("%s: %s differs, p %.2g: solved %d/%d against %d/%d, burnt %d against %d, return %.3f against %.3f, "
                  "length %.1f against %.1f\n", rows[i].level, quantities[q], p[q], a.solved, a.attempts, b->solved,
                  b->attempts, a.red, b->red, a.result.mean, b->result.mean, a.length.mean, b->length.mean);
    }
  }

  for (int q = 0; q < QUANTITIES; q++) {
    const double z = z_sum[q] / sqrt(z_count[q]);
    print_message("# %s: shift over %d levels z %.2f\n", quantities[q], z_count[q], z);
    if (p_of_z(z) < FAMILY / TESTS) wrong++;
  }

  print_message("# %d levels, least p %.2g, limit %.2g\n", levels, least, FAMILY / TESTS);
  assert_int_equal(levels, TABLE_LEVELS);
  assert_int_equal(wrong, 0);
}

/* One deterministic episode: its end is the reference's, and so are return and length up to drift. */
static void test_no_actions(void **state) {
  (void)state;
  Row rows[2 * TABLE_LEVELS + 1];
  const int count = read_table(rows, 2 * TABLE_LEVELS + 1);
  int levels = 0;
  double most = 0;
  for (int i = 0; i < count; i++) {
    if (rows[i].random) continue;
    const SimLevel level = read_level(&rows[i]);
    const Statistics a = play(&level, 1, false), *b = &rows[i].theirs;
    if (a.solved != b->solved || a.red != b->red || fabs(a.length.mean - b->length.mean) > 1 ||
        fabs(a.result.mean - b->result.mean) > 1e-3)
      fail_msg("%s: solved %d against %d, burnt %d against %d, length %.0f against %.0f, return %.4f against %.4f",
               rows[i].level, a.solved, b->solved, a.red, b->red, a.length.mean, b->length.mean, a.result.mean,
               b->result.mean);
    most = fmax(most, fabs(a.result.mean - b->result.mean));
    levels++;
  }
  print_message("# %d levels, returns differ by %.2g at most\n", levels, most);
  assert_int_equal(levels, TABLE_LEVELS);
}

/* The tests themselves, against known values. */
static void test_the_tests(void **state) {
  (void)state;
  assert_float_equal(p_of_shares(1, 10, 11, 14), 0.00276, 1e-5); /* the textbook's table of 1 9 / 11 3 */
  assert_float_equal(p_of_shares(3, 4, 1, 4), 0.48571, 1e-5);    /* Fisher's tea */
  assert_true(p_of_shares(0, 96, 0, 64) == 1);
  assert_float_equal(p_of_z(1.959964), 0.05, 1e-6);
  assert_true(p_of_shares(0, 96, 20, 64) < FAMILY / TESTS); /* smallest difference that the test detects */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_tests), cmocka_unit_test(test_no_actions), cmocka_unit_test(test_random_actions)};
  omp_set_num_threads(1); /* small batches: waiting for each other would cost more than they gain */
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
