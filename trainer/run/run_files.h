/* The files of a run that somebody has named on the command line: for the commands that use its policy or look at its
 * checkpoints. */
#ifndef TRAINER_RUN_FILES_H
#define TRAINER_RUN_FILES_H
#include "core/files.h"

typedef struct RunFiles { char checkpoint[CORE_PATH_MAX], config[CORE_PATH_MAX]; } RunFiles;

/* `text`: a checkpoint's file, the folder of a run anywhere, or a run of the workspace (store/workspace/run_name.h),
 * of which the newest checkpoint is meant. `root_option` as --root has it. CORE_USAGE says what was looked for and
 * where. */
int run_files_find(const char *text, const char *root_option, RunFiles *files);

#endif
