/* The emulated device: kernel bodies run on the CPU for every block and thread, so that tests execute all that a GPU
 * would, and compare it with the CPU's own implementation.
 *
 * - Threads that wait for each other are coroutines of one processor, switched at barriers. All must come to the same
 *   barriers, which is checked; between two barriers they are taken forward or backward, so that a result which depends
 *   on the order shows that a barrier is missing. Taken in isolation, each has shared memory as the last barrier left it.
 * - Memory is accessible only while an operation runs: host code that reads or writes it by itself crashes.
 * - Lanes do what they are given at once or, taken backward or in isolation, only when somebody waits for them: the two
 *   extremes of how far they may be. A result that differs comes from memory that two orders used without waiting.
 * - What NCCL's kernels do on a GPU's streams is a function of the host here, called when its turn comes: in the second
 *   order when the first waits for it, since until then the host must not wait for other processes.
 * - Memory that was handed over to the second order holds NaN until it is taken back, which is checked: what the first
 *   order reads or writes there in between shows itself. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/device.h"
#include "core/error.h"
#include "core/memory.h"

enum { MEMORIES_MAX = 64, HANDED_MAX = 256, POISON = 0xff, STACK_BYTES = 64 * 1024, THREADS_MAX = 1024,
       SHARED_BYTES = 227 * 1024, PROCESSORS = 3 };

typedef struct Memory { char *start; size_t bytes; } Memory;
typedef struct Handed { char *start, *contents; size_t bytes; } Handed; /* what the second order has */
typedef struct Exchange { CoreExchange *function; void *target; const void *source; size_t bytes; } Exchange;

typedef struct Emulator {
  CoreDevice table;
  CoreDeviceOrder order;
  Memory memory[MEMORIES_MAX];
  size_t allocated;
  Handed handed[HANDED_MAX];
  int handed_over;
  Exchange waiting[HANDED_MAX]; /* of the second order */
  int exchanges;
  char *shared, *stacks;
  char *images;                 /* CORE_DEVICE_ISOLATED: each thread's shared memory, SHARED_BYTES apart */
  char *merged;                 /* and what the last barrier has left of all of them */
  CoreGraph *recording;       /* NULL: operations are done */
  struct Lane *lane;          /* [CORE_LANES] */
  int entered[CORE_LANES], depth; /* lanes that the order at hand was entered through, from 0 */
} Emulator;

/* WAIT: until `lane` has done its first `until` operations. */
typedef struct Operation {
  enum { LAUNCH, COPY, FILL, HAND_OVER, TAKE_BACK, EXCHANGE, ENTER, LEAVE, JOIN, WAIT } kind;
  int lane;
  size_t until;
  const CoreKernel *kernel;
  unsigned blocks, threads;
  size_t shared;
  void *arguments;            /* a copy */
  void *target;
  const void *source;
  size_t bytes;
  int byte;
  CoreExchange *exchange;
} Operation;

struct CoreGraph {
  Operation *operation;
  size_t count, room;
  bool is_forked;             /* while it is recorded: the second order has something */
};

/* What a lane that lags behind has still to do. */
typedef struct Lane {
  CoreGraph queue;
  size_t done;                /* of all that it was ever given */
  size_t forgotten;           /* that came before the queue's first */
} Lane;

static Emulator *emulator_of(CoreDevice *device) { return (Emulator *)device; }

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void protect(Emulator *emulator, int protection) {
  for (int i = 0; i < MEMORIES_MAX; i++)
    if (emulator->memory[i].start) CORE_CHECK(mprotect(emulator->memory[i].start, emulator->memory[i].bytes, protection) == 0);
}
static void unlock(Emulator *emulator) { protect(emulator, PROT_READ | PROT_WRITE); }
static void lock(Emulator *emulator) { protect(emulator, PROT_NONE); }

static int allocate(CoreDevice *device, size_t bytes, void **memory) {
  Emulator *emulator = emulator_of(device);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int place = 0;
  while (place < MEMORIES_MAX && emulator->memory[place].start) place++;
  CORE_CHECK(place < MEMORIES_MAX);
  *memory = NULL;
  if (bytes > SIZE_MAX / 2) return core_error(CORE_FAIL, "out of memory of the emulated device");
  bytes = (bytes + page) / page * page;
  if (bytes > device->memory_bytes - emulator->allocated)
    return core_error(CORE_FAIL, "out of memory of the emulated device: %zu bytes", bytes);
  char *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return core_error_errno(CORE_FAIL, "out of memory of the emulated device: %zu bytes", bytes);
  emulator->memory[place] = (Memory){start, bytes};
  emulator->allocated += bytes;
  *memory = start;
  return CORE_OK;
}

