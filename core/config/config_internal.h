/* Declarations shared by config.c, config_text.c and config_reads.c. */
#ifndef CORE_CONFIG_INTERNAL_H
#define CORE_CONFIG_INTERNAL_H
#include "core/config/config.h"

typedef struct CoreConfigSection {
  const char *name, *help;
  size_t first, count; /* range of its rows in core_config_rows() */
} CoreConfigSection;

extern const CoreConfig core_config_defaults;

const CoreConfigSection *core_config_sections(size_t *count);

/* Adds a row for a program's setting, or updates the row of that name: it gets the kind of the program read last or,
 * with `widens`, a kind that can represent both. Returns NULL if the table is full. */
const CoreConfigRow *core_config_add_program_row(const char *name, CoreConfigKind kind, const char *choices,
                                                 const char *def, bool widens);

/* Whether the text matches one of "a|b|mujoco/...", where "mujoco/..." matches mujoco/ followed by any name. */
bool core_config_is_choice(const char *choices, const char *text);

/* Computes BLAKE2b-64 of the text (core_config_id). */
void core_config_hash(const CoreText *canonical, char id[CORE_RUN_ID]);

/* Appends the valid values for messages and tables: "1 to 1024 epochs", "0 to inf", "ppo, ppo_ewma", "yes or no". */
void core_config_append_range(const CoreConfigRow *row, CoreText *text);

#endif
