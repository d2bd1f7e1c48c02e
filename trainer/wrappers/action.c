/* Heads, bounds and random actions (action.h). */
#include "trainer/wrappers/action.h"

#include <math.h>
#include <string.h>

#include "core/random.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_policy.h"

OpsHead action_head(const CoreConfig *config, const Env *env) {
  if (env->action_values == 0) return env->head;
  const bool gaussian = strcmp(config->net.action_head, "gaussian") == 0;
  CORE_CHECK(env->action_values <= OPS_FACTORS_MAX);
  return (OpsHead){.kind = gaussian ? OPS_GAUSSIAN : OPS_TANH_AFFINE, .factors = env->action_values,
                   .logits = 2 * env->action_values, .low = env->action_low, .high = env->action_high};
}

const void *action_for_env(Ops *ops, const OpsHead *head, const void *actions, int worlds, float *scratch) {
  const float *values = actions;
  if (head->kind != OPS_GAUSSIAN) return actions;
  if (ops != NULL) {
    ops->bound(ops, values, (size_t)worlds * (size_t)head->factors, head->low, head->high, scratch);
    return scratch;
  }
  for (size_t i = 0; i < (size_t)worlds * (size_t)head->factors; i++)
    scratch[i] = values[i] < head->low ? head->low : values[i] > head->high ? head->high : values[i];
  return scratch;
}

void action_mode(Ops *ops, const OpsHead *head, const float *logits, int rows, void *actions) {
  const OpsActionMode arguments = {{.head = *head, .logits = logits, .rows = (size_t)rows}, actions};
  KERNELS_EACH(ops->device, ops_action_mode, ops_action_mode_row, (size_t)rows, &arguments);
}

void action_random(const OpsHead *head, int worlds, uint64_t seed, uint32_t purpose, uint32_t first_world,
                   uint32_t step, void *actions) {
  const bool bounded = isfinite(head->low) && isfinite(head->high);
  const float low = bounded ? head->low : -1;
  const float high = bounded ? head->high : 1;
  for (int w = 0; w < worlds; w++) {
    CoreRandomStream stream = core_random_stream(seed, purpose, first_world + (uint32_t)w, step);
    for (int f = 0; f < head->factors; f++) {
      const size_t index = (size_t)w * (size_t)head->factors + (size_t)f;
      if (ops_head_is_continuous(head)) ((float *)actions)[index] = core_random_uniform(&stream, low, high);
      else ((uint8_t *)actions)[index] = (uint8_t)core_random_below(core_random_next(&stream), (uint32_t)head->size[f]);
    }
  }
}
