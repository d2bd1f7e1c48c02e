/* A corridor of eleven places as an environment for `trainer`: from the middle to its right end, by going left or
 * right.
 *
 *     gcc -O2 -shared -fPIC -I/usr/local/include -o corridor.so corridor.c
 *     trainer --set env.task=library:./corridor.so/corridor --set env.num=64 --set train.total_steps=1e5 */
#include <stdlib.h>
#include <string.h>
#include <sweep/environment.h>

typedef struct Corridor {
  int place, steps;
} Corridor;

enum { PLACES = 11, LIMIT = 50 };

int sweep_environment_version(void) { return SWEEP_ENVIRONMENT_VERSION; }

int sweep_environment_spaces(const char *name, SweepSpaces *spaces) {
  *spaces = (SweepSpaces){.observations = PLACES, .factors = 1, .classes = {2}, .limit = LIMIT, .solves = 1,
                          .state_bytes = sizeof(Corridor)};
  return strcmp(name, "corridor") != 0;
}

void *sweep_environment_make(const char *name) {
  (void)name;
  return calloc(1, sizeof(Corridor));
}

void sweep_environment_destroy(void *world) { free(world); }

static void show(const Corridor *corridor, float *observation) {
  for (int i = 0; i < PLACES; i++) observation[i] = i == corridor->place;
}

void sweep_environment_reset(void *world, uint64_t seed, float *observation) {
  Corridor *corridor = world;
  *corridor = (Corridor){.place = PLACES / 2 - 1 + (int)(seed % 3)};
  show(corridor, observation);
}

void sweep_environment_step(void *world, const void *action, SweepResult *result, float *observation) {
  Corridor *corridor = world;
  corridor->place += *(const uint8_t *)action ? 1 : -1;
  corridor->steps++;
  result->solved = corridor->place == PLACES - 1;
  result->terminated = corridor->place == 0 || result->solved;
  result->truncated = corridor->steps == LIMIT;
  result->reward = result->solved ? 1 : 0;
  show(corridor, observation);
}

void sweep_environment_save(const void *world, void *state) { memcpy(state, world, sizeof(Corridor)); }
void sweep_environment_load(void *world, const void *state) { memcpy(world, state, sizeof(Corridor)); }
