/* Reports of programs: JSON lines, CSV files that are rewritten, event files, and faults in them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/protobuf.h"
#include "core/terminal.h"
#include "core/tfrecord.h"
#include "sweep/program/events.h"
#include "sweep/program/source.h"
#include "sweep/program/csv.h"
#include "sweep/program/tail.h"

/* ---- parsed records as text -------------------------------------------------------------------------------------- */

static CoreText taken;

static void take(void *context, const ProgramRecord *record) {
  for (size_t i = 0; i < record->count; i++)
    core_text_appendf(&taken, "%s%s=%g", i ? " " : "", record->names->items[record->values[i].name],
                      record->values[i].value);
  if (record->evaluation[0]) core_text_appendf(&taken, " (%s)", record->evaluation);
  core_text_append(&taken, "\n");
}

static ProgramSink new_sink(void) {
  core_text_clear(&taken);
  ProgramSink sink = {.on_record = take, .step_name = "step"};
  return sink;
}

static void check_taken(const char *text) {
  assert_string_equal(core_text_string(&taken), text);
  core_text_clear(&taken);
}

/* ---- JSON ----------------------------------------------------------------------------------------------------- */

static void check_json(const char *line, const char *text) {
  ProgramNames names = {0};
  ProgramRecord record = {.names = &names};
  const bool good = program_record_read_json(line, strlen(line), &record);
  assert_int_equal(good, text != NULL);
  core_text_clear(&taken);
  if (good) take(NULL, &record);
  check_taken(text ? text : "");
  program_record_free(&record);
  program_names_free(&names);
}

