/* Prints the trainer's outputs of a policy, for comparison with other programs that read its checkpoints.
 *   cli_policy RUN ROWS    ROWS random observations, with the outputs that `trainer play` would compute; RUN as there.
 *                          For a recurrent policy they are the steps of an episode.
 * Prints one line per observation: the values (or bytes) of the environment's observation, "|", the policy's logits, or
 * Q values. */
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/random.h"
#include "trainer/tools/player.h"

/* Entities are there or not: masks of 0 and 1. */
static bool is_mask(const SimEntityLayout *layout, int i) {
  return layout && i >= layout->polygon_mask && i < layout->joint_shapes;
}

static void draw_numbers(Player *player, uint32_t row) {
  for (int i = 0; i < player->env->observation_length; i++) {
    CoreRandom4 words = core_random_4(23, CORE_RANDOM_TEST, row, (uint32_t)i, 0);
    const double unit = core_random_unit(words.v[0]);
    player->env_observation[i] = is_mask(player->env->entities, i) ? unit < 0.5 : (float)(4 * unit - 2);
    printf("%.9g ", (double)player->env_observation[i]);
  }
}

static void draw_pixels(Player *player, uint32_t row) {
  uint8_t *bytes = (uint8_t *)player->env_observation;
  const int count = env_pixels_value_count(player->env->pixels, 0);
  for (int i = 0; i < count; i++) {
    bytes[i] = (uint8_t)core_random_4(23, CORE_RANDOM_TEST, row, (uint32_t)i, 0).v[0];
    printf("%d ", bytes[i]);
  }
}

static void print_row(Player *player, uint32_t row) {
  if (player->env->pixels) draw_pixels(player, row);
  else draw_numbers(player, row);
  obs_transform_eval(&player->pipeline, player->env_observation, 1, player->observation);
  const Agent *agent = &player->agent;
  for (int i = 0; row == 0 && i < agent->recurrent.states; i++) player->states[i] = 0;
  agent_bind_sequences(agent, &(RecurrentSequences){.length = 1, .start = player->states, .end = player->states});
  if (agent->is_q)
    agent_forward(agent, player->ops, &agent->actor, agent->actor.theta, player->observation, 1, player->logits);
  else agent_policy(agent, player->ops, agent->actor.theta, player->observation, 1, player->logits);
  printf("|");
  for (int i = 0; i < player->agent.head.logits; i++) printf(" %.9g", (double)player->logits[i]);
  printf("\n");
}

int main(int argc, char **argv) {
  Player player;
  if (argc != 3) return fprintf(stderr, "usage: cli_policy RUN ROWS\n"), 2;
  int code = player_create(&(PlayerOptions){.checkpoint = argv[1], .needs_env = true}, &player);
  if (code != CORE_OK) fprintf(stderr, "%s\n", core_error_message());
  for (int row = 0; row < atoi(argv[2]) && code == CORE_OK; row++) print_row(&player, (uint32_t)row);
  player_destroy(&player);
  return code;
}
