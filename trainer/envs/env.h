/* Interface of vectorized environments: a batch of worlds that step together. All environments implement the core
 * functions; optional features are tables of functions. A new environment needs no change in rollouts or learners.
 *
 * Every buffer is [worlds] or [worlds][columns], row-major, owned by the caller, and in the memory of the worlds
 * (device or host) unless stated otherwise. Steps allocate nothing. The course of a world depends only on the seed,
 * its number and its episode, never on threads or on the distribution of worlds over batches.
 *
 * A table is NULL if the environment does not support it; code that needs it rejects the responsible setting with
 * env_unsupported. Functions that return int return CORE_OK, or CORE_USAGE or CORE_FAIL (out of memory) with a
 * message. */
#ifndef TRAINER_ENVS_ENV_H
#define TRAINER_ENVS_ENV_H
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "sim/batch/batch.h"
#include "sim/task/observe_layout.h"
#include "trainer/envs/info.h"
#include "trainer/ops/ops.h"

typedef struct Env Env;
enum { ENV_SET_NAME = 64 }; /* size of a level set's name */
/* Limits of third-party environments: values per observation; longest episode that counts as a time limit. */
enum { ENV_OBSERVATIONS_MAX = 1 << 24, ENV_STEPS_MAX = 1 << 20 };

/* Outputs of a step; `levels`, `truncated`, `final_observations` and `ends` may be NULL. Flags and `levels` refer to
 * the episode of this step, `observations` to the state after auto-reset. `dones` includes time limits, whatever
 * env.truncation is. Only environments with Env.truncates fill `truncated` and `final_observations`, and only those
 * with Env.has_lives fill `ends`. */
typedef struct EnvStep {
  float *observations;    /* [worlds][observation_length], after auto-reset */
  float *rewards;         /* [worlds] */
  uint8_t *dones;         /* [worlds] 0 or 1 */
  uint8_t *solved;        /* [worlds] 1: the episode ended at its goal. With Env.counts_goals: number of goals
                             reached in the episode, at most 255 */
  int32_t *levels;        /* [worlds] index of the level; 0 for newly generated levels, whose statistics are pooled
                             (-1 on a device, where the statistics map it to 0) */
  int32_t *episode_steps; /* [worlds] length of the episode in steps, where done */
  uint8_t *truncated;     /* [worlds] 1: the episode was truncated by the time limit, not terminated */
  float *final_observations; /* [worlds][observation_length] last observation of the episode, where done (`observations`
                                has the first of the next episode); other rows are unchanged */
  uint8_t *ends;          /* [worlds] 1: an episode ended, for its return and episode_steps; `dones` additionally
                             includes lost lives */
} EnvStep;

/* Parameters of a batch of worlds. */
typedef struct EnvBatch {
  int worlds;
  uint32_t first_world;   /* global number of world 0; the others follow */
  uint64_t seed;
  CoreDevice *device;     /* device of worlds and buffers, borrowed; NULL: the host. Requires Env.device */
} EnvBatch;

/* ---- optional features ------------------------------------------------------------------------------------------- */

/* A set of levels, numbered 0 .. level_count - 1; each episode is played on one of them. */
typedef struct EnvLevels {
  /* Resets each world w to level[w] ([worlds], on the host), which auto-resets keep. */
  void (*reset_to)(Env *env, const int32_t *level, float *observations);
  /* Creates an environment on set number `set` of eval.levels, with the same observations and actions. name: for logs.
   * CORE_USAGE: unknown levels, or larger than the training levels. */
  int (*create_set)(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                    char name[ENV_SET_NAME]);
} EnvLevels;

/* Evaluation levels of an environment without EnvLevels, which interprets eval.levels itself. CORE_USAGE:
 * eval.levels is invalid. */
typedef struct EnvSets {
  int (*count)(const Env *env, const CoreConfig *config, int *count);
  /* Creates an environment as EnvLevels.create_set. */
  int (*create)(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                char name[ENV_SET_NAME]);
} EnvSets;

