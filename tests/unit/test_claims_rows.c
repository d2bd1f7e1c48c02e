/* Rows of claims.def on runs for which their sentences are true, and for which they are false. */
#include "test.h"

#include "claims_world.h"

enum { SETTINGS = 6 };

/* A configuration: its settings, "key=value ...", and its metrics if the sentence is true and if it is false. */
typedef struct Setting { const char *settings; double yes, no; } Setting;

typedef struct Row { const char *id; AnalysisMeasure measure; Setting setting[SETTINGS]; } Row;

static const Row rows[] = {
  {"epsilon_alike", ANALYSIS_MEASURE_final,
   {{"algo.name=ppo ppo.epsilon=0", 0.5, 0.3}, {"algo.name=ppo ppo.epsilon=0.025", 0.5, 0.5},
    {"algo.name=ppo ppo.epsilon=0.05", 0.5, 0.5}, {"algo.name=ppo ppo.epsilon=0.6", 0.9, 0.5}}},
  {"scale_clock", ANALYSIS_MEASURE_score_at_time,
   {{"scale.scheme=more_minibatches scale.factor=2 ppo.num_minibatches=8", 0.5, 0.5},
    {"scale.scheme=larger_minibatches_sqrt scale.factor=2 ppo.learning_rate=2e-3", 0.5, 0.7},
    {"scale.scheme=larger_minibatches scale.factor=2", 0.9, 0.5}}},
  {"minibatch_parallel", ANALYSIS_MEASURE_goals,
   {{"algo.name=ppo ppo.num_minibatches=24 env.num=64", 0.5, 0.6},
    {"algo.name=ppo ppo.num_minibatches=96 env.num=256 scale.scheme=more_minibatches scale.factor=4", 0.7, 0.4},
    {"algo.name=ppo ppo.num_minibatches=4 env.num=64", 0.6, 0.5},
    {"algo.name=ppo ppo.num_minibatches=16 env.num=256 scale.scheme=more_minibatches scale.factor=4", 0.4, 0.7}}},
  {"com_overshoot", ANALYSIS_MEASURE_kl,
   {{"algo.name=ppo_ewma ppo.com=8 ppo.epsilon=0.05", 0.1, 0.05},
    {"algo.name=ppo_ewma ppo.com=8 ppo.epsilon=0.2", 0.1, 0.2},
    {"algo.name=ppo_ewma ppo.com=128 ppo.epsilon=0.05", 0.05, 0.1},
    {"algo.name=ppo_ewma ppo.com=128 ppo.epsilon=0.2", 0.2, 0.1}}},
  {"sfl_saturation", ANALYSIS_MEASURE_speed,
   {{"ppo.num_minibatches=1024", 20, 10}, {"ppo.num_minibatches=8192", 10, 20}, {"ppo.num_minibatches=32", 5, 15}}},
  {"sfl_minibatches_clock_few", ANALYSIS_MEASURE_score_at_time,
   {{"ppo.num_minibatches=32", 0.2, 0.8}, {"ppo.num_minibatches=1024", 0.6, 0.5},
    {"ppo.num_minibatches=8192", 0.4, 0.4}}},
  {"sfl_learning_rate_time", ANALYSIS_MEASURE_speed,
   {{"env.num=8192 ppo.learning_rate=1e-5 ppo.num_minibatches=128", 10, 30},
    {"env.num=8192 ppo.learning_rate=5e-5 ppo.num_minibatches=128", 60, 1},
    {"env.num=1048576 ppo.learning_rate=2e-4 ppo.num_minibatches=1024 train.total_steps=1e12", 40, 10}}},
  {"minibatch_slow", ANALYSIS_MEASURE_speed, {{"ppo.num_minibatches=10", 20, 10}, {"ppo.num_minibatches=1000", 5, 20}}},
  {"more_actors", ANALYSIS_MEASURE_kl,
   {{"env.num=100 ppo.num_steps=500", 0.2, 0.1}, {"env.num=500 ppo.num_steps=100", 0.1, 0.2}}},
};

/* Whether the sentence is about what can happen, or about some range, so that it is not contradicted. */
static bool is_possible(const char *id) {
  return strcmp(id, "epsilon_alike") == 0 || strcmp(id, "minibatch_slow") == 0;
}

static void set_all(CoreConfig *config, const char *settings) {
  char *copy = strdup(settings), *save = NULL;
  for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *equals = strchr(word, '=');
    *equals = '\0';
    if (core_config_set(config, word, equals + 1) != CORE_OK) fail_msg("%s", core_error_message());
  }
  free(copy);
}

static void test_rows(void **state) {
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    for (int truth = 0; truth < 2; truth++) {
      World world = world_create();
      for (uint32_t s = 0; s < SETTINGS && rows[r].setting[s].settings; s++) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = core_config_default();
          set_all(&config, rows[r].setting[s].settings);
          config.train.seed = seed;
          AnalysisRunMetrics *run = add_run(&world, &config, 0);
          const double mean = truth ? rows[r].setting[s].yes : rows[r].setting[s].no;
          run->value[rows[r].measure] = mean * (1 + 0.01 * noise(r + 50, s, (uint32_t)seed));
          run->rated = true;
        }
      }

      const AnalysisClaimResult f = finding_of(&world, rows[r].id);
      const bool can = is_possible(rows[r].id);
      const AnalysisVerdict otherwise = can ? ANALYSIS_UNDECIDED : ANALYSIS_CONTRADICTED;
      assert_true(truth || !can || (strcmp(f.reason, "not seen in the tested range") == 0 && f.range[0]));

      if (f.verdict != (truth ? ANALYSIS_SUPPORTED : otherwise))
        fail_msg("%s is %s where it is %s: %g, p %g and %g %s", rows[r].id, analysis_verdict_name(f.verdict),
                 truth ? "true" : "false", f.interval.center, f.p_for, f.p_against, f.reason);
      world_free(&world);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