static void release(CoreDevice *device, void *memory) {
  Emulator *emulator = emulator_of(device);
  for (int i = 0; i < MEMORIES_MAX && memory; i++) {
    if (emulator->memory[i].start != memory) continue;
    munmap(memory, emulator->memory[i].bytes);
    emulator->allocated -= emulator->memory[i].bytes;
    emulator->memory[i] = (Memory){0};
    return;
  }
  CORE_CHECK(memory == NULL);
}

/* That [start, start + bytes) is this device's: a host pointer given for a device pointer would work here, not on a GPU. */
static void check_range(const Emulator *emulator, const void *start, size_t bytes) {
  const char *first = start;
  for (int i = 0; i < MEMORIES_MAX; i++) {
    const Memory *m = &emulator->memory[i];
    if (m->start && first >= m->start && first + bytes <= m->start + m->bytes) return;
  }
  CORE_CHECK(!"an address that is not in device memory");
}

static void move(CoreDevice *device, void *target, const void *source, size_t bytes) {
  unlock(emulator_of(device));
  memmove(target, source, bytes);
  lock(emulator_of(device));
}

/* The host's business is not for graphs. */
static void check_not_recording(CoreDevice *device) { CORE_CHECK(emulator_of(device)->recording == NULL); }

/* Keeps a copy of the arguments. */
static void record(CoreGraph *graph, Operation operation) {
  if (graph->count == graph->room) {
    graph->room = graph->room ? 2 * graph->room : 64;
    graph->operation = core_memory_resize(graph->operation, graph->room * sizeof *graph->operation);
  }
  if (operation.kernel) {
    void *kept = core_memory_allocate(operation.kernel->argument_bytes);
    memcpy(kept, operation.arguments, operation.kernel->argument_bytes);
    operation.arguments = kept;
  }
  graph->operation[graph->count++] = operation;
}

/* And that [start, start + bytes) is the host's. */
static void check_host(const Emulator *emulator, const void *start, size_t bytes) {
  const char *first = start;
  for (int i = 0; i < MEMORIES_MAX; i++) {
    const Memory *m = &emulator->memory[i];
    CORE_CHECK(m->start == NULL || first >= m->start + m->bytes || first + bytes <= m->start);
  }
}

static void carry_out(Emulator *emulator, const Operation *o);
static void catch_up(Emulator *emulator, int lane);

static int order_at_hand(const Emulator *emulator) { return emulator->entered[emulator->depth]; }

/* Records an operation, gives it to a lane that lags behind, or does it. */
static void issue(Emulator *emulator, Operation operation) {
  const int lane = order_at_hand(emulator);
  if (emulator->recording) record(emulator->recording, operation);
  else if (lane > 0 && emulator->order != CORE_DEVICE_FORWARD) record(&emulator->lane[lane].queue, operation);
  else carry_out(emulator, &operation);
}

static void to_device(CoreDevice *device, void *target, const void *host, size_t bytes) {
  check_not_recording(device);
  check_range(emulator_of(device), target, bytes);
  catch_up(emulator_of(device), order_at_hand(emulator_of(device)));
  check_host(emulator_of(device), host, bytes);
  device->transfers++;
  move(device, target, host, bytes);
}

static void to_host(CoreDevice *device, void *host, const void *source, size_t bytes) {
  check_not_recording(device);
  check_range(emulator_of(device), source, bytes);
  catch_up(emulator_of(device), order_at_hand(emulator_of(device)));
  check_host(emulator_of(device), host, bytes);
  device->transfers++;
  device->waits++;
  move(device, host, source, bytes);
}

static void copy(CoreDevice *device, void *target, const void *source, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  check_range(emulator, target, bytes);
  check_range(emulator, source, bytes);
  issue(emulator, (Operation){.kind = COPY, .target = target, .source = source, .bytes = bytes});
}

static void fill(CoreDevice *device, void *target, int byte, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  check_range(emulator, target, bytes);
  issue(emulator, (Operation){.kind = FILL, .target = target, .byte = byte, .bytes = bytes});
}

/* ---- the second order ------------------------------------------------------------------------------------------- */

