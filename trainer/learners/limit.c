/* Training of a copy on a frozen batch (limit.h). */
#include "trainer/learners/limit.h"

#include <math.h>
#include <string.h>

void limit_register(Limit *limit, const Learner *learner, int64_t epochs, int64_t per_iteration, CoreArena *arena) {
  Checkpoint sections = {0};
  *limit = (Limit){.arena = arena};
  for (int64_t n = 2 * per_iteration; n <= epochs && limit->checks < LIMIT_CHECKS_MAX; n *= 2) limit->checks++;
  if (limit->checks == 0) return;

  learner->kind->add_sections(learner->state, &sections);
  for (int i = 0; i < sections.sections; i++) limit->bytes += sections.section[i].bytes;
  CORE_ARENA(arena, limit->saved, limit->bytes, "the learner's state before a measurement of the limit [bytes]");
}

typedef enum Direction { SAVE, RESTORE } Direction;

/* Copies the learner's sections to or from limit->saved. */
static void copy_sections(const Limit *limit, const Learner *learner, CoreDevice *device, Direction direction) {
  Checkpoint sections = {0};
  char *saved = limit->saved;
  learner->kind->add_sections(learner->state, &sections);

  for (int i = 0; i < sections.sections; i++) {
    const CheckpointSection *section = &sections.section[i];
    const bool is_on_device = device && core_arena_holds_on_device(limit->arena, section->data);
    if (is_on_device && direction == SAVE) core_device_to_host(device, saved, section->data, section->bytes);
    else if (is_on_device) core_device_to_device(device, section->data, saved, section->bytes);
    else if (direction == SAVE) memcpy(saved, section->data, section->bytes);
    else memcpy(section->data, saved, section->bytes);
    saved += section->bytes;
  }
}

/* Trains the copy for as many epochs as `updates` iterations have. */
static int continue_training(const Learner *learner, UpdateContext *context, int64_t updates, int64_t per_iteration) {
  UpdateStats unused;
  for (int64_t i = 0; i < updates; i++) {
    context->first_epoch += (int)per_iteration;
    TRY(learner->kind->update(learner->state, context, &unused));
  }
  return CORE_OK;
}

LimitPath limit_measure(const Limit *limit, const Learner *learner, const UpdateContext *context, Profile *profile,
                        const Agent *agent, int64_t per_iteration) {
  LimitPath path = {0};
  LearnerCounters counters;
  UpdateContext copy = *context;
  copy.profile = NULL;
  copy.measure = false;

  learner->kind->get_count(learner->state, &counters);
  copy_sections(limit, learner, context->ops->device, SAVE);

  for (int64_t updates = 1; path.checks < limit->checks; updates *= 2) {
    if (continue_training(learner, &copy, updates, per_iteration) != CORE_OK) {
      core_error_clear(); /* the copy diverged: it has no limit */
      break;
    }
    profile_store_limit(profile, context->ops, agent, &path.moved[path.checks], &path.start[path.checks]);
    path.epochs[path.checks++] = (double)(2 * updates * per_iteration);
  }

  copy_sections(limit, learner, context->ops->device, RESTORE);
  learner->kind->set_count(learner->state, &counters);
  return path;
}

double limit_moved(const LimitPath *path) {
  return path->checks > 0 ? path->moved[path->checks - 1] / path->start[path->checks - 1] : NAN;
}

double limit_epochs(const LimitPath *path) {
  int check = path->checks;
  while (check > 0 && path->moved[check - 1] <= LIMIT_TOLERANCE * path->start[check - 1]) check--;
  return check < path->checks ? path->epochs[check] / 2 : 0;
}
