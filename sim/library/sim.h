/* libsim: many small 2D worlds that step together, from C, C++ or any language that calls C. Physics of Jax2D, tasks of
 * Kinetix. This is the one header that the library installs; the manual is docs/libsim.md.
 *
 * Functions return LIBSIM_OK or a code, and the reason is then libsim_error(). Results come by pointers. Every create
 * or read has a destroy, which takes the pointer's address and nulls it. Anything may be passed NULL without a crash,
 * except arrays that are shorter than this header says. */
#ifndef LIBSIM_SIM_H
#define LIBSIM_SIM_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LIBSIM_API __attribute__((visibility("default")))
#else
#define LIBSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  LIBSIM_OK = 0,
  LIBSIM_FAIL = 1,  /* the work failed: memory, a file that can not be read */
  LIBSIM_USAGE = 2, /* a wrong argument, or a wrong level file */
};

LIBSIM_API const char *libsim_version(void); /* "0.2.0" */
/* What the last call of this thread that failed had to say: file, place, value, way out. Valid until the next one. */
LIBSIM_API const char *libsim_error(void);
/* Frees the texts that this library gives. */
LIBSIM_API void libsim_free(void *text);

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* A set of levels of one size: what the worlds of a batch start from. */
typedef struct LibsimLevels LibsimLevels;

/* Slots of a level, in use or not; contacts follow from them. */
typedef struct LibsimSize { int32_t polygons, circles, joints, thrusters, contacts; } LibsimSize;

/* Kinetix level files: one, or all of a folder (and of its sub-folders s, m, l), or several of either joined by '+'.
 * All get the slots of the largest. LIBSIM_USAGE names file and JSON path of what is wrong. */
LIBSIM_API int libsim_levels_read(const char *paths, LibsimLevels **levels);
/* One level from text; `name` is what messages call it. */
LIBSIM_API int libsim_levels_parse(const char *name, const char *json, size_t bytes, LibsimLevels **levels);
/* Locomotion: morphologies "public", "all", or families joined by '+' (chain hopper walker cheetah car unicycle
 * wheelfeet tree); difficulty "all" or of 0 1 2 3 joined by '+'; at most `count` levels (there are 512). */
LIBSIM_API int libsim_levels_loco512(const char *morphologies, const char *difficulty, int32_t count,
                                     LibsimLevels **levels);
/* Random levels first .. first + count - 1 of a seed; size 's', 'm' or 'l'. Filtered: `count` of twice as many, few of
 * which are solved by doing nothing. */
LIBSIM_API int libsim_levels_random(char size, uint64_t seed, uint32_t first, int32_t count, int filtered,
                                    LibsimLevels **levels);
LIBSIM_API void libsim_levels_destroy(LibsimLevels **levels);

LIBSIM_API int32_t libsim_levels_count(const LibsimLevels *levels);
LIBSIM_API const char *libsim_levels_name(const LibsimLevels *levels, int32_t level); /* NULL: no such level */
LIBSIM_API int libsim_levels_size(const LibsimLevels *levels, LibsimSize *size);
/* A level as a level file's text; libsim_free() it. */
LIBSIM_API int libsim_levels_write(const LibsimLevels *levels, int32_t level, char **json);

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

typedef struct LibsimBatch LibsimBatch;

/* How a world is told what to do: by six bindings, four of motors and two of thrusters, to which its joints and
 * thrusters listen. Other numbers than those named do nothing. */
typedef enum LibsimActions {
  LIBSIM_MULTI_DISCRETE, /* uint8_t [worlds][6]: motors 0 stand, 1 turn, 2 turn back; thrusters 0 off, 1 on */
  LIBSIM_DISCRETE,       /* uint8_t [worlds]: 2i and 2i + 1 turn motor i back and on, 8 nothing, 9 and 10 a thruster */
  LIBSIM_CONTINUOUS,     /* float [worlds][6]: motors -1..1, thrusters 0..1; clipped. NaN ends the episode */
} LibsimActions;

/* The level on which a world's next episode is played. */
typedef enum LibsimReset {
  LIBSIM_RESET_LEVEL_SET,    /* drawn from the set */
  LIBSIM_RESET_SAME,         /* the one that was drawn at libsim_reset */
  LIBSIM_RESET_NEW,          /* a new one of the random generator, with the set's slots */
  LIBSIM_RESET_NEW_FILTERED, /* a new one that is not solved by doing nothing, which costs far more */
} LibsimReset;

/* Take libsim_options_default() and change what you want. Flags are 0 or 1. */
typedef struct LibsimOptions {
  uint64_t seed;
  uint32_t first_world;         /* number of world 0 where several batches share one seed */
  int32_t worlds;               /* 1 */
  int32_t threads;              /* 0: as many as OpenMP chooses */
  int32_t frame_skip;           /* 2 physics steps of 1/60 s */
  int32_t max_steps;            /* 256 a episode */
  float dense_reward;           /* 0.2 a metre that green comes nearer to blue; 0: sparse */
  int32_t auto_reset;           /* 1; 0: a world goes on after its episode's end */
  int32_t compact_observations; /* 0; 1: without the features that are 0 on all these levels at all times */
  int32_t pad_writes_zero;      /* 0; 1: as the reference does on CPU, for comparisons with it */
  int32_t actions;              /* LIBSIM_MULTI_DISCRETE: a LibsimActions */
  int32_t reset;                /* LIBSIM_RESET_LEVEL_SET: a LibsimReset */
  int32_t new_size;             /* 0: new levels use all slots of the set; 's', 'm', 'l': those of a smaller size */
  int32_t done_reason;          /* 0; 1: LibsimStep.done tells the time limit from other ends */
  int32_t reserved[17];         /* 0 */
} LibsimOptions;
LIBSIM_API LibsimOptions libsim_options_default(void);

