/* The task of a run: the settings that define what it is trained on. Scores are compared only within a task. */
#ifndef CORE_CONFIG_TASK_H
#define CORE_CONFIG_TASK_H
#include "core/config/config.h"

/* Comma-separated list of these settings: "env.task,env.levels,...". */
extern const char core_config_task_keys[];

/* Whether both configurations have the same task. */
bool core_config_is_same_task(const CoreConfig *a, const CoreConfig *b);

#endif
