/* Searches on Slurm: the task that ends last in a wave proposes the next and submits it. */
#ifndef SWEEP_TASK_SEARCH_H
#define SWEEP_TASK_SEARCH_H

/* For a task that is about to end. Proposes and submits the next wave of the sweep's searches, if theirs has ended; two
 * tasks that end at once propose it once. Submits what a limit on queued jobs has kept out of a wave. Failed runs are
 * not submitted again. Faults are warnings: sweep submit does the same. */
void sweep_task_search_continue(const char *root, const char *name);

#endif