/* A generator of random levels, for curricula; requires EnvLevels. A key selects an unbounded sequence of levels, and a
 * number a level of that sequence. */
typedef struct EnvGenerator {
  /* Creates a batch with `slots` level slots, which generate and regenerate fill. Worlds must be reset after their
   * levels have been replaced. */
  int (*create_slots)(const Env *env, const EnvBatch *batch, int slots, Env **created);
  /* Generates levels first .. first + count - 1 of the sequence into slots slot .. slot + count - 1 and returns their
   * numbers, [count] on the host. The i-th level depends on (key, i) only. */
  void (*generate)(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers);
  /* Generates levels of known numbers, [count] on the host, again. */
  void (*regenerate)(Env *env, uint64_t key, const uint32_t *numbers, int count, int slot);
} EnvGenerator;

/* Compact storage of observations: a row of the level's constants (SimConstants) with the variable features
 * replaced. */
typedef struct EnvCompact {
  /* Sets changes[observation_length], on the host, to how each feature changes within a level (SimFeatureChange), and
   * returns the number of those that do. generated: considers any level that may be generated, else those of the
   * set. */
  int (*variable_features)(const Env *env, bool generated, uint8_t *changes);
  SimConstants (*constants)(const Env *env);
  /* Regenerates the constants of past levels (sim_batch_regenerate_constants), where SimConstants.number is not
   * NULL. */
  void (*regenerate_constants)(const Env *env, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                     float *observations);
} EnvCompact;

/* Support for EnvBatch.device: device memory of a batch in bytes, in addition to its worlds (Env.bytes of a batch on
 * the host). */
typedef struct EnvDevice {
  size_t (*scratch_bytes)(const Env *env, CoreDevice *device, int64_t worlds); /* per batch of `worlds` worlds */
  size_t (*filter_bytes)(const Env *env, CoreDevice *device); /* per batch with filtered levels */
  size_t (*stack_bytes)(const Env *env, CoreDevice *device); /* once per process, if levels are generated */
  /* Returns the time of completed steps since the last call. Set only if the worlds are on the host and just the
   * buffers on the device (wrappers/host_env.h), so that steps cannot be captured; NULL: worlds are on the device. */
  double (*host_seconds)(Env *env);
} EnvDevice;

/* Partial steps, so that the policy can run for some worlds while others step. */
typedef struct EnvParts {
  /* Steps worlds first .. first + count - 1; the arrays are those of all worlds. One part at a time. */
  void (*step)(Env *env, int first, int count, const void *actions, const EnvStep *out);
  /* Whether a part may end before `world`. NULL: anywhere. */
  bool (*can_split)(const Env *env, int world);
  /* Starts and completes a step of worlds in other processes. Parts may overlap; each step_async of a part is
   * followed by its step_wait. NULL: only `step` is supported. */
  void (*step_async)(Env *env, int first, int count, const void *actions);
  void (*step_wait)(Env *env, int first, int count, const EnvStep *out);
  /* Completes work that runs concurrently with steps (sim_batch_synchronize): before a graph of steps is captured or
   * launched, and before the capture ends. NULL: there is none. */
  void (*synchronize)(Env *env);
} EnvParts;

/* Worlds outside the trainer's control, which can fail independently. Steps after a failure return zeros. When a run
 * resumes, their episodes restart: load is followed by a reset. */
typedef struct EnvRemote {
  /* Checks for failures. CORE_FAIL: message of the first one. */
  int (*check)(const Env *env);
} EnvRemote;

/* Seed parameters of the episodes after a reset. Their random numbers depend on the batch's seed, `purpose`
 * (CORE_RANDOM_WORLD_...; 0: training), `number` (index of the evaluation; 0 if there is one only) and the number of
 * the world, but not on the numbers of worlds, workers or ranks. */
typedef struct EnvSeeds { uint32_t purpose, number, first_world; } EnvSeeds;

