/* What config.c, config_text.c and config_reads.c share. */
#ifndef CORE_CONFIG_INTERNAL_H
#define CORE_CONFIG_INTERNAL_H
#include "core/config/config.h"

typedef struct CoreConfigSection {
  const char *name, *help;
  size_t first, count; /* its rows in core_config_rows() */
} CoreConfigSection;

extern const CoreConfig core_config_defaults;

const CoreConfigSection *core_config_sections(size_t *count);

/* Adds a row for a program's setting, or finds the one of that name. A row takes the kind of the program that was read
 * last; with `widens` one that goes with both. NULL: the table is full. */
const CoreConfigRow *core_config_add_program_row(const char *name, CoreConfigKind kind, const char *choices,
                                                 const char *def, bool widens);

/* Is the text one of "a|b|mujoco/...", where the last stands for any name behind mujoco/? */
bool core_config_is_choice(const char *choices, const char *text);

/* BLAKE2b-64 of the text, as core_config_id says. */
void core_config_hash(const CoreText *canonical, char id[CORE_RUN_ID]);

/* "1 to 1024 epochs", "0 to inf", "ppo, ppo_ewma", "yes or no": what a value may be, for messages and tables. */
void core_config_append_range(const CoreConfigRow *row, CoreText *text);

#endif
