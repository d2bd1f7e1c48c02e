/* The curriculum of sampling for learnability (env.curriculum = sfl; spec kinetix.md 8.2, 8.3). Before every rollout
 * all worlds start an episode. The first worlds get newly generated levels, the others levels drawn with replacement
 * from a buffer. level_search.c fills the buffer before the first iteration and then every sfl.period iterations.
 *
 * Ranks divide the worlds: each has slots for the new levels of its own worlds and for all of the buffer, which is the
 * same at all ranks. Levels and draws are functions of (seed, iteration, index) and the weights. Since every rollout
 * starts new episodes, a checkpoint needs only the buffer's numbers of the worlds. */
#ifndef TRAINER_CURRICULUM_H
#define TRAINER_CURRICULUM_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/evaluate/level_search.h"
#include "trainer/rollout/rollout.h"

/* Part of checkpoints. */
typedef struct CurriculumPosition {
  uint64_t key;              /* of the buffer's levels */
  int64_t searched;          /* the iteration that the buffer was searched for; 0: none yet */
  int64_t count;             /* levels in the buffer */
} CurriculumPosition;

typedef struct Curriculum {
  int worlds, generated;     /* worlds of the run; those on new levels: numbers 0 .. generated - 1 */
  int first_world, own_worlds, own_generated; /* this rank's of them */
  int64_t period;
  LevelSearch search;
  LevelBuffer buffer;        /* capacity 0 where no world plays from it */
  int32_t *slot;             /* [own worlds]: new levels first, then the buffer's */
  int32_t *level_of_slot;   /* [own slots] the run's number: all new levels first, then the buffer's; on the device */
  uint32_t *numbers;         /* [generated or buffer]: scratch */
  CurriculumPosition position;
  LevelSearchSummary summary; /* of the last search */
  bool searched_now;         /* before the present iteration */
} Curriculum;

/* CORE_USAGE: the environment has no generator of levels. */
int curriculum_check(const CoreConfig *config, const Env *levels);
/* Of sfl.sampled_ratio * env.num, rounded, worlds play from the buffer. levels: any batch of the environment. */
void curriculum_register(Curriculum *curriculum, const CoreConfig *config, const Env *levels, const Shards *shards,
                         CoreArena *arena);
int curriculum_levels(const Curriculum *curriculum); /* of all ranks: what a rollout counts by */
/* Memory of the search's worlds and the training batch. */
int curriculum_estimate_bytes(const Curriculum *curriculum, const Env *levels, double *training, double *search);
/* After the arena's commit: makes the search's worlds and *env, those that are trained on. device: the arena's. */
int curriculum_create(Curriculum *curriculum, const Env *levels, uint64_t seed, CoreDevice *device, Env **env);
void curriculum_destroy(Curriculum *curriculum);

/* Is a search due before this iteration (1, 2, ...)? */
bool curriculum_search_due(const Curriculum *curriculum, int64_t iteration);
/* Searches when due, then puts every world of the rollout's environment on its level of the iteration. CORE_REQUEUE:
 * the search was told to stop; what a checkpoint has of it is as it was. */
int curriculum_begin(Curriculum *curriculum, Env *env, Ops *ops, const Agent *agent, Rollout *rollout, uint64_t seed,
                     int64_t iteration);
/* What the iteration's rollout says of new and sampled levels, and what the search found where there was one. */
void curriculum_fill_row(const Curriculum *curriculum, const Rollout *rollout, StoreIteration *row);

void curriculum_add_sections(Curriculum *curriculum, Checkpoint *checkpoint);
/* Makes the buffer's levels again. CORE_USAGE: the position is none that this configuration can have. */
int curriculum_after_load(Curriculum *curriculum, Env *env, int64_t iteration);

#endif
