/* Choice of a run's bf16 methods: its layers, which rank decides, and the log (training_internal.h). */
#include "trainer/run/training_internal.h"

#include <string.h>

#include "core/log.h"
#include "trainer/ranks/ranks.h"

static bool is_bf16(const Training *training) { return strcmp(training->config.train.precision, "bf16") == 0; }
static bool chooses(const Training *training) { return is_bf16(training) && training->device == NULL; }

void training_bf16_add_section(Training *training, Checkpoint *checkpoint) {
  if (!is_bf16(training)) return;
  training->bf16 = (OpsBf16){.layers = OPS_BF16_EARLIER}; /* value where a file lacks the section */
  checkpoint_add_optional(checkpoint, TRAINING_BF16_SECTION, &training->bf16, sizeof training->bf16);
}

/* Adopts the first rank's choice. Ranks may run on different processors: a method that one of them lacks is not
 * used. */
static void follow_the_first(Training *training) {
  OpsBf16 *choice = &training->bf16;
  ranks_broadcast(choice, sizeof *choice);
  double lacks = !ops_cpu_bf16_has(training->ops, choice);
  ranks_max(&lacks, 1);
  if (lacks > 0) {
    for (int i = 0; i < choice->layers; i++)
      if (choice->layer[i].method == OPS_BF16_LIBRARY) choice->layer[i].method = OPS_BF16_ROUNDED;
  }
  ops_cpu_bf16_use(training->ops, choice);
  if (lacks > 0 && ranks_is_first())
    core_warn("bf16: a rank's processor does not support bf16, so all ranks use rounded float32 factors");
}

/* Logs the restored choice and its adaptation to this processor. */
static void tell(const OpsBf16 *choice, const char *what) {
  CoreText text = {0};
  ops_bf16_describe(choice, &text);
  core_info("bf16 products%s: %s", what, core_text_string(&text));
  core_text_free(&text);
}

void training_bf16_start(Training *training) {
  OpsBf16 *choice = &training->bf16;
  if (!is_bf16(training)) return;
  *choice = (OpsBf16){.layers = 0};
  if (!chooses(training)) return;
  if (ranks_is_first()) {
    agent_add_layers(&training->agent, choice);
    ops_cpu_bf16_select(training->ops, choice);
    tell(choice, "");
  }
  follow_the_first(training);
}

static int adapt(Training *training) {
  OpsBf16 planned = {.layers = 0}, *choice = &training->bf16;
  agent_add_layers(&training->agent, &planned);
  const int code = ops_bf16_check(choice, &planned);
  if (code != CORE_OK)
    return core_error_context(code, "the checkpoint's choice of bf16 methods is damaged; remove it, or start over "
                              "with --force");
  const OpsBf16 restored = *choice;
  const bool may_differ = ops_cpu_bf16_adapt(training->ops, &planned, choice);
  tell(choice, may_differ ? "" : ", as the checkpoint has them");
  if (may_differ && restored.layers > 0)
    core_warn("bf16: the checkpoint used %s, which is different here: from now on results may differ in "
              "their last bits from a run resumed there", restored.library);
  return CORE_OK;
}

int training_bf16_restored(Training *training) {
  if (!chooses(training)) return CORE_OK;
  TRY(ranks_agree(ranks_is_first() ? adapt(training) : CORE_OK));
  follow_the_first(training);
  return CORE_OK;
}
