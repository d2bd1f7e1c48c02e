/* Helpers of the rollout's files: parts of its worlds, and the statistics of its episodes. */
#ifndef TRAINER_ROLLOUT_INTERNAL_H
#define TRAINER_ROLLOUT_INTERNAL_H
#include "trainer/rollout/rollout.h"

/* Worlds that step together. */
typedef struct RolloutPart { int first, worlds; } RolloutPart;

void rollout_open_stats(const Rollout *rollout);
/* Adds step t's rewards and finished episodes of the part's worlds. */
void rollout_count_episodes(Rollout *rollout, Ops *ops, int t, RolloutPart part);
/* Copies the statistics of this rank's worlds to the host. */
void rollout_read_stats(const Rollout *rollout, RolloutEpisodes *episodes);
/* Sums over all ranks, then computes means. */
void rollout_close_stats(const Rollout *rollout, RolloutEpisodes *episodes);

#endif
