/* Metadata of exported policies (policy_metadata.h). */
#include "trainer/export/policy_metadata.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/version.h"

static const char *policy_kind(const Agent *agent) {
  if (agent->is_q) return "q";
  switch (agent->head.kind) {
    case OPS_GAUSSIAN: return "gaussian";
    case OPS_TANH_AFFINE: return "tanh_affine";
    case OPS_MULTI_DISCRETE: break;
  }
  return "categorical";
}

static void append_actions(const OpsHead *head, CoreText *text) {
  char low[32], high[32];
  if (ops_head_is_continuous(head)) {
    core_text_appendf(text, "%s,%s", core_text_from_real((double)head->low, low),
                      core_text_from_real((double)head->high, high));
    return;
  }
  for (int f = 0; f < head->factors; f++) core_text_appendf(text, "%s%d", f ? "," : "", head->size[f]);
}

void policy_metadata(const Player *player, void (*add)(void *context, const char *key, const char *value),
                     void *context) {
  const OpsHead *head = &player->agent.head;
  const Normalizer *normalizer = &player->pipeline.normalizer;
  CoreText text = {0};
  char number[32];

  add(context, "run", player->run_id);
  snprintf(number, sizeof number, "%" PRId64, player->iteration);
  add(context, "iteration", number);
  core_text_appendf(&text, "%s (%s)", core_version(), core_commit());
  add(context, "sweep", core_text_string(&text));
  add(context, "policy", policy_kind(&player->agent));

  core_text_clear(&text);
  append_actions(head, &text);
  add(context, ops_head_is_continuous(head) ? "bounds" : "classes", core_text_string(&text));
  if (player->env->action_space) add(context, "action_space", player->env->action_space);
  if (player->pipeline.has_moments && normalizer->rule != NORMALIZE_NONE)
    add(context, "observation_bound", core_text_from_real(normalize_bound(normalizer->rule), number));

  core_text_clear(&text);
  core_config_to_json(&player->config, &text);
  add(context, "config", core_text_string(&text));
  core_text_free(&text);
}
