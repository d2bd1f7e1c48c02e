/* core/search: Sobol' points against scipy's, Parzen estimators against Optuna's (make_search_golden.py made both),
 * draws that do not change when trials are added, the text of a space, and every line that is refused. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/search/search.h"
#include "core/search/tpe.h"
#include "tests/unit/search_golden.h"

typedef struct Read {
  CoreIni ini;
  CoreSearch search;
} Read;

/* The lines of a block; the head is line 1. */
static int read_lines(const char *lines, Read *r) {
  CoreText text = {0};
  *r = (Read){0};
  core_text_appendf(&text, "[search s]\n%s", lines);
  assert_int_equal(core_ini_parse("f.ini", core_text_string(&text), &r->ini), CORE_OK);
  core_text_free(&text);
  int code = CORE_OK;
  for (size_t i = 1; i < r->ini.count && code == CORE_OK; i++)
    code = core_search_line(&r->ini, &r->ini.entries[i], &r->search);
  return code == CORE_OK ? core_search_finish(&r->ini, &r->ini.entries[0], &r->search) : code;
}

static void free_read(Read *r) {
  core_search_free(&r->search);
  core_ini_free(&r->ini);
}

static void read_good(const char *lines, Read *r) {
  const int code = read_lines(lines, r);
  if (code != CORE_OK) fail_msg("%s", core_error_message());
}

static void refuse(const char *lines, const char *place, const char *part, const char *way_out) {
  Read r;
  assert_int_equal(read_lines(lines, &r), CORE_USAGE);
  const char *message = core_error_message();
  if (strncmp(message, place, strlen(place)) != 0) fail_msg("\"%s\" does not begin with \"%s\"", message, place);
  if (!strstr(message, part)) fail_msg("\"%s\" is not in \"%s\"", part, message);
  if (!strstr(message, way_out)) fail_msg("\"%s\" is not in \"%s\"", way_out, message);
  free_read(&r);
}

/* ---- Sobol' ------------------------------------------------------------------------------------------------------ */

static void test_sobol(void **state) {
  for (size_t i = 0; i < sizeof golden_sobol / sizeof *golden_sobol; i++)
    assert_int_equal(core_sobol(golden_sobol[i].index, golden_sobol[i].dimension), golden_sobol[i].point);
  for (size_t d = 0; d < CORE_SOBOL_DIMENSIONS; d++) { /* all of the first 4096 points */
    uint32_t hash = 0;
    for (uint32_t i = 0; i < 4096; i++) hash = hash * 31 + core_sobol(i, d);
    assert_int_equal(hash, golden_sobol_hash[d]);
  }
}

/* ---- spaces ------------------------------------------------------------------------------------------------------ */

#define SPACE                              \
  "trials = 64\n"                          \
  "ppo.learning_rate = log 1e-5 .. 1e-2\n" \
  "ppo.epochs = 1 .. 8\n"                  \
  "ppo.epsilon = choice 0.1, 0.2, 0.4\n"   \
  "ppo.gae_lambda = 0.8 .. 1\n"            \
  "ppo.com = log 8 .. 512 when algo.name = ppo_ewma\n" \
  "algo.name = choice ppo, ppo_ewma\n"

static void test_text(void **state) {
  Read r, again;
  CoreText text = {0}, second = {0};
  read_good("method = tpe\nwave = 4\n" SPACE, &r);
  assert_int_equal(r.search.count, 6);
  assert_int_equal(r.search.method, CORE_SEARCH_TPE);
  assert_string_equal(r.search.goals[0].measure, "final");
  assert_int_equal(r.search.startup, 10);
  assert_int_equal(r.search.axes[4].parent, 5);
  assert_int_equal(r.search.order[5], 4); /* the conditional one comes last */
  core_search_print(&r.search, &text);
  read_good(core_text_string(&text), &again);
  core_search_print(&again.search, &second);
  assert_string_equal(core_text_string(&text), core_text_string(&second));
  assert_non_null(strstr(core_text_string(&text), "ppo.com = log 8 .. 512 when algo.name = ppo_ewma\n"));
  core_text_free(&text);
  core_text_free(&second);
  free_read(&r);
  free_read(&again);
}

