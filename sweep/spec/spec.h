/* Experiment file, read and resolved: fixed configuration, grid blocks, zips, searches and seeds. First step of sweep
 * plan and submit; grid.h expands it to runs. docs/experiments.md explains the format.
 *
 *   [sweep]              name = NAME (required)   seeds = a count n (0..n-1) or a list; default 1
 *                        grids = selected blocks, default all
 *                        unread = refuse (default), or allow settings that the algorithm does not read
 *                        plan = FILE, the plan of the study; each run records its SHA-256
 *   [env] [ppo] ...      one value per setting, for all runs (core/config/config.def)
 *   [grid NAME]          full names: "ppo.com = 8, 16, 32". Cartesian product of its lists. Several blocks: their
 *                        union. No block: one configuration. A grid's value overrides that of a section.
 *   [zip NAME]           lists of equal length that advance together: one axis, multiplied into every grid block
 *   [search NAME]        settings drawn from ranges and choices (core/search/search.h); each trial is multiplied into
 *                        every grid block. Several searches: their union. seeds: as in [sweep]
 *   [profile NAME]       full names: config settings, sweep.*, slurm.*, stop.*; override the sections above
 *   [profile NAME grid BLOCK], [profile NAME zip BLOCK], [profile NAME search BLOCK]   replace that whole block
 *   [slurm]              resources (slurm/settings.def): of runs on a cluster. slurm.* in a [grid] or
 *                        [search] overrides it for its runs (resources.h)
 *   [stop]               rule of early stopping (stop_rule.def)
 *
 * Order of precedence for a setting: --set, then grid or zip, then [profile], then its section, then the default.
 * --set may replace a fixed value of a block, but not an axis of several values, which it would collapse. train.seed is
 * set by sweep.seeds only.
 *
 * Every error is "file:line:column: ..." with the nearest known name (--set: "--set key=value: ..."). */
#ifndef SWEEP_SPEC_H
#define SWEEP_SPEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/ini.h"
#include "core/search/search.h"
#include "core/sha256.h"
#include "core/text.h"
#include "slurm/settings.h"
#include "sweep/spec/stop_rule.h"
#include "sweep/spec/value_list.h"

enum { SWEEP_NAME = 65 /* core_text_check_name's 64 and NUL */ };

/* A checked slurm.* setting, as text; the local executor does not use them. */
typedef struct SweepResource {
  const char *key, *value;   /* key without "slurm." */
  const CoreIniEntry *entry; /* line in a block; NULL: setting of the sweep */
} SweepResource;

/* [grid NAME] or [zip NAME]. Each list of a grid is an axis; all lists of a zip are one. */
typedef struct SweepBlock {
  char name[SWEEP_NAME];
  const CoreIniEntry *entry; /* section line */
  SweepValueList *lists;
  size_t count;
  SweepResource *resources; /* override those of the sweep (resources.h); none in a zip */
  size_t resource_count;
  bool is_trainer; /* grid with program = no in a file with a [program]: its runs are the trainer's */
} SweepBlock;

/* [search NAME]; see sweep/spec/search.h. */
typedef struct SweepSearch {
  char name[SWEEP_NAME];
  const CoreIniEntry *entry; /* section line */
  CoreSearch space;
  SweepBlock block; /* one list of `trials` values per setting: the proposed trials; and resources */
  size_t trials;
  int64_t *wave; /* [trials] wave in which each was proposed; 0: it follows from the file */
} SweepSearch;

typedef struct SweepSpec {
  char name[SWEEP_NAME];
  char profile[SWEEP_NAME];   /* "": none */
  bool frozen;                /* read from sweeps/<name>/sweep.ini, which is already resolved */
  CoreConfig base;            /* with sections, profile and --set applied; train.seed has no meaning */
  CoreConfig trainer;         /* base of grids with program = no, in a file with a [program] */
  bool is_mixed;              /* whether there are such grids */
  int64_t *seeds;
  size_t seed_count;
  SweepBlock *grids, *zips; /* selected by the profile and sweep.grids */
  size_t grid_count, zip_count;
  SweepSearch *searches;
  size_t search_count;
  SweepResource *resources;
  size_t resource_count;
  SweepStop stop;             /* rule SWEEP_STOP_NONE: no early stopping */
  bool unread_allowed;        /* sweep.unread = allow (check.h) */
  char plan[CORE_PATH_MAX];   /* absolute path of sweep.plan; "": none */
  char plan_hash[CORE_SHA256]; /* its SHA-256 at submission, which each run records (core_script_plan) */
  CoreText code_skipped;      /* code of the [program] that is not hashed: StoreScriptFiles.skipped */
  bool is_code_unknown;       /* no file of its command was found */
  bool is_own_file;           /* whether only this user can have written it: such a sweep is trusted (trust.h) */
  CoreText doubt;             /* why it is not: "the group lab can change it (chmod g-w exp.ini)" */
  size_t extended_seeds; /* number of seeds that sweep submit --seeds has added (extension.h) */

  CoreIni ini;                /* parsed file: names and lines for messages */
  CoreText source;            /* text of the file */
  char **sets;                /* --set as given */
  size_t set_count;
} SweepSpec;

/* Reads and resolves a file. profile NULL: none. CORE_FAIL: it cannot be read; CORE_USAGE: any other error. On error
 * the spec is already freed. Caller calls sweep_spec_free. */
int sweep_spec_read(const char *path, const char *profile, const char *const *sets, size_t set_count, SweepSpec *spec);
/* Reads and resolves text; `name` is the name of the file in messages. */
int sweep_spec_parse(const char *name, const char *text, const char *profile, const char *const *sets,
                     size_t set_count, SweepSpec *spec);
void sweep_spec_free(SweepSpec *spec);

/* Applies the site's settings (slurm/site.h), then those of the experiment's [slurm], to `settings`. CORE_USAGE: some
 * conflict. */
int sweep_spec_slurm(const SweepSpec *spec, SlurmSettings *settings);

/* ---- freeze.c ---------------------------------------------------------------------------------------------------- */

/* Appends comments on its origin (file, profile, --set), the resolved experiment, which sweep_spec_parse parses to the
 * same runs in the same order, and the original text as comments. */
void sweep_freeze_print(const SweepSpec *spec, CoreText *text);

#endif
