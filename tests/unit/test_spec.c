/* sweep/spec and sweep/list: the syntax of experiment files, its meaning, and the message of each error. */
#include "test.h"

#include "sweep/spec/grid.h"
#include "slurm/settings.h"
#include "sweep/spec/spec.h"

#define HEAD "[sweep]\nname = s\n"

static int parse(const char *text, const char *profile, const char *set, SweepSpec *spec) {
  return sweep_spec_parse("f.ini", text, profile, &set, set ? 1 : 0, spec);
}

static void assert_parses(const char *text, const char *profile, const char *set, SweepSpec *spec) {
  int code = parse(text, profile, set, spec);
  if (code != CORE_OK) print_error("%s\n", core_error_message());
  assert_int_equal(code, CORE_OK);
}

/* Expects CORE_USAGE and each part (up to NULL) in the message. */
static void assert_refused(const char *text, const char *profile, const char *set, ...) {
  SweepSpec spec;
  va_list parts;
  assert_int_equal(parse(text, profile, set, &spec), CORE_USAGE);
  va_start(parts, set);
  for (const char *part; (part = va_arg(parts, const char *));)
    assert_message(part);
  va_end(parts);
}

static const SweepValueList *list_of(const SweepBlock *block, const char *name) {
  for (size_t i = 0; i < block->count; i++)
    if (strcmp(block->lists[i].row->name, name) == 0) return &block->lists[i];
  fail_msg("no list %s", name);
  return NULL;
}

/* ---- valid files ------------------------------------------------------------------------------------------------- */

static void test_everything(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses("; a comment\n[sweep]\nname = fig8_ddr\nseeds = 3\n[train]\ntotal_steps = 1e6 ; "
                "budget\n[ppo]\nepochs = 4\n"
                "[grid com]\nalgo.name = ppo_ewma\nppo.com = 8, 16,32\n[grid eps]\nppo.epsilon = 0.05, 0.1, inf\n"
                "[zip scale]\nenv.num = 512, 1024\nppo.learning_rate = 1e-4, 2e-4\n[slurm]\ntime = 02:00:00\nmem = "
                "8G\n",
                NULL, NULL, &spec);
  assert_string_equal(spec.name, "fig8_ddr");
  assert_int_equal(spec.seed_count, 3);
  assert_int_equal(spec.seeds[2], 2);
  assert_int_equal(spec.base.train.total_steps, 1000000);
  assert_int_equal(spec.base.ppo.epochs, 4);
  assert_int_equal(spec.grid_count, 2);
  assert_int_equal(spec.zip_count, 1);
  assert_int_equal(list_of(&spec.grids[0], "ppo.com")->count, 3);
  assert_true(list_of(&spec.grids[0], "ppo.com")->values[2].number.real == 32);
  assert_string_equal(list_of(&spec.grids[1], "ppo.epsilon")->values[2].text, "inf");
  assert_int_equal(list_of(&spec.zips[0], "env.num")->values[1].number.integer, 1024);
  assert_int_equal(spec.resource_count, 2);
  assert_string_equal(spec.resources[0].value, "02:00:00");
  sweep_spec_free(&spec);
}

static void test_defaults(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(HEAD, NULL, NULL, &spec);
  assert_int_equal(spec.seed_count, 1);
  assert_int_equal(spec.seeds[0], 0);
  assert_int_equal(spec.grid_count, 0);
  sweep_spec_free(&spec);
}

static void test_lists(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(HEAD "seeds = 7, 0, 10..12\n[grid a]\nppo.epochs = 1..4, 8\nnet.activation = tanh , relu\n"
                "env.levels = \"a,b\", \"say \\\"x\\\"\", c d\nppo.clip_value = yes, no\n", NULL, NULL, &spec);
  static const int64_t seeds[] = {7, 0, 10, 11, 12};
  assert_int_equal(spec.seed_count, 5);
  assert_memory_equal(spec.seeds, seeds, sizeof seeds);
  const SweepValueList *epochs = list_of(&spec.grids[0], "ppo.epochs"), *levels = list_of(&spec.grids[0], "env.levels");
  assert_int_equal(epochs->count, 5);
  assert_int_equal(epochs->values[3].number.integer, 4);
  assert_int_equal(epochs->values[4].number.integer, 8);
  assert_int_equal(levels->count, 3);
  assert_string_equal(levels->values[0].text, "a,b");
  assert_string_equal(levels->values[1].text, "say \"x\"");
  assert_string_equal(levels->values[2].text, "c d");
  assert_false(list_of(&spec.grids[0], "ppo.clip_value")->values[1].number.boolean);
  sweep_spec_free(&spec);
}

