/* Frames of world 0 (film.h). */
#include "trainer/picture/film.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

static const double FRAME_S = 0.02; /* at least, which is what browsers show of a .gif */

int film_create(const char *path, Env *env, int64_t pixels, Film **film) {
  const double step_s = env->picture->step_seconds(env);
  Picture *picture;
  *film = NULL;
  const int every = (int)ceil(FRAME_S / step_s - 1e-6);
  TRY(picture_create(path, false, every * step_s, &picture));
  Film *made = core_memory_zero_allocate(1, sizeof *made);
  *made = (Film){.env = env, .pixels = (int)pixels, .every = every, .picture = picture,
                 .rgb = core_memory_allocate((size_t)pixels * (size_t)pixels * 3)};
  *film = made;
  return CORE_OK;
}

int film_shoot(Film *film, bool last) {
  TRY(film->env->picture->draw(film->env, 0, film->pixels, film->pixels, film->rgb));
  film->frames++;
  return picture_add_pixels(film->picture, &(SimDrawPixels){film->pixels, film->pixels, film->rgb}, last);
}

bool film_wants(const Film *film, int steps) { return picture_moves(film->picture) && steps % film->every == 0; }

void film_destroy(Film **film) {
  if (*film == NULL) return;
  picture_destroy(&(*film)->picture);
  free((*film)->rgb);
  free(*film);
  *film = NULL;
}
