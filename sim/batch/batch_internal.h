/* Internals of a batch, for its own files, for sim/device, and for tests of single worlds and physics steps. */
#ifndef SIM_BATCH_INTERNAL_H
#define SIM_BATCH_INTERNAL_H
#include "core/device/arena.h"
#include "sim/batch/batch.h"
#include "sim/batch/filter.h"
#include "sim/simd/block.h"
#include "sim/task/observe.h"
#include "sim/task/task.h"

/* Functions of a backend that holds the worlds outside the host, filled in by sim/device (batch_device.c). The batch's
 * own worlds, models and templates are then copies on the host; functions that read a single world fetch the copies
 * first. Arrays of steps and observations are in the backend's memory, `level` of reset is on the host. */
typedef struct SimBackendTable {
  /* Called after the levels were copied and the features chosen; sets batch->remote. CORE_USAGE: a wrong setting of the
   * backend; CORE_FAIL: out of memory. After a failure, destroy also frees a partly created backend. */
  int (*create)(SimBatch *batch);
  void (*destroy)(SimBatch *batch);
  /* Starts every world w on level[w], or on a drawn level (NULL). observations: NULL, or [world][length]. */
  void (*reset)(SimBatch *batch, const int32_t *level, float *observations);
  /* Steps worlds first .. first + count - 1; the arrays cover all worlds. */
  void (*step)(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out);
  void (*synchronize)(SimBatch *batch);  /* see sim_batch_synchronize */
  void (*observe)(const SimBatch *batch, float *observations);
  SimConstants (*constants)(const SimBatch *batch);
  void (*regenerate_constants)(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows,
                               size_t worlds, float *observations);
  int64_t (*nonfinite)(const SimBatch *batch);
  size_t (*bytes)(const SimBatch *batch); /* size of the backend's memory */
  /* Copies levels first .. first + count - 1 from the host after they have changed. */
  void (*take_levels)(SimBatch *batch, int first, int count);
  /* Copy all worlds from the backend to batch->worlds, and back. */
  void (*fetch)(const SimBatch *batch);
  void (*put)(SimBatch *batch);
} SimBackendTable;

/* Run of features that are adjacent both in the whole observation and in the observed features. */
typedef struct SimFeatureRun { int32_t whole, given, length; } SimFeatureRun;

struct SimBatch {
  SimBatchOptions options;
  SimTaskRules rules;
  SimSize size, new_size;
  int level_count;        /* levels of the set; models and templates of new levels follow, one for each world */
  int held_count;         /* levels of the set that the host holds: all, or with slots for drawn levels only the given
                           * ones */
  int whole_length, observation_length; /* floats of a whole observation, and of the observed features */
  CoreArena *arena;
  SimLevel *levels;       /* [held_count] as given */
  SimModel *models;       /* [held_count + worlds with new levels] */
  float *templates;       /* [held_count + worlds with new levels][whole_length] */
  int32_t *features;      /* [observation_length] indices in the whole observation */
  int32_t *given;         /* [whole_length] index among the observed features, valid for observed features only */
  SimFeatureRun *runs;    /* [run_count] cover all observed features */
  int run_count;
  SimWorld *worlds;       /* [world] */
  uint32_t *numbers;      /* [world] number of the current level in its world's sequence; new levels only */
  const SimLanesKernels *kernels; /* NULL: worlds are stepped one by one */
  SimBlockPlan *plans;    /* [sim_batch_planned] */
  /* [thread_count] working memory of each thread, allocated in its first step (batch_cpu.c) */
  void **thread_memory;
  int thread_count;
  int64_t nonfinite;
  const SimBackendTable *backend; /* options.backend.table; NULL: the worlds are on the host */
  void *remote;           /* owned by the backend */
};

/* Frees `thread_memory` (batch_cpu.c). */
void sim_batch_free_thread_memory(SimBatch *batch);

/* Number of worlds that keep their plans between steps: the first worlds that step in blocks. Each plan takes a third
 * of the memory of a world. */
enum { SIM_BATCH_PLANNED = 4096 };
static inline int sim_batch_planned(const SimBatch *batch) {
  if (!batch->kernels || batch->backend) return 0;
  return batch->options.worlds < SIM_BATCH_PLANNED ? batch->options.worlds : SIM_BATCH_PLANNED;
}
/* Returns whether worlds play new levels, each with constants of its own. */
static inline bool sim_batch_has_new_levels(const SimBatch *batch) { return batch->options.reset >= SIM_RESET_NEW; }
/* Checks that the set's levels can be simulated together and that new levels can be drawn. */
int sim_batch_check_levels(const SimBatchOptions *options, const SimLevelSet *levels);
/* Copies checked levels into the batch from index `first` on and builds their models. */
void sim_batch_set_levels(SimBatch *batch, int first, const SimLevelSet *levels);
/* Chooses the observed features from the options and the copied levels. CORE_USAGE: the features of the options omit
 * one that a level has. */
int sim_batch_choose_features(SimBatch *batch);
/* Draws the new level of world w's current episode, a function of (seed, global world number, episode); returns its
 * number in the world's sequence. */
uint32_t sim_batch_draw_new(const SimBatch *batch, int w, SimLevel *level);
/* Draws that level and builds its model; returns the index of the model. */
int sim_batch_prepare_new(SimBatch *batch, int w);

/* Puts world w at the start of `level`; its episode number and keeps_level are kept. */
void sim_batch_start_world(SimBatch *batch, int w, int level);
/* Runs one environment step of world w, without auto-reset. The scratch holds the contacts of the last physics step. */
SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const SimCommand *command, SimScratch *scratch);

/* ---- filter.c, for level_stream.c -------------------------------------------------------------------------------- */

enum { SIM_FILTER_WORLDS_MAX = 256 }; /* worlds of the batch that plays levels */

/* Plays every world without actions for SIM_FILTER_STEPS environment steps and writes whether its first episode ended
 * at the goal: solved [world]. The batch must have just been reset and have no auto-reset. */
void sim_filter_play_noop(SimBatch *batch, uint8_t *solved);
/* Plays one level in the same way, on this thread. */
bool sim_filter_solves_itself(const SimLevel *level);

#endif
