/* Runs of other tools as runs of a workspace: files of TensorBoard and Weights & Biases, and tables (CSV). A reader
 * finds the runs below a path with their settings, and then passes the records of each to a sink. import_write.c makes
 * them runs of a program that is never started. */
#ifndef ANALYSIS_IMPORT_H
#define ANALYSIS_IMPORT_H
#include "core/command/options.h"
#include "store/workspace/run.h"
#include "sweep/program/source.h"

typedef struct ImportSetting {
  char *name, *value;
  bool is_text;              /* the source says that it is a text, whatever it looks like */
} ImportSetting;

typedef struct ImportRun {
  char *path;                /* file or directory */
  char *label;               /* for messages: the path, and what tells its runs apart */
  ImportSetting *settings;   /* [setting_count] */
  size_t setting_count;
  long *lines;               /* [line_count] offsets of its lines in a table that several runs share; NULL: all lines */
  size_t line_count, line_capacity;
  StoreStatus status;
  char message[256];         /* why it has failed */
  double started_unix_s;     /* 0: unknown */
  int64_t seed;
  char id[CORE_RUN_ID];
} ImportRun;

typedef struct ImportOptions {
  const char *root_option, *sweep, *name, *by, *pattern, *seed, *step, *goal;
  CoreOptionList set, drop, metric;
  bool json;
} ImportOptions;

typedef struct Import {
  const ImportOptions *options;
  ImportRun *runs;           /* [count] */
  size_t count, capacity;
  ProgramNames names;        /* names of all metrics */
  char step[CORE_SCRIPT_NAME], goal[CORE_SCRIPT_NAME + 8]; /* "global_step"; "max return", "": none */
  bool has_warned;           /* whether values that are not numbers have been reported */
  int64_t damaged;           /* lines and records that could not be read */
} Import;

typedef struct ImportReader {
  const char *kind, *source; /* "csv", "tables" */
  /* Adds the runs of a file, or of all files below a directory. operand: the path as the user gave it. CORE_FAIL: a
   * file cannot be read; CORE_USAGE: it is of another kind. */
  int (*find)(Import *import, const char *operand);
  /* Passes the records of a run on. home: its directory in the workspace. */
  int (*read)(const Import *import, const ImportRun *run, const char *home, ProgramSink *sink);
} ImportReader;

extern const ImportReader import_csv, import_tensorboard, import_wandb;

/* Adds a run; valid until the next one is added. */
ImportRun *import_add_run(Import *import, const char *path, const char *label);
/* Adds a setting, or replaces its value. Names become those of settings (letters, digits, '.', '_' and '-'), and values
 * one line of text. */
void import_set(ImportRun *run, const char *name, size_t name_length, const char *value, bool is_text);
/* Adds the settings in a path below the operand by --path: "{env}__{seed}" in "Ant__3". CORE_USAGE: the path is of
 * another form. */
int import_set_by_path(const ImportOptions *options, const char *path, const char *operand, ImportRun *run);
void import_free(Import *import);

/* Calls visit with each file below `operand` whose name ends with `ending` (or is `operand` itself), at most eight
 * levels deep: a directory's files by name, then those of its directories. CORE_FAIL: `operand` cannot be read, or has
 * no such file. */
int import_walk(const char *operand, const char *ending, const char *what,
                int (*visit)(void *context, const char *path), void *context);

/* Writes the runs into the workspace at `root` and into results.db, and prints what was imported. */
int import_write(const char *root, const ImportReader *reader, Import *import);

#endif
