/* Output of sweep plan about a user's program: the first run's command as it will be executed, code that is not hashed,
 * and hints at text that only a shell would interpret. */
#ifndef SWEEP_PROGRAM_PRINT_H
#define SWEEP_PROGRAM_PRINT_H
#include "core/json.h"
#include "sweep/plan/plan.h"

/* Prints it to stdout; nothing if the experiment has no [program]. */
void sweep_program_print(const char *root, const SweepPlan *plan);
/* Returns {"command": "...", "directory": "...", "not_hashed": [...], "hints": [...]}; NULL: no [program]. */
json_t *sweep_program_json(const char *root, const SweepPlan *plan);
/* Appends a line per part of `command` that looks like the syntax of a shell, which does not interpret it. */
void sweep_program_find_shell(const char *command, CoreText *hints);

#endif