static void test_values(void **state) {
  Read r;
  CoreText text = {0};
  read_good("trials = 4\nppo.epochs = 1 .. 8\nppo.learning_rate = log 1e-4 .. 1e-2\n"
            "ppo.epsilon = choice 0.1, 0.4\n", &r);
  const CoreSearchAxis *epochs = &r.search.axes[0], *rate = &r.search.axes[1], *epsilon = &r.search.axes[2];
  int seen[9] = {0};
  for (int i = 0; i < 800; i++) {
    const int value = atoi(core_search_value(epochs, ((double)i + 0.5) / 800, &text));
    assert_in_range(value, 1, 8);
    seen[value]++;
  }
  for (int value = 1; value <= 8; value++) assert_int_equal(seen[value], 100); /* all whole numbers alike */
  assert_string_equal(core_search_value(rate, 0.5, &text), "0.001");
  assert_string_equal(core_search_value(rate, 1 / 3.0, &text), "0.000464159"); /* six digits */
  assert_string_equal(core_search_value(epsilon, 0.49, &text), "0.1");
  assert_string_equal(core_search_value(epsilon, 0.51, &text), "0.4");
  assert_true(fabs(core_search_coordinate(rate, "0.001") - log(0.001)) < 1e-12);
  assert_true(isnan(core_search_coordinate(rate, "0.1")));
  assert_true(core_search_coordinate(epsilon, "0.4") == 1);
  assert_true(fabs(core_search_unit(rate, log(0.001)) - 0.5) < 1e-12);
  core_text_free(&text);
  free_read(&r);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static void test_draws(void **state) {
  Read r, sobol;
  double first[6], again[6], other[6], mean = 0;

  read_good(SPACE, &r);
  core_search_draw(&r.search, "sweep", "s", 5, first);
  core_search_draw(&r.search, "sweep", "s", 5, again);
  assert_memory_equal(first, again, sizeof first);

  core_search_draw(&r.search, "sweep2", "s", 5, other);
  assert_true(other[0] != first[0]); /* another sweep, other trials */
  core_search_draw(&r.search, "sweep", "t", 5, other);
  assert_true(other[0] != first[0]);

  size_t with = 0;
  for (int64_t trial = 0; trial < 2000; trial++) {
    core_search_draw(&r.search, "sweep", "s", trial, first);
    assert_int_equal(isnan(first[4]), first[5] != 1); /* ppo.com, exactly where algo.name is ppo_ewma */
    with += !isnan(first[4]);
    mean += core_search_unit(&r.search.axes[0], first[0]) / 2000;
  }

  assert_in_range(with, 900, 1100);
  assert_true(fabs(mean - 0.5) < 0.03);

  /* A shift leaves Sobol' points a net: each of 16 equal parts has 4 of 64. */
  read_good("method = sobol\ntrials = 64\nppo.learning_rate = log 1e-5 .. 1e-2\nppo.epsilon = 0.1 .. 0.3\n", &sobol);
  for (size_t axis = 0; axis < 2; axis++) {
    int part[16] = {0};
    for (int64_t trial = 0; trial < 64; trial++) {
      core_search_draw(&sobol.search, "sweep", "s", trial, first);
      part[(int)(16 * core_search_unit(&sobol.search.axes[axis], first[axis]))]++;
    }
    for (int i = 0; i < 16; i++) assert_int_equal(part[i], 4);
  }

  free_read(&sobol);
  free_read(&r);
}

/* ---- TPE --------------------------------------------------------------------------------------------------------- */

/* The space of make_search_golden.py. */
#define GOLDEN_SPACE                                                                                  \
  "trials = 64\nppo.learning_rate = log 1e-5 .. 1e-2\nppo.epochs = 1 .. 8\n"                         \
  "ppo.epsilon = choice 0.1, 0.2, 0.4\nppo.gae_lambda = 0.8 .. 1\nppo.num_minibatches = log 8 .. 512\n"

static void golden_point(const double row[5], double *coordinate) {
  memcpy(coordinate, row, 5 * sizeof *coordinate);
  coordinate[0] = log(row[0]), coordinate[4] = log(row[4]);
}

static void test_parzen(void **state) {
  static const struct { size_t n; const double *log_density; } cases[] = {
    {0, golden_log_0}, {1, golden_log_1}, {2, golden_log_2}, {7, golden_log_7}, {40, golden_log_40}};
  static const size_t axes[] = {0, 1, 2, 3, 4};
  double coordinates[40][5], at[5];
  CoreTpeTrial trials[40];
  const CoreTpeTrial *list[40];
  Read r;
  read_good(GOLDEN_SPACE, &r);
  for (size_t i = 0; i < 40; i++) {
    golden_point(golden_observed[i], coordinates[i]);
    trials[i] = (CoreTpeTrial){coordinates[i], {0}, true};
    list[i] = &trials[i];
  }
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    CoreParzen parzen;
    core_parzen_make(&r.search, axes, 5, list, cases[c].n, &parzen);
    for (size_t i = 0; i < 8; i++) {
      golden_point(golden_at[i], at);
      const double got = core_parzen_log(&parzen, at), expected = cases[c].log_density[i];
      if (fabs(got - expected) > 1e-9 * fabs(expected)) fail_msg("%zu trials, point %zu: %.15g, Optuna has %.15g",
                                                                 cases[c].n, i, got, expected);
    }
    core_parzen_free(&parzen);
  }
  free_read(&r);
}

