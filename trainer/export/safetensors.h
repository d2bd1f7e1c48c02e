/* A policy's weights in the safetensors format (github.com/huggingface/safetensors): an 8-byte length, a JSON header of
 * that length, and the tensors' data. */
#ifndef TRAINER_SAFETENSORS_H
#define TRAINER_SAFETENSORS_H
#include "core/text.h"
#include "trainer/tools/player.h"

/* Appends the file. It contains all weights of actor and critic as stored in the checkpoint, by the names used in
 * messages and in sweepdb ("actor.W0", "critic.gain1", "actor.conv 0 W"): kernels are [in][out], those of
 * convolutions [size][size][in][out]. For normalized observations it also has "observation.mean" and
 * "observation.factor", float64: x becomes (x - mean) factor. Requires player_read_critic. */
void safetensors_policy(const Player *player, CoreText *file);

#endif
