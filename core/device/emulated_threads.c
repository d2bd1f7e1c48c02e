#include "core/device/emulated_threads.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/device/access_counts.h"
#include "core/device/device.h"
#include "core/device/emulated_code.h"
#include "core/error.h"
#include "core/memory.h"

/* Stacks start in different sets of the caches: thread k's is k % COLORS lines shorter. */
enum { STACK_BYTES = 80 * 1024, COLORS = 256, LINE = 64, CHUNK = 16 * LINE };
enum { LINES = CORE_EMULATED_SHARED_BYTES / LINE };

/* MARK returns 0, and nonzero after leap(). The compilers' builtins save three words, the C library's setjmp all
 * registers. The builtins require the two in different functions. */
#if defined(__x86_64__) || !defined(__clang__)
typedef void *Mark[5];
#define MARK(mark) __builtin_setjmp(mark)
#define LEAP(mark) __builtin_longjmp(mark, 1)
#else
typedef jmp_buf Mark;
#define MARK(mark) _setjmp(mark)
#define LEAP(mark) _longjmp(mark, 1)
#endif
/* Makes callers assume that a switch clobbers all registers; otherwise they keep values in registers that the builtins
 * do not save. */
#if defined(__clang__)
#define SWITCHES __attribute__((noinline))
#else
#define SWITCHES __attribute__((noipa))
#endif
_Noreturn SWITCHES static void leap(Mark mark) { LEAP(mark); }

typedef struct Coroutine {
  Mark mark;                  /* resume point */
  CoreDeviceThread at;
  enum { FRESH, AT_BARRIER, AT_WARP_BARRIER, AT_EXCHANGE, AT_BALLOT, FINISHED } state; /* WARP: of a block's warp;
                               * EXCHANGE: of registers of a warp, no barrier */
  bool vote;
  bool has_begun;             /* whether it has a stack; then it continues with the next body when one ends */
  unsigned exchanges;         /* exchanges of registers so far */
  uint32_t committed;         /* groups of copies closed so far */
  unsigned copies;            /* copies under way */
  unsigned lines;             /* CORE_DEVICE_ISOLATED: lines of shared memory written since the last barrier */
} Coroutine;

struct CoreEmulatedThreads {
  CoreDeviceOrder order;
  Coroutine *thread;          /* [CORE_EMULATED_THREADS] */
  char *shared, *stacks;
  /* CORE_DEVICE_ISOLATED: */
  char *merged;               /* shared memory as the last barrier left it */
  uint16_t *written;          /* [thread][LINES] indices of the lines that the thread has written since, whose contents
                               * are in `images` */
  char *images;               /* [thread][CORE_EMULATED_SHARED_BYTES] */
};

/* Running group; one at a time. A coroutine starts through a ucontext, once; later switches need no system call. */
typedef struct CoreEmulatedGroup {
  Mark scheduler;
  const CoreKernel *kernel;
  CoreKernelBody *body;
  const void *arguments;
  Coroutine *running;
  uint32_t ballot;
} CoreEmulatedGroup;
static CoreEmulatedGroup the_group;
void *core_emulated_shared;
size_t core_emulated_shared_bytes;

/* Switches to the scheduler until it resumes this coroutine. */
SWITCHES static void stop(Coroutine *self, int state) {
  self->state = state;
  if (MARK(self->mark) == 0) leap(the_group.scheduler);
}

static void run_coroutine(void) {
  for (;;) {
    Coroutine *self = the_group.running;
    the_group.body(&self->at, the_group.arguments);
    CORE_CHECK(self->copies == 0); /* otherwise a core_device_copy_wait is missing */
    stop(self, FINISHED);
  }
}

static void wait_for_others(const CoreDeviceThread *at, int state) {
  CORE_CHECK(at->group != NULL); /* otherwise kernels.def lists the kernel with CORE_GROUP_NONE */
  stop(at->group->running, state);
}

void core_device_barrier(const CoreDeviceThread *at) { wait_for_others(at, AT_BARRIER); }

