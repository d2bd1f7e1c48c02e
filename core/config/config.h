/* The configuration table (config.def) as a struct, a parser, canonical text, JSON, help and a run id. */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/help.h"
#include "core/ini.h"
#include "core/json.h"
#include "core/text.h"

enum { CORE_CONFIG_TEXT = 256, CORE_RUN_ID = 17 /* 16 hex digits and NUL */ };
enum { CORE_CONFIG_LAYERS_MAX = 16, CORE_CONFIG_WIDTH_MAX = 16384 }; /* tower or trunk */
enum { CORE_CONFIG_SEARCHED_LEVELS = 32768 }; /* levels of a search that a GPU plays at once, in whole batches */
enum { CORE_CONFIG_RANKED_WIDTH_MAX = 1024 }; /* features whose rank is measured: the work grows with the cube */

typedef struct CoreScript CoreScript; /* core/config/script.h */

/* config.env.num, config.ppo.epsilon, ... */
typedef struct CoreConfig {
#define SECTION(section, help) struct {
#define END_SECTION(section) } section;
#define INT(section, key, def, low, high, unit, identity, help) int64_t key;
#define REAL(section, key, def, low, high, unit, identity, help) double key;
#define BOOL(section, key, def, identity, help) bool key;
#define ENUM(section, key, def, choices, identity, help) char key[CORE_CONFIG_TEXT];
#define TEXT(section, key, def, identity, help) char key[CORE_CONFIG_TEXT];
#include "core/config/config.def"
#undef SECTION
#undef END_SECTION
#undef INT
#undef REAL
#undef BOOL
#undef ENUM
#undef TEXT
  const CoreScript *program; /* user program that runs instead of the trainer; NULL: none */
} CoreConfig;

typedef enum CoreConfigKind {
  CORE_CONFIG_INT, CORE_CONFIG_REAL, CORE_CONFIG_BOOL, CORE_CONFIG_ENUM, CORE_CONFIG_STRING
} CoreConfigKind;

static inline bool core_config_is_number(CoreConfigKind kind) {
  return kind == CORE_CONFIG_INT || kind == CORE_CONFIG_REAL;
}

typedef struct CoreConfigRow {
  const char *name;      /* "ppo.epsilon" */
  const char *section, *key;
  CoreConfigKind kind;
  size_t offset;         /* byte offset in CoreConfig; unused if is_program */
  double min, max;      
  const char *choices;   /* "ppo|ppo_ewma" for enums, else NULL */
  const char *unit, *help, *def; /* def: default as canonical text */
  bool identity;         /* whether the setting is part of the run id */
  bool is_program;       /* setting of a user program (core/config/script.h): section "settings", name == key */
  const struct CoreConfigRow *equivalent; /* is_program: the number of config.def with the same meaning; NULL: none */
} CoreConfigRow;

CoreConfig core_config_default(void);
enum { CORE_CONFIG_ROWS_MAX = 4096 };
/* Returns the table, followed by the settings of all user programs that this process has read. It grows up to
 * CORE_CONFIG_ROWS_MAX rows and never moves; size arrays with an element per row by that limit. */
const CoreConfigRow *core_config_rows(size_t *count);
/* Returns the rows of config.def alone. */
const CoreConfigRow *core_config_trainer_rows(size_t *count);
const CoreConfigRow *core_config_find(const char *name); /* NULL if unknown */
/* Finds the setting, or the column of results.db, that other PPO implementations call `word` (synonyms.def):
 * "clip_coef", "--ent-coef", "losses/approx_kl". NULL: not a synonym. */
const char *core_config_find_synonym(const char *word);
/* Returns what to suggest for an unknown setting: its synonym, or the nearest of candidates[count]; NULL: none. */
const char *core_config_suggest(const char *word, const char *const *candidates, size_t count);
const char *core_config_find_metric_synonym(const char *word);
/* Finds the setting with the same meaning as a program's setting of this name: a synonym, or a key of [ppo]. */
const CoreConfigRow *core_config_find_equivalent(const char *name);

/* Sets one value from text; numbers may have a suffix (50k is 50000 and gives the same id). Leaves `config`
 * unchanged on an error. CORE_USAGE: unknown name (the message suggests the nearest), wrong type, out of range, or
 * text that is too long, not UTF-8 or contains control characters. The message names the key; callers that read a
 * file prefix "file:line:column: ": core_ini_error(ini, entry, "%s", core_error_message()). */
