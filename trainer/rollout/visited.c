/* Sampling of states, and the format of their file (visited.h). */
#include "trainer/rollout/visited.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/math/sample.h"
#include "trainer/ranks/ranks.h"

int64_t visited_capacity(int64_t states, int64_t iterations, int64_t total) {
  const int64_t parts = iterations < VISITED_PARTS ? iterations : VISITED_PARTS;
  const int64_t states_per_part = (states + parts - 1) / parts;
  return states_per_part < total ? states_per_part : total;
}

void visited_register(Visited *visited, const Env *levels, const Shards *shards, int64_t states, int64_t iterations,
                      int64_t total, CoreArena *arena) {
  *visited = (Visited){.features = env_pixels_value_count(levels->pixels, levels->observation_length),
                       .row = levels->observation_length, .pixels = levels->pixels,
                       .states = states, .iterations = iterations,
                       .total = total, .shards = *shards};
  const int64_t capacity = visited_capacity(states, iterations, total);
  CORE_ARENA(arena, visited->rows, (size_t)capacity * (size_t)visited->features, "visited states [states][features]");
}

/* Part p ends with the iteration that completes (p + 1) parts of the run, so the last iteration is among them; it
 * contributes the states from p to p + 1 parts of the total. */
int64_t visited_share(const Visited *visited, int64_t iteration) {
  const int64_t parts = visited->iterations < VISITED_PARTS ? visited->iterations : VISITED_PARTS;
  const int64_t done = iteration * parts / visited->iterations, before = (iteration - 1) * parts / visited->iterations;
  if (iteration > visited->iterations || done == before) return 0;
  const int64_t share = done * visited->states / parts - before * visited->states / parts;
  return share < visited->total ? share : visited->total;
}

bool visited_begin(Visited *visited, uint64_t seed, int64_t iteration) {
  visited->count = visited_share(visited, iteration);
  visited->next = 0;
  visited->seed = seed;
  visited->iteration = iteration;
  memset(visited->rows, 0, (size_t)visited->count * (size_t)visited->features * sizeof *visited->rows);
  return visited->count > 0;
}

void visited_add_state(Visited *visited, int64_t number, const float *observation) {
  float *state = visited->rows + (size_t)number * (size_t)visited->features;
  for (int i = 0; i < visited->features; i++) state[i] = env_pixels_value(visited->pixels, observation, i);
}

void visited_add_states(Visited *visited, int t, const float *shown) {
  const int64_t worlds = visited->shards.global_worlds;
  for (; visited->next < visited->count; visited->next++) {
    const int64_t row = sample_state(visited->seed, visited->iteration, visited->next, visited->count, visited->total);
    const int64_t world = row - t * worlds - visited->shards.first_world;
    if (row >= (t + 1) * worlds) return; /* belongs to a later step */
    if (world < 0 || world >= visited->shards.worlds) continue; /* another rank's: zeros, to which that rank adds */
    visited_add_state(visited, visited->next, shown + (size_t)world * (size_t)visited->row);
  }
}

void visited_finish(Visited *visited) {
  ranks_sum_floats(visited->rows, (size_t)visited->count * (size_t)visited->features);
}

void visited_format(const Visited *visited, CoreText *file) {
  enum { PREFIX = 10, BLOCK = 64 }; /* magic, version and header length; alignment of the total */
  char header[128];
  const int length =
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ", %d), }",
             visited->count, visited->features);
  const int padded = (PREFIX + length + 1 + BLOCK - 1) / BLOCK * BLOCK - PREFIX; /* including the final newline */
  const unsigned char prefix[PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255),
                                        (unsigned char)(padded >> 8)};
  core_text_append_bytes(file, prefix, sizeof prefix);
  core_text_appendf(file, "%-*s\n", padded - 1, header);
  core_text_append_bytes(file, visited->rows,
                         (size_t)visited->count * (size_t)visited->features * sizeof *visited->rows);
}
