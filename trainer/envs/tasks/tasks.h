/* Registry of tasks: creation of the environment of env.task, and the list of `trainer tasks`. */
#ifndef TRAINER_TASKS_H
#define TRAINER_TASKS_H
#include "core/text.h"
#include "trainer/envs/env.h"

/* Creates the environment of config.env.task, on the host. CORE_USAGE: invalid settings in config.env, or a
 * dependency of the task is not installed. */
int env_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);

/* Creates an environment from the Env.spaces of a run, for its policy; it cannot be stepped. CORE_FAIL, CORE_USAGE: the
 * record is invalid. */
int env_create_from_spaces(const CoreConfig *config, const char *spaces, Env **env);

/* Appends warnings about the task's environment, one per line; once per environment and process. Takes a few seconds at
 * most. */
void env_append_warnings(const CoreConfig *config, CoreText *lines);

/* Whether the name is that of an environment other than the simulator; it may be misspelled. */
bool task_is_environment(const char *name);

/* Description of a task. */
typedef struct TaskInfo {
  char name[64];         /* for env.task */
  char about[96];
  int observations;      /* values per observation; 0: depends on levels and settings */
  char actions[48];      /* "6 in -1 .. 1", "by env.actions" */
  int limit;             /* time limit in steps; 0: env.max_steps */
} TaskInfo;

/* Gets task i, from 0. Returns false if there are no more. */
bool task_info(int i, TaskInfo *info);

#endif