static void test_json(void **state) {
  check_json("{\"step\": 200, \"return\": 0.93}", "step=200 return=0.93\n");
  check_json(" {\"a\":-1e-3,\"b\":true , \"c\":null,\"d\":\"text\",\"e\":[1,{\"x\":2}]} ", "a=-0.001 b=1\n");
  check_json("{\"a\": NaN, \"b\": Infinity, \"c\": -Infinity}", "a=nan b=inf c=-inf\n");
  check_json("{\"train\": {\"loss\": 1, \"deep\": {\"x\": 2}}, \"n\": 3}", "train/loss=1 train/deep/x=2 n=3\n");
  check_json("{\"step\": 5, \"eval\": \"test\", \"return\": 1}", "step=5 return=1 (test)\n");
  check_json("{\"a\\u00e9\\\"\\\\b\": 1, \"\xff\xfe\": 2, \"t\tab\": 3}", "a?\"\\b=1 ?\?=2 t?ab=3\n");
  check_json("{}", "\n");
  check_json("{\"a\": 1", NULL);
  check_json("{\"a\": 1} x", NULL);
  check_json("{\"a\": 1e}", NULL);
  check_json("[1]", NULL);
  check_json("", NULL);
  char deep[4096];
  memset(deep, '[', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  memcpy(deep, "{\"a\":", 5);
  check_json(deep, NULL);
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static void take_line(void *context, const char *line, size_t length) {
  core_text_append_bytes(&taken, line, length);
  core_text_append(&taken, "|");
}

static void write_file(const char *path, const char *mode, const char *text) {
  FILE *file = fopen(path, mode);
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static char folder[] = "/tmp/test_program.XXXXXX";

static const char *path_of(const char *name) {
  static char path[CORE_PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void test_tail(void **state) {
  ProgramTail tail = {0};
  snprintf(tail.path, sizeof tail.path, "%s", path_of("tail"));
  core_text_clear(&taken);
  assert_int_equal(program_tail_read(&tail, false, take_line, NULL), CORE_OK); /* not there yet */
  write_file(tail.path, "w", "one\ntw");
  assert_int_equal(program_tail_read(&tail, false, take_line, NULL), CORE_OK);
  check_taken("one|");
  write_file(tail.path, "a", "o\nthree");
  assert_int_equal(program_tail_read(&tail, false, take_line, NULL), CORE_OK);
  check_taken("two|");
  assert_int_equal(program_tail_read(&tail, true, take_line, NULL), CORE_OK);
  check_taken("three|");
  write_file(tail.path, "w", "x\n"); /* cut off and begun again */
  assert_int_equal(program_tail_read(&tail, false, take_line, NULL), CORE_OK);
  check_taken("x|");
  char *line = malloc(PROGRAM_LINE_MAX + 10);
  memset(line, 'y', PROGRAM_LINE_MAX + 9);
  line[PROGRAM_LINE_MAX + 9] = '\0';
  write_file(tail.path, "a", line);
  write_file(tail.path, "a", "\nz\n");
  assert_int_equal(program_tail_read(&tail, false, take_line, NULL), CORE_OK);
  check_taken("z|");
  assert_int_equal(tail.skipped, 1);
  free(line);
  program_tail_free(&tail);
}

/* ---- CSV ------------------------------------------------------------------------------------------------------ */

static void read_table(ProgramCsv *table, bool last, ProgramSink *sink) {
  sink->record.names = &sink->names;
  assert_int_equal(program_csv_read(table, last, sink), CORE_OK);
}

static void test_table(void **state) {
  ProgramCsv *table = program_csv_open(path_of("progress.csv"));
  ProgramSink sink = new_sink();
  const char *path = path_of("progress.csv");
  write_file(path, "w", "step,\"roll,out\",note\r\n1,0.5,x\r\n2,");
  read_table(table, false, &sink);
  check_taken("step=1 roll,out=0.5\n");
  write_file(path, "a", "nan,\n3,,\n");
  read_table(table, false, &sink);
  check_taken("step=2 roll,out=nan\nstep=3\n");
  /* A new name: the file is written again with it. */
  write_file(path, "w", "step,\"roll,out\",note,loss\n1,0.5,x,\n2,nan,,\n3,,,\n4,1,,7\n");
  read_table(table, false, &sink);
  check_taken("step=4 roll,out=1 loss=7\n");
  write_file(path, "a", "5,2,,8");
  read_table(table, true, &sink);
  check_taken("step=5 roll,out=2 loss=8\n");
  program_csv_close(&table);
  program_sink_free(&sink);
}

/* ---- event files ---------------------------------------------------------------------------------------------- */

static uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

static void append_record(CoreText *file, CoreText *event) {
  const uint64_t length = event->length;
  const uint32_t head = masked(core_crc32c(&length, sizeof length)), tail = masked(core_crc32c(event->data, length));
  core_text_append_bytes(file, &length, sizeof length);
  core_text_append_bytes(file, &head, sizeof head);
  core_text_append_bytes(file, event->data, length);
  core_text_append_bytes(file, &tail, sizeof tail);
  core_text_free(event);
}

/* kind: 0 simple_value, 1 a tensor with float_val, 2 one with tensor_content. */
static void append_scalar(CoreText *file, int64_t step, const char *tag, float value, int kind) {
  CoreText event = {0}, summary = {0}, item = {0}, tensor = {0};
  core_protobuf_double(&event, 1, 1.7e9);
  core_protobuf_int(&event, 2, step);
  core_protobuf_text(&item, 1, tag);
  core_protobuf_int(&tensor, 1, 1);
  if (kind == 1) core_protobuf_bytes(&tensor, 5, &value, sizeof value);
  if (kind == 2) core_protobuf_bytes(&tensor, 4, &value, sizeof value);
  if (kind == 0) core_protobuf_float(&item, 2, value);
  else core_protobuf_message(&item, 8, &tensor);
  core_text_free(&tensor);
  core_protobuf_message(&summary, 1, &item);
  core_protobuf_message(&event, 5, &summary);
  append_record(file, &event);
}

static void append_version(CoreText *file) {
  CoreText event = {0};
  core_protobuf_double(&event, 1, 1.7e9);
  core_protobuf_text(&event, 3, "brain.Event:2");
  append_record(file, &event);
}

static void write_bytes(const char *path, const CoreText *bytes, size_t from, size_t to) {
  FILE *file = fopen(path, from ? "ab" : "wb");
  fwrite(bytes->data + from, 1, to - from, file);
  fclose(file);
}

/* "123456789" has CRC-32C e3069283 (RFC 3720). */
static void test_crc(void **state) { assert_int_equal(core_crc32c("123456789", 9), 0xe3069283u); }

static void test_events(void **state) {
  ProgramEvents *events;
  ProgramSink sink = new_sink();
  CoreText bytes = {0};
  char path[CORE_PATH_MAX], list[CORE_PATH_MAX], runs[CORE_PATH_MAX];
  snprintf(runs, sizeof runs, "%s", path_of("runs/a"));
  assert_int_equal(core_files_make_directories(runs), CORE_OK);
  assert_int_equal(core_files_path(path, "%s/events.out.tfevents.0.old", runs), CORE_OK);
  append_version(&bytes);
  append_scalar(&bytes, 1, "old", 1, 0);
  write_bytes(path, &bytes, 0, bytes.length);
  snprintf(list, sizeof list, "%s", path_of("metrics.1.files"));
  assert_int_equal(program_events_open(path_of("runs"), NULL, list, &events), CORE_OK);
  core_text_clear(&bytes);
  append_version(&bytes);
  append_scalar(&bytes, 10, "charts/return", 1.5f, 0);
  append_scalar(&bytes, 10, "losses/kl", 0.25f, 1);
  append_scalar(&bytes, 10, "charts/return", 2.5f, 2); /* twice at one step: two records */
  append_scalar(&bytes, 20, "charts/return", NAN, 0);
  assert_int_equal(core_files_path(path, "%s/events.out.tfevents.1.new", runs), CORE_OK);
  const size_t torn = bytes.length - 3;
  write_bytes(path, &bytes, 0, torn);
  assert_int_equal(program_events_read(events, false, &sink), CORE_OK);
  check_taken("charts/return=1.5 losses/kl=0.25 step=10\n");
  write_bytes(path, &bytes, torn, bytes.length);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("charts/return=2.5 step=10\ncharts/return=nan step=20\n");
  program_events_close(&events);
  /* A later reader finds the same file, and not the old one. */
  assert_int_equal(program_events_open(path_of("runs"), NULL, list, &events), CORE_OK);
  bytes.data[bytes.length - 1] ^= 1; /* the last record's checksum */
  write_bytes(path, &bytes, 0, bytes.length);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("charts/return=1.5 losses/kl=0.25 step=10\ncharts/return=2.5 step=10\n");
  assert_int_equal(sink.damaged, 1);
  program_events_close(&events);
  program_sink_free(&sink);
  core_text_free(&bytes);
}

static void write_named(CoreText *bytes, const char *directory, long long seconds, const char *host, long process) {
  char path[CORE_PATH_MAX];
  assert_int_equal(core_files_path(path, "%s/events.out.tfevents.%010lld.%s.%ld.0", directory, seconds, host, process),
                   CORE_OK);
  write_bytes(path, bytes, 0, bytes->length);
}

/* TensorBoard's writer opens its file only to append to it. In a directory that runs share, the file belongs to the run
 * of the process in its name; other processes, hosts and times are other runs'. */
static void test_shared_events(void **state) {
  ProgramEvents *events;
  ProgramSink sink = new_sink();
  CoreText bytes = {0};
  char list[CORE_PATH_MAX], shared[CORE_PATH_MAX], host[256] = "";
  snprintf(shared, sizeof shared, "%s", path_of("shared"));
  snprintf(list, sizeof list, "%s", path_of("metrics.shared.files"));
  assert_int_equal(core_files_make_directories(shared), CORE_OK);
  assert_int_equal(gethostname(host, sizeof host - 1), 0);
  const pid_t child = fork();
  if (child == 0) {
    execle("/bin/sleep", "sleep", "60", NULL, (char *const[]){"SWEEP_RUN=00112233aabbccdd", NULL});
    _exit(127);
  }
  assert_int_equal(program_events_open(shared, "00112233aabbccdd", list, &events), CORE_OK);
  const long long now = (long long)core_clock_unix_s();
  append_version(&bytes);
  append_scalar(&bytes, 5, "other", 1, 0);
  write_named(&bytes, shared, now, host, child + 1);
  write_named(&bytes, shared, now, "elsewhere", child);
  write_named(&bytes, shared, now - 3600, host, child);
  core_text_clear(&bytes);
  append_version(&bytes);
  append_scalar(&bytes, 10, "return", 1.5f, 0);
  write_named(&bytes, shared, now, host, child);
  for (int i = 0; i < 1000 && program_events_files(events) == 0; i++) { /* until the child has its environment */
    assert_int_equal(program_events_read(events, false, &sink), CORE_OK);
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  append_scalar(&bytes, 20, "return", 2.5f, 0); /* written last, read after the process has ended */
  write_named(&bytes, shared, now, host, child);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("return=1.5 step=10\nreturn=2.5 step=20\n");
  program_events_close(&events);
  program_sink_free(&sink);
  core_text_free(&bytes);
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

static void test_names(void **state) {
  ProgramNames names = {0};
  char name[32];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < PROGRAM_NAMES_MAX; i++) {
      snprintf(name, sizeof name, "metric/%d", i);
      assert_int_equal(program_names_add(&names, name, strlen(name)), i);
    }
  assert_int_equal(program_names_add(&names, "more", 4), SIZE_MAX);
  assert_true(names.is_full);
  assert_int_equal(program_names_add(&names, "metric/7", 8), 7);
  program_names_free(&names);
}

static int set_up(void **state) { return mkdtemp(folder) ? 0 : -1; }

static int tear_down(void **state) {
  core_text_free(&taken);
  return core_files_remove_tree(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_json),   cmocka_unit_test(test_tail),
                                     cmocka_unit_test(test_table),  cmocka_unit_test(test_crc),
                                     cmocka_unit_test(test_events), cmocka_unit_test(test_shared_events),
                                     cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
