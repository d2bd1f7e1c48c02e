/* An environment as the trainer sees it: a batch of worlds that step together, with a core of functions that every
 * environment has, and tables of what only some have. The simulator (sim.c) is the first; others plug in here without a
 * change in rollouts or learners.
 *
 * Every buffer is [worlds] or [worlds][columns], row-major, belongs to the caller, and is where the worlds are unless
 * said to be on the host. Nothing is allocated in a step. What happens in a world depends on the seed, the world's
 * number and its episode only, never on threads or on how worlds are divided over batches.
 *
 * A table is NULL where the environment lacks it. Who needs one asks for it, and refuses with env_lacks the setting
 * that needs it. Functions that return int give CORE_OK, or CORE_USAGE or CORE_FAIL (out of memory) with a message. */
#ifndef TRAINER_ENVS_ENV_H
#define TRAINER_ENVS_ENV_H
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "sim/task/observe_layout.h"
#include "trainer/ops/ops.h"

typedef struct Env Env;
enum { ENV_SET_NAME = 64 }; /* bytes of a level set's name */
/* Of environments of other people: numbers of an observation, and steps of an episode that count as a limit. */
enum { ENV_OBSERVATIONS_MAX = 1 << 24, ENV_STEPS_MAX = 1 << 20 };

/* What a step gives; `levels`, `truncated`, `final_observations` and `ends` may be NULL, the others not. The flags
 * speak of the step that ended; `levels` of the level it was played on. `dones` has every end of an episode, the time
 * limit's included (spec ppo.md 1.2). `truncated` and `final_observations` are filled only by environments with
 * Env.truncates, `ends` only by those with Env.has_lives. */
typedef struct EnvStep {
  float *observations;    /* [worlds][observation_length], after auto-reset */
  float *rewards;         /* [worlds] */
  uint8_t *dones;         /* [worlds] 0 or 1 */
  uint8_t *solved;        /* [worlds] 1: the episode ended at its goal; where goals follow each other within an
                             episode, how many were reached, at most 255 */
  int32_t *levels;        /* [worlds] 0 for all where levels are new and so in no set: their episodes count together
                             (-1 on a device, where counting takes it for 0) */
  int32_t *episode_steps; /* [worlds] the episode's length in steps where done */
  uint8_t *truncated;     /* [worlds] 1: the time limit alone ended the episode, so it is no termination */
  float *final_observations; /* [worlds][observation_length] where done, for whatever reason: the last observation of
                                the episode that ended (observations has the next one's first); other rows stay */
  uint8_t *ends;          /* [worlds] 1: an episode ended as it is counted, by its return and episode_steps. The
                             learner's ends, dones, are these and lost lives */
} EnvStep;

/* Which batch of worlds is to be made. */
typedef struct EnvBatch {
  int worlds;
  uint32_t first_world;   /* the run's number of world 0; the others follow */
  uint64_t seed;
  CoreDevice *device;     /* where worlds and buffers are, borrowed; NULL: the host. Others only with Env.device */
} EnvBatch;

/* ---- what only some environments have ---------------------------------------------------------------------------- */

/* A set of levels, numbered 0 .. level_count - 1, on one of which each episode is played. */
typedef struct EnvLevels {
  /* Starts every world w on level[w] ([worlds], on the host) and keeps it there at every auto-reset. */
  void (*reset_to)(Env *env, const int32_t *level, float *observations);
  /* Another environment with set number `set` of eval.levels for its levels, shown and acted on alike. name: for logs.
   * CORE_USAGE: no such levels, or larger ones than those trained on. */
  int (*create_set)(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **made,
                    char name[ENV_SET_NAME]);
} EnvLevels;

/* Other levels than those trained on, for evaluations, of an environment without EnvLevels: eval.levels names them in
 * its own way. CORE_USAGE: it names none. */
typedef struct EnvSets {
  int (*count)(const Env *env, const CoreConfig *config, int *count);
  /* As EnvLevels.create_set. */
  int (*create)(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **made,
                char name[ENV_SET_NAME]);
} EnvSets;