/* The batch keeps a copy of the levels. Every world begins its first episode on a level drawn from them. */
LIBSIM_API int libsim_create(const LibsimOptions *options, const LibsimLevels *levels, LibsimBatch **batch);
LIBSIM_API void libsim_destroy(LibsimBatch **batch);

LIBSIM_API int32_t libsim_worlds(const LibsimBatch *batch);
LIBSIM_API int32_t libsim_actions(const LibsimBatch *batch);            /* numbers in a world's action: 6 or 1 */
LIBSIM_API int32_t libsim_observation_length(const LibsimBatch *batch); /* floats of a world's observation */
/* Which feature of the whole observation each given one is: [libsim_observation_length], ascending. */
LIBSIM_API const int32_t *libsim_observation_features(const LibsimBatch *batch);
LIBSIM_API size_t libsim_bytes(const LibsimBatch *batch);               /* of memory */

/* Starts episode 0 of every world. observations: [worlds][length], NULL where not wanted. */
LIBSIM_API int libsim_reset(LibsimBatch *batch, float *observations);
/* Starts world w on level[w] ([worlds]), where it stays at every auto-reset. */
LIBSIM_API int libsim_reset_to(LibsimBatch *batch, const int32_t *level, float *observations);

/* What a step gives: arrays of [worlds], NULL where not wanted. They speak of the step that ended, the observations of
 * what comes after an auto-reset. */
typedef struct LibsimStep {
  float *observations;    /* [worlds][length] */
  float *reward;
  uint8_t *done;          /* 1: the episode has ended: solved, failed, out of time, or no longer finite. With
                             options.done_reason 2 where only the time is out: the world might have gone on */
  uint8_t *solved;        /* it has ended at the goal */
  int32_t *level;         /* that was played; -1: a new one, in no set */
  int32_t *episode_steps; /* so far */
} LibsimStep;

/* actions: as options.actions says (LibsimActions). */
LIBSIM_API int libsim_step(LibsimBatch *batch, const void *actions, const LibsimStep *out);
/* The same, and what an auto-reset overwrites: final_observations [worlds][length], the last observation of every
 * episode that ended in this step. Rows of other worlds stay as they are. NULL: not wanted. */
LIBSIM_API int libsim_step_final(LibsimBatch *batch, const void *actions, const LibsimStep *out,
                                 float *final_observations);
LIBSIM_API int libsim_observe(const LibsimBatch *batch, float *observations);

/* Worlds that reached NaN or infinity so far; their episodes ended. */
LIBSIM_API int64_t libsim_nonfinite(const LibsimBatch *batch);

/* All that the next steps depend on. A batch of the same options and levels that loads it goes on bit for bit. */
LIBSIM_API size_t libsim_state_bytes(const LibsimBatch *batch);
LIBSIM_API int libsim_save(const LibsimBatch *batch, void *state, size_t bytes);
LIBSIM_API int libsim_load(LibsimBatch *batch, const void *state, size_t bytes); /* all of it or nothing */

/* ---- the worlds themselves --------------------------------------------------------------------------------------- */

typedef enum LibsimType { LIBSIM_FLOAT32, LIBSIM_INT32, LIBSIM_UINT32 } LibsimType;

/* One quantity of all worlds, where it lies: element (world, slot, component) is `shape` and `stride` bytes apart from
 * `data`. To be read, not written; valid until the batch is destroyed, its values until the next step or reset. */
typedef struct LibsimField {
  const char *name;    /* "position" */
  const char *meaning; /* "of the centroid, m" */
  LibsimType type;
  int64_t shape[3];    /* worlds, slots, components */
  int64_t stride[3];   /* in bytes */
  const void *data;
} LibsimField;

/* Field 0, 1, ...; LIBSIM_USAGE past the last. The order may change; the names do not. */
LIBSIM_API int libsim_field(const LibsimBatch *batch, int32_t index, LibsimField *field);
LIBSIM_API int libsim_field_named(const LibsimBatch *batch, const char *name, LibsimField *field);
/* Its values without gaps, [worlds][slots][components] of 4 bytes. `bytes`: of the array. */
LIBSIM_API int libsim_field_copy(const LibsimBatch *batch, const char *name, void *values, size_t bytes);

/* World w as a picture, an SVG document of `pixels` a side (32 to 2048); libsim_free() it. */
LIBSIM_API int libsim_draw(const LibsimBatch *batch, int32_t world, int32_t pixels, char **svg);

#ifdef __cplusplus
}
#endif
#endif
