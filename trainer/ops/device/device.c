/* Ops on a device: the table, its state, and the long vectors. Every function launches kernels (kernels_*.h); results
 * by value are copied to the host, which synchronizes. */
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/device/device_internal.h"

_Static_assert((int)KERNEL_PART_ROWS == (int)CPU_BIAS_ROWS && (int)KERNEL_ROWS == (int)CPU_ROWS,
               "sums have the parts of the CPU's");

/* ---- sums -------------------------------------------------------------------------------------------------------- */

DeviceParts device_parts(size_t n) {
  const size_t size = ops_part_size(n, CPU_SUM_PARTS, CPU_SUM_MIN);
  return (DeviceParts){size, (unsigned)((n + size - 1) / size)};
}

static double sum_squares(DeviceState *state, OpsVector v) {
  const DeviceParts parts = device_parts(v.n);
  const OpsSumParts arguments = {v, parts.size, state->sums};
  double sums[CPU_SUM_PARTS], sum = 0;
  if (v.n == 0) return 0;
  state->device->launch(state->device, &ops_sum_parts_launch, parts.count, KERNEL_LANES, KERNEL_LANES * sizeof(double),
                        &arguments);
  core_device_to_host(state->device, sums, state->sums, parts.count * sizeof *sums);
  for (unsigned i = 0; i < parts.count; i++) sum += sums[i];
  return sum;
}

static double norm_squared(Ops *ops, const float *x, size_t n) {
  return sum_squares(device_state(ops), (OpsVector){x, NULL, n});
}

static double distance_squared(Ops *ops, const float *x, const float *y, size_t n) {
  return sum_squares(device_state(ops), (OpsVector){x, y, n});
}

static void moments_of(Ops *ops, const float *x, const float *y, size_t n, Moments *moments) {
  DeviceState *state = device_state(ops);
  const DeviceParts parts = device_parts(n);
  const OpsMomentParts arguments = {{x, y, n}, parts.size, state->records, NULL, 0, 0};
  Moments records[CPU_SUM_PARTS];
  *moments = (Moments){0};
  if (n == 0) return;
  state->device->launch(state->device, &ops_moment_parts_launch, parts.count, KERNEL_LANES,
                        KERNEL_LANES * sizeof(double), &arguments);
  core_device_to_host(state->device, records, state->records, parts.count * sizeof *records);
  for (unsigned i = 0; i < parts.count; i++) moments_merge(moments, &records[i]);
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

static void add(Ops *ops, float *x, const float *y, size_t n) {
  DEVICE_LAUNCH(device_state(ops), ops_add, n, &(OpsAdd){x, y, n});
}

static void normalize(Ops *ops, float *x, size_t n, double shift, double factor) {
  DEVICE_LAUNCH(device_state(ops), ops_normalize_by_moments, n, &(OpsNormalizeByMoments){x, n, shift, factor});
}

static void normalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound) {
  DEVICE_LAUNCH(device_state(ops), ops_normalize_within, n, &(OpsWithin){x, n, shift, factor, bound});
}

static void denormalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound) {
  DEVICE_LAUNCH(device_state(ops), ops_denormalize_within, n, &(OpsWithin){x, n, shift, factor, bound});
}

static void adam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double keep,
                 double rate, double beta1, double beta2, double epsilon, int64_t t) {
  OpsAdam arguments = {theta, gradient, m, v, n, row_adam_factors(scale, rate, beta1, beta2, epsilon, t)};
  arguments.factors.keep = (float)keep;
  DEVICE_LAUNCH(device_state(ops), ops_adam, n, &arguments);
}

static void radam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale,
                  double rate, double beta1, double beta2, double epsilon, int64_t t) {
  const OpsAdam arguments = {theta, gradient, m, v, n, row_radam_factors(scale, rate, beta1, beta2, epsilon, t)};
  DEVICE_LAUNCH(device_state(ops), ops_adam, n, &arguments);
}

