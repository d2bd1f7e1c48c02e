/* Visits of many items by several threads at once, for work that mostly waits for a disk or a network file system. */
#ifndef CORE_PARALLEL_H
#define CORE_PARALLEL_H
#include <stddef.h>

enum { CORE_PARALLEL_THREADS = 8 };

/* Calls visit(context, index) for each index below `count`, in ascending order of their beginnings, from up to
 * CORE_PARALLEL_THREADS threads; the calling thread is one of them. After a failure no further visit begins. Returns
 * the code and sets the message of the first visit that failed. */
int core_parallel_visit(size_t count, int (*visit)(void *context, size_t index), void *context);

#endif
