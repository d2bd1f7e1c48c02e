/* Many worlds that step together: the simulator as its users (trainer, tools, tests) see it.
 *
 * An environment step = frame_skip physics steps with one action, reward, auto-reset to the next level (SimReset),
 * observation (spec kinetix.md 3.2, 3.3). What happens in a world depends on (seed, global world number,
 * episode) only, never on threads or on how worlds are divided. Nothing is allocated in a step. */
#ifndef SIM_BATCH_H
#define SIM_BATCH_H
#include <stddef.h>
#include <stdint.h>

#include "core/device/device.h"
#include "sim/task/observe_layout.h"

typedef struct SimBatch SimBatch;

/* Where a batch's worlds are and who steps them. {0}: the host's memory and processors. sim_device_backend
 * (sim/device/batch_device.h) gives that of a device. */
typedef struct SimBackend {
  CoreDevice *device;                    /* borrowed, for as long as the batch lives; NULL: the host */
  const struct SimBackendTable *table;   /* batch_internal.h; NULL: the host */
} SimBackend;

/* The level that a world's episodes are played on. */
typedef enum SimReset {
  SIM_RESET_LEVEL_SET,    /* each on one drawn uniformly from the set */
  SIM_RESET_SAME,         /* all on one, drawn from the set when the batch is reset */
  SIM_RESET_NEW,          /* each on a new one of the random generator (generate.h) */
  SIM_RESET_NEW_FILTERED, /* each on a new one that the no-op filter kept (filter.h), which costs far more */
} SimReset;

typedef struct SimBatchOptions {
  int worlds;
  uint64_t seed;
  uint32_t first_world;      /* global number of world 0 (ranks divide worlds) */
  int frame_skip, max_steps;
  float dense_reward;        /* reward a metre; 0 = sparse */
  bool pad_writes_zero;      /* spec 2.4: imitate the CPU reference */
  bool auto_reset;           /* false: after a done step the world just goes on (parity tests) */
  bool done_reason;          /* on the host: `done` is 2 where only the time limit ended the episode */
  SimObservationKind observation;
  bool compact_observations; /* flat: leave out features that are 0 on every level of the set at all times; all are
                                given where levels are new, since nobody knows what comes */
  const int32_t *features;   /* flat: [feature_count] ascending, exactly these of the whole observation are given, so */
  int feature_count;         /* that batches of different levels show the same; NULL: as said above. Read at creation */
  SimActionSpace actions;
  SimReset reset;
  SimSize new_size;          /* of new levels, which then get the set's slots; all 0: the set's */
  int drawn_slots; /* on a device: the set becomes so many places for levels of a sequence (level_device.h), of
                       which the host knows nothing: not for sim_batch_get_world, nor can they be replaced.
                       The levels given only say what observations show. 0: the set is what is given */
  SimBackend backend;        /* where the worlds are and the physics runs. On a device observations, actions and all
                                that a step gives are in its memory; levels and saved states in the host's */
} SimBatchOptions;
/* 1 world, frame skip 2, 256 steps, 0.2, no pads, auto-reset to a level of the set, multi-discrete, flat. */
SimBatchOptions sim_batch_options_default(void);

/* The levels are copied. A batch of new levels keeps a level's constants for each world (about 9 KiB), and needs no
 * level in its set, only the set's size. CORE_USAGE for an impossible option or level, CORE_FAIL when memory is out. */
int sim_batch_create(const SimBatchOptions *options, const SimLevelSet *levels, SimBatch **batch);
void sim_batch_destroy(SimBatch **batch);
/* Puts other levels in the place of the set's, as many and of the same size, without allocating; every world must then
 * be reset (sim_batch_reset_to). CORE_USAGE, and nothing has changed: other counts, a level that can not be simulated,
 * or one that shows features which compact observations leave out. */
int sim_batch_replace_levels(SimBatch *batch, const SimLevelSet *levels);
/* The same for places first .. first + levels->count - 1 only. */
int sim_batch_replace_some(SimBatch *batch, int first, const SimLevelSet *levels);

