/* store/runlog: written data can be read by other programs, damage is detected, numbers are exact. */
#include "test.h"

#include <fcntl.h>
#include <float.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>

#include "store/runlog/number_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store_workspace.h"

/* ---- checksum and numbers --------------------------------------------------------------------------------------- */

/* The definition, bit by bit. */
static uint32_t slow_crc32(const unsigned char *bytes, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

static void test_crc32(void **state) {
  (void)state;
  unsigned char bytes[300];
  assert_int_equal(store_crc32("123456789", 9), 0xcbf43926); /* the published check value */
  assert_int_equal(store_crc32("", 0), 0);
  srand(2);
  for (size_t count = 0; count < sizeof bytes; count++) {
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)rand();
    assert_int_equal(store_crc32(bytes, count), slow_crc32(bytes, count));
  }
}

static void check_number(const char *text) {
  char line[128];
  double value;
  snprintf(line, sizeof line, "%s\trest        ", text);
  const char *end = store_number_read(line, &value);
  if (!end || *end != '\t' || end != line + strlen(text) || value != strtod(text, NULL))
    fail_msg("read wrongly: %s", text);
}

static void test_numbers_are_exact(void **state) {
  (void)state;
  static const char *const texts[] = {
    "0", "1", "-1", "0.1", "-0.25", "1e22", "1e23", "1e-22", "1e-23", "9007199254740993", "123456789012345678",
    "1234567890123456789", "12345678901234567890", "0.000000000000000000000000001", "2.2250738585072014e-308",
    "5e-324", "1.7976931348623157e308", "inf", "-inf", "3e0", "3e+05", "00012.500", ".5", "5.", "0.12345678",
    "0.123456789", "1.1234567", "1.123456789012345678901234567890", "8.41e+21", "9.5367431640625e-07",
    "179769313486231570000"};
  char text[64];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_number(texts[i]);
  srand(3);
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    snprintf(text, sizeof text, "%.*g", 1 + rand() % 18, value);
    if (strtod(text, NULL) != 0 && isfinite(strtod(text, NULL))) check_number(text);
    snprintf(text, sizeof text, "%.*f", rand() % 14, (double)(rand() % 100000000) / (1 + rand() % 1000));
    check_number(text);
  }
}

static void test_what_is_no_number(void **state) {
  (void)state;
  static const char *const texts[] = {"nan", "x", "-", ".", "1e", "1e+", "1x", "1.2.3", "0x10", "1 ", " 1", "1e999",
                                      "--1", "1e-999", "infinite"};
  double value;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char line[64];
    snprintf(line, sizeof line, "%s\t                ", texts[i]);
    assert_null(store_number_read(line, &value));
  }
  assert_non_null(store_number_read("\t               ", &value));
  assert_true(isnan(value));
}

static void test_numbers_written(void **state) {
  (void)state;
  char text[STORE_NUMBER_MAX + 32];
  double read;
  srand(4);
  for (int i = 0; i < 100000; i++) { /* every float32 comes back */
    uint32_t bits = (uint32_t)rand() << 8 ^ (uint32_t)rand();
    float value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) continue;
    size_t length = store_number_write(value, text);
    assert_true(length < STORE_NUMBER_MAX);
    snprintf(text + length, 32, "\t               ");
    assert_non_null(store_number_read(text, &read));
    assert_true((float)read == value);
  }
  static const double whole[] = {0, 1, -1, 3e9, 123456789012345, 9007199254740991, -9007199254740991};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    size_t length = store_number_write(whole[i], text);
    text[length] = '\0';
    assert_true(strtod(text, NULL) == whole[i]);
  }
  assert_int_equal(store_number_write(NAN, text), 0);
  text[store_number_write(-DBL_MAX, text)] = '\0';
  assert_string_equal(text, "-1.79769313e+308");
}

/* ---- reading helpers -------------------------------------------------------------------------------------------- */

