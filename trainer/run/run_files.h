/* Files of a run named on the command line: for the commands that use its policy or examine its checkpoints. */
#ifndef TRAINER_RUN_FILES_H
#define TRAINER_RUN_FILES_H
#include "core/files.h"

typedef struct RunFiles { char checkpoint[CORE_PATH_MAX], config[CORE_PATH_MAX]; } RunFiles;

/* Finds the files. `text`: a checkpoint file, a run's directory anywhere, or a run of the workspace
 * (store/workspace/run_name.h), whose newest checkpoint is used. `root_option`: value of --root. CORE_USAGE names what
 * was looked for and where. */
int run_files_find(const char *text, const char *root_option, RunFiles *files);

#endif
