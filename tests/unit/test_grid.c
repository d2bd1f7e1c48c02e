/* sweep/grid, freeze and ids: the product, the union, zips, seeds, their order, against loops written out by hand. */
#include "test.h"

#include "sweep/spec/grid.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/spec.h"

#define HEAD "[sweep]\nname = s\n"

typedef struct Expanded {
  SweepSpec spec;
  SweepGrid grid;
} Expanded;

static void expand(const char *text, Expanded *e) {
  int code = sweep_spec_parse("f.ini", text, NULL, NULL, 0, &e->spec);
  if (code == CORE_OK) code = sweep_grid_expand(&e->spec, &e->grid);
  if (code != CORE_OK) print_error("%s\n", core_error_message());
  assert_int_equal(code, CORE_OK);
}

static void release(Expanded *e) {
  sweep_grid_free(&e->grid);
  sweep_spec_free(&e->spec);
}

static void assert_refused(const char *text, const char *part, const char *other) {
  SweepSpec spec;
  SweepGrid grid;
  assert_int_equal(sweep_spec_parse("f.ini", text, NULL, NULL, 0, &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_USAGE);
  assert_message(part);
  assert_message(other);
  sweep_spec_free(&spec);
}

/* The id of the defaults with "key=value key=value" set. */
static void id_of(const char *pairs, char id[CORE_RUN_ID]) {
  CoreConfig config = core_config_default();
  char copy[512], *rest = copy;
  snprintf(copy, sizeof copy, "%s", pairs);
  for (char *pair; (pair = strsep(&rest, " "));) assert_int_equal(core_config_set_pair(&config, pair), CORE_OK);
  core_config_id(&config, id);
}

static void assert_run(const Expanded *e, size_t run, const char *pairs) {
  char id[CORE_RUN_ID], again[CORE_RUN_ID];
  CoreConfig config;
  id_of(pairs, id);
  assert_string_equal(e->grid.ids[run], id);
  sweep_grid_config(&e->grid, run, &config);
  core_config_id(&config, again);
  assert_string_equal(again, id);
}

/* ---- expansion ------------------------------------------------------------------------------------------------- */

static void test_no_grid_is_one_configuration(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "seeds = 2\n[ppo]\nepochs = 3\n", &e);
  assert_int_equal(e.grid.cells, 1);
  assert_int_equal(e.grid.runs, 2);
  assert_run(&e, 0, "ppo.epochs=3 train.seed=0");
  assert_run(&e, 1, "ppo.epochs=3 train.seed=1");
  release(&e);
}

static void test_product_and_order(void **state) {
  (void)state;
  static const char *const com[] = {"8", "16", "32"}, *const num[] = {"512", "2048"};
  Expanded e;
  expand(HEAD "seeds = 5, 9\n[train]\ntotal_steps = 1e6\n[grid g]\nppo.com = 8, 16, 32\nenv.num = 512, 2048\n", &e);
  assert_int_equal(e.grid.cells, 6);
  assert_int_equal(e.grid.runs, 12);
  size_t run = 0;
  for (int seed = 5; seed <= 9; seed += 4) /* seeds outermost, the last list fastest */
    for (int c = 0; c < 3; c++)
      for (int n = 0; n < 2; n++) {
        char pairs[256];
        snprintf(pairs, sizeof pairs, "train.total_steps=1e6 train.seed=%d ppo.com=%s env.num=%s", seed, com[c],
                 num[n]);
        assert_run(&e, run++, pairs);
      }
  release(&e);
}

static void test_union_merges_duplicates(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "seeds = 2\n[grid a]\nppo.epochs = 1, 2, 4\n[grid b]\nppo.epochs = 4, 2, 8\n", &e);
  assert_int_equal(e.grid.cells, 6);
  assert_int_equal(e.grid.runs, 8);
  assert_int_equal(e.grid.duplicates, 4);
  assert_run(&e, 3, "ppo.epochs=8");
  assert_run(&e, 7, "ppo.epochs=8 train.seed=1");
  release(&e);
}

