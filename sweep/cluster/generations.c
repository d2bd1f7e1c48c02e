/* Generations of runs. A parent's place in the first generation is decided by its number of children, most first: so
 * the parents that have a k-th child are the first ones, and the generation of k-th children lies beside them line by
 * line. */
#include "sweep/cluster/generations.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"

/* Level 0 waits for nothing, level n + 1 for a run of level n. Ids are hashes of what they begin from, so there are no
 * circles. */
static size_t find_levels(const size_t *parent, size_t count, size_t *level) {
  size_t levels = 1, found = 1;
  for (size_t i = 0; i < count; i++) level[i] = parent[i] == SWEEP_PARENT_EXTERNAL ? 1 : 0;
  for (size_t depth = 1; found && depth <= count; depth++) {
    found = 0;
    for (size_t i = 0; i < count; i++) {
      if (parent[i] == SWEEP_PARENT_EXTERNAL) found += depth == 1;
      else if (parent[i] != SWEEP_NO_PARENT && level[parent[i]] == depth - 1 && level[i] < depth)
        level[i] = depth, found++;
      if (level[i] == depth && depth + 1 > levels) levels = depth + 1;
    }
  }
  return levels;
}

/* The first generation; sorted: those with most children first. position[run]: its line. Returns its length. */
static size_t place_parents(const size_t *level, const size_t *children, size_t most, bool sorted, size_t count,
                            size_t *run, size_t *position) {
  size_t placed = 0;
  for (size_t many = sorted ? most + 1 : 1; many-- > 0;)
    for (size_t i = 0; i < count; i++) {
      if (level[i] != 0 || (sorted && children[i] != many)) continue;
      position[i] = placed;
      run[placed++] = i;
    }
  return placed;
}

/* Level 1 as generations of first, second ... children, beside their parents. */
static size_t place_children(const size_t *parent, const size_t *level, const size_t *children, size_t most,
                             size_t count, size_t parents, const size_t *position, SweepGenerations *order) {
  size_t *nth = core_memory_zero_allocate(count + 1, sizeof *nth), placed = parents;
  for (size_t k = 0; k < most; k++) {
    SweepGeneration generation = {.first = placed, .parent = 0};
    for (size_t i = 0; i < parents; i++) generation.count += children[order->run[i]] > k;
    placed += generation.count;
    order->generations[order->generation_count++] = generation;
  }
  for (size_t i = 0; i < count; i++) {
    if (level[i] != 1 || parent[i] == SWEEP_PARENT_EXTERNAL) continue;
    order->run[order->generations[1 + nth[parent[i]]++].first + position[parent[i]]] = i;
  }
  free(nth);
  return placed;
}

void sweep_generations_make(const size_t *parent, size_t count, bool align, SweepGenerations *order) {
  size_t *level = core_memory_allocate((count + 1) * sizeof *level),
         *position = core_memory_zero_allocate(count + 1, sizeof *position);
  size_t *children = core_memory_zero_allocate(count + 1, sizeof *children), most = 0;
  const size_t levels = find_levels(parent, count, level);
  *order = (SweepGenerations){.run = core_memory_allocate((count + 1) * sizeof *order->run), .count = count};
  order->generations = core_memory_allocate((levels + SWEEP_GENERATIONS_ALIGNED_MAX + 1) * sizeof *order->generations);
  for (size_t i = 0; i < count; i++) {
    if (level[i] != 1 || parent[i] == SWEEP_PARENT_EXTERNAL) continue;
    if (++children[parent[i]] > most) most = children[parent[i]];
  }
  align = align && most <= SWEEP_GENERATIONS_ALIGNED_MAX;
  size_t placed = place_parents(level, children, most, align, count, order->run, position);
  if (placed)
    order->generations[order->generation_count++] = (SweepGeneration){.count = placed, .parent = SWEEP_NO_PARENT};
  if (align && most) placed = place_children(parent, level, children, most, count, placed, position, order);
  for (size_t depth = 1; depth < levels; depth++) {
    SweepGeneration generation = {.first = placed, .parent = SWEEP_NO_PARENT, .waits = true};
    for (size_t i = 0; i < count; i++)
      if (level[i] == depth && (depth > 1 || !align || parent[i] == SWEEP_PARENT_EXTERNAL)) order->run[placed++] = i;
    generation.count = placed - generation.first;
    if (generation.count) order->generations[order->generation_count++] = generation;
  }
  CORE_CHECK(placed == count);
  free(level);
  free(position);
  free(children);
}

void sweep_generations_free(SweepGenerations *order) {
  free(order->run);
  free(order->generations);
  *order = (SweepGenerations){0};
}