/* A generator of levels without end, for curricula; only with EnvLevels. A level is known by a key, which names an
 * endless sequence of random levels, and a number there. */
typedef struct EnvGenerator {
  /* A batch whose set is `slots` levels, to be filled by the other two before reset_to is called. They only replace
   * levels: worlds must be reset afterwards. */
  int (*create_slots)(const Env *env, const EnvBatch *batch, int slots, Env **made);
  /* Puts the `count` levels from the first'th of the sequence on into slots slot, slot + 1, ... and gives their
   * numbers, [count] on the host. Which level is the i'th is a function of (key, i): any ranges fit together. */
  void (*draw)(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers);
  /* Puts levels of known numbers, [count] on the host, there again. */
  void (*recall)(Env *env, uint64_t key, const uint32_t *numbers, int count, int slot);
} EnvGenerator;

/* Where levels' constants stand, with the worlds, as long as levels stay as they are. Borrowed. */
typedef struct EnvConstants {
  const float *rows;        /* [levels][length] of whole observations */
  size_t length;
  const int32_t *features;  /* [observation_length] of a whole one */
  const int32_t *level; /* the row of the level that world 0 is on now; the next world's is `stride` bytes further */
  size_t stride;
  const uint32_t *number; /* [worlds] where every episode is on a new level: which of its world's sequence; else NULL */
} EnvConstants;

/* Observations that are a row of their level's constants with some features replaced, for who keeps many of them. */
typedef struct EnvCompact {
  /* Which features are replaced: changes[observation_length], 0 or 1, on the host. drawn: on any level that may be
   * drawn, else on those of the set. Gives their count; 0: nothing changes on these levels. */
  int (*changing)(const Env *env, bool drawn, uint8_t *changes);
  EnvConstants (*constants)(const Env *env);
  /* Constants of levels that are gone, where EnvConstants.number is not NULL. For i < rows, with w = index[i] % worlds
   * and n = level[index[i]] < 0: those of the level of number -1 - n of world w's sequence -> observations[i]. Rows
   * with n >= 0 stay as they are. worlds: of the batch that was observed, which began as this one. */
  void (*show_again)(const Env *env, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                     float *observations);
} EnvCompact;

/* Worlds on a device: EnvBatch.device may be set. What a batch takes of the device's memory beside its worlds, which
 * `bytes` of a batch on the host tells; all in bytes, of `device`. */
typedef struct EnvDevice {
  size_t (*scratch_bytes)(const Env *env, const CoreDevice *device, int64_t worlds); /* of a batch of so many worlds */
  size_t (*filter_bytes)(const Env *env, const CoreDevice *device); /* of a batch whose levels go through a filter */
  size_t (*stack_bytes)(const Env *env, CoreDevice *device); /* once a process, where levels are drawn */
  /* Worlds are on the host all the same, and only the buffers on the device (wrappers/hosted.h): no step can be
   * recorded. What its steps took since this was last asked, all of them being done. NULL: worlds are on the device. */
  double (*host_seconds)(Env *env);
} EnvDevice;

/* Steps of a part of the worlds, so that a policy can run for the others meanwhile. */
typedef struct EnvParts {
  /* Env.step for worlds first .. first + count - 1; the arrays are those of all worlds. One part at a time. */
  void (*step)(Env *env, int first, int count, const void *actions, const EnvStep *out);
  /* May a part end before this world? NULL: before any. */
  bool (*cuts)(const Env *env, int world);
  /* `step` in two calls, between which the host has nothing to do for it: worlds of another process. One part may be
   * asked for while another goes on; a part is taken before it is asked again. NULL: there is only `step`. */
  void (*ask)(Env *env, int first, int count, const void *actions);
  void (*take)(Env *env, int first, int count, const EnvStep *out);
  /* Nothing goes on beside the steps any more, and the next one begins as the first after a pause does: before a graph
   * of steps is recorded or launched, and before it ends (sim_batch_synchronize). NULL: nothing ever does. */
  void (*synchronize)(Env *env);
} EnvParts;

/* Worlds outside of this process, which can fail without it. A step after a failure gives zeros. Their episodes begin
 * anew when a run resumes: load is followed by a reset. */
