/* What is common to all environments: evaluation sets, what one lacks, and estimating memory before it is taken. */
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

int env_lacks(const Env *env, const char *setting, const char *value, const char *what, const char *instead) {
  return core_error(CORE_USAGE, "%s = %s needs %s, which %s environments lack; set %s", setting, value, what, env->name,
                    instead);
}

int env_create_evaluation(const CoreConfig *config, const Env *trained, int set, const EnvBatch *batch, Env **env,
                          char name[ENV_SET_NAME]) {
  if (trained->sets) return trained->sets->create(trained, config, set, batch, env, name);
  if (trained->levels == NULL)
    return env_lacks(trained, "eval.levels", config->eval.levels, "levels", "eval.levels to nothing");
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
  return env_lacks(env, "train.device", "cuda", "worlds on a GPU", "train.device to cpu");
}

void env_seed(Env *env, const EnvSeeds *seeds) {
  if (env->foreign) env->foreign->seed(env, seeds);
}

int env_worlds_at_once(const Env *env, int worlds, int trained) {
  return env->foreign && trained < worlds ? trained : worlds;
}

void env_synchronize(Env *env) {
  if (env->parts && env->parts->synchronize) env->parts->synchronize(env);
}

int env_check(const Env *env) { return env->outside ? env->outside->check(env) : CORE_OK; }

static int sibling_bytes(const Env *env, int worlds, double *bytes) {
  Env *sibling = NULL;
  TRY(env->sibling(env, &(EnvBatch){.worlds = worlds}, &sibling));
  *bytes = (double)sibling->bytes(sibling);
  env_destroy(&sibling);
  return CORE_OK;
}

int env_estimate_bytes(const Env *env, int64_t worlds, double *bytes) {
  enum { SMALL = 64 }; /* several of the widest blocks of worlds that a batch may be cut into */
  double one, two;
  if (env->foreign) { /* what an object of other code takes is not known, and making some may take long */
    *bytes = (double)env->bytes(env) / env->worlds * (double)worlds;
    return CORE_OK;
  }
  TRY(sibling_bytes(env, SMALL, &one));
  TRY(sibling_bytes(env, 2 * SMALL, &two));
  double a_world = (two - one) / SMALL;
  *bytes = one + a_world * (double)(worlds > SMALL ? worlds - SMALL : 0);
  return CORE_OK;
}