/* A value that is the default is the same run as one that leaves it out. */
static void test_default_values_merge(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "[grid a]\nppo.epsilon = 0.1, 0.2\n[grid b]\nppo.epochs = 8, 16\n", &e);
  assert_int_equal(e.grid.runs, 3);
  assert_int_equal(e.grid.duplicates, 1);
  release(&e);
}

static void test_zip_multiplies_every_block(void **state) {
  (void)state;
  static const char *const zip[] = {"env.num=512 ppo.learning_rate=1e-4", "env.num=1024 ppo.learning_rate=2e-4"};
  Expanded e;
  expand(HEAD "[zip z]\nenv.num = 512, 1024\nppo.learning_rate = 1e-4, 2e-4\n[grid a]\nppo.epochs = 1, 2\n"
         "[grid b]\nppo.epsilon = 0.4\n", &e);
  assert_int_equal(e.grid.cells, 6);
  assert_int_equal(e.grid.runs, 6);
  size_t run = 0;
  for (int z = 0; z < 2; z++)
    for (int epochs = 1; epochs <= 2; epochs++) {
      char pairs[256];
      snprintf(pairs, sizeof pairs, "%s ppo.epochs=%d", zip[z], epochs);
      assert_run(&e, run++, pairs);
    }
  assert_run(&e, 4, "env.num=512 ppo.learning_rate=1e-4 ppo.epsilon=0.4");
  assert_run(&e, 5, "env.num=1024 ppo.learning_rate=2e-4 ppo.epsilon=0.4");
  release(&e);
}

static void test_zip_alone(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "[zip z]\nenv.num = 512, 1024\nppo.epochs = 1, 2\n[zip y]\nppo.gamma = 0.9, 0.99\n", &e);
  assert_int_equal(e.grid.runs, 4);
  assert_run(&e, 3, "env.num=1024 ppo.epochs=2 ppo.gamma=0.99");
  release(&e);
}

/* The grid's value wins over the section's, block by block. */
static void test_grid_wins_over_section(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "[ppo]\nepochs = 3\nepsilon = 0.3\n[grid a]\nppo.epochs = 1\n[grid b]\nppo.epsilon = 0.4\n", &e);
  assert_run(&e, 0, "ppo.epochs=1 ppo.epsilon=0.3");
  assert_run(&e, 1, "ppo.epochs=3 ppo.epsilon=0.4");
  release(&e);
}

static void test_text_values_do_not_leak_between_cells(void **state) {
  (void)state;
  Expanded e;
  expand(HEAD "[grid a]\nenv.morphologies = hopper+walker+car, car\nnet.activation = tanh, relu\n", &e);
  assert_run(&e, 2, "env.morphologies=car");
  assert_run(&e, 3, "env.morphologies=car net.activation=relu");
  release(&e);
}

