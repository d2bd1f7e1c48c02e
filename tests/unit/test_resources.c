/* sweep/spec/resources: slurm.* lines of [grid] and [search] blocks, with profiles and --set, and the sets that come of
 * them. */
#include "test.h"

#include "sweep/spec/resources.h"
#include "sweep/spec/spec.h"

#define HEAD "[sweep]\nname = s\nseeds = 2\n"
#define BLOCKS                                                                                          \
  "[slurm]\ntime = 60\ngpus_per_run = 1\n"                                                              \
  "[grid small]\nenv.num = 64, 128\n"                                                                   \
  "[grid large]\nenv.num = 1024\nslurm.gpus_per_run = 16\nslurm.ranks_per_run = 16\nslurm.nodes = 2\n"  \
  "[grid other]\nenv.num = 256\nslurm.gpus_per_run = 1\n"

typedef struct Sweep {
  SweepSpec spec;
  SweepGrid grid;
  SweepResources resources;
} Sweep;

static void open_sweep(const char *text, const char *profile, const char *set, Sweep *sweep) {
  setenv("SWEEP_SITE", "none", 1);
  int code = sweep_spec_parse("f.ini", text, profile, &set, set ? 1 : 0, &sweep->spec);
  if (code == CORE_OK) code = sweep_grid_expand(&sweep->spec, &sweep->grid);
  if (code == CORE_OK) code = sweep_resources_make(&sweep->grid, &sweep->resources);
  if (code != CORE_OK) print_error("%s\n", core_error_message());
  assert_int_equal(code, CORE_OK);
}

static void close_sweep(Sweep *sweep) {
  sweep_resources_free(&sweep->resources);
  sweep_grid_free(&sweep->grid);
  sweep_spec_free(&sweep->spec);
}

static void assert_refused(const char *text, const char *profile, const char *part) {
  Sweep sweep = {0};
  int code = sweep_spec_parse("f.ini", text, profile, NULL, 0, &sweep.spec);
  if (code == CORE_OK) {
    code = sweep_grid_expand(&sweep.spec, &sweep.grid);
    if (code == CORE_OK) code = sweep_resources_make(&sweep.grid, &sweep.resources);
    sweep_grid_free(&sweep.grid);
    sweep_spec_free(&sweep.spec);
  }
  assert_int_equal(code, CORE_USAGE);
  assert_message(part);
}

static void test_sets(void **state) {
  (void)state;
  Sweep sweep;
  open_sweep(HEAD BLOCKS, NULL, NULL, &sweep);
  assert_int_equal(sweep.resources.count, 2); /* [grid other] repeats the values of [slurm] */
  assert_string_equal(sweep.resources.labels[0], "small, other");
  assert_string_equal(sweep.resources.labels[1], "large");
  assert_true(sweep.resources.sets[0].gpus_per_run == 1);
  assert_true(sweep.resources.sets[1].gpus_per_run == 16);
  assert_int_equal(sweep.resources.sets[1].nodes, 2);
  assert_int_equal(sweep.resources.sets[1].time, 3600);
  size_t large = 0;
  for (size_t run = 0; run < sweep.grid.runs; run++) {
    CoreConfig config;
    sweep_grid_config(&sweep.grid, run, &config);
    const size_t set = sweep_resources_of_run(&sweep.resources, &sweep.grid, run);
    assert_int_equal(set, config.env.num == 1024);
    large += set;
  }
  assert_int_equal(large, 2);
  close_sweep(&sweep);
}

static void test_ids_do_not_change(void **state) {
  (void)state;
  Sweep with, without;
  open_sweep(HEAD BLOCKS, NULL, NULL, &with);
  open_sweep(HEAD "[grid small]\nenv.num = 64, 128\n[grid large]\nenv.num = 1024\n[grid other]\nenv.num = 256\n", NULL,
             NULL, &without);
  assert_int_equal(with.grid.runs, without.grid.runs);
  for (size_t run = 0; run < with.grid.runs; run++)
    assert_string_equal(with.grid.ids[run], without.grid.ids[run]);
  close_sweep(&with);
  close_sweep(&without);
}

