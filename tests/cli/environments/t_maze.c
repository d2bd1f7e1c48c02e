/* A T-maze (Bakker 2001) for tests of policies with memory: what the first observation shows says where to turn at the
 * corridor's end, after `CORRIDOR` steps without it. Without memory no policy turns the right way more often than every
 * second time. As an environment of one's own (trainer/envs/library/environment.h). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sweep/environment.h>

enum { CORRIDOR = 8, LIMIT = 32, FORWARD = 0, LEFT = 1, RIGHT = 2 };

typedef struct World { int32_t place, side, steps; } World; /* side: LEFT or RIGHT */

int sweep_environment_version(void) { return SWEEP_ENVIRONMENT_VERSION; }

int sweep_environment_spaces(const char *name, SweepSpaces *spaces) {
  if (strcmp(name, "t_maze") != 0) return 1;
  *spaces = (SweepSpaces){.observations = 3, .factors = 1, .classes = {3}, .limit = LIMIT, .solves = 1,
                          .state_bytes = sizeof(World)};
  return 0;
}

void *sweep_environment_make(const char *name) {
  (void)name;
  return calloc(1, sizeof(World));
}

void sweep_environment_destroy(void *world) { free(world); }

/* The sign, which is at the start only; whether this is the corridor's end; a constant. */
static void show(const World *world, float *observation) {
  observation[0] = world->place > 0 ? 0 : world->side == LEFT ? -1 : 1;
  observation[1] = world->place == CORRIDOR;
  observation[2] = 1;
}

void sweep_environment_reset(void *of, uint64_t seed, float *observation) {
  World *world = of;
  seed *= 0x9e3779b97f4a7c15u;
  *world = (World){.side = seed >> 63 ? LEFT : RIGHT};
  show(world, observation);
}

void sweep_environment_step(void *of, const void *action, SweepResult *result, float *observation) {
  World *world = of;
  const int turn = *(const uint8_t *)action;
  world->steps++;
  if (world->place < CORRIDOR) {
    world->place += turn == FORWARD;
    result->reward = turn == FORWARD ? 0 : -0.05f; /* against a wall */
  } else if (turn != FORWARD) {
    result->terminated = 1;
    result->solved = turn == world->side;
    result->reward = result->solved ? 1 : -1;
  }
  result->truncated = !result->terminated && world->steps >= LIMIT;
  show(world, observation);
}

void sweep_environment_save(const void *world, void *state) { memcpy(state, world, sizeof(World)); }
void sweep_environment_load(void *world, const void *state) { memcpy(world, state, sizeof(World)); }
