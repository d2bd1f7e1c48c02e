#include "core/device/emulated_threads.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/device/device.h"
#include "core/error.h"
#include "core/memory.h"

enum { STACK_BYTES = 64 * 1024 };

struct CoreEmulatedThreads {
  CoreDeviceOrder order;
  char *shared, *stacks;
  char *images; /* CORE_DEVICE_ISOLATED: [thread][CORE_EMULATED_SHARED_BYTES], shared memory as each thread that
                   wrote there sees it */
  char *merged; /* CORE_DEVICE_ISOLATED: shared memory as the last barrier left it */
};

typedef struct Coroutine {
  jmp_buf jump;
  CoreDeviceThread at;
  enum { FRESH, AT_BARRIER, AT_BALLOT, FINISHED } state;
  bool vote, wrote; /* wrote: to shared memory since the last barrier (CORE_DEVICE_ISOLATED only) */
} Coroutine;

/* One group runs at a time, so there is one of these. A coroutine starts through a ucontext; later switches use
 * _longjmp, which needs no system call. */
typedef struct CoreEmulatedGroup {
  jmp_buf scheduler;
  Coroutine thread[CORE_EMULATED_THREADS];
  const CoreKernel *kernel;
  CoreKernelBody *body;
  const void *arguments;
  Coroutine *running;
  uint32_t ballot;
} CoreEmulatedGroup;
static CoreEmulatedGroup the_group;
void *core_emulated_shared;
size_t core_emulated_shared_bytes;

static void run_coroutine(void) {
  Coroutine *self = the_group.running;
  the_group.body(&self->at, the_group.arguments);
  self->state = FINISHED;
  _longjmp(the_group.scheduler, 1);
}

static void wait_for_others(const CoreDeviceThread *at, int state) {
  CORE_CHECK(at->group != NULL); /* else kernels.def lists the kernel with CORE_GROUP_NONE */
  Coroutine *self = at->group->running;
  self->state = state;
  if (_setjmp(self->jump) == 0) _longjmp(at->group->scheduler, 1);
}

void core_device_barrier(const CoreDeviceThread *at) { wait_for_others(at, AT_BARRIER); }

void core_device_group_barrier(const CoreDeviceThread *at, unsigned group) {
  CORE_CHECK(group == (unsigned)the_group.kernel->group);
  wait_for_others(at, AT_BARRIER);
}

uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote) {
  CORE_CHECK(group == (unsigned)the_group.kernel->group);
  the_group.running->vote = vote != 0;
  wait_for_others(at, AT_BALLOT);
  return the_group.ballot;
}

/* ---- tensor cores: threads publish what they hold, then each sums its own elements of the result ----------------- */

typedef struct Tiles { uint32_t a[CORE_TILES_MOST][4], b[2]; } Tiles;
static Tiles put_down[CORE_EMULATED_THREADS];

