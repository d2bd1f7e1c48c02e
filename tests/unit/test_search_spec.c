/* [search NAME] in experiment files: combinations with a grid, a zip, a profile and seeds; proposals written and
 * read again; errors. */
#include "test.h"

#include "core/files.h"
#include "sweep/plan/searches.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/search.h"
#include "sweep/spec/spec.h"

#define HEAD "[sweep]\nname = s\n"
#define RATES "[search lr]\ntrials = 6\nppo.learning_rate = log 1e-5 .. 1e-2\n"
#define EWMA                                                                               \
  "[search all]\nmethod = tpe\ntrials = 20\nstartup = 4\nseeds = 2\nppo.epochs = 1 .. 8\n" \
  "algo.name = choice ppo, ppo_ewma\nppo.com = 8 .. 512 when algo.name = ppo_ewma\n"

typedef struct Made {
  SweepSpec spec;
  SweepGrid grid;
} Made;

static int parse(const char *text, const char *profile, const char *set, SweepSpec *spec) {
  return sweep_spec_parse("f.ini", text, profile, &set, set ? 1 : 0, spec);
}

static void make(const char *text, const char *profile, Made *made) {
  int code = parse(text, profile, NULL, &made->spec);
  if (code == CORE_OK) code = sweep_grid_expand(&made->spec, &made->grid);
  if (code != CORE_OK) fail_msg("%s", core_error_message());
}

static void free_made(Made *made) {
  sweep_grid_free(&made->grid);
  sweep_spec_free(&made->spec);
}

static void refuse(const char *text, const char *profile, const char *set, const char *place, const char *part,
                   const char *way_out) {
  SweepSpec spec;
  assert_int_equal(parse(text, profile, set, &spec), CORE_USAGE);
  const char *message = core_error_message();
  if (strncmp(message, place, strlen(place)) != 0) fail_msg("\"%s\" does not begin with \"%s\"", message, place);
  if (!strstr(message, part)) fail_msg("\"%s\" is not in \"%s\"", part, message);
  if (!strstr(message, way_out)) fail_msg("\"%s\" is not in \"%s\"", way_out, message);
}

/* Every trial with every cell of the grid and row of the zip. */
static void test_product(void **state) {
  Made made;
  make(HEAD "seeds = 2\n" RATES "[grid g]\nppo.epochs = 2, 4\nppo.epsilon = 0.1\n"
       "[zip z]\nenv.num = 512, 1024\nppo.num_steps = 64, 32\n", NULL, &made);
  assert_int_equal(made.grid.cells, 6 * 2 * 2);
  assert_int_equal(made.grid.runs, 6 * 2 * 2 * 2);
  size_t runs_of[6] = {0};
  for (size_t run = 0; run < made.grid.runs; run++) {
    const SweepSearch *search;
    CoreConfig config;
    const size_t trial = sweep_grid_cell_trial(&made.grid, made.grid.places[run] % made.grid.cells, &search);
    double coordinate[1];
    assert_ptr_equal(search, &made.spec.searches[0]);
    sweep_search_trial(search, trial, coordinate);
    sweep_grid_config(&made.grid, run, &config);
    assert_true(fabs(config.ppo.learning_rate - exp(coordinate[0])) < 1e-9 * exp(coordinate[0]));
    assert_true(config.env.num * config.ppo.num_steps == 512 * 64);
    runs_of[trial]++;
  }
  for (size_t trial = 0; trial < 6; trial++) assert_int_equal(runs_of[trial], 8);
  free_made(&made);
}

/* An unchanged file has the same runs; more trials add runs and lose none; another name gives other runs. */
static void test_same(void **state) {
  Made few, again, more, other;
  make(HEAD RATES, NULL, &few);
  make(HEAD RATES, NULL, &again);
  make(HEAD "[search lr]\ntrials = 9\nppo.learning_rate = log 1e-5 .. 1e-2\n", NULL, &more);
  make(HEAD "[search rl]\ntrials = 6\nppo.learning_rate = log 1e-5 .. 1e-2\n", NULL, &other);
  assert_int_equal(few.grid.runs, 6);
  assert_int_equal(more.grid.runs, 9);
  for (size_t run = 0; run < 6; run++) {
    assert_string_equal(few.grid.ids[run], again.grid.ids[run]);
    assert_string_equal(few.grid.ids[run], more.grid.ids[run]);
    assert_string_not_equal(few.grid.ids[run], other.grid.ids[run]);
  }
  free_made(&few);
  free_made(&again);
  free_made(&more);
  free_made(&other);
}