static void ewma(Ops *ops, float *proximal, const float *theta, size_t n, double keep) {
  DeviceState *state = device_state(ops);
  if (keep == 0) core_device_copy(state->device, proximal, theta, n * sizeof *theta); /* exactly the weights */
  else DEVICE_LAUNCH(state, ops_ewma, n, &(OpsEwma){proximal, theta, n, (float)(1 - keep)});
}

static void gae(Ops *ops, double gamma, double lambda, double reward_scale, const float *reward, const float *value,
                const uint8_t *done, const uint8_t *truncated, const float *bootstrap, int steps, int worlds,
                float *advantage, float *target) {
  const OpsGae arguments = {(float)gamma, (float)lambda, (float)reward_scale, reward, value, bootstrap, done, truncated,
                            (size_t)steps, (size_t)worlds, advantage, target};
  DEVICE_LAUNCH(device_state(ops), ops_gae, arguments.worlds, &arguments);
}

static size_t first_nonfinite(Ops *ops, const float *x, size_t n) {
  DeviceState *state = device_state(ops);
  uint64_t first = n;
  if (n == 0) return 0;
  core_device_to_device(state->device, state->first, &first, sizeof first);
  DEVICE_LAUNCH(state, ops_nonfinite, n, &(OpsNonfinite){x, n, state->first});
  core_device_to_host(state->device, &first, state->first, sizeof first);
  return (size_t)first;
}

static void bound(Ops *ops, const float *values, size_t n, float low, float high, float *bounded) {
  DEVICE_LAUNCH(device_state(ops), ops_bound, n, &(OpsBound){values, bounded, n, low, high});
}

static void count_episodes(Ops *ops, const OpsEpisodes *e, const OpsEpisodeStep *step) {
  const OpsCountEpisodes arguments = {step->reward,      step->done, step->solved,     step->level, step->length,
                                      e->level_of_slot, e->returns, e->finished,      e->attempts, e->solutions,
                                      e->count,          e->worlds,  e->first_reported};
  DEVICE_LAUNCH(device_state(ops), ops_count_episodes, (size_t)e->worlds, &arguments);
}

