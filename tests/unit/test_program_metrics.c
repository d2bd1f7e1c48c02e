/* Reports of programs: JSON lines, CSV files that are rewritten, event files, and faults in them. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/files.h"
#include "core/protobuf.h"
#include "core/terminal.h"
#include "sweep/program/events.h"
#include "sweep/program/source.h"
#include "sweep/program/csv.h"
#include "sweep/program/file.h"
#include "sweep/program/tail.h"

/* ---- parsed records as text -------------------------------------------------------------------------------------- */

static CoreText taken;

static void take(void *context, ProgramSeries *series, const ProgramRecord *record) {
  for (size_t i = 0; i < record->count; i++)
    core_text_appendf(&taken, "%s%s=%g", i ? " " : "", record->names->items[record->values[i].name],
                      record->values[i].value);
  if (record->evaluation[0]) core_text_appendf(&taken, " (%s)", record->evaluation);
  core_text_append(&taken, "\n");
}

static void take_renamed(void *context, const char *name) { core_text_appendf(&taken, "renamed %s\n", name); }

static ProgramSink new_sink(void) {
  core_text_clear(&taken);
  ProgramSink sink = {.on_record = take, .on_renamed = take_renamed, .step_name = "step"};
  return sink;
}

static void check_taken(const char *text) {
  assert_string_equal(core_text_string(&taken), text);
  core_text_clear(&taken);
}

/* ---- JSON ----------------------------------------------------------------------------------------------------- */

/* text NULL: the line is not an object. */
static void check_json(const char *line, const char *text) {
  ProgramNames names = {0};
  ProgramRecord record = {.names = &names};
  const char *next = line, *end = line + strlen(line);
  core_text_clear(&taken);
  while (program_record_read_json(&next, end, &record, NULL)) take(NULL, NULL, &record);
  assert_int_equal(next == end, text != NULL);
  if (text) check_taken(text);
  program_record_free(&record);
  program_names_free(&names);
}

