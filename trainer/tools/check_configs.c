/* One plan of a training after the other, as --dry-run makes it: levels, encoders, parents, evaluation sets, memory.
 * Nothing large is allocated and nothing written. */
#include "trainer/tools/check_configs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/options.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/workspace/paths.h"
#include "trainer/envs/bridge/bridge_process.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/inherit.h"
#include "trainer/run/training.h"

enum { CHECKED_MAX = 16 }; /* environments that are looked at closely */

/* Machine that a configuration would run on, given by lines that begin with '@'. */
typedef struct Place {
  int64_t ranks;          /* "@ranks=128" */
  bool has_gpus;          /* "@gpus=yes": an emulated GPU without a limit stands for each rank's */
} Place;

typedef struct Check {
  const char *root_option;
  bool elsewhere;         /* the runs are another machine's: GPUs and memory are not this one's */
  char root[CORE_PATH_MAX];
  CoreConfig *checked;    /* [checked_count] configurations that would start, one an environment */
  int checked_count;
} Check;

/* A GPU is another machine's business: what follows from its absence here is no fault of the configuration. */
static void take_off_device(CoreConfig *config) {
  if (strcmp(config->train.device, "cpu") == 0) return;
  snprintf(config->train.device, sizeof config->train.device, "cpu");
  if (strcmp(config->train.precision, "tf32") == 0)
    snprintf(config->train.precision, sizeof config->train.precision, "float32");
}

/* Plans with an emulated GPU in place of the other machine's; nothing runs on it. */
static int plan_on_gpu(const CoreConfig *config, Training **training) {
  char *kept = getenv("CORE_DEVICE") ? core_text_duplicate(getenv("CORE_DEVICE")) : NULL;
  setenv("CORE_DEVICE", "emulated", 1);
  const int code = training_plan(config, training);
  if (kept) setenv("CORE_DEVICE", kept, 1);
  else unsetenv("CORE_DEVICE");
  free(kept);
  return code;
}

/* Plans a run of the place. With train.device = auto a GPU is used where the environments run on it, as there. */
static int plan_at(const Place *place, const CoreConfig *config, Training **training) {
  const bool is_auto = strcmp(config->train.device, "auto") == 0;
  CoreConfig off = *config, on = *config;
  int code = CORE_OK;
  take_off_device(&off);
  snprintf(on.train.device, sizeof on.train.device, "cuda");
  bool on_gpu = place->has_gpus && strcmp(config->train.device, "cpu") != 0 &&
                !(is_auto && core_config_has_no_envs(config));
  ranks_plan_as((int)place->ranks);
  if (on_gpu) code = plan_on_gpu(&on, training);
  if (on_gpu && is_auto && code == CORE_OK && env_is_hosted((*training)->levels)) {
    training_destroy(training);
    on_gpu = false;
  }
  if (!on_gpu) code = training_plan(&off, training);
  ranks_plan_as(1);
  return code;
}

/* The message in one line. */
static void print_message(void) {
  for (const char *c = core_error_message(); *c; c++) putchar(*c == '\n' || *c == '\t' ? ' ' : *c);
}

static void print_memory(const char *verdict, const TrainingPlan *plan) {
  printf("%s\t%.0f\t%.0f\t%.0f", verdict, plan->buffer_bytes + plan->environment_bytes, plan->machine_bytes,
         plan->device_bytes);
}

/* Keeps the configuration for print_warnings, if it is the first of its environment. */
static void keep_environment(Check *check, const CoreConfig *config) {
  for (int i = 0; i < check->checked_count; i++)
    if (strcmp(check->checked[i].env.task, config->env.task) == 0 &&
        strcmp(check->checked[i].env.python, config->env.python) == 0)
      return;
  if (check->checked_count == CHECKED_MAX || core_config_has_no_envs(config)) return;
  check->checked = core_memory_resize(check->checked, (size_t)(check->checked_count + 1) * sizeof *check->checked);
  check->checked[check->checked_count++] = *config;
}

static void print_warnings(Check *check) {
  for (int i = 0; i < check->checked_count; i++) {
    CoreText lines = {0};
    env_append_warnings(&check->checked[i], &lines);
    for (char *rest = lines.data, *line; (line = strsep(&rest, "\n"));)
      if (*line) printf("remark\t%s\n", line);
    core_text_free(&lines);
    fflush(stdout);
  }
  free(check->checked);
}

static void answer(Check *check, const Place *place, CoreConfig config) {
  Training *training;
  int code = check->elsewhere ? plan_at(place, &config, &training) : training_plan(&config, &training);
  if (code == CORE_OK) code = inherit_check(training, check->root);
  if (code != CORE_OK) {
    printf("bad\t");
    print_message();
  } else if (!check->elsewhere && training_check_memory(training) != CORE_OK) {
    print_memory("memory", &training->plan);
    putchar('\t');
    print_message();
  } else {
    print_memory("ok", &training->plan);
    if (check->elsewhere) take_off_device(&config);
    keep_environment(check, &config);
  }
  putchar('\n');
  fflush(stdout);
  core_error_clear();
  training_destroy(&training);
}

static int read_place(const char *line, Place *place) {
  if (strcmp(line, "@gpus=yes") == 0) place->has_gpus = true;
  else if (strncmp(line, "@ranks=", 7) != 0 || !core_text_to_int(line + 7, &place->ranks) || place->ranks < 1 ||
           place->ranks > 1 << 20)
    return core_error(CORE_USAGE, "%.80s: expected @gpus=yes or @ranks=N", line);
  return CORE_OK;
}

static int answer_all(Check *check) {
  char line[2 * CORE_CONFIG_TEXT];
  CoreConfig config = core_config_default();
  Place place = {.ranks = 1};
  printf("check-configs 1\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (!*line) {
      answer(check, &place, config);
      config = core_config_default();
      place = (Place){.ranks = 1};
      continue;
    }
    if (*line == '@') {
      TRY(read_place(line, &place));
      continue;
    }
    TRY(core_config_set_pair(&config, line));
  }
  return CORE_OK;
}

static int check_all(void *given, const char **operands, size_t count) {
  Check *check = given;
  CoreDevice *kept = NULL; /* so that each plan finds the driver awake */
  char note[256];
  TRY(store_root(check->root_option, check->root));
  if (!check->elsewhere && core_device_open("auto", 0, &kept, note) != CORE_OK) core_error_clear();
  bridge_worker_set_reuse(true);
  const int code = answer_all(check);
  print_warnings(check);
  bridge_worker_set_reuse(false);
  core_device_close(&kept);
  return code;
}

int trainer_check_configs(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer check-configs [options]",
    .about = "Reads configurations from its input and answers each with a line: would such a run start? For sweep "
             "plan and sweep submit, not for people: trainer --dry-run looks at one."};
  Check given = {0};
  const CoreOption table[] = {
    {"root", 'r', CORE_OPTION_TEXT, &given.root_option, "DIR", "the workspace, where parents of runs are (init.from)"},
    {"elsewhere", 0, CORE_OPTION_FLAG, &given.elsewhere, NULL,
     "the runs are for other machines: leave out what this one's memory and GPUs allow"},
    {0}};
  return core_options_answer(&manual, table, argc, argv, check_all, &given);
}
