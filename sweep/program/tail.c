/* Splits bytes into lines (tail.h). */
#include "sweep/program/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "sweep/program/record.h"

enum { BUFFER_BYTES = 1 << 16 };

void program_tail_end(ProgramTail *tail, ProgramOnLine on_line, void *context) {
  if (tail->is_skipping) tail->skipped++;
  else if (tail->line.length > 0) on_line(context, tail->line.data, tail->line.length);
  tail->is_skipping = false;
  core_text_clear(&tail->line);
}

void program_tail_bytes(ProgramTail *tail, const char *bytes, size_t count, ProgramOnLine on_line, void *context) {
  while (count > 0) {
    const char *newline = memchr(bytes, '\n', count);
    const size_t length = newline ? (size_t)(newline - bytes) : count;
    if (tail->line.length + length > PROGRAM_LINE_MAX) {
      tail->is_skipping = true;
      core_text_clear(&tail->line);
    }
    if (!tail->is_skipping) core_text_append_bytes(&tail->line, bytes, length);
    if (!newline) return;
    program_tail_end(tail, on_line, context);
    bytes += length + 1;
    count -= length + 1;
  }
}

void program_tail_reset(ProgramTail *tail) {
  tail->offset = 0;
  tail->is_skipping = false;
  core_text_clear(&tail->line);
}

void program_tail_free(ProgramTail *tail) { core_text_free(&tail->line); }

/* Reads from `offset` to the end of the file. */
static int read_rest(ProgramTail *tail, int fd, ProgramOnLine on_line, void *context) {
  char *buffer = core_memory_allocate(BUFFER_BYTES);
  ssize_t bytes_read;
  do {
    bytes_read = pread(fd, buffer, BUFFER_BYTES, tail->offset);
    if (bytes_read <= 0) continue;
    tail->offset += bytes_read;
    program_tail_bytes(tail, buffer, (size_t)bytes_read, on_line, context);
  } while (bytes_read > 0 || (bytes_read < 0 && errno == EINTR));
  free(buffer);
  return bytes_read < 0 ? core_error_errno(CORE_FAIL, "cannot read %s", tail->path) : CORE_OK;
}

int program_tail_read(ProgramTail *tail, bool last, ProgramOnLine on_line, void *context) {
  struct stat status;
  int code = CORE_OK;
  const int fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno != ENOENT) return core_error_errno(CORE_FAIL, "cannot read %s", tail->path);
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (status.st_size < tail->offset) program_tail_reset(tail);
    if (status.st_size > tail->offset) code = read_rest(tail, fd, on_line, context);
  }
  if (fd >= 0) close(fd);
  if (code == CORE_OK && last) program_tail_end(tail, on_line, context);
  return code;
}