static void test_union(void **state) {
  Made made;
  CoreText text = {0};
  make(HEAD RATES "[search epochs]\ntrials = 3\nmethod = sobol\nppo.epsilon = 0.1 .. 0.3\n", NULL, &made);
  assert_int_equal(made.grid.cells, 9);
  sweep_grid_describe(&made.grid, 0, &text);
  assert_non_null(strstr(core_text_string(&text), "ppo.learning_rate="));
  assert_null(strstr(core_text_string(&text), "ppo.epsilon="));
  core_text_clear(&text);
  sweep_grid_describe(&made.grid, 8, &text);
  assert_non_null(strstr(core_text_string(&text), "ppo.epsilon="));
  core_text_free(&text);
  free_made(&made);
}

/* A search's seeds are the sweep's; a setting outside the search keeps the file's value and is not printed. */
static void test_conditional(void **state) {
  Made made;
  make(HEAD "[ppo]\ncom = 32\n" EWMA, NULL, &made);
  assert_int_equal(made.spec.seed_count, 2);
  assert_int_equal(made.grid.runs, 8); /* the first wave */
  for (size_t run = 0; run < made.grid.runs; run++) {
    CoreConfig config;
    CoreText text = {0};
    sweep_grid_config(&made.grid, run, &config);
    sweep_grid_describe(&made.grid, run, &text);
    const bool is_ewma = strcmp(config.algo.name, "ppo_ewma") == 0;
    assert_int_equal(strstr(core_text_string(&text), "ppo.com=") != NULL, is_ewma);
    if (!is_ewma) assert_true(config.ppo.com == 32);
    core_text_free(&text);
  }
  assert_int_equal(sweep_searches_check(&made.grid), CORE_OK);
  const SweepPendingTrials later = sweep_searches_estimate(&made.grid, 8000);
  assert_int_equal(later.trials, 16);
  assert_true(later.runs == 32 && later.transitions == 32000);
  free_made(&made);
}

static void test_unread(void **state) {
  Made made;
  make(HEAD "[search s]\ntrials = 9\nalgo.name = choice ppo, ppo_ewma\nppo.com = 8 .. 64\n", NULL, &made);
  assert_int_equal(sweep_searches_check(&made.grid), CORE_USAGE);
  assert_message("f.ini:6:1: [search s] searches ppo.com, which nothing reads");
  assert_message("when SETTING = VALUE");
  made.spec.unread_allowed = true;
  assert_int_equal(sweep_searches_check(&made.grid), CORE_OK);
  free_made(&made);
}

static void test_profile(void **state) {
  Made made;
  const char *text = HEAD RATES "[profile demo search lr]\ntrials = 2\nseeds = 3\nppo.epsilon = 0.1 .. 0.2\n";
  make(text, "demo", &made);
  assert_int_equal(made.grid.runs, 6);
  assert_string_equal(made.spec.searches[0].space.axes[0].row->name, "ppo.epsilon");
  free_made(&made);
  make(text, NULL, &made);
  assert_int_equal(made.grid.runs, 6);
  assert_string_equal(made.spec.searches[0].space.axes[0].row->name, "ppo.learning_rate");
  free_made(&made);
}

