/* All tasks: which environment env.task asks for, and the list that `trainer tasks` prints. */
#ifndef TRAINER_TASKS_H
#define TRAINER_TASKS_H
#include "core/text.h"
#include "trainer/envs/env.h"

/* The environment that config.env.task asks for, on the host. CORE_USAGE: a setting of config.env is impossible, or
 * what the task needs is not installed. */
int env_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);

/* Makes an environment from Env.spaces of one that a run was trained on: for its policy, without worlds to play.
 * CORE_FAIL, CORE_USAGE: it is no such record. */
int env_create_from_spaces(const CoreConfig *config, const char *spaces, Env **env);

/* Appends what may be wrong with the environment of the task though env_create makes it, as lines. It takes some
 * seconds at most, and for the same environment there is nothing more to say. */
void env_append_warnings(const CoreConfig *config, CoreText *lines);

/* Is it the name of an environment of its own, perhaps mistyped, and not of levels? */
bool task_is_environment(const char *name);

/* A task as a user may want to know it before it runs. */
typedef struct TaskFacts {
  char name[64];         /* for env.task */
  char about[96];
  int observations;      /* numbers; 0: as its levels and settings say */
  char actions[48];      /* "6 in -1 .. 1", "by env.actions" */
  int limit;             /* steps an episode; 0: env.max_steps */
} TaskFacts;

/* The i'th task, 0, 1, ...; false: there are no more. */
bool task_facts(int i, TaskFacts *facts);

#endif
