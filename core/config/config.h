/* The one configuration table (config.def) as a struct, a parser, canonical text, JSON, help and a run id. */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/help.h"
#include "core/ini.h"
#include "core/text.h"

enum { CORE_CONFIG_TEXT = 256, CORE_RUN_ID = 17 /* 16 hex digits and NUL */ };
enum { CORE_CONFIG_LAYERS_MAX = 16, CORE_CONFIG_WIDTH_MAX = 16384 }; /* of a tower or a trunk */

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
  const CoreScript *program; /* a user's program, which runs instead of the trainer; NULL: none */
} CoreConfig;

typedef enum CoreConfigKind {
  CORE_CONFIG_INT, CORE_CONFIG_REAL, CORE_CONFIG_BOOL, CORE_CONFIG_ENUM, CORE_CONFIG_STRING
} CoreConfigKind;

typedef struct CoreConfigRow {
  const char *name;      /* "ppo.epsilon" */
  const char *section, *key;
  CoreConfigKind kind;
  size_t offset;         /* into CoreConfig; of no meaning where is_program */
  double lowest, highest;
  const char *choices;   /* "ppo|ppo_ewma" for enums, else NULL */
  const char *unit, *help, *def; /* def: the default as canonical text */
  bool identity;         /* part of the run id */
  bool is_program;       /* a setting of [settings] (core/config/script.h): section "settings", name and key alike */
} CoreConfigRow;

CoreConfig core_config_default(void);
enum { CORE_CONFIG_ROWS_MAX = 4096 };
/* The table, and behind it the settings of all programs that this process has met. Grows up to CORE_CONFIG_ROWS_MAX,
 * never moves: what is kept for each row has room for that many. */
const CoreConfigRow *core_config_rows(size_t *count);
/* The table alone. */
const CoreConfigRow *core_config_own_rows(size_t *count);
const CoreConfigRow *core_config_find(const char *name);       /* NULL when unknown */
/* Finds the setting, or the column of results.db, that other PPO implementations call `word` (synonyms.def):
 * "clip_coef", "--ent-coef", "losses/approx_kl". NULL: not a synonym. */
const char *core_config_find_synonym(const char *word);
const char *core_config_find_metric_synonym(const char *word);

/* Sets one value from text, numbers also with a suffix (50k is 50000, and gives the same id); `config` stays as it was
 * on an error. CORE_USAGE: unknown name (with the nearest known), wrong type, out of range, text that is too long, no
 * UTF-8, or holds control characters. The message names the key; who read a file puts "file:line:column: " before it:
 * core_ini_error(ini, entry, "%s", core_error_message()). */
