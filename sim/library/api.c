/* Batches of libsim: sim.h on top of batch.h, with checks of the caller's arguments. To expose a setting of
 * SimBatchOptions, add a member to LibsimOptions (taken from `reserved`, with 0 meaning the previous behavior) and a
 * line to translate(). */
#include <omp.h>

#include "core/command/options.h"
#include "core/memory.h"
#include "core/version.h"
#include "sim/batch/batch.h"
#include "sim/library/api_internal.h"

_Static_assert((int)LIBSIM_OK == CORE_OK && (int)LIBSIM_FAIL == CORE_FAIL && (int)LIBSIM_USAGE == CORE_USAGE,
               "the same codes");
_Static_assert((int)LIBSIM_MULTI_DISCRETE == SIM_MULTI_DISCRETE && (int)LIBSIM_DISCRETE == SIM_DISCRETE &&
               (int)LIBSIM_CONTINUOUS == SIM_CONTINUOUS, "the same action spaces");
_Static_assert((int)LIBSIM_RESET_LEVEL_SET == SIM_RESET_LEVEL_SET && (int)LIBSIM_RESET_SAME == SIM_RESET_SAME &&
               (int)LIBSIM_RESET_NEW == SIM_RESET_NEW && (int)LIBSIM_RESET_NEW_FILTERED == SIM_RESET_NEW_FILTERED,
               "the same resets");
_Static_assert(sizeof(LibsimOptions) == 128, "programs that were compiled with an older header pass this many bytes");

const char *libsim_version(void) { return core_version(); }
const char *libsim_error(void) { return core_error_message(); }
void libsim_free(void *text) { free(text); }

/* ---- options ----------------------------------------------------------------------------------------------------- */

LibsimOptions libsim_options_default(void) {
  SimBatchOptions defaults = sim_batch_options_default();
  return (LibsimOptions){
    .worlds = defaults.worlds, .seed = defaults.seed, .first_world = defaults.first_world,
    .frame_skip = defaults.frame_skip, .max_steps = defaults.max_steps, .dense_reward = defaults.dense_reward,
    .auto_reset = defaults.auto_reset, .compact_observations = defaults.compact_observations,
    .pad_writes_zero = defaults.pad_writes_zero, .actions = (int32_t)defaults.actions,
    .reset = (int32_t)defaults.reset, .done_reason = defaults.done_reason,
  };
}

static SimBatchOptions translate(const LibsimOptions *options) {
  SimBatchOptions inside = sim_batch_options_default();

  inside.worlds = options->worlds;
  inside.seed = options->seed;
  inside.first_world = options->first_world;
  inside.frame_skip = options->frame_skip;
  inside.max_steps = options->max_steps;
  inside.dense_reward = options->dense_reward;
  inside.auto_reset = options->auto_reset != 0;
  inside.compact_observations = options->compact_observations != 0;
  inside.pad_writes_zero = options->pad_writes_zero != 0;
  inside.done_reason = options->done_reason != 0;
  inside.actions = (SimActionSpace)options->actions;
  inside.reset = (SimReset)options->reset;

  if (options->new_size) inside.new_size = *sim_api_size(options->new_size);
  return inside;
}