typedef struct Rows {
  int64_t count, iterations[256];
  StoreIteration last;
  StoreEvaluation last_evaluation;
  StoreLayer last_layer;
  StoreMetric last_metric;
  int64_t stop_after; /* 0 = never */
} Rows;

static int take(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                const StoreLayer *layer, const StoreMetric *metric) {
  Rows *rows = context;
  assert_int_equal((iteration != NULL) + (evaluation != NULL) + (layer != NULL) + (metric != NULL), 1);
  assert_true(rows->count < 256);
  rows->iterations[rows->count++] = iteration    ? iteration->iteration
                                    : evaluation ? evaluation->iteration
                                    : layer      ? layer->iteration
                                                 : metric->iteration;
  if (iteration) rows->last = *iteration;
  else if (evaluation) rows->last_evaluation = *evaluation;
  else if (layer) rows->last_layer = *layer;
  else rows->last_metric = *metric;
  return rows->stop_after && rows->count == rows->stop_after ? 77 : CORE_OK;
}

static char id[CORE_RUN_ID], log_path[CORE_PATH_MAX];

static int setup_run(void **state) {
  if (workspace_setup(state) != 0) return -1;
  make_run(0, id);
  return store_path_run(root, id, "stats.1.tsv", log_path);
}

static Rows read_rows(int64_t *end, StoreLogDamage *damage) {
  Rows rows = {0};
  int64_t here;
  StoreLogDamage none;
  assert_ok(store_runlog_read(log_path, 0, take, &rows, end ? end : &here, damage ? damage : &none));
  return rows;
}

static void append(const char *text) {
  FILE *file = fopen(log_path, "a");
  fputs(text, file);
  fclose(file);
}

/* A good line of one's own making, with the definition's checksum. */
static void append_line(const char *fields) {
  char line[4096];
  snprintf(line, sizeof line, "%s\t%08x\n", fields, slow_crc32((const unsigned char *)fields, strlen(fields)));
  append(line);
}

/* Named values: invalid characters of a name are replaced, and an empty name writes no record. */
static void test_metrics(void **state) {
  (void)state;
  static const char *const names[][2] = {
    {"charts/episodic_return", "charts/episodic_return"}, {"a\tb\nc", "a_b_c"}, {"r\xc3\xa9ward", "r\xc3\xa9ward"},
    {"r\xe9ward", "r_ward"}};
  StoreRunlog *log;
  assert_ok(store_path_run(root, id, "metrics.1.tsv", log_path));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    StoreMetric metric = {.iteration = (int64_t)i + 1, .step = 64, .value = i == 1 ? NAN : 0.5};
    assert_ok(store_runlog_open(root, id, 1, STORE_LOG_METRICS, &log));
    snprintf(metric.name, sizeof metric.name, "%s", names[i][0]);
    store_runlog_metric(log, &metric);
    *metric.name = '\0';
    store_runlog_metric(log, &metric);
    assert_ok(store_runlog_close(&log));
    Rows rows = read_rows(NULL, NULL);
    assert_int_equal(rows.count, i + 1);
    assert_string_equal(rows.last_metric.name, names[i][1]);
    assert_int_equal(rows.last_metric.step, 64);
    assert_true(i == 1 ? isnan(rows.last_metric.value) : rows.last_metric.value == 0.5);
  }
}

/* ---- the format ------------------------------------------------------------------------------------------------- */

