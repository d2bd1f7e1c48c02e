/* Vectorized simulator: many worlds that step together, as the trainer, the tools and the tests use it.
 *
 * An environment step is frame_skip physics steps with one action, then reward, auto-reset to the next level (SimReset)
 * and observation (docs/simulator.md#rules). A world's trajectory depends only on (seed, global world number, episode)
 * and its actions, not on threads or on the distribution of worlds over batches. Steps allocate no memory. */
#ifndef SIM_BATCH_H
#define SIM_BATCH_H
#include <stddef.h>
#include <stdint.h>

#include "core/device/device.h"
#include "sim/task/observe_layout.h"

typedef struct SimBatch SimBatch;

/* Memory and processor of a batch's worlds. {0}: the host. sim_device_backend (sim/device/batch_device.h) returns a
 * device's. */
typedef struct SimBackend {
  CoreDevice *device;                    /* borrowed until the batch is destroyed; NULL: the host */
  const struct SimBackendTable *table;   /* batch_internal.h; NULL: the host */
} SimBackend;

/* Source of the level of each episode. */
typedef enum SimReset {
  SIM_RESET_LEVEL_SET,    /* drawn uniformly from the set for each episode */
  SIM_RESET_SAME,         /* drawn from the set once, when the batch is reset */
  SIM_RESET_NEW,          /* drawn by the random generator for each episode (generate.h) */
  SIM_RESET_NEW_FILTERED, /* drawn like SIM_RESET_NEW and filtered (filter.h), which costs far more */
} SimReset;

typedef struct SimBatchOptions {
  int worlds;
  uint64_t seed;
  uint32_t first_world;      /* global number of world 0, where several batches share a seed */
  int frame_skip, max_steps;
  float dense_reward;        /* reward per meter; 0: sparse */
  bool pad_writes_zero;      /* padded lanes as in the reference on the CPU */
  bool auto_reset;           /* false: a world continues after its episode's end (parity tests) */
  bool done_reason;          /* host only: `done` is 2 where only the time limit ended the episode */
  SimObservationKind observation;
  bool compact_observations; /* flat: omit features that are 0 at all times on every level of the set; all are kept
                              * where levels are new, because their features are not known in advance */
  const int32_t *features;   /* flat: [feature_count] indices, ascending: observe exactly these features of the whole */
  int feature_count;         /* observation, so that batches of different levels have the same; NULL: as above. Read at
                              * creation only */
  SimActionSpace actions;
  SimReset reset;
  SimSize new_size;          /* slots that new levels use; all 0: the set's */
  /* device only: the set becomes this many slots for levels drawn on the device (batch_device.h), of which the host has
   * no copy: they cannot be replaced or read by sim_batch_get_world. The given levels only determine the observed
   * features. 0: the set is the given levels */
  int drawn_slots;
  SimBackend backend;        /* memory and processor of the worlds. On a device actions, observations and all outputs of
                              * a step are in its memory; levels and saved states are in the host's */
} SimBatchOptions;
/* Returns the defaults: 1 world, frame skip 2, 256 steps, dense reward 0.2, no pads, auto-reset to a level of the set,
 * multi-discrete actions, flat observations. */
SimBatchOptions sim_batch_options_default(void);

/* Creates a batch with copies of the levels. A batch of new levels keeps a level's constants for each world (about 9
 * KiB) and uses only the size of its set, which may be empty. CORE_USAGE: an impossible option or level; CORE_FAIL: out
 * of memory. */
int sim_batch_create(const SimBatchOptions *options, const SimLevelSet *levels, SimBatch **batch);
void sim_batch_destroy(SimBatch **batch);
/* Replaces the set's levels by as many of the same size, without allocation. The caller must then reset every world
 * (sim_batch_reset_to). CORE_USAGE, with nothing changed: a different number or size, a level that cannot be simulated,
 * or one with features that compact observations omit. */
int sim_batch_replace_levels(SimBatch *batch, const SimLevelSet *levels);
/* Replaces levels first .. first + levels->count - 1 only. */
int sim_batch_replace_some(SimBatch *batch, int first, const SimLevelSet *levels);

int sim_batch_worlds(const SimBatch *batch);
/* Returns the number of floats per observation. Flat: S 140, M 247, L 679, fewer if compact. Others: the length of
 * their layout (observe_layout.h). */
int sim_batch_observation_length(const SimBatch *batch);
/* Returns the index of each feature in the whole observation: [length], ascending. *whole_length: length of the whole
 * observation. */
