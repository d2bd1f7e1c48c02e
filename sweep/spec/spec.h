/* An experiment file, read and resolved: the fixed configuration, the grid blocks, the zips, the seeds.
 * First step of sweep plan and submit; grid.h makes runs of it. The grammar for people: docs/experiments.md.
 *
 *   [sweep]              name = NAME (required)   seeds = a count n (0..n-1) or a list; default 1
 *                        grids = the blocks to take, default all
 *                        unread = refuse (default), or allow duplicates: sweeping what the algorithm does not read
 *   [env] [ppo] ...      one value a setting, for all runs (core/config/config.def)
 *   [grid NAME]          full names: "ppo.com = 8, 16, 32". Cartesian product of its lists. Several blocks: their
 *                        union. No block: one configuration. A grid's value wins over a config section's.
 *   [zip NAME]           lists of equal length that advance together: one axis, multiplied into every grid block
 *   [search NAME]        settings drawn from ranges and choices (core/search/search.h); each trial is multiplied into
 *                        every grid block. Several searches: their union. seeds: as in [sweep]
 *   [profile NAME]       full names: config settings, sweep.*, slurm.*, stop.*; override the sections above
 *   [profile NAME grid BLOCK], [profile NAME zip BLOCK], [profile NAME search BLOCK]   replace that whole block
 *   [slurm]              resources (slurm/settings.def): where and how runs are carried out on a cluster. slurm.* in a
 *                        [grid] or [search] wins for its runs (resources.h)
 *   [stop]               which runs are stopped early, by which rule (stop_rule.def)
 *
 * Order of precedence for a setting: --set, then grid or zip, then [profile], then its section, then the default.
 * --set may replace a value that blocks hold fixed, never an axis of several values: that would collapse it.
 * train.seed belongs to sweep.seeds alone.
 *
 * Every error is "file:line:column: ..." with the nearest known name (--set: "--set key=value: ..."). */
#ifndef SWEEP_SPEC_H
#define SWEEP_SPEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ini.h"
#include "core/search/search.h"
#include "core/text.h"
#include "slurm/settings.h"
#include "sweep/spec/stop_rule.h"
#include "sweep/spec/value_list.h"

enum { SWEEP_NAME = 65 /* core_text_check_name's 64 and NUL */ };

/* A checked slurm.* setting, as text; the local executor does not use them. */
typedef struct SweepResource {
  const char *key, *value;   /* key without "slurm." */
  const CoreIniEntry *entry; /* the line of a block; NULL for those of the sweep */
} SweepResource;

/* A [grid NAME] or [zip NAME]: in a grid each list is an axis; in a zip all lists are one. */
typedef struct SweepBlock {
  char name[SWEEP_NAME];
  const CoreIniEntry *entry; /* its section line */
  SweepValueList *lists;
  size_t count;
  SweepResource *resources;  /* its own, over those of the sweep (resources.h); none in a zip */
  size_t resource_count;
  bool is_trainer;           /* grid of a file with a [program]: its runs are the trainer's (program = no) */
} SweepBlock;

/* A [search NAME]; sweep/spec/search.h works with it. */
typedef struct SweepSearch {
  char name[SWEEP_NAME];
  const CoreIniEntry *entry; /* its section line */
  CoreSearch space;
  SweepBlock block;          /* a list a setting, all of `trials` values: the trials that are known; its resources */
  size_t trials;
  int64_t *wave;             /* [trials] in which wave each was proposed; 0: it follows from the file */
} SweepSearch;

typedef struct SweepSpec {
  char name[SWEEP_NAME];
  char profile[SWEEP_NAME];   /* "" when none */
  bool frozen;                /* read from sweeps/<name>/sweep.ini: resolved already */
  CoreConfig base;            /* config sections, profile and --set applied; train.seed is of no meaning */
  CoreConfig trainer;         /* base of grids with program = no, in a file with a [program] */
  bool is_mixed;              /* there are such grids */
  int64_t *seeds;
  size_t seed_count;
  SweepBlock *grids, *zips;   /* only what this profile and sweep.grids select */
  size_t grid_count, zip_count;
  SweepSearch *searches;
  size_t search_count;
  SweepResource *resources;
  size_t resource_count;
  SweepStop stop;             /* rule SWEEP_STOP_NONE: the file has none */
  bool unread_allowed;        /* sweep.unread = allow (duplicates.h) */
  bool is_own_program;        /* the file is this user's and no copy in a workspace: its [program] may run (trust.h) */
  size_t extended_seeds;      /* of seeds: those that sweep extend has added to the file's (extension.h) */

  CoreIni ini;                /* of the file: names and lines for messages */
  CoreText source;            /* the file's text */
  char **sets;                /* --set as given */
  size_t set_count;
} SweepSpec;

/* Reads and resolves. profile NULL: none. CORE_FAIL: the file cannot be read; CORE_USAGE: all else. On error the
 * spec is freed already. Caller calls sweep_spec_free. */
int sweep_spec_read(const char *path, const char *profile, const char *const *sets, size_t set_count, SweepSpec *spec);
/* The same from text; `name` stands for the file in messages. */
int sweep_spec_parse(const char *name, const char *text, const char *profile, const char *const *sets,
                     size_t set_count, SweepSpec *spec);
void sweep_spec_free(SweepSpec *spec);

/* The site's settings (slurm/site.h), then the [slurm] settings that the experiment gives, over `settings` as they
 * stand. CORE_USAGE: some do not go together. */
int sweep_spec_slurm(const SweepSpec *spec, SlurmSettings *settings);

#endif
