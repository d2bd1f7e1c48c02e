/* Load of a run over time: CPUs, memory, GPUs and their memory, of all its processes on this machine. The process that
 * measures its memory (run_memory.h) samples it, and writes runs/<id>/load.tsv:
 *
 *   machine_cpus=16 machine_memory_mb=64000
 *   1795995098.6	1.97	812.0	43	3110	81920
 *
 * One line per interval: its end in Unix seconds, CPUs kept busy (mean), memory in MB (maximum), share of the time in
 * which its GPUs were busy in percent (mean), their memory that it used (maximum) and their memory in MB; "-" without a
 * GPU. A file has at most SWEEP_LOAD_POINTS lines, however long the run is: when they are reached, each two become
 * one. */
#ifndef SWEEP_RUN_LOAD_H
#define SWEEP_RUN_LOAD_H
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { SWEEP_LOAD_POINTS = 240 };

typedef struct SweepLoadPoint {
  double unix_s, cpus, memory_mb;
  double gpu_percent, gpu_memory_mb, gpu_total_mb; /* NaN: no GPU */
} SweepLoadPoint;

typedef struct SweepRunLoad {
  SweepLoadPoint point[SWEEP_LOAD_POINTS]; /* [count] in the order of time */
  size_t count;
  double machine_cpus, machine_memory_mb;  /* 0: unknown */
} SweepRunLoad;

/* Reads the file into `load`; empty without a file. Ignores lines that are damaged or out of order. */
int sweep_run_load_read(const char *root, const char *id, SweepRunLoad *load);

/* The sums over the processes of a run at a moment. */
typedef struct SweepLoadSample {
  double cpu_s;         /* CPU time so far of the processes and of the children that they have waited for */
  double memory_mb;
  double gpu_percent, gpu_memory_mb, gpu_total_mb; /* NaN: no GPU */
} SweepLoadSample;

/* Recording of one attempt. */
typedef struct SweepLoadRecorder SweepLoadRecorder;

/* Adds a sample; the first call (*recorder NULL) continues the file of earlier attempts. Writes the file at most every
 * 10 s. now_unix_s: time of the sample. */
void sweep_load_recorder_add(const char *root, const char *id, double now_unix_s, const SweepLoadSample *sample,
                             SweepLoadRecorder **recorder);
/* Writes the file and frees the recorder. NULL is valid. */
void sweep_load_recorder_end(const char *root, const char *id, SweepLoadRecorder **recorder);

#endif
