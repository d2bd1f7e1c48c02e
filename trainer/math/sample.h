/* Stratified sample of a rollout's states, where not all of them are measured. */
#ifndef TRAINER_SAMPLE_H
#define TRAINER_SAMPLE_H
#include <stdint.h>

#include "core/random.h"

/* Returns the state (a row of the run's rollout) sampled in stratum j of `states`: uniform in [j*total/states,
 * (j+1)*total/states); j itself when states = total. */
static inline uint32_t sample_state(uint64_t seed, int64_t iteration, int64_t j, int64_t states, int64_t total) {
  int64_t low = j * total / states, high = (j + 1) * total / states;
  uint32_t word = core_random_4(seed, CORE_RANDOM_STATES, (uint32_t)iteration, (uint32_t)j, 0).v[0];
  return (uint32_t)low + core_random_below(word, (uint32_t)(high - low));
}

#endif
