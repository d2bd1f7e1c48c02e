/* A T-maze (Bakker 2001) for tests of recurrent policies: the first observation shows the turn at the end of the
 * corridor, after `CORRIDOR` steps without it. Without memory every policy turns the right way half of the time.
 * "t_maze" has discrete actions, "t_maze_real" a number: left below -1/3, right above 1/3. A user environment of
 * trainer/envs/library/environment.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sweep/environment.h>

enum { CORRIDOR = 8, LIMIT = 32, FORWARD = 0, LEFT = 1, RIGHT = 2 };

/* side: LEFT or RIGHT; real: actions are numbers. */
typedef struct World { int32_t place, side, steps, real; } World;

int sweep_environment_version(void) { return SWEEP_ENVIRONMENT_VERSION; }

int sweep_environment_spaces(const char *name, SweepSpaces *spaces) {
  *spaces = (SweepSpaces){.observations = 3, .limit = LIMIT, .solves = 1, .state_bytes = sizeof(World)};
  if (strcmp(name, "t_maze_real") == 0) spaces->values = 1, spaces->low = -1, spaces->high = 1;
  else spaces->factors = 1, spaces->classes[0] = 3;
  return strcmp(name, "t_maze") != 0 && strcmp(name, "t_maze_real") != 0;
}

void *sweep_environment_make(const char *name) {
  World *world = calloc(1, sizeof *world);
  if (world) world->real = strcmp(name, "t_maze_real") == 0;
  return world;
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
  *world = (World){.side = seed >> 63 ? LEFT : RIGHT, .real = world->real};
  show(world, observation);
}

static int turn_of(const World *world, const void *action) {
  if (!world->real) return *(const uint8_t *)action;
  const float number = *(const float *)action;
  return number < -1.0f / 3 ? LEFT : number > 1.0f / 3 ? RIGHT : FORWARD;
}

void sweep_environment_step(void *of, const void *action, SweepResult *result, float *observation) {
  World *world = of;
  const int turn = turn_of(world, action);
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
