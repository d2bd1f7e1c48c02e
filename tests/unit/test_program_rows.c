/* Rows of a program's run: records of several attempts, which are read again, resumed, restarted and killed, against
 * the rule of docs/programs.md, written down as simply as possible. The database is what an import would make of the
 * logs: later lines win, and lines without numbers remove. */
#include "test.h"

#include "core/config/script.h"
#include "core/files.h"
#include "core/ini.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "sweep/program/logs.h"

static char id[CORE_RUN_ID];
static CoreConfig config;

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Starts a run of its own. keys: lines of [program]. */
static void new_run(const char *goal, const char *keys) {
  static int runs;
  char path[CORE_PATH_MAX], text[1024];
  CoreIni ini = {0};
  const CoreScript *program;
  snprintf(id, sizeof id, "%016x", ++runs);
  assert_int_equal(store_path_run(test_directory, id, NULL, path), CORE_OK);
  assert_int_equal(core_files_make_directories(path), CORE_OK);
  snprintf(path + strlen(path), 16, "/x.ini");
  snprintf(text, sizeof text, "[program]\ncommand = x\n%s\n[metric]\nkl = losses/kl\n", keys);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  assert_int_equal(core_ini_read(path, &ini), CORE_OK);
  assert_int_equal(core_script_read(&ini, &program), CORE_OK);
  if (*goal) program = core_script_with(program, CORE_SCRIPT_goal, goal);
  config = core_config_default();
  core_script_attach(&config, program);
  core_ini_free(&ini);
}

typedef struct Attempt {
  ProgramLogs *logs;
  ProgramSink sink;
  ProgramSeries series;
} Attempt;

static void begin(Attempt *attempt, int number) {
  *attempt = (Attempt){0};
  attempt->sink.record.names = &attempt->sink.names;
  assert_int_equal(program_logs_open(test_directory, id, number, &config, &attempt->logs), CORE_OK);
}

/* Logs a record of one line: "step=1 loss=2 eval=test". */
static void say(Attempt *attempt, const char *text) {
  ProgramRecord *record = &attempt->sink.record;
  char copy[256], *rest;
  snprintf(copy, sizeof copy, "%s", text);
  program_record_clear(record);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(word, '=') + 1;
    if (strncmp(word, "eval=", 5) == 0) snprintf(record->evaluation, sizeof record->evaluation, "%s", value);
    else program_record_add(record, word, (size_t)(value - 1 - word), strtod(value, NULL));
  }
  program_logs_append(attempt->logs, &attempt->series, record);
}

static void say_steps(Attempt *attempt, int first, int last, int every, double value) {
  char text[64];
  for (int step = first; step <= last; step += every) {
    snprintf(text, sizeof text, "step=%d loss=%g", step, value);
    say(attempt, text);
  }
}

typedef enum Ending { KILLED, ENDED, FINISHED } Ending;

static void end(Attempt *attempt, Ending ending) {
  if (ending == FINISHED) program_logs_trim(attempt->logs);
  if (ending == KILLED) assert_int_equal(program_logs_flush(attempt->logs, false), CORE_OK);
  else assert_int_equal(program_logs_end(attempt->logs), CORE_OK);
  program_logs_close(&attempt->logs);
  program_sink_free(&attempt->sink);
  program_series_free(&attempt->series);
}

/* ---- the database ------------------------------------------------------------------------------------------------ */

typedef struct Line { int kind; int64_t iteration; char name[128]; double step, value; } Line;
static Line *lines; /* [line_count] */
static size_t line_count;

/* Replaces the line of its key, or removes it. */
static void put(int kind, int64_t iteration, const char *name, double step, double value) {
  size_t i = 0;
  while (i < line_count && (lines[i].kind != kind || lines[i].iteration != iteration || strcmp(lines[i].name, name)))
    i++;
  if (isnan(step)) {
    if (i < line_count) lines[i] = lines[--line_count];
    return;
  }
  if (i == line_count) lines = realloc(lines, ++line_count * sizeof *lines);
  lines[i] = (Line){.kind = kind, .iteration = iteration, .step = step, .value = value};
  snprintf(lines[i].name, sizeof lines[i].name, "%s", name);
}

