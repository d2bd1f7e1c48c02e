/* Functions of batches on the host that batch.h does not have. */
#ifndef SIM_BATCH_CPU_H
#define SIM_BATCH_CPU_H
#include "sim/batch/batch.h"

/* Steps like sim_batch_step and also returns what an auto-reset overwrites: final_observations [world][length], the
 * last observation of every episode that ended in this step. Rows of other worlds are left unchanged. NULL: not
 * wanted. */
void sim_batch_step_final(SimBatch *batch, const void *actions, const SimStepOut *out, float *final_observations);

#endif
