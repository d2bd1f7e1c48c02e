/* What a run is trained on: the settings that make a task. Scores of runs are compared within a task only. */
#ifndef CORE_CONFIG_TASK_H
#define CORE_CONFIG_TASK_H
#include "core/config/config.h"

/* As keys of a list: "env.task,env.levels,...". */
extern const char core_config_task_keys[];

/* Are these settings the same in both? */
bool core_config_same_task(const CoreConfig *a, const CoreConfig *b);

#endif