static void hand_over(CoreDevice *device, void *memory, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  CORE_CHECK(emulator->handed_over < HANDED_MAX);
  check_range(emulator, memory, bytes);
  if (emulator->recording) {
    emulator->recording->is_forked = true;
    record(emulator->recording, (Operation){.kind = HAND_OVER, .target = memory, .bytes = bytes});
    return;
  }
  Handed *handed = &emulator->handed[emulator->handed_over++];
  *handed = (Handed){memory, core_memory_allocate(bytes), bytes};
  unlock(emulator);
  memcpy(handed->contents, memory, bytes);
  memset(memory, POISON, bytes);
  lock(emulator);
}

static bool is_poison(const char *start, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if ((unsigned char)start[i] != POISON) return false;
  return true;
}

static void take_back(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  if (emulator->recording) {
    emulator->recording->is_forked = false;
    record(emulator->recording, (Operation){.kind = TAKE_BACK});
    return;
  }
  unlock(emulator);
  for (int i = 0; i < emulator->exchanges; i++) {
    const Exchange *e = &emulator->waiting[i];
    e->function(e->target, e->source, e->bytes);
  }
  emulator->exchanges = 0;
  for (int i = emulator->handed_over - 1; i >= 0; i--) {
    Handed *handed = &emulator->handed[i];
    CORE_CHECK(is_poison(handed->start, handed->bytes)); /* else it was written while the second order had it */
    memcpy(handed->start, handed->contents, handed->bytes);
    free(handed->contents);
  }
  emulator->handed_over = 0;
  lock(emulator);
}

/* Where the second order has what was handed over of `memory`; else `memory`, the first order's. */
static char *where_it_is(const Emulator *emulator, const void *memory) {
  const char *start = memory;
  for (int i = 0; i < emulator->handed_over; i++) {
    const Handed *handed = &emulator->handed[i];
    if (start >= handed->start && start < handed->start + handed->bytes)
      return handed->contents + (start - handed->start);
  }
  return (char *)(uintptr_t)memory;
}

static void exchange(CoreDevice *device, CoreExchange *function, void *target, const void *source, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  check_range(emulator, target, bytes);
  check_range(emulator, source, bytes);
  if (emulator->recording) {
    record(emulator->recording, (Operation){.kind = EXCHANGE, .exchange = function, .target = target, .source = source,
                                            .bytes = bytes});
    return;
  }
  const Exchange e = {function, where_it_is(emulator, target), where_it_is(emulator, source), bytes};
  if (e.target != target) {
    CORE_CHECK(e.source != source && emulator->exchanges < HANDED_MAX); /* the first order may change its source */
    emulator->waiting[emulator->exchanges++] = e;
    return;
  }
  unlock(emulator);
  function(target, source, bytes);
  lock(emulator);
}

/* ---- threads that wait for each other --------------------------------------------------------------------------- */

typedef struct Coroutine {
  jmp_buf jump;
  CoreDeviceThread at;
  enum { FRESH, AT_BARRIER, AT_BALLOT, FINISHED } state;
  bool vote;
} Coroutine;

/* One team at a time, so that there is one of these; the first start of a coroutine goes through a ucontext, all later
 * switches through _longjmp, which needs no system call. */
typedef struct CoreEmulatedTeam {
  jmp_buf scheduler;
  Coroutine thread[THREADS_MAX];
  const CoreKernel *kernel;
  const void *arguments;
  Coroutine *running;
  uint32_t ballot;
} CoreEmulatedTeam;
static CoreEmulatedTeam the_team;

static void run_coroutine(void) {
  Coroutine *self = the_team.running;
  the_team.kernel->body(&self->at, the_team.arguments);
  self->state = FINISHED;
  _longjmp(the_team.scheduler, 1);
}

static void wait_for_others(const CoreDeviceThread *at, int state) {
  CORE_CHECK(at->team != NULL); /* the kernel was listed as one whose threads do not wait */
  Coroutine *self = at->team->running;
  self->state = state;
  if (_setjmp(self->jump) == 0) _longjmp(at->team->scheduler, 1);
}

void core_device_barrier(const CoreDeviceThread *at) { wait_for_others(at, AT_BARRIER); }

void core_device_team_barrier(const CoreDeviceThread *at, unsigned team) {
  CORE_CHECK(team == (unsigned)the_team.kernel->team);
  wait_for_others(at, AT_BARRIER);
}

uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned team, int vote) {
  CORE_CHECK(team == (unsigned)the_team.kernel->team);
  the_team.running->vote = vote != 0;
  wait_for_others(at, AT_BALLOT);
  return the_team.ballot;
}

/* Runs a coroutine until its next barrier or its end. */
static void resume(Coroutine *thread, char *stack) {
  the_team.running = thread;
  if (_setjmp(the_team.scheduler) != 0) return;
  if (thread->state != FRESH) _longjmp(thread->jump, 1);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = STACK_BYTES;
  context.uc_link = NULL;
  makecontext(&context, run_coroutine, 0);
  setcontext(&context);
}

/* A team's part of the block's shared memory. */
typedef struct Share { char *start; size_t bytes; } Share;

static char *image_of(const Emulator *emulator, unsigned thread) {
  return emulator->images + (size_t)thread * SHARED_BYTES;
}

/* What `count` threads in isolation have written becomes what all of them see. */
static void merge_images(const Emulator *emulator, Share share, unsigned count) {
  for (unsigned k = 0; k < count; k++) {
    const char *image = image_of(emulator, k);
    if (memcmp(image, emulator->merged, share.bytes) == 0) continue;
    for (size_t i = 0; i < share.bytes; i++) {
      if (image[i] == emulator->merged[i]) continue;
      CORE_CHECK(share.start[i] == emulator->merged[i] || share.start[i] == image[i]); /* else two wrote differently */
      share.start[i] = image[i];
    }
  }
  memcpy(emulator->merged, share.start, share.bytes);
  for (unsigned k = 0; k < count; k++) memcpy(image_of(emulator, k), emulator->merged, share.bytes);
}

/* Runs thread k on its own shared memory. */
static void resume_isolated(const Emulator *emulator, Share share, unsigned k) {
  memcpy(share.start, image_of(emulator, k), share.bytes);
  resume(&the_team.thread[k], emulator->stacks + (size_t)k * STACK_BYTES);
  memcpy(image_of(emulator, k), share.start, share.bytes);
  memcpy(share.start, emulator->merged, share.bytes);
}

/* That all of a team have come to the same kind of place. Gives which. */
static int meet(unsigned count) {
  const int state = (int)the_team.thread[0].state;
  the_team.ballot = 0;
  for (unsigned k = 0; k < count; k++) {
    CORE_CHECK((int)the_team.thread[k].state == state); /* else some wait at a barrier that others never come to */
    if (state == AT_BALLOT && the_team.thread[k].vote) the_team.ballot |= (uint32_t)1 << k;
  }
  return state;
}

/* All of a team from barrier to barrier. */
static void run_team(Emulator *emulator, CoreDeviceThread first, unsigned count, Share share) {
  const bool backward = emulator->order == CORE_DEVICE_BACKWARD, isolated = emulator->order == CORE_DEVICE_ISOLATED;
  for (unsigned i = 0; i < count; i++) {
    the_team.thread[i].at = first;
    the_team.thread[i].at.thread += i;
    the_team.thread[i].at.team = &the_team;
    the_team.thread[i].state = FRESH;
  }
  if (isolated) {
    memcpy(emulator->merged, share.start, share.bytes);
    for (unsigned k = 0; k < count; k++) memcpy(image_of(emulator, k), share.start, share.bytes);
  }
  for (int state = FRESH; state != FINISHED;) {
    for (unsigned i = 0; i < count; i++) {
      const unsigned k = backward ? count - 1 - i : i;
      if (isolated) resume_isolated(emulator, share, k);
      else resume(&the_team.thread[k], emulator->stacks + (size_t)k * STACK_BYTES);
    }
    state = meet(count);
    if (isolated && state != AT_BALLOT) merge_images(emulator, share, count);
  }
}

/* A block's teams, one after the other. */
static void run_teams(Emulator *emulator, CoreDeviceThread at, unsigned team, size_t shared) {
  const unsigned teams = at.threads / team;
  const size_t bytes = shared / teams;
  for (unsigned i = 0; i < teams; i++) {
    at.thread = i * team;
    run_team(emulator, at, team, (Share){emulator->shared + i * bytes, bytes});
  }
}