typedef struct EnvOutside {
  int (*check)(const Env *env); /* CORE_FAIL with the message of the first failure so far */
} EnvOutside;

/* The random numbers of a reset's episodes: they follow from the batch's seed, `purpose` (CORE_RANDOM_WORLD_...; 0: the
 * training worlds'), `number` (which evaluation; 0 where there is one only) and the world's number, not from the
 * numbers of worlds, workers or ranks. */
typedef struct EnvSeeds { uint32_t purpose, number, first_world; } EnvSeeds;

/* Worlds that are objects of code outside of the trainer, so of unknown size and start: evaluations and the coverage
 * box take turns over at most as many of them as this rank trains on. */
typedef struct EnvForeign {
  /* Chooses the seeds of the next resets. A batch begins with training's. */
  void (*seed)(Env *env, const EnvSeeds *seeds);
} EnvForeign;

/* A physics engine. */
typedef struct EnvPhysics {
  int64_t (*nonfinite)(const Env *env); /* worlds whose physics reached NaN or infinity so far */
} EnvPhysics;

/* Observations that are pixels. A row of observations is bytes then, four to each of its observation_length numbers:
 * who stores or moves rows need not know, and nobody but an encoder of pixels (net.encoder = nature, impala) may read
 * them. Bytes behind the last pixel are 0. */
typedef struct EnvPixels {
  int height, width;
  int channels;         /* of one frame */
  int frames;           /* stacked: the oldest first. A row is [frames], then as channels_last says */
  bool channels_last;   /* a frame is [height][width][channels], else [channels][height][width] */
} EnvPixels;
static inline size_t env_pixels_frame(const EnvPixels *pixels) { /* bytes */
  return (size_t)pixels->height * (size_t)pixels->width * (size_t)pixels->channels;
}
/* Numbers of an observation, for Env.observation_length. */
static inline int env_pixels_length(const EnvPixels *pixels) {
  return (int)((env_pixels_frame(pixels) * (size_t)pixels->frames + sizeof(float) - 1) / sizeof(float));
}

/* The numbers of an observation for who measures states: its own, or of pixels their values between 0 and 1. */
static inline int env_pixels_numbers(const EnvPixels *pixels, int observation_length) {
  return pixels ? (int)(env_pixels_frame(pixels) * (size_t)pixels->frames) : observation_length;
}
static inline float env_pixels_number(const EnvPixels *pixels, const float *observation, int i) {
  return pixels ? (float)((const uint8_t *)observation)[i] * (1.0f / 255) : observation[i];
}

/* Pictures of its own making; worlds are on the host. */
typedef struct EnvPicture {
  /* World number `world` of the batch as it stands -> rgb [height][width][3], rows from the top. From one thread only.
   * CORE_USAGE: what draws is not installed. */
  int (*draw)(Env *env, int world, int width, int height, uint8_t *rgb);
  double (*step_seconds)(const Env *env); /* of the world's time that a step takes */
} EnvPicture;

/* ---- what every environment has ---------------------------------------------------------------------------------- */

struct Env {
  const char *name;       /* "kinetix"; for messages */
  int worlds;
  int observation_length; /* features of an observation */
  /* The observation is part of a whole one of `whole_length` features, the others being always 0: [observation_length]
   * numbers, borrowed; NULL: it is the whole one. Networks are initialised as if they saw the whole one. */
  const int32_t *features;
  int whole_length;
  const EnvPixels *pixels; /* what a row of pixels is; NULL: it is numbers; borrowed. Only where env_wants_pixels */
  const SimEntityLayout *entities; /* where things are in an entity observation; NULL: it is another kind; borrowed */
  int level_count;        /* that results are counted by; 1 without EnvLevels */
  int max_steps;          /* of an episode; attempts of evaluations that take more are not measured */
  bool has_no_limit;      /* max_steps is the evaluations' alone: nothing cuts an episode in training */
  OpsHead head;           /* an action of classes: one a factor, as uint8_t [worlds][head.factors] */
  int action_values;      /* an action of so many real numbers, as float [worlds][action_values]; 0: of classes */
  float action_low, action_high; /* bounds of each of these numbers */
  const char *action_space;   /* JSON of what the environment's own step takes, where actions are translated, or NULL */
  const char *spaces;     /* JSON from which env_recall makes an environment with these spaces, or NULL */
  bool truncates;         /* EnvStep.truncated and final_observations are filled where given */
  bool has_lives;         /* EnvStep.ends is filled where given; false: it is `dones` */
  bool solves;            /* episodes can be solved at a goal; false: solve rates are not defined */
  bool counts_goals;      /* and EnvStep.solved counts the goals that followed each other within an episode */
  size_t world_bytes;     /* of a world's record in a saved state */