/* Worlds implemented by third-party code, whose memory and seeding are unknown: evaluations and the coverage box run at
 * most as many of them at a time as this rank trains on. */
typedef struct EnvForeign {
  /* Sets the seeds of the next resets. Initially those of training. */
  void (*seed)(Env *env, const EnvSeeds *seeds);
} EnvForeign;

/* Numbers that the worlds report by name. */
typedef struct EnvInfo {
  /* Adds the sums of worlds w with worlds[w] != 0 (NULL: all) since the last reset or call. After a reset for an
   * evaluation (EnvSeeds.purpose) only the first episode of each world counts. */
  void (*read)(Env *env, const uint8_t *worlds, EnvInfoTable *table);
} EnvInfo;

/* Diagnostics of a physics engine. */
typedef struct EnvPhysics {
  int64_t (*nonfinite)(const Env *env); /* number of worlds that reached NaN or infinity so far */
} EnvPhysics;

/* Layout of pixel observations. A row consists of bytes, four per float of observation_length, padded with 0. Code that
 * stores or moves rows treats them as floats; only pixel encoders (net.encoder = nature, impala) interpret them. */
typedef struct EnvPixels {
  int height, width;
  int channels;         /* channels per frame */
  int frames;           /* number of stacked frames, oldest first: the slowest dimension */
  bool channels_last;   /* true: frames are [height][width][channels]; false: [channels][height][width] */
} EnvPixels;
/* Returns the size of a frame in bytes. */
static inline size_t env_pixels_frame(const EnvPixels *pixels) {
  return (size_t)pixels->height * (size_t)pixels->width * (size_t)pixels->channels;
}
/* Returns Env.observation_length, in floats. */
static inline int env_pixels_length(const EnvPixels *pixels) {
  return (int)((env_pixels_frame(pixels) * (size_t)pixels->frames + sizeof(float) - 1) / sizeof(float));
}

/* Returns the number of values of an observation (i-th value), for metrics on states: pixels count as values in [0,
 * 1]. */
static inline int env_pixels_value_count(const EnvPixels *pixels, int observation_length) {
  return pixels ? (int)(env_pixels_frame(pixels) * (size_t)pixels->frames) : observation_length;
}
static inline float env_pixels_value(const EnvPixels *pixels, const float *observation, int i) {
  return pixels ? (float)((const uint8_t *)observation)[i] * (1.0f / 255) : observation[i];
}

/* Renderer; the worlds must be on the host. */
typedef struct EnvPicture {
  /* Renders the state of world `world` into rgb [height][width][3], top row first. Single-threaded. CORE_USAGE: the
   * rendering library is not installed. */
  int (*draw)(Env *env, int world, int width, int height, uint8_t *rgb);
  double (*step_seconds)(const Env *env); /* simulated time per step */
} EnvPicture;

/* ---- the environment --------------------------------------------------------------------------------------------- */

struct Env {
  const char *name;       /* "kinetix", for messages */
  int worlds;
  int observation_length; /* features per observation */
  /* [observation_length] indices of the features in a full observation of `whole_length` features, the others of which
   * are always 0; borrowed. NULL: observations are full. Networks are initialized as if they saw full observations. */
  const int32_t *features;
  int whole_length;
  const EnvPixels *pixels; /* layout of pixel observations, borrowed; NULL: floats. Set only if env_wants_pixels */
  const SimEntityLayout *entities; /* layout of entity observations, borrowed; NULL: another kind */
  int level_count;        /* number of levels in the statistics; 1 without EnvLevels */
  int max_steps;          /* time limit of an episode; longer evaluation episodes are ignored */
  bool has_no_limit;      /* whether max_steps applies to evaluations only, not to training */
  OpsHead head;           /* layout of discrete actions: uint8_t [worlds][head.factors] */
  int action_values;      /* size of continuous actions: float [worlds][action_values]; 0: discrete actions */
  float action_low, action_high; /* bounds of each value */
  const char *action_space; /* native action space as JSON, if actions are translated; else NULL */
  const char *spaces;     /* JSON for env_create_from_spaces; NULL: not supported */
  bool truncates;         /* whether EnvStep.truncated and final_observations are filled */
  bool has_lives;         /* whether EnvStep.ends is filled; false: it equals `dones` */
  bool solves;            /* whether episodes have a goal; false: solve rates are undefined */
  bool counts_goals;      /* whether EnvStep.solved counts the goals reached in an episode */
  size_t world_bytes;     /* size of a world's record in a saved state */

