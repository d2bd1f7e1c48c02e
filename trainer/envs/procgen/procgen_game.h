/* Binding to Procgen's libenv.so from its Python package (gym3's C interface "libenv", version 1, and Procgen's
 * get_state and set_state). A game has one or more worlds, whose levels derive from its rand_seed; different games
 * may be stepped concurrently. The environment creates a game per world, so that worlds are independent; this is as
 * fast as one game with many worlds. The library is opened on first use. */
#ifndef TRAINER_PROCGEN_GAME_H
#define TRAINER_PROCGEN_GAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PROCGEN_SIDE = 64, PROCGEN_PIXELS = PROCGEN_SIDE * PROCGEN_SIDE * 3, /* rows of red, green, blue bytes */
  PROCGEN_ACTIONS = 15,
  PROCGEN_STATE_MAX = 1 << 17, /* maximum size of a saved world; up to 53 000 bytes have been observed */
};

/* Procgen's options; the others have its defaults. */
typedef struct ProcgenOptions {
  const char *game;            /* "coinrun" */
  int distribution_mode;       /* 0 easy, 1 hard, 2 extreme, 10 memory */
  int num_levels, start_level; /* levels start_level, start_level + 1, ...; num_levels 0: unlimited */
  int rand_seed;               /* seed of the sequence of levels */
} ProcgenOptions;

typedef struct ProcgenGame ProcgenGame;

/* Result of a step of one world. */
typedef struct ProcgenView {
  const uint8_t *pixels;       /* [PROCGEN_PIXELS] */
  float reward;                /* reward of the step */
  bool first;                  /* whether the step ended an episode; `pixels` show the first state of the next */
  bool complete;               /* whether the ended episode was solved */
  int32_t level, last_level;   /* levels of the current and of the ended episode */
} ProcgenView;

/* Names of the 16 games, sorted; terminated by NULL. */
extern const char *const procgen_games[];
/* Checks a game's name and opens the library. CORE_USAGE: unknown game, or the library is missing. */
int procgen_check(const char *game);
/* Looks up distribution_mode by its name, "easy". CORE_USAGE: unknown name. */
int procgen_mode(const char *name, int *number);

/* Creates `worlds` worlds at the start of their first episodes. CORE_USAGE: as procgen_check. */
int procgen_create(const ProcgenOptions *options, int worlds, ProcgenGame **game);
void procgen_destroy(ProcgenGame *game);
/* Steps all worlds. actions: [worlds] 0 .. PROCGEN_ACTIONS - 1. */
void procgen_step(ProcgenGame *game, const int32_t *actions);
/* Returns the result of the last step. */
ProcgenView procgen_view(const ProcgenGame *game, int world);

/* Saves a world, including its random state. Returns the size, at most PROCGEN_STATE_MAX. */
int procgen_save(ProcgenGame *game, int world, void *state);
/* Restores a world. Call procgen_observe after all worlds have been loaded, to update their views. */
void procgen_load(ProcgenGame *game, int world, const void *state, int bytes);
void procgen_observe(ProcgenGame *game);

#endif
