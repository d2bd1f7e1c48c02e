/* PQN (Gallici et al. 2024, as in CleanRL's pqn.py; docs/algorithms.md#pqn): Q-learning with lambda targets on fresh
 * rollouts of many environments, with layer norm instead of replay and a target network. The agent's actor is the Q
 * network: its policy is epsilon-greedy with an epsilon that falls from iteration to iteration, and a state's value is
 * its greatest Q. */
#ifndef TRAINER_LEARNERS_PQN_H
#define TRAINER_LEARNERS_PQN_H
#include "trainer/learners/learner.h"

extern const LearnerVTable pqn_learner;

/* Returns the probability of a random action in an iteration (from 1): linear from pqn.epsilon_start to pqn.epsilon_end
 * over pqn.exploration_fraction of the budget. */
double pqn_epsilon(const CoreConfig *config, int64_t iteration);

#endif
