/* What the subcommands share: the options that name a workspace and a sweep, and the ways to say which sweep. Which run
 * is meant says store/workspace/run_name.h.
 *
 *   static int report(void *given, const char **operands, size_t count) {
 *     ReportOptions *options = given;
 *     TRY(sweep_common_open(&options->common));
 *     ... options->common.root ...
 *   }
 *   int sweep_report(int argc, char **argv) {
 *     static const CoreManual manual = {.usage = "sweep report NAME [options]", .about = "...", .operands = {"NAME"},
 *                                       .operands_min = 1, .operands_max = 1};
 *     ReportOptions given = {0};
 *     const CoreOption options[] = {SWEEP_OPTION_ROOT(given.common), {"json", ... &given.json, ...}, {0}};
 *     return core_options_answer(&manual, options, argc, argv, report, &given);
 *   } */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H
#include <stddef.h>

#include "core/command/options.h"
#include "store/workspace/paths.h"
#include "sweep/spec/spec.h"

typedef struct SweepCommon {
  const char *root_option, *profile; /* as given; NULL when not */
  CoreOptionList sets;               /* --set key=value, in order */
  const int64_t *extra_seeds;        /* further seeds of the sweep, beside those that sweep extend has recorded */
  size_t extra_seed_count;
  char root[CORE_PATH_MAX];          /* the workspace, absolute; filled by sweep_common_open */
  bool is_new;                       /* it was made by sweep_common_make */
} SweepCommon;

#define SWEEP_OPTION_ROOT(common)                                                                    \
  {"root", 'r', CORE_OPTION_TEXT, &(common).root_option, "DIR",                                      \
   "the workspace with runs/, sweeps/ and results.db (default: $SWEEP_ROOT, else the current folder)"}
#define SWEEP_OPTION_PROFILE(common)                                                                 \
  {"profile", 'p', CORE_OPTION_TEXT, &(common).profile, "NAME", "take the file's [profile NAME] overrides"}
#define SWEEP_OPTION_SET(common)                                                                     \
  {"set", 's', CORE_OPTION_LIST, &(common).sets, "KEY=VALUE",                                        \
   "override a setting in all runs; may be given several times"}

/* Resolves the workspace. CORE_FAIL when it is no folder. */
int sweep_common_open(SweepCommon *common);
/* The same for sweep submit: makes it when there is none (is_new). */
int sweep_common_make(SweepCommon *common);

/* Reads the sweep that `operand` names: a file when it holds '/' or ends in ".ini" (or is a file here), else the
 * frozen sweeps/<operand>/sweep.ini of the workspace. CORE_USAGE with the nearest known sweep otherwise, or when a
 * profile is asked of a frozen sweep (it was resolved when it was submitted). The seeds that sweep extend has added
 * count too, unless --set names the seeds. Caller frees spec. */
int sweep_common_spec(const SweepCommon *common, const char *operand, SweepSpec *spec);

/* As it was submitted: sweeps/<name>/sweep.ini, with the trials that were proposed since. Caller frees spec. */
int sweep_common_frozen(const char *root, const char *name, SweepSpec *spec);

/* Only the name of that sweep: for commands that need the manifest, not the file. `name` of SWEEP_NAME bytes. */
int sweep_common_name(const SweepCommon *common, const char *operand, char name[SWEEP_NAME]);

/* The sweeps of a workspace: names of the folders in sweeps/ that hold a manifest, sorted; free each and the array.
 * None is no error. */
int sweep_common_list(const char *root, char ***names, size_t *count);

/* What an operand SWEEP|RUN names: a sweep of that name, else a run (store/workspace/run_name.h). CORE_USAGE:
 * neither. */
typedef struct SweepNamed {
  bool is_sweep;
  char name[SWEEP_NAME], id[CORE_RUN_ID]; /* of the sweep, or of the run */
} SweepNamed;
int sweep_common_find(const char *root, const char *operand, SweepNamed *named);

/* CORE_USAGE: this workspace has no sweep `name`, with the nearest it has, or all of them. */
int sweep_common_unknown(const char *root, const char *name);

#endif
