/* Contents of a file with all sections and profiles: output of spec.c and input of spec_resolve.c. */
#ifndef SWEEP_SPEC_INTERNAL_H
#define SWEEP_SPEC_INTERNAL_H
#include <sys/stat.h>

#include "sweep/spec/spec.h"

enum { SPEC_TOP = -1 /* profile index of lines outside profiles */ };

/* Value of a setting from a section, a profile or --set. */
typedef struct SpecSetting {
  const char *name;           /* full name: "ppo.epochs", "sweep.seeds", "slurm.time" */
  const CoreConfigRow *row;   /* NULL for sweep.*, slurm.* and stop.* */
  int profile;                /* index in SpecFile.profiles, or SPEC_TOP */
  const char *pair;           /* argument of --set; NULL: from the file */
  CoreIniEntry entry;         /* key, value and, if from the file, location */
} SpecSetting;

typedef struct SpecBlock {
  int profile;
  bool is_zip;
  SweepBlock block;
} SpecBlock;

typedef struct SpecSearch {
  int profile;
  SweepSearch search;
} SpecSearch;

typedef struct SpecProfile {
  char name[SWEEP_NAME];
  const CoreIniEntry *entry;
} SpecProfile;

/* Contents of a file, in its order. */
typedef struct SpecFile {
  SweepSpec *spec; /* result; ini, source and sets are already set */
  SpecSetting *settings;
  SpecBlock *blocks;
  SpecSearch *searches;
  SpecProfile *profiles;
  size_t setting_count, block_count, search_count, profile_count;
} SpecFile;

/* Adds the setting's location to the current error message. at_key: that of the key, not the value. */
int spec_setting_error(const SpecFile *file, const SpecSetting *setting, bool at_key);

/* Gets the directory of the experiment file, which paths in it are relative to. */
int spec_directory(const SpecFile *file, char directory[CORE_PATH_MAX]);

/* Opens [search NAME], at top level or in a profile (spec_search.c). *index: in file->searches. */
int spec_search_open(SpecFile *file, const CoreIniEntry *entry, int profile, const char *name, size_t *index);
/* Selects the searches of the profile into file->spec, checks them against blocks and settings, and samples the trials
 * that follow from the file. Call after the blocks. */
int spec_search_resolve(SpecFile *file, int profile);

/* Adds a slurm.* line of a [grid] or [search] (spec_resources.c). */
int spec_resource_add(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block);
/* Applies --set to the resources of selected blocks and checks them. Call after spec_search_resolve. */
int spec_resources_resolve(SpecFile *file, int profile);
/* Reads [program], [settings] and [metric] into the spec's base (spec_script.c). Call before all other sections. */
int spec_script_read(SpecFile *file);
/* Whether the file may use this setting: one of its program or, without a program, of the trainer. */
bool spec_script_has(const SpecFile *file, const CoreConfigRow *row);
/* Reads "program = no" of a grid. *is_switch: whether it is such a line. */
int spec_script_switch(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block, bool *is_switch);
/* Checks that each grid has settings of its kind of run only, and that zips and searches apply to one kind. */
int spec_script_check_blocks(const SpecFile *file);
/* Returns CORE_USAGE with a message for a setting that the program does not have, with the nearest one. */
int spec_script_unknown(const SpecFile *file, const char *name);
int spec_script_check_goal(const SpecFile *file, const char *value);
/* Returns the static name of "program.KEY", a key that profiles and --set may change; NULL: another name, or the file
 * has no [program]. */
const char *spec_script_key(const SpecFile *file, const char *name);
/* Checks a value of such a key. CORE_USAGE: the message has no location. */
int spec_script_check_key(const SpecFile *file, const char *name, const char *value);
/* Sets such a key of the spec's program. */
void spec_script_set_key(SpecFile *file, const char *name, const char *value);
/* Returns the names of these keys. */
const char *const *spec_script_keys(size_t *count);
/* Applies sweep.goal; NULL: not set. */
int spec_script_goal(SpecFile *file, const SpecSetting *goal);

/* Reads an experiment file, and the status of the very file that was read; st_mode 0: it is a pipe. */
int spec_own_read(const char *path, char **text, size_t *size, struct stat *status);
/* Sets is_own_file and doubt of an experiment file (spec_own.c). status: of the file that was read, whatever is now at
 * `path`; st_mode 0: a pipe. */
void spec_own_judge(const char *path, const struct stat *status, SweepSpec *spec);
/* Does it for the files of its program's code, once they are known. */
void spec_own_judge_code(SweepSpec *spec);
/* Records in the spec's program the directory of the experiment file `path`, the files of the code and their hash,
 * unless the file is frozen and has them. */
int sweep_script_set_directory(const char *path, SweepSpec *spec);

/* Selects the profile (NULL: none) and blocks, applies --set, and sets file->spec. Moves the selected blocks out of
 * `file`. */
int spec_resolve(SpecFile *file, const char *profile);

#endif
