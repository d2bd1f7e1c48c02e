/* A picture file of an environment that draws its own worlds (EnvPicture): one picture, or a film of some of the steps,
 * so that it runs as fast as the world does with at most 50 frames a second. */
#ifndef TRAINER_FILM_H
#define TRAINER_FILM_H
#include "trainer/envs/env.h"
#include "trainer/picture/picture.h"

typedef struct Film {
  Env *env;
  int pixels;               /* a side of the square */
  int every;                /* steps a frame */
  int frames;               /* so far */
  uint8_t *rgb;             /* [pixels][pixels][3] */
  Picture *picture;
} Film;

/* Of world 0 of the environment, which it borrows. Errors: picture_create's. */
int film_create(const char *path, Env *env, int64_t pixels, Film **film);
/* Adds the world as it stands. Errors: EnvPicture.draw's and picture_add's. */
int film_shoot(Film *film, bool last);
/* Is the world worth a frame after so many steps? Of what does not move never. */
bool film_wants(const Film *film, int steps);
void film_destroy(Film **film);

#endif