static void run_kernel(Emulator *emulator, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                       const void *arguments) {
  const bool backward = emulator->order == CORE_DEVICE_BACKWARD;
  const unsigned team = kernel->team == CORE_TEAM_BLOCK ? threads : (unsigned)kernel->team;
  CORE_CHECK(team == 0 || threads % team == 0);
  the_team.kernel = kernel;
  the_team.arguments = arguments;
  unlock(emulator);
  for (unsigned i = 0; i < blocks; i++) {
    CoreDeviceThread at = {.block = backward ? blocks - 1 - i : i, .blocks = blocks, .threads = threads,
                           .shared = emulator->shared};
    memset(emulator->shared, 0xa5, shared); /* a GPU's is not zero either */
    for (unsigned k = 0; team == 0 && k < threads; k++) {
      at.thread = backward ? threads - 1 - k : k;
      kernel->body(&at, arguments);
    }
    if (team > 0) run_teams(emulator, at, team, shared);
  }
  lock(emulator);
}

/* What a GPU refuses: an empty launch, blocks or arguments that are too large. */
static void check_launch(const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared) {
  enum { ARGUMENT_BYTES = 4096 };
  CORE_CHECK(blocks >= 1 && blocks <= INT32_MAX && threads >= 1 && threads <= THREADS_MAX && shared <= SHARED_BYTES);
  CORE_CHECK(kernel->argument_bytes <= ARGUMENT_BYTES);
}

static size_t stack_bytes(CoreDevice *device, const CoreKernel *kernel) { return (void)device, (void)kernel, 0; }

static void launch(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                   const void *arguments) {
  Emulator *emulator = emulator_of(device);
  check_launch(kernel, blocks, threads, shared);
  if (emulator->recording == NULL) device->launches++;
  issue(emulator, (Operation){.kind = LAUNCH, .kernel = kernel, .blocks = blocks, .threads = threads, .shared = shared,
                              .arguments = (void *)(uintptr_t)arguments});
}

static void synchronise(CoreDevice *device) {
  check_not_recording(device);
  catch_up(emulator_of(device), order_at_hand(emulator_of(device)));
  device->waits++;
}

/* ---- lanes --------------------------------------------------------------------------------------------------------- */

/* How many operations the order has been given so far. */
static size_t given(const Lane *lane) { return lane->forgotten + lane->queue.count; }

static void forget(Lane *lane) {
  lane->forgotten = given(lane);
  lane->queue.count = 0;
}

/* Lets a lane do what it has been given, up to its operation number `until`. */
static void advance(Emulator *emulator, int number, size_t until) {
  Lane *lane = &emulator->lane[number];
  while (lane->done < until) {
    const Operation o = lane->queue.operation[lane->done - lane->forgotten];
    lane->done++;
    if (o.kind == WAIT) advance(emulator, o.lane, o.until);
    else carry_out(emulator, &o);
    free(o.arguments);
  }
  if (lane->done == given(lane)) forget(lane);
}

static void catch_up(Emulator *emulator, int lane) { advance(emulator, lane, given(&emulator->lane[lane])); }

/* The order at hand goes on when `lane` has done all that it has been given. The first order does what it is given at
 * once, and so do all where nobody lags behind. */
static void wait_for(Emulator *emulator, int lane) {
  const size_t until = given(&emulator->lane[lane]);
  const int waiting = order_at_hand(emulator);
  if (lane == 0 || emulator->lane[lane].done == until) return;
  if (waiting == 0) advance(emulator, lane, until);
  else record(&emulator->lane[waiting].queue, (Operation){.kind = WAIT, .lane = lane, .until = until});
}

static void enter(CoreDevice *device, int lane) {
  Emulator *emulator = emulator_of(device);
  const int from = order_at_hand(emulator);
  CORE_CHECK(lane > 0 && lane < CORE_LANES && emulator->depth + 1 < CORE_LANES);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = ENTER, .lane = lane});
  emulator->entered[++emulator->depth] = lane;
  if (emulator->recording == NULL) wait_for(emulator, from);
}

static void leave(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  CORE_CHECK(emulator->depth > 0);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = LEAVE});
  emulator->depth--;
}

static void join(CoreDevice *device, int lane) {
  Emulator *emulator = emulator_of(device);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = JOIN, .lane = lane});
  else wait_for(emulator, lane);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void carry_out(Emulator *emulator, const Operation *o) {
  if (o->kernel) {
    run_kernel(emulator, o->kernel, o->blocks, o->threads, o->shared, o->arguments);
  } else if (o->source) {
    move(&emulator->table, o->target, o->source, o->bytes);
  } else {
    unlock(emulator);
    memset(o->target, o->byte, o->bytes);
    lock(emulator);
  }
}

