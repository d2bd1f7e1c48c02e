/* Ranks of a run: the processes that train it together, and their communication of host memory. Only ranks.c uses MPI.
 * As in MPI, ranks belong to the process, so there is no handle.
 *
 * A program started without a launcher is the only rank. MPI is then not initialized, and these functions do nothing.
 * Functions marked "all" are called by all ranks in the same order, by the main thread, between start and stop. */
#ifndef TRAINER_RANKS_H
#define TRAINER_RANKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Joins the other ranks when mpirun or srun started several tasks. CORE_USAGE: it did, but MPI cannot be loaded, or it
 * does not see them. */
int ranks_start(void);
/* All: leaves together; afterwards only ranks_size and similar queries may be called. Safe without a start. */
void ranks_stop(void);

bool ranks_available(void);  /* whether MPI can be loaded; if not, core_error_message says why */
int ranks_rank(void);        /* 0 .. size - 1 */
int ranks_size(void);        /* 1 without a launcher */
bool ranks_is_first(void);   /* rank 0, the only one that writes files and output */
int ranks_on_machine(void);  /* number of ranks on this machine */
/* Returns the threads for this rank: the processors that it may use, shared with the ranks of this machine that may use
 * them too; $OMP_NUM_THREADS if set. */
int ranks_threads(void);
/* Formats "rank 2 of 4 on node7 (process 4711)". */
const char *ranks_describe(int rank, char text[160]);

/* Lets ranks_size be `size`, for plans of runs on other machines; 1 ends it. Nothing is exchanged meanwhile: only the
 * functions of planning may be called. */
void ranks_plan_as(int size);
bool ranks_are_planned(void);

/* Returns the number of tasks in the launcher's environment (mpirun, srun, hydra), 1 without any. */
int ranks_launched(void);

/* Handler called from another thread when a rank has died, with "rank 2 of 4 on node7 (process 4711) ended: killed
 * ...". After it returns the process ends with CORE_FAIL. Without a handler the message goes to stderr. First rank
 * only. */
typedef void RanksOnLoss(void *context, const char *message);
void ranks_on_loss(RanksOnLoss *handler, void *context);

/* Ends this process and all other ranks with CORE_FAIL, for a failure that they cannot agree on because some may wait
 * for this one. Prints "rank 2 of 4 on node7 (process 4711): " and the reason; the first rank's handler of losses gets
 * it too. Any thread. */
void ranks_fail(const char *reason) CORE_NORETURN;

/* All: returns CORE_OK if every rank passes it; else the code and message of the first rank that does not, on every
 * rank. */
int ranks_agree(int code);

/* Whether this rank, or any other that could notify it, has received a stop signal (core_signals_stop). Any thread may
 * call it. Ranks may learn of a stop at different moments: whatever one of them interrupts must end in ranks_agree. */
bool ranks_stop_requested(void);
/* Returns CORE_REQUEUE with a message once ranks_stop_requested; for loops that step environments. */
int ranks_check_stop(void);

/* All: copies from the first rank to all. */
void ranks_broadcast(void *data, size_t bytes);
/* All: gather `bytes` of each rank, side by side in rank order, at the first rank (`gathered` and `scattered` are not
 * used elsewhere); and scatter them. */
void ranks_gather(const void *sent, size_t bytes, void *gathered);
void ranks_scatter(const void *scattered, size_t bytes, void *received);
/* All: gathers at every rank. */
void ranks_gather_all(const void *sent, size_t bytes, void *gathered);

/* All: reduce element by element over the ranks, in place. Counts are exact in any order, the others up to summation
 * order. */
void ranks_sum(double *x, size_t n);
void ranks_sum_counts(int64_t *x, size_t n);
void ranks_sum_floats(float *x, size_t n);
void ranks_max(double *x, size_t n);

#endif