static void test_format(void **state) {
  (void)state;
  write_rows(id, 1, 1, 3, 0);
  char *text = read_text(log_path, NULL), *save, expected[80];
  char *line = strtok_r(text, "\n", &save);
  snprintf(expected, sizeof expected, "#runlog 1 stats %s 1 ", id);
  assert_memory_equal(line, expected, strlen(expected));
  line = strtok_r(NULL, "\n", &save);
  assert_memory_equal(line, "iteration\ttransitions[transitions]\tkl[nat]\t", 42);
  assert_string_equal(strrchr(line, '\t'), "\tcrc32");
  int columns = 1, fields;
  for (char *c = line; *c; c++) columns += *c == '\t';
  for (int row = 1; (line = strtok_r(NULL, "\n", &save)); row++) {
    char *check = strrchr(line, '\t');
    fields = 1;
    for (char *c = line; *c; c++) fields += *c == '\t';
    assert_int_equal(fields, columns);
    assert_int_equal(strlen(check), 9);
    assert_int_equal(strtoul(check + 1, NULL, 16), slow_crc32((unsigned char *)line, (size_t)(check - line)));
    assert_int_equal(atoi(line), row);
  }
  free(text);
}

static void test_round_trip(void **state) {
  (void)state;
  StoreRunlog *log;
  StoreIteration written = store_iteration_unmeasured(1);
  double *values = &written.transitions;
  size_t count = (sizeof written - offsetof(StoreIteration, transitions)) / sizeof *values;
  for (size_t i = 0; i < count; i++) values[i] = i % 5 == 4 ? NAN : (float)(sin((double)i) * pow(10, (double)i - 12));
  values[7] = INFINITY;
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log));
  store_runlog_iteration(log, &written);
  assert_ok(store_runlog_close(&log));
  assert_null(log);
  Rows rows = read_rows(NULL, NULL);
  assert_int_equal(rows.count, 1);
  const double *read = &rows.last.transitions;
  for (size_t i = 0; i < count; i++)
    assert_true(isnan(values[i]) ? isnan(read[i]) : (float)read[i] == (float)values[i]);
}

static void test_evaluations(void **state) {
  (void)state;
  write_evaluation(id, 1, 0, "public\tall\n", 0.25);
  write_evaluation(id, 1, 10, "a name that is longer than sixty-three bytes, which is all that it may have", 0.5);
  assert_ok(store_path_run(root, id, "eval.1.tsv", log_path));
  Rows rows = {.stop_after = 1};
  int64_t end;
  StoreLogDamage damage;
  assert_int_equal(store_runlog_read(log_path, 0, take, &rows, &end, &damage), 77);
  assert_string_equal(rows.last_evaluation.level_set, "public_all_");
  assert_true(rows.last_evaluation.solve_rate == 0.25 && isnan(rows.last_evaluation.solve_rate_se));
  rows.stop_after = 0;
  assert_ok(store_runlog_read(log_path, end, take, &rows, &end, &damage)); /* on from where it was stopped */
  assert_int_equal(rows.count, 2);
  assert_int_equal(rows.last_evaluation.iteration, 10);
  assert_int_equal(strlen(rows.last_evaluation.level_set), 63);
}

static void test_refusals(void **state) {
  (void)state;
  StoreRunlog *log;
  assert_int_equal(store_runlog_open(root, id, 0, STORE_LOG_STATS, &log), CORE_USAGE);
  assert_int_equal(store_runlog_open(root, "no id", 1, STORE_LOG_STATS, &log), CORE_USAGE);
  assert_int_equal(store_runlog_open(root, "0123456789abcdef", 1, STORE_LOG_STATS, &log), CORE_FAIL); /* no directory */
  write_text(log_path, "#runlog 1 stats of another run\n");
  assert_int_equal(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log), CORE_FAIL);
  assert_message("move it away");
  unlink(log_path);
  assert_int_equal(mkfifo(log_path, 0600), 0);
  assert_int_equal(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log), CORE_FAIL);
  Rows rows = {0};
  int64_t end;
  StoreLogDamage damage;
  assert_int_equal(store_runlog_read(log_path, 0, take, &rows, &end, &damage), CORE_FAIL); /* and does not hang */
}

/* ---- torn and damaged ------------------------------------------------------------------------------------------- */

