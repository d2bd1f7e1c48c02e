/* golden_procgen DIR [FILE...]: plays the actions of each GAME_MODE_LEVELS.gold of DIR (made by Procgen's own Python
 * interface), and compares every reward, end, level and picture, and the saved states; then puts the
 * states into worlds of other seeds and plays on. Nothing may differ. One line a file; exit status 0 all ok, 1 a
 * difference or a damaged file, 2 wrong use, 77 no Procgen. */
#include <dirent.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "tests/golden/golden_read.h"
#include "trainer/envs/procgen/procgen_game.h"

enum { NO_PROCGEN = 77, TENSORS = 9, WORLDS_MAX = 64 };
enum { ACTION, REWARD, FIRST, COMPLETE, LEVEL, LAST_LEVEL, HASH, STATE_BYTES, STATE_HASH };
static const char *const names[TENSORS] = {"in/action", "out/reward", "out/first", "out/prev_level_complete",
                                           "out/level_seed", "out/prev_level_seed", "out/hash", "out/state_bytes",
                                           "out/state_hash"};

typedef struct Play {
  Gold gold;
  const GoldEntry *entry[TENSORS];
  ProcgenOptions options;
  int worlds, steps, save_at;
  size_t values, different;
} Play;

static uint64_t hash(const uint8_t *bytes, size_t n) { /* FNV-1a */
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
  return h;
}

static double element(const Play *play, int tensor, size_t i) {
  return gold_element(&play->gold, play->entry[tensor], i);
}

static void compare(Play *play, double ours, int tensor, size_t i) {
  play->values++;
  play->different += ours != element(play, tensor, i);
}

static void compare_hash(Play *play, uint64_t ours, int tensor, size_t i) {
  compare(play, (int32_t)(uint32_t)ours, tensor, 2 * i);
  compare(play, (int32_t)(uint32_t)(ours >> 32), tensor, 2 * i + 1);
}

static void compare_views(Play *play, const ProcgenGame *game, int row) {
  for (int world = 0; world < play->worlds; world++) {
    const ProcgenView view = procgen_view(game, world);
    const size_t i = (size_t)(row * play->worlds + world);
    compare(play, (double)view.reward, REWARD, i);
    compare(play, view.first, FIRST, i);
    compare(play, view.complete, COMPLETE, i);
    compare(play, view.level, LEVEL, i);
    compare(play, view.last_level, LAST_LEVEL, i);
    compare_hash(play, hash(view.pixels, PROCGEN_PIXELS), HASH, i);
  }
}

static void play_on(Play *play, ProcgenGame *game, int from, int to) {
  int32_t actions[WORLDS_MAX];
  for (int t = from; t < to; t++) {
    for (int w = 0; w < play->worlds; w++) actions[w] = (int32_t)element(play, ACTION, (size_t)(t * play->worlds + w));
    procgen_step(game, actions);
    compare_views(play, game, t + 1);
  }
}

/* To the end; then again from the saved states, in a game of another seed. */
static int play_file(Play *play) {
  ProcgenGame *game = NULL, *other = NULL;
  uint8_t *state = core_memory_allocate(PROCGEN_STATE_MAX);
  ProcgenOptions options = play->options;
  options.rand_seed += 5000;
  int code = procgen_create(&play->options, play->worlds, &game);
  if (code == CORE_OK) code = procgen_create(&options, play->worlds, &other);
  if (code == CORE_OK) {
    compare_views(play, game, 0);
    play_on(play, game, 0, play->save_at);
    for (int w = 0; w < play->worlds; w++) {
      const int bytes = procgen_save(game, w, state);
      compare(play, bytes, STATE_BYTES, (size_t)w);
      compare_hash(play, hash(state, (size_t)bytes), STATE_HASH, (size_t)w);
      procgen_load(other, w, state, bytes);
    }
    procgen_observe(other);
    compare_views(play, other, play->save_at);
    play_on(play, other, play->save_at, play->steps);
    play_on(play, game, play->save_at, play->steps);
  }
  procgen_destroy(game);
  procgen_destroy(other);
  free(state);
  return code;
}

static int setting(const Play *play, const char *name) {
  const GoldEntry *entry = gold_find(&play->gold, name);
  return entry && gold_elements(entry) == 1 ? (int)gold_element(&play->gold, entry, 0) : -1;
}

/* False: a tensor is absent or of another shape. */
static bool read_shapes(Play *play) {
  play->worlds = setting(play, "hp/worlds");
  play->steps = setting(play, "hp/steps");
  play->save_at = setting(play, "hp/save_at");
  play->options.distribution_mode = setting(play, "hp/distribution_mode");
  play->options.num_levels = setting(play, "hp/num_levels");
  play->options.start_level = setting(play, "hp/start_level");
  play->options.rand_seed = setting(play, "hp/rand_seed");
  if (play->worlds < 1 || play->worlds > WORLDS_MAX || play->steps < 1 || play->save_at < 0 ||
      play->save_at > play->steps || play->options.num_levels < 0 || play->options.rand_seed < 0)
    return false;
  const size_t w = (size_t)play->worlds, rows = (size_t)(play->steps + 1) * w;
  const size_t sizes[TENSORS] = {rows - w, rows, rows, rows, rows, rows, 2 * rows, w, 2 * w};
  for (int i = 0; i < TENSORS; i++) {
    play->entry[i] = gold_find(&play->gold, names[i]);
    if (play->entry[i] == NULL || gold_elements(play->entry[i]) != sizes[i]) return false;
  }
  return true;
}

static bool run_file(const char *directory, const char *file) {
  char path[4096], game[64];
  Play play = {.options = {.game = game}};
  const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  snprintf(game, sizeof game, "%.*s", (int)strcspn(base, "_."), base);
  snprintf(path, sizeof path, "%s/%s", directory, file);
  int code = gold_open(&play.gold, path);
  if (code == CORE_OK && !read_shapes(&play)) code = core_error(CORE_FAIL, "tensors are absent or of other shapes");
  if (code == CORE_OK) code = play_file(&play);
  const bool good = code == CORE_OK && play.values > 0 && play.different == 0;
  printf("%-28s %8zu values  %zu different  %s%s%s\n", file, play.values, play.different, good ? "ok" : "not ok",
         code == CORE_OK ? "" : ": ", code == CORE_OK ? "" : core_error_message());
  gold_close(&play.gold);
  return good;
}

static int is_gold(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".gold") == 0;
}

int main(int argc, char **argv) {
  struct dirent **entries = NULL;
  int bad = 0;
  if (argc < 2 || argv[1][0] == '-') {
    fprintf(stderr, "usage: golden_procgen DIR [FILE...]\nCompares Procgen's games with the .gold files of DIR.\n");
    return CORE_USAGE;
  }
  if (procgen_check("coinrun") != CORE_OK) {
    fprintf(stderr, "golden_procgen: %s\n", core_error_message());
    return NO_PROCGEN;
  }
  const int files = argc > 2 ? argc - 2 : scandir(argv[1], &entries, is_gold, alphasort);
  if (files <= 0) {
    fprintf(stderr, "golden_procgen: %s %s\n", files < 0 ? "cannot read the folder" : "no .gold files in", argv[1]);
    return CORE_USAGE;
  }
  for (int i = 0; i < files; i++) {
    bad += !run_file(argv[1], entries ? entries[i]->d_name : argv[2 + i]);
    if (entries) free(entries[i]);
  }
  free(entries);
  printf("%d files ok, %d not ok\n", files - bad, bad);
  return bad ? CORE_FAIL : CORE_OK;
}