const int32_t *sim_batch_observation_features(const SimBatch *batch, int *whole_length);
/* Change of a feature during an episode. */
typedef enum SimFeatureChange {
  SIM_FEATURE_CONSTANT,      /* constant of the level */
  SIM_FEATURE_VARIES,        /* any value */
  SIM_FEATURE_TOUCHES,       /* the level's constant, plus SIM_ATTEND_TOUCHING at times */
} SimFeatureChange;
/* Sets changes[observation_length] to the SimFeatureChange of each feature of flat or entity observations, on the
 * levels of the set or, with `drawn`, on any level of the generator. Returns the number of features that change; 0:
 * observations are padded. */
int sim_batch_changing_features(const SimBatch *batch, bool drawn, uint8_t *changes);
/* Pointers to the levels' constants in the batch's memory (host or device), valid until a level is replaced or
 * drawn. */
typedef struct SimConstants {
  const float *rows;         /* [level][length] whole observations, with the moving shapes at their start */
  size_t length;
  const int32_t *features;   /* [observation_length] indices of the observed features in a row */
  const int32_t *level; /* row of world 0's current level; that of the next world is `stride` bytes further */
  size_t stride;
  const uint32_t
    *number; /* [world] number of the current level in its world's sequence; NULL: no level is new */
} SimConstants;
SimConstants sim_batch_constants(const SimBatch *batch);
/* Draws past levels again and writes their observations at the start. For i < rows with n = level[index[i]] < 0: the
 * level of number -1 - n in the sequence of world index[i] % worlds, in a batch of `worlds` worlds that starts at this
 * batch's first world -> observations[i], observation_length floats. Rows with n >= 0 are left unchanged. The arrays
 * are in the memory of the worlds. */
void sim_batch_regenerate_constants(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows,
                          size_t worlds, float *observations);
/* Marks the features that are nonzero at some time on some level of the set: used[length of the whole observation]. */
void sim_batch_mark_features(const SimLevelSet *levels, uint8_t *used);
size_t sim_batch_bytes(const SimBatch *batch); /* in the memory of the worlds */
int sim_batch_level_count(const SimBatch *batch);

/* Starts episode 0 of every world, on a level chosen by options.reset. observations: [world][length], may be NULL. */
void sim_batch_reset(SimBatch *batch, float *observations);
/* Starts every world w on level[w] and keeps it on that level at every auto-reset (evaluation, learnability). */
void sim_batch_reset_to(SimBatch *batch, const int32_t *level, float *observations);

/* Outputs of a step: arrays of [world], each may be NULL. All but the observations describe the step before an
 * auto-reset. */
typedef struct SimStepOut {
  float *observations;       /* [world][length], after auto-reset */
  float *reward;
  uint8_t *done, *solved;    /* solved: the episode ended at the goal */
  int32_t *level;            /* index in the set of the level that was played; -1: a new level */
  int32_t *episode_steps;    /* length of the episode, valid where done */
} SimStepOut;

/* Steps all worlds. actions: [world] in the form of options.actions (SimActionSpace). Parallel over worlds with OpenMP
 * and the caller's thread count. */
void sim_batch_step(SimBatch *batch, const void *actions, const SimStepOut *out);
/* Steps worlds first .. first + count - 1 only, on a device; the arrays cover all worlds. Calls for different parts may
 * follow each other but not overlap. */
void sim_batch_step_part(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out);
/* Orders the device's background work, levels that are tested for later episodes, before whatever is enqueued next, and
 * starts a new sequence of steps. Call it before a graph of steps is recorded or launched, and at the end of the
 * recording. */
void sim_batch_synchronize(SimBatch *batch);

/* Writes the observations of all worlds: [world][length]. */
void sim_batch_observe(const SimBatch *batch, float *observations);

/* Save and restore the whole state for checkpoints: a header that does not depend on the worlds, then one record of
 * equal size for each world in order, so that states of neighboring batches can be joined and split. */
size_t sim_batch_state_bytes(const SimBatch *batch);
size_t sim_batch_world_bytes(const SimBatch *batch); /* size of a record */
void sim_batch_save(const SimBatch *batch, void *state);
int sim_batch_load(SimBatch *batch, const void *state, size_t bytes); /* CORE_USAGE: the size differs */

/* Returns the number of episodes that ended with NaN or infinity since creation. */
int64_t sim_batch_nonfinite(const SimBatch *batch);
/* Copies world w's current bodies, joints and thrusters into a level (drawing, tests). */
void sim_batch_get_world(const SimBatch *batch, int world, SimLevel *level);

/* ---- batch_cpu.c ------------------------------------------------------------------------------------------------- */

/* Steps like sim_batch_step and also returns what an auto-reset overwrites: final_observations [world][length], the
 * last observation of every episode that ended in this step. Rows of other worlds are left unchanged. NULL: not
 * wanted. */
void sim_batch_step_final(SimBatch *batch, const void *actions, const SimStepOut *out, float *final_observations);

#endif
