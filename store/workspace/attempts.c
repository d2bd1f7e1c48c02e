/* Record of attempts, appended when a run's state is written and read by the import. Each line has a checksum, so that
 * a line truncated by a crash is ignored. */
#include "store/workspace/run_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"

enum { FIELDS = 13, FIELDS_WITHOUT_CODE = 11, FILE_BYTES_MAX = 16 << 20 };
static const char header[] =
  "#attempt\tstatus\thost\tpid\tdevice\tcommit\tstarted_unix_s\theartbeat_unix_s\tfinished_unix_s\tmessage"
  "\tcode\tcode_files\tcrc32\n";

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void append_text(CoreText *line, const char *text) {
  core_text_append(line, "\t");
  for (const char *c = text; *c; c++) core_text_appendf(line, "%c", (unsigned char)*c < ' ' ? ' ' : *c);
}

static void append_real(CoreText *line, double value) {
  char number[64];
  core_text_appendf(line, "\t%s", core_text_from_real(isnan(value) ? 0 : value, number));
}

static int append_line(const char *root, const char *id, const StoreState *state, StoreStatus status) {
  char path[CORE_PATH_MAX], last = '\n';
  CoreText line = {0};
  int fd;

  TRY(store_path_run(root, id, "attempts.tsv", path));
  TRY(core_files_open(path, CORE_FILES_APPEND, &fd));
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size == 0) core_text_append(&line, header);
  if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n') core_text_append(&line, "\n");

  const size_t begin = line.length;
  core_text_appendf(&line, "%d\t%s", state->attempt, store_status_name(status));
  append_text(&line, state->host);
  core_text_appendf(&line, "\t%lld", (long long)state->pid);
  append_text(&line, state->device);
  append_text(&line, state->commit);
  append_real(&line, state->started_unix_s);
  append_real(&line, state->heartbeat_unix_s);
  append_real(&line, state->finished_unix_s);
  append_text(&line, state->message);
  append_text(&line, state->code);
  append_text(&line, state->code_files);
  core_text_appendf(&line, "\t%08x\n", store_crc32(line.data + begin, line.length - begin));

  const bool written = write(fd, line.data, line.length) == (ssize_t)line.length;
  const int number = errno;
  close(fd);
  core_text_free(&line);
  errno = number;
  return written ? CORE_OK : core_error_errno(CORE_FAIL, "cannot write %s", path);
}

int store_attempts_record(const char *root, const char *id, const StoreState *state) {
  StoreState before;
  if (state->attempt < 1) return CORE_OK;
  /* Previous attempt ended without recording how. */
  if (state->attempt > 1 && store_run_state_read(root, id, false, &before) == CORE_OK &&
      before.status == STORE_RUNNING && before.attempt > 0 && before.attempt < state->attempt)
    TRY(append_line(root, id, &before, STORE_LOST));
  const bool ends = state->status != STORE_RUNNING && state->status != STORE_PENDING;
  return ends ? append_line(root, id, state, state->status) : CORE_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static bool read_line(char *line, StoreState *state) {
  char *field[FIELDS], *sum = strrchr(line, '\t');
  unsigned crc;
  int64_t attempt;
  size_t count = 0;

  if (*line == '#' || !sum || strlen(sum) != 9 || sscanf(sum, "\t%8x", &crc) != 1 ||
      store_crc32(line, (size_t)(sum - line)) != crc)
    return false;

  for (char *tail = line; tail && count < FIELDS;) field[count++] = strsep(&tail, "\t");
  *state = (StoreState){0};
  const bool has_code = count == FIELDS;
  if ((!has_code && count != FIELDS_WITHOUT_CODE) || !core_text_to_int(field[0], &attempt) || attempt < 1 ||
      attempt > 999999999 ||
      !store_status_from_name(field[1], &state->status) || !core_text_to_int(field[3], &state->pid) ||
      !core_text_to_real(field[6], &state->started_unix_s) || !core_text_to_real(field[7], &state->heartbeat_unix_s) ||
      !core_text_to_real(field[8], &state->finished_unix_s) || !core_text_is_utf8(field[9]) ||
      (has_code && !(core_text_is_utf8(field[10]) && core_text_is_utf8(field[11]))))
    return false;

  state->attempt = (int)attempt;
  snprintf(state->host, sizeof state->host, "%s", field[2]);
  snprintf(state->device, sizeof state->device, "%s", field[4]);
  snprintf(state->commit, sizeof state->commit, "%s", field[5]);
  snprintf(state->message, sizeof state->message, "%s", field[9]);
  if (has_code) snprintf(state->code, sizeof state->code, "%s", field[10]);
  if (has_code) snprintf(state->code_files, sizeof state->code_files, "%s", field[11]);

  char *const texts[] = {state->host, state->device, state->commit, state->message, state->code, state->code_files};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) core_unicode_mask_line(texts[i]);
  return true;
}

int store_attempts_read(const char *root, const char *id, StoreState **attempts, size_t *count) {
  char path[CORE_PATH_MAX], *text, *save = NULL;
  size_t size, capacity = 0;
  StoreState state;

  *attempts = NULL;
  *count = 0;
  TRY(store_path_run(root, id, "attempts.tsv", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, FILE_BYTES_MAX, &text, &size));

  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (!read_line(line, &state)) continue;
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 8;
      *attempts = core_memory_resize(*attempts, capacity * sizeof **attempts);
    }
    (*attempts)[(*count)++] = state;
  }

  free(text);
  return CORE_OK;
}
