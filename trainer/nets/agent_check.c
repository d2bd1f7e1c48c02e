/* Consistency checks of an agent's settings (agent.h). */
#include <string.h>

#include "trainer/nets/agent.h"
#include "trainer/wrappers/obs_pipeline.h"

static int check_pixels(const CoreConfig *config) {
  const char *encoder = config->net.encoder;
  if (strcmp(config->env.normalize_observations, "none") != 0)
    return core_error(CORE_USAGE,
                      "env.normalize_observations = %s: net.encoder = %s reads pixels, which are only divided "
                      "by 255; set it to none", config->env.normalize_observations, encoder);
  if (obs_blocks(config) > 0)
    return core_error(CORE_USAGE, "net.encoder = %s: algo.name = %s has one policy per block, selected by a flat "
                      "observation; set net.encoder to none", encoder, config->algo.name);
  if (strcmp(config->net.norm, "layer") == 0 && encoder_kind(encoder) == ENCODER_IMPALA)
    return core_error(CORE_USAGE, "net.norm = layer: net.encoder = impala has no layer norm; set net.norm to none or "
                      "auto, or net.encoder to nature");
  return CORE_OK;
}

int agent_check_env(const CoreConfig *config, const Env *env) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  if (!encoder_reads_pixels(kind)) return CORE_OK;
  if (env->pixels == NULL)
    return core_error(CORE_USAGE,
                      "net.encoder = %s: it reads pixels, but env.task = %s has numeric observations; set net.encoder "
                      "to none", config->net.encoder, config->env.task);
  return encoder_check_pixels(kind, env->pixels);
}

int agent_check(const CoreConfig *config) {
  const EncoderKind kind = encoder_kind(config->net.encoder);
  const bool encodes = kind != ENCODER_NONE && !encoder_reads_pixels(kind);
  const bool has_entities = strcmp(config->env.observations, "entity") == 0;

  if (encodes && !has_entities)
    return core_error(CORE_USAGE,
                      "net.encoder = %s: it reads entities, but env.observations = %s; set "
                      "env.observations to entity, or net.encoder to none",
                      config->net.encoder, config->env.observations);
  if (has_entities && !encodes)
    return core_error(CORE_USAGE,
                      "env.observations = entity: requires an encoder; set net.encoder to set, stoix_set or "
                      "transformer, or env.observations to flat or padded");

  if (kind != ENCODER_NONE && !encodes) return check_pixels(config);
  if (encodes && strcmp(config->env.normalize_observations, "none") != 0)
    return core_error(CORE_USAGE, "env.normalize_observations = %s: entity observations hold masks and indices of "
                      "shapes, which must stay unchanged; set it to none", config->env.normalize_observations);
  if (encodes && obs_blocks(config) > 0)
    return core_error(CORE_USAGE, "net.encoder = %s: algo.name = %s has one policy per block, selected by a flat "
                      "observation; set net.encoder to none and env.observations to flat", config->net.encoder,
                      config->algo.name);

  return CORE_OK;
}