  /* Episode 0 of every world, where there are levels on one drawn from the set. */
  void (*reset)(Env *env, float *observations);
  /* One step of all worlds; those whose episode ended begin their next. actions: of classes or values, see above. */
  void (*step)(Env *env, const void *actions, const EnvStep *out);
  /* Everything that later steps depend on, for checkpoints, on the host: state_bytes bytes, a head that is the same for
   * any part of a run's worlds, then one record of world_bytes a world, in order. load: CORE_USAGE when the bytes are
   * not this batch's; it has then changed nothing. */
  size_t (*state_bytes)(const Env *env);
  void (*save)(const Env *env, void *state);
  int (*load)(Env *env, const void *state, size_t bytes);
  size_t (*bytes)(const Env *env); /* memory held, where the worlds are */
  /* Another batch of the same task and levels, with worlds and a state of its own: for training beside planning, and
   * for evaluation. env_destroy takes it. */
  int (*sibling)(const Env *env, const EnvBatch *batch, Env **made);
  void (*destroy)(Env *env);

  const EnvLevels *levels;
  const EnvSets *sets;
  const EnvGenerator *generator;
  const EnvCompact *compact;
  const EnvDevice *device;
  const EnvParts *parts;
  const EnvPhysics *physics;
  const EnvOutside *outside;
  const EnvForeign *foreign;
  const EnvPicture *picture;
  void *state;            /* the implementation's own */
};

/* NULL is nothing to destroy. */
void env_destroy(Env **env);
/* CORE_USAGE: `setting` = `value` needs `what`, which the environment lacks; set `instead`. */
int env_lacks(const Env *env, const char *setting, const char *value, const char *what, const char *instead);

/* Whether net.encoder reads pixels. Environments that have pixels then show them as EnvPixels says, else as numbers. */
bool env_wants_pixels(const CoreConfig *config);

/* Sets that are evaluated beside the training levels, those that eval.levels names. trained: NULL where there is none
 * yet. CORE_USAGE: an impossible list. */
int env_evaluation_sets(const CoreConfig *config, const Env *trained, int *count);
/* The environment `trained` with set 0, 1, ... of these (EnvLevels.create_set, EnvSets.create). CORE_USAGE also: it has
 * no levels. */
int env_create_evaluation(const CoreConfig *config, const Env *trained, int set, const EnvBatch *batch, Env **env,
                          char name[ENV_SET_NAME]);

/* CORE_USAGE: the batch is to be on a device, and this environment's worlds are on the host only. */
int env_check_on_host(const Env *env, const EnvBatch *batch);
/* EnvForeign.seed, where worlds are foreign. */
void env_seed(Env *env, const EnvSeeds *seeds);
/* Worlds of a batch that is to play `worlds` beside a rank's `trained` worlds: fewer where they are foreign. */
int env_worlds_at_once(const Env *env, int worlds, int trained);
/* EnvParts.synchronise, where there is something to wait for. */
void env_synchronize(Env *env);
/* Are buffers on a device and worlds on the host? */
static inline bool env_is_hosted(const Env *env) { return env->device && env->device->host_seconds; }
/* CORE_FAIL: worlds outside of this process have failed. */
int env_check(const Env *env);

/* Memory that a sibling of `worlds` worlds would hold on the host, from the slope between two small ones. */
int env_estimate_bytes(const Env *env, int64_t worlds, double *bytes);

#endif