void core_device_group_barrier(const CoreDeviceThread *at, unsigned group) {
  const bool is_warp = the_group.kernel->group == CORE_GROUP_BLOCK && group == 32;
  CORE_CHECK(is_warp || group == (unsigned)the_group.kernel->group);
  wait_for_others(at, is_warp ? AT_WARP_BARRIER : AT_BARRIER);
}

uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote) {
  CORE_CHECK(group == (unsigned)the_group.kernel->group);
  the_group.running->vote = vote != 0;
  wait_for_others(at, AT_BALLOT);
  return the_group.ballot;
}

/* ---- tensor cores: threads publish their operands, then each sums its own elements of the result ----------------- */

/* Operands of all threads, of their last exchange and the one before. A thread begins the next but one only when all
 * of its warp have read this one. */
static _Alignas(16) char published[2][CORE_EMULATED_THREADS * CORE_EMULATED_EXCHANGE];

const void *core_emulated_exchange(const CoreDeviceThread *at, const void *own, size_t bytes) {
  CORE_CHECK(the_group.kernel->group == CORE_GROUP_BLOCK && at->threads % 32 == 0 && bytes <= CORE_EMULATED_EXCHANGE);
  char *all = published[the_group.running->exchanges++ % 2];
  memcpy(all + at->thread * CORE_EMULATED_EXCHANGE, own, bytes);
  wait_for_others(at, AT_EXCHANGE);
  return all + at->thread / 32 * 32 * CORE_EMULATED_EXCHANGE;
}

/* One number of each of CORE_TILES_MAX tiles, which are multiplied at once. */
typedef float Four __attribute__((vector_size(4 * CORE_TILES_MAX)));

/* Operands of a thread as floats: element e of pair p, as core_device_multiply_tiles lists the pairs. */
typedef struct Tiles { Four a[4][2]; float b[2][2]; } Tiles;
_Static_assert(sizeof(Tiles) == CORE_EMULATED_EXCHANGE, "the largest exchange");

static float float_of_bf16(uint32_t bits) {
  float x;
  bits <<= 16;
  memcpy(&x, &bits, sizeof x);
  return x;
}

void core_device_multiply_tiles(const CoreDeviceThread *at, int count, float (*c)[4], int stride, uint32_t (*a)[4],
                                const uint32_t *b) {
  static uint32_t absent[4];
  const unsigned g = at->thread % 32 / 4, t = at->thread % 4;
  const uint32_t *tile[CORE_TILES_MAX];
  Tiles own;
  CORE_CHECK(count <= CORE_TILES_MAX);
  for (int i = 0; i < CORE_TILES_MAX; i++) tile[i] = i < count ? a[i] : absent;
  for (unsigned e = 0; e < 2; e++) {
    const unsigned shift = 16 * e;
    for (int p = 0; p < 4; p++)
      own.a[p][e] = (Four){float_of_bf16(tile[0][p] >> shift), float_of_bf16(tile[1][p] >> shift),
                           float_of_bf16(tile[2][p] >> shift), float_of_bf16(tile[3][p] >> shift)};
    for (int p = 0; p < 2; p++) own.b[p][e] = float_of_bf16(b[p] >> shift);
  }
  const Tiles *warp = core_emulated_exchange(at, &own, sizeof own);

  /* Products are exact, and summed in the order of the terms k = 8 half + 2 pair + e. */
  Four left = {0}, right = {0}, left_below = {0}, right_below = {0}; /* columns 2 t and 2 t + 1 of rows g and g + 8 */
  for (int i = 0; i < count; i++) {
    const float *sum = c[i * stride];
    left[i] = sum[0], right[i] = sum[1], left_below[i] = sum[2], right_below[i] = sum[3];
  }
  for (unsigned half = 0; half < 2; half++) {
    for (unsigned pair = 0; pair < 4; pair++) {
      const Tiles *rows = &warp[4 * g + pair], *first = &warp[8 * t + pair], *second = first + 4;
      for (unsigned e = 0; e < 2; e++) {
        const Four row = rows->a[2 * half][e], below = rows->a[2 * half + 1][e];
        left += row * first->b[half][e], right += row * second->b[half][e];
        left_below += below * first->b[half][e], right_below += below * second->b[half][e];
      }
    }
  }
  for (int i = 0; i < count; i++) {
    float *sum = c[i * stride];
    sum[0] = left[i], sum[1] = right[i], sum[2] = left_below[i], sum[3] = right_below[i];
  }
}