/* In a zip only the rows must differ, and an execution setting may vary along (more threads for more worlds). */
static void test_zip_lists_may_repeat(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(HEAD "[zip z]\nenv.num = 64, 64, 128\nppo.com = 1, 2, 2\ntrain.threads = 1, 1, 2\n", NULL, NULL, &spec);
  assert_int_equal(list_of(&spec.zips[0], "env.num")->count, 3);
  sweep_spec_free(&spec);
}

/* 1k is 1000 wherever a number is expected, and duplicate values are detected in any spelling. */
static void test_numbers_with_suffixes(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(HEAD "seeds = 0, 1k..1.002k\n[train]\ntotal_steps = 50k\n[grid a]\nenv.num = 512, 1k, 2k\n"
                "env.level_count = 1..0.003k\nppo.com = 1.1k\n[slurm]\nmax_running = 1k\n[train]\n"
                "total_steps = 50000\n", NULL, NULL, &spec);
  static const int64_t seeds[] = {0, 1000, 1001, 1002};
  assert_int_equal(spec.seed_count, 4);
  assert_memory_equal(spec.seeds, seeds, sizeof seeds);
  assert_int_equal(spec.base.train.total_steps, 50000);
  const SweepValueList *worlds = list_of(&spec.grids[0], "env.num");
  assert_int_equal(worlds->count, 3);
  assert_string_equal(worlds->values[1].text, "1000");
  assert_int_equal(worlds->values[2].number.integer, 2000);
  assert_int_equal(list_of(&spec.grids[0], "env.level_count")->count, 3);
  assert_string_equal(list_of(&spec.grids[0], "ppo.com")->values[0].text, "1100");
  SlurmSettings settings = slurm_settings_default();
  assert_int_equal(slurm_settings_set(&settings, "max_running", spec.resources[0].value), CORE_OK);
  assert_int_equal(settings.max_running, 1000);
  sweep_spec_free(&spec);
  assert_refused(HEAD "[grid g]\nenv.num = 512, 1 k\n", NULL, NULL, "f.ini:4:16: ", "no blank may stand", NULL);
  assert_refused(HEAD "[grid g]\nenv.num = 1000, 1k\n", NULL, NULL, "1000 is repeated", NULL);
  assert_refused(HEAD "seeds = 5kk\n", NULL, NULL, "'5kk' is not a whole number: suffixes are", NULL);
}

static void test_lone_seed_is_a_count(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(HEAD "seeds = 7..7\n", NULL, NULL, &spec);
  assert_int_equal(spec.seed_count, 1);
  assert_int_equal(spec.seeds[0], 7);
  sweep_spec_free(&spec);
}

/* ---- profiles and --set ---------------------------------------------------------------------------------------- */

static const char with_profiles[] =
    HEAD "seeds = 5\n[train]\ntotal_steps = 1e8\n[grid com]\nppo.com = 8, 16, 32\nenv.num = 512\n[grid eps]\n"
    "ppo.epsilon = 0.1, 0.2\n[zip z]\nnet.width = 64, 128\nnet.depth = 2, 3\n"
    "[profile demo]\nsweep.seeds = 2\nsweep.grids = com\ntrain.total_steps = 1e5\n[profile demo grid com]\nppo.com = "
    "4, 16\n"
    "[profile demo zip z]\nnet.width = 32\n[profile laptop]\nsweep.name = small\nppo.com = 5\n";

static void test_profile(void **state) {
  (void)state;
  SweepSpec spec;
  assert_parses(with_profiles, "demo", NULL, &spec);
  assert_string_equal(spec.profile, "demo");
  assert_int_equal(spec.seed_count, 2);
  assert_int_equal(spec.base.train.total_steps, 100000);
  assert_int_equal(spec.grid_count, 1);
  assert_int_equal(spec.grids[0].count, 1); /* the block is replaced whole: env.num is gone */
  assert_int_equal(list_of(&spec.grids[0], "ppo.com")->count, 2);
  assert_int_equal(spec.zips[0].count, 1);
  sweep_spec_free(&spec);
  assert_parses(with_profiles, "laptop", NULL, &spec); /* ppo.com counts in [grid eps] */
  assert_string_equal(spec.name, "small");
  assert_int_equal(spec.grid_count, 2);
  assert_int_equal(spec.seed_count, 5);
  sweep_spec_free(&spec);
  assert_parses(with_profiles, NULL, NULL, &spec);
  assert_int_equal(spec.base.train.total_steps, 100000000);
  assert_int_equal(list_of(&spec.grids[0], "ppo.com")->count, 3);
  sweep_spec_free(&spec);
}

