/* Files of a run named on the command line: for the commands that use its policy or examine its checkpoints. */
#ifndef TRAINER_RUN_FILES_H
#define TRAINER_RUN_FILES_H
#include "core/files.h"
#include "trainer/envs/env.h"

typedef struct RunFiles { char checkpoint[CORE_PATH_MAX], config[CORE_PATH_MAX]; } RunFiles;

/* Finds the files. `text`: a checkpoint file, a run's directory anywhere, or a run of the workspace
 * (store/workspace/run_name.h), whose newest or `best` checkpoint is used. `root_option`: value of --root. CORE_USAGE
 * names what was looked for and where. */
int run_files_find(const char *text, const char *root_option, bool best, RunFiles *files);
/* CORE_USAGE: the run of this config.ini is one of a program, which has no policy of the trainer. */
int run_files_check_trainer(const char *config_path);
/* Records Env.spaces in the run's directory; NULL, or an environment without them: nothing. */
int run_files_write_spaces(const char *root, const char *id, const Env *env);
/* Makes the environment of that record. *env stays as it is where there is none. */
int run_files_create_env(const RunFiles *files, const CoreConfig *config, Env **env);

#endif
