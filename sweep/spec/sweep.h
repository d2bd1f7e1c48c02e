/* Options that subcommands share, which select a workspace and a sweep, and the resolution of sweep names.
 * store/workspace/run_name.h resolves runs.
 *
 *   static int logs(void *given, const char **operands, size_t count) {
 *     LogsOptions *options = given;
 *     TRY(sweep_common_open(&options->common));
 *     ... options->common.root ...
 *   }
 *   int sweep_logs(int argc, char **argv) {
 *     static const CoreManual manual = {.usage = "sweep logs RUN [options]", .about = "...", .operands = {"RUN"},
 *                                       .operands_min = 1, .operands_max = 1};
 *     LogsOptions given = {0};
 *     const CoreOption options[] = {SWEEP_OPTION_ROOT(given.common), {"lines", ... &given.lines, ...}, {0}};
 *     return core_options_run(&manual, options, argc, argv, logs, &given);
 *   } */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H
#include <stddef.h>

#include "core/command/options.h"
#include "store/workspace/paths.h"
#include "sweep/spec/spec.h"

typedef struct SweepCommon {
  const char *root_option, *profile; /* arguments of options; NULL: not used */
  CoreOptionList sets;               /* --set key=value, in order */
  const int64_t *extra_seeds;        /* seeds in addition to those that sweep submit --seeds has recorded */
  size_t extra_seed_count;
  char root[CORE_PATH_MAX]; /* absolute path of the workspace, set by sweep_common_open */
  bool is_new;              /* whether sweep_common_make created it */
} SweepCommon;

#define SWEEP_OPTION_ROOT(common) \
  { \
    "root", 'r', CORE_OPTION_TEXT, &(common).root_option, "DIR", \
        "workspace with runs/, sweeps/ and results.db (default: $SWEEP_ROOT, else the current directory)" \
  }
#define SWEEP_OPTION_PROFILE(common) \
  { "profile", 'p', CORE_OPTION_TEXT, &(common).profile, "NAME", "apply the overrides of [profile NAME] in the file" }
#define SWEEP_OPTION_SET(common) \
  { "set", 's', CORE_OPTION_LIST, &(common).sets, "KEY=VALUE", "override a setting in all runs; repeatable" }

/* Resolves the workspace. CORE_FAIL: it is not a directory. */
int sweep_common_open(SweepCommon *common);
/* Resolves the workspace for sweep submit, and creates it if it does not exist. */
int sweep_common_make(SweepCommon *common);

/* Reads the sweep that `operand` names: a file if it contains '/' or ends in ".ini", or exists here while the workspace
 * has no sweep of that name, else the frozen sweeps/<operand>/sweep.ini of the workspace, whose program and slurm.setup
 * are not trusted as the user's own. Includes seeds added by sweep submit --seeds, unless --set sets the seeds.
 * CORE_USAGE: no such sweep (the message names the nearest), or a profile for a frozen sweep, which is already
 * resolved. Caller frees spec. */
int sweep_common_spec(const SweepCommon *common, const char *operand, SweepSpec *spec);

/* Reads a sweep as it was submitted, sweeps/<name>/sweep.ini, with the trials proposed since. Caller frees spec. */
int sweep_common_frozen(const char *root, const char *name, SweepSpec *spec);

/* Gets only the name of that sweep, for commands that need the manifest but not the file. */
int sweep_common_name(const SweepCommon *common, const char *operand, char name[SWEEP_NAME]);

/* Lists the sweeps of a workspace: sorted names of directories in sweeps/ with a manifest. An empty list is not an
 * error. Caller frees each name and the array. */
int sweep_common_list(const char *root, char ***names, size_t *count);
/* Decides about one of all sweeps whose files could not be read: CORE_OK with a warning if it is another user's, who
 * could keep everyone else from working; else `code`, whose message stays. CORE_OK stays CORE_OK. */
int sweep_common_pass_over(const char *root, const char *name, int code);

/* Sweep or run that an operand SWEEP|RUN names. */
typedef struct SweepTarget {
  bool is_sweep;
  char name[SWEEP_NAME], id[CORE_RUN_ID]; /* name of the sweep, or id of the run */
} SweepTarget;
/* Finds a sweep of that name, else a run (store/workspace/run_name.h). CORE_USAGE: neither exists. */
int sweep_common_find(const char *root, const char *operand, SweepTarget *named);

/* Returns CORE_USAGE with a message for an unknown sweep, with the nearest existing name, or all of them. */
int sweep_common_unknown(const char *root, const char *name);

#endif