/* ---- asynchronous copies: they read their source, and become visible, as late as a GPU may let them ------------- */

enum { COPIES = 128, COPY_BYTES = 16 }; /* COPIES: of a thread, under way */
typedef struct Copy { char *to; const char *from; uint32_t group; } Copy; /* from NULL: zeros */
static Copy copies[CORE_EMULATED_THREADS][COPIES];

void core_device_copy_async(const CoreDeviceThread *at, void *to, const void *from, int is_present) {
  Coroutine *self = the_group.running;
  const uintptr_t offset = (uintptr_t)to - (uintptr_t)core_emulated_shared;
  CORE_CHECK(the_group.kernel->group == CORE_GROUP_BLOCK && self->copies < COPIES);
  CORE_CHECK(offset % COPY_BYTES == 0 && offset + COPY_BYTES <= core_emulated_shared_bytes);
  CORE_CHECK((uintptr_t)from % COPY_BYTES == 0);
  copies[at->thread][self->copies++] = (Copy){to, is_present ? from : NULL, self->committed};
  memset(to, 0xa5, COPY_BYTES); /* a GPU may write it from now on */
}

void core_device_copy_commit(const CoreDeviceThread *at) {
  (void)at;
  the_group.running->committed++;
}

void core_emulated_copy_wait(const CoreDeviceThread *at, int pending, CoreEmulatedLanded *landed) {
  Coroutine *self = the_group.running;
  Copy *copy = copies[at->thread];
  unsigned left = 0;
  for (unsigned i = 0; i < self->copies; i++) {
    if (copy[i].group + (uint32_t)pending >= self->committed) { /* in one of the latest groups, or in none yet */
      copy[left++] = copy[i];
      continue;
    }
    if (copy[i].from) core_access_read(copy[i].from, COPY_BYTES);
    if (copy[i].from) memcpy(copy[i].to, copy[i].from, COPY_BYTES);
    else memset(copy[i].to, 0, COPY_BYTES);
    if (landed) landed(at, copy[i].to, COPY_BYTES);
  }
  self->copies = left;
}

void core_device_copy_wait(const CoreDeviceThread *at, const int pending) {
  core_emulated_copy_wait(at, pending, NULL);
}

/* Runs thread k until its next barrier or its end. */
SWITCHES static void resume(const CoreEmulatedThreads *emulated, unsigned k) {
  Coroutine *thread = &emulated->thread[k];
  the_group.running = thread;
  if (MARK(the_group.scheduler) != 0) return;
  if (thread->has_begun) leap(thread->mark);
  thread->has_begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = emulated->stacks + (size_t)k * STACK_BYTES;
  context.uc_stack.ss_size = STACK_BYTES - k % COLORS * LINE;
  context.uc_link = NULL;
  makecontext(&context, run_coroutine, 0);
  setcontext(&context);
}

/* ---- CORE_DEVICE_ISOLATED ---------------------------------------------------------------------------------------- */

/* A group's part of the block's shared memory. */
typedef struct Share { char *start; size_t bytes; } Share;
typedef struct Line { size_t begin, bytes; } Line;

static char *image_of(const CoreEmulatedThreads *emulated, unsigned thread) {
  return emulated->images + (size_t)thread * CORE_EMULATED_SHARED_BYTES;
}

/* Returns the i-th line written by a thread. */
static Line written_line(const CoreEmulatedThreads *emulated, Share share, unsigned thread, unsigned i) {
  const size_t begin = (size_t)LINE * emulated->written[(size_t)thread * LINES + i], left = share.bytes - begin;
  return (Line){begin, left < LINE ? left : LINE};
}

/* Moves what thread k has written in CHUNK bytes of the share to its image. */
static void take_chunk(const CoreEmulatedThreads *emulated, Share share, unsigned k, size_t chunk, size_t end) {
  Coroutine *thread = &emulated->thread[k];
  for (size_t begin = chunk; begin < end; begin += LINE) {
    const size_t bytes = end - begin < LINE ? end - begin : LINE;
    if (memcmp(share.start + begin, emulated->merged + begin, bytes) == 0) continue;
    emulated->written[(size_t)k * LINES + thread->lines++] = (uint16_t)(begin / LINE);
    memcpy(image_of(emulated, k) + begin, share.start + begin, bytes);
    memcpy(share.start + begin, emulated->merged + begin, bytes);
  }
}