  /* Starts episode 0 of every world, on a level sampled from the set if there is one. */
  void (*reset)(Env *env, float *observations);
  /* Steps all worlds and auto-resets those whose episode ended. actions: discrete or continuous, see above. */
  void (*step)(Env *env, const void *actions, const EnvStep *out);
  /* Save and restore the full state for checkpoints, on the host: state_bytes bytes, a header that is the same for any
   * part of a run's worlds, followed by world_bytes per world, in order. load: CORE_USAGE if the state does not match
   * this batch, which is then unchanged. */
  size_t (*state_bytes)(const Env *env);
  void (*save)(const Env *env, void *state);
  int (*load)(Env *env, const void *state, size_t bytes);
  size_t (*bytes)(const Env *env); /* memory used, host or device depending on the worlds */
  /* Creates another batch of the same task and levels, with separate worlds; the caller destroys it (env_destroy). */
  int (*clone)(const Env *env, const EnvBatch *batch, Env **created);
  void (*destroy)(Env *env);

  const EnvLevels *levels;
  const EnvSets *sets;
  const EnvGenerator *generator;
  const EnvCompact *compact;
  const EnvDevice *device;
  const EnvParts *parts;
  const EnvPhysics *physics;
  const EnvRemote *remote;
  const EnvForeign *foreign;
  const EnvInfo *info;
  const EnvPicture *picture;
  void *state;            /* data of the implementation */
};

/* Destroys *env, if not NULL, and sets it to NULL. */
void env_destroy(Env **env);
/* Sets the error "SETTING = VALUE needs FEATURE, which ENV environments lack; set REMEDY". Returns CORE_USAGE. */
int env_unsupported(const Env *env, const char *setting, const char *value, const char *feature, const char *remedy);

/* Whether net.encoder reads pixels. Environments with pixels then set Env.pixels, else they return floats. */
bool env_wants_pixels(const CoreConfig *config);

/* Counts the additional evaluation sets, which eval.levels names. trained: training environment; NULL: not created yet.
 * CORE_USAGE: invalid list. */
int env_evaluation_sets(const CoreConfig *config, const Env *trained, int *count);
/* Creates the environment `trained` on evaluation set `set`, from 0 (EnvLevels.create_set, EnvSets.create). CORE_USAGE
 * also: it has no levels. */
int env_create_evaluation(const CoreConfig *config, const Env *trained, int set, const EnvBatch *batch, Env **env,
                          char name[ENV_SET_NAME]);

/* Checks that the batch is on the host, for environments without EnvDevice. CORE_USAGE: it is on a device. */
int env_check_on_host(const Env *env, const EnvBatch *batch);
/* Calls EnvForeign.seed, if supported. */
void env_seed(Env *env, const EnvSeeds *seeds);
/* Returns how many of `worlds` evaluation worlds to run at a time: at most `trained`, the rank's training worlds, if
 * they are foreign. */
int env_concurrent_worlds(const Env *env, int worlds, int trained);
/* Calls EnvParts.synchronize, if supported. */
void env_synchronize(Env *env);
/* Whether buffers are on a device and worlds on the host. */
static inline bool env_is_hosted(const Env *env) { return env->device && env->device->host_seconds; }
/* Calls EnvRemote.check, if supported. */
int env_check(const Env *env);

/* Estimates the host memory of a clone with `worlds` worlds by extrapolating from two small ones. */
int env_estimate_bytes(const Env *env, int64_t worlds, double *bytes);

#endif