int core_config_set(CoreConfig *config, const char *name, const char *value);
/* Sets one value from "key=value", the argument of --set. */
int core_config_set_pair(CoreConfig *config, const char *pair);
/* Formats one value as canonical text, which core_config_set reads back to the same value. */
const char *core_config_get(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

/* Reads a run's config file (only known sections and keys, each once) into `config`, which stays unchanged on an
 * error. */
int core_config_read(const char *path, CoreConfig *config);
/* Does it for text; `file` is its name in messages. */
int core_config_parse(const char *file, const char *text, CoreConfig *config);
/* Loads the configuration of --config and --set: the defaults, overridden by the file at `path` (NULL: none),
 * overridden by the pairs in their order. Calls core_config_check. */
int core_config_load(const char *path, const char **pairs, size_t count, CoreConfig *config);
/* Does the second part, for a configuration that was read from `path`. */
int core_config_override(const char *path, const char **pairs, size_t count, CoreConfig *config);
/* Computes the configuration to execute: [scale] is applied to env.num, ppo.num_minibatches and the learning rates,
 * then reset. Idempotent. The run id is that of the unresolved configuration. CORE_USAGE names scheme, factor and
 * the setting that would not be an integer or would leave its range. */
int core_config_resolve(const CoreConfig *config, CoreConfig *resolved);
bool core_config_has_no_envs(const CoreConfig *config); /* noisy_sgd: [env], [ppo], [net], [eval] are unused */
bool core_config_has_curriculum(const CoreConfig *config); /* env.curriculum: new levels in every iteration */
bool core_config_is_scaled(const CoreConfig *config); /* whether scale.scheme is set */

/* Validates combinations of settings (N*K divisible by M, levels given for task levels ...). CORE_USAGE names both. */
int core_config_check(const CoreConfig *config);

/* Appends all values, as an INI file for core_config_read, or as JSON {"env":{"num":2048,...},...} with numbers
 * as numbers (infinity, which JSON lacks, as "inf"; of a program, "infinite":["lr"] lists such settings). With a
 * scale.scheme the JSON also has the scaled values:
 * "resolved":{"env_num":..,"ppo_num_minibatches":..,"minibatch":..,"ppo_learning_rate":..}. */
void core_config_to_ini(const CoreConfig *config, CoreText *text);
void core_config_to_json(const CoreConfig *config, CoreText *text);
/* Returns one setting as a JSON value of its type; infinity, which JSON lacks, as "inf". The caller owns the result. */
json_t *core_config_setting_json(const CoreConfig *config, const CoreConfigRow *row);

/* Incremental formatter for configurations that differ little, such as the runs of a sweep: unchanged settings are
 * copied from the previous text, which takes a tenth of the time. Zero-initialize it. */
typedef struct CoreConfigJson {
  CoreConfig config;     /* previous configuration */
  CoreText text, spare;  /* JSON of `config`; buffer for the next one */
  size_t *ends;          /* [rows] end offset of each setting in `text`; NULL before the first call */
} CoreConfigJson;
/* Formats `config`. The text is valid until the next call. */
const char *core_config_json(CoreConfigJson *json, const CoreConfig *config);
void core_config_json_free(CoreConfigJson *json);

/* Returns a pointer to a setting's value, whose type depends on row->kind: int64_t, double, bool or text. Points to
 * 0 or "" if the configuration lacks a program's setting. */
const void *core_config_field(const CoreConfig *config, const CoreConfigRow *row);
/* Whether the setting has the same value in both configurations. */
bool core_config_value_equals(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row);

/* Computes the run id: BLAKE2b-64 (libsodium, crypto_generichash with 16-byte output, first 8 bytes) of "name=value\n"
 * for each identity row that differs from its default, in the table's order, as 16 hex digits. */
void core_config_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* Whether a run of this configuration reads the setting (core/config/config_reads.def). ppo.com has no effect unless
 * algo.name is ppo_ewma, nor env.levels unless env.task is levels. */
bool core_config_is_read(const CoreConfig *config, const CoreConfigRow *row);
/* Appends why a setting is not read: "ppo.com is read only if algo.name is ppo_ewma, but it is ppo". */
void core_config_append_unread_reason(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);
/* Appends a change that would make it read: "set algo.name = ppo_ewma". */
void core_config_append_remedy(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

/* Appends the canonical text of a run's cell: the resolved configuration without train.seed, execution settings and
 * settings that are not read. Runs with the same cell and train.seed are duplicates, whatever their ids. init.from
 * counts as written. */
void core_config_cell(const CoreConfig *config, CoreText *text);
/* Computes the hash of the cell, in the format of core_config_id. */
void core_config_cell_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* Computes a hash of all settings that affect whether a run starts and how much memory it needs: includes execution
 * settings, but not the seed, the learning rate and other FREE settings. */
void core_config_start_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* Lists the widths of a tower's (the trunk's) hidden layers: net.widths (net.trunk_widths), or net.depth layers of
 * net.width (net.trunk_*). Returns their number. Requires that core_config_check passed. */
int core_config_tower_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]);
int core_config_trunk_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]);

/* Quantities derived from a configuration, resolved or not. */
int64_t core_config_transitions_per_iteration(const CoreConfig *config); /* N*K */
int64_t core_config_sequence_length(const CoreConfig *config); /* steps of a recurrent policy's sequences; else 1 */
int64_t core_config_iterations(const CoreConfig *config);                /* ceil(total_steps / (N*K)) */

void core_config_help(CoreHelp *help);  /* table of settings for `trainer --help` */
void core_config_to_markdown(CoreText *text); /* docs/config.md */

/* ---- origins of initial weights ---------------------------------------------------------------------------------- */

/* Origin of a run's initial weights (init.from): "run:<id>", "run:<id>@<iteration>", or the path of a checkpoint. */

typedef struct CoreOrigin {
  bool is_run;             /* whether the origin is a run; else it is the path of a file */
  char run[CORE_RUN_ID];
  int64_t iteration;       /* -1: the newest checkpoint */
} CoreOrigin;

/* Parses init.from. CORE_USAGE: it starts with "run:", but is not of the form above. */
int core_origin_parse(const char *text, CoreOrigin *origin);

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* The task of a run: the settings that define what it is trained on. Scores are compared only within a task. */

/* Comma-separated list of these settings: "env.task,env.levels,...". */
extern const char core_config_task_keys[];

/* Whether both configurations have the same task. */
bool core_config_is_same_task(const CoreConfig *a, const CoreConfig *b);

#endif
