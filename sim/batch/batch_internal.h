/* The batch from inside, for its own files, sim/device, and tests that look at single worlds and physics steps. */
#ifndef SIM_BATCH_INTERNAL_H
#define SIM_BATCH_INTERNAL_H
#include "core/device/arena.h"
#include "sim/batch/batch.h"
#include "sim/simd/block.h"
#include "sim/task/observe.h"
#include "sim/task/task.h"

/* What a batch asks of worlds that are elsewhere; sim/device fills it in (batch_device.c). The batch's own worlds,
 * models and templates are then copies on the host: the worlds' only for functions that look at single ones, which
 * fetch them first. Arrays of steps and observations are where the worlds are, `level` of reset is on the host. */
typedef struct SimBackendTable {
  /* After the levels were taken and features chosen: sets batch->remote. CORE_USAGE: a setting of the backend's own is
   * wrong; CORE_FAIL: out of memory. destroy takes what create left when it failed, too. */
  int (*create)(SimBatch *batch);
  void (*destroy)(SimBatch *batch);
  /* Every world at the start of level[w], or of one that it draws (NULL). observations: NULL, or [worlds][length]. */
  void (*reset)(SimBatch *batch, const int32_t *level, float *observations);
  /* Worlds first .. first + count - 1; the arrays are those of all worlds. */
  void (*step)(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out);
  void (*synchronize)(SimBatch *batch);  /* sim_batch_synchronize */
  void (*observe)(const SimBatch *batch, float *observations);
  SimConstants (*constants)(const SimBatch *batch);
  void (*show_again)(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                     float *observations);
  int64_t (*nonfinite)(const SimBatch *batch);
  size_t (*bytes)(const SimBatch *batch);  /* of the backend's memory */
  /* Levels first .. first + count - 1 have changed on the host. */
  void (*take_levels)(SimBatch *batch, int first, int count);
  /* All worlds from there to batch->worlds, and back. */
  void (*fetch)(const SimBatch *batch);
  void (*put)(SimBatch *batch);
} SimBackendTable;

/* Features that are side by side in the whole observation and in the one that is given. */
typedef struct SimFeatureRun { int32_t whole, given, length; } SimFeatureRun;

struct SimBatch {
  SimBatchOptions options;
  SimTaskRules rules;
  SimSize size, new_size;
  int level_count;        /* of the set; models and templates of new levels follow, one for each world */
  int held_count;         /* of those, on the host: all, or with places for drawn levels those that were given */
  int whole_length, observation_length; /* features of a whole observation, and of those given */
  CoreArena *arena;
  SimLevel *levels;       /* [held_count], as given */
  SimModel *models;       /* [held_count + worlds of new levels] */
  float *templates;       /* [held_count + worlds of new levels][whole_length] */
  int32_t *features;      /* [observation_length]: which of the whole ones are given */
  int32_t *given;         /* [whole_length]: where a feature is in those given; of others nothing */
  SimFeatureRun *runs;    /* [run_count]: all that are given */
  int run_count;
  SimWorld *worlds;       /* [worlds] */
  uint32_t *numbers;      /* [worlds] of new levels: which of its world's sequence the present one is */
  const SimLanesKernels *kernels; /* NULL: one world after the other */
  SimBlockPlan *plans;    /* [sim_batch_planned] */
  void **room;            /* [rooms]: each thread's working memory, once it has stepped (batch_cpu.c) */
  int rooms;
  int64_t nonfinite;
  const SimBackendTable *backend; /* options.backend's; NULL: the worlds are on the host */
  void *remote;           /* the backend's own */
};

/* Frees `room` (batch_cpu.c). */
void sim_batch_free_rooms(SimBatch *batch);

/* Worlds that keep their plans from step to step: the first of those that step side by side, in blocks. More would
 * take a third of a world's own memory each. */
enum { SIM_BATCH_PLANNED = 4096 };
static inline int sim_batch_planned(const SimBatch *batch) {
  if (!batch->kernels || batch->backend) return 0;
  return batch->options.worlds < SIM_BATCH_PLANNED ? batch->options.worlds : SIM_BATCH_PLANNED;
}
/* Are the worlds' levels new ones, each with a place for its constants? */
static inline bool sim_batch_has_new_levels(const SimBatch *batch) { return batch->options.reset >= SIM_RESET_NEW; }
/* Can the set's levels be simulated together, and new levels be drawn? */
int sim_batch_check_levels(const SimBatchOptions *options, const SimLevelSet *levels);
/* Copies checked levels into the batch's memory, from place `first` on, and makes them ready. */
void sim_batch_take_levels(SimBatch *batch, int first, const SimLevelSet *levels);
/* Which features are given, from the options and the levels taken. CORE_USAGE: those of the options do not show all. */
int sim_batch_choose_features(SimBatch *batch);
/* The new level of world w's present episode, a function of (seed, global world number, episode): gives its number in
 * the world's sequence. */
uint32_t sim_batch_draw_new(const SimBatch *batch, int w, SimLevel *level);
/* Draws and makes it ready; gives the number of its model. */
int sim_batch_prepare_new(SimBatch *batch, int w);

/* Puts world w at the start of `level`; its episode number and keeps_level stay. */
void sim_batch_start_world(SimBatch *batch, int w, int level);
/* One environment step of world w, without auto-reset. The scratch shows the last physics step's contacts. */
SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const SimCommand *command, SimScratch *scratch);

#endif
