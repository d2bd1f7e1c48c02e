/* Carries, stores and gathers recurrent states (states.h). */
#include "trainer/rollout/states.h"

#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_rows.h"

/* ---- over a rollout ---------------------------------------------------------------------------------------------- */

void states_register(RolloutStates *states, const CoreConfig *config, const Shards *shards, int steps,
                     CoreArena *arena) {
  const size_t worlds = (size_t)shards->worlds;
  *states = (RolloutStates){.device = core_arena_device(arena), .worlds = shards->worlds, .steps = steps,
                            .state_size = agent_state_size(config), .length = (int)core_config_sequence_length(config)};
  if (!states_apply(states)) return;
  const size_t state_size = (size_t)states->state_size, starts = (size_t)(steps / states->length) + 1;
  CORE_ARENA_DEVICE(arena, states->current, worlds * state_size, "states of the memory [worlds][numbers]");
  CORE_ARENA_DEVICE(arena, states->starts, starts * worlds * state_size,
                    "rollout states at starts of sequences [sequences][worlds][numbers]");
  CORE_ARENA_DEVICE(arena, states->begins, ((size_t)steps + 1) * worlds, "rollout begins of episodes [steps][worlds]");
}

static size_t state_floats(const RolloutStates *states,
                           int worlds) { return (size_t)worlds * (size_t)states->state_size; }

void states_clear(const RolloutStates *states) {
  if (states_apply(states))
    core_device_zero(states->device, states->current, state_floats(states, states->worlds) * sizeof *states->current);
}

void states_begin(const RolloutStates *states) {
  if (states_apply(states))
    core_device_zero(states->device, states->begins, ((size_t)states->steps + 1) * (size_t)states->worlds);
}

/* Copies the current states of worlds first .. first + count - 1 to starts[block]. */
static void keep(const RolloutStates *states, int block, int first, int count) {
  const size_t total = state_floats(states, states->worlds), offset = state_floats(states, first);
  core_device_copy(states->device, states->starts + (size_t)block * total + offset, states->current + offset,
                   state_floats(states, count) * sizeof *states->current);
}

void states_store(const RolloutStates *states, int t, int first, int count) {
  if (states_apply(states) && t % states->length == 0) keep(states, t / states->length, first, count);
}

void states_bind(const RolloutStates *states, const Agent *agent, int first, bool advances) {
  if (!states_apply(states)) return;
  float *current = states->current + state_floats(states, first);
  agent_bind_sequences(agent, &(RecurrentSequences){.length = 1, .start = current, .end = advances ? current : NULL});
}

void states_clear_done(const RolloutStates *states, int t, int first, int count, const uint8_t *done) {
  if (!states_apply(states)) return;
  const OpsEndStates end = {states->current + state_floats(states, first), done + first, (size_t)count,
                            core_divisor((size_t)states->state_size)};
  KERNELS_EACH(states->device, ops_end_states, ops_end_state, end.worlds * end.state_size.number, &end);
  const int next = t + 1;
  if (next % states->length != 0) /* at a sequence's start, the stored state is 0 already */
    core_device_copy(states->device, states->begins + (size_t)next * (size_t)states->worlds + first, done + first,
                     (size_t)count);
}

void states_finish(const RolloutStates *states) {
  if (states_apply(states)) keep(states, states->steps / states->length, 0, states->worlds);
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

SapgLayout states_layout(const RolloutStates *states, int global_worlds) {
  return (SapgLayout){.worlds = global_worlds, .steps = states->steps, .blocks = 1, .sequence = states->length};
}

int64_t states_round_to_sequences(const RolloutStates *states, int64_t wanted, int64_t total) {
  const int64_t length = states_length(states), rows = wanted < total ? wanted : total;
  return rows < length ? length : rows / length * length;
}

int64_t states_sampled_row(const RolloutStates *states, const Shards *shards, int64_t drawn, int step) {
  const SapgLayout layout = states_layout(states, shards->global_worlds);
  if (!states_apply(states)) return shards_row(shards, (uint32_t)drawn);
  return shards_row(shards, sapg_sample(&layout, (uint32_t)drawn, (uint32_t)step));
}

void sequences_register(Sequences *sequences, const RolloutStates *states, int capacity, CoreArena *arena) {
  *sequences = (Sequences){.length = states->length};
  if (!states_apply(states)) return;
  const size_t rows = (size_t)capacity, starts = rows / (size_t)states->length;
  CORE_ARENA_DEVICE(arena, sequences->by_step, rows, "rows of sequences, by step [rows]");
  CORE_ARENA_DEVICE(arena, sequences->start_rows, starts, "starts of sequences [sequences]");
  CORE_ARENA_DEVICE(arena, sequences->start, starts * (size_t)states->state_size,
                    "states at starts [sequences][numbers]");
  CORE_ARENA_DEVICE(arena, sequences->begins, rows, "begins of episodes in sequences [rows]");
}

Sequences sequences_from(const Sequences *sequences, const RolloutStates *states, int row) {
  Sequences tail = *sequences;
  if (!states_apply(states)) return tail;
  const size_t rows = (size_t)row, starts = (size_t)(row / states->length);
  tail.by_step += rows;
  tail.start_rows += starts;
  tail.start += starts * (size_t)states->state_size;
  tail.begins += rows;
  return tail;
}

const uint32_t *sequences_order(const Sequences *sequences, const RolloutStates *states, const uint32_t *rows,
                                int count) {
  if (!states_apply(states)) return rows;
  const OpsStepRows order = {rows, sequences->by_step, (size_t)count, (size_t)states->length};
  KERNELS_EACH(states->device, ops_step_rows, ops_step_row, order.n, &order);
  return sequences->by_step;
}

void sequences_gather(const Sequences *sequences, const RolloutStates *states, Ops *ops, const uint32_t *rows,
                      int count) {
  if (!states_apply(states)) return;
  const int starts = count / sequences->length;
  const OpsStartRows start = {rows, sequences->start_rows, (size_t)starts, (uint32_t)states->worlds,
                              (uint32_t)states->length};
  KERNELS_EACH(states->device, ops_start_rows, ops_start_row, start.n, &start);
  ops->gather_rows(ops, states->starts, sequences->start_rows, sequences->start, starts, states->state_size);
  ops->gather_bytes(ops, states->begins, rows, sequences->begins, count, 1);
}

void sequences_bind(const Sequences *sequences, const Agent *agent) {
  agent_bind_sequences(agent, &(RecurrentSequences){.length = sequences->length, .start = sequences->start,
                                            .begins = sequences->begins});
}
