/* Sum of a device's memory, and advice on reducing it (training_internal.h). */
#include "trainer/run/training_internal.h"

#include <stdio.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/text.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/minibatch.h"

/* Driver memory for the process' kernels and heap: about 500 MB with CUDA 12 and 13 on an H100 or H200. */
static const double CONTEXT_BYTES = 500e6;
/* NCCL's buffers: about 10 MB for each connection of a channel, with 2 to 32 channels of a ring and a tree. That is 0.3
 * to 1.5 GB, by the GPUs of a machine and their links; the estimate takes the most. */
static const double NCCL_BYTES = 1.5e9;
enum { NAMED = 4 }; /* tensors named in a message */

/* Returns the scratch of the environments that train and evaluate, in addition to their worlds. */
static double scratch_of_worlds(const Training *training) {
  const Env *env = training->levels;
  const int64_t evaluated = training->evaluator.worlds;
  return (double)env->device->scratch_bytes(env, training->device, training->shards.worlds) +
         (evaluated > 0 ? (double)env->device->scratch_bytes(env, training->device, evaluated) : 0);
}

/* Returns the slots for a filter's levels: of the environments that train and evaluate, or of a curriculum and its
 * search. */
static double filter_places(const Training *training) {
  const Env *env = training->levels;
  const Curriculum *curriculum = training->curriculum;
  int filters = 0;
  if (curriculum) filters = 1 + (curriculum->buffer.capacity > 0);
  else if (strcmp(training->config.env.reset, "new_filtered") == 0) filters = 1 + (training->evaluator.worlds > 0);
  return filters == 0 ? 0 : filters * (double)env->device->filter_bytes(env, training->device);
}

/* Returns the memory that NCCL will take, where ranks use it, here or on the machines of a planned run. */
static double communication_bytes(const Training *training) {
  const CoreConfig *config = &training->config;
  const bool is_gpu = training->device->stream != NULL || ranks_are_planned();
  const bool is_shared = ranks_are_planned() ? config->comm.share_gpu : training->device_shared;
  return ranks_size() > 1 && is_gpu && !is_shared && strcmp(config->comm.library, "mpi") != 0 ? NCCL_BYTES : 0;
}

double training_memory_estimate(const Training *training, double worlds_bytes) {
  const Agent *agent = &training->agent;
  const CoreConfig *config = &training->config;
  const Env *env = training->levels;
  const bool draws = core_config_has_curriculum(config) || strncmp(config->env.reset, "new", 3) == 0;
  return (double)core_arena_device_bytes(training->arena) + worlds_bytes +
         scratch_of_worlds(training) + filter_places(training) +
         (draws ? (double)env->device->stack_bytes(env, training->device) : 0) +
         ops_device_bytes(training->device, training_device_precision(config), agent_ops_rows(agent),
                          agent_ops_width(agent), agent_is_apart(agent)) +
         communication_bytes(training) + (training->device->stream ? CONTEXT_BYTES : 0);
}

/* Returns a smaller storage of observations, the lossless one where these settings allow it (compact.h). */
static const char *smaller_observations(const Training *training) {
  const char *storage = training->config.train.observation_storage;
  const bool has_state = strcmp(storage, "state") != 0 && compact_check(&training->config, training->levels) == CORE_OK;
  core_error_clear();
  if (has_state) return "set train.observation_storage = state, or lower env.num or ppo.num_steps";
  if (strcmp(storage, "float32") == 0)
    return "set train.observation_storage = float16, or lower env.num or ppo.num_steps";
  return "lower env.num or ppo.num_steps";
}

/* Returns the setting that shrinks what a minibatch needs. Micro-batches already have as few rows as useful. */
static const char *smaller_minibatches(const Training *training) {
  const bool is_sapg = strcmp(training->config.algo.name, "sapg") == 0; /* its activations are of whole minibatches */
  const int rows = minibatch_capacity(&training->config, &training->shards, true);
  if (training->shards.global_shards == 1 && !is_sapg && rows < training->plan.minibatch_rows)
    return "lower net.width or net.depth";
  return "raise ppo.num_minibatches";
}

/* Returns the setting that shrinks a tensor, by the start of its label. */
static const char *setting_for(const Training *training, const char *label) {
  const char *minibatches = smaller_minibatches(training);
  const struct { const char *begins, *setting; } known[] = {
    {"minibatch permutation", "lower env.num or ppo.num_steps"},
    {"lists of a permutation", "lower env.num or ppo.num_steps"},
    {"minibatch", minibatches},
    {"activations", minibatches},
    {"backward scratch", minibatches},
    {"gradient", minibatches},
    {"trial", "lower eval.episodes"},
    {"actor gradients of shards", "lower comm.shards"},
    {"critic gradients of shards", "lower comm.shards"},
    {"metrics", "lower metrics.states"},
    {"noise scale", "set metrics.noise_every = 0"},
  };

  if (strncmp(label, "rollout observations", 20) == 0) return smaller_observations(training);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(label, known[i].begins, strlen(known[i].begins)) == 0) return known[i].setting;
  return "lower env.num or ppo.num_steps";
}

void training_memory_count_worlds(Training *training) {
  TrainingPlan *plan = &training->plan;
  plan->are_foreign = training->levels->foreign != NULL;
  plan->evaluation_worlds = training->evaluator.worlds;
  plan->coverage_worlds = coverage_worlds(training->levels, &training->shards);
  plan->instances = 1 + training->shards.worlds + plan->evaluation_worlds + plan->coverage_worlds;
}

int training_memory_check(const Training *training) {
  const TrainingPlan *plan = &training->plan;
  CoreArenaEntry largest[NAMED];
  CoreText tensors = {0};
  char needed[32], present[32], bytes[32];

  if (training->device == NULL || plan->device_bytes <= (double)training->device->memory_bytes) return CORE_OK;
  const int count = core_arena_largest(training->arena, true, NAMED, largest);
  for (int i = 0; i < count; i++)
    core_text_appendf(&tensors, "%s%s %sB", i > 0 ? ", " : "", largest[i].label,
                      core_text_count((double)largest[i].bytes, bytes));
  const int code = core_error(
    CORE_FAIL, "training needs about %sB of the memory of %s, which has %sB: worlds %sB, largest tensors: %s; %s",
    core_text_count(plan->device_bytes, needed), training->device->description,
    core_text_count((double)training->device->memory_bytes, present),
    core_text_count(plan->device_worlds_bytes, bytes), core_text_string(&tensors),
    setting_for(training, count > 0 ? largest[0].label : ""));

  core_text_free(&tensors);
  return code;
}

int training_memory_suggest(const Training *training, int code) {
  CoreArenaEntry largest;
  if (code != CORE_FAIL || training->device == NULL || strstr(core_error_message(), "out of memory") == NULL)
    return code;
  if (core_arena_largest(training->arena, true, 1, &largest) == 0) return code;
  char message[1024];
  snprintf(message, sizeof message, "%s", core_error_message());
  return core_error(code, "%s; other programs may be using it (nvidia-smi); %s", message,
                    setting_for(training, largest.label));
}
