/* What the kernel tells of the control group that this process is in. */
#ifndef SWEEP_CGROUP_H
#define SWEEP_CGROUP_H
#include <stdint.h>

/* Kills for want of memory so far; -1: not known. */
int64_t sweep_cgroup_oom_kills(void);

#endif
