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

/* state_samples.c */
void rollout_register_logits(Rollout *rollout, const CoreConfig *config, CoreArena *arena);
/* Chooses the states of this rollout whose logits are kept, where not all are. */
void rollout_sample_logit_states(Rollout *rollout, uint64_t seed, int64_t iteration);
void rollout_register_samples(Rollout *rollout, const CoreConfig *config, const Env *env, CoreArena *arena);
/* Chooses the states of this rollout that coverage and visited look at. */
void rollout_begin_samples(Rollout *rollout);
/* Passes the states after step t, `features` floats per world, to coverage and visited. */
void rollout_add_samples(Rollout *rollout, Ops *ops, int t, const float *shown, int features);
void rollout_finish_samples(Rollout *rollout);

#endif
