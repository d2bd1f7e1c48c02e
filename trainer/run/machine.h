/* What this process may use of the machine: processors and memory, limits of a batch system's cgroup included. */
#ifndef TRAINER_MACHINE_H
#define TRAINER_MACHINE_H

/* Threads to compute with: `wanted` when positive, else OMP_NUM_THREADS, else the processors we are bound to. */
int machine_threads(int wanted);

/* Bytes of memory this process may use: the machine's, or its control group's limit when that is lower. */
double machine_memory_bytes(void);

#endif
