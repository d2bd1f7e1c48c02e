/* Code that a run is trained on, recorded in its directory: the code of each attempt, and whether a run may resume
 * under changed code. store/code identifies it. */
#ifndef TRAINER_RUN_CODE_H
#define TRAINER_RUN_CODE_H
#include "store/workspace/run.h"

/* Checks the option for runs with a checkpoint whose code has changed: "refuse", "keep", "restart", or a
 * comma-separated list of code hashes that may resume. CORE_USAGE: something else. */
int run_code_check_option(const char *if_changed);
/* Decides whether the run may resume from its checkpoint. *restart: it is to start over. CORE_FAIL: its code has
 * changed; the message lists the differences and the options. A run of an older version has no record of its code, and
 * resumes. */
int run_code_may_resume(const CoreConfig *config, const StoreState *before, const char *if_changed, bool *restart);
/* Records this attempt's code in `state`, after that of the attempts which it resumes from. */
int run_code_begin(const CoreConfig *config, bool goes_on, StoreState *state);
/* Writes the attempt's code to the log, and all of its files' hashes to runs/<id>/code.<attempt>.tsv. */
void run_code_record(const CoreConfig *config, const char *root, const char *id, const StoreState *state);

#endif
