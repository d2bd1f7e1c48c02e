/* The CPU implementation of ops.h: its table, its state, its threads. The arithmetic is in cpu_chain.c, cpu_dense.c,
 * cpu_norm.c, cpu_q.c, cpu_policy.c, cpu_gaussian.c and cpu_vector.c; the matrix-product library in cpu_library.c. */
#include <omp.h>

#include "core/memory.h"
#include "trainer/ops/cpu_entity_internal.h"

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
    .norm_backward = cpu_norm_backward, .gather_rows = cpu_gather_rows, .add = cpu_add,
    .q_policy = cpu_q_policy, .q_values = cpu_q_values, .q_loss = cpu_q_loss,
    .policy_sample = cpu_policy_sample, .policy_logp = cpu_policy_logp, .policy_kl = cpu_policy_kl,
    .policy_loss = cpu_policy_loss, .value_loss = cpu_value_loss,
    .policy_sampled_entropy = cpu_policy_sampled_entropy, .normal_rows = cpu_normal_rows,
    .gaussian_join = cpu_gaussian_join, .gaussian_split = cpu_gaussian_split,
    .gaussian_regularise = cpu_gaussian_regularise, .embed_forward = cpu_embed_forward,
    .embed_backward = cpu_embed_backward,
    .norm_squared = cpu_norm_squared, .distance_squared = cpu_distance_squared, .adam = cpu_adam, .radam = cpu_radam,
    .ewma = cpu_ewma,
    .gae = cpu_gae, .moments = cpu_moments, .standardise = cpu_standardise, .first_nonfinite = cpu_first_nonfinite,
    .bound = cpu_bound, .gather_bytes = cpu_gather_bytes, .count_episodes = cpu_count_episodes,
    .entity = &CPU_ENTITY, .destroy = cpu_destroy,
};

int ops_cpu_create(int threads, int max_rows, int max_width, Ops **ops) {
  *ops = NULL;
  if (threads < 0 || max_rows < 1 || max_width < 1)
    return core_error(CORE_USAGE,
                      "cpu ops: %d threads, %d rows, width %d: none may be negative, rows and width at least 1",
                      threads, max_rows, max_width);
  size_t libraries;
  CpuOps *cpu = core_memory_zero_allocate(1, sizeof *cpu);
  CpuState *state = &cpu->state;
  cpu->table = cpu_table;
  cpu->table.state = state;
  *state = (CpuState){.threads = threads ? threads : omp_get_num_procs(), .max_rows = max_rows, .max_width = max_width,
                      .library = cpu_libraries(&libraries)};
  size_t blocks = (size_t)cpu_blocks(max_rows), width = (size_t)max_width;
  cpu->arena = core_arena_create("cpu ops");
  CORE_ARENA(cpu->arena, state->kernel_parts, cpu_kernel_parts_floats(max_width), "kernel gradient parts");
  CORE_ARENA(cpu->arena, state->kernels, cpu_chain_kernels_floats(max_width), "kernels of a chain");
  CORE_ARENA(cpu->arena, state->bias_sums, cpu_chain_bias_sums(max_width), "bias gradient sums");
  CORE_ARENA(cpu->arena, state->bias_parts, cpu_bias_parts_floats(max_rows, max_width), "bias gradient parts");
  CORE_ARENA(cpu->arena, state->gain_parts, cpu_bias_parts_floats(max_rows, max_width), "gain gradient parts");
  CORE_ARENA(cpu->arena, state->rows_scratch, (size_t)state->threads * CPU_SCRATCHES * CPU_ROWS * width,
             "row scratch [threads][scratches][rows][width]");
  CORE_ARENA(cpu->arena, state->sum_parts, blocks * CPU_SUMS, "sums of blocks [blocks][sums]");
  int code = core_arena_commit(cpu->arena);
  if (code != CORE_OK) {
    cpu_destroy(&cpu->table);
    return code;
  }
  *ops = &cpu->table;
  return CORE_OK;
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