static void begin_graph(CoreDevice *device) {
  check_not_recording(device);
  emulator_of(device)->recording = core_memory_zero_allocate(1, sizeof(CoreGraph));
}

/* That lanes which a graph enters are left and joined, as CUDA wants it. */
static void check_lanes(const CoreGraph *graph) {
  bool busy[CORE_LANES] = {false};
  int depth = 0;
  for (size_t i = 0; i < graph->count; i++) {
    const Operation *o = &graph->operation[i];
    if (o->kind == ENTER) busy[o->lane] = true, depth++;
    if (o->kind == LEAVE) depth--;
    if (o->kind == JOIN) busy[o->lane] = false;
  }
  for (int lane = 1; lane < CORE_LANES; lane++) CORE_CHECK(!busy[lane] && depth == 0);
}

static CoreGraph *end_graph(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  CoreGraph *graph = emulator->recording;
  CORE_CHECK(graph != NULL && !graph->is_forked); /* a GPU's capture must end with all of it in one stream */
  check_lanes(graph);
  emulator->recording = NULL;
  return graph;
}

static void perform(CoreDevice *device, const Operation *o) {
  switch (o->kind) {
    case HAND_OVER: hand_over(device, o->target, o->bytes); return;
    case TAKE_BACK: take_back(device); return;
    case EXCHANGE: exchange(device, o->exchange, o->target, o->source, o->bytes); return;
    case ENTER: enter(device, o->lane); return;
    case LEAVE: leave(device); return;
    case JOIN: join(device, o->lane); return;
    default: issue(emulator_of(device), *o);
  }
}

static void launch_graph(CoreDevice *device, CoreGraph *graph) {
  check_not_recording(device);
  device->graphs++;
  for (size_t i = 0; i < graph->count; i++) perform(device, &graph->operation[i]);
}

static void destroy_graph(CoreDevice *device, CoreGraph *graph) {
  (void)device;
  if (graph == NULL) return;
  for (size_t i = 0; i < graph->count; i++) free(graph->operation[i].arguments);
  free(graph->operation);
  free(graph);
}

static void destroy(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  for (int i = 0; i < emulator->handed_over; i++) free(emulator->handed[i].contents);
  for (int lane = 0; lane < CORE_LANES; lane++) {
    catch_up(emulator, lane);
    free(emulator->lane[lane].queue.operation);
  }
  free(emulator->lane);
  for (int i = 0; i < MEMORIES_MAX; i++) release(device, emulator->memory[i].start);
  munmap(emulator->stacks, (size_t)THREADS_MAX * STACK_BYTES);
  if (emulator->images) munmap(emulator->images, (size_t)THREADS_MAX * SHARED_BYTES);
  free(emulator->merged);
  free(emulator->shared);
  free(emulator);
}

/* Memory that takes no room until it is touched. */
static char *reserve(size_t bytes) {
  char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CORE_CHECK(start != MAP_FAILED);
  return start;
}

CoreDevice *core_device_emulated(CoreDeviceOrder order) { return core_device_emulated_of(order, SIZE_MAX); }

CoreDevice *core_device_emulated_of(CoreDeviceOrder order, size_t memory_bytes) {
  Emulator *emulator = core_memory_zero_allocate(1, sizeof *emulator);
  emulator->order = order;
  emulator->lane = core_memory_zero_allocate(CORE_LANES, sizeof *emulator->lane);
  emulator->shared = core_memory_allocate(SHARED_BYTES);
  emulator->stacks = reserve((size_t)THREADS_MAX * STACK_BYTES);
  if (order == CORE_DEVICE_ISOLATED) {
    emulator->images = reserve((size_t)THREADS_MAX * SHARED_BYTES);
    emulator->merged = core_memory_allocate(SHARED_BYTES);
  }
  emulator->table = (CoreDevice){
    .name = "emulated", .description = "emulated on the CPU", .memory_bytes = memory_bytes, .shared_bytes = SHARED_BYTES,
    .processors = PROCESSORS,
    .allocate = allocate, .release = release, .to_device = to_device, .to_host = to_host, .copy = copy, .fill = fill,
    .launch = launch, .synchronise = synchronise, .stack_bytes = stack_bytes,
    .hand_over = hand_over, .take_back = take_back, .exchange = exchange,
    .enter = enter, .leave = leave, .join = join,
    .begin_graph = begin_graph, .end_graph = end_graph, .launch_graph = launch_graph, .destroy_graph = destroy_graph,
    .destroy = destroy};
  return &emulator->table;
}
