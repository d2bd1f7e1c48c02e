/* What batches on the host can do beside batch.h. */
#ifndef SIM_BATCH_CPU_H
#define SIM_BATCH_CPU_H
#include "sim/batch/batch.h"

/* sim_batch_step() that also gives what an auto-reset overwrites: final_observations [worlds][length], the last
 * observation of every episode that ended in this step. Rows of other worlds stay as they are. NULL: not wanted. */
void sim_batch_step_final(SimBatch *batch, const void *actions, const SimStepOut *out, float *final_observations);

#endif