static void test_set_and_profiles(void **state) {
  (void)state;
  static const char profiles[] = HEAD BLOCKS "[profile p]\nslurm.time = 30\n"
                                             "[profile q grid large]\nenv.num = 512\nslurm.nodes = 1\n"
                                             "slurm.ranks_per_run = 4\n";
  Sweep sweep;
  open_sweep(HEAD BLOCKS, NULL, "slurm.gpus_per_run=32", &sweep);
  for (size_t i = 0; i < sweep.resources.count; i++) assert_true(sweep.resources.sets[i].gpus_per_run == 32);
  assert_int_equal(sweep.resources.sets[1].nodes, 2);
  close_sweep(&sweep);
  open_sweep(profiles, "p", NULL, &sweep);
  assert_int_equal(sweep.resources.sets[1].time, 1800);
  assert_true(sweep.resources.sets[1].gpus_per_run == 16);
  close_sweep(&sweep);
  open_sweep(profiles, "q", NULL, &sweep); /* the block is replaced as a whole */
  assert_int_equal(sweep.resources.sets[1].nodes, 1);
  assert_int_equal(sweep.resources.sets[1].ranks_per_run, 4);
  assert_true(sweep.resources.sets[1].gpus_per_run == 1);
  close_sweep(&sweep);
}

static void test_search(void **state) {
  (void)state;
  Sweep sweep;
  open_sweep("[sweep]\nname = s\n[search a]\ntrials = 2\nppo.learning_rate = log 1e-5 .. 1e-2\nslurm.mem = 8G\n"
             "[search b]\ntrials = 3\nppo.epsilon = 0.1 .. 0.4\n", NULL, NULL, &sweep);
  assert_int_equal(sweep.resources.count, 2);
  assert_int_equal(sweep.resources.sets[0].mem, 8192);
  assert_int_equal(sweep.resources.sets[1].mem, 0);
  assert_int_equal(sweep.grid.runs, 5);
  close_sweep(&sweep);
}

/* Tasks read the frozen file. */
static void test_frozen(void **state) {
  (void)state;
  Sweep sweep, again;
  CoreText text = {0};
  open_sweep(HEAD BLOCKS "[search a]\ntrials = 2\nppo.learning_rate = log 1e-5 .. 1e-2\nslurm.mem = 8G\n", NULL,
             "slurm.time=20", &sweep);
  sweep_freeze_print(&sweep.spec, &text);
  open_sweep(core_text_string(&text), NULL, NULL, &again);
  assert_int_equal(again.resources.count, sweep.resources.count);
  for (size_t i = 0; i < again.resources.count; i++) {
    CoreText one = {0}, other = {0};
    slurm_settings_print(&sweep.resources.sets[i], "=", "\n", &one);
    slurm_settings_print(&again.resources.sets[i], "=", "\n", &other);
    assert_string_equal(core_text_string(&one), core_text_string(&other));
    core_text_free(&one);
    core_text_free(&other);
  }
  core_text_free(&text);
  close_sweep(&sweep);
  close_sweep(&again);
}

static void test_refused(void **state) {
  (void)state;
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.tiem = 60\n", NULL,
                 "f.ini:6:14: slurm.tiem is not a setting; did you mean slurm.time?");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.nodes = 1, 2\n", NULL, "f.ini:6:15: slurm.nodes = 1, 2: expected");
  assert_refused(HEAD "[zip z]\nenv.num = 8\nslurm.nodes = 2\n", NULL,
                 "a zip cannot have resources; move slurm.nodes into");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.after = x\n", NULL, "slurm.after applies to the whole sweep");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.nodes = 2\nslurm.nodes = 3\n", NULL, "is set twice in [grid g]");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.nodes = 2\n", NULL,
                 "f.ini:4:1: [grid g]: slurm.nodes = 2 needs slurm.ranks_per_run = 2");
  assert_refused(HEAD "[grid g]\nslurm.nodes = 2\n", NULL, "empty grid");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.mem = 2G\n[search s]\ntrials = 2\nppo.epsilon = 0.1 .. 0.4\n"
                      "slurm.mem = 3G\n", NULL, "slurm.mem is set by [search s] and by [grid g] (line 6)");
  assert_refused(HEAD "[grid g]\nenv.num = 8\nslurm.mem = 2G\n[profile p]\nslurm.mem = 3G\n", "p",
                 "f.ini:8:1: slurm.mem has no effect here: [grid g] (line 6) sets it");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sets),   cmocka_unit_test(test_ids_do_not_change), cmocka_unit_test(test_set_and_profiles),
    cmocka_unit_test(test_search), cmocka_unit_test(test_frozen),            cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
