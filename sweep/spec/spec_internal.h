/* What spec.c reads out of a file before spec_resolve.c decides what counts: all sections, all profiles. */
#ifndef SWEEP_SPEC_INTERNAL_H
#define SWEEP_SPEC_INTERNAL_H
#include "sweep/spec/spec.h"

enum { SPEC_TOP = -1 /* the profile number of what stands outside profiles */ };

/* One value for one setting: from a section, a profile, or --set. */
typedef struct SpecSetting {
  const char *name;           /* full: "ppo.epochs", "sweep.seeds", "slurm.time" */
  const CoreConfigRow *row;   /* NULL for sweep.*, slurm.* and stop.* */
  int profile;                /* number in SpecFile.profiles, or SPEC_TOP */
  const char *pair;           /* --set as given; NULL for the file's */
  CoreIniEntry entry;         /* key, value and, for the file's, place */
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

/* Everything a file says, in its order. */
typedef struct SpecFile {
  SweepSpec *spec;            /* the result: its ini, source and sets are there from the beginning */
  SpecSetting *settings;
  SpecBlock *blocks;
  SpecSearch *searches;
  SpecProfile *profiles;
  size_t setting_count, block_count, search_count, profile_count;
} SpecFile;

/* The present error message, with the setting's place before it. at_key: points at the key, not the value. */
int spec_setting_error(const SpecFile *file, const SpecSetting *setting, bool at_key);

/* [search NAME], on its own or in a profile: spec_search.c. *number: of file->searches. */
int spec_search_open(SpecFile *file, const CoreIniEntry *entry, int profile, const char *name, size_t *number);
/* Selects the searches of the profile into file->spec, checks them against its blocks and settings, and draws what
 * follows from the file. After the blocks. */
int spec_search_resolve(SpecFile *file, int profile);

/* slurm.* of a [grid] or [search]: spec_resources.c. Adds a line. */
int spec_resource_add(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block);
/* Applies --set to those of the selected blocks and checks them. After spec_search_resolve. */
int spec_resources_resolve(SpecFile *file, int profile);
/* [program], [settings] and [metric], into the spec's base: spec_script.c. Before all other sections. */
int spec_script_read(SpecFile *file);
/* Whether the file may name this setting: its program's, or without one the trainer's. */
bool spec_script_has(const SpecFile *file, const CoreConfigRow *row);
/* Reads "program = no" of a grid. *taken: it is such a line. */
int spec_script_switch(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block, bool *taken);
/* Whether each grid names settings of its own kind of run only; zips and searches go with one kind. */
int spec_script_check_blocks(const SpecFile *file);
/* CORE_USAGE: the file's program has no such setting; the nearest. */
int spec_script_unknown(const SpecFile *file, const char *name);
int spec_script_check_goal(const SpecFile *file, const char *value);
/* goal: sweep.goal as it counts; NULL: not given. */
int spec_script_goal(SpecFile *file, const SpecSetting *goal);

/* Second half: selects the profile (NULL: none) and the blocks, applies --set, fills file->spec. Blocks that it takes
 * are emptied in `file`. */
int spec_resolve(SpecFile *file, const char *profile);

#endif
