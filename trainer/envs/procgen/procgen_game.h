/* Worlds of Procgen, driven through libenv.so, the library of its Python package (C interface "libenv" of gym3, version
 * 1, and Procgen's own get_state and set_state). A game has some worlds, whose levels follow from its rand_seed;
 * several threads may step different games. The environment takes a game a world: what happens in it depends on
 * nothing else, and that is no slower than one game of many worlds. The library is opened when it is first needed. */
#ifndef TRAINER_PROCGEN_GAME_H
#define TRAINER_PROCGEN_GAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PROCGEN_SIDE = 64, PROCGEN_PIXELS = PROCGEN_SIDE * PROCGEN_SIDE * 3, /* rows of red, green, blue bytes */
  PROCGEN_ACTIONS = 15,
  PROCGEN_STATE_MAX = 1 << 17, /* bytes of a saved world; 53 000 were the most seen */
};

/* Procgen's options of the same names; the others are its defaults. */
typedef struct ProcgenOptions {
  const char *game;            /* "coinrun" */
  int distribution_mode;       /* 0 easy, 1 hard, 2 extreme, 10 memory */
  int num_levels, start_level; /* levels start_level, start_level + 1, ...; num_levels 0: without end */
  int rand_seed;               /* which of them are played, in which order */
} ProcgenOptions;

typedef struct ProcgenGame ProcgenGame;

/* What a world shows after a step. */
typedef struct ProcgenView {
  const uint8_t *pixels;       /* [PROCGEN_PIXELS] */
  float reward;                /* of the step */
  bool first;                  /* this is the first picture of a new episode: the step has ended the last one */
  bool complete;               /* which was solved */
  int32_t level, last_level;   /* of this episode and of the one that ended */
} ProcgenView;

/* The 16 games' names, sorted; NULL behind the last. */
extern const char *const procgen_games[];
/* CORE_USAGE: no game of this name, or no library; the message says what to do. *number of a mode's name, "easy". */
int procgen_check(const char *game);
int procgen_mode(const char *name, int *number);

/* `worlds` worlds at the beginning of their first episodes. CORE_USAGE as procgen_check. */
int procgen_create(const ProcgenOptions *options, int worlds, ProcgenGame **game);
void procgen_destroy(ProcgenGame *game);
/* actions: [worlds] 0 .. PROCGEN_ACTIONS - 1. */
void procgen_step(ProcgenGame *game, const int32_t *actions);
ProcgenView procgen_view(const ProcgenGame *game, int world);

/* The whole of a world, random numbers included: gives its bytes, at most PROCGEN_STATE_MAX. */
int procgen_save(ProcgenGame *game, int world, void *state);
/* procgen_look shows the saved views when all worlds are loaded that shall be. */
void procgen_load(ProcgenGame *game, int world, const void *state, int bytes);
void procgen_look(ProcgenGame *game);

#endif
