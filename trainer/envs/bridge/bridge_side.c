/* The worker's half of the bridge, for worker.py to call through ctypes: build/lib/sweep/bridge_side.so. ctypes lets go
 * of Python's lock during a call, so other threads of the worker go on while it waits. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "trainer/envs/bridge/bridge.h"

#define SIDE __attribute__((visibility("default")))
SIDE Bridge *bridge_side_open(int file, int parent);
SIDE Bridge *bridge_side_offer(Bridge *bridge, int file, int observations, const int32_t *picture, int lives,
                               int factors, const int32_t *classes, int values, float low, float high, int limit,
                               const char *name, const char *action_space);
SIDE void *bridge_side_array(Bridge *bridge, const char *name);
SIDE int bridge_side_next(Bridge *bridge);
SIDE void bridge_side_tell(Bridge *bridge, const char *text);
SIDE void bridge_side_answer(Bridge *bridge, const char *message);
SIDE void bridge_side_forked(Bridge *bridge, int by_main_thread);

static int parent_process;
static bool forked; /* this is not the worker but a process that its environment forked */
static uint32_t turns; /* answered so far */
static BridgePatience patience;

/* NULL: no memory of this version, or the trainer is gone already. */
Bridge *bridge_side_open(int file, int parent) {
  Bridge *bridge = mmap(NULL, sizeof *bridge, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  parent_process = parent;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (bridge == MAP_FAILED || bridge->version != BRIDGE_VERSION || getppid() != parent) return NULL;
  return bridge;
}

/* What the environment is; picture: the numbers of BridgePicture. The memory grows, and may lie elsewhere then. NULL:
 * there is not enough. */
Bridge *bridge_side_offer(Bridge *bridge, int file, int observations, const int32_t *picture, int lives, int factors,
                          const int32_t *classes, int values, float low, float high, int limit, const char *name,
                          const char *action_space) {
  BridgeSpaces spaces = {.observations = observations, .lives = lives, .factors = factors, .values = values,
                         .low = low, .high = high, .limit = limit,
                         .picture = {picture[0], picture[1], picture[2], picture[3], picture[4]}};
  if (factors < 0 || factors > BRIDGE_FACTORS) return NULL;
  if (factors > 0) memcpy(spaces.classes, classes, (size_t)factors * sizeof *classes);
  const BridgeArrays arrays = bridge_arrange(&spaces, bridge->worlds);
  if (ftruncate(file, (off_t)arrays.bytes) != 0) return NULL;
  Bridge *whole = mremap(bridge, sizeof *bridge, arrays.bytes, MREMAP_MAYMOVE);
  if (whole == MAP_FAILED) return NULL;
  whole->spaces = spaces;
  whole->arrays = arrays;
  snprintf(whole->name, sizeof whole->name, "%s", name);
  snprintf(whole->action_space, sizeof whole->action_space, "%s", action_space);
  return whole;
}

void *bridge_side_array(Bridge *bridge, const char *name) {
  const BridgeArrays *arrays = &bridge->arrays;
  const struct { const char *name; uint64_t at; } all[] = {
    {"observations", arrays->observations}, {"finals", arrays->finals}, {"actions", arrays->actions},
    {"rewards", arrays->rewards}, {"terminated", arrays->terminated}, {"truncated", arrays->truncated},
    {"ends", arrays->ends}, {"seeds", arrays->seeds}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) return (char *)bridge + all[i].at;
  return NULL;
}

/* Waits for what the trainer asks next. */
int bridge_side_next(Bridge *bridge) {
  if (forked) _exit(0);
  patience.look_ns = bridge->look_ns;
  while (!bridge_wait(&bridge->asked, turns + 1, 2000000000, &patience))
    if (getppid() != parent_process) return BRIDGE_QUIT;
  return bridge->command;
}

/* Gives the trainer a text together with the next answer. */
void bridge_side_tell(Bridge *bridge, const char *text) {
  snprintf(bridge->message, sizeof bridge->message, "%s", text);
}

/* message: what went wrong, NULL for nothing. */
void bridge_side_answer(Bridge *bridge, const char *message) {
  bridge->failed = message != NULL;
  if (message) snprintf(bridge->message, sizeof bridge->message, "%s", message);
  turns = atomic_load(&bridge->asked.number);
  bridge_raise(&bridge->answered);
}

/* In a process that the environment has just forked: what it writes is its own, it ends with the worker, and at once
 * where it comes back for the next turn. The signal comes when the thread that forked ends: only the main one lasts. */
void bridge_side_forked(Bridge *bridge, int by_main_thread) {
  const size_t bytes = bridge->arrays.bytes > sizeof *bridge ? bridge->arrays.bytes : sizeof *bridge;
  const BridgeArrays arrays = bridge->arrays;
  forked = true;
  if (mmap(bridge, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    _exit(1);
  bridge->arrays = arrays;
  if (by_main_thread) prctl(PR_SET_PDEATHSIG, SIGKILL);
}
