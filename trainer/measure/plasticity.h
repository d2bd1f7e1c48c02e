/* A probe of plasticity: how fast an agent's networks fit random targets on given states, from their own weights and
 * from fresh ones (Lyle et al. 2022, "Understanding and Preventing Capacity Loss in Reinforcement Learning"; 2023,
 * "Understanding Plasticity in Neural Networks"). A target is the output of a network of the same shape with random
 * weights, standardized over the states, so that a loss of 1 is that of predicting its mean. */
#ifndef TRAINER_PLASTICITY_H
#define TRAINER_PLASTICITY_H
#include "trainer/nets/agent.h"
#include "trainer/update/optimizer.h"

typedef struct PlasticityOptions {
  int states, batch;   /* number of states; rows of a minibatch, at most `states` */
  int64_t steps;       /* Adam steps of a fit */
  double learning_rate;
  bool sines;          /* targets: sine of 1e5 times the random network's output (2023); false: the output (2022) */
  bool around_output;  /* targets are added to the output in each state; false: to its mean, as in 2023 */
} PlasticityOptions;

/* One network's part of the probe. */
typedef struct PlasticityNetwork {
  AgentNetwork *of;
  int outputs, columns;     /* outputs of the network; of agent_pass, whose first are these */
  Optimizer optimizer;
  float *target;            /* [states][outputs] */
  float *output;            /* [states][outputs] */
} PlasticityNetwork;

typedef struct Plasticity {
  PlasticityOptions options;
  Agent agent;
  AgentGradient gradient;
  Ops *ops;
  PlasticityNetwork actor, critic; /* critic.of NULL: there is none */
  float *states;            /* [states][agent.inputs], filled by the caller */
  float *batch;             /* [batch][agent.inputs] */
  uint32_t *rows;           /* [batch] states of the minibatch */
  float *doutput;           /* [batch][columns] gradient at an output */
} Plasticity;

/* Mean squared errors over all states, NaN without the network, after 0, 1, 2, 4, ... steps and the last. */
enum { PLASTICITY_POINTS_MAX = 66 };
typedef struct PlasticityCurve {
  int points;
  int64_t step[PLASTICITY_POINTS_MAX];
  double actor[PLASTICITY_POINTS_MAX], critic[PLASTICITY_POINTS_MAX];
} PlasticityCurve;

/* Registers the networks of `config` for `env`, which must not be recurrent, and the buffers. */
void plasticity_register(Plasticity *probe, const PlasticityOptions *options, const CoreConfig *config, const Env *env,
                         CoreArena *arena);
/* Creates the ops, after the arena's commit. Errors: as agent_create_ops. Call plasticity_destroy also on failure. */
int plasticity_start(Plasticity *probe, const CoreConfig *config, int threads);
void plasticity_destroy(Plasticity *probe);

/* Fits the targets of `seed` from weights actor and critic, or from fresh ones of `seed` (NULL). The same seed has the
 * same targets and minibatches, whatever the weights. */
void plasticity_fit(Plasticity *probe, const float *actor, const float *critic, uint64_t seed, PlasticityCurve *curve);

#endif
