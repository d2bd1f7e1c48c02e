/* How many threads the CPU's ops use while other programs hold processors. OpenMP's threads meet at the end of every
 * loop. One that waits for a processor keeps all others waiting, who hold theirs meanwhile: two threads on a busy
 * machine were seen 50 times slower than one. So a few times a second the kernel is asked who waits, and fewer threads
 * are used until processors are free again. Results do not depend on it (cpu_internal.h). */
#ifndef TRAINER_CPU_THREADS_H
#define TRAINER_CPU_THREADS_H
#include <stdbool.h>
#include <stdint.h>

/* What the kernel says of this process since the last look. */
typedef struct CpuThreadsSeen {
  double seconds;         /* since the last look */
  double ran;             /* seconds of processors that its threads had */
  double waited;          /* of the thread that waited longest: share of the time in which it wanted a processor */
} CpuThreadsSeen;

typedef struct CpuThreadsRule {
  int most, now;          /* threads: that were asked for, that are used */
  int calm;               /* looks in a row at which nobody waited */
  int patience;           /* so many of them, and one more thread is tried */
  bool tried;             /* the last change was one more */
} CpuThreadsRule;

/* A look's verdict: rule->now, between 1 and most. */
int cpu_threads_next(CpuThreadsRule *rule, CpuThreadsSeen seen);

typedef struct CpuThread { int64_t id; uint64_t ran, waited; } CpuThread; /* nanoseconds since it began */
enum { CPU_THREADS_KNOWN = 1024 };

typedef struct CpuThreads {
  CpuThreadsRule rule;
  double looked;          /* core_clock_s at the last look; 0: none yet */
  bool is_blind;          /* the kernel does not tell */
  bool has_acted;         /* worlds stepped since the last look */
  bool has_shared;        /* in the log */
  int known;
  CpuThread thread[CPU_THREADS_KNOWN], next[CPU_THREADS_KNOWN]; /* at the last look, at this one */
} CpuThreads;

typedef enum CpuThreadsPhase { CPU_THREADS_ACT, CPU_THREADS_UPDATE } CpuThreadsPhase;

/* Looks, where the last look is long enough ago, while a policy acts or an update goes on. Where worlds step in child
 * processes, who waits while they step tells nothing of other programs, so only updates count. *threads: those to use
 * from now on, of the calling thread's loops too (omp_set_num_threads). TRAINER_THREADS=fixed in the environment:
 * never. */
void cpu_threads_look(CpuThreads *look, CpuThreadsPhase phase, int *threads);

#endif
