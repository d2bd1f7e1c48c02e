/* Functions common to all environments: evaluation sets, unsupported features, estimates of memory. */
#include "trainer/envs/env.h"

#include <string.h>

#include "trainer/envs/levels.h"

int env_evaluation_sets(const CoreConfig *config, const Env *trained, int *count) {
  if (trained && trained->sets) {
    const int code = trained->sets->count(trained, config, count);
    return code == CORE_OK ? CORE_OK : core_error_context(code, "eval.levels");
  }
  if (levels_count_parts(config->eval.levels, count) != CORE_OK) return core_error_context(CORE_USAGE, "eval.levels");
  return CORE_OK;
}

int env_unsupported(const Env *env, const char *setting, const char *value, const char *feature, const char *remedy) {
  return core_error(CORE_USAGE, "%s = %s needs %s, which %s environments lack; set %s",
                                setting, value, feature, env->name,
                    remedy);
}

int env_create_evaluation(const CoreConfig *config, const Env *trained, int set, const EnvBatch *batch, Env **env,
                          char name[ENV_SET_NAME]) {
  if (trained->sets) return trained->sets->create(trained, config, set, batch, env, name);
  if (trained->levels == NULL)
    return env_unsupported(trained, "eval.levels", config->eval.levels, "levels", "eval.levels to empty");
  return trained->levels->create_set(trained, config, set, batch, env, name);
}

void env_destroy(Env **env) {
  if (*env != NULL) (*env)->destroy(*env);
  *env = NULL;
}

bool env_wants_pixels(const CoreConfig *config) {
  return strcmp(config->net.encoder, "nature") == 0 || strcmp(config->net.encoder, "impala") == 0;
}

int env_check_on_host(const Env *env, const EnvBatch *batch) {
  if (batch->device == NULL) return CORE_OK;
  return env_unsupported(env, "train.device", "cuda", "worlds on a GPU", "train.device to cpu");
}

void env_seed(Env *env, const EnvSeeds *seeds) {
  if (env->foreign) env->foreign->seed(env, seeds);
}

int env_concurrent_worlds(const Env *env, int worlds, int trained) {
  return env->foreign && trained < worlds ? trained : worlds;
}

void env_synchronize(Env *env) {
  if (env->parts && env->parts->synchronize) env->parts->synchronize(env);
}

int env_check(const Env *env) { return env->remote ? env->remote->check(env) : CORE_OK; }

/* Measures the memory of a clone. */
static int clone_bytes(const Env *env, int worlds, double *bytes) {
  Env *clone = NULL;
  TRY(env->clone(env, &(EnvBatch){.worlds = worlds}, &clone));
  *bytes = (double)clone->bytes(clone);
  env_destroy(&clone);
  return CORE_OK;
}

int env_estimate_bytes(const Env *env, int64_t worlds, double *bytes) {
  enum { SMALL = 64 }; /* several of a batch's widest blocks */
  double small, twice;
  if (env->foreign) { /* creating third-party worlds may be slow, and their memory is unknown */
    *bytes = (double)env->bytes(env) / env->worlds * (double)worlds;
    return CORE_OK;
  }
  TRY(clone_bytes(env, SMALL, &small));
  TRY(clone_bytes(env, 2 * SMALL, &twice));
  double per_world = (twice - small) / SMALL;
  *bytes = small + per_world * (double)(worlds > SMALL ? worlds - SMALL : 0);
  return CORE_OK;
}
