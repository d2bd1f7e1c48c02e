/* Searches on Slurm: the last task of a wave proposes and submits the next wave. */
#ifndef SWEEP_TASK_SEARCH_H
#define SWEEP_TASK_SEARCH_H

/* Continues the sweep's searches, for a task that is about to end: if their wave has ended, proposes and submits the
 * next one. Two tasks that end together propose it once. Also submits trials that a limit on queued jobs has held back.
 * Failed runs are not submitted again. Errors are warnings: sweep submit does the same. */
void sweep_task_search_continue(const char *root, const char *name);

#endif
