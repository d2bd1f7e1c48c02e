/* Adapts the thread count of the CPU's ops while other programs use the processors. OpenMP's threads synchronize at the
 * end of every loop, so one that waits for a processor blocks all others, which keep theirs meanwhile: two threads on a
 * busy machine were measured 50 times slower than one. So a few times per second the kernel's scheduling statistics are
 * read, and fewer threads are used until processors are free again. Results do not depend on it (cpu_internal.h). */
#ifndef TRAINER_CPU_THREADS_H
#define TRAINER_CPU_THREADS_H
#include <stdbool.h>
#include <stdint.h>

/* Scheduling statistics of this process since the last look. */
typedef struct CpuThreadsSeen {
  double seconds;         /* since the last look */
  double ran;             /* processor seconds of its threads */
  double waited;          /* longest wait of a thread: share of the time in which it wanted a processor */
} CpuThreadsSeen;

typedef struct CpuThreadsRule {
  int most, now;          /* threads: requested, in use */
  int calm;               /* consecutive looks without waiting threads */
  int patience;           /* looks without waiting threads before one more thread is tried */
  bool tried;             /* whether the last change was an increase */
} CpuThreadsRule;

/* Returns rule->now, between 1 and most, after a look. */
int cpu_threads_next(CpuThreadsRule *rule, CpuThreadsSeen seen);

typedef struct CpuThread { int64_t id; uint64_t ran, waited; } CpuThread; /* nanoseconds since its start */
enum { CPU_THREADS_KNOWN = 1024 };

typedef struct CpuThreads {
  CpuThreadsRule rule;
  double looked;          /* core_clock_s at the last look; 0: none yet */
  bool is_blind;          /* whether the kernel provides no statistics */
  bool has_acted;         /* whether worlds stepped since the last look */
  bool has_shared;        /* whether this is in the log */
  int known;
  CpuThread thread[CPU_THREADS_KNOWN], next[CPU_THREADS_KNOWN]; /* at the last look, at this one */
} CpuThreads;

typedef enum CpuThreadsPhase { CPU_THREADS_ACT, CPU_THREADS_UPDATE } CpuThreadsPhase;

/* Looks, if the last look is long enough ago, while a policy acts or an update runs. Where worlds step in child
 * processes, threads that wait meanwhile say nothing about other programs, so only updates count. *threads: those to
 * use from now on, of the calling thread's loops too (omp_set_num_threads). TRAINER_THREADS=fixed in the environment
 * disables it. */
void cpu_threads_poll(CpuThreads *look, CpuThreadsPhase phase, int *threads);

#endif
