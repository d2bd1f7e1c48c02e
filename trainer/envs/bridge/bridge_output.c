/* A thread per worker reads its pipe, so that a worker never waits for the trainer to read (bridge_output.h). */
#include "trainer/envs/bridge/bridge_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/unicode.h"

enum { KEPT = 2048, PIECE = 4096, LINES_SHOWN = 3, LEFT_MAX = 1 << 20 };

struct BridgeOutput {
  int reader;            /* end of the worker's pipe */
  int stop[2];           /* pipe that is closed to end the thread */
  bool has_thread;       /* whether the thread runs */
  pthread_t thread;
  char kept[KEPT];       /* last bytes that came; read when the thread has ended */
  size_t length;
};

static void pass_on(const char *bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(STDERR_FILENO, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    count -= (size_t)written;
  }
}

static void keep(BridgeOutput *output, const char *bytes, size_t count) {
  if (count > KEPT) {
    bytes += count - KEPT;
    count = KEPT;
  }
  const size_t room = KEPT - count, old = output->length < room ? output->length : room;
  memmove(output->kept, output->kept + output->length - old, old);
  memcpy(output->kept + old, bytes, count);
  output->length = old + count;
}

/* Reads a piece. Returns its length; 0: there is nothing now, or never again. */
static size_t read_piece(BridgeOutput *output) {
  char piece[PIECE];
  ssize_t count;
  do count = read(output->reader, piece, sizeof piece);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return 0;
  pass_on(piece, (size_t)count);
  keep(output, piece, (size_t)count);
  return (size_t)count;
}

static void *read_all(void *given) {
  BridgeOutput *output = given;
  struct pollfd ends[] = {{output->reader, POLLIN, 0}, {output->stop[0], POLLIN, 0}};
  while (!ends[1].revents) {
    if (poll(ends, 2, -1) < 0 && errno != EINTR) return NULL;
    if (ends[0].revents && read_piece(output) == 0) return NULL;
  }
  for (size_t left = 0, count = 1; count > 0 && left < LEFT_MAX; left += count) count = read_piece(output);
  return NULL;
}

static void end_thread(BridgeOutput *output) {
  if (!output->has_thread) return;
  output->has_thread = false;
  close(output->stop[1]);
  pthread_join(output->thread, NULL);
  close(output->stop[0]);
}

int bridge_output_open(BridgeOutput **output, int *writer) {
  int ends[2], stop[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");
  if (pipe2(stop, O_CLOEXEC) != 0) {
    close(ends[0]);
    close(ends[1]);
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  }
  BridgeOutput *made = core_memory_zero_allocate(1, sizeof *made);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  made->reader = ends[0];
  made->stop[0] = stop[0];
  made->stop[1] = stop[1];
  *writer = ends[1];
  made->has_thread = pthread_create(&made->thread, NULL, read_all, made) == 0;
  *output = made;
  if (made->has_thread) return CORE_OK;
  close(stop[0]);
  close(stop[1]);
  close(ends[1]);
  *writer = -1;
  bridge_output_close(output);
  return core_error(CORE_FAIL, "cannot start a thread");
}

void bridge_output_tail(BridgeOutput *output, char tail[BRIDGE_OUTPUT_TAIL]) {
  end_thread(output);
  size_t end = output->length, begin;
  while (end > 0 && output->kept[end - 1] == '\n') end--;
  begin = end;
  for (int lines = 0; begin > 0 && end - begin < BRIDGE_OUTPUT_TAIL - 1; begin--)
    if (output->kept[begin - 1] == '\n' && ++lines == LINES_SHOWN) break;
  memcpy(tail, output->kept + begin, end - begin);
  tail[end - begin] = '\0';
  for (size_t i = 0; i < end - begin; i++)
    if (tail[i] == '\n' || tail[i] == '\t' || tail[i] == '\0') tail[i] = ' ';
  core_unicode_mask(tail);
}

void bridge_output_close(BridgeOutput **output) {
  BridgeOutput *owned = *output;
  if (!owned) return;
  end_thread(owned);
  close(owned->reader);
  free(owned);
  *output = NULL;
}