static void count_trials(Ops *ops, const uint8_t *done, const uint8_t *solved, int worlds, int64_t most,
                         int64_t *episodes, int64_t *solutions) {
  const OpsCountTrials arguments = {done, solved, (size_t)worlds, most, episodes, solutions};
  DEVICE_LAUNCH(device_state(ops), ops_count_trials, arguments.worlds, &arguments);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static void stream_push(Ops *ops) {
  DeviceState *state = device_state(ops), *stream = state->other;
  stream->stats = state->stats;
  stream->count = state->count;
  stream->refuses = state->refuses;
  stream->rounded.gathered = state->rounded.gathered;
  stream->rounded.target = state->rounded.target;
  state->device->stream_push(state->device, CORE_STREAM_ACTOR);
  ops->state = stream;
}

static void stream_pop(Ops *ops) {
  DeviceState *stream = device_state(ops);
  device_fold_now(stream);
  ops->state = stream->other;
  stream->device->stream_pop(stream->device);
}

static void stream_wait(Ops *ops) { ops->device->stream_wait(ops->device, CORE_STREAM_ACTOR); }

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void destroy(Ops *ops) {
  DeviceState *state = device_state(ops);
  device_library_close(&state->library);
  core_arena_destroy(&state->arena);
  free(state->other);
  free(state);
  free(ops);
}

static const Ops device_table = {
  .dense_forward = device_dense_forward, .dense_backward = device_dense_backward,
  .norm_forward = device_norm_forward, .norm_backward = device_norm_backward, .gather_rows = device_gather_rows,
  .gather_bytes = device_gather_bytes, .gather_fields = device_gather_fields,
  .gather_halves = device_gather_halves, .store_halves = device_store_halves,
  .unit_sums = device_unit_sums, .gram = device_gram,
  .permute = device_permute, .world_rows = device_world_rows,
  .policy_sample = device_policy_sample, .policy_sample_at = device_policy_sample_at, .policy_logp = device_policy_logp,
  .policy_kl = device_policy_kl, .policy_loss = device_policy_loss, .value_loss = device_value_loss,
  .policy_sampled_entropy = device_policy_sampled_entropy, .normal_rows = device_normal_rows,
  .gaussian_join = device_gaussian_join, .gaussian_split = device_gaussian_split,
  .gaussian_regularize = device_gaussian_regularize, .embed_forward = device_embed_forward,
  .embed_backward = device_embed_backward, .q_policy = device_q_policy, .q_values = device_q_values,
  .q_loss = device_q_loss, .add = add, .norm_squared = norm_squared, .distance_squared = distance_squared, .adam = adam,
  .radam = radam, .ewma = ewma, .gae = gae, .moments = moments_of, .normalize = normalize,
  .first_nonfinite = first_nonfinite, .bound = bound, .count_episodes = count_episodes,
  .count_trials = count_trials, .cap = device_cap, .kl_penalty_weights = device_kl_penalty,
  .exact_kl_penalty = device_exact_kl_penalty,
    .controller_kl = device_controller_kl,
  .normalize_within = normalize_within, .denormalize_within = denormalize_within,
  .update = &device_update, .entity = &DEVICE_ENTITY, .image = &DEVICE_IMAGE,
  .recurrent = &DEVICE_RECURRENT, .destroy = destroy,
};

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void register_rounded(DeviceState *state, bool is_first) {
  const size_t rows = (size_t)state->max_rows, width = (size_t)state->max_width;
  DeviceRounded *rounded = &state->rounded;
  CORE_ARENA_DEVICE(state->arena, rounded->x, rows * device_rounded_row(width),
                    "a chain's input in bf16 [rows][width]");
  if (is_first)
    CORE_ARENA_DEVICE(state->arena, rounded->gathered, rows * device_rounded_row(width),
                      "gathered inputs in bf16 [rows][width]");
  CORE_ARENA_DEVICE(state->arena, rounded->theta, DEVICE_ROUNDED_LAYERS * (width + 1) * width,
                    "a chain's weights in bf16 [layers][width + 1][width]");
  CORE_ARENA_DEVICE(state->arena, rounded->db, DEVICE_ROUNDED_LAYERS * width,
                    "biases' gradients in bf16 [layers][width]");
}

static void register_scratch(DeviceState *state, bool is_first) {
  const size_t rows = (size_t)state->max_rows, width = (size_t)state->max_width;
  /* whose pending sums wait for each other, plus those of the value's kernel */
  const size_t layers = state->precision == OPS_BF16 ? DEVICE_ROUNDED_LAYERS + 1 : 1;
  state->column_parts_capacity = layers * device_column_parts(rows) * width;
  if (state->precision == OPS_BF16)
    state->column_parts_capacity = larger(state->column_parts_capacity, device_weights_parts_max(state->max_width));
  state->row_parts_capacity = device_row_parts(state->max_rows) * larger(2 * KERNEL_SUMS, width);

  CORE_ARENA_DEVICE(state->arena, state->column_parts, state->column_parts_capacity,
                    "column sums of parts [parts][widths]");
  CORE_ARENA_DEVICE(state->arena, state->product, rows * width, "a layer's product [rows][width]");
  CORE_ARENA_DEVICE(state->arena, state->row_parts, state->row_parts_capacity, "sums of rows [blocks][sums]");
  CORE_ARENA_DEVICE(state->arena, state->sums, CPU_SUM_PARTS, "sums");
  CORE_ARENA_DEVICE(state->arena, state->records, OPS_UPDATE_NETWORKS * CPU_SUM_PARTS, "moments of parts");
  CORE_ARENA_DEVICE(state->arena, state->spread, 1, "spread of a minibatch");
  CORE_ARENA_DEVICE(state->arena, state->first, 1, "first element");

  if (state->device->stream)
    CORE_ARENA_DEVICE(state->arena, state->workspace, DEVICE_WORKSPACE_BYTES, "workspace of products");
  if (state->precision == OPS_BF16) register_rounded(state, is_first);
}

/* Registers the scratch of the default stream and, unless NULL, of the actor's stream. */
static void register_all(DeviceState *state, DeviceState *stream) {
  core_arena_set_device(state->arena, state->device);
  register_scratch(state, true);
  if (stream) register_scratch(stream, false);
}

double ops_device_bytes(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool with_stream) {
  DeviceState state = {.device = device, .arena = core_arena_create("device ops"), .precision = precision,
                       .max_rows = max_rows, .max_width = max_width}, stream = state;
  register_all(&state, with_stream ? &stream : NULL);
  const double bytes = (double)core_arena_device_bytes(state.arena);
  core_arena_destroy(&state.arena);
  return bytes;
}

/* Parses a variable that turns kernels off, for measurements. TRAINER_TILES=none: ops_tile_gradient, replaced by the
 * library and a pass after it. TRAINER_FUSED=off: fused passes (device_mlp.c, device_fused_encoder.c), replaced by
 * layer after layer. */
static int read_switch(const char *name, const char *off, bool *is_on) {
  const char *wanted = getenv(name);
  *is_on = !wanted || !*wanted;
  if (*is_on || strcmp(wanted, off) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "%s=%.64s: expected '%s', or leave it unset", name, wanted, off);
}

static DeviceState *make_state(const DeviceState *state) {
  DeviceState *created = core_memory_allocate(sizeof *created);
  *created = *state;
  return created;
}

int ops_device_check(CoreDevice *device, OpsPrecision precision, bool with_library) {
  char reason[256] = "";
  if (device->stream == NULL) return CORE_OK;
  TRY(device->check_kernel(device, &ops_add_launch));
  if (!with_library) return CORE_OK;
  DeviceLibrary *library = device_library_open(device, precision, reason);
  if (library == NULL) return core_error(CORE_USAGE, "%s", reason);
  device_library_close(&library);
  return CORE_OK;
}

int ops_device_create(CoreDevice *device, OpsPrecision precision, int max_rows, int max_width, bool with_stream,
                      Ops **ops) {
  char reason[256] = "";
  bool tiles, fused;
  *ops = NULL;

  TRY(read_switch("TRAINER_TILES", "none", &tiles));
  TRY(read_switch("TRAINER_FUSED", "off", &fused));
  if (max_rows < 1 || max_width < 1)
    return core_error(CORE_USAGE, "ops on a device: %d rows, width %d: both must be at least 1", max_rows, max_width);

  Ops *created = core_memory_zero_allocate(1, sizeof *created);
  DeviceState *state = make_state(&(DeviceState){.device = device, .arena = core_arena_create("device ops"),
                                                 .precision = precision, .max_rows = max_rows, .max_width = max_width,
                                                 .tiles = tiles, .fused = fused});
  if (with_stream) {
    state->other = make_state(state);
    state->other->other = state;
  }

  *created = device_table;
  created->name = device->name;
  if (with_stream) {
    created->stream_push = stream_push;
    created->stream_pop = stream_pop;
    created->stream_wait = stream_wait;
  }
  if (precision == OPS_BF16) {
    created->chain_forward = device_chain_forward;
    created->chain_backward = device_chain_backward;
    created->stores_bf16 = true;
    created->entity = &DEVICE_ENTITY_BF16;
    created->gather_inputs = device_gather_inputs;
    created->expect_loss = device_expect_loss;
  }

  created->device = device;
  created->state = state;
  register_all(state, state->other);
  int code = core_arena_commit(state->arena);
  if (code == CORE_OK && device->stream) {
    state->library = device_library_open(device, precision, reason);
    if (state->library == NULL) code = core_error(CORE_USAGE, "%s", reason);
  }

  if (state->other) state->other->library = state->library;
  if (code != CORE_OK) destroy(created);
  else *ops = created;
  return code;
}
