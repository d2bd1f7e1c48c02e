/* Choice of a run's bf16 methods on the CPU with train.precision = bf16 (trainer/ops/bf16.h): made at its start, saved
 * in its checkpoints, the same at all ranks. With other precisions these do nothing. */
#ifndef TRAINER_TRAINING_BF16_H
#define TRAINER_TRAINING_BF16_H
#include "trainer/run/training.h"

#define TRAINING_BF16_SECTION "bf16"

void training_bf16_add_section(Training *training, Checkpoint *checkpoint);
/* Chooses, with ops and worlds; called by all ranks: all use the first one's choice. */
void training_bf16_start(Training *training);
/* Applies a restored choice, as far as this processor supports it, once the section is the same at all ranks; called by
 * all ranks. CORE_FAIL: the section holds no choice for these layers. */
int training_bf16_restored(Training *training);

#endif
