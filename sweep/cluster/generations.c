/* Computes generations. The first one is sorted by number of children, most first: so the parents that have a k-th
 * child come first, and the generation of k-th children is aligned with them line by line. */
#include "sweep/cluster/generations.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"

/* Finds each run's level: 0 without a parent, otherwise 1 + that of its parent. Returns the number of levels. There are
 * no cycles, since a run id is the hash of a configuration that includes its parent's id. */
static size_t find_levels(const size_t *parent, size_t count, size_t *level) {
  size_t levels = 1, found = 1;
  for (size_t i = 0; i < count; i++) level[i] = parent[i] == SWEEP_PARENT_EXTERNAL ? 1 : 0;

  for (size_t depth = 1; found && depth <= count; depth++) {
    found = 0;
    for (size_t i = 0; i < count; i++) {
      if (parent[i] == SWEEP_PARENT_EXTERNAL) {
        found += depth == 1;
      } else if (parent[i] != SWEEP_NO_PARENT && level[parent[i]] == depth - 1 && level[i] < depth) {
        level[i] = depth;
        found++;
      }
      if (level[i] == depth && depth + 1 > levels) levels = depth + 1;
    }
  }
  return levels;
}

/* Lists the first generation; sorted: by number of children, most first. position[i]: the line of run i. Returns its
 * length. */
static size_t place_parents(const size_t *level, const size_t *children, size_t max_children, bool sorted, size_t count,
                            size_t *run, size_t *position) {
  size_t placed = 0;
  for (size_t k = sorted ? max_children + 1 : 1; k-- > 0;)
    for (size_t i = 0; i < count; i++) {
      if (level[i] != 0 || (sorted && children[i] != k)) continue;
      position[i] = placed;
      run[placed++] = i;
    }
  return placed;
}

/* Lists level 1 as generations of first, second, ... children, aligned with their parents. Returns the number of runs
 * placed so far. */
static size_t place_children(const size_t *parent, const size_t *level, const size_t *children, size_t max_children,
                             size_t count, size_t parents, const size_t *position, SweepGenerations *order) {
  size_t *next_child = core_memory_zero_allocate(count + 1, sizeof *next_child), placed = parents;
  for (size_t k = 0; k < max_children; k++) {
    SweepGeneration generation = {.first = placed, .parent = 0};
    for (size_t i = 0; i < parents; i++) generation.count += children[order->run[i]] > k;
    placed += generation.count;
    order->generations[order->generation_count++] = generation;
  }
  for (size_t i = 0; i < count; i++) {
    if (level[i] != 1 || parent[i] == SWEEP_PARENT_EXTERNAL) continue;
    const SweepGeneration *generation = &order->generations[1 + next_child[parent[i]]++];
    order->run[generation->first + position[parent[i]]] = i;
  }
  free(next_child);
  return placed;
}

void sweep_generations_make(const size_t *parent, size_t count, bool align, SweepGenerations *order) {
  size_t *level = core_memory_allocate((count + 1) * sizeof *level),
         *position = core_memory_zero_allocate(count + 1, sizeof *position),
         *children = core_memory_zero_allocate(count + 1, sizeof *children), max_children = 0;
  const size_t levels = find_levels(parent, count, level);
  *order = (SweepGenerations){.run = core_memory_allocate((count + 1) * sizeof *order->run), .count = count};
  order->generations = core_memory_allocate((levels + SWEEP_GENERATIONS_ALIGNED_MAX + 1) * sizeof *order->generations);

  for (size_t i = 0; i < count; i++) {
    if (level[i] != 1 || parent[i] == SWEEP_PARENT_EXTERNAL) continue;
    if (++children[parent[i]] > max_children) max_children = children[parent[i]];
  }
  align = align && max_children <= SWEEP_GENERATIONS_ALIGNED_MAX;

  size_t placed = place_parents(level, children, max_children, align, count, order->run, position);
  if (placed)
    order->generations[order->generation_count++] = (SweepGeneration){.count = placed, .parent = SWEEP_NO_PARENT};
  if (align && max_children)
    placed = place_children(parent, level, children, max_children, count, placed, position, order);

  for (size_t depth = 1; depth < levels; depth++) {
    SweepGeneration generation = {.first = placed, .parent = SWEEP_NO_PARENT, .waits = true};
    for (size_t i = 0; i < count; i++) {
      const bool is_aligned = depth == 1 && align && parent[i] != SWEEP_PARENT_EXTERNAL;
      if (level[i] == depth && !is_aligned) order->run[placed++] = i;
    }
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
