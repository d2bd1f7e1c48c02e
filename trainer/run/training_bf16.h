/* How a run on the CPU with train.precision = bf16 makes the products of its layers (trainer/ops/bf16.h): chosen at its
 * start, remembered in its checkpoints, the same at all ranks. With other precisions these do nothing. */
#ifndef TRAINER_TRAINING_BF16_H
#define TRAINER_TRAINING_BF16_H
#include "trainer/run/training.h"

#define TRAINING_BF16_SECTION "bf16"

void training_bf16_add_section(Training *training, Checkpoint *checkpoint);
/* All ranks, with ops and worlds: the first one measures, and all follow. */
void training_bf16_start(Training *training);
/* All ranks, once the section is the same everywhere: as the checkpoint has it, as far as this processor can.
 * CORE_FAIL: the section holds no choice for these layers. */
int training_bf16_restored(Training *training);

#endif