static void test_frozen(void **state) {
  Made made, again;
  CoreText text = {0};
  make(HEAD EWMA, NULL, &made);
  sweep_freeze_print(&made.spec, &text);
  make(core_text_string(&text), NULL, &again);
  assert_int_equal(made.grid.runs, again.grid.runs);
  for (size_t run = 0; run < made.grid.runs; run++) assert_string_equal(made.grid.ids[run], again.grid.ids[run]);
  core_text_free(&text);
  free_made(&made);
  free_made(&again);
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

static void journal_path(const char *root, char path[CORE_PATH_MAX]) {
  assert_int_equal(core_files_path(path, "%s/sweeps/s/search.all.tsv", root), CORE_OK);
}

static void write_text(const char *path, const char *text) {
  assert_int_equal(core_files_write_atomic(path, text, strlen(text)), CORE_OK);
}

static void assert_damaged(const char *root, const char *part) {
  SweepSpec spec;
  assert_int_equal(parse(HEAD EWMA, NULL, NULL, &spec), CORE_OK);
  const int code = sweep_proposals_read(root, &spec);
  if (code == CORE_OK || !strstr(core_error_message(), part)) fail_msg("%d \"%s\"", code, core_error_message());
  sweep_spec_free(&spec);
}

static void test_proposals(void **state) {
  char root[] = "/tmp/test_search_XXXXXX", directory[CORE_PATH_MAX], path[CORE_PATH_MAX], *text;
  const double with[3] = {3, 1, 100}, without[3] = {5, 0, NAN};
  double read[3];
  size_t size;
  SweepSpec spec, again;

  assert_non_null(mkdtemp(root));
  core_files_path(directory, "%s/sweeps/s", root);
  assert_int_equal(core_files_make_directories(directory), CORE_OK);
  journal_path(root, path);

  assert_int_equal(parse(HEAD EWMA, NULL, NULL, &spec), CORE_OK);
  assert_int_equal(sweep_proposals_read(root, &spec), CORE_OK); /* none yet */
  assert_int_equal(spec.searches[0].trials, 4);
  sweep_search_add(&spec.searches[0], &spec.base, with);
  sweep_search_add(&spec.searches[0], &spec.base, without);
  spec.searches[0].wave[4] = spec.searches[0].wave[5] = 1;
  assert_int_equal(sweep_proposals_write(root, &spec, &spec.searches[0]), CORE_OK);

  assert_int_equal(parse(HEAD EWMA, NULL, NULL, &again), CORE_OK);
  for (int twice = 0; twice < 2; twice++) { /* known trials are not added again */
    assert_int_equal(sweep_proposals_read(root, &again), CORE_OK);
    assert_int_equal(again.searches[0].trials, 6);
  }

  assert_int_equal(again.searches[0].wave[5], 1);
  sweep_search_trial(&again.searches[0], 4, read);
  assert_memory_equal(read, with, sizeof with);
  sweep_search_trial(&again.searches[0], 5, read);
  assert_true(read[0] == 5 && read[1] == 0 && isnan(read[2]));

  sweep_spec_free(&again);
  sweep_spec_free(&spec);

  /* more trials and another wave or goal continue with them; another space does not */
  assert_int_equal(parse(HEAD "[search all]\nmethod = tpe\ntrials = 40\nwave = 3\ngoal = min kl\nstartup = 4\n"
                         "ppo.epochs = 1 .. 8\nalgo.name = choice ppo, ppo_ewma\n"
                         "ppo.com = 8 .. 512 when algo.name = ppo_ewma\n", NULL, NULL, &spec), CORE_OK);
  assert_int_equal(sweep_proposals_read(root, &spec), CORE_OK);
  assert_int_equal(spec.searches[0].trials, 6);
  sweep_spec_free(&spec);

  assert_int_equal(parse(HEAD "[search all]\nmethod = tpe\ntrials = 20\nstartup = 4\nppo.epochs = 1 .. 9\n", NULL, NULL,
                         &spec), CORE_OK);
  assert_int_equal(sweep_proposals_read(root, &spec), CORE_USAGE);
  assert_non_null(
    strstr(core_error_message(), "f.ini:3:1: the space of [search all] differs from that of the proposals"));
  assert_message("another name");
  sweep_spec_free(&spec);

  /* Damage is named by its line. */
  assert_int_equal(core_files_read(path, 0, &text, &size), CORE_OK);
  char *line = strstr(text, "\n5\t") + 1;
  *line = '7';
  write_text(path, text);
  assert_damaged(root, "search.all.tsv:4: damaged: expected trial 5");
  *line = '5', line[strlen(line) - 1] = '\0';
  write_text(path, text);
  assert_damaged(root, "search.all.tsv:4: damaged"); /* torn */
  free(text);

  write_text(path, "what is this\n");
  assert_damaged(root, "differs from that of the proposals");
  assert_int_equal(core_files_remove_tree(root), CORE_OK);
}

/* A trial is checked in each of its cells, for each part, and removed without a trace. */
static void test_one_trial(void **state) {
  const char *const text = HEAD "[env]\nnum = 96\n[search m]\nmethod = tpe\ntrials = 9\nstartup = 1\n"
                           "ppo.num_minibatches = choice 2, 3\n"
                           "[zip z]\nppo.num_steps = 24, 32\nppo.epochs = 1, 2\n[grid g]\nppo.epsilon = 0.1\n"
                           "[grid h]\nenv.num = 512, %d\nppo.epsilon = 0.1, 0.2\n";
  for (int env_num = 513; env_num <= 514; env_num++) { /* 32 * 514 is no multiple of 3, nor is 512 * 32 */
    char file[512];
    SweepSpec spec;
    snprintf(file, sizeof file, text, env_num);
    if (env_num == 513) memcpy(strstr(file, "512,"), "510,", 4);
    assert_int_equal(parse(file, NULL, NULL, &spec), CORE_OK);
    SweepSearch *search = &spec.searches[0];
    for (int choice = 0; choice < 2; choice++) {
      const bool bad = env_num == 514 && choice == 1;
      sweep_search_add(search, &spec.base, &(double){choice});
      assert_int_equal(sweep_grid_check_trial(&spec, search, 1), bad ? CORE_USAGE : CORE_OK);
      if (bad) assert_message("[grid h], the cell ppo.num_steps=32");
      sweep_search_drop(search);
      assert_int_equal(search->trials, 1);
      assert_int_equal(search->block.lists[0].count, 1);
    }
    sweep_spec_free(&spec);
  }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_refused(void **state) {
  refuse(HEAD RATES "[grid g]\nppo.learning_rate = 1e-4, 1e-3\n", NULL, NULL, "f.ini:5:1: ",
         "searched by [search lr] and set by [grid g] (line 7)", "keep one of the two");
  refuse(HEAD RATES "[zip z]\nppo.learning_rate = 1e-4, 1e-3\n", NULL, NULL, "f.ini:5:1: ", "set by [zip z]",
         "keep one of the two");
  refuse(HEAD RATES, NULL, "ppo.learning_rate=1e-4", "--set ppo.learning_rate=1e-4: ", "has no effect here",
         "[profile NAME search lr]");
  refuse(HEAD RATES "[profile demo]\nppo.learning_rate = 1e-4\n", "demo", NULL, "f.ini:7:1: ", "has no effect here",
         "[profile NAME search lr]");
  refuse(HEAD "seeds = 3\n" RATES "seeds = 2\n", NULL, NULL, "f.ini:7:1: ", "contradicts line 3", "remove one");
  refuse(HEAD RATES RATES, NULL, NULL, "f.ini:6:1: ", "is already defined in line 3", "another name");
  refuse(HEAD "[search]\ntrials = 3\n", NULL, NULL, "f.ini:3:1: ", "needs a name", "[search NAME]");
  refuse(HEAD "[search ../x]\ntrials = 3\n", NULL, NULL, "f.ini:3:1: ", "search", "");
  refuse(HEAD "[serach lr]\ntrials = 3\n", NULL, NULL, "f.ini:3:1: ", "not a section", "[search NAME]");
  refuse(HEAD RATES "[profile p search rates]\ntrials = 3\nppo.epochs = 1 .. 8\n", NULL, NULL, "f.ini:6:1: ",
         "replaces a block that does not exist", "no [search rates]");
  refuse(HEAD RATES "seeds = none\n", NULL, NULL, "f.ini:6:9: ", "not a whole number", "expected a number of seeds");
}

static void test_too_many(void **state) {
  SweepSpec spec;
  SweepGrid grid;
  assert_int_equal(parse(HEAD "seeds = 100\n[search lr]\ntrials = 200k\nppo.learning_rate = 1e-5 .. 1e-2\n", NULL, NULL,
                         &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_USAGE);
  assert_message("f.ini:4: more than 10000000 runs");
  sweep_spec_free(&spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_product),     cmocka_unit_test(test_same),      cmocka_unit_test(test_union),
    cmocka_unit_test(test_conditional), cmocka_unit_test(test_unread),    cmocka_unit_test(test_profile),
    cmocka_unit_test(test_frozen),      cmocka_unit_test(test_proposals), cmocka_unit_test(test_refused),
    cmocka_unit_test(test_one_trial),   cmocka_unit_test(test_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
