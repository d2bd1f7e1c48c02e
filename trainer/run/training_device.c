/* Device selection, and checkpoints of device memory (training_internal.h). */
#include "trainer/run/training_internal.h"

#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/device_choice.h"
#include "trainer/ranks/ranks.h"
#include "trainer/wrappers/host_env.h"

/* ---- choice of the device ---------------------------------------------------------------------------------------- */

/* Checks for settings that need a GPU. */
static int check_host(const Training *training) {
  if (training->device || strcmp(training->config.train.precision, "tf32") != 0) return CORE_OK;
  return core_error(CORE_USAGE,
                    "train.precision = tf32: requires a GPU, but this run trains on the CPU%s%s; set "
                    "train.precision = bf16 or float32, or train.device = cuda",
                    training->device_note[0] ? ", as " : "", training->device_note);
}

/* Puts all ranks on GPUs, or none: where auto leaves one of them on the CPU, all use it. */
static int agree_on_device(Training *training) {
  double without = training->device == NULL;
  ranks_max(&without, 1);
  if (without == 0 || training->device == NULL) return CORE_OK;
  snprintf(training->device_note, sizeof training->device_note, "another rank has no GPU");
  core_device_close(&training->device);
  return CORE_OK;
}

static int open_shared(Training *training) {
  const CoreConfig *config = &training->config;
  const bool must = strcmp(config->train.device, "cuda") == 0;
  int number = 0, code = strcmp(config->train.device, "cpu") == 0 || ranks_are_planned()
                           ? CORE_OK : device_choice_number(config, &number, &training->device_shared);
  if (code == CORE_OK)
    code = ranks_agree(core_device_open(config->train.device, number, &training->device, training->device_note));
  if (code == CORE_OK && training->device)
    code = ops_device_check(training->device, training_device_precision(config), !must);
  if (code == CORE_OK || must) return code;
  core_device_close(&training->device);
  if (CORE_HAS_CUDA) snprintf(training->device_note, sizeof training->device_note, "%s", core_error_message());
  core_error_clear();
  return CORE_OK;
}

static int open_device(Training *training) {
  const CoreConfig *config = &training->config;
  /* With a few elements a launch takes longer than the step: a GPU only if requested. */
  if (core_config_has_no_envs(config) && strcmp(config->train.device, "cuda") != 0) return CORE_OK;
  TRY(open_shared(training));
  TRY(agree_on_device(training));
  if (training->device) core_arena_set_device(training->arena, training->device);
  return CORE_OK;
}

int training_device_open(Training *training) {
  TRY(open_device(training));
  return core_config_has_no_envs(&training->config) ? CORE_OK : check_host(training);
}

int training_device_check_env(Training *training) {
  Env *env = training->levels;
  if (training->device == NULL || env->device) return CORE_OK;
  if (strcmp(training->config.train.device, "cuda") == 0) {
    training->levels = NULL;
    return host_env_create(env, NULL, &training->levels);
  }
  snprintf(training->device_note, sizeof training->device_note,
           "%s environments run there; train.device = cuda has networks and updates on the GPU", env->name);
  core_arena_set_device(training->arena, NULL);
  core_device_close(&training->device);
  return check_host(training);
}

OpsPrecision training_device_precision(const CoreConfig *config) {
  const char *precision = config->train.precision;
  if (strcmp(precision, "bf16") == 0) return OPS_BF16;
  return strcmp(precision, "tf32") == 0 ? OPS_TF32 : OPS_FLOAT32;
}

void training_device_close(Training *training) {
  for (int i = 0; i < training->mirrors; i++) free(training->mirror[i].host);
  training->mirrors = 0;
  core_device_close(&training->device);
}

int training_device_connect(Training *training) {
  if (training->device == NULL || ranks_size() == 1) return CORE_OK;
  TRY(communicator_create(training->device, &training->config, training->device_shared, &training->communicator));
  training->agent.communicator = training->communicator;
  rollout_connect(&training->rollout, training->communicator);
  return CORE_OK;
}

int training_device_create_ops(Training *training) {
  const Agent *agent = &training->agent;
  if (training->device == NULL)
    return agent_create_ops(agent, &training->config, training->plan.threads, &training->ops);
  return ops_device_create(training->device, training_device_precision(&training->config), agent_ops_rows(agent),
                           agent_ops_width(agent), agent_is_apart(agent), &training->ops);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static void *mirror_of(Training *training, void *device, size_t bytes) {
  TrainingMirror *mirror = &training->mirror[training->mirrors++];
  *mirror = (TrainingMirror){device, core_memory_zero_allocate(1, bytes), bytes};
  return mirror->host;
}

void training_device_mirror(Training *training, Checkpoint *checkpoint) {
  Sections *sections = &training->sections;
  if (ranks_size() > 1) { /* `all` is host memory already */
    for (int k = 0; k < sections->count; k++) {
      SectionsWorlds *worlds = &sections->worlds[k];
      if (core_arena_holds_on_device(training->arena, worlds->own))
        worlds->own = mirror_of(training, worlds->own, worlds->bytes);
    }
  }
  for (int i = 0; i < checkpoint->sections; i++) {
    CheckpointSection *section = &checkpoint->section[i];
    if (!core_arena_holds_on_device(training->arena, section->data)) continue;
    void *device = section->data;
    section->data = mirror_of(training, device, section->bytes);
    for (int k = 0; k < sections->count; k++)
      if (sections->worlds[k].own == device) sections->worlds[k].own = sections->worlds[k].all = section->data;
  }
}

void training_device_download(const Training *training) {
  for (int i = 0; i < training->mirrors; i++)
    core_device_to_host(training->device, training->mirror[i].host, training->mirror[i].device,
                        training->mirror[i].bytes);
}

void training_device_upload(const Training *training) {
  for (int i = 0; i < training->mirrors; i++)
    core_device_to_device(training->device, training->mirror[i].device, training->mirror[i].host,
                          training->mirror[i].bytes);
}
