/* Finds races of translated kernels: two accesses to one address in one launch by different threads, of which one
 * changes the value, that are not both atomic and have no barrier between them. PTX_RACES names the report: a line per
 * pair of instructions, and at the end the number of launches watched; if unset, nothing is watched.
 * PTX_RACES_WITHOUT=LINE ignores the bar.warp.sync of that line of the .ptx file, to test whether a missing barrier
 * would be found.
 *
 * A table remembers the last write and two reads of an address, that of global memory and that of a block's shared
 * memory. It is direct-mapped and loses entries, so it may miss a race but reports no false one. A ballot is not
 * a barrier, because it does not order memory accesses. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/ptx/machine.h"

enum { SHADOWS = 1 << 20, SHADOW_BITS = 20, THREADS_MAX = 1024, REPORTED_MAX = 256 };

typedef struct Access {
  uint32_t launch, block;
  uint16_t thread, kind;                   /* kind: a PtxAccess */
  int line;                                /* line of the .ptx file */
  uint32_t block_barriers, group_barriers; /* barriers that the thread has passed */
  const char *function;
} Access;

/* Latest accesses to an address. */
typedef struct Shadow {
  uint64_t key;
  Access write, read, other_read;
} Shadow;

/* Barriers that the threads of the running block have passed, and the threads of the last group. */
typedef struct Barriers {
  uint32_t block[THREADS_MAX], group[THREADS_MAX];
  uint32_t threads;
} Barriers;

bool ptx_watches;
static FILE *report;
static Shadow *shadow;
static Barriers barriers;
static long ignored_line;
static uint32_t launch, launch_blocks, launch_threads;
static const char *launch_kernel;
static uint8_t *has_begun;               /* [threads of the launch] */
static size_t has_begun_size;
static struct { const char *function; int lines[2]; } reported[REPORTED_MAX];
static unsigned reported_count;

static void close_report(void) {
  fprintf(report, "%u launches watched, %u races\n", launch, reported_count);
  fclose(report);
}

void ptx_watch_open(void) {
  const char *path = getenv("PTX_RACES"), *without = getenv("PTX_RACES_WITHOUT");
  report = path ? fopen(path, "a") : NULL;
  shadow = report ? calloc(SHADOWS, sizeof *shadow) : NULL;
  if (shadow == NULL) return;
  ignored_line = without ? strtol(without, NULL, 10) : -1;
  ptx_watches = true;
  atexit(close_report);
}

void ptx_watch_begin(const CoreDeviceThread *at, const char *kernel) {
  const size_t threads = (size_t)at->blocks * at->threads, self = (size_t)at->block * at->threads + at->thread;
  if (threads > has_begun_size) {
    has_begun = realloc(has_begun, threads);
    if (has_begun == NULL) abort();
    has_begun_size = threads;
    launch_kernel = NULL;
  }
  const bool is_same = launch_kernel == kernel && launch_blocks == at->blocks && launch_threads == at->threads;
  if (!is_same || has_begun[self]) {
    launch++;
    launch_kernel = kernel;
    launch_blocks = at->blocks;
    launch_threads = at->threads;
    memset(has_begun, 0, has_begun_size);
  }
  has_begun[self] = 1;
  barriers.block[at->thread] = barriers.group[at->thread] = 0;
}

void ptx_watch_barrier(const CoreDeviceThread *at, unsigned group, int line) {
  if (group == 0) {
    barriers.block[at->thread]++;
  } else if (line != ignored_line) {
    barriers.group[at->thread]++;
    barriers.threads = group;
  }
}

/* Whether a barrier, or the order of one thread, puts one access before the other. */
static bool are_ordered(const Access *x, const Access *y) {
  if (x->launch != y->launch) return true;
  if (x->block != y->block) return false;
  if (x->thread == y->thread || x->block_barriers != y->block_barriers) return true;
  const bool has_groups = barriers.threads > 0;
  return has_groups && x->thread / barriers.threads == y->thread / barriers.threads &&
         x->group_barriers != y->group_barriers;
}

static const char *word_of(unsigned kind) {
  return kind == PTX_READ ? "read" : kind == PTX_WRITE ? "write" : "atomic";
}

static void report_race(const Access *x, const Access *y, const char *file) {
  for (unsigned i = 0; i < reported_count; i++)
    if (reported[i].function == y->function && reported[i].lines[0] == x->line && reported[i].lines[1] == y->line)
      return;
  if (reported_count == REPORTED_MAX) return;
  reported[reported_count].function = y->function;
  reported[reported_count].lines[0] = x->line;
  reported[reported_count++].lines[1] = y->line;
  fprintf(report, "race in %s: %s in line %d by thread %u of block %u, %s in line %d by thread %u of block %u (%s)\n",
          y->function, word_of(x->kind), x->line, x->thread, x->block, word_of(y->kind), y->line, y->thread, y->block,
          file);
  fflush(report);
}

static void compare(const Access *before, const Access *now, const char *file) {
  const bool are_atomic = before->kind == PTX_ATOMIC && now->kind == PTX_ATOMIC;
  if (before->launch == launch && !are_atomic && !are_ordered(before, now)) report_race(before, now, file);
}

static void note(uint64_t key, const Access *now, const char *file) {
  Shadow *s = &shadow[key * 0x9e3779b97f4a7c15u >> (64 - SHADOW_BITS)];
  if (s->key != key) *s = (Shadow){.key = key};
  compare(&s->write, now, file);
  if (now->kind == PTX_READ) {
    if (s->read.launch != launch) s->read = *now;
    else s->other_read = *now;
    return;
  }
  compare(&s->read, now, file);
  compare(&s->other_read, now, file);
  s->write = *now;
}

/* Records an access. Words of up to four bytes have one entry each; accesses of other sizes are not compared. */
void ptx_watch(const CoreDeviceThread *at, uint64_t address, unsigned bytes, PtxAccess kind, PTX_HERE) {
  const uint64_t shared = (uint64_t)(uintptr_t)at->shared;
  const bool is_shared = address - shared < *ptx_services->shared_bytes;
  if (!is_shared && (address < ptx_recent.first || address >= ptx_recent.end)) return; /* local memory, arguments */
  const Access now = {.launch = launch, .block = at->block, .thread = (uint16_t)at->thread, .kind = (uint16_t)kind,
                      .line = line, .block_barriers = barriers.block[at->thread],
                      .group_barriers = barriers.group[at->thread], .function = function};
  const unsigned word = bytes < 4 ? bytes : 4;
  const uint64_t space = (is_shared ? (uint64_t)(at->block + 1) << 48 : 0) ^ (uint64_t)word << 60;
  for (unsigned i = 0; i < bytes; i += word) note((address + i) ^ space, &now, file);
}
