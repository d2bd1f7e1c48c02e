/* Plays an episode in the environment and records it with the environment's renderer (play_env.h). A world whose
 * episode has ended is reset immediately, so the last frame shows the state before the last step. */
#include "trainer/tools/play_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/unicode.h"
#include "trainer/picture/env_recorder.h"

static const double VIDEO_S_MAX = 10; /* simulated time, unless --steps is given */

typedef struct Episode {
  Env *env;                 /* a single world of the player's task */
  float *observation;       /* [env->observation_length] */
  void *previous;           /* state of the world before the last step */
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
  env->save(env, episode->previous);
  env->step(env, &action, &(EnvStep){.observations = episode->observation, .rewards = &reward, .dones = &episode->done,
                                     .solved = &solved, .episode_steps = &length, .truncated = &episode->truncated});
  episode->steps++;
  episode->total += (double)reward;
}

/* Returns the number of steps to record. */
static int64_t recorded_steps(const PlayEnv *play, const Env *env) {
  if (play->steps >= 0) return play->steps;
  return (int64_t)(VIDEO_S_MAX / env->picture->step_seconds(env));
}

static int play_episode(const PlayEnv *play, Player *player, Episode *episode, EnvRecorder *recorder) {
  Env *env = episode->env;
  const int64_t recorded = recorded_steps(play, env);
  const bool is_video = picture_is_video(recorder->picture);
  bool is_complete = false; /* whether the last frame has been added */

  env->reset(env, episode->observation);
  while (!episode->done && (play->steps < 0 || episode->steps < play->steps)) {
    if (is_video && !is_complete && (episode->steps >= recorded || env_recorder_is_due(recorder, episode->steps))) {
      is_complete = episode->steps >= recorded;
      TRY(env_recorder_add_frame(recorder, is_complete));
    }
    step(player, play->seed, episode);
  }

  if (!is_complete && episode->done) TRY(env->load(env, episode->previous, env->state_bytes(env)));
  if (!is_complete) TRY(env_recorder_add_frame(recorder, true));
  return picture_write(recorder->picture);
}

static int record_episode(const PlayEnv *play, Player *player, Episode *episode) {
  const Env *env = episode->env;
  EnvRecorder *recorder;
  TRY(env_recorder_create(play->output, episode->env, play->pixels, &recorder));
  const int code = play_episode(play, player, episode, recorder);
  const bool is_full = !picture_is_video(recorder->picture) || recorded_steps(play, env) >= episode->steps;
  if (code == CORE_OK)
    core_unicode_print(stdout, "%s: %s, %d steps, %s, return %.3f%s (run %s after iteration %" PRId64 ")\n",
                       play->output, player->config.env.task, episode->steps,
                       !episode->done ? "cut off" : episode->truncated ? "to the time limit" : "ended",
                       episode->total, is_full ? "" : "; the video shows its first 10 s", player->run_id,
                       player->iteration);
  env_recorder_destroy(&recorder);
  return code;
}

int play_env(const PlayEnv *play, Player *player) {
  Episode episode = {.env = NULL};
  TRY(player->env->clone(player->env, &(EnvBatch){.worlds = 1, .seed = play->seed}, &episode.env));
  episode.observation = core_memory_zero_allocate((size_t)episode.env->observation_length, sizeof(float));
  episode.previous = core_memory_zero_allocate(1, episode.env->state_bytes(episode.env));
  const int code = record_episode(play, player, &episode);
  env_destroy(&episode.env);
  free(episode.observation);
  free(episode.previous);
  return code;
}