static void test_split(void **state) {
  static const double nothing[1] = {0};
  enum { MOST = 300 };
  CoreTpeTrial *trials = core_memory_zero_allocate(MOST, sizeof *trials);
  bool below[MOST];
  for (size_t i = 0; i < MOST; i++) trials[i] = (CoreTpeTrial){nothing, {(double)((i * 7919) % MOST)}, true};
  for (size_t i = 0, n = 0; n < MOST; i++, n += 7)
    assert_int_equal(core_tpe_split(trials, n, 1, below), golden_gamma[i]);
  assert_int_equal(core_tpe_split(trials, 20, 1, below), 2);
  for (size_t i = 0; i < 20; i++) {
    size_t better = 0;
    for (size_t j = 0; j < 20; j++) better += trials[j].loss[0] < trials[i].loss[0];
    assert_int_equal(below[i], better < 2);
  }
  for (size_t i = 0; i < 19; i++) trials[i].loss[0] = NAN; /* they diverged: none of them is good */
  assert_int_equal(core_tpe_split(trials, 20, 1, below), 1);
  assert_true(below[19]);
  trials[19].has_ended = false;
  assert_int_equal(core_tpe_split(trials, 20, 1, below), 0);
  free(trials);
}

/* ---- two goals --------------------------------------------------------------------------------------------------- */

enum { PAIRS = 200 };

/* The front of a trial, by removing one front after the other. */
static void peel(double loss[PAIRS][2], size_t count, size_t *front) {
  for (size_t i = 0; i < count; i++) front[i] = SIZE_MAX;
  for (size_t number = 0, left = count; left > 0; number++) {
    bool is_on[PAIRS] = {false};
    for (size_t i = 0; i < count; i++) {
      is_on[i] = front[i] == SIZE_MAX;
      for (size_t j = 0; j < count && is_on[i]; j++)
        is_on[i] = front[j] != SIZE_MAX || loss[j][0] > loss[i][0] || loss[j][1] > loss[i][1] ||
                   (loss[j][0] == loss[i][0] && loss[j][1] == loss[i][1]);
    }
    for (size_t i = 0; i < count; i++)
      if (is_on[i]) front[i] = number, left--;
  }
}

static void test_fronts(void **state) {
  static const double nothing[1] = {0};
  static double loss[PAIRS][2];
  CoreTpeTrial trials[PAIRS];
  size_t front[PAIRS];
  bool below[PAIRS];

  for (size_t i = 0; i < PAIRS; i++) {
    for (size_t g = 0; g < 2; g++)
      loss[i][g] = core_random_4(g, CORE_RANDOM_TRIAL, (uint32_t)i, 0, 0).v[0] / 4294967296.0;
    trials[i] = (CoreTpeTrial){nothing, {loss[i][0], loss[i][1]}, true};
  }
  peel(loss, PAIRS, front);
  assert_int_equal(core_tpe_split(trials, PAIRS, 2, below), 20);
  for (size_t i = 0; i < PAIRS; i++)
    for (size_t j = 0; j < PAIRS; j++)
      if (below[i] && !below[j] && front[i] > front[j])
        fail_msg("%zu of front %zu, not %zu of front %zu", i, front[i], j, front[j]);

  trials[0].loss[1] = NAN; /* without one of the values a trial is not good */
  trials[1] = (CoreTpeTrial){nothing, {-1, -1}, true};
  core_tpe_split(trials, PAIRS, 2, below);
  assert_false(below[0]);
  assert_true(below[1]);
}

