/* What the subcommands share: the options that name a workspace and a sweep, and the ways to say which sweep or run.
 *
 *   int sweep_status(int argc, char **argv) {
 *     SweepCommon common = {0};
 *     const CoreOption options[] = {SWEEP_OPTION_ROOT(common), SWEEP_OPTION_PROFILE(common), SWEEP_OPTION_SET(common),
 *                                   {"json", 0, CORE_OPTION_FLAG, &json, NULL, "..."}, {0}};
 *     TRY(core_options_parse(options, argc, argv, &operands, &count, &help));
 *     TRY(sweep_common_open(&common));
 *     ... common.root ...
 *     sweep_common_close(&common);
 *   } */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H
#include <stddef.h>

#include "core/options.h"
#include "store/paths.h"
#include "sweep/spec.h"

typedef struct SweepCommon {
  const char *root_option, *profile; /* as given; NULL when not */
  CoreOptionList sets;               /* --set key=value, in order */
  char root[CORE_PATH_MAX];          /* the workspace, absolute; filled by sweep_common_open */
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
void sweep_common_close(SweepCommon *common);

/* Reads the sweep that `operand` names: a file when it holds '/' or ends in ".ini" (or is a file here), else the
 * frozen sweeps/<operand>/sweep.ini of the workspace. CORE_USAGE with the nearest known sweep otherwise, or when a
 * profile is asked of a frozen sweep (it was resolved when it was submitted). Caller frees spec. */
int sweep_common_spec(const SweepCommon *common, const char *operand, SweepSpec *spec);

/* Only the name of that sweep: for commands that need the manifest, not the file. `name` of SWEEP_NAME bytes. */
int sweep_common_name(const SweepCommon *common, const char *operand, char name[SWEEP_NAME]);

/* The sweeps of a workspace: names of the folders in sweeps/ that hold a manifest, sorted; free each and the array.
 * None is no error. */
int sweep_common_list(const char *root, char ***names, size_t *count);

/* CORE_USAGE: this workspace has no sweep `name`, with the nearest it has, or all of them. */
int sweep_common_unknown(const char *root, const char *name);

/* The run that `text` names: a run id, a prefix (4 digits or more) that only one run of the workspace has, or
 * NAME/INDEX, a place in a sweep's manifest. CORE_USAGE says what was looked for. */
int sweep_common_run(const char *root, const char *text, char id[CORE_RUN_ID]);

/* An operand count outside lowest..highest: CORE_USAGE with the usage line. */
int sweep_common_operands(const char *usage, size_t count, size_t lowest, size_t highest);

#endif
