/* The [slurm] section: typed values out of text, for experiment files, site files and --set alike. Every value is
 * checked here, once, so that what follows (script.c, command.c, rest.c) only ever sees values that fit their place:
 * nothing that a shell or an option parser would take for something else. */
#ifndef SLURM_SETTINGS_H
#define SLURM_SETTINGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

enum { SLURM_TEXT = 256 };

typedef struct SlurmSettings {
#define COUNT(key, def, lowest, help) int64_t key;
#define TIME(key, def, help) int64_t key; /* seconds */
#define SIZE(key, def, help) int64_t key; /* MB (MiB, as Slurm counts) */
#define SHARE(key, def, help) double key;
#define FLAG(key, def, help) bool key;
#define ENUM(key, def, choices, help) char key[SLURM_TEXT];
#define WORD(key, check, help) char key[SLURM_TEXT];
#include "slurm/settings.def"
} SlurmSettings;

SlurmSettings slurm_settings_default(void);

/* Full names, "slurm.time" ..., in the table's order; static. */
const char *const *slurm_settings_names(size_t *count);

/* Sets one value. `name` with or without "slurm.". CORE_USAGE: unknown (the nearest is named), or not of its kind: the
 * message says what is expected; `settings` then stays as it was. */
int slurm_settings_set(SlurmSettings *settings, const char *name, const char *value);

/* What goes wrong only together: GPUs that are no whole number for a task, several runs on several nodes, a lead that
 * is longer than the time limit. CORE_USAGE names both keys. */
/* Returns the memory of one run on a node in MB, by slurm.mem or slurm.mem_per_cpu; 0: the partition's default. */
int64_t slurm_settings_run_mem(const SlurmSettings *settings);
int slurm_settings_check(const SlurmSettings *settings);

/* What an array task holds: all its runs together. */
int64_t slurm_settings_task_cpus(const SlurmSettings *settings); /* on all nodes */
int64_t slurm_settings_task_gpus(const SlurmSettings *settings); /* on all nodes */

/* Appends "slurm.key<separator>value<end>" for each value that is not its default: what
 * slurm_settings_set reads back. */
void slurm_settings_print(const SlurmSettings *settings, const char *separator, const char *end, CoreText *text);

/* Slurm's time forms to seconds and back: "1-12:00:00", "02:00:00". -1: no such time. buffer >= 32 bytes. */
int64_t slurm_time_parse(const char *text);
const char *slurm_time_format(int64_t seconds, char *buffer);

#endif