/* Runs thread k on its view of shared memory. Before and after, `share` is as the last barrier left it. */
static void resume_isolated(const CoreEmulatedThreads *emulated, Share share, unsigned k) {
  Coroutine *thread = &emulated->thread[k];
  for (unsigned i = 0; i < thread->lines; i++) {
    const Line line = written_line(emulated, share, k, i);
    memcpy(share.start + line.begin, image_of(emulated, k) + line.begin, line.bytes);
  }
  resume(emulated, k);
  thread->lines = 0;
  for (size_t chunk = 0; chunk < share.bytes; chunk += CHUNK) { /* most chunks are unchanged */
    const size_t end = chunk + CHUNK < share.bytes ? chunk + CHUNK : share.bytes;
    if (memcmp(share.start + chunk, emulated->merged + chunk, end - chunk) != 0)
      take_chunk(emulated, share, k, chunk, end);
  }
}

/* Publishes a line that a thread has written. */
static void merge_line(const CoreEmulatedThreads *emulated, Share share, const char *image, Line line) {
  for (size_t i = line.begin; i < line.begin + line.bytes; i++) {
    if (image[i] == emulated->merged[i]) continue;
    /* otherwise two threads wrote different values */
    CORE_CHECK(share.start[i] == emulated->merged[i] || share.start[i] == image[i]);
    share.start[i] = image[i];
  }
}

