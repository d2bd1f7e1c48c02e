/* Settings of the [slurm] section, parsed from experiment files, site files and --set. Every value is validated here,
 * once, so that script.c, command.c and rest.c only see values that are safe as options: nothing that a shell or an
 * option parser would interpret, except `setup`, which is shell. */
#ifndef SLURM_SETTINGS_H
#define SLURM_SETTINGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

enum { SLURM_TEXT = 256 };

typedef struct SlurmSettings {
#define COUNT(key, def, min, help) int64_t key;
#define TIME(key, def, help) int64_t key; /* seconds */
#define SIZE(key, def, help) int64_t key; /* MB (MiB, as Slurm counts) */
#define SHARE(key, def, help) double key;
#define FLAG(key, def, help) bool key;
#define ENUM(key, def, choices, help) char key[SLURM_TEXT];
#define WORD(key, check, help) char key[SLURM_TEXT];
#include "slurm/settings.def"
} SlurmSettings;

SlurmSettings slurm_settings_default(void);

/* Returns the full names, "slurm.time" ..., in the table's order; static. */
const char *const *slurm_settings_names(size_t *count);

/* Sets one value; `name` with or without "slurm.". CORE_USAGE: unknown name (the message suggests the nearest) or
 * invalid value (it names what is expected); `settings` is then unchanged. */
int slurm_settings_set(SlurmSettings *settings, const char *name, const char *value);

/* Checks combinations: a fractional number of GPUs per task, several runs per task on several nodes, a signal lead
 * longer than the time limit. CORE_USAGE: the message names both keys. */
int slurm_settings_check(const SlurmSettings *settings);

/* Returns the memory of one run on a node in MB, by slurm.mem or slurm.mem_per_cpu; 0: the partition's default. */
int64_t slurm_settings_run_mem(const SlurmSettings *settings);

/* Resources of an array task, summed over its runs. */
int64_t slurm_settings_task_cpus(const SlurmSettings *settings); /* on all nodes */
int64_t slurm_settings_task_gpus(const SlurmSettings *settings); /* on all nodes */

/* Appends "slurm.key<separator>value<end>" for each value that differs from its default, in the form that
 * slurm_settings_set parses. */
void slurm_settings_print(const SlurmSettings *settings, const char *separator, const char *end, CoreText *text);

/* Parses Slurm's time formats ("1-12:00:00", "02:00:00", "90" for minutes) to seconds; -1: invalid. */
int64_t slurm_time_parse(const char *text);
/* Formats seconds for Slurm into `buffer` of at least 32 bytes and returns it. */
const char *slurm_time_format(int64_t seconds, char *buffer);

#endif