/* A writer killed at any moment: only complete lines are read, and also the next writer's lines. */
static void test_cut_anywhere(void **state) {
  (void)state;
  size_t size;
  write_rows(id, 1, 1, 3, 0);
  char *whole = read_text(log_path, &size);
  for (size_t cut = 0; cut < size; cut += cut < 20 || cut > size - 40 ? 1 : 13) {
    FILE *file = fopen(log_path, "w");
    fwrite(whole, 1, cut, file);
    fclose(file);
    size_t lines = 0;
    for (size_t i = 0; i < cut; i++) lines += whole[i] == '\n';
    int64_t end;
    StoreLogDamage damage;
    Rows rows = read_rows(&end, &damage);
    assert_int_equal(rows.count, lines > 2 ? lines - 2 : 0);
    assert_int_equal(damage.lines, 0);
    assert_true(end <= (int64_t)cut);
    write_rows(id, 1, 9, 9, 0);
    Rows more = read_rows(NULL, &damage);
    bool rest = lines >= 2 && whole[cut - 1] != '\n', ended = rest && whole[cut] == '\n', torn = rest && !ended;
    assert_int_equal(more.count, rows.count + ended + 1);
    assert_int_equal(more.last.iteration, 9);
    assert_int_equal(damage.lines, torn);
    if (torn) assert_int_equal(damage.first_line, (int64_t)lines + 1);
  }
  free(whole);
}

/* Every byte of the file, changed: at most the two lines around it are lost, and it is noticed. */
static void test_flip_anywhere(void **state) {
  (void)state;
  size_t size;
  write_rows(id, 1, 1, 4, 0);
  char *whole = read_text(log_path, &size);
  for (size_t at = 0; at < size; at++) {
    static const char masks[] = {1, 0x20, (char)0x80, 0x5a};
    int64_t line = 1, end;
    StoreLogDamage damage;
    for (size_t i = 0; i < at; i++) line += whole[i] == '\n';
    char kept = whole[at];
    whole[at] ^= masks[at % sizeof masks];
    FILE *file = fopen(log_path, "w");
    fwrite(whole, 1, size, file);
    fclose(file);
    whole[at] = kept;
    bool last = at + 1 == size;
    Rows rows = read_rows(&end, &damage);
    if (damage.lines == 0 && !last) fail_msg("a flip at byte %zu was not noticed", at);
    assert_true(rows.count >= 2 && rows.count <= 4);
    if (line <= 2) assert_true(damage.first_line <= 2 && rows.count >= (kept == '\n' ? 3 : 4));
    else if (!last) assert_int_equal(damage.first_line, line);
    for (int64_t i = 0; i < rows.count; i++) assert_in_range(rows.iterations[i], 1, 4);
    assert_true(rows.last.kl == 0.25 && rows.last.transitions == 1000.0 * (double)rows.last.iteration);
  }
  free(whole);
}

static void test_damage_is_numbered_from_the_file_start(void **state) {
  (void)state;
  int64_t end;
  StoreLogDamage damage;
  write_rows(id, 1, 1, 10, 0);
  Rows rows = read_rows(&end, NULL);
  append("garbage\n\n\t\t\t\n");
  write_rows(id, 1, 11, 12, 0);
  rows = (Rows){0};
  assert_ok(store_runlog_read(log_path, end, take, &rows, &end, &damage));
  assert_int_equal(rows.count, 2);
  assert_int_equal(damage.lines, 3);
  assert_int_equal(damage.first_line, 13);
}

static void test_endless_line(void **state) {
  (void)state;
  StoreLogDamage damage;
  int64_t end, before;
  write_rows(id, 1, 1, 2, 0);
  read_rows(&before, NULL);
  FILE *file = fopen(log_path, "a");
  for (int i = 0; i < 3 << 20; i++) fputc('a' + i % 7, file);
  fclose(file);
  Rows rows = read_rows(&end, &damage);
  assert_int_equal(end, before); /* may still become a line */
  assert_int_equal(damage.lines, 0);
  write_rows(id, 1, 3, 3, 0);
  rows = read_rows(&end, &damage);
  assert_int_equal(rows.count, 3);
  assert_int_equal(damage.lines, 1);
  assert_int_equal(damage.first_line, 5);
}