static void test_set(void **state) {
  (void)state;
  static const char *const sets[] = {"train.total_steps=2e5", "env.num=64", "sweep.seeds=1", "train.total_steps=3e5"};
  SweepSpec spec;
  assert_int_equal(sweep_spec_parse("f.ini", with_profiles, "demo", sets, 4, &spec), CORE_OK);
  assert_int_equal(spec.base.train.total_steps, 300000); /* --set wins over the profile, the last over the first */
  assert_int_equal(spec.base.env.num, 64);
  assert_int_equal(spec.seed_count, 1);
  sweep_spec_free(&spec);
  assert_parses(with_profiles, NULL, "env.num=64", &spec);
  assert_int_equal(list_of(&spec.grids[0], "env.num")->values[0].number.integer, 64); /* fixed in the block: replaced */
  sweep_spec_free(&spec);
}

static void test_set_never_collapses_an_axis(void **state) {
  (void)state;
  assert_refused(with_profiles, NULL, "ppo.com=8", "--set ppo.com=8: ",
                 "[grid com] (line 7 of f.ini) sweeps ppo.com over 3",
                 "collapse", NULL);
  assert_refused(with_profiles, NULL, "net.width=8", "[zip z]", "collapse", NULL);
}

static void test_bad_sets(void **state) {
  (void)state;
  assert_refused(HEAD, NULL, "ppo.epsilom=1", "--set ppo.epsilom=1", "did you mean ppo.epsilon?", NULL);
  assert_refused(HEAD, NULL, "ppo.epochs=0", "--set ppo.epochs=0", "out of range", NULL);
  assert_refused(HEAD, NULL, "ppo.epochs", "expected KEY=VALUE", NULL);
  assert_refused(HEAD, NULL, "=1", "expected KEY=VALUE", NULL);
  assert_refused(HEAD, NULL, "train.seed=3", "seeds", NULL);
  assert_refused(HEAD, NULL, "env.levels=a\nb", "newline", NULL);
  assert_refused(HEAD, NULL, "sweep.name=../x", "sweep.name", NULL);
  assert_refused(HEAD, NULL, "sweep.grids=a", "there is no [grid a]", NULL);
}

static void test_bad_profiles(void **state) {
  (void)state;
  assert_refused(with_profiles, "dmo", NULL, "f.ini has no [profile dmo]", "did you mean demo?", NULL);
  assert_refused(with_profiles, "cluster", NULL, "it has: demo, laptop", NULL);
  assert_refused(HEAD, "demo", NULL, "it has no profiles", NULL);
  assert_refused(HEAD "[profile p]\nppo.epoch = 3\n", NULL, NULL, "f.ini:4:1: ", "did you mean ppo.epochs?", NULL);
  assert_refused(HEAD "[profile p]\nppo.epochs = x\n", NULL, NULL, "f.ini:4:14: ", "whole number", NULL);
  assert_refused(HEAD "[grid com]\nppo.com = 1\n[profile p grid con]\nppo.com = 1\n", NULL, NULL, "f.ini:5:1: ",
                 "no [grid con]", "did you mean com?", NULL);
  assert_refused(HEAD "[grid com]\nppo.com = 1\n[profile p]\nsweep.grids = com, esp\n", "p", NULL, "f.ini:6:15: ",
                 "there is no [grid esp]", NULL);
}