static void test_describe(void **state) {
  (void)state;
  Expanded e;
  CoreText text = {0};
  expand(HEAD "seeds = 2\n[grid a]\nalgo.name = ppo_ewma\nppo.com = 8, 16\nenv.num = 64\n[grid b]\nalgo.name = ppo\n"
         "ppo.epsilon = 0.4\nenv.num = 64\n", &e);
  sweep_grid_describe(&e.grid, 4, &text); /* env.num is equal everywhere: not printed */
  assert_string_equal(core_text_string(&text), "algo.name=ppo_ewma ppo.com=16 seed=1");
  core_text_clear(&text);
  sweep_grid_describe(&e.grid, 2, &text);
  assert_string_equal(core_text_string(&text), "algo.name=ppo ppo.epsilon=0.4 seed=0");
  core_text_free(&text);
  release(&e);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_invalid_cell_is_named(void **state) {
  (void)state;
  assert_refused(HEAD "[grid g]\nenv.num = 64, 60\nppo.num_steps = 10\nppo.num_minibatches = 32\n",
                 "f.ini:3:1: [grid g], the cell env.num=60 ppo.num_steps=10 ppo.num_minibatches=32: ", "600");
  assert_refused(HEAD "[env]\ntask = levels\n", "f.ini: ", "env.levels");
  assert_refused(HEAD "[zip z]\nenv.num = 64, 61\nppo.num_steps = 1, 1\n",
                 "f.ini:3:1: [zip z], the cell env.num=61 ppo.num_steps=1: ", "ppo.num_minibatches = 32");
}

static void test_too_many_runs(void **state) {
  (void)state;
  assert_refused(HEAD "[grid g]\nenv.level_count = 1..100000\nppo.epochs = 1..1000\n",
                 "f.ini:3: more than 10000000 runs", "");
  assert_refused(HEAD "seeds = 1000000\n[grid g]\nppo.epochs = 1..11\n", "more than 10000000 runs", "1000000 seeds");
  assert_refused(HEAD "seeds = 1000000\n[grid g]\nenv.level_count = 1..1000000\nppo.epochs = 1..1000\nppo.num_steps = "
                 "1..60000\nenv.max_steps = 1..60000\ntrain.total_steps = 1..1000000\n", "more than", "");
}

/* ---- freezing -------------------------------------------------------------------------------------------------- */

static void assert_freezes(const char *text, const char *profile, const char *set) {
  SweepSpec spec, again;
  SweepGrid grid, grid_again;
  CoreText frozen = {0};
  assert_int_equal(sweep_spec_parse("f.ini", text, profile, &set, set ? 1 : 0, &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_OK);
  sweep_freeze_print(&spec, &frozen);
  int code = sweep_spec_parse("sweep.ini", core_text_string(&frozen), NULL, NULL, 0, &again);
  if (code != CORE_OK) fail_msg("%s\n%s", core_error_message(), core_text_string(&frozen));
  assert_int_equal(sweep_grid_expand(&again, &grid_again), CORE_OK);
  assert_string_equal(again.name, spec.name);
  assert_int_equal(grid_again.runs, grid.runs);
  for (size_t run = 0; run < grid.runs; run++) {
    CoreConfig config, config_again;
    assert_string_equal(grid_again.ids[run], grid.ids[run]);
    sweep_grid_config(&grid, run, &config);
    sweep_grid_config(&grid_again, run, &config_again);
    /* includes execution settings, which are not part of the id */
    assert_memory_equal(&config, &config_again, sizeof config);
  }
  assert_int_equal(again.resource_count, spec.resource_count);
  sweep_grid_free(&grid);
  sweep_grid_free(&grid_again);
  sweep_spec_free(&spec);
  sweep_spec_free(&again);
  core_text_free(&frozen);
}

static void test_frozen_form_gives_the_same_runs(void **state) {
  (void)state;
  assert_freezes(HEAD, NULL, NULL);
  assert_freezes(HEAD "seeds = 7, 0, 1, 2\n[train]\nthreads = 3\n[grid g]\nppo.epsilon = 0.1, inf\nenv.level_count = "
                      "1..200\n"
                 "[zip z]\nnet.width = 8, 16\nnet.depth = 1, 2\n[slurm]\ntime = 1-12\n", NULL, NULL);
  assert_freezes(HEAD "seeds = 7..7\n[env]\nlevels = \" a; b # \\\"c\\\\ \"\n[grid g]\nenv.morphologies = "
                      "\"\\\"car\\\"\"\n", NULL,
                 NULL);
  assert_freezes(HEAD "[grid g]\nenv.levels = \"\\\"a,b\\\"\"\n[grid h]\nenv.levels = \"a,b\", \"c;\", ,d\n", NULL,
                 NULL);
  assert_freezes(HEAD "seeds = 4\n[grid g]\nppo.com = 1, 2\n[grid h]\nppo.epochs = 2\n[profile p]\nsweep.grids = h\n"
                 "[profile p grid h]\nppo.epochs = 1, 3\n", "p", "sweep.seeds=2");
}

static void test_long_lines_freeze(void **state) {
  (void)state;
  CoreText text = {0};
  core_text_append(&text, HEAD "; ");
  for (int i = 0; i < 60000; i++) core_text_append(&text, "x");
  core_text_append(&text, "\n[grid g]\nenv.level_count = 1..20000\n");
  assert_freezes(core_text_string(&text), NULL, NULL);
  core_text_free(&text);
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

static void test_ids(void **state) {
  (void)state;
  SweepIdSet set = {0};
  size_t index;
  char id[CORE_RUN_ID];
  assert_false(sweep_id_set_find(&set, "0000000000000000", &index));
  for (unsigned i = 0; i < 5000; i++) { /* differ in the last digits only: the table must spread them */
    snprintf(id, sizeof id, "%016x", i);
    assert_true(sweep_id_set_add(&set, id, &index));
    assert_int_equal(index, i);
  }
  for (unsigned i = 0; i < 5000; i++) {
    snprintf(id, sizeof id, "%016x", i);
    assert_false(sweep_id_set_add(&set, id, NULL));
    assert_true(sweep_id_set_find(&set, id, &index));
    assert_int_equal(index, i);
  }
  assert_int_equal(set.count, 5000);
  assert_false(sweep_id_set_find(&set, "ffffffffffffffff", NULL));
  char(*ids)[CORE_RUN_ID] = sweep_id_set_detach(&set);
  assert_string_equal(ids[4999], "0000000000001387");
  assert_int_equal(set.count, 0);
  free(ids);
}

/* A parent is the run of the same seed with the settings in the braces, for any [init] of its own; seeds do not mix. */
static void test_parents(void **state) {
  (void)state;
  char parent[CORE_RUN_ID];
  CoreConfig config;
  Expanded e;
  expand(HEAD "seeds = 3, 7\n[algo]\nname = ppo_ewma\n[ppo]\nepsilon = 0.3\n[grid up]\nppo.com = 512, 1024\n"
         "init.from = run:{ppo.com=8}@40, run:{ppo.com=8 ppo.epochs=2}\n[grid one]\nppo.com = 8\n", &e);
  assert_int_equal(e.grid.runs, 2 * 5);
  for (size_t run = 0; run < 10; run++) {
    char expected[64], pairs[128];
    size_t cell = run % 5;
    snprintf(pairs, sizeof pairs, "algo.name=ppo_ewma ppo.epsilon=0.3 ppo.com=8 train.seed=%d%s", run < 5 ? 3 : 7,
             cell % 2 == 1 ? " ppo.epochs=2" : "");
    id_of(pairs, parent);
    snprintf(expected, sizeof expected, cell == 4 ? "" : cell % 2 == 1 ? "run:%s" : "run:%s@40", parent);
    sweep_grid_config(&e.grid, run, &config);
    assert_string_equal(config.init.from, expected);
  }
  release(&e);
  assert_refused(HEAD "[grid g]\ninit.from = run:{ppo.comm=8}@4\n", "ppo.com", "f.ini:3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_grid_is_one_configuration), cmocka_unit_test(test_product_and_order),
    cmocka_unit_test(test_union_merges_duplicates), cmocka_unit_test(test_default_values_merge),
    cmocka_unit_test(test_zip_multiplies_every_block), cmocka_unit_test(test_zip_alone),
    cmocka_unit_test(test_grid_wins_over_section), cmocka_unit_test(test_text_values_do_not_leak_between_cells),
    cmocka_unit_test(test_describe), cmocka_unit_test(test_invalid_cell_is_named), cmocka_unit_test(test_too_many_runs),
    cmocka_unit_test(test_frozen_form_gives_the_same_runs), cmocka_unit_test(test_long_lines_freeze),
    cmocka_unit_test(test_ids), cmocka_unit_test(test_parents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
