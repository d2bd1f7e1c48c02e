/* Data between environment and policy on the CPU: clamped actions, and the episode statistics. */
#include <string.h>

#include "trainer/ops/cpu/cpu_internal.h"

void cpu_bound(Ops *ops, const float *values, size_t n, float low, float high, float *bounded) {
  for (size_t i = 0; i < n; i++) bounded[i] = values[i] < low ? low : values[i] > high ? high : values[i];
}

void cpu_gather_bytes(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes) {
  for (size_t row = 0; row < (size_t)rows; row++)
    memcpy((char *)target + row * bytes, (const char *)source + (size_t)index[row] * bytes, bytes);
}

/* Counts world by world, so that the sums have one order. */
void cpu_count_episodes(Ops *ops, const OpsEpisodes *e, const OpsEpisodeStep *step) {
  for (int w = 0; w < e->worlds; w++) {
    e->returns[w] += (double)step->reward[w];
    if (!step->done[w]) continue;
    const double total = e->returns[w];
    e->returns[w] = 0;
    if (w < e->first_reported) continue;
    e->finished[0] += total;
    e->count[0]++;
    e->count[1] += step->length[w];
    e->count[2] += step->solved[w];
    const int32_t level = e->level_of_slot ? e->level_of_slot[step->level[w]] : step->level[w];
    e->attempts[level]++;
    e->solutions[level] += step->solved[w] != 0;
  }
}

void cpu_count_trials(Ops *ops, const uint8_t *done, const uint8_t *solved, int worlds, int64_t most, int64_t *episodes,
                      int64_t *solutions) {
  (void)ops;
  for (int w = 0; w < worlds; w++) {
    if (!done[w] || episodes[w] == most) continue;
    episodes[w]++;
    solutions[w] += solved[w] != 0;
  }
}