/* Element k of a row of 16 bf16, from the two pairs of the thread that holds it. */
static float number_of(const uint32_t *low, const uint32_t *high, int k) {
  const uint32_t pair = k < 8 ? *low : *high, bits = k % 2 ? pair & 0xffff0000 : pair << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

void core_device_multiply_tiles(const CoreDeviceThread *at, int count, float (*c)[4], int stride, uint32_t (*a)[4],
                                const uint32_t *b) {
  const unsigned warp = at->thread / 32 * 32, g = at->thread % 32 / 4, t = at->thread % 4;
  CORE_CHECK(the_group.kernel->group == CORE_GROUP_BLOCK && at->threads % 32 == 0 && count <= CORE_TILES_MOST);
  memcpy(put_down[at->thread].a, a, (size_t)count * sizeof *a);
  memcpy(put_down[at->thread].b, b, sizeof put_down->b);
  core_device_barrier(at);
  for (int i = 0; i < count; i++)
    for (unsigned own = 0; own < 4; own++)
      for (int k = 0; k < 16; k++) {
        const unsigned of_k = (unsigned)k % 8 / 2;
        const uint32_t *left = put_down[warp + 4 * g + of_k].a[i];
        const uint32_t *right = put_down[warp + 4 * (2 * t + own % 2) + of_k].b;
        c[i * stride][own] += number_of(&left[own / 2], &left[own / 2 + 2], k) * number_of(&right[0], &right[1], k);
      }
  core_device_barrier(at);
}

/* Runs a coroutine until its next barrier or its end. */
static void resume(Coroutine *thread, char *stack) {
  the_group.running = thread;
  if (_setjmp(the_group.scheduler) != 0) return;
  if (thread->state != FRESH) _longjmp(thread->jump, 1);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = STACK_BYTES;
  context.uc_link = NULL;
  makecontext(&context, run_coroutine, 0);
  setcontext(&context);
}

/* A group's part of the block's shared memory. */
typedef struct Share { char *start; size_t bytes; } Share;

static char *image_of(const CoreEmulatedThreads *emulated, unsigned thread) {
  return emulated->images + (size_t)thread * CORE_EMULATED_SHARED_BYTES;
}

/* Publishes what a thread has written. */
static void merge_image(const CoreEmulatedThreads *emulated, Share share, const char *image) {
  enum { STRIDE = 64 }; /* most of it is unchanged */
  for (size_t begin = 0; begin < share.bytes; begin += STRIDE) {
    const size_t left = share.bytes - begin, bytes = left < STRIDE ? left : STRIDE;
    if (memcmp(image + begin, emulated->merged + begin, bytes) == 0) continue;
    for (size_t i = begin; i < begin + bytes; i++) {
      if (image[i] == emulated->merged[i]) continue;
      CORE_CHECK(share.start[i] == emulated->merged[i] || share.start[i] == image[i]); /* else two differ */
      share.start[i] = image[i];
    }
  }
}

/* Publishes what `count` isolated threads have written, at a barrier. */
static void merge_images(const CoreEmulatedThreads *emulated, Share share, unsigned count) {
  for (unsigned k = 0; k < count; k++) {
    if (the_group.thread[k].wrote) merge_image(emulated, share, image_of(emulated, k));
    the_group.thread[k].wrote = false;
  }
  memcpy(emulated->merged, share.start, share.bytes);
}

/* Runs thread k on its own image of shared memory. Before and after, `share` is as the last barrier left it. */
static void resume_isolated(const CoreEmulatedThreads *emulated, Share share, unsigned k) {
  Coroutine *thread = &the_group.thread[k];
  if (thread->wrote) memcpy(share.start, image_of(emulated, k), share.bytes);
  resume(thread, emulated->stacks + (size_t)k * STACK_BYTES);
  thread->wrote = memcmp(share.start, emulated->merged, share.bytes) != 0;
  if (!thread->wrote) return;
  memcpy(image_of(emulated, k), share.start, share.bytes);
  memcpy(share.start, emulated->merged, share.bytes);
}

/* Checks that all threads of a group wait at the same kind of barrier, or all ended. Returns the state. */
static int meet(unsigned count) {
  const int state = (int)the_group.thread[0].state;
  the_group.ballot = 0;
  for (unsigned k = 0; k < count; k++) {
    CORE_CHECK((int)the_group.thread[k].state == state); /* else some wait at a barrier that others never come to */
    if (state == AT_BALLOT && the_group.thread[k].vote) the_group.ballot |= (uint32_t)1 << k;
  }
  return state;
}

/* Runs a group from barrier to barrier until it ends. */
static void run_group(CoreEmulatedThreads *emulated, CoreDeviceThread first, unsigned count, Share share) {
  const bool backward = emulated->order == CORE_DEVICE_BACKWARD, isolated = emulated->order == CORE_DEVICE_ISOLATED;
  for (unsigned i = 0; i < count; i++) {
    the_group.thread[i].at = first;
    the_group.thread[i].at.thread += i;
    the_group.thread[i].at.group = &the_group;
    the_group.thread[i].state = FRESH;
    the_group.thread[i].wrote = false;
  }
  if (isolated) memcpy(emulated->merged, share.start, share.bytes);
  for (int state = FRESH; state != FINISHED;) {
    for (unsigned i = 0; i < count; i++) {
      const unsigned k = backward ? count - 1 - i : i;
      if (isolated) resume_isolated(emulated, share, k);
      else resume(&the_group.thread[k], emulated->stacks + (size_t)k * STACK_BYTES);
    }
    state = meet(count);
    if (isolated && state != AT_BALLOT) merge_images(emulated, share, count);
  }
}

/* A block's groups, one after the other. */
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
    memset(emulated->shared, 0xa5, shared); /* on a GPU it is not zero either */
    for (unsigned k = 0; group == 0 && k < threads; k++) {
      at.thread = backward ? threads - 1 - k : k;
      body(&at, arguments);
    }
    if (group > 0) run_groups(emulated, at, group, shared);
  }
}

/* Address space whose pages are allocated when they are touched. */
static char *reserve(size_t bytes) {
  char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CORE_CHECK(start != MAP_FAILED);
  return start;
}

CoreEmulatedThreads *core_emulated_threads_create(CoreDeviceOrder order) {
  CoreEmulatedThreads *emulated = core_memory_zero_allocate(1, sizeof *emulated);
  emulated->order = order;
  emulated->shared = core_memory_allocate(CORE_EMULATED_SHARED_BYTES);
  emulated->stacks = reserve((size_t)CORE_EMULATED_THREADS * STACK_BYTES);
  if (order == CORE_DEVICE_ISOLATED) {
    emulated->images = reserve((size_t)CORE_EMULATED_THREADS * CORE_EMULATED_SHARED_BYTES);
    emulated->merged = core_memory_allocate(CORE_EMULATED_SHARED_BYTES);
  }
  return emulated;
}

void core_emulated_threads_destroy(CoreEmulatedThreads *emulated) {
  munmap(emulated->stacks, (size_t)CORE_EMULATED_THREADS * STACK_BYTES);
  if (emulated->images) munmap(emulated->images, (size_t)CORE_EMULATED_THREADS * CORE_EMULATED_SHARED_BYTES);
  free(emulated->merged);
  free(emulated->shared);
  free(emulated);
}