static void test_nonsense_with_good_checksums(void **state) {
  (void)state;
  StoreLogDamage damage;
  write_text(log_path, "#runlog 1 stats x 1\niteration\tkl[nat]\tcrc32\n");
  append_line("1\t0.5");
  append_line("-1\t0.5");
  append_line("1.5\t0.5");
  append_line("99999999999\t0.5");
  append_line("\t0.5");
  append_line("2");
  append_line("2\t0.5\t7");
  append_line("2\tzero");
  append_line("");
  append_line("3\t");
  Rows rows = read_rows(NULL, &damage);
  assert_int_equal(rows.count, 2);
  assert_int_equal(rows.iterations[1], 3);
  assert_true(isnan(rows.last.kl));
  assert_int_equal(damage.lines, 8 + 1); /* and line 1, which names another run */
}

/* ---- other versions --------------------------------------------------------------------------------------------- */

static void test_other_columns(void **state) {
  (void)state;
  char header[128];
  StoreLogDamage damage;
  snprintf(header, sizeof header, "#runlog 1 stats %s 1\n", id);
  write_text(log_path, header);
  append("iteration\tfuture_metric[m]\tkl\tentropy[nat]\tcrc32\n"); /* other order, unknown and missing columns */
  append_line("1\t17\t0.125\t2.5");
  append_line("2\tany text\t0.25\t");
  Rows rows = read_rows(NULL, &damage);
  assert_int_equal(damage.lines, 0);
  assert_int_equal(rows.count, 2);
  assert_true(rows.last.kl == 0.25);
  assert_true(isnan(rows.last.entropy) && isnan(rows.last.solve_rate));
}

/* ---- a full disk ------------------------------------------------------------------------------------------------ */

/* A limit on the file's size fails writes as a full disk does, in their middle. */
static void test_failing_writes_are_repeated(void **state) {
  (void)state;
  struct rlimit old, limit;
  StoreRunlog *log;
  StoreLogDamage damage;
  getrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, SIG_IGN);
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log));
  for (int i = 1; i <= 100; i++) {
    StoreIteration row = make_row(i, 0);
    store_runlog_iteration(log, &row);
    limit = (struct rlimit){.rlim_cur = i < 60 ? 1500 : old.rlim_cur, .rlim_max = old.rlim_max};
    if (i % 10 != 0) continue;
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = store_runlog_flush(log, true);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(code, i < 60 && i > 10 ? CORE_FAIL : i == 10 ? code : CORE_OK);
    if (code != CORE_OK) assert_message("kept in memory");
    Rows rows = read_rows(NULL, &damage);
    assert_int_equal(damage.lines, 0);
    if (i >= 60) assert_int_equal(rows.count, i);
  }
  assert_ok(store_runlog_close(&log));
  assert_int_equal(read_rows(NULL, NULL).count, 100);
}

#define RUN_TEST(test) cmocka_unit_test_setup_teardown(test, setup_run, workspace_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_crc32), cmocka_unit_test(test_numbers_are_exact), cmocka_unit_test(test_what_is_no_number),
    cmocka_unit_test(test_numbers_written), RUN_TEST(test_format), RUN_TEST(test_round_trip),
    RUN_TEST(test_metrics),
    RUN_TEST(test_evaluations), RUN_TEST(test_refusals), RUN_TEST(test_cut_anywhere), RUN_TEST(test_flip_anywhere),
    RUN_TEST(test_damage_is_numbered_from_the_file_start), RUN_TEST(test_endless_line),
    RUN_TEST(test_nonsense_with_good_checksums), RUN_TEST(test_other_columns),
    RUN_TEST(test_failing_writes_are_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
