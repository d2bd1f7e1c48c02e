/* User programs: the sections [program], [settings] and [metric] of an experiment file. A CoreConfig with a program
 * is a run of that program: its settings are the program's, and of config.def only train.seed and train.threads
 * apply.
 *
 * A CoreScript is immutable and never freed. Equal programs are interned as one object, so configurations are copied
 * and compared by pointer. Each setting gets a CoreConfigRow after those of config.def (core_config_find finds it by
 * name), so that grids, searches and groups treat it as any other. Programs with settings of the same name share its
 * row, but each program defines the valid values. */
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
  CoreConfigKind kind;      /* INT, REAL, ENUM or STRING, inferred from the default */
  const char *choices;      /* "mlp|cnn" for an ENUM, else NULL */
} CoreScriptSetting;

/* Row of [metric]: `column` stores the program's metric `name`. */
typedef struct CoreScriptMetric { const char *column, *name; } CoreScriptMetric;

typedef struct CoreScriptDefinition {
  const char *text[CORE_SCRIPT_KEYS];
  const CoreScriptSetting *settings;
  const CoreScriptMetric *metrics;
  size_t setting_count, metric_count;
} CoreScriptDefinition;

/* Value of a setting: its canonical text, and that text as a number (0 if it is not one). `written` is what the command
 * gets: the user's own spelling of a number ("1.10", "1e-3"), which is no part of the run id. */
typedef struct CoreScriptValue {
  int64_t integer;
  double real;
  const char *written;
  char text[];
} CoreScriptValue;

struct CoreScript {
  const CoreScriptDefinition *definition;
  const CoreScriptValue *values[]; /* [definition->setting_count] */
};

/* ---- creation and values ----------------------------------------------------------------------------------------- */

/* Reads the three sections from `ini`, with the defaults as values; *program NULL: there is no [program]. CORE_USAGE
 * with file, line and column: unknown keys, a command that cannot be split, or a placeholder, regular expression or
 * step that does not match the settings. */
int core_script_read(const CoreIni *ini, const CoreScript **program);
/* Whether core_script_read reads this section. */
bool core_script_is_section(const char *section);
/* Creates a program from run.config of results.db: {"program": {...}, "settings": {...}, "train": {...}}. *program
 * NULL: the object does not describe one. */
int core_script_from_json(const json_t *config, const CoreScript **program);
/* Returns a copy of a program with one key changed. */
const CoreScript *core_script_with(const CoreScript *program, CoreScriptKey key, const char *text);
/* Checks the values of all keys, as core_script_read does. CORE_USAGE: one is invalid; the message names it. */
int core_script_check(const CoreScript *program);

/* Returns the SHA-256 of the plan that a run has recorded, of a program or of the trainer; "": none. */
const char *core_script_plan(const CoreConfig *config);
/* Records it. */
void core_script_set_plan(CoreConfig *config, const char *hash);

/* Makes `config` a run of `program` and derives train.total_steps from its step. */
void core_script_attach(CoreConfig *config, const CoreScript *program);
/* Sets one setting; called by core_config_set. CORE_USAGE: unknown (suggests the nearest), wrong type, invalid
 * choice. */
int core_script_set(CoreConfig *config, const char *name, const char *value);
/* Returns the value of a row; NULL: the program has no such setting. */
const CoreScriptValue *core_script_value(const CoreScript *program, const CoreConfigRow *row);
/* Returns the setting of that name; NULL: none. */
const CoreScriptSetting *core_script_find(const CoreScript *program, const char *name);

/* ---- accessors and formats --------------------------------------------------------------------------------------- */

const char *core_script_text(const CoreScript *program, CoreScriptKey key);
/* Gets the name of the step metric, a run's total steps under the current values (0: unknown), and whether steps are
 * the sums of this metric so far. */
void core_script_step(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *total, bool *is_sum);
/* Gets the goal's metric and its sign, +1 for max. Returns false if there is no goal. */
bool core_script_goal(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *sign);

/* Whether a program's setting cannot have this name: it is a placeholder of the command, or a setting of sweep or the
 * trainer. */
bool core_script_is_taken(const char *name);
/* Appends [program], [settings] and [metric] in the format of core_script_read, with the current values as defaults. */
void core_script_to_ini(const CoreScript *program, CoreText *text);
/* Appends {"program": {...}, "settings": {...}, "train": {"seed": .., "total_steps": ..}}. */
void core_script_to_json(const CoreConfig *config, CoreText *text);
/* Appends {"lr": 0.1, "net": "mlp", "anneal": true, ...}: {config}. */
void core_script_settings_to_json(const CoreScript *program, CoreText *text);
/* Appends the text whose hash is the run id: "program 1\n", the identity keys, "NAME=VALUE\n" of every setting
 * sorted by name, and the seed if `with_seed`. Default values are included: users may edit the defaults in their
 * files, and an id must not change its meaning. */
void core_script_canonical(const CoreConfig *config, bool with_seed, CoreText *text);

/* Adds the keys of [program] to the help. */
void core_script_help(CoreHelp *help);

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Values of the placeholders for one run. */
typedef struct CoreScriptRun {
  const char *id, *dir, *config;
  int64_t seed;
} CoreScriptRun;

/* Whether the setting is a choice of True and False, true and false, yes and no, or on and off. */
bool core_script_is_boolean(const CoreScriptSetting *setting);
/* Splits `text` (command, resume, FILE or DIR) into words and expands placeholders. The array ends with NULL;
 * release it with core_script_argv_free. run NULL: validates only. CORE_USAGE: an unterminated quote or brace, or an
 * unknown placeholder (suggests the nearest). */
int core_script_argv(const CoreScript *program, const char *text, const CoreScriptRun *run, char ***argv,
                     size_t *count);
void core_script_argv_free(char ***argv);
/* Returns whether the text has a placeholder {NAME} or {NAME?...} of a setting. */
bool core_script_names(const char *text, const char *name);
/* Appends the words of `text` as a POSIX shell reads them: what the program gets, for people to read and to copy. */
int core_script_quote(const CoreScript *program, const char *text, const CoreScriptRun *run, CoreText *line);

/* Computes the working directory of the command: cwd, relative to the directory of the experiment file. */
int core_script_directory(const CoreScript *program, char directory[CORE_PATH_MAX]);

/* Computes the path of [program] metrics for a run: FILE or DIR, relative to the working directory. */
int core_script_metrics_path(const CoreScript *program, const CoreScriptRun *run, const char *directory,
                             const char *location, char path[CORE_PATH_MAX]);

/* Formats of [program] metrics. */
typedef enum CoreScriptSource {
  CORE_SCRIPT_JSONL, CORE_SCRIPT_CSV, CORE_SCRIPT_STDOUT, CORE_SCRIPT_TENSORBOARD
} CoreScriptSource;
/* Parses [program] metrics. location: FILE, DIR or "NAME[,NAME]=REGEX"; "" for jsonl without a file. CORE_USAGE:
 * unknown format. */
int core_script_source(const char *metrics, CoreScriptSource *source, const char **location);

#endif
