/* libsim: many small 2D worlds that step together, for C, C++ or any language that calls C. Physics of Jax2D, tasks of
 * Kinetix. This is the only header that the library installs; the manual is docs/libsim.md.
 *
 * Functions return LIBSIM_OK or an error code; libsim_error() then has the reason. Results are returned through
 * pointers. Every create or read has a destroy, which takes the address of the pointer and sets it to NULL. Any
 * argument may be NULL without a crash; arrays must have the sizes that this header states. */
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
  LIBSIM_FAIL = 1,  /* the operation failed: out of memory, a file that cannot be read */
  LIBSIM_USAGE = 2, /* invalid argument, or invalid level file */
};

LIBSIM_API const char *libsim_version(void); /* "0.2.0" */
/* Returns the message of this thread's last error: file, place, value, remedy. Valid until the next one. */
LIBSIM_API const char *libsim_error(void);
/* Frees a string that this library returned. */
LIBSIM_API void libsim_free(void *text);

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* Set of levels of one size, on which the worlds of a batch start. */
typedef struct LibsimLevels LibsimLevels;

/* Slots of a level, whether in use or not; contacts follow from the others. */
typedef struct LibsimSize { int32_t polygons, circles, joints, thrusters, contacts; } LibsimSize;

/* Reads Kinetix level files: one file, or all of a directory (and of its sub-directories s, m, l), or several of either
 * joined by '+'. All get the slots of the largest. The message of LIBSIM_USAGE names the file and the JSON path of the
 * error. */
LIBSIM_API int libsim_levels_read(const char *paths, LibsimLevels **levels);
/* Parses one level from text; `name` identifies it in messages. */
LIBSIM_API int libsim_levels_parse(const char *name, const char *json, size_t bytes, LibsimLevels **levels);
/* Generates locomotion levels: morphologies "public", "all", or families joined by '+' (chain hopper walker cheetah car
 * unicycle wheelfeet tree); difficulty "all" or classes 0 1 2 3 joined by '+'; at most `count` of 512 levels. */
LIBSIM_API int libsim_levels_loco512(const char *morphologies, const char *difficulty, int32_t count,
                                     LibsimLevels **levels);
/* Generates random levels first .. first + count - 1 of a seed; size 's', 'm' or 'l'. filtered: keep `count` of twice
 * as many, few of which are solved by doing nothing. */
LIBSIM_API int libsim_levels_random(char size, uint64_t seed, uint32_t first, int32_t count, int filtered,
                                    LibsimLevels **levels);
LIBSIM_API void libsim_levels_destroy(LibsimLevels **levels);

LIBSIM_API int32_t libsim_levels_count(const LibsimLevels *levels);
LIBSIM_API const char *libsim_levels_name(const LibsimLevels *levels, int32_t level); /* NULL: no such level */
LIBSIM_API int libsim_levels_size(const LibsimLevels *levels, LibsimSize *size);
/* Writes a level as the text of a level file; free it with libsim_free(). */
LIBSIM_API int libsim_levels_write(const LibsimLevels *levels, int32_t level, char **json);

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

typedef struct LibsimBatch LibsimBatch;

/* Forms of an action. A world has six bindings, four of motors and two of thrusters, to which its joints and thrusters
 * listen. Values other than those listed have no effect. */
typedef enum LibsimActions {
  LIBSIM_MULTI_DISCRETE, /* uint8_t [world][6]: motors 0 off, 1 forward, 2 backward; thrusters 0 off, 1 on */
  LIBSIM_DISCRETE,       /* uint8_t [world]: 2i and 2i + 1 turn motor i backward and forward, 8 nothing, 9 and 10 a
                          * thruster */
  LIBSIM_CONTINUOUS,     /* float [world][6]: motors -1..1, thrusters 0..1; clipped. NaN ends the episode */
} LibsimActions;

/* Source of the level of each episode. */
typedef enum LibsimReset {
  LIBSIM_RESET_LEVEL_SET,    /* drawn from the set for each episode */
  LIBSIM_RESET_SAME,         /* drawn from the set at libsim_reset, the same for all episodes */
  LIBSIM_RESET_NEW,          /* drawn by the random generator for each episode, with the set's slots */
  LIBSIM_RESET_NEW_FILTERED, /* the same, filtered: few are solved by doing nothing; costs far more */
} LibsimReset;

/* Options of a batch: change the result of libsim_options_default(). Flags are 0 or 1; comments begin with the
 * default. */
typedef struct LibsimOptions {
  uint64_t seed;
  uint32_t first_world;         /* 0; global number of world 0, where several batches share a seed */
  int32_t worlds;               /* 1 */
  int32_t threads;              /* 0: as many as OpenMP chooses */
  int32_t frame_skip;           /* 2 physics steps of 1/60 s */
  int32_t max_steps;            /* 256 per episode */
  float dense_reward;           /* 0.2 per meter that green approaches blue; 0: sparse */
  int32_t auto_reset;           /* 1; 0: a world continues after its episode's end */
  int32_t compact_observations; /* 0; 1: omit features that are 0 at all times on all these levels */
  int32_t pad_writes_zero;      /* 0; 1: as the reference does on CPU, for comparisons with it */
  int32_t actions;              /* LIBSIM_MULTI_DISCRETE: a LibsimActions */
  int32_t reset;                /* LIBSIM_RESET_LEVEL_SET: a LibsimReset */
  int32_t new_size;             /* 0: new levels use all slots of the set; 's', 'm', 'l': those of a smaller size */
  int32_t done_reason;          /* 0; 1: LibsimStep.done distinguishes the time limit from other ends */
  int32_t reserved[17];         /* 0 */
} LibsimOptions;
LIBSIM_API LibsimOptions libsim_options_default(void);

