/* "init.from = run:{ppo.com=8}@954" of an experiment file: the run that has this run's seed and settings, but for what
 * stands in the braces. Only the grid knows seeds, so only it can turn the words into an id; trainers see
 * "run:<id>@954". */
#ifndef SWEEP_PARENT_H
#define SWEEP_PARENT_H
#include "core/config/config.h"

/* Replaces config->init.from by the id when it is written with braces; leaves it alone otherwise. The parent has no
 * parent itself (its [init] is the default). Settings inside the braces: "key=value", blanks between several.
 * CORE_USAGE: no closing brace, nothing between the braces, an unknown setting or value. */
int sweep_parent_resolve(CoreConfig *config);

#endif
