/* The code that a run is trained on, in its folder: which one each attempt had, and whether a run may go on under
 * another one. store/code finds it. */
#ifndef TRAINER_RUN_CODE_H
#define TRAINER_RUN_CODE_H
#include "store/workspace/run.h"

/* What a run that has a checkpoint does when its code has changed: "refuse", "keep", "restart", or hashes of codes with
 * which it may go on, commas between. CORE_USAGE: something else. */
int run_code_check_option(const char *if_changed);
/* May the run go on from its checkpoint? *restart: it is to start over. CORE_FAIL: its code has changed, with what
 * differs and the ways out. A run of an older version does not tell its code, and goes on. */
int run_code_may_resume(const CoreConfig *config, const StoreState *before, const char *if_changed, bool *restart);
/* Puts this attempt's code into `state`, behind that of the attempts which it goes on from. */
int run_code_begin(const CoreConfig *config, bool goes_on, StoreState *state);
/* Writes the attempt's code to the log, and all of its files' hashes to runs/<id>/code.<attempt>.tsv. */
void run_code_record(const CoreConfig *config, const char *root, const char *id, const StoreState *state);

#endif
