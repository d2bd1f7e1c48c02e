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

/* A field of the kind that the row says. */
static inline const void *core_config_field(const CoreConfig *config, const CoreConfigRow *row) {
  return (const char *)config + row->offset;
}

/* Is the text one of "a|b|mujoco/...", where the last stands for any name behind mujoco/? */
bool core_config_is_choice(const char *choices, const char *text);

/* BLAKE2b-64 of the text, as core_config_id says. */
void core_config_hash(const CoreText *canonical, char id[CORE_RUN_ID]);

/* "1 to 1024 epochs", "0 to inf", "ppo, ppo_ewma", "yes or no": what a value may be, for messages and tables. */
void core_config_append_range(const CoreConfigRow *row, CoreText *text);

#endif
