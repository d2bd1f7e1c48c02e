/* Procgen's library and its worlds (procgen_game.h). */
#include "trainer/envs/procgen/procgen_game.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/code/code.h"

/* ---- the interface of libenv, version 1 -------------------------------------------------------------------------- */

enum { LIBENV_VERSION = 1, LIBENV_NAME = 128, LIBENV_UINT8 = 1, LIBENV_INT32 = 2, OPTIONS_MAX = 24 };
typedef struct LibenvOption {
  char name[LIBENV_NAME];
  int type, count;
  void *data;
} LibenvOption;
typedef struct LibenvOptions {
  LibenvOption *items;
  int count;
} LibenvOptions;
typedef struct LibenvBuffers {
  void **observations;
  float *rewards;
  uint8_t *first;
  void **info;   /* last_level, complete, level */
  void **actions;
} LibenvBuffers;

static struct {
  int (*version)(void);
  void *(*make)(int count, LibenvOptions options);
  void (*set_buffers)(void *handle, LibenvBuffers *buffers);
  void (*observe)(void *handle);
  void (*act)(void *handle);
  void (*close)(void *handle);
  int (*get_state)(void *handle, int world, char *state, int bytes);
  void (*set_state)(void *handle, int world, char *state, int bytes);
} libenv;
static char assets[CORE_PATH_MAX]; /* directory of images, with a trailing '/'; "": the library is not open */

/* Buffers of a world. */
typedef struct WorldBuffers {
  uint8_t pixels[PROCGEN_PIXELS];
  int32_t level, last_level, action;
  uint8_t complete;
} WorldBuffers;

struct ProcgenGame {
  void *handle;
  int worlds;
  WorldBuffers *world;    /* [worlds] */
  LibenvBuffers buffers;  /* owned: rewards and first [worlds], info [3][worlds], observations and actions [worlds] */
};

const char *const procgen_games[] = {"bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball",
                                     "fruitbot", "heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder",
                                     "starpilot", NULL};

/* ---- loading the library ----------------------------------------------------------------------------------------- */

#define REMEDY "; run `make procgen`, or set PROCGEN_HOME to a directory with the unpacked wheel procgen2"

static int find_function(void *file, const char *name, void *function) {
  *(void **)function = dlsym(file, name);
  if (*(void **)function) return CORE_OK;
  return core_error(CORE_USAGE, "Procgen's libenv.so has no %s" REMEDY, name);
}

static int find_functions(void *file) {
  TRY(find_function(file, "libenv_version", &libenv.version));
  TRY(find_function(file, "libenv_make", &libenv.make));
  TRY(find_function(file, "libenv_set_buffers", &libenv.set_buffers));
  TRY(find_function(file, "libenv_observe", &libenv.observe));
  TRY(find_function(file, "libenv_act", &libenv.act));
  TRY(find_function(file, "libenv_close", &libenv.close));
  TRY(find_function(file, "get_state", &libenv.get_state));
  TRY(find_function(file, "set_state", &libenv.set_state));
  if (libenv.version() == LIBENV_VERSION) return CORE_OK;
  return core_error(CORE_USAGE, "Procgen's libenv.so has interface version %d, expected %d" REMEDY, libenv.version(),
                    LIBENV_VERSION);
}

static int open_library(void) {
  const char *home;
  char path[CORE_PATH_MAX], images[CORE_PATH_MAX];
  if (assets[0]) return CORE_OK;
  TRY(store_code_procgen(&home, path));
  TRY(core_files_path(images, "%s/procgen/data/assets/", home));
  if (!core_files_exists(path)) return core_error(CORE_USAGE, "Procgen's library is not at %.300s" REMEDY, path);
  if (!core_files_exists(images))
    return core_error(CORE_USAGE, "Procgen's images are not at %.300s" REMEDY, images);
  void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (file == NULL)
    return core_error(CORE_USAGE, "%.300s: %.200s; it requires libGL, glib and X11: apt-get install libgl1 "
                      "libglib2.0-0 libx11-6", path, dlerror());
  TRY(find_functions(file));
  return core_text_copy(assets, sizeof assets, images, "PROCGEN_HOME");
}

int procgen_check(const char *game) {
  int count = 0;
  bool is_known = false;
  for (; procgen_games[count]; count++) is_known |= strcmp(procgen_games[count], game) == 0;
  if (is_known) return open_library();
  const char *near = core_text_nearest(game, procgen_games, (size_t)count);
  return core_error(CORE_USAGE, "procgen/%.60s is not a Procgen game%s%s%s; trainer tasks lists them", game,
                    near ? "; did you mean procgen/" : "", near ? near : "", near ? "?" : "");
}

int procgen_mode(const char *name, int *number) {
  static const struct { const char *name; int number; } modes[] = {
    {"easy", 0}, {"hard", 1}, {"extreme", 2}, {"memory", 10}};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(modes[i].name, name) != 0) continue;
    *number = modes[i].number;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "procgen.mode = %.40s is not one of: easy, hard, extreme, memory", name);
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