/* Creates a batch with a copy of the levels. Every world begins its first episode on a level drawn from them. */
LIBSIM_API int libsim_create(const LibsimOptions *options, const LibsimLevels *levels, LibsimBatch **batch);
LIBSIM_API void libsim_destroy(LibsimBatch **batch);

LIBSIM_API int32_t libsim_worlds(const LibsimBatch *batch);
LIBSIM_API int32_t libsim_actions(const LibsimBatch *batch);            /* numbers in a world's action: 6 or 1 */
LIBSIM_API int32_t libsim_observation_length(const LibsimBatch *batch); /* floats in a world's observation */
/* Returns the index of each feature in the whole observation: [libsim_observation_length], ascending. */
LIBSIM_API const int32_t *libsim_observation_features(const LibsimBatch *batch);
LIBSIM_API size_t libsim_bytes(const LibsimBatch *batch);               /* size in memory */

/* Starts episode 0 of every world. observations: [world][length]; NULL: not wanted. */
LIBSIM_API int libsim_reset(LibsimBatch *batch, float *observations);
/* Starts every world w on level[w] and keeps it on that level at every auto-reset. */
LIBSIM_API int libsim_reset_to(LibsimBatch *batch, const int32_t *level, float *observations);

/* Outputs of a step: arrays of [world]; NULL: not wanted. All but the observations describe the step before an
 * auto-reset. */
typedef struct LibsimStep {
  float *observations;    /* [world][length], after auto-reset */
  float *reward;
  uint8_t *done;          /* 1: the episode has ended: solved, failed, time limit, or not finite. With
                           * options.done_reason 2 where only the time limit ended it: the world could have continued */
  uint8_t *solved;        /* the episode ended at the goal */
  int32_t *level;         /* index of the level that was played; -1: a new level */
  int32_t *episode_steps; /* steps of the episode so far */
} LibsimStep;

/* Steps all worlds. actions: in the form of options.actions (LibsimActions). */
LIBSIM_API int libsim_step(LibsimBatch *batch, const void *actions, const LibsimStep *out);
/* Steps all worlds and also returns what an auto-reset overwrites: final_observations [world][length], the last
 * observation of every episode that ended in this step. Rows of other worlds are left unchanged. NULL: not wanted. */
LIBSIM_API int libsim_step_final(LibsimBatch *batch, const void *actions, const LibsimStep *out,
                                 float *final_observations);
LIBSIM_API int libsim_observe(const LibsimBatch *batch, float *observations);

/* Returns the number of episodes that ended with NaN or infinity since creation. */
LIBSIM_API int64_t libsim_nonfinite(const LibsimBatch *batch);

/* Save and restore all state on which the next steps depend. A batch of the same options and levels that loads a state
 * continues bit for bit. */
LIBSIM_API size_t libsim_state_bytes(const LibsimBatch *batch);
LIBSIM_API int libsim_save(const LibsimBatch *batch, void *state, size_t bytes);
LIBSIM_API int libsim_load(LibsimBatch *batch, const void *state, size_t bytes); /* loads all of it or nothing */

/* ---- the worlds -------------------------------------------------------------------------------------------------- */

typedef enum LibsimType { LIBSIM_FLOAT32, LIBSIM_INT32, LIBSIM_UINT32 } LibsimType;

/* View of one quantity of all worlds: elements (world, slot, component) lie at multiples of `stride` bytes from `data`.
 * Read-only; valid until the batch is destroyed, its values until the next step or reset. */
typedef struct LibsimField {
  const char *name;    /* "position" */
  const char *meaning; /* "of the centroid, m" */
  LibsimType type;
  int64_t shape[3];    /* worlds, slots, components */
  int64_t stride[3];   /* in bytes */
  const void *data;
} LibsimField;

/* Return field 0, 1, ... or the field with a name; LIBSIM_USAGE past the last. The order may change; the names do
 * not. */
LIBSIM_API int libsim_field(const LibsimBatch *batch, int32_t index, LibsimField *field);
LIBSIM_API int libsim_field_named(const LibsimBatch *batch, const char *name, LibsimField *field);
/* Copies a field's values without gaps: [world][slot][component], 4 bytes each. bytes: size of the array. */
LIBSIM_API int libsim_field_copy(const LibsimBatch *batch, const char *name, void *values, size_t bytes);

/* Draws a world as an SVG document of `pixels` a side (32 to 2048); free it with libsim_free(). */
LIBSIM_API int libsim_draw(const LibsimBatch *batch, int32_t world, int32_t pixels, char **svg);

#ifdef __cplusplus
}
#endif
#endif
