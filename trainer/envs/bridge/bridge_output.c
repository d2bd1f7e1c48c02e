/* A thread per worker reads its pipe, so that a worker never blocks on a full pipe (bridge_process.h). */
#include "trainer/envs/bridge/bridge_process.h"

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

enum { TAIL_BYTES = 2048, CHUNK_BYTES = 4096, TAIL_LINES = 3, DRAIN_MAX = 1 << 20 };

struct BridgeOutput {
  int reader;            /* read end of the worker's pipe */
  int stop[2];           /* pipe whose write end is closed to stop the thread */
  bool has_thread;       /* whether the thread runs */
  pthread_t thread;
  char tail[TAIL_BYTES]; /* last bytes received; read only after the thread has ended */
  size_t length;         /* bytes used of `tail` */
};

static void forward(const char *bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(STDERR_FILENO, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    count -= (size_t)written;
  }
}

/* Appends to the tail, dropping its oldest bytes. */
static void append_tail(BridgeOutput *output, const char *bytes, size_t count) {
  if (count > TAIL_BYTES) {
    bytes += count - TAIL_BYTES;
    count = TAIL_BYTES;
  }
  const size_t space = TAIL_BYTES - count, old = output->length < space ? output->length : space;
  memmove(output->tail, output->tail + output->length - old, old);
  memcpy(output->tail + old, bytes, count);
  output->length = old + count;
}

/* Reads a chunk. Returns its length; 0: no data, or end of file. */
static size_t read_chunk(BridgeOutput *output) {
  char chunk[CHUNK_BYTES];
  ssize_t count;
  do count = read(output->reader, chunk, sizeof chunk);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return 0;
  forward(chunk, (size_t)count);
  append_tail(output, chunk, (size_t)count);
  return (size_t)count;
}

static void *run_thread(void *context) {
  BridgeOutput *output = context;
  struct pollfd ends[] = {{output->reader, POLLIN, 0}, {output->stop[0], POLLIN, 0}};
  while (!ends[1].revents) {
    if (poll(ends, 2, -1) < 0 && errno != EINTR) return NULL;
    if (ends[0].revents && read_chunk(output) == 0) return NULL;
  }
  for (size_t total = 0, count = 1; count > 0 && total < DRAIN_MAX; total += count) count = read_chunk(output);
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
  if (pipe2(ends, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot create a pipe");
  if (pipe2(stop, O_CLOEXEC) != 0) {
    close(ends[0]);
    close(ends[1]);
    return core_error_errno(CORE_FAIL, "cannot create a pipe");
  }

  BridgeOutput *created = core_memory_zero_allocate(1, sizeof *created);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  created->reader = ends[0];
  created->stop[0] = stop[0];
  created->stop[1] = stop[1];
  *writer = ends[1];
  created->has_thread = pthread_create(&created->thread, NULL, run_thread, created) == 0;
  *output = created;

  if (created->has_thread) return CORE_OK;
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
  while (end > 0 && output->tail[end - 1] == '\n') end--;
  begin = end;
  for (int lines = 0; begin > 0 && end - begin < BRIDGE_OUTPUT_TAIL - 1; begin--)
    if (output->tail[begin - 1] == '\n' && ++lines == TAIL_LINES) break;
  memcpy(tail, output->tail + begin, end - begin);
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
