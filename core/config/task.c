/* Settings that define a task (task.h). */
#include "core/config/task.h"

#include <string.h>

const char core_config_task_keys[] =
  "env.task,env.levels,env.morphologies,env.difficulty,env.size,env.level_count";

bool core_config_is_same_task(const CoreConfig *a, const CoreConfig *b) {
  if (a->program || b->program) return a->program && b->program; /* programs are scored by one metric, the goal */
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.levels, b->env.levels) == 0 &&
         strcmp(a->env.morphologies, b->env.morphologies) == 0 && strcmp(a->env.difficulty, b->env.difficulty) == 0 &&
         strcmp(a->env.size, b->env.size) == 0 && a->env.level_count == b->env.level_count;
}