/* Publishes what `count` isolated threads have written, at a barrier. */
static void merge_images(const CoreEmulatedThreads *emulated, Share share, unsigned count) {
  for (unsigned k = 0; k < count; k++)
    for (unsigned i = 0; i < emulated->thread[k].lines; i++)
      merge_line(emulated, share, image_of(emulated, k), written_line(emulated, share, k, i));
  for (unsigned k = 0; k < count; k++) {
    for (unsigned i = 0; i < emulated->thread[k].lines; i++) {
      const Line line = written_line(emulated, share, k, i);
      memcpy(emulated->merged + line.begin, share.start + line.begin, line.bytes);
    }
    emulated->thread[k].lines = 0;
  }
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Checks that all threads of a group wait at the same kind of barrier, or all ended. Returns the state. */
static int meet(const Coroutine *thread, unsigned count) {
  const int state = (int)thread[0].state;
  the_group.ballot = 0;
  for (unsigned k = 0; k < count; k++) {
    CORE_CHECK((int)thread[k].state == state); /* otherwise some wait at a barrier that others never reach */
    if (state == AT_BALLOT && thread[k].vote) the_group.ballot |= (uint32_t)1 << k;
  }
  return state;
}

/* Runs each thread to its next barrier; a warp that waits for itself alone goes on at once, so that it is ahead of the
 * others where a barrier of the block is missing. Returns the state of all. */
static int run_warps(const CoreEmulatedThreads *emulated, unsigned count, bool backward) {
  enum { WARP = 32 };
  const unsigned warps = (count + WARP - 1) / WARP;
  for (unsigned w = 0; w < warps; w++) {
    const unsigned first = (backward ? warps - 1 - w : w) * WARP, size = count - first < WARP ? count - first : WARP;
    int state;
    do {
      for (unsigned i = 0; i < size; i++) resume(emulated, first + (backward ? size - 1 - i : i));
      state = meet(emulated->thread + first, size);
    } while (state == AT_WARP_BARRIER || state == AT_EXCHANGE);
  }
  return meet(emulated->thread, count);
}

/* Runs a group from barrier to barrier until it ends. */
static void run_group(CoreEmulatedThreads *emulated, CoreDeviceThread first, unsigned count, Share share) {
  const bool backward = emulated->order == CORE_DEVICE_BACKWARD, isolated = emulated->order == CORE_DEVICE_ISOLATED;
  for (unsigned i = 0; i < count; i++) {
    Coroutine *thread = &emulated->thread[i];
    thread->at = first;
    thread->at.thread += i;
    thread->at.group = &the_group;
    thread->state = FRESH;
    thread->lines = thread->exchanges = thread->copies = thread->committed = 0;
  }

  if (isolated) memcpy(emulated->merged, share.start, share.bytes);

  /* Each round runs all threads up to their next barrier or ballot, or to their end. */
  for (int state = FRESH; state != FINISHED;) {
    if (isolated) {
      for (unsigned k = 0; k < count; k++) resume_isolated(emulated, share, k);
      state = meet(emulated->thread, count);
      if (state != AT_BALLOT && state != AT_EXCHANGE) merge_images(emulated, share, count);
    } else {
      state = run_warps(emulated, count, backward);
    }
  }
}

/* Runs a block's groups one after the other. */
static void run_groups(CoreEmulatedThreads *emulated, CoreDeviceThread at, unsigned group, size_t shared) {
  const unsigned groups = at.threads / group;
  const size_t bytes = shared / groups;
  for (unsigned i = 0; i < groups; i++) {
    at.thread = i * group;
    run_group(emulated, at, group, (Share){emulated->shared + i * bytes, bytes});
  }
}

void core_emulated_threads_run(CoreEmulatedThreads *emulated, const CoreKernel *kernel, CoreKernelBody *body,
                               unsigned blocks, unsigned threads, size_t shared, const void *arguments) {
  const bool backward = emulated->order == CORE_DEVICE_BACKWARD;
  const unsigned group = kernel->group == CORE_GROUP_BLOCK ? threads : (unsigned)kernel->group;
  CORE_CHECK(group == 0 || threads % group == 0);

  the_group.kernel = kernel;
  the_group.body = body;
  the_group.arguments = arguments;
  core_emulated_shared = emulated->shared;
  core_emulated_shared_bytes = shared;

  for (unsigned i = 0; i < blocks; i++) {
    CoreDeviceThread at = {.block = backward ? blocks - 1 - i : i, .blocks = blocks, .threads = threads,
                           .shared = emulated->shared};
    memset(emulated->shared, 0xa5, shared); /* a GPU does not zero it either */
    if (group > 0) {
      run_groups(emulated, at, group, shared);
      continue;
    }
    for (unsigned k = 0; k < threads; k++) {
      at.thread = backward ? threads - 1 - k : k;
      body(&at, arguments);
    }
  }
}

/* Reserves address space whose pages are allocated on first access. */
static char *reserve(size_t bytes) {
  char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CORE_CHECK(start != MAP_FAILED);
  return start;
}

CoreEmulatedThreads *core_emulated_threads_create(CoreDeviceOrder order) {
  CoreEmulatedThreads *emulated = core_memory_zero_allocate(1, sizeof *emulated);
  emulated->order = order;
  emulated->thread = core_memory_zero_allocate(CORE_EMULATED_THREADS, sizeof *emulated->thread);
  emulated->shared = core_memory_allocate(CORE_EMULATED_SHARED_BYTES);
  emulated->stacks = reserve((size_t)CORE_EMULATED_THREADS * STACK_BYTES);
  if (order == CORE_DEVICE_ISOLATED) {
    emulated->images = reserve((size_t)CORE_EMULATED_THREADS * CORE_EMULATED_SHARED_BYTES);
    emulated->written = (uint16_t *)(void *)reserve((size_t)CORE_EMULATED_THREADS * LINES * sizeof(uint16_t));
    emulated->merged = core_memory_allocate(CORE_EMULATED_SHARED_BYTES);
  }
  return emulated;
}

void core_emulated_threads_destroy(CoreEmulatedThreads *emulated) {
  munmap(emulated->stacks, (size_t)CORE_EMULATED_THREADS * STACK_BYTES);
  if (emulated->images) {
    munmap(emulated->images, (size_t)CORE_EMULATED_THREADS * CORE_EMULATED_SHARED_BYTES);
    munmap(emulated->written, (size_t)CORE_EMULATED_THREADS * LINES * sizeof(uint16_t));
  }
  free(emulated->merged);
  free(emulated->shared);
  free(emulated->thread);
  free(emulated);
}