static void test_json(void **state) {
  check_json("{\"step\": 200, \"return\": 0.93}", "step=200 return=0.93\n");
  check_json(" {\"a\":-1e-3,\"b\":true , \"c\":null,\"d\":\"text\",\"e\":[1,{\"x\":2}]} ", "a=-0.001 b=1\n");
  check_json("{\"a\": NaN, \"b\": Infinity, \"c\": -Infinity}", "a=nan b=inf c=-inf\n");
  check_json("{\"a\": nan, \"b\": inf, \"c\": -inf, \"d\": \"1e-3\", \"e\": \"1,000\"}",
             "a=nan b=inf c=-inf d=0.001\n");
  check_json("{\"train\": {\"loss\": 1, \"deep\": {\"x\": 2}}, \"n\": 3}", "train/loss=1 train/deep/x=2 n=3\n");
  check_json("{\"step\": 5, \"eval\": \"test\", \"return\": 1}", "step=5 return=1 (test)\n");
  check_json("{\"a\\u00e9\\\"\\\\b\": 1, \"\xff\xfe\": 2, \"t\\tab\": 3}", "a\u00e9\"\\b=1 ?\?=2 t?ab=3\n");
  check_json("{\"\\u03b2\": 1, \"loss/\\u635f\\u5931\": 2, \"\\ud83d\\ude00\": 3}",
             "\u03b2=1 loss/\u635f\u5931=2 \U0001f600=3\n");
  check_json("{\"\\ud83d\": 1, \"\\ude00x\": 2}", "\ufffd=1 \ufffdx=2\n");
  check_json("[{\"a\": 1}, {\"a\": 2}]", "a=1\na=2\n");
  check_json("{}", "\n");
  check_json("{\"a\": 1", NULL);
  check_json("{\"a\": 1} x", NULL);
  check_json("{\"a\": 1e}", NULL);
  check_json("{\"a\": \"\\u12\"}", NULL);
  check_json("[1]", NULL);
  char deep[4096];
  memset(deep, '[', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  memcpy(deep, "{\"a\":", 5);
  check_json(deep, NULL);
  snprintf(deep, sizeof deep, "{\"a\": %f}", 1e200); /* 208 characters */
  check_json(deep, "a=1e+200\n");
}

/* The text is a number as a whole, or none. */
static void test_numbers(void **state) {
  static const struct { const char *text; double value; } good[] = {
    {"1", 1}, {" -2.5e-3 ", -0.0025}, {".5", 0.5}, {"5.", 5}, {"+3", 3}, {"True", 1}, {"false", 0}, {"-Inf", -INFINITY},
    {"infinity", INFINITY}};
  static const char *const bad[] = {"",     " ",  "10,000", "1.0M",  "0,5",   "12 %", "1 2",
                                    "0x10", "1e", "--1",    "1.2.3", "-true", "nano", "1_000"};
  double value;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(program_number_parse(good[i].text, strlen(good[i].text), &value));
    assert_true(value == good[i].value);
  }
  assert_true(program_number_parse("NaN", 3, &value) && isnan(value));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (program_number_parse(bad[i], strlen(bad[i]), &value)) fail_msg("'%s' is %g", bad[i], value);
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

static const char *path_of(const char *name) {
  static char path[CORE_PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", test_directory, name);
  return path;
}

static void take_bytes(void *context, const char *bytes, size_t count) { core_text_append_bytes(&taken, bytes, count); }
static void take_earlier(void *context, const char *bytes, size_t count) {
  core_text_append(&taken, bytes ? "(" : ")");
  if (bytes) core_text_append_bytes(&taken, bytes, count);
}
static void take_restart(void *context) { core_text_append(&taken, "^"); }

static const ProgramReader reader = {take_restart, take_earlier, take_bytes, NULL};

static void check_file(ProgramFile *file, const char *text) {
  assert_int_equal(program_file_read(file, &reader), CORE_OK);
  check_taken(text);
}

/* A file is read once, whatever is done to it. */
static void test_file(void **state) {
  ProgramFile file;
  const char *path = path_of("file");
  char other[CORE_PATH_MAX];
  core_text_clear(&taken);
  snprintf(other, sizeof other, "%s.1", path);
  program_file_init(&file, path, NULL);
  check_file(&file, ""); /* not there yet */
  write_file(path, "w", "\xef\xbb\xbf""one ");
  check_file(&file, "^one ");
  write_file(path, "a", "two");
  check_file(&file, "two");
  check_file(&file, "");
  write_file(path, "a", " end");
  assert_int_equal(rename(path, other), 0); /* rotated: what was written last is read first */
  write_file(path, "w", "new");
  check_file(&file, " end^new");
  write_file(path, "w", "x"); /* shorter */
  check_file(&file, "^x");
  write_file(path, "w", "yy"); /* longer, with another beginning */
  check_file(&file, "^yy");
  program_file_close(&file);

  /* Content at an attempt's start is not its own, unless the file is rewritten. */
  const ProgramPrefix start = program_file_prefix(path);
  assert_int_equal(start.size, 2);
  write_file(path, "a", "z");
  program_file_init(&file, path, &start);
  check_file(&file, "^(yy)z");
  write_file(path, "w", "yyz w");
  check_file(&file, " w"); /* continued: the same bytes */
  write_file(path, "w", "q");
  check_file(&file, "^q");
  program_file_close(&file);
  program_file_init(&file, path, &start);
  write_file(path, "w", "another beginning");
  check_file(&file, "^another beginning");
  program_file_close(&file);

  /* A file that replaces it is the attempt's own, even with the same bytes. */
  const ProgramPrefix same = program_file_prefix(path);
  program_file_init(&file, path, &same);
  assert_int_equal(rename(path, other), 0);
  write_file(path, "w", "another beginning");
  check_file(&file, "^another beginning");
  program_file_close(&file);
}

/* Lines end at LF, CR or both. */
static void test_tail(void **state) {
  ProgramTail tail = {0};
  core_text_clear(&taken);
  program_tail_bytes(&tail, "one\ntw", 6, take_line, NULL);
  check_taken("one|");
  program_tail_bytes(&tail, "o\r\n10%\r20%\rthree", 16, take_line, NULL);
  check_taken("two|10%|20%|");
  program_tail_end(&tail, take_line, NULL);
  check_taken("three|");
  char *line = malloc(PROGRAM_LINE_MAX + 10);
  memset(line, 'y', PROGRAM_LINE_MAX + 10);
  program_tail_bytes(&tail, line, PROGRAM_LINE_MAX + 10, take_line, NULL);
  program_tail_bytes(&tail, "\nz\n", 3, take_line, NULL);
  check_taken("z|");
  assert_int_equal(tail.skipped, 1);
  free(line);
  program_tail_free(&tail);
}

/* ---- CSV ------------------------------------------------------------------------------------------------------ */

static void read_table(ProgramCsv *table, ProgramReading reading, ProgramSink *sink) {
  sink->record.names = &sink->names;
  assert_int_equal(program_csv_read(table, reading, sink), CORE_OK);
}

static void test_table(void **state) {
  ProgramSeries series = {0};
  const char *path = path_of("progress.csv");
  ProgramCsv *table = program_csv_open(path, NULL, &series);
  ProgramSink sink = new_sink();
  write_file(path, "w", "step,\"roll,out\",note\r\n1,0.5,x\r\n2,");
  read_table(table, PROGRAM_RUNNING, &sink);
  check_taken("step=1 roll,out=0.5\n");
  write_file(path, "a", "nan,\n3,,\n");
  read_table(table, PROGRAM_RUNNING, &sink);
  check_taken("step=2 roll,out=nan\nstep=3\n");
  /* A new name: the file is written again with it. */
  write_file(path, "w", "step,\"roll,out\",note,loss\n1,0.5,x,\n2,nan,,\n3,,,\n4,1,,7\n");
  read_table(table, PROGRAM_RUNNING, &sink);
  check_taken("step=1 roll,out=0.5\nstep=2 roll,out=nan\nstep=3\nstep=4 roll,out=1 loss=7\n");
  write_file(path, "a", "5,2,,8");
  read_table(table, PROGRAM_KILLED, &sink); /* it may be a part of 80 */
  check_taken("");
  read_table(table, PROGRAM_ENDED, &sink);
  check_taken("step=5 roll,out=2 loss=8\n");
  assert_int_equal(sink.ignored.count, 1);
  assert_string_equal(sink.ignored.items[0].name, "note");
  program_csv_close(&table);
  program_sink_free(&sink);
}

/* Reads a whole table. */
static void check_table(const char *bytes, const char *text) {
  ProgramSeries series = {0};
  const char *path = path_of("any.csv");
  ProgramSink sink = new_sink();
  write_file(path, "w", bytes);
  ProgramCsv *table = program_csv_open(path, NULL, &series);
  read_table(table, PROGRAM_ENDED, &sink);
  check_taken(text);
  program_csv_close(&table);
  program_sink_free(&sink);
}

static void test_dialects(void **state) {
  check_table("\xef\xbb\xbfstep, reward ,\u03b2\n1, 2, 3\n", "step=1 reward=2 \u03b2=3\n");
  check_table("# step,reward\n1.0e+00,2.5e-01\n", "step=1 reward=0.25\n");
  check_table("# step reward\n1.0e+00 2.5e-01\n", "step=1 reward=0.25\n");
  check_table("#{\"t_start\": 1.5, \"env_id\": \"X\"}\nr,l,t\n1,20,0.5\n", "r=1 l=20 t=0.5\n");
  check_table("step;reward\n1;0,5\n2;0.75\n", "step=1\nstep=2 reward=0.75\n");
  check_table("step\treward\n1\t2\n", "step=1 reward=2\n");
  check_table("1,2\n3,4\n", "column1=1 column2=2\ncolumn1=3 column2=4\n");
  check_table("step,a\n1,2\na,step\n3,4\n", "step=1 a=2\na=3 step=4\n"); /* a later header, in another order */
  check_table("step,r\n1,2\nepoch,test_loss\n3,4\n", "step=1 r=2\nepoch=3 test_loss=4\n");
  check_table("\"step\", \"r\"\n1, \"0.5\"\n", "step=1 r=0.5\n");
  check_table("step,a\n1,2,\n2,10,000\n", "step=1 a=2\n"); /* a row of too many fields is not read */
  check_table("step,a\rb\r1,2\r", "step=1 a=2\n");
}

/* Rows of earlier attempts give the names only. */
static void test_continued_table(void **state) {
  ProgramSeries series = {0};
  const char *path = path_of("continued.csv");
  ProgramSink sink = new_sink();
  write_file(path, "w", "step,a\n1,2\na,step\n3,2\n4,"); /* torn */
  const ProgramPrefix start = program_file_prefix(path);
  ProgramCsv *table = program_csv_open(path, &start, &series);
  read_table(table, PROGRAM_RUNNING, &sink);
  check_taken("");
  write_file(path, "a", "5,3\n");
  read_table(table, PROGRAM_RUNNING, &sink);
  check_taken("a=5 step=3\n");
  program_csv_close(&table);
  program_sink_free(&sink);
}

/* ---- output --------------------------------------------------------------------------------------------------- */

/* Reads output with a regular expression. */
static void check_output(const char *metrics, const char *bytes, const char *text) {
  CoreIni ini = {0};
  char experiment[1024];
  const CoreScript *program;
  ProgramSource *source;
  ProgramSink sink = new_sink();
  snprintf(experiment, sizeof experiment, "[program]\ncommand = x\nmetrics = stdout:%s\n", metrics);
  write_file(path_of("x.ini"), "w", experiment);
  assert_int_equal(core_ini_read(path_of("x.ini"), &ini), CORE_OK);
  assert_int_equal(core_script_read(&ini, &program), CORE_OK);
  const CoreScriptRun run = {.id = "x", .dir = test_directory, .config = ""};
  assert_int_equal(program_source_open(program, &run, test_directory, test_directory, 1, &source), CORE_OK);
  write_file(program_source_output(source), "w", bytes);
  assert_int_equal(program_source_read(source, PROGRAM_ENDED, &sink), CORE_OK);
  check_taken(text);
  program_source_close(&source);
  program_sink_free(&sink);
  core_ini_free(&ini);
}

/* Files are rotated, with and without a reader: each row is read once. */
static void test_rotated(void **state) {
  CoreIni ini = {0};
  const CoreScript *program;
  ProgramSource *source;
  ProgramSink sink = new_sink();
  char path[CORE_PATH_MAX], first[CORE_PATH_MAX], second[CORE_PATH_MAX];
  snprintf(path, sizeof path, "%s", path_of("rotated.csv"));
  snprintf(first, sizeof first, "%s", path_of("rotated.csv.1"));
  snprintf(second, sizeof second, "%s", path_of("rotated.csv.2"));
  write_file(path_of("x.ini"), "w", "[program]\ncommand = x\nmetrics = csv:rotated.csv\n");
  assert_int_equal(core_ini_read(path_of("x.ini"), &ini), CORE_OK);
  assert_int_equal(core_script_read(&ini, &program), CORE_OK);
  const CoreScriptRun run = {.id = "x", .dir = test_directory, .config = ""};

  write_file(first, "w", "step,a\n1,0\n"); /* from an earlier attempt */
  write_file(path, "w", "step,a\n2,0\n");
  write_file(path_of("rotated.csv.bak"), "w", "step,a\n9,0\n");
  assert_int_equal(program_source_open(program, &run, test_directory, test_directory, 3, &source), CORE_OK);
  assert_int_equal(rename(first, second), 0);
  assert_int_equal(rename(path, first), 0);
  write_file(path, "w", "step,a\n3,1\n");
  assert_int_equal(program_source_read(source, PROGRAM_RUNNING, &sink), CORE_OK);
  check_taken("step=3 a=1\n");
  write_file(path, "a", "4,1\n");
  assert_int_equal(rename(first, second), 0); /* twice between two reads */
  assert_int_equal(rename(path, first), 0);
  write_file(path, "w", "step,a\n5,1\n");
  assert_int_equal(rename(second, path_of("rotated.csv.3")), 0);
  assert_int_equal(rename(first, second), 0);
  assert_int_equal(rename(path, first), 0);
  write_file(path, "w", "step,a\n6,1\n");
  assert_int_equal(program_source_read(source, PROGRAM_RUNNING, &sink), CORE_OK);
  check_taken("step=4 a=1\nstep=6 a=1\nstep=5 a=1\n");
  program_source_close(&source);

  /* A later reader of the attempt reads all that is its own. */
  assert_int_equal(program_source_open(program, &run, test_directory, test_directory, 3, &source), CORE_OK);
  assert_int_equal(program_source_read(source, PROGRAM_KILLED, &sink), CORE_OK);
  check_taken("step=6 a=1\nstep=3 a=1\nstep=4 a=1\nstep=5 a=1\n");
  program_source_close(&source);
  program_sink_free(&sink);
  core_ini_free(&ini);
}

static void test_output(void **state) {
  static const char pair[] = "step,loss=step ([0-9,.]+) loss ([-0-9,.]+)", loose[] = "x=x[= ]*([0-9.]+)";
  check_output(pair, "step 1 loss 0.5\nnothing\nstep 2 loss -2", "step=1 loss=0.5\nstep=2 loss=-2\n");
  check_output(pair, "step 10,000 loss 1.5\n", "loss=1.5\n");
  check_output(pair, "\033[1;32mstep 3\033[0m loss 4\033[K\n\033]0;title\007step 5 loss 6\n",
               "step=3 loss=4\nstep=5 loss=6\n");
  check_output(pair, "step 1 loss 9\rstep 2 loss 8\rstep 3 loss 7\n", "step=1 loss=9\nstep=2 loss=8\nstep=3 loss=7\n");
  check_output(loose, "x 10,000\nx 1.0M\nx 0,5\nx 1e-5\nx 7kB\nx 1.2.3\nx 10'000\n", "");
  check_output(loose, "x 85%\nx 85 %\nx 1\u202f000\nx 1\u00a0000\nx 1\u2019000\nx 1.5 M\nx 5m\nx 5b\nx 0x1F\n", "");
  check_output("x=x ([0-9.]+)%", "x 85%\n", "x=85\n");
  check_output("x=x [^0-9]*([0-9.]+)", "x \u22120.5\n", "");
  check_output(pair, "step 1\033(B\033[m loss \033P1;2\033\\4\n", "step=1 loss=4\n");
  check_output(loose, "x 12.5s\nx=3, y\nx 4.\nx 5/9\n", "x=12.5\nx=3\nx=4\nx=5\n");
  check_output("x=.*([0-9.]+)", "loss -0.25\n", "");
  check_output("x=loss.([0-9.]+)", "loss-0.25\nloss=0.25\n", "x=0.25\nx=0.25\n");
  check_output("x=loss [^0-9]*([0-9.]+)", "loss -0.25\n", "");
  check_output("x,y=([0-9.]+),([0-9.]+)", "0.5,0.75\n", "x=0.5 y=0.75\n");
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

/* kind: 0 simple_value, 1 a tensor with float_val, 2 one with tensor_content, 3 one with `value` packed integers. */
static void append_scalar(CoreText *file, int64_t step, const char *tag, float value, int kind) {
  static const unsigned char integers[] = {7, 8, 9};
  CoreText event = {0}, summary = {0}, item = {0}, tensor = {0};
  core_protobuf_double(&event, 1, 1.7e9);
  core_protobuf_int(&event, 2, step);
  core_protobuf_text(&item, 1, tag);
  core_protobuf_int(&tensor, 1, 1);
  if (kind == 1) core_protobuf_bytes(&tensor, 5, &value, sizeof value);
  if (kind == 2) core_protobuf_bytes(&tensor, 4, &value, sizeof value);
  if (kind == 3) core_protobuf_bytes(&tensor, 10, integers, (size_t)value);
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
  append_scalar(&bytes, 10, "one", 1, 3);
  append_scalar(&bytes, 10, "several", 3, 3); /* no scalar */
  append_scalar(&bytes, 10, "charts/return", 2.5f, 2); /* twice at one step: two records */
  append_scalar(&bytes, 20, "charts/return", NAN, 0);

  assert_int_equal(core_files_path(path, "%s/events.out.tfevents.1.new", runs), CORE_OK);
  const size_t torn = bytes.length - 3;
  write_bytes(path, &bytes, 0, torn);
  assert_int_equal(program_events_read(events, false, &sink), CORE_OK);
  check_taken("charts/return=1.5 losses/kl=0.25 one=7 step=10\ncharts/return=2.5 step=10\n");

  write_bytes(path, &bytes, torn, bytes.length);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("charts/return=nan step=20\n");
  program_events_close(&events);

  /* A later reader finds the same file, and not the old one. */
  assert_int_equal(program_events_open(path_of("runs"), NULL, list, &events), CORE_OK);
  bytes.data[bytes.length - 1] ^= 1; /* the last record's checksum */
  write_bytes(path, &bytes, 0, bytes.length);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("charts/return=1.5 losses/kl=0.25 one=7 step=10\ncharts/return=2.5 step=10\n");
  assert_int_equal(sink.damaged, 1);

  program_events_close(&events);
  program_sink_free(&sink);
  core_text_free(&bytes);
}

/* Writes an event file with one scalar per step. */
static void write_scalars(const char *name, const char *tag, float value, int64_t first, int64_t last) {
  CoreText bytes = {0};
  append_version(&bytes);
  for (int64_t step = first; step <= last; step++) append_scalar(&bytes, step, tag, value, 0);
  write_bytes(path_of(name), &bytes, 0, bytes.length);
  core_text_free(&bytes);
}

/* Equal tags of several folders are kept apart; folders named by the time are hparams. */
static void test_folders(void **state) {
  ProgramEvents *events;
  ProgramSink sink = new_sink();
  char list[CORE_PATH_MAX];
  snprintf(list, sizeof list, "%s", path_of("metrics.folders.files"));
  const char *const folders[] = {"keras/2024/train", "keras/2024/validation", "keras/2024/1718900000.5"};
  assert_int_equal(program_events_open(path_of("keras"), NULL, list, &events), CORE_OK);
  for (size_t i = 0; i < 3; i++) assert_int_equal(core_files_make_directories(path_of(folders[i])), CORE_OK);
  write_scalars("keras/2024/train/tfevents.1", "loss", 1, 1, 1);
  assert_int_equal(program_events_read(events, false, &sink), CORE_OK);
  check_taken("loss=1 step=1\n");
  write_scalars("keras/2024/validation/tfevents.1", "loss", 2, 1, 1);
  assert_int_equal(program_events_read(events, false, &sink), CORE_OK);
  check_taken("renamed loss\nvalidation/loss=2 step=1\ntrain/loss=1 step=1\nvalidation/loss=2 step=1\n");
  write_scalars("keras/2024/1718900000.5/tfevents.1", "loss", 3, 0, 0);
  assert_int_equal(symlink("2024", path_of("keras/latest")), 0); /* a second way to these files */
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("hparams/loss=3 step=0\n");
  program_events_close(&events);
  program_sink_free(&sink);
}

/* A directory behind a link is read, once. */
static void test_linked_events(void **state) {
  ProgramEvents *events;
  ProgramSink sink = new_sink();
  char list[CORE_PATH_MAX];
  snprintf(list, sizeof list, "%s", path_of("metrics.linked.files"));
  assert_int_equal(core_files_make_directories(path_of("elsewhere")), CORE_OK);
  assert_int_equal(core_files_make_directories(path_of("linked")), CORE_OK);
  assert_int_equal(symlink("../elsewhere", path_of("linked/a")), 0);
  assert_int_equal(symlink("../linked", path_of("linked/loop")), 0);
  write_scalars("elsewhere/tfevents.1", "old", 1, 1, 2);
  assert_int_equal(program_events_open(path_of("linked"), NULL, list, &events), CORE_OK);
  write_scalars("elsewhere/tfevents.2", "new", 1, 3, 3);
  assert_int_equal(program_events_read(events, true, &sink), CORE_OK);
  check_taken("new=1 step=3\n");
  program_events_close(&events);
  program_sink_free(&sink);
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
  assert_int_equal(names.dropped, 1);
  assert_int_equal(program_names_add(&names, "metric/7", 8), 7);
  program_names_free(&names);
}

/* Names that are too long stay apart. */
static void test_long_names(void **state) {
  ProgramNames names = {0};
  char name[300];
  memset(name, 'x', sizeof name);
  assert_int_equal(program_names_add(&names, name, 299), 0);
  assert_int_equal(program_names_add(&names, name, 300), 1);
  assert_int_equal(program_names_add(&names, name, 299), 0);
  assert_int_equal(strlen(names.items[0]), PROGRAM_NAME_MAX - 1);
  assert_int_equal(program_names_add(&names, " a ", 3), 2);
  assert_string_equal(names.items[2], "a");
  assert_int_equal(program_names_add(&names, "  ", 2), SIZE_MAX);
  program_names_free(&names);
}

static int tear_down(void **state) {
  core_text_free(&taken);
  return core_files_remove_tree(test_directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_json),          cmocka_unit_test(test_numbers),       cmocka_unit_test(test_file),
    cmocka_unit_test(test_tail),          cmocka_unit_test(test_table),         cmocka_unit_test(test_dialects),
    cmocka_unit_test(test_rotated),       cmocka_unit_test(test_output),        cmocka_unit_test(test_continued_table),
    cmocka_unit_test(test_crc),           cmocka_unit_test(test_events),        cmocka_unit_test(test_folders),
    cmocka_unit_test(test_linked_events), cmocka_unit_test(test_shared_events), cmocka_unit_test(test_names),
    cmocka_unit_test(test_long_names)};
  return cmocka_run_group_tests(tests, test_directory_make, tear_down);
}