static int put_line(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                    const StoreLayer *layer, const StoreMetric *metric) {
  if (iteration) put(0, iteration->iteration, "", iteration->transitions, iteration->kl);
  if (iteration)
    put(1, iteration->iteration, "ddr", isnan(iteration->ddr) ? NAN : iteration->transitions, iteration->ddr);
  if (evaluation)
    put(2, evaluation->iteration, evaluation->level_set, evaluation->transitions, evaluation->episode_return);
  if (metric) put(3, metric->iteration, metric->name, metric->step, metric->value);
  return CORE_OK;
}

static int compare_lines(const void *a, const void *b) {
  const Line *x = a, *y = b;
  if (x->kind != y->kind) return x->kind - y->kind;
  if (strcmp(x->name, y->name) != 0) return strcmp(x->name, y->name);
  return x->iteration < y->iteration ? -1 : x->iteration > y->iteration;
}

static void import_logs(int attempts) {
  static const char *const kinds[] = {"stats", "eval", "metrics"};
  line_count = 0;
  for (int attempt = 1; attempt <= attempts; attempt++)
    for (size_t k = 0; k < 3; k++) {
      char name[32], path[CORE_PATH_MAX];
      int64_t offset;
      StoreLogDamage damage;
      snprintf(name, sizeof name, "%s.%d.tsv", kinds[k], attempt);
      assert_int_equal(store_path_run(test_directory, id, name, path), CORE_OK);
      assert_int_equal(store_runlog_read(path, 0, put_line, NULL, &offset, &damage), CORE_OK);
      assert_int_equal(damage.lines, 0);
    }
  qsort(lines, line_count, sizeof *lines, compare_lines);
}

/* Checks the steps and values of a metric, in the order of rows; "": the rows themselves. */
static void check(int kind, const char *name, const char *expected) {
  CoreText text = {0};
  for (size_t i = 0; i < line_count; i++)
    if (lines[i].kind == kind && strcmp(lines[i].name, name) == 0)
      core_text_appendf(&text, kind == 0 ? "%g " : "%g:%g ", lines[i].step, lines[i].value);
  assert_string_equal(core_text_string(&text), expected);
  core_text_free(&text);
}

enum { ROWS, DDR, EVALUATION, METRIC };

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* Records of a step share a row, unless a metric is repeated. Late ones find their place. */
static void test_places(void **state) {
  Attempt a;
  new_run("", "step = step of 100");
  begin(&a, 1);
  say(&a, "step=10 loss=1");
  say(&a, "step=10 acc=2");
  say(&a, "step=20 loss=3");
  say(&a, "step=20 loss=4 acc=5");
  say(&a, "step=15 loss=6");
  say(&a, "acc=7"); /* without a step: the latest */
  assert_true(program_logs_step(a.logs) == 20);
  end(&a, ENDED);
  import_logs(1);
  check(ROWS, "", "10 15 20 20 ");
  check(METRIC, "loss", "10:1 15:6 20:3 20:4 ");
  check(METRIC, "acc", "10:2 15:7 20:5 ");
  check(METRIC, "step", "");
}

/* Records that are read again, by the same supervisor or a later one, change nothing. */
static void test_read_again(void **state) {
  Attempt a;
  char path[CORE_PATH_MAX], *before, *after;
  size_t size;
  new_run("max loss", "step = step of 100");
  begin(&a, 1);
  for (int again = 0; again < 3; again++) {
    say_steps(&a, 1, 30, 1, 0.123456789012);
    say(&a, "step=30 loss=8");
    program_series_restart(&a.series);
  }
  end(&a, KILLED);
  assert_int_equal(store_path_run(test_directory, id, "metrics.1.tsv", path), CORE_OK);
  assert_int_equal(core_files_read(path, 0, &before, &size), CORE_OK);
  begin(&a, 1);
  say_steps(&a, 1, 30, 1, 0.123456789012);
  say(&a, "step=30 loss=8");
  end(&a, ENDED);
  assert_int_equal(core_files_read(path, 0, &after, &size), CORE_OK);
  assert_string_equal(before, after);
  free(before);
  free(after);
  import_logs(1);
  assert_int_equal(line_count, 31 + 30 + 31); /* rows, scores of 30 parts, values */
}

