/* A policy's weights as a file of safetensors (github.com/huggingface/safetensors): the length of a JSON header as
 * eight bytes, the header, then the tensors' bytes. */
#ifndef TRAINER_SAFETENSORS_H
#define TRAINER_SAFETENSORS_H
#include "core/text.h"
#include "trainer/tools/player.h"

/* Appends the file. Its tensors are all weights of actor and critic as they lie in the checkpoint, by the names that
 * messages and sweepdb have for them ("actor.W0", "critic.gain1", "actor.conv 0 W"): kernels are [in][out], those of
 * convolutions [size][size][in][out]; and of normalised observations "observation.mean" and "observation.factor",
 * float64: x becomes (x - mean) factor. The critic must have been read (player_read_critic). */
void safetensors_policy(const Player *player, CoreText *file);

#endif