int sim_batch_worlds(const SimBatch *batch);
/* Flat: S 140, M 247, L 679, fewer when compact. Others: the length in their layout (observe_layout.h). */
int sim_batch_observation_length(const SimBatch *batch);
/* Which feature of the whole observation each one given is: [length], ascending. *whole_length: of the whole one. */
const int32_t *sim_batch_observation_features(const SimBatch *batch, int *whole_length);
/* A flat observation is its level's constants but for the numbers of shapes that move. Which places of it those are, on
 * the levels of the set or, `drawn`, on any that the generator may draw: changes[observation_length], 0 or 1; their
 * count, or 0: not an observation of that kind. */
int sim_batch_changing_features(const SimBatch *batch, bool drawn, uint8_t *changes);
/* Where constants stand in the batch's memory (host or device), as long as no level is replaced or drawn. */
typedef struct SimConstants {
  const float *rows;         /* [levels][length] whole observations, with the moving shapes as they start */
  size_t length;
  const int32_t *features;   /* [observation_length] of a whole one, those that are given */
  const int32_t *level; /* the row of the level that world 0 is on now; the next world's is `stride` bytes further */
  size_t stride;
  const uint32_t
    *number; /* [worlds] new levels: which of its world's sequence the present one is; NULL: none are new */
} SimConstants;
SimConstants sim_batch_constants(const SimBatch *batch);
/* The constants of new levels that are gone, drawn again: with world w = index[i] % worlds of a batch of `worlds`
 * worlds that begins as this one, and n = level[index[i]] < 0, those of the level of number -1 - n of w's sequence ->
 * observations[i] (of observation_length numbers), for i < rows. Where n >= 0 nothing is written. The arrays are where
 * the worlds are. For flat observations only. */
void sim_batch_show_again(const SimBatch *batch, const uint32_t *index, const int32_t *level, size_t rows,
                          size_t worlds, float *observations);
/* Marks the features that some level of the set shows at some time: used[of the whole observation]. */
void sim_batch_mark_features(const SimLevelSet *levels, uint8_t *used);
size_t sim_batch_bytes(const SimBatch *batch); /* where the worlds are */
int sim_batch_level_count(const SimBatch *batch);

/* Starts episode 0 of every world, with a level as options.reset says. observations: [worlds][length], may be NULL. */
void sim_batch_reset(SimBatch *batch, float *observations);
/* Starts every world w on level[w] and keeps it on that level at every auto-reset (evaluation, learnability). */
void sim_batch_reset_to(SimBatch *batch, const int32_t *level, float *observations);

/* What a step gives; every array [worlds], any may be NULL. The flags speak of the step that ended, `level` of the
 * level that it was played on. */
typedef struct SimStepOut {
  float *observations;       /* [worlds][length], after auto-reset */
  float *reward;
  uint8_t *done, *solved;    /* solved: the episode ended at the goal */
  int32_t *level;            /* its number in the set; -1: a new one, in no set */
  int32_t *episode_steps;    /* length of the episode when done */
} SimStepOut;

/* actions: [worlds] of what options.actions says (SimActionSpace). Parallel over worlds with OpenMP, using the caller's
 * thread count. */
void sim_batch_step(SimBatch *batch, const void *actions, const SimStepOut *out);
/* On a device: the same of worlds first .. first + count - 1 only; the arrays are those of all worlds. Parts may step
 * one after the other, not at once. */
void sim_batch_step_part(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out);
/* What goes on beside steps on a device, levels that are tried for later episodes, is waited for there by what it is
 * given next, and the next step is like any other that follows a rest. So a graph of steps is recorded and launched
 * after one, and ends with one. */
void sim_batch_synchronize(SimBatch *batch);

/* The worlds as they are now: [worlds][length]. */
void sim_batch_observe(const SimBatch *batch, float *observations);

/* Everything that a step depends on, for checkpoints: a head that does not depend on the worlds, then a record of equal
 * size for each world in order, so that states of neighbouring batches can be joined and cut. */
size_t sim_batch_state_bytes(const SimBatch *batch);
size_t sim_batch_world_bytes(const SimBatch *batch); /* of a record */
void sim_batch_save(const SimBatch *batch, void *state);
int sim_batch_load(SimBatch *batch, const void *state, size_t bytes); /* CORE_USAGE when the size differs */

/* Worlds that reached NaN or infinity since creation (their episodes ended as the reference ends them). */
int64_t sim_batch_nonfinite(const SimBatch *batch);
/* Copies world w's present bodies, joints and thrusters into a level (drawing, tests). */
void sim_batch_get_world(const SimBatch *batch, int world, SimLevel *level);

#endif
