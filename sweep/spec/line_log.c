/* Reads and appends lines of logs. Callers interpret their verbs. */
#include "sweep/spec/line_log.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"

static const size_t file_max_bytes = (size_t)256 << 20;

/* Returns the user's name or, if it is unknown, number; without tabs or newlines. */
static const char *user_name(char *buffer, size_t size) {
  const struct passwd *user = getpwuid(getuid());
  if (user && core_text_check_name(user->pw_name, "user") == CORE_OK) snprintf(buffer, size, "%s", user->pw_name);
  else snprintf(buffer, size, "%ld", (long)getuid());
  return buffer;
}

/* Whether the last line is incomplete. The next line must not continue it. */
static bool ends_incomplete(int fd) {
  char last = '\n';
  const off_t size = lseek(fd, 0, SEEK_END);
  return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

int sweep_line_log_append(const char *path, const char *fields) {
  char user[64];
  int fd;
  TRY(core_files_open(path, CORE_FILES_APPEND, &fd));

  CoreText line = {0};
  if (ends_incomplete(fd)) core_text_append(&line, "\n");
  const size_t start = line.length;
  core_text_appendf(&line, "%.3f\t%s\t%s\t;", core_clock_unix_s(), user_name(user, sizeof user), fields);
  for (size_t i = start; i < line.length; i++)
    if (line.data[i] == '\n') line.data[i] = ' ';
  core_text_append(&line, "\n");

  const bool written = write(fd, line.data, line.length) == (ssize_t)line.length && fsync(fd) == 0;
  const int saved_errno = errno;
  core_text_free(&line);
  close(fd);
  errno = saved_errno;
  return written ? CORE_OK : core_error_errno(CORE_FAIL, "%s: cannot write", path);
}

static bool read_line(char *line, SweepLineHandler on_line, void *context) {
  char *field[SWEEP_LINE_FIELDS + 1];
  size_t count = 0;
  while (line && count < SWEEP_LINE_FIELDS + 1) field[count++] = strsep(&line, "\t");
  return !line && strcmp(field[--count], ";") == 0 && count >= 3 && on_line(context, field, count);
}

int sweep_line_log_read(const char *path, const char *advice, SweepLineHandler on_line, void *context) {
  char *text;
  size_t size, line_number = 0;
  int code = CORE_OK;
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, file_max_bytes, &text, &size));

  for (char *line = text, *end; *line; line = end + 1) {
    if (code != CORE_OK) break;
    line_number++;
    if (!(end = strchr(line, '\n'))) break;
    *end = '\0';
    const bool is_incomplete = end == line || end[-1] != ';';
    if (!is_incomplete && !read_line(line, on_line, context))
      code = core_error(CORE_FAIL, "%s:%zu: damaged; restore the line, or %s", path, line_number, advice);
  }

  free(text);
  return code;
}
