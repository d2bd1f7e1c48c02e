/* Capture of a function's output. */
#ifndef TESTS_UNIT_CAPTURED_H
#define TESTS_UNIT_CAPTURED_H
#include <stdio.h>
#include <unistd.h>

/* Returns the output of `body` to descriptor `fd` (1 or 2). */
static inline const char *captured(int fd, void (*body)(void)) {
  static char text[20000];
  FILE *file = tmpfile(), *stream = fd == 1 ? stdout : stderr;
  assert_non_null(file);
  fflush(stream);
  int kept = dup(fd);
  dup2(fileno(file), fd);
  body();
  fflush(stream);
  dup2(kept, fd);
  close(kept);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

#endif
