/* `sweep logs`: prints the log of a run. */
#include <stdio.h>
#include <unistd.h>

#include "core/files.h"
#include "store/workspace/run.h"
#include "store/workspace/run_name.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"

enum { POLL_MS = 300 };

typedef struct LogOptions { SweepCommon common; int64_t lines; bool follow; } LogOptions;

/* Returns the offset of the last `lines` lines. */
static long tail_offset(FILE *file, int64_t lines) {
  fseek(file, 0, SEEK_END);
  long offset = ftell(file);
  for (int64_t newlines = 0; offset > 0; offset--) {
    fseek(file, offset - 1, SEEK_SET);
    if (getc(file) == '\n' && newlines++ == lines) break;
  }
  return offset;
}

static void print_rest(FILE *file) {
  char buffer[8192];
  clearerr(file);
  for (size_t length; (length = fread(buffer, 1, sizeof buffer, file)) > 0;) fwrite(buffer, 1, length, stdout);
  fflush(stdout);
}

/* Prints what is appended to the log until the run ends. */
static int follow_log(const char *root, const char *id, FILE *file) {
  StoreState state = {.status = STORE_RUNNING};
  while (state.status == STORE_RUNNING) {
    usleep(POLL_MS * 1000);
    const int code = store_run_state_read(root, id, true, &state);
    print_rest(file);
    TRY(code);
  }
  return CORE_OK;
}

static int print_log(const LogOptions *options, const char *id) {
  const char *root = options->common.root;
  char path[CORE_PATH_MAX];
  FILE *file;
  TRY(store_path_run(root, id, "log.txt", path));
  if (!core_files_exists(path)) return core_error(CORE_FAIL, "run %s has no log yet: it has not started", id);
  TRY(core_files_open_plain(path, &file));
  fseek(file, tail_offset(file, options->lines), SEEK_SET);
  print_rest(file);
  const int code = options->follow ? follow_log(root, id, file) : CORE_OK;
  fclose(file);
  return code;
}

static int logs(void *context, const char **operands, size_t count) {
  LogOptions *options = context;
  char id[CORE_RUN_ID];
  if (options->lines < 0)
    return core_error(CORE_USAGE, "--lines %lld: must be at least 0", (long long)options->lines);
  TRY(sweep_common_open(&options->common));
  TRY(store_run_find(options->common.root, operands[0], id));
  return print_log(options, id);
}

int sweep_logs(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep logs RUN [options]",
    .about = "Prints a run's log. " STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"RUN"}, .operands_max = 1};
  LogOptions parsed = {.lines = 50};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"follow", 'f', CORE_OPTION_FLAG, &parsed.follow, NULL, "continue until the run ends"},
    {"lines", 'n', CORE_OPTION_INT, &parsed.lines, "N", "start with the last N lines (default: 50)"},
    {0}};
  return core_options_run(&manual, options, argc, argv, logs, &parsed);
}
