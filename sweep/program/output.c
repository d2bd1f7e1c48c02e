/* Reads the pipes of a program (output.h). */
#include "sweep/program/output.h"

#include <unistd.h>

#include "core/log.h"

enum { LOG_BYTES_MAX = 64 << 20 }; /* limit of a program's output in log.txt, per attempt */

void program_output_add(ProgramOutput *output, const char *bytes, size_t count) {
  if (output->logged_bytes >= LOG_BYTES_MAX) return;
  fwrite(bytes, 1, count, output->log);
  output->logged_bytes += (int64_t)count;
  if (output->logged_bytes >= LOG_BYTES_MAX)
    core_warn("the program has printed %d MiB; further output is not logged", LOG_BYTES_MAX >> 20);
}

static void add_error_line(void *context, const char *line, size_t length) {
  ProgramOutput *output = context;
  program_reason_add(&output->reason, line, length);
}

static void read_pipe(ProgramOutput *output, int *fd, bool is_error) {
  char buffer[65536];
  ssize_t bytes_read = -1;
  for (int i = 0; *fd >= 0 && i < 64; i++) {
    bytes_read = read(*fd, buffer, sizeof buffer);
    if (bytes_read <= 0) break;
    program_output_add(output, buffer, (size_t)bytes_read);
    if (is_error) program_tail_bytes(&output->error, buffer, (size_t)bytes_read, add_error_line, output);
  }
  fflush(output->log);
  if (bytes_read != 0) return;
  close(*fd);
  *fd = -1;
}

void program_output_read(ProgramOutput *output, ProgramChild *child) {
  read_pipe(output, &child->out, false);
  read_pipe(output, &child->error, true);
}

void program_output_end(ProgramOutput *output) { program_tail_end(&output->error, add_error_line, output); }