/* A resumed attempt replaces from its first step on; what is beyond its end goes when the run has ended. */
static void test_resume(void **state) {
  Attempt a;
  new_run("", "step = step of 100");
  begin(&a, 1);
  say_steps(&a, 10, 60, 10, 1);
  say(&a, "step=50 eval=test episode_return=5");
  end(&a, KILLED);
  begin(&a, 2);
  say_steps(&a, 30, 40, 10, 2);
  end(&a, KILLED);
  import_logs(2);
  check(METRIC, "loss", "10:1 20:1 30:2 40:2 50:1 60:1 ");
  begin(&a, 3);
  say_steps(&a, 20, 40, 10, 3);
  end(&a, FINISHED);
  import_logs(3);
  check(METRIC, "loss", "10:1 20:3 30:3 40:3 ");
  check(ROWS, "", "10 20 30 40 ");
  check(EVALUATION, "test", "");
}

/* Steps of a later attempt lie between those of the earlier one. */
static void test_other_steps(void **state) {
  Attempt a;
  new_run("", "step = step of 100");
  begin(&a, 1);
  say_steps(&a, 10, 90, 10, 1);
  end(&a, KILLED);
  begin(&a, 2);
  say_steps(&a, 34, 64, 10, 2);
  end(&a, KILLED);
  import_logs(2);
  check(METRIC, "loss", "10:1 20:1 30:1 34:2 44:2 54:2 64:2 70:1 80:1 90:1 ");
  check(ROWS, "", "10 20 30 34 44 54 64 70 80 90 ");
  begin(&a, 3);
  say_steps(&a, 5, 95, 45, 3);
  end(&a, FINISHED);
  import_logs(3);
  check(METRIC, "loss", "5:3 50:3 95:3 ");
  check(ROWS, "", "5 50 95 ");
}

/* Records at each start, with a metric of their own or the same one, leave the curve. */
static void test_start_records(void **state) {
  Attempt a;
  new_run("max loss", "step = step of 100");
  for (int attempt = 1; attempt <= 3; attempt++) {
    begin(&a, attempt);
    say(&a, attempt == 3 ? "step=0 parameters=3 loss=9" : "step=0 parameters=2");
    if (attempt < 3) say_steps(&a, 10 * attempt - 9, 10 * attempt + 3, 1, attempt);
    if (attempt == 3) say_steps(&a, 21, 22, 1, 3);
    end(&a, attempt == 3 ? FINISHED : KILLED);
  }
  import_logs(3);
  check(METRIC, "parameters", "0:3 ");
  check(METRIC, "loss",
        "0:9 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:2 12:2 13:2 14:2 15:2 16:2 17:2 18:2 19:2 20:2 "
        "21:3 22:3 ");
  check(EVALUATION, "train", "0:9 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:2 12:2 13:2 14:2 15:2 16:2 17:2 18:2 "
                             "19:2 20:2 21:3 22:3 ");
}

/* A record at the start that skips few values leaves them, too. */
static void test_short_jump(void **state) {
  Attempt a;
  new_run("", "step = step of 6");
  begin(&a, 1);
  say_steps(&a, 0, 3, 1, 1);
  end(&a, KILLED);
  begin(&a, 2);
  say(&a, "step=0 loss=2");
  say_steps(&a, 2, 6, 1, 3);
  end(&a, FINISHED);
  import_logs(2);
  check(METRIC, "loss", "0:2 1:1 2:3 3:3 4:3 5:3 6:3 ");
}

/* An attempt that logs its start only, since its checkpoint is the last one, drops nothing. */
static void test_start_only(void **state) {
  Attempt a;
  new_run("", "step = step of 100");
  begin(&a, 1);
  say(&a, "step=0 parameters=1");
  say_steps(&a, 10, 100, 30, 1);
  end(&a, KILLED);
  begin(&a, 2);
  say(&a, "step=0 parameters=2");
  end(&a, FINISHED);
  import_logs(2);
  check(METRIC, "loss", "10:1 40:1 70:1 100:1 ");
  check(METRIC, "parameters", "0:2 ");
}

