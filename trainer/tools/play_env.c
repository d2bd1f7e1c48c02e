/* An episode of the environment itself, with its own pictures (play_env.h). A world whose episode has ended stands at
 * the start of the next one already, so the last picture is of the state before the last step. */
#include "trainer/tools/play_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/picture/film.h"

static const double FILM_S = 10; /* of the world's time, unless the steps were asked for */

typedef struct Episode {
  Env *env;                 /* one world, of the player's task */
  float *observation;       /* [env->observation_length] */
  void *before;             /* the world's state before the last step */
  int steps;
  uint8_t done, truncated;
  double total;
} Episode;

static void step(Player *player, uint64_t seed, Episode *episode) {
  Env *env = episode->env;
  PlayerAction action;
  float reward;
  uint8_t solved;
  int32_t length;
  player_act(player, episode->observation, seed, episode->steps, &action);
  env->save(env, episode->before);
  env->step(env, &action, &(EnvStep){.observations = episode->observation, .rewards = &reward, .dones = &episode->done,
                                     .solved = &solved, .episode_steps = &length, .truncated = &episode->truncated});
  episode->steps++;
  episode->total += (double)reward;
}

/* Steps whose frames belong to the film. */
static int64_t filmed_steps(const PlayEnv *play, const Env *env) {
  if (play->steps >= 0) return play->steps;
  return (int64_t)(FILM_S / env->picture->step_seconds(env));
}

static int play_episode(const PlayEnv *play, Player *player, Episode *episode, Film *film) {
  Env *env = episode->env;
  const int64_t filmed = filmed_steps(play, env);
  const bool moves = picture_moves(film->picture);
  bool is_shot = false; /* the film has its last frame */
  env->reset(env, episode->observation);
  while (!episode->done && (play->steps < 0 || episode->steps < play->steps)) {
    if (moves && !is_shot && (episode->steps >= filmed || film_wants(film, episode->steps))) {
      is_shot = episode->steps >= filmed;
      TRY(film_shoot(film, is_shot));
    }
    step(player, play->seed, episode);
  }
  if (!is_shot && episode->done) TRY(env->load(env, episode->before, env->state_bytes(env)));
  if (!is_shot) TRY(film_shoot(film, true));
  return picture_write(film->picture);
}

static int make_film(const PlayEnv *play, Player *player, Episode *episode) {
  const Env *env = episode->env;
  Film *film;
  TRY(film_create(play->output, episode->env, play->pixels, &film));
  const int code = play_episode(play, player, episode, film);
  const bool is_whole = !picture_moves(film->picture) || filmed_steps(play, env) >= episode->steps;
  if (code == CORE_OK)
    printf("%s: %s, %d steps, %s, return %.3f%s (run %s after iteration %" PRId64 ")\n", play->output,
           player->config.env.task, episode->steps,
           !episode->done ? "cut off" : episode->truncated ? "to the time limit" : "ended", episode->total,
           is_whole ? "" : "; the film shows its first 10 s", player->run_id, player->iteration);
  film_destroy(&film);
  return code;
}

int play_env(const PlayEnv *play, Player *player) {
  Episode episode = {.env = NULL};
  TRY(player->env->sibling(player->env, &(EnvBatch){.worlds = 1, .seed = play->seed}, &episode.env));
  episode.observation = core_memory_zero_allocate((size_t)episode.env->observation_length, sizeof(float));
  episode.before = core_memory_zero_allocate(1, episode.env->state_bytes(episode.env));
  const int code = make_film(play, player, &episode);
  env_destroy(&episode.env);
  free(episode.observation);
  free(episode.before);
  return code;
}