/* The largest areas that points of a straight front add are those of its middle, then of the points between it and the
 * ends: 4 of 40, on both sides. */
static void test_spread(void **state) {
  enum { COUNT = 40 };
  static const double nothing[1] = {0};
  CoreTpeTrial trials[COUNT];
  bool below[COUNT];
  size_t left = 0, right = 0;
  for (size_t i = 0; i < COUNT; i++)
    trials[i] = (CoreTpeTrial){nothing, {(double)i, 1000 * (COUNT - 1 - (double)i)}, true};
  assert_int_equal(core_tpe_split(trials, COUNT, 2, below), 4);
  assert_true(below[19] || below[20]);
  for (size_t i = 0; i < 15; i++) left += below[i];
  for (size_t i = 25; i < COUNT; i++) right += below[i];
  if (left == 0 || right == 0) fail_msg("%zu to the left and %zu to the right of the middle", left, right);
}

/* Proposals for two goals lie around the Pareto front, x[0] in 0.2 to 0.8 with x[1] = 0.5. */
static void test_propose_two(void **state) {
  enum { TRIALS = 80 };
  static double coordinates[TRIALS][2];
  CoreTpeTrial trials[TRIALS];
  Read r;
  double off[2] = {0};
  read_good("trials = 80\nmethod = tpe\ngoal = max final, min transitions\nppo.gae_lambda = 0 .. 1\n"
            "ppo.gamma = 0 .. 1\n", &r);
  assert_int_equal(r.search.goal_count, 2);
  for (size_t i = 0; i < TRIALS; i++) {
    if (i < 20) core_search_draw(&r.search, "sweep", "s", (int64_t)i, coordinates[i]);
    else core_tpe_propose(&r.search, trials, i, 5, (int64_t)i, coordinates[i]);
    const double x = coordinates[i][0], y = fabs(coordinates[i][1] - 0.5);
    trials[i] = (CoreTpeTrial){coordinates[i], {fabs(x - 0.2) + y, fabs(x - 0.8) + y}, true};
    off[i >= 20] += (y + fmax(0, 0.2 - x) + fmax(0, x - 0.8)) / (i < 20 ? 20 : TRIALS - 20);
  }
  if (!(off[1] < 0.5 * off[0])) fail_msg("%g from the front instead of %g", off[1], off[0]);
  free_read(&r);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

static void test_scales(void **state) {
  Read r;
  CoreText text = {0};
  double low, high;
  read_good("trials = 4\nenv.num = pow2 16 .. 128\nppo.gamma = logit 0.9 .. 0.9999\n"
            "ppo.com = pow2 0.5 .. 1048576\n", &r);
  const CoreSearchAxis *num = &r.search.axes[0], *gamma = &r.search.axes[1], *com = &r.search.axes[2];

  size_t seen[4] = {0};
  for (size_t i = 0; i < 400; i++) {
    const double value = atof(core_search_value(num, ((double)i + 0.5) / 400, &text));
    seen[(size_t)round(log2(value)) - 4]++;
  }
  for (size_t i = 0; i < 4; i++) assert_int_equal(seen[i], 100); /* all powers alike */
  assert_true(core_search_coordinate(num, "64") == 6);
  assert_true(isnan(core_search_coordinate(num, "96")) && isnan(core_search_coordinate(num, "256")));
  assert_true(core_search_cell(num, 6.2, &low, &high) && low == 5.5 && high == 6.5);
  assert_string_equal(core_search_value_at(com, 20, &text), "1048576"); /* exact, with more than six digits */
  assert_string_equal(core_search_value_at(com, -1, &text), "0.5");

  /* The middle of the logits: odds sqrt(9 * 9999) to 1. */
  assert_true(fabs(atof(core_search_value(gamma, 0.5, &text)) - 0.996677) < 1e-6);
  for (size_t i = 0; i <= 100; i++) {
    const double unit = (double)i / 100, back = core_search_coordinate(gamma, core_search_value(gamma, unit, &text));
    if (!(fabs(core_search_unit(gamma, back) - unit) < 1e-5))
      fail_msg("%s is at %g, not %g", text.data, core_search_unit(gamma, back), unit);
  }
  assert_true(isnan(core_search_coordinate(gamma, "0.99991")) && isnan(core_search_coordinate(gamma, "1")));
  assert_false(core_search_cell(gamma, 3, &low, &high));

  core_text_clear(&text);
  core_search_axis_print(&r.search, 0, &text);
  core_search_axis_print(&r.search, 1, &text);
  assert_string_equal(core_text_string(&text), "pow2 16 .. 128logit 0.9 .. 0.9999");
  core_text_free(&text);
  free_read(&r);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static void test_methods(void **state) {
  static const char *const lines[] = {
    "method = optuna:GPSampler", "method = \"optuna:CmaEsSampler(sigma0=0.3, popsize=6)\"",
    "method = \"command:/a b/ask.py sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""};
  for (size_t i = 0; i < 3; i++) {
    Read r, again;
    CoreText text = {0}, name = {0};
    core_text_appendf(&text, "%s\ntrials = 8\ngoal = max final, min kl\ntimeout = 7\nppo.epochs = 1 .. 8\n", lines[i]);
    read_good(core_text_string(&text), &r);
    core_text_clear(&text);
    core_search_print(&r.search, &text);
    read_good(core_text_string(&text), &again);
    if (!strstr(text.data, lines[i]) || !strstr(text.data, "goal = max final, min kl\n")) fail_msg("%s", text.data);
    assert_string_equal(again.search.program, r.search.program);
    assert_int_equal(again.search.timeout_s, 7);
    assert_int_equal(again.search.method, i < 2 ? CORE_SEARCH_OPTUNA : CORE_SEARCH_COMMAND);
    assert_true(!again.search.goals[0].minimize && again.search.goals[1].minimize && again.search.goals[1].is_log);
    if (i == 2) assert_string_equal(core_search_method_print(&again.search, &name), "command:/a b/ask.py");
    if (i == 2) assert_int_equal(strlen(again.search.program_hash), 64);
    core_text_free(&text);
    core_text_free(&name);
    free_read(&r);
    free_read(&again);
  }
}

/* On a bowl about (1e-3, 0.9), with the better of two choices, TPE finds more than random search does with as many
 * trials; and the same trials give the same proposal. */
static double bowl(const CoreSearch *search, const double *x) {
  const double a = core_search_unit(&search->axes[0], x[0]) - 0.667, b = core_search_unit(&search->axes[1], x[1]) - 0.5;
  return a * a + b * b + (x[2] == 1 ? 0 : 0.05);
}

static void test_propose(void **state) {
  enum { TRIALS = 60, AXES = 3, SWEEPS = 10 };
  static double coordinates[TRIALS][AXES];
  CoreTpeTrial trials[TRIALS];
  Read r;
  size_t wins = 0;
  read_good("trials = 60\nppo.learning_rate = log 1e-5 .. 1e-2\nppo.gae_lambda = 0.8 .. 1\n"
            "algo.name = choice ppo, ppo_ewma\n", &r);
  for (size_t s = 0; s < SWEEPS; s++) {
    double best_tpe = INFINITY, best_random = INFINITY, again[AXES];
    const char name[] = {(char)('a' + s), '\0'};
    const uint64_t seed = core_search_seed("sweep", "s", name);
    for (size_t i = 0; i < TRIALS; i++) {
      if (i < 10) core_search_draw(&r.search, "sweep", name, (int64_t)i, coordinates[i]);
      else core_tpe_propose(&r.search, trials, i, seed, (int64_t)i, coordinates[i]);
      trials[i] = (CoreTpeTrial){coordinates[i], {bowl(&r.search, coordinates[i])}, true};
      best_tpe = fmin(best_tpe, trials[i].loss[0]);
      core_search_draw(&r.search, "random", name, (int64_t)i, again);
      best_random = fmin(best_random, bowl(&r.search, again));
    }
    wins += best_tpe < best_random;
    core_tpe_propose(&r.search, trials, TRIALS - 1, seed, TRIALS - 1, again);
    assert_memory_equal(again, coordinates[TRIALS - 1], sizeof again);
  }
  if (wins < 8) fail_msg("TPE found more than random search in %zu of %d cases only", wins, SWEEPS);
  free_read(&r);
}

/* A condition holds in proposals too. */
static void test_conditions(void **state) {
  enum { TRIALS = 80 };
  static double coordinates[TRIALS][6];
  CoreTpeTrial trials[TRIALS];
  Read r;
  size_t with = 0;
  read_good(SPACE, &r);
  for (size_t i = 0; i < TRIALS; i++) {
    if (i < 10) core_search_draw(&r.search, "sweep", "s", (int64_t)i, coordinates[i]);
    else core_tpe_propose(&r.search, trials, i, 3, (int64_t)i, coordinates[i]);
    assert_int_equal(isnan(coordinates[i][4]), coordinates[i][5] != 1);
    with += !isnan(coordinates[i][4]);
    const double com = isnan(coordinates[i][4]) ? 1 : fabs(coordinates[i][4] - log(64)); /* ppo_ewma, 64 */
    trials[i] = (CoreTpeTrial){coordinates[i], {com}, i % 9 != 0};
  }
  assert_in_range(with, 40, 79);
  free_read(&r);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_refused(void **state) {
  refuse("ppo.epochs = 1 .. 8\n", "f.ini:1:1: ", "has no trials", "add trials = 64");
  refuse("trials = 8\n", "f.ini:1:1: ", "no setting to search", "ppo.learning_rate = log");
  refuse("trials = 0\nppo.epochs = 1 .. 8\n", "f.ini:2:10: ", "trials = 0", "1 to 1000000");
  refuse("trials = many\nppo.epochs = 1 .. 8\n", "f.ini:2:10: ", "not a whole number", "trials");

  refuse("trials = 8\nppo.epochs = 8 .. 1\n", "f.ini:3:14: ", "wrong way round", "write 1 .. 8");
  refuse("trials = 8\nppo.epochs = 4 .. 4\n", "f.ini:3:14: ", "nothing to search", "epochs = 4 in [ppo]");
  refuse("trials = 8\nppo.learning_rate = log 0 .. 1\n", "f.ini:3:21: ", "logarithm of 0", "begin above 0");
  refuse("trials = 8\nppo.epochs = 1.5 .. 8\n", "f.ini:3:14: ", "whole number, and the bound 1.5", "as 1 .. 8");
  refuse("trials = 8\nppo.epochs = 0 .. 8\n", "f.ini:3:14: ", "ppo.epochs", "");
  refuse("trials = 8\nppo.learning_rate = 1e-3 .. inf\n", "f.ini:3:21: ", "no finite number", "a range is");
  refuse("trials = 8\nppo.learning_rate = 1e-3\n", "f.ini:3:21: ", "expected a range", "[ppo]");

  refuse("trials = 8\nppo.epsilon = 0.1, 0.2\n", "f.ini:3:15: ", "the word choice", "choice 0.1, 0.2");
  refuse("trials = 8\nppo.epsilon = choice 0.1\n", "f.ini:3:15: ", "one value", "epsilon = 0.1 in [ppo]");
  refuse("trials = 8\nppo.epsilon = choice 0.1, 1e-1\n", "f.ini:3:15: ", "is repeated", "0.1");
  refuse("trials = 8\nalgo.name = ppo .. pqn\n", "f.ini:3:13: ", "no range", "write choice");
  refuse("trials = 8\nalgo.name = choice ppo, pop\n", "f.ini:3:13: ", "pop", "ppo");

  refuse("trials = 8\nppo.epochs = 1 .. 8\nppo.epochs = 1 .. 4\n", "f.ini:4:1: ", "is set twice", "line 3");
  refuse("trials = 8\nmethod = tep\nppo.epochs = 1 .. 8\n", "f.ini:3:10: ", "unknown 'tep', did you mean tpe",
         "random, sobol, tpe, optuna:SAMPLER and command:FILE");
  refuse("trials = 8\nwave = 4\nppo.epochs = 1 .. 8\n", "f.ini:3:1: ", "belongs to method = tpe", "random");
  refuse("trials = 8\ngoal = final\nppo.epochs = 1 .. 8\n", "f.ini:3:8: ", "max or min", "max final");
  refuse("trials = 8\ngoal = max a,b\nppo.epochs = 1 .. 8\n", "f.ini:3:8: ",
         "max or min", "max final, min transitions");
  refuse("trials = 8\ngoal = max final, min final\nppo.epochs = 1 .. 8\n", "f.ini:3:8: ",
         "final is named twice", "another measure");
  refuse("trials = 8\nmethod = optuna:\nppo.epochs = 1 .. 8\n", "f.ini:3:10: ",
         "expected a sampler of Optuna", "optuna:GPSampler");
  refuse("trials = 8\nmethod = optuna:A(b\nppo.epochs = 1 .. 8\n", "f.ini:3:10: ",
         "expected a sampler of Optuna", "optuna:GPSampler");
  refuse("trials = 8\nmethod = command:\nppo.epochs = 1 .. 8\n", "f.ini:3:10: ",
         "expected a program", "command:./ask.py");
  refuse("trials = 8\nmethod = tpe\ntimeout = 4\nppo.epochs = 1 .. 8\n", "f.ini:4:1: ", "timeout belongs to", "tpe");

  refuse("trials = 8\nenv.num = pow2 16 .. 100\n", "f.ini:3:11: ", "100 is no power of two", "pow2 16 .. 1024");
  refuse("trials = 8\nppo.gamma = logit 0.9 .. 1\n", "f.ini:3:13: ", "logit of 1", "end below 1");
  refuse("trials = 8\nppo.epochs = logit 1 .. 8\n", "f.ini:3:14: ", "logit is a scale", "leave it out");
  refuse("trials = 8\ngoal = max score_at_time\nppo.epochs = 1 .. 8\n", "f.ini:3:8: ", "depends on", "take final");

  refuse("trials = 8\ntrain.seed = 1 .. 8\n", "f.ini:3:1: ", "train.seed is given", "seeds = 2");
  refuse("trials = 8\ntrain.threads = 1 .. 8\n", "f.ini:3:1: ", "does not affect results", "[train]");
  refuse("trials = 8\nppo.epoch = 1 .. 8\n", "f.ini:3:1: ", "ppo.epoch is not a setting", "did you mean ppo.epochs");
}

static void test_refused_conditions(void **state) {
  refuse("trials = 8\nalgo.name = choice ppo, pqn when algo.name = ppo\n", "f.ini:3:13: ", "condition on itself",
         "name another setting");
  refuse("trials = 8\nppo.com = 8 .. 64 when algo.name = ppo_ewma\n", "f.ini:3:11: ", "must be a choice",
         "algo.name = choice");
  refuse("trials = 8\nppo.com = 8 .. 64 when algo.name = pqn\nalgo.name = choice ppo, ppo_ewma\n", "f.ini:3:11: ",
         "'pqn' is none of the values of algo.name", "line 4");
  refuse("trials = 8\nppo.com = 8 .. 64 when ppo_ewma\nalgo.name = choice ppo, ppo_ewma\n", "f.ini:3:11: ",
         "a condition is", "when SETTING = VALUE");
  refuse("trials = 8\nalgo.name = choice ppo, pqn when ppo.epsilon = 0.1\n"
         "ppo.epsilon = choice 0.1, 0.2 when algo.name = ppo\n", "f.ini:3:13: ", "leads back to itself", "remove one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sobol),   cmocka_unit_test(test_text),    cmocka_unit_test(test_values),
    cmocka_unit_test(test_draws),   cmocka_unit_test(test_parzen),  cmocka_unit_test(test_split),
    cmocka_unit_test(test_propose), cmocka_unit_test(test_conditions), cmocka_unit_test(test_fronts),
    cmocka_unit_test(test_spread),  cmocka_unit_test(test_propose_two), cmocka_unit_test(test_scales),
    cmocka_unit_test(test_methods),
    cmocka_unit_test(test_refused), cmocka_unit_test(test_refused_conditions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