/* Without a step the number of the record is the step; it continues after earlier attempts. */
static void test_numbers(void **state) {
  Attempt a;
  new_run("", "step = step");
  begin(&a, 1);
  for (int i = 0; i < 3; i++) say(&a, i == 0 ? "loss=7" : "loss=1");
  program_series_restart(&a.series); /* this file is written again */
  for (int i = 0; i < 4; i++) say(&a, i == 0 ? "loss=7 acc=1" : "loss=1");
  program_series_restart(&a.series); /* another file */
  say(&a, "loss=8");
  assert_true(program_logs_step(a.logs) == 5);
  end(&a, KILLED);
  begin(&a, 2);
  say(&a, "loss=9");
  end(&a, FINISHED);
  import_logs(2);
  check(METRIC, "loss", "1:7 2:1 3:1 4:1 5:8 6:9 ");
}

static void test_sums(void **state) {
  Attempt a;
  new_run("", "step = sum of l of 100");
  begin(&a, 1);
  say(&a, "r=1 l=20");
  say(&a, "r=2 l=5");
  program_series_restart(&a.series);
  say(&a, "r=1 l=20");
  say(&a, "r=2 l=5");
  say(&a, "r=3 l=30");
  end(&a, KILLED);
  begin(&a, 2);
  say(&a, "r=4 l=45");
  assert_true(program_logs_step(a.logs) == 100);
  end(&a, FINISHED);
  import_logs(2);
  check(METRIC, "r", "20:1 25:2 55:3 100:4 ");
  check(METRIC, "l", "20:20 25:5 55:30 100:45 ");
}

/* DDR is the steps since the last KL over the KL. */
static void test_ddr(void **state) {
  Attempt a;
  new_run("", "step = step of 100");
  begin(&a, 1);
  say(&a, "step=10 losses/kl=0.5");
  say(&a, "step=20 loss=1");
  say(&a, "step=40 losses/kl=0.25");
  say(&a, "step=30 losses/kl=0.5"); /* late: that of step 40 changes */
  end(&a, ENDED);
  import_logs(1);
  check(DDR, "ddr", "10:20 30:40 40:40 ");
}

/* The score is the mean of the goal in each hundredth, and follows late and replaced values. */
static void test_score(void **state) {
  Attempt a;
  bool is_rate;
  new_run("min loss", "step = step of 1000");
  begin(&a, 1);
  say_steps(&a, 1, 30, 1, 1);
  say(&a, "step=5 acc=1");
  end(&a, KILLED);
  import_logs(1);
  check(EVALUATION, "train", "9:-1 19:-1 29:-1 ");
  begin(&a, 2);
  say_steps(&a, 15, 40, 1, 3);
  assert_true(program_logs_score(a.logs, &is_rate) == -1);
  end(&a, FINISHED);
  import_logs(2);
  check(EVALUATION, "train", "9:-1 19:-2 29:-3 39:-3 40:-3 ");
}

static void test_divergence(void **state) {
  Attempt a;
  new_run("max loss", "step = step of 100");
  begin(&a, 1);
  say_steps(&a, 1, 50, 1, 1);
  assert_false(program_logs_is_diverged(a.logs));
  say(&a, "step=51 loss=nan");
  say(&a, "step=52 acc=1");
  assert_false(program_logs_is_diverged(a.logs)); /* not all of the last 2 % */
  say_steps(&a, 52, 60, 1, INFINITY);
  assert_true(program_logs_is_diverged(a.logs));
  say(&a, "step=61 loss=0");
  assert_false(program_logs_is_diverged(a.logs));
  end(&a, FINISHED);
}

static void check_missing(const Attempt *a, const char *expected) {
  CoreText text = {0};
  program_logs_describe_missing(a->logs, &a->sink, &text);
  assert_string_equal(core_text_string(&text), expected);
  core_text_free(&text);
}

static void test_missing(void **state) {
  Attempt a;
  new_run("max reward", "step = global_step of 100");
  begin(&a, 1);
  check_missing(&a, "");
  say(&a, "step=1 rewards=2");
  check_missing(&a, "goal: no reward; step: no global_step; kl: no losses/kl; logged: step, rewards");
  program_ignored_add(&a.sink.ignored, "reward", 6, "1,000", 5);
  say(&a, "global_step=1 losses/kl=2");
  check_missing(&a, "goal: no reward ('1,000' is not a number); logged: step, rewards, global_step, losses/kl");
  say(&a, "global_step=1 eval=test reward=1"); /* in an evaluation */
  check_missing(&a, "");
  end(&a, KILLED);
  begin(&a, 2); /* an earlier attempt has logged them */
  say(&a, "reward=2");
  check_missing(&a, "");
  end(&a, KILLED);
}

