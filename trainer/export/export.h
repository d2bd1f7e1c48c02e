/* `trainer export`: a policy as an ONNX model (operators: onnx.h) or as safetensors. */
#ifndef TRAINER_EXPORT_H
#define TRAINER_EXPORT_H
#include "core/text.h"
#include "trainer/export/onnx.h"
#include "trainer/nets/encoder.h"
#include "trainer/ops/ops.h"
#include "trainer/tools/player.h"

/* ---- export.c ---------------------------------------------------------------------------------------------------- */

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_export(int argc, char **argv);

/* Calls add(context, key, value) for each entry: run, iteration, sweep (the version), policy ("categorical",
 * "gaussian", "tanh_affine", "q"), classes ("3,3,3,3,2,2") or bounds ("-1,1"), action_space (JSON of a Gymnasium
 * environment's native action space: type, shape, dtype, low and high or start), observation_bound if observations
 * are normalized (maximum magnitude of a normalized value), and config (all settings as JSON). */
void policy_metadata(const Player *player, void (*add)(void *context, const char *key, const char *value),
                     void *context);

/* ---- onnx_policy.c ----------------------------------------------------------------------------------------------- */

/* A run's policy as an ONNX model from observation, which it normalizes, to logits and the mode of the action. */

/* Appends the model to `file`. Input: "observation" [rows][observation_length] float32, or pixels (onnx_encoder.c).
 * Outputs: "logits" [rows][n] float32, as sweepdb's Policy.logits; "action", the mode in the native action space
 * (onnx_action.c). The model of a recurrent policy computes one step, with an additional input "state" [rows][2
 * net.memory_width], 0 at the first step of an episode, and output "next_state". For SAPG, exports the leader's policy.
 * CORE_USAGE: the network is not supported. */
int onnx_policy(const Player *player, CoreText *file);

/* ---- onnx_encoder.c ---------------------------------------------------------------------------------------------- */

/* Encoders (trainer/nets/encoder.h) and layer norm as ONNX operators. */

/* Checks whether the encoder can be exported. CORE_USAGE: it is not supported. */
int onnx_encoder_check(const EncoderShape *shape);
/* Adds the input of a pixel encoder: bytes, [rows] followed by the environment's [frames][channels][height][width] or
 * [frames][height][width][channels], omitting frames and channels that are 1. */
OnnxValue onnx_encoder_pixels(Onnx *onnx, const OpsPixels *pixels, const char *name);
/* Adds the encoder. x: pixels as above, or observations [rows][shape->length]. Returns the embedding
 * [rows][shape->width]. theta: the encoder's parameters, whose tensors become constants "<network>.<tensor>". */
OnnxValue onnx_encoder(Onnx *onnx, const EncoderShape *shape, const char *network, const float *theta, OnnxValue x);

/* Adds the layer norm of each row of x [rows][columns] (trainer/ops/ops.h, norm_forward), with the networks'
 * epsilon. */
OnnxValue onnx_layer_norm(Onnx *onnx, OnnxValue x, OnnxValue gain, OnnxValue offset);

/* ---- onnx_action.c ----------------------------------------------------------------------------------------------- */

/* The mode of a policy's action distribution in the environment's native action space: clipped to the bounds,
 * rounded or offset by the first class, in its type and shape. */

/* Adds the output "action", computed from logits [rows][head->logits]. space: Env.action_space; NULL: the output is
 * [rows][factors], classes as int64 or values as float32. CORE_USAGE: ONNX does not support the space's type. */
int onnx_action(Onnx *onnx, const OpsHead *head, const char *space, OnnxValue logits);

/* ---- safetensors.c ----------------------------------------------------------------------------------------------- */

/* A policy's weights in the safetensors format (github.com/huggingface/safetensors): an 8-byte length, a JSON header of
 * that length, and the tensors' data. */

/* Appends the file. It contains all weights of actor and critic as stored in the checkpoint, by the names used in
 * messages and in sweepdb ("actor.W0", "critic.gain1", "actor.conv 0 W"): kernels are [in][out], those of
 * convolutions [size][size][in][out]. For normalized observations it also has "observation.mean" and
 * "observation.factor", float64: x becomes (x - mean) factor. Requires player_read_critic. */
void safetensors_policy(const Player *player, CoreText *file);

#endif
