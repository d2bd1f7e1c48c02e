/* Curriculum of sampling for learnability (env.curriculum = sfl; docs/experiments.md#sampling-for-learnability-sfl).
 * Before every rollout all worlds start an episode. The first worlds get newly generated levels, the others levels
 * sampled with replacement from a buffer. level_search.c fills the buffer before the first iteration and then every
 * sfl.period iterations.
 *
 * Ranks divide the worlds: each has slots for the new levels of its own worlds and for the whole buffer, which is the
 * same at all ranks. Levels and draws are functions of (seed, iteration, index) and the weights. Since every rollout
 * starts new episodes, a checkpoint needs only the buffer's level numbers of the worlds. */
#ifndef TRAINER_CURRICULUM_H
#define TRAINER_CURRICULUM_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/evaluate/level_search.h"
#include "trainer/rollout/rollout.h"

/* Part of checkpoints. */
typedef struct CurriculumPosition {
  uint64_t key;              /* key of the buffer's levels */
  int64_t searched;          /* iteration of the buffer's search; 0: none yet */
  int64_t count;             /* levels in the buffer */
} CurriculumPosition;

typedef struct Curriculum {
  int worlds, generated;     /* worlds of the run, and of them those on new levels */
  bool is_spread;            /* sfl.placement = spread: the latter are spread evenly; else they are the first */
  int first_world, own_worlds; /* this rank's worlds */
  int first_generated, own_generated; /* numbers of this rank's new levels */
  int64_t period;
  LevelSearch search;
  LevelBuffer buffer;        /* capacity 0 where no world uses it */
  int32_t *slot;             /* [own worlds]: new levels first, then the buffer's */
  int32_t *level_of_slot;    /* [own slots] the run's number: all new levels first, then the buffer's; on the device */
  uint32_t *numbers;         /* [generated or buffer]: scratch */
  CurriculumPosition position;
  LevelSearchSummary summary; /* summary of the last search */
  bool searched_now;         /* whether a search preceded the current iteration */
} Curriculum;

/* Checks the environment. CORE_USAGE: it has no generator of levels. */
int curriculum_check(const CoreConfig *config, const Env *levels);
/* Registers the buffers. sfl.sampled_ratio * env.num worlds, rounded, use the buffer. levels: any batch of the
 * environment. */
void curriculum_register(Curriculum *curriculum, const CoreConfig *config, const Env *levels, const Shards *shards,
                         CoreArena *arena);
int curriculum_levels(const Curriculum *curriculum); /* number of levels in rollout statistics, of all ranks */
/* Estimates the memory of the search's worlds and the training batch. */
int curriculum_estimate_bytes(const Curriculum *curriculum, const Env *levels, double *training, double *search);
/* Creates the search's worlds and *env, the training worlds, after the arena's commit. device: the arena's. */
int curriculum_create(Curriculum *curriculum, const Env *levels, uint64_t seed, CoreDevice *device, Env **env);
void curriculum_destroy(Curriculum *curriculum);

/* Whether a search is due before this iteration (1, 2, ...). */
bool curriculum_search_due(const Curriculum *curriculum, int64_t iteration);
/* Searches if due, then puts every world of the rollout's environment on its level of the iteration. CORE_REQUEUE: the
 * search was asked to stop; its checkpointed state is unchanged. */
int curriculum_begin(Curriculum *curriculum, Env *env, Ops *ops, const Agent *agent, Rollout *rollout, uint64_t seed,
                     int64_t iteration);
/* Fills the row's statistics of new and sampled levels, and of the search if there was one. */
void curriculum_fill_row(const Curriculum *curriculum, const Rollout *rollout, StoreIteration *row);

void curriculum_add_sections(Curriculum *curriculum, Checkpoint *checkpoint);
/* Generates the buffer's levels again after a restore. CORE_USAGE: the position is invalid for this configuration. */
int curriculum_after_load(Curriculum *curriculum, Env *env, int64_t iteration);

#endif
