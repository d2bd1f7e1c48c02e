/* A training from a few settings, in memory, for tests of the trainer as a whole. Include it after cmocka.h. */
#ifndef TESTS_TRAINING_TOOLS_H
#define TESTS_TRAINING_TOOLS_H
#include "trainer/training.h"

/* "key=value" over `config`, or the test fails with the message. */
static inline void set(CoreConfig *config, const char *pair) {
  if (core_config_set_pair(config, pair) != CORE_OK) fail_msg("%s", core_error_message());
}

/* Planned, allocated and started; the caller destroys it. */
static inline Training *make(const CoreConfig *config) {
  Training *training = NULL;
  if (training_plan(config, &training) != CORE_OK || training_allocate(training) != CORE_OK)
    fail_msg("%s", core_error_message());
  training_start(training);
  return training;
}

#endif
