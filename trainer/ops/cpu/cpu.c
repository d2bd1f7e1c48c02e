/* CPU implementation of ops.h: its table, its state, its threads. The arithmetic is in cpu_chain.c, cpu_dense.c,
 * cpu_norm.c, cpu_q.c, cpu_policy.c, cpu_gaussian.c and cpu_vector.c; the matrix-product library in cpu_library.c, its
 * replacement in small networks in cpu_small.c and cpu_zeros.c, its use in the run's precision in cpu_product.c, and
 * the choice of it in cpu_bf16.c. */
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/cpu/cpu_image_internal.h"

typedef struct CpuOps {
  Ops table;
  CpuState state;
  CoreArena *arena;
} CpuOps;

static void cpu_destroy(Ops *ops) {
  CpuOps *cpu = (CpuOps *)ops;
  core_arena_destroy(&cpu->arena);
  free(cpu);
}

static const Ops cpu_table = {
    .name = "cpu",
    .dense_forward = cpu_dense_forward, .dense_backward = cpu_dense_backward,
    .chain_forward = cpu_chain_forward, .chain_backward = cpu_chain_backward, .norm_forward = cpu_norm_forward,
    .norm_backward = cpu_norm_backward, .gather_rows = cpu_gather_rows, .gather_inputs = cpu_gather_inputs,
    .gather_fields = cpu_gather_fields, .gather_halves = cpu_gather_halves,
    .store_halves = cpu_store_halves, .add = cpu_add,
    .q_policy = cpu_q_policy, .q_values = cpu_q_values, .q_loss = cpu_q_loss,
    .policy_sample = cpu_policy_sample, .policy_logp = cpu_policy_logp, .policy_kl = cpu_policy_kl,
    .policy_loss = cpu_policy_loss, .value_loss = cpu_value_loss,
    .policy_sampled_entropy = cpu_policy_sampled_entropy, .normal_rows = cpu_normal_rows,
    .gaussian_join = cpu_gaussian_join, .gaussian_split = cpu_gaussian_split,
    .gaussian_regularize = cpu_gaussian_regularize, .embed_forward = cpu_embed_forward,
    .embed_backward = cpu_embed_backward,
    .norm_squared = cpu_norm_squared, .distance_squared = cpu_distance_squared, .adam = cpu_adam, .radam = cpu_radam,
    .ewma = cpu_ewma,
    .gae = cpu_gae, .moments = cpu_moments, .normalize = cpu_normalize, .first_nonfinite = cpu_first_nonfinite,
    .permute = cpu_permute, .world_rows = cpu_world_rows, .cap = cpu_cap, .kl_penalty_weights = cpu_kl_penalty,
    .exact_kl_penalty = cpu_exact_kl_penalty,
    .bound = cpu_bound, .gather_bytes = cpu_gather_bytes, .count_episodes = cpu_count_episodes,
    .count_trials = cpu_count_trials, .controller_kl = cpu_controller_kl,
    .normalize_within = cpu_normalize_within, .denormalize_within = cpu_denormalize_within,
    .entity = &CPU_ENTITY, .image = &CPU_IMAGE, .recurrent = &CPU_RECURRENT, .destroy = cpu_destroy,
};

static void register_buffers(CpuState *state, CoreArena *arena) {
  const int rows = state->max_rows, width = state->max_width;
  state->kernel_parts_capacity = cpu_chain_parts_floats(rows, width);
  CORE_ARENA(arena, state->kernel_parts, state->kernel_parts_capacity, "kernel gradient parts");
  CORE_ARENA(arena, state->kernels, cpu_chain_kernels_floats(state), "kernels of a chain");
  CORE_ARENA(arena, state->operands, state->has_bf16 ? cpu_chain_kernels_floats(state) : 0,
             "rounded kernels of a chain");
  CORE_ARENA(arena, state->bias_sums, cpu_chain_bias_sums(width), "bias gradient sums");
  CORE_ARENA(arena, state->bias_parts, cpu_bias_parts_floats(rows, width), "bias gradient parts");
  CORE_ARENA(arena, state->gain_parts, cpu_bias_parts_floats(rows, width), "gain gradient parts");
  CORE_ARENA(arena, state->rows_scratch, (size_t)state->threads * CPU_SCRATCHES * CPU_ROWS * (size_t)width,
             "row scratch [threads][scratches][rows][width]");
  CORE_ARENA(arena, state->sum_parts, (size_t)cpu_blocks(rows) * CPU_SUMS, "sums of blocks [blocks][sums]");
  CORE_ARENA(arena, state->inputs.blocks, (size_t)cpu_blocks(rows), "zeros of inputs [blocks]");
}

int ops_cpu_create_within(int threads, bool bf16, const OpsCpuLimits *limits, Ops **ops) {
  *ops = NULL;
  if (threads < 0 || limits->rows < 1 || limits->width < 1)
    return core_error(CORE_USAGE,
                      "cpu ops: %d threads, %d rows, width %d: none may be negative, rows and width at least 1",
                      threads, limits->rows, limits->width);

  size_t libraries;
  const CpuLibrary *library = cpu_libraries(&libraries);
  OpsBf16Method method = bf16 ? cpu_bf16_earlier(library) : OPS_BF16_FLOAT32;
  bool forced;
  if (bf16) TRY(cpu_bf16_forced(library, &forced, &method));

  CpuOps *cpu = core_memory_zero_allocate(1, sizeof *cpu);
  cpu->table = cpu_table;
  cpu->table.state = &cpu->state;
  cpu->state = (CpuState){.threads = threads ? threads : omp_get_num_procs(), .max_rows = limits->rows,
                          .max_width = limits->width, .max_kernel = limits->kernel, .library = library,
                          .has_bf16 = bf16, .method = method};

  cpu->arena = core_arena_create("cpu ops");
  register_buffers(&cpu->state, cpu->arena);
  int code = core_arena_commit(cpu->arena);
  if (code != CORE_OK) {
    cpu_destroy(&cpu->table);
    return code;
  }
  *ops = &cpu->table;
  return CORE_OK;
}

double ops_cpu_bytes(int threads, const OpsCpuLimits *limits) {
  CoreArena *arena = core_arena_create("cpu ops, estimated");
  CpuState state = {.threads = threads, .max_rows = limits->rows, .max_width = limits->width,
                    .max_kernel = limits->kernel, .has_bf16 = true};
  register_buffers(&state, arena);
  const double bytes = (double)core_arena_bytes(arena);
  core_arena_destroy(&arena);
  return bytes;
}

static OpsCpuLimits square(int max_rows, int max_width) {
  return (OpsCpuLimits){max_rows, max_width, (size_t)max_width * (size_t)max_width};
}

int ops_cpu_create(int threads, int max_rows, int max_width, Ops **ops) {
  const OpsCpuLimits limits = square(max_rows, max_width);
  return ops_cpu_create_within(threads, false, &limits, ops);
}

int ops_cpu_create_bf16(int threads, int max_rows, int max_width, Ops **ops) {
  const OpsCpuLimits limits = square(max_rows, max_width);
  return ops_cpu_create_within(threads, true, &limits, ops);
}

const char *ops_cpu_description(void) {
  static char description[128];
  size_t count;
  return cpu_library_describe(cpu_libraries(&count), description);
}

void ops_destroy(Ops **ops) {
  if (!*ops) return;
  (*ops)->destroy(*ops);
  *ops = NULL;
}
