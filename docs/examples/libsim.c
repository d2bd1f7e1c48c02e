/* libsim in one page: 64 worlds on 16 walkers play 200 steps at random; what came of it, and a picture.
 *
 *   cc -O2 libsim.c $(pkg-config --cflags --libs sim) -o example && ./example [LEVELS] [picture.svg]
 *
 * LEVELS: a level file or a directory of them instead of the walkers. Compiles as C11 and later, and as C++17. */
#include <sim/sim.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORLDS = 64, STEPS = 200 };

static void stop_at_error(int code) {
  if (code == LIBSIM_OK) return;
  fprintf(stderr, "%s\n", libsim_error());
  exit(code);
}

/* FNV-1a of where everything is: the same on every machine. */
static uint64_t hash_field(const LibsimBatch *batch, const char *name, uint64_t hash) {
  LibsimField field;
  stop_at_error(libsim_field_named(batch, name, &field));
  size_t bytes = (size_t)(field.shape[0] * field.shape[1] * field.shape[2]) * 4;
  unsigned char *values = (unsigned char *)malloc(bytes);
  stop_at_error(libsim_field_copy(batch, name, values, bytes));
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ values[i]) * 1099511628211u;
  free(values);
  return hash;
}

int main(int argc, char **argv) {
  LibsimLevels *levels = NULL;
  LibsimBatch *batch = NULL;
  LibsimOptions options = libsim_options_default();
  options.worlds = WORLDS;
  stop_at_error(argc > 1 && argv[1][0] ? libsim_levels_read(argv[1], &levels)
                                       : libsim_levels_loco512("public", "all", 16, &levels));
  stop_at_error(libsim_create(&options, levels, &batch));
  const int length = libsim_observation_length(batch), width = libsim_actions(batch);
  printf("%d levels, %d worlds, %d features\n", libsim_levels_count(levels), WORLDS, length);

  float *observations = (float *)malloc(sizeof(float) * WORLDS * (size_t)length), reward[WORLDS], sum = 0;
  unsigned char *actions = (unsigned char *)malloc(WORLDS * (size_t)width), done[WORLDS], solved[WORLDS];
  LibsimStep out = {observations, reward, done, solved, NULL, NULL};
  int episodes = 0, solves = 0;
  uint32_t random = 1;
  stop_at_error(libsim_reset(batch, observations));
  for (int t = 0; t < STEPS; t++) {
    for (int i = 0; i < WORLDS * width; i++) {
      random = random * 1664525u + 1013904223u;
      actions[i] = (unsigned char)((random >> 16) % (i % width < 4 ? 3 : 2)); /* motors: 3 choices, thrusters: 2 */
    }
    stop_at_error(libsim_step(batch, actions, &out));
    for (int w = 0; w < WORLDS; w++) sum += reward[w], episodes += done[w], solves += solved[w];
  }
  uint64_t hash = hash_field(batch, "position", 14695981039346656037u);
  hash = hash_field(batch, "rotation", hash);
  hash = hash_field(batch, "velocity", hash);
  printf("%d episodes, %d solved, mean reward %.4f\n", episodes, solves, (double)sum / (WORLDS * STEPS));
  printf("world hash 0x%016llx\n", (unsigned long long)hash);

  if (argc > 2) {
    char *svg = NULL;
    stop_at_error(libsim_draw(batch, 0, 500, &svg));
    FILE *file = fopen(argv[2], "w");
    if (!file || fputs(svg, file) < 0 || fclose(file) != 0) return perror(argv[2]), 1;
    libsim_free(svg);
  }
  free(actions), free(observations);
  libsim_destroy(&batch);
  libsim_levels_destroy(&levels);
  return 0;
}