typedef struct OptionList {
  LibenvOption item[OPTIONS_MAX];
  int32_t numbers[OPTIONS_MAX];
  uint8_t flags[OPTIONS_MAX];
  int count;
} OptionList;

static LibenvOption *add_option(OptionList *list, const char *name, int type, int count) {
  CORE_CHECK(list->count < OPTIONS_MAX);
  LibenvOption *item = &list->item[list->count++];
  *item = (LibenvOption){.type = type, .count = count};
  core_text_copy(item->name, sizeof item->name, name, "option");
  return item;
}

static void add_text(OptionList *list, const char *name, const char *text) {
  add_option(list, name, LIBENV_UINT8, (int)strlen(text))->data = (void *)text;
}

static void add_number(OptionList *list, const char *name, int number) {
  list->numbers[list->count] = number;
  void *data = &list->numbers[list->count];
  add_option(list, name, LIBENV_INT32, 1)->data = data;
}

static void add_flag(OptionList *list, const char *name, bool flag) {
  list->flags[list->count] = flag;
  void *data = &list->flags[list->count];
  add_option(list, name, LIBENV_UINT8, 1)->data = data;
}

/* Fills in all options; libenv has no defaults. */
static void fill_options(const ProcgenOptions *options, OptionList *list) {
  add_text(list, "env_name", options->game);
  add_text(list, "resource_root", assets);
  add_number(list, "num_levels", options->num_levels);
  add_number(list, "start_level", options->start_level);
  add_number(list, "num_actions", PROCGEN_ACTIONS);
  add_number(list, "debug_mode", 0);
  add_number(list, "rand_seed", options->rand_seed);
  add_number(list, "num_threads", 0);

  add_number(list, "distribution_mode", options->distribution_mode);
  add_flag(list, "use_sequential_levels", false);
  add_flag(list, "render_human", false);
  add_flag(list, "center_agent", true);
  add_flag(list, "use_generated_assets", false);
  add_flag(list, "use_monochrome_assets", false);
  add_flag(list, "restrict_themes", false);
  add_flag(list, "use_backgrounds", true);
  add_flag(list, "paint_vel_info", false);
}

static void set_buffers(ProcgenGame *game) {
  const size_t n = (size_t)game->worlds;
  LibenvBuffers *buffers = &game->buffers;
  *buffers = (LibenvBuffers){
    core_memory_zero_allocate(n, sizeof(void *)), core_memory_zero_allocate(n, sizeof(float)),
    core_memory_zero_allocate(n, 1), core_memory_zero_allocate(3 * n, sizeof(void *)),
    core_memory_zero_allocate(n, sizeof(void *))};

  for (size_t w = 0; w < n; w++) {
    WorldBuffers *buffer = &game->world[w];
    buffers->observations[w] = buffer->pixels;
    buffers->info[w] = &buffer->last_level;
    buffers->info[n + w] = &buffer->complete;
    buffers->info[2 * n + w] = &buffer->level;
    buffers->actions[w] = &buffer->action;
  }
  libenv.set_buffers(game->handle, buffers);
}

int procgen_create(const ProcgenOptions *options, int worlds, ProcgenGame **created) {
  OptionList list = {.count = 0};
  TRY(procgen_check(options->game));
  ProcgenGame *game = core_memory_zero_allocate(1, sizeof *game);
  fill_options(options, &list);
  game->worlds = worlds;
  game->world = core_memory_zero_allocate((size_t)worlds, sizeof *game->world);
  game->handle = libenv.make(worlds, (LibenvOptions){list.item, list.count});
  set_buffers(game);
  libenv.observe(game->handle);
  *created = game;
  return CORE_OK;
}

void procgen_destroy(ProcgenGame *game) {
  if (game == NULL) return;
  libenv.close(game->handle);
  free(game->buffers.observations);
  free(game->buffers.rewards);
  free(game->buffers.first);
  free(game->buffers.info);
  free(game->buffers.actions);
  free(game->world);
  free(game);
}

void procgen_observe(ProcgenGame *game) { libenv.observe(game->handle); }

void procgen_step(ProcgenGame *game, const int32_t *actions) {
  for (int w = 0; w < game->worlds; w++) game->world[w].action = actions[w];
  libenv.act(game->handle);
  libenv.observe(game->handle);
}

ProcgenView procgen_view(const ProcgenGame *game, int world) {
  const WorldBuffers *buffer = &game->world[world];
  return (ProcgenView){buffer->pixels, game->buffers.rewards[world], game->buffers.first[world] != 0,
                       buffer->complete != 0, buffer->level, buffer->last_level};
}

int procgen_save(ProcgenGame *game, int world, void *state) {
  const int bytes = libenv.get_state(game->handle, world, state, PROCGEN_STATE_MAX);
  CORE_CHECK(bytes > 0 && bytes <= PROCGEN_STATE_MAX);
  return bytes;
}

void procgen_load(ProcgenGame *game, int world, const void *state, int bytes) {
  libenv.set_state(game->handle, world, (char *)state, bytes);
}
