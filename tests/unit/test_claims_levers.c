/* Relations with DDR over a grid: levers that matter for other reasons than DDR are no relation, and one that DDR makes
 * is found. */
#include "test.h"

#include "claims_world.h"

enum { LEVER_SEEDS = 2, LEVERS = 4, WORLDS = 500, VALUES = 4 };

/* A grid as that of fig8_ddr: COM x epochs x environments, and epsilon x epochs x environments, 48 configurations. */
typedef struct Grid { World world; double place[RUNS_MAX][LEVERS], ddr[RUNS_MAX]; } Grid;

static void add_point(Grid *g, bool is_ewma, int weak, int epochs, int envs) {
  for (int seed = 0; seed < LEVER_SEEDS; seed++) {
    CoreConfig config = is_ewma ? ewma(8 * pow(4, weak), seed) : core_config_default();
    config.train.seed = seed;
    if (!is_ewma) config.ppo.epsilon = 0.05 * (1 << weak);
    config.ppo.epochs = 1 << epochs;
    config.env.num = 16 << (2 * envs);
    const double place[LEVERS] = {is_ewma ? weak : 0, is_ewma ? 0 : weak, epochs, envs};
    memcpy(g->place[g->world.count], place, sizeof place);
    g->ddr[g->world.count] = exp((is_ewma ? 1.2 : -1.0) * weak - 0.7 * epochs + 0.9 * envs + (is_ewma ? 0 : 2));
    add_run(&g->world, &config, 0);
  }
}

static Grid *grid_create(void) {
  Grid *g = calloc(1, sizeof *g);
  g->world = world_create();
  for (int is_ewma = 0; is_ewma < 2; is_ewma++)
    for (int weak = 0; weak < VALUES; weak++)
      for (int epochs = 0; epochs < 3; epochs++)
        for (int envs = 0; envs < 2; envs++) add_point(g, is_ewma, weak, epochs, envs);
  return g;
}

/* Sets the measures: `share` of the variance from the levers in random directions, and `slope` times log DDR. */
static void fill_grid(Grid *g, uint32_t number, double share, double slope) {
  double coefficient[LEVERS];
  for (uint32_t l = 0; l < LEVERS; l++) coefficient[l] = noise(40, number, l);
  for (size_t r = 0; r < g->world.count; r++) {
    double levers = 0;
    for (int l = 0; l < LEVERS; l++) levers += coefficient[l] * (g->place[r][l] - 1) / 1.1;
    const double own = noise(41, number, (uint32_t)r / LEVER_SEEDS), value =
      sqrt(share) * levers / 2 + sqrt(1 - share) * own + slope * log(g->ddr[r]);
    AnalysisRunMetrics *m = &g->world.measured[r];
    m->value[ANALYSIS_MEASURE_ddr] = g->ddr[r];
    m->value[ANALYSIS_MEASURE_gain] = m->value[ANALYSIS_MEASURE_best] = value;
    m->value[ANALYSIS_MEASURE_early] = -value;
  }
}

/* Draws the DDR of each configuration. */
static void draw_ddr(Grid *g, uint32_t number) {
  for (size_t r = 0; r < g->world.count; r++) g->ddr[r] = exp(2 * noise(42, number, (uint32_t)r / LEVER_SEEDS));
}

/* Levers that matter in random directions, and a DDR that has nothing to do with them: slopes along several levers then
 * share configurations. */
static void test_levers_without_relation(void **state) {
  static const char *const ids[] = {"ddr_low", "ddr_high", "ddr_budget"};
  Grid *g = grid_create();
  const AnalysisSelection selection = {.runs = g->world.runs, .count = g->world.count};
  const AnalysisClaimsOptions asked = {.ids = ids, .id_count = 3};

  static const struct { double share; bool is_random; } cases[] = {
    {0, false}, {0.5, false}, {0.9, false}, {0, true}, {0.5, true}};

  for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
    int up[3] = {0}, down[3] = {0};
    for (uint32_t w = 0; w < WORLDS; w++) {
      AnalysisClaimResult *list;
      size_t count;
      if (cases[s].is_random) draw_ddr(g, w);
      fill_grid(g, w, cases[s].share, 0);
      assert_int_equal(analysis_claims_test(NULL, &selection, g->world.measured, NULL, &asked, &list, &count), CORE_OK);
      for (size_t i = 0; i < count; i++) {
        up[i] += list[i].verdict == ANALYSIS_SUPPORTED;
        down[i] += list[i].verdict == ANALYSIS_CONTRADICTED;
      }
      analysis_claims_free(&list, count);
    }
    /* 2.5 % and three standard errors of 500 worlds */
    for (int i = 0; i < 3; i++)
      if (up[i] > 23 || down[i] > 23) fail_msg("case %zu, %s: %d and %d of 500", s, ids[i], up[i], down[i]);
  }
  world_free(&g->world);
  free(g);
}

static void test_relation(void **state) {
  Grid *g = grid_create();
  fill_grid(g, 1, 0.1, 2);
  assert_int_equal(finding_of(&g->world, "ddr_low").verdict, ANALYSIS_SUPPORTED);
  assert_int_equal(finding_of(&g->world, "ddr_high").verdict, ANALYSIS_SUPPORTED);
  fill_grid(g, 1, 0.1, -2);
  assert_int_equal(finding_of(&g->world, "ddr_low").verdict, ANALYSIS_CONTRADICTED);
  world_free(&g->world);
  free(g);
}

/* A hill over DDR: the middle third is best along each lever. */
static void test_middle(void **state) {
  Grid *g = grid_create();
  fill_grid(g, 2, 0.1, 0);
  for (size_t r = 0; r < g->world.count; r++) {
    const double u = log(g->ddr[r]) - 1;
    g->world.measured[r].value[ANALYSIS_MEASURE_best] -= 2 * u * u;
  }
  const AnalysisClaimResult f = finding_of(&g->world, "ddr_ends");
  assert_true(f.interval.center > 1 && f.p_for < f.p_against);
  world_free(&g->world);
  free(g);
}

/* Two levers are too few. */
static void test_two_levers(void **state) {
  World world = world_create();
  for (int epochs = 0; epochs < 4; epochs++)
    for (int epsilon = 0; epsilon < 4; epsilon++)
      for (int seed = 0; seed < 3; seed++) {
        CoreConfig config = core_config_default();
        config.ppo.epochs = 1 << epochs;
        config.ppo.epsilon = 0.1 * (1 + epsilon);
        config.train.seed = seed;
        add_run(&world, &config, 0.1 * (epochs + epsilon) + 0.01 * seed);
      }
  const AnalysisClaimResult f = finding_of(&world, "ddr_low");
  assert_int_equal(f.verdict, ANALYSIS_UNDECIDED);
  assert_non_null(strstr(f.reason, "three levers"));
  world_free(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_levers_without_relation), cmocka_unit_test(test_relation),
                                     cmocka_unit_test(test_middle),
                                     cmocka_unit_test(test_two_levers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