/* ---- at random, against the rule --------------------------------------------------------------------------------- */

enum { STEPS = 60, METRICS = 3 };
typedef struct Model {
  double values[METRICS][STEPS + 1];
  int attempts[METRICS][STEPS + 1];
} Model; /* attempt 0: none */

/* Logs a step of some metrics, and does the same to the model. */
static void say_random(Attempt *a, Model *model, int attempt, int step, int last[METRICS], bool is_new) {
  char text[128];
  snprintf(text, sizeof text, "step=%d", step);
  for (int m = 0; m < METRICS; m++) {
    if (step % (m + 1) != 0) continue;
    const double value = 1000 * attempt + 10 * step + m;
    snprintf(text + strlen(text), 32, " m%d=%g", m, value);
    for (int s = last[m] ? last[m] + 1 : step; s <= step && is_new; s++)
      if (model->attempts[m][s] < attempt) model->attempts[m][s] = 0;
    model->values[m][step] = value;
    model->attempts[m][step] = attempt;
    if (step > last[m]) last[m] = step;
  }
  say(a, text);
}

static void check_model(const Model *model, int attempts) {
  import_logs(attempts);
  for (int m = 0; m < METRICS; m++) {
    CoreText text = {0};
    char name[8];
    for (int s = 1; s <= STEPS; s++)
      if (model->attempts[m][s]) core_text_appendf(&text, "%d:%g ", s, model->values[m][s]);
    snprintf(name, sizeof name, "m%d", m);
    check(METRIC, name, core_text_string(&text));
    core_text_free(&text);
  }
}

static void test_random(void **state) {
  srand(1);
  for (int run = 0; run < 300; run++) {
    Model model = {0};
    new_run("max m1", "step = step of 60");
    int attempt = 0, checkpoint = 0;

    for (int reached = 0; reached < STEPS;) {
      Attempt a;
      int last[METRICS] = {0};
      const int stride = 1, first = checkpoint + stride;
      const int end_step = rand() % 4 == 0 ? STEPS : first + rand() % 25;

      begin(&a, ++attempt);
      for (int step = first; step <= end_step && step <= STEPS; step += stride) {
        say_random(&a, &model, attempt, step, last, true);
        reached = step;
        if (rand() % 10 == 0) assert_int_equal(program_logs_flush(a.logs, false), CORE_OK);
        if (rand() % 20 == 0) { /* the file is written again, and read from its beginning */
          int again[METRICS] = {0};
          program_series_restart(&a.series);
          for (int s = first; s <= step; s += stride) say_random(&a, &model, attempt, s, again, false);
        }
      }

      if (reached > checkpoint && rand() % 2) checkpoint = reached - rand() % (reached - checkpoint);
      if (end_step >= STEPS || attempt > 30) reached = STEPS;
      end(&a, KILLED);

      if (rand() % 3 == 0) { /* its supervisor was killed: the rest is imported from the beginning */
        int again[METRICS] = {0};
        begin(&a, attempt);
        for (int s = first; s <= end_step && s <= STEPS; s += stride)
          say_random(&a, &model, attempt, s, again, false);
        end(&a, ENDED);
      }

      check_model(&model, attempt);
    }
  }
}

static int tear_down(void **state) {
  free(lines);
  return core_files_remove_tree(test_directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_places),      cmocka_unit_test(test_read_again),    cmocka_unit_test(test_resume),
    cmocka_unit_test(test_other_steps), cmocka_unit_test(test_start_records), cmocka_unit_test(test_start_only),
    cmocka_unit_test(test_short_jump),  cmocka_unit_test(test_numbers),       cmocka_unit_test(test_sums),
    cmocka_unit_test(test_ddr),         cmocka_unit_test(test_score),         cmocka_unit_test(test_divergence),
    cmocka_unit_test(test_missing),     cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, test_directory_make, tear_down);
}