static void test_profile_value_without_effect(void **state) {
  (void)state;
  assert_refused(HEAD "[grid com]\nppo.com = 1, 2\n[profile p]\nppo.com = 3\n", "p", NULL, "f.ini:6:1: ",
                 "[grid com] (line 3)", "[profile p grid com]", NULL);
  assert_refused(HEAD "[zip z]\nppo.com = 1, 2\n[profile p]\nppo.com = 3\n", "p", NULL, "[profile p zip z]", NULL);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_unknown_names(void **state) {
  (void)state;
  assert_refused(HEAD "[ppo]\nepsilom = 0.1\n", NULL, NULL, "f.ini:4:1: ppo.epsilom", "did you mean ppo.epsilon?",
                 NULL);
  assert_refused(HEAD "[grid g]\nppo.coms = 1\n", NULL, NULL, "f.ini:4:1: ", "did you mean ppo.com?", NULL);
  assert_refused(HEAD "seed = 4\n", NULL, NULL, "f.ini:3:1: sweep.seed ", "did you mean sweep.seeds?", NULL);
  assert_refused(HEAD "[slurm]\npartitions = x\n", NULL, NULL, "f.ini:4:1: ", "did you mean slurm.partition?", NULL);
  assert_refused(HEAD "[pop]\n", NULL, NULL, "f.ini:3:1: [pop] is not a section", "did you mean [ppo]?", NULL);
  assert_refused(HEAD "[gird com]\nppo.com = 1\n", NULL, NULL, "f.ini:3:1: ", "not a section", NULL);
  assert_refused(HEAD "[grid]\n", NULL, NULL, "[grid] needs a name", NULL);
  assert_refused("name = s\n", NULL, NULL, "f.ini:1:1: ", "before the first [section]", NULL);
}

static void test_bad_values(void **state) {
  (void)state;
  assert_refused(HEAD "[ppo]\nepochs = many\n", NULL, NULL, "f.ini:4:10: ppo.epochs = many", "whole number", NULL);
  assert_refused(HEAD "[ppo]\nepochs = 4, 8\n", NULL, NULL, "f.ini:4:10: ", "lists are allowed in [grid NAME]", NULL);
  assert_refused(HEAD "[ppo]\ngamma = 1.5\n", NULL, NULL, "f.ini:4:9: ", "out of range", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs = 4, 8, 0\n", NULL, NULL, "f.ini:4:20: ", "out of range", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs = 4,, 8\n", NULL, NULL, "f.ini:4:16: ", "empty", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs = 4, 8,\n", NULL, NULL, "f.ini:4:19: ", "empty", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs =\n", NULL, NULL, "f.ini:4:", "empty", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs = 8, 4, 8.0\n", NULL, NULL, "f.ini:4:14: ", "8 is repeated", NULL);
  assert_refused(HEAD "[grid g]\nppo.epochs = 8..4\n", NULL, NULL, "f.ini:4:14: ", "upwards", NULL);
  assert_refused(HEAD "[grid g]\nenv.level_count = 1..999999999999999\n", NULL, NULL, "at most 1000000", NULL);
  assert_refused(HEAD "[grid g]\nnet.activation = tanh, rleu\n", NULL, NULL, "f.ini:4:24: ", "did you mean relu?",
                 NULL);
  assert_refused(HEAD "[slurm]\ntime = soon\n", NULL, NULL, "f.ini:4:8: slurm.time = soon", "02:00:00", NULL);
  assert_refused(HEAD "[slurm]\npartition = -x;y\n", NULL, NULL, "slurm.partition", NULL);
  assert_refused(HEAD "[slurm]\nmem = 8Gb\n", NULL, NULL, "slurm.mem", NULL);
}

static void test_bad_seeds(void **state) {
  (void)state;
  assert_refused(HEAD "seeds = 0\n", NULL, NULL, "f.ini:3:9: ", "no seeds", NULL);
  assert_refused(HEAD "seeds = -3\n", NULL, NULL, "f.ini:3:9: ", NULL);
  assert_refused(HEAD "seeds = two\n", NULL, NULL, "'two' is not a whole number", NULL);
  assert_refused(HEAD "seeds = 1, 2, 1\n", NULL, NULL, "seed 1 is repeated", NULL);
  assert_refused(HEAD "seeds = 0, -1\n", NULL, NULL, "from 0 to 4294967295", NULL);
  assert_refused(HEAD "seeds = 0, 4294967296\n", NULL, NULL, "from 0 to 4294967295", NULL);
  assert_refused(HEAD "seeds = 9223372036854775807\n", NULL, NULL, "f.ini:3:9: ", NULL);
  assert_refused(HEAD "seeds = -9223372036854775808\n", NULL, NULL, "f.ini:3:9: ", NULL);
  assert_refused(HEAD "seeds = -9223372036854775808..9223372036854775807\n", NULL, NULL, "f.ini:3:9: ", NULL);
  assert_refused(HEAD "[train]\nseed = 1\n", NULL, NULL, "f.ini:4:1: train.seed is given by seeds in [sweep]", NULL);
  assert_refused(HEAD "[grid g]\ntrain.seed = 1, 2\n", NULL, NULL, "f.ini:4:1: train.seed is given", NULL);
}

static void test_bad_names(void **state) {
  (void)state;
  static const char *const names[] = {"a/b", "..", ".hidden", "-rf", "a b", "a'b", "\"a\\\"b\"", "", "a;b", "\xc3\xa4"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[256];
    snprintf(text, sizeof text, "[sweep]\nname = %s\n", names[i]);
    assert_refused(text, NULL, NULL, "f.ini:2:", "sweep.name", NULL);
  }
  assert_refused("[sweep]\nname = a\nb\n", NULL, NULL, "f.ini:3:1: ", NULL);
  assert_refused(HEAD "[grid ../x]\nppo.com = 1\n", NULL, NULL, "f.ini:3:1: grid", NULL);
  assert_refused("[ppo]\nepochs = 1\n", NULL, NULL, "f.ini: the sweep has no name", NULL);
}

static void test_bad_blocks(void **state) {
  (void)state;
  assert_refused(HEAD "[grid g]\n", NULL, NULL, "f.ini:3:1: empty grid", NULL);
  assert_refused(HEAD "[zip z]\n[grid g]\nppo.com = 1\n", NULL, NULL, "f.ini:3:1: empty zip", NULL);
  assert_refused(HEAD "[grid g]\nppo.com = 1\n[grid g]\nppo.com = 2\n", NULL, NULL, "f.ini:5:1: ", "line 3", NULL);
  assert_refused(HEAD "[grid g]\nppo.com = 1\nppo.com = 2\n", NULL, NULL, "f.ini:5:1: ", "first in line 4", NULL);
  assert_refused(HEAD "[zip z]\nenv.num = 1, 2, 3\nppo.com = 1, 2\n", NULL, NULL, "f.ini:5:11: ",
                 "ppo.com has 2 values",
                 "env.num (line 4) has 3", NULL);
  assert_refused(HEAD "[zip z]\nppo.com = 1, 2\n[grid g]\nppo.com = 3\n", NULL, NULL,
                 "f.ini:6:1: ppo.com is set by [grid g]",
                 "[zip z] (line 4)", NULL);
  assert_refused(HEAD "[zip y]\nppo.com = 1, 2\n[zip z]\nppo.com = 3\n", NULL, NULL, "f.ini:6:1: ", "[zip y] (line 4)",
                 NULL);
  assert_refused(HEAD "[grid g]\ntrain.threads = 1, 2\n", NULL, NULL, "f.ini:4:1: ", "does not affect results",
                 NULL);
}

static void test_contradictions(void **state) {
  (void)state;
  SweepSpec spec;
  assert_refused(HEAD "[ppo]\nepochs = 4\n[train]\n[ppo]\nepochs = 8\n", NULL, NULL, "f.ini:7:1: ppo.epochs = 8",
                 "contradicts line 4", "sets it to 4", NULL);
  assert_refused(HEAD "[sweep]\nname = t\n", NULL, NULL, "f.ini:4:1: sweep.name = t", "line 2", NULL);
  assert_parses(HEAD "[ppo]\nepochs = 4\n[ppo]\nepochs = 4\n", NULL, NULL,
                &spec); /* equal values are not a contradiction */
  sweep_spec_free(&spec);
}

static void test_damaged_files(void **state) {
  (void)state;
  SweepSpec spec;
  assert_int_equal(sweep_spec_read("/nonexistent/x.ini", NULL, NULL, 0, &spec), CORE_FAIL);
  assert_message("/nonexistent/x.ini");
  assert_refused("\x7f" "ELF\x01\x02", NULL, NULL, "f.ini:1:", NULL);
  assert_refused(HEAD "[grid g\n", NULL, NULL, "f.ini:3:", "]", NULL);
  assert_refused(HEAD "[grid g]\nppo.com = \"8, 16\n", NULL, NULL, "f.ini:4:", "quote", NULL);
}

/* Every cut of a good file must be refused or read, never crash or leak (run under a sanitizer to see that). */
static void test_cut_files(void **state) {
  (void)state;
  char *text = strdup(with_profiles);
  for (size_t length = strlen(text); length-- > 0;) {
    SweepSpec spec;
    text[length] = '\0';
    if (parse(text, NULL, NULL, &spec) == CORE_OK) sweep_spec_free(&spec);
    else assert_true(core_error_message()[0]);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_everything), cmocka_unit_test(test_defaults), cmocka_unit_test(test_lists),
    cmocka_unit_test(test_zip_lists_may_repeat),
    cmocka_unit_test(test_numbers_with_suffixes),
    cmocka_unit_test(test_lone_seed_is_a_count), cmocka_unit_test(test_profile), cmocka_unit_test(test_set),
    cmocka_unit_test(test_set_never_collapses_an_axis), cmocka_unit_test(test_bad_sets),
    cmocka_unit_test(test_bad_profiles), cmocka_unit_test(test_profile_value_without_effect),
    cmocka_unit_test(test_unknown_names), cmocka_unit_test(test_bad_values), cmocka_unit_test(test_bad_seeds),
    cmocka_unit_test(test_bad_names), cmocka_unit_test(test_bad_blocks), cmocka_unit_test(test_contradictions),
    cmocka_unit_test(test_damaged_files), cmocka_unit_test(test_cut_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
