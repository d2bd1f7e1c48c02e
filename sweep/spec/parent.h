/* Parents named by settings, "init.from = run:{ppo.com=8}@954" in an experiment file: the run with this run's seed and
 * settings except those in the braces. Only the grid knows seeds, so it replaces the braces by an id; trainers see
 * "run:<id>@954". */
#ifndef SWEEP_PARENT_H
#define SWEEP_PARENT_H
#include "core/config/config.h"

/* Replaces the braces in config->init.from, if there are any, by the id. The parent has no parent itself (its [init] is
 * the default). Settings inside the braces: "key=value", separated by blanks.
 * CORE_USAGE: no closing brace, nothing between the braces, an unknown setting or value. */
int sweep_parent_resolve(CoreConfig *config);

#endif