/* Rejects nonzero reserved members: options of a later header would be ignored silently. */
static int check_reserved(const LibsimOptions *options) {
  for (size_t i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
    if (options->reserved[i] != 0)
      return core_error(CORE_USAGE, "LibsimOptions.reserved is not 0; begin with libsim_options_default(), and link a "
                        "library that is not older than its header");
  return CORE_OK;
}

int libsim_create(const LibsimOptions *options, const LibsimLevels *levels, LibsimBatch **batch) {
  if (!batch) return sim_api_null("batch");
  *batch = NULL;
  if (!options || !levels) return sim_api_null(options ? "levels" : "options");

  TRY(check_reserved(options));
  if (options->threads < 0 || options->threads > 4096)
    return core_error(CORE_USAGE, "threads must be 0 (as many as OpenMP chooses) to 4096, not %d", options->threads);
  if (options->new_size && !sim_api_size(options->new_size))
    return core_error(CORE_USAGE, "new_size must be 0, 's', 'm' or 'l', not character %d", options->new_size);

  SimBatchOptions inside = translate(options);
  LibsimBatch *created = core_memory_zero_allocate(1, sizeof *created);
  created->threads = options->threads;
  created->actions = inside.actions;
  int code = sim_batch_create(&inside, &levels->set, &created->batch);
  if (code != CORE_OK) libsim_destroy(&created);
  *batch = created;
  return code;
}

void libsim_destroy(LibsimBatch **batch) {
  if (!batch || !*batch) return;
  sim_batch_destroy(&(*batch)->batch);
  free(*batch);
  *batch = NULL;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

int32_t libsim_worlds(const LibsimBatch *batch) { return batch ? sim_batch_worlds(batch->batch) : 0; }
int32_t libsim_actions(const LibsimBatch *batch) { 
  if (!batch) return 0;
  return batch->actions == SIM_DISCRETE ? 1 : SIM_ACTIONS;
}
int32_t libsim_observation_length(const LibsimBatch *batch) {
  return batch ? sim_batch_observation_length(batch->batch) : 0;
}
const int32_t *libsim_observation_features(const LibsimBatch *batch) {
  int whole;
  return batch ? sim_batch_observation_features(batch->batch, &whole) : NULL;
}
size_t libsim_bytes(const LibsimBatch *batch) {
  return batch ? sizeof *batch + sim_batch_bytes(batch->batch) : 0;
}
int64_t libsim_nonfinite(const LibsimBatch *batch) { return batch ? sim_batch_nonfinite(batch->batch) : 0; }

/* ---- stepping ---------------------------------------------------------------------------------------------------- */

/* Sets the batch's thread count for one call and returns the caller's, to be restored: OpenMP's count belongs to a
 * thread. */
static int enter(const LibsimBatch *batch) {
  int before = omp_get_max_threads();
  if (batch->threads > 0) omp_set_num_threads(batch->threads);
  return before;
}
static void leave(const LibsimBatch *batch, int before) {
  if (batch->threads > 0) omp_set_num_threads(before);
}

int libsim_reset(LibsimBatch *batch, float *observations) {
  if (!batch) return sim_api_null("batch");
  int before = enter(batch);
  sim_batch_reset(batch->batch, observations);
  leave(batch, before);
  return CORE_OK;
}

int libsim_reset_to(LibsimBatch *batch, const int32_t *level, float *observations) {
  if (!batch || !level) return sim_api_null(batch ? "level" : "batch");
  int levels = sim_batch_level_count(batch->batch);
  for (int32_t w = 0; w < libsim_worlds(batch); w++)
    if (level[w] < 0 || level[w] >= levels)
      return core_error(CORE_USAGE, "level[%d] is %d; the batch has levels 0 to %d", w, level[w], levels - 1);
  int before = enter(batch);
  sim_batch_reset_to(batch->batch, level, observations);
  leave(batch, before);
  return CORE_OK;
}

int libsim_step(LibsimBatch *batch, const void *actions, const LibsimStep *out) {
  return libsim_step_final(batch, actions, out, NULL);
}

int libsim_step_final(LibsimBatch *batch, const void *actions, const LibsimStep *out, float *final_observations) {
  if (!batch || !actions) return sim_api_null(batch ? "actions" : "batch");
  SimStepOut inside = {0};
  if (out)
    inside = (SimStepOut){.observations = out->observations, .reward = out->reward, .done = out->done,
                          .solved = out->solved, .level = out->level, .episode_steps = out->episode_steps};
  int before = enter(batch);
  sim_batch_step_final(batch->batch, actions, &inside, final_observations);
  leave(batch, before);
  return CORE_OK;
}

int libsim_observe(const LibsimBatch *batch, float *observations) {
  if (!batch || !observations) return sim_api_null(batch ? "observations" : "batch");
  int before = enter(batch);
  sim_batch_observe(batch->batch, observations);
  leave(batch, before);
  return CORE_OK;
}

/* ---- saved states ------------------------------------------------------------------------------------------------ */

size_t libsim_state_bytes(const LibsimBatch *batch) { return batch ? sim_batch_state_bytes(batch->batch) : 0; }

int libsim_save(const LibsimBatch *batch, void *state, size_t bytes) {
  if (!batch || !state) return sim_api_null(batch ? "state" : "batch");
  if (bytes != sim_batch_state_bytes(batch->batch))
    return core_error(CORE_USAGE, "the state has %zu bytes, not %zu", sim_batch_state_bytes(batch->batch), bytes);
  sim_batch_save(batch->batch, state);
  return CORE_OK;
}

int libsim_load(LibsimBatch *batch, const void *state, size_t bytes) {
  if (!batch || !state) return sim_api_null(batch ? "state" : "batch");
  return sim_batch_load(batch->batch, state, bytes);
}
