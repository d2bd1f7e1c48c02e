/* analysis/runs/configs: which runs share a configuration; analysis/runs/group: the orders that statistics depend on,
 * against the obvious algorithm that compares all pairs. */
#include "test.h"

#include "analysis/runs/configs.h"
#include "analysis/runs/group.h"
#include "core/error.h"
#include "core/random.h"

/* ---- sharing ----------------------------------------------------------------------------------------------------- */

static const AnalysisConfigFacts *parse(AnalysisConfigs *configs, const char *json, int64_t seed) {
  const AnalysisConfigFacts *facts = NULL;
  int64_t read = -1;
  if (analysis_configs_parse(configs, json, &facts, &read) != CORE_OK) fail_msg("%s: %s", json, core_error_message());
  assert_int_equal(read, seed);
  assert_int_equal(facts->config.train.seed, 0);
  return facts;
}

static void test_seeds_share(void **state) {
  (void)state;
  AnalysisConfigs *configs = analysis_configs_create();
  const AnalysisConfigFacts *first = parse(configs, "{\"train\":{\"seed\":3},\"ppo\":{\"epsilon\":0.1}}", 3);
  assert_ptr_equal(parse(configs, "{\"train\":{\"seed\":4294967295},\"ppo\":{\"epsilon\":0.1}}", 4294967295), first);
  assert_ptr_equal(parse(configs, "{\"train\":{\"seed\": 7}, \"ppo\":{\"epsilon\":0.10}}", 7), first); /* other text */
  assert_ptr_equal(parse(configs, "{\"ppo\":{\"epsilon\":0.1}}", 0), first);                           /* default */
  assert_ptr_not_equal(parse(configs, "{\"train\":{\"seed\":3},\"ppo\":{\"epsilon\":0.2}}", 3), first);

  CoreConfig changed = first->config;
  changed.train.seed = 12;
  changed.ppo.epsilon = 0.3;
  const CoreConfig *shared = analysis_configs_share(configs, &changed);
  changed.train.seed = 13;
  assert_ptr_equal(analysis_configs_share(configs, &changed), shared);
  assert_int_equal(shared->train.seed, 0);
  analysis_configs_destroy(&configs);
  assert_null(configs);
}

/* Only train.seed is the seed, whatever else has this name. */
static void test_other_seeds(void **state) {
  static const struct { const char *form; int64_t seed; } texts[] = {
    {"{\"other\":{\"seed\":%d},\"train\":{\"seed\":1}}", 1}, {"{\"train\":{\"seed\":1},\"other\":{\"seed\":%d}}", 1},
    {"{\"train\":{\"total_steps\":9},\"other\":{\"seed\":%d}}", 0}, {"{\"other\":{\"seed\":%d}}", 0},
    {"{\"train\":{\"seed\":%d,\"seed\":2}}", 2}, {"{\"other\":{\"train\":\"\\\"train\\\":\",\"seed\":%d}}", 0}};
  (void)state;
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    AnalysisConfigs *configs = analysis_configs_create();
    const AnalysisConfigFacts *first = NULL;
    for (int other = 2; other >= 0; other--) {
      char json[128];
      snprintf(json, sizeof json, texts[t].form, other);
      const AnalysisConfigFacts *facts = parse(configs, json, texts[t].seed);
      assert_true(!first || facts == first);
      first = facts;
    }
    analysis_configs_destroy(&configs);
  }
}

static void test_damaged(void **state) {
  (void)state;
  AnalysisConfigs *configs = analysis_configs_create();
  const AnalysisConfigFacts *facts = NULL;
  int64_t seed;
  parse(configs, "{\"train\":{\"seed\":1}}", 1);
  assert_int_not_equal(analysis_configs_parse(configs, "{\"train\":{\"seed\":-1}}", &facts, &seed), CORE_OK);
  assert_int_not_equal(analysis_configs_parse(configs, "{\"train\":{\"seed\":01}}", &facts, &seed), CORE_OK);
  assert_int_not_equal(analysis_configs_parse(configs, "{\"train\":{\"seed\":4294967296}}", &facts, &seed), CORE_OK);
  assert_int_not_equal(analysis_configs_parse(configs, "{\"train\":{\"seed\":1}", &facts, &seed), CORE_OK);
  core_error_clear();
  analysis_configs_destroy(&configs);
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

enum { CONFIGS = 12, RUNS = 60 };

/* Runs in a random order, whose configurations are shared or, alike, not. */
static void test_order_of_groups(void **state) {
  CoreConfig configs[2 * CONFIGS];
  AnalysisRun runs[RUNS];
  (void)state;
  memset(runs, 0, sizeof runs);

  for (size_t c = 0; c < 2 * CONFIGS; c++) {
    configs[c] = core_config_default();
    configs[c].ppo.epsilon = 0.1 * (double)(1 + c % 3);
    configs[c].ppo.epochs = 1 + (int64_t)(c % CONFIGS / 3);
  }
  for (size_t r = 0; r < RUNS; r++) {
    const CoreRandom4 draw = core_random_4(5, CORE_RANDOM_BOOTSTRAP, 0, 0, (uint32_t)r);
    runs[r].config = (AnalysisConfig){&configs[draw.v[0] % (2 * CONFIGS)], draw.v[1] % 4};
  }

  const AnalysisSelection selection = {.runs = runs, .count = RUNS};
  static const char *const keys[] = {NULL, "ppo.epochs", "train.seed", "train.seed,ppo.epsilon"};

  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    AnalysisGrouping grouping;
    assert_int_equal(analysis_group_runs(&selection, keys[k], &grouping), CORE_OK);
    for (size_t a = 0; a < RUNS; a++) {
      const size_t group = grouping.group_of[a];
      bool is_first = true;

      for (size_t b = 0; b < RUNS; b++) {
        int order = 0;
        for (size_t i = 0; i < grouping.key_count && order == 0; i++)
          order = analysis_group_compare(&runs[a].config, &runs[b].config, grouping.keys[i]);
        assert_int_equal((grouping.group_of[b] < group) - (grouping.group_of[b] > group), order);
        is_first = is_first && (b >= a || grouping.group_of[b] != group);
      }
      if (is_first) assert_ptr_equal(grouping.groups[group].config, &runs[a].config);
    }

    analysis_grouping_free(&grouping);
  }
}

/* Members come in the order of the selection, on which sums, bootstraps and permutations depend. */
static void test_order_of_members(void **state) {
  size_t group_of[RUNS], seen = 0;
  AnalysisGrouping grouping = {.count = 5, .group_of = group_of};
  (void)state;
  for (size_t r = 0; r < RUNS; r++) group_of[r] = r * r % 4; /* groups 2, 3 and 4 are empty */
  AnalysisMembers members = analysis_grouping_members(&grouping, RUNS - 1);
  for (size_t g = 0; g < grouping.count; g++) {
    for (size_t r = 0; r < RUNS - 1; r++)
      if (group_of[r] == g) assert_int_equal(members.run[seen++], r);
    assert_int_equal(members.first[g + 1], seen);
  }
  assert_int_equal(seen, RUNS - 1);
  analysis_members_free(&members);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_seeds_share),     cmocka_unit_test(test_other_seeds),
    cmocka_unit_test(test_damaged),         cmocka_unit_test(test_order_of_groups),
    cmocka_unit_test(test_order_of_members),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
