/* Table of learners (learner.h). A new learner needs its two files, its line here and its choice of algo.name. */
#include "trainer/learners/learner.h"

#include <string.h>

#include "core/device/arena.h"
#include "trainer/learners/ppo.h"
#include "trainer/learners/pqn.h"
#include "trainer/learners/sapg.h"

static const LearnerVTable *const kinds[] = {&ppo_learner, &ppo_ewma_learner, &sapg_learner, &pqn_learner};

const LearnerVTable *learner_find(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

LearnerSize learner_size(const CoreConfig *config) {
  const LearnerVTable *kind = learner_find(config->algo.name);
  if (kind->size) return kind->size(config);
  return (LearnerSize){.rows = core_config_transitions_per_iteration(config) / config->ppo.num_minibatches,
                       .updates = config->ppo.epochs * config->ppo.num_minibatches};
}

int learner_create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, Learner *learner) {
  *learner = (Learner){.kind = learner_find(config->algo.name)};
  CORE_CHECK(learner->kind != NULL); /* config.def has no other choice of algo.name */
  return learner->kind->create(config, agent, rollout, arena, &learner->state);
}

void learner_destroy(Learner *learner) {
  if (learner->state != NULL) learner->kind->destroy(learner->state);
  *learner = (Learner){0};
}
