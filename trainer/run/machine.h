/* Resources that this process may use: processors and memory, including limits of a batch system's cgroup. */
#ifndef TRAINER_MACHINE_H
#define TRAINER_MACHINE_H

/* Returns the threads to compute with: `wanted` when positive, else OMP_NUM_THREADS, else the processors of the
 * affinity mask. */
int machine_threads(int wanted);

/* Returns the bytes of memory that this process may use: the machine's, or its control group's limit when that is
 * lower. */
double machine_memory_bytes(void);

#endif
