/* Settings of a user's program: what [program], [settings] and [metric] of an experiment file say. A CoreConfig
 * with a program is a run of that program: its settings are the program's own, and of the table in config.def only
 * train.seed and train.threads count.
 *
 * A CoreScript is immutable and lives as long as the process; equal ones are one object, so configurations are copied
 * and compared by their pointers. Each setting gets a CoreConfigRow behind those of config.def (core_config_find finds
 * it by its name), so that grids, searches and groups treat it as any other. Two programs may have settings of one
 * name; they share its row, and what a value may be is the program's to say. */
#ifndef CORE_SCRIPT_H
#define CORE_SCRIPT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/help.h"
#include "core/ini.h"
#include "core/text.h"

typedef enum CoreScriptKey {
#define KEY(key, def, identity, help) CORE_SCRIPT_##key,
#include "core/config/script.def"
#undef KEY
  CORE_SCRIPT_KEYS
} CoreScriptKey;

enum { CORE_SCRIPT_SETTINGS_MAX = 256, CORE_SCRIPT_METRICS_MAX = 256, CORE_SCRIPT_NAME = 65 };

typedef struct CoreScriptSetting {
  const CoreConfigRow *row;
  CoreConfigKind kind;      /* INT, REAL, ENUM or STRING, by the default's text */
  const char *choices;      /* "mlp|cnn" of an ENUM, else NULL */
} CoreScriptSetting;

/* [metric]: the column `ours` holds the program's metric `theirs`. */
typedef struct CoreScriptMetric { const char *ours, *theirs; } CoreScriptMetric;

typedef struct CoreScriptDefinition {
  const char *text[CORE_SCRIPT_KEYS];
  const CoreScriptSetting *settings;
  const CoreScriptMetric *metrics;
  size_t setting_count, metric_count;
} CoreScriptDefinition;

/* One value: its canonical text, and that text as a number (0 where it is none). */
typedef struct CoreScriptValue {
  int64_t integer;
  double real;
  char text[];
} CoreScriptValue;

struct CoreScript {
  const CoreScriptDefinition *definition;
  const CoreScriptValue *values[]; /* [definition->setting_count] */
};

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Reads the three sections out of `ini`; *program NULL: it has no [program]. The values are the defaults. CORE_USAGE
 * with file, line and column: unknown keys, a command that cannot be split, a placeholder, regular expression or step
 * that does not go with the settings. */
int core_script_read(const CoreIni *ini, const CoreScript **program);
/* Whether lines of this section are core_script_read's. */
bool core_script_is_section(const char *section);
/* Makes a program of what results.db keeps as run.config: {"program": {...}, "settings": {...}, "train": {...}}.
 * *program NULL: the object describes none. */
int core_script_from_json(const json_t *config, const CoreScript **program);
/* Copy of a program with another text for one key. */
const CoreScript *core_script_with(const CoreScript *program, CoreScriptKey key, const char *text);

/* Makes `config` a run of `program` and derives train.total_steps from its step. */
void core_script_attach(CoreConfig *config, const CoreScript *program);
/* Sets one setting; core_config_set calls it. CORE_USAGE: unknown (with the nearest), wrong type, no choice. */
int core_script_set(CoreConfig *config, const char *name, const char *value);
/* Value of a row; NULL: the configuration has no such setting. */
const CoreScriptValue *core_script_value(const CoreScript *program, const CoreConfigRow *row);
/* Setting of that name; NULL: none. */
const CoreScriptSetting *core_script_find(const CoreScript *program, const char *name);

/* ---- what it says ------------------------------------------------------------------------------------------------ */

const char *core_script_text(const CoreScript *program, CoreScriptKey key);
/* The name of the step metric, and the steps of a whole run by the present values; 0: not known. */
void core_script_step(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *total);
/* The metric of the goal and its sign, +1 for max; false: there is no goal. */
bool core_script_goal(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *sign);

/* Appends [program], [settings] and [metric] as core_script_read takes them, the present values as defaults. */
void core_script_to_ini(const CoreScript *program, CoreText *text);
/* Appends {"program": {...}, "settings": {...}, "train": {"seed": .., "total_steps": ..}}. */
void core_script_to_json(const CoreConfig *config, CoreText *text);
/* Appends {"lr": 0.1, "net": "mlp", "anneal": true, ...}: {config}. */
void core_script_settings_to_json(const CoreScript *program, CoreText *text);
/* Appends what the run id is the hash of: "program 1\n", the identity keys, "NAME=VALUE\n" of every setting in the
 * order of the names, and the seed where `seed`. All values count, those that are defaults too: a default in a
 * user's file may be edited, and runs must not change their meaning under the same id. */
void core_script_canonical(const CoreConfig *config, bool seed, CoreText *text);

/* The keys of [program], for --help. */
void core_script_help(CoreHelp *help);

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Values of placeholders in one run; NULL: any text, for checks. */
typedef struct CoreScriptRun {
  const char *id, *dir, *config;
  int64_t seed;
} CoreScriptRun;

/* Words of `text` (a command line, resume, or one of FILE and DIR) with placeholders filled in. The array ends with
 * NULL; core_script_words_free. CORE_USAGE: an open quote, a brace without its end, an unknown placeholder (with the
 * nearest). */
int core_script_words(const CoreScript *program, const char *text, const CoreScriptRun *run, char ***words,
                       size_t *count);
void core_script_words_free(char ***words);

/* Directory that the command is started in: cwd, below the directory of the experiment file. */
int core_script_folder(const CoreScript *program, char folder[CORE_PATH_MAX]);

/* Kinds of [program] metrics. */
typedef enum CoreScriptSource {
  CORE_SCRIPT_JSONL, CORE_SCRIPT_CSV, CORE_SCRIPT_STDOUT, CORE_SCRIPT_TENSORBOARD
} CoreScriptSource;
/* Splits [program] metrics. place: FILE or DIR, or "NAME[,NAME]=REGEX"; "" of jsonl. CORE_USAGE: none of the four. */
int core_script_source(const char *metrics, CoreScriptSource *source, const char **place);

#endif