int core_config_set(CoreConfig *config, const char *name, const char *value);
/* The same for "key=value", as --set takes it. */
int core_config_set_pair(CoreConfig *config, const char *pair);
/* Canonical text of one value: what core_config_set reads back to the same value. */
const char *core_config_get(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

/* Reads a run's config file (only known sections and keys, each once) over `config`; all of it or nothing. */
int core_config_read(const char *path, CoreConfig *config);
/* What --config and --set say: the defaults, under the file at `path` (NULL: none), under the pairs in their order; and
 * core_config_check. */
int core_config_load(const char *path, const char **pairs, size_t count, CoreConfig *config);
/* The configuration that is run: [scale] applied to env.num, ppo.num_minibatches and the learning rates, and taken
 * out. Once resolved it resolves to itself. The id is that of the configuration as written. CORE_USAGE names scheme,
 * factor and what does not come out whole or leaves its range. */
int core_config_resolve(const CoreConfig *config, CoreConfig *resolved);
bool core_config_has_no_worlds(const CoreConfig *config); /* noisy_sgd: [env], [ppo], [net], [eval] mean nothing */
bool core_config_has_curriculum(const CoreConfig *config); /* env.curriculum: levels are new in every iteration */
bool core_config_is_scaled(const CoreConfig *config); /* is a scale.scheme given? */

/* Checks between keys (N*K divisible by M, levels given for task levels ...). CORE_USAGE names both keys. */
int core_config_check(const CoreConfig *config);

/* Appends all values, as an INI file that core_config_read takes, or as JSON {"env":{"num":2048,...},...} with numbers
 * as numbers (infinity, which JSON lacks, as "inf"). With a scale.scheme the JSON also holds what it comes to:
 * "resolved":{"env_num":..,"ppo_num_minibatches":..,"minibatch":..,"ppo_learning_rate":..}. */
void core_config_to_ini(const CoreConfig *config, CoreText *text);
void core_config_to_json(const CoreConfig *config, CoreText *text);
/* One setting as a JSON value of its own type; infinity, which JSON lacks, is the text "inf". Caller: json_decref. */
json_t *core_config_setting_json(const CoreConfig *config, const CoreConfigRow *row);

/* The JSON of one configuration after another that differ little, as the runs of a sweep: settings that are the last
 * one's are copied, not written anew (a tenth of the time). Zero-initialise; the text is good until the next call. */
typedef struct CoreConfigJson {
  CoreConfig config;     /* the last one */
  CoreText text, spare;  /* its text; memory for the next */
  size_t *ends;          /* of each setting in it; NULL before the first */
} CoreConfigJson;
const char *core_config_json(CoreConfigJson *json, const CoreConfig *config);
void core_config_json_free(CoreConfigJson *json);

/* Pointer to a setting's value, of the type that row->kind says: int64_t, double, bool or text. A configuration that
 * lacks a program's setting has 0 or "". */
const void *core_config_field(const CoreConfig *config, const CoreConfigRow *row);
/* Has the setting the same value in both? */
bool core_config_same_value(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row);

/* BLAKE2b-64 (libsodium, crypto_generichash with 16-byte output, first 8 bytes) of "name=value\n" for each identity row
 * that differs from its default, in the table's order: 16 hex digits. */
void core_config_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* Does a run of this configuration read the setting (core/config/config_reads.def)? ppo.com does nothing unless
 * algo.name is ppo_ewma, env.levels nothing unless env.task is levels. */
bool core_config_is_read(const CoreConfig *config, const CoreConfigRow *row);
/* Appends "ppo.com is read only where algo.name is ppo_ewma, and here it is ppo" for a setting that is not read. */
void core_config_why_unread(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);
/* Appends what would have it read: "set algo.name = ppo_ewma". */
void core_config_append_remedy(const CoreConfig *config, const CoreConfigRow *row, CoreText *text);

/* The cell that a run stands in: what all its seeds have in common. Canonical text as core_config_id's, of the resolved
 * configuration, without train.seed, without manners and without settings that are not read; and its hash. Runs of one
 * cell and one train.seed are copies of one another, whatever their ids. init.from counts as it is written. */
void core_config_cell(const CoreConfig *config, CoreText *text);
void core_config_cell_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* A hash of all that decides whether a run starts, and how much memory it takes: manners count, the seed, the learning
 * rate and the like do not. */
void core_config_start_id(const CoreConfig *config, char id[CORE_RUN_ID]);

/* Hidden layers of each tower, or of the trunk, into width[]: those of net.widths or net.trunk_widths, else net.depth
 * of net.width and so on. Gives how many. core_config_check has seen the texts. */
int core_config_tower_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]);
int core_config_trunk_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]);

/* What follows from a config, resolved or not. */
int64_t core_config_transitions_per_iteration(const CoreConfig *config); /* N*K */
int64_t core_config_sequence_length(const CoreConfig *config); /* steps that a policy with memory learns from; else 1 */
int64_t core_config_iterations(const CoreConfig *config);                /* ceil(total_steps / (N*K)) */

void core_config_help(CoreHelp *help);  /* the table for `trainer --help` */
void core_config_to_markdown(CoreText *text); /* docs/config.md */

#endif
