/* The worker's side of the bridge, called by worker.py through ctypes: build/lib/sweep/bridge_side.so. ctypes releases
 * Python's global interpreter lock during a call, so other threads of the worker continue while it waits. */
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
SIDE void bridge_side_name(Bridge *bridge, int column, const char *name);
SIDE int bridge_side_next(Bridge *bridge);
SIDE void bridge_side_tell(Bridge *bridge, const char *text);
SIDE void bridge_side_answer(Bridge *bridge, const char *message);
SIDE void bridge_side_forked(Bridge *bridge, int by_main_thread);

static int parent_process;
static bool forked;    /* whether this is a process that the environment forked, not the worker */
static uint32_t replies; /* number of the last reply */
static BridgeSpin spin;

/* Maps the shared memory. Returns NULL if it has another version or the trainer has exited. */
Bridge *bridge_side_open(int file, int parent) {
  Bridge *bridge = mmap(NULL, sizeof *bridge, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  parent_process = parent;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (bridge == MAP_FAILED || bridge->version != BRIDGE_VERSION || getppid() != parent) return NULL;
  return bridge;
}

/* Publishes the spaces and grows the memory, which may move; picture: the fields of BridgePicture. Returns NULL if
 * memory is exhausted. */
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
  Bridge *grown = mremap(bridge, sizeof *bridge, arrays.bytes, MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) return NULL;
  grown->spaces = spaces;
  grown->arrays = arrays;
  snprintf(grown->name, sizeof grown->name, "%s", name);
  snprintf(grown->action_space, sizeof grown->action_space, "%s", action_space);
  return grown;
}

/* Returns the array of that name; NULL: none. */
void *bridge_side_array(Bridge *bridge, const char *name) {
  const BridgeArrays *arrays = &bridge->arrays;
  const struct { const char *name; uint64_t offset; } all[] = {
    {"observations", arrays->observations}, {"finals", arrays->finals}, {"actions", arrays->actions},
    {"rewards", arrays->rewards}, {"terminated", arrays->terminated}, {"truncated", arrays->truncated},
    {"ends", arrays->ends}, {"seeds", arrays->seeds}, {"info_sums", arrays->info_sums},
    {"info_counts", arrays->info_counts}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) return (char *)bridge + all[i].offset;
  return NULL;
}

/* Names a column of BridgeInfo; column ENV_INFO_NAMES sets `ignored`. */
void bridge_side_name(Bridge *bridge, int column, const char *name) {
  char *target = bridge->info.ignored;
  if (column >= 0 && column < ENV_INFO_NAMES) target = bridge->info.name[column];
  snprintf(target, ENV_INFO_NAME, "%s", name);
}

/* Waits for the next request. Returns its BridgeCommand. */
int bridge_side_next(Bridge *bridge) {
  if (forked) _exit(0);
  spin.spin_ns = bridge->spin_ns;
  while (!bridge_wait(&bridge->requests, replies + 1, 2000000000, &spin))
    if (getppid() != parent_process) return BRIDGE_QUIT;
  return bridge->command;
}

/* Sets a message to be sent with the next reply. */
void bridge_side_tell(Bridge *bridge, const char *text) {
  snprintf(bridge->message, sizeof bridge->message, "%s", text);
}

/* Sends the reply. message: error; NULL: success. */
void bridge_side_answer(Bridge *bridge, const char *message) {
  bridge->failed = message != NULL;
  if (message) snprintf(bridge->message, sizeof bridge->message, "%s", message);
  replies = atomic_load(&bridge->requests.number);
  bridge_post(&bridge->replies);
}

/* Detaches a process that the environment has just forked: it gets a private copy of the memory, exits with the
 * worker, and exits immediately if it returns to wait for a request. PDEATHSIG is sent when the forking thread ends,
 * so it is set only for forks of the main thread. */
void bridge_side_forked(Bridge *bridge, int by_main_thread) {
  const size_t bytes = bridge->arrays.bytes > sizeof *bridge ? bridge->arrays.bytes : sizeof *bridge;
  const BridgeArrays arrays = bridge->arrays;
  forked = true;
  if (mmap(bridge, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    _exit(1);
  bridge->arrays = arrays;
  if (by_main_thread) prctl(PR_SET_PDEATHSIG, SIGKILL);
}
