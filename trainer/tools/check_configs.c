/* Plans one training per configuration, as --dry-run does: levels, encoders, parents, evaluation sets, memory. Nothing
 * large is allocated, and nothing is written. */
#include "trainer/tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/options.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "trainer/envs/bridge/bridge_process.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/inherit.h"
#include "trainer/run/training.h"

enum { CHECKED_MAX = 16 }; /* maximum number of environments to check for warnings */

/* Target machine of a configuration, from lines that begin with '@'. */
typedef struct Target {
  int64_t ranks;          /* "@ranks=128" */
  bool has_gpus;          /* "@gpus=yes": every rank has a GPU, represented by an emulated one without a memory limit */
} Target;

typedef struct Check {
  const char *root_option;
  bool elsewhere;         /* runs are for another machine: ignore GPUs and memory of this one */
  char root[CORE_PATH_MAX];
  CoreConfig *checked;    /* [checked_count] valid configurations, one per environment */
  int checked_count;
} Check;

/* Replaces the GPU by the CPU, so that the lack of a GPU on this machine is not an error. */
static void use_cpu(CoreConfig *config) {
  if (strcmp(config->train.device, "cpu") == 0) return;
  snprintf(config->train.device, sizeof config->train.device, "cpu");
  if (strcmp(config->train.precision, "tf32") == 0)
    snprintf(config->train.precision, sizeof config->train.precision, "float32");
}

/* Plans with an emulated GPU that represents the target's; nothing runs on it. */
static int plan_on_gpu(const CoreConfig *config, Training **training) {
  char *saved = getenv("CORE_DEVICE") ? core_text_duplicate(getenv("CORE_DEVICE")) : NULL;
  setenv("CORE_DEVICE", "emulated", 1);
  const int code = training_plan(config, training);
  if (saved) setenv("CORE_DEVICE", saved, 1);
  else unsetenv("CORE_DEVICE");
  free(saved);
  return code;
}

/* Plans a run on the target. With train.device = auto, uses a GPU only if the environments run on it. */
static int plan_for_target(const Target *target, const CoreConfig *config, Training **training) {
  const bool is_auto = strcmp(config->train.device, "auto") == 0;
  CoreConfig cpu = *config, gpu = *config;
  int code = CORE_OK;

  use_cpu(&cpu);
  snprintf(gpu.train.device, sizeof gpu.train.device, "cuda");
  bool on_gpu = target->has_gpus && strcmp(config->train.device, "cpu") != 0 &&
                !(is_auto && core_config_has_no_envs(config));

  ranks_plan_as((int)target->ranks);
  if (on_gpu) code = plan_on_gpu(&gpu, training);
  if (on_gpu && is_auto && code == CORE_OK && env_is_hosted((*training)->levels)) {
    training_destroy(training);
    on_gpu = false;
  }
  if (!on_gpu) code = training_plan(&cpu, training);

  ranks_plan_as(1);
  return code;
}

/* Prints the error message as one line. */
static void print_message(void) {
  for (const char *c = core_error_message(); *c; c++) putchar(*c == '\n' || *c == '\t' ? ' ' : *c);
}

static void print_memory(const char *verdict, const TrainingPlan *plan) {
  printf("%s\t%.0f\t%.0f\t%.0f", verdict, plan->buffer_bytes + plan->environment_bytes, plan->machine_bytes,
         plan->device_bytes);
}

/* Stores the configuration for print_warnings, if it is the first with its environment. */
static void store_environment(Check *check, const CoreConfig *config) {
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
    for (char *tail = lines.data, *line; (line = strsep(&tail, "\n"));)
      if (*line) printf("remark\t%s\n", line);
    core_text_free(&lines);
    fflush(stdout);
  }
  free(check->checked);
}

/* Checks one configuration and prints the result. */
static void check_config(Check *check, const Target *target, CoreConfig config) {
  Training *training = NULL;
  int code = store_trust_check(&config, false); /* the code may have changed since sweep looked */
  if (code == CORE_OK)
    code = check->elsewhere ? plan_for_target(target, &config, &training) : training_plan(&config, &training);
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
    if (check->elsewhere) use_cpu(&config);
    store_environment(check, &config);
  }

  putchar('\n');
  fflush(stdout);
  core_error_clear();
  training_destroy(&training);
}

static int read_target(const char *line, Target *target) {
  if (strcmp(line, "@gpus=yes") == 0) target->has_gpus = true;
  else if (strncmp(line, "@ranks=", 7) != 0 || !core_text_to_int(line + 7, &target->ranks) || target->ranks < 1 ||
           target->ranks > 1 << 20)
    return core_error(CORE_USAGE, "%.80s: expected @gpus=yes or @ranks=N", line);
  return CORE_OK;
}

static int read_configs(Check *check) {
  char line[2 * CORE_CONFIG_TEXT];
  CoreConfig config = core_config_default();
  Target target = {.ranks = 1};
  printf("check-configs 1\n");
  fflush(stdout);

  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (!*line) {
      check_config(check, &target, config);
      config = core_config_default();
      target = (Target){.ranks = 1};
      continue;
    }
    if (*line == '@') {
      TRY(read_target(line, &target));
      continue;
    }
    TRY(core_config_set_pair(&config, line));
  }
  return CORE_OK;
}

static int run(void *opts, const char **operands, size_t count) {
  Check *check = opts;
  CoreDevice *device = NULL; /* kept open so that plans do not reload the driver */
  char note[256];
  TRY(store_root(check->root_option, check->root));
  if (!check->elsewhere && core_device_open("auto", 0, &device, note) != CORE_OK) core_error_clear();
  bridge_worker_set_reuse(true);
  const int code = read_configs(check);
  print_warnings(check);
  bridge_worker_set_reuse(false);
  core_device_close(&device);
  return code;
}

int trainer_check_configs(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer check-configs [options]",
    .about = "Internal: reads configurations from standard input and prints whether each would start. Used by sweep "
             "plan and sweep submit; to check a single configuration, use trainer --dry-run."};
  Check check = {0};
  const CoreOption table[] = {
    {"root", 'r', CORE_OPTION_TEXT, &check.root_option, "DIR", "workspace with parents of runs (init.from)"},
    {"elsewhere", 0, CORE_OPTION_FLAG, &check.elsewhere, NULL,
     "the runs are for other machines: ignore memory and GPUs of this one"},
    {0}};
  return core_options_run(&manual, table, argc, argv, run, &check);
}
