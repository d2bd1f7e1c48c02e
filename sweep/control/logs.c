/* `sweep logs`: prints the log of a run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/workspace/run.h"
#include "store/workspace/run_name.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"

enum { POLL_MS = 300, BLOCK_BYTES = 1 << 16 };

typedef struct LogOptions { SweepCommon common; int64_t lines; bool follow; } LogOptions;

/* Returns the offset of the last `lines` lines. Reads backwards in blocks. */
static off_t tail_offset(FILE *file, int64_t lines) {
  static char block[BLOCK_BYTES];
  int64_t newlines = 0;
  fseeko(file, 0, SEEK_END);
  for (off_t end = ftello(file); end > 0;) {
    const size_t wanted = end < BLOCK_BYTES ? (size_t)end : BLOCK_BYTES;
    fseeko(file, end - (off_t)wanted, SEEK_SET);
    if (fread(block, 1, wanted, file) != wanted) break; /* the log was replaced */
    for (size_t i = wanted; i-- > 0;)
      if (block[i] == '\n' && newlines++ == lines) return end - (off_t)wanted + (off_t)i + 1;
    end -= (off_t)wanted;
  }
  return 0;
}

/* Returns the number of bytes at the end that begin a character and may be continued. */
static size_t unfinished_bytes(const char *data, size_t length) {
  for (size_t back = 1; back <= 3 && back <= length; back++) {
    const unsigned char byte = (unsigned char)data[length - back];
    if ((byte & 0xc0) == 0x80) continue;
    return byte >= 0xc2 && back < (byte < 0xe0 ? 2u : byte < 0xf0 ? 3u : 4u) ? back : 0;
  }
  return 0;
}

/* Prints text of a program on a terminal: a carriage return, by which progress bars redraw a line, begins a new one. */
static void print_masked(char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\0') text[i] = '?';
    if (text[i] == '\r') text[i] = i + 1 < length && text[i + 1] == '\n' ? ' ' : '\n';
  }
  text[length] = '\0';
  core_unicode_mask(text);
  fputs(text, stdout);
}

/* Prints the rest of the log: its bytes into a file or pipe, text without control characters on a terminal. */
static void print_rest(FILE *file) {
  char buffer[8192 + 4];
  size_t kept = 0;
  const bool is_masked = core_terminal_is_tty(stdout);
  clearerr(file);

  for (size_t length; (length = fread(buffer + kept, 1, 8192 - kept, file)) > 0;) {
    length += kept;
    kept = is_masked ? unfinished_bytes(buffer, length) : 0;
    char tail[4];
    memcpy(tail, buffer + length - kept, kept);
    if (is_masked) print_masked(buffer, length - kept);
    else fwrite(buffer, 1, length, stdout);
    memcpy(buffer, tail, kept);
  }

  if (kept) print_masked(buffer, kept);
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
  fseeko(file, tail_offset(file, options->lines), SEEK_SET);
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
    .about = "Prints a run's log. On a terminal, control characters of the program are replaced by '?'; a pipe or file "
             "gets the log's bytes. " STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"RUN"}, .operands_max = 1};
  LogOptions parsed = {.lines = 50};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"follow", 'f', CORE_OPTION_FLAG, &parsed.follow, NULL, "continue until the run ends"},
    {"lines", 'n', CORE_OPTION_INT, &parsed.lines, "N", "start with the last N lines (default: 50)"},
    {0}};
  return core_options_run(&manual, options, argc, argv, logs, &parsed);
}
