/* The agent: an actor and a critic network over the same observations, with room for their activations. It acts and
 * values; learners (learners/) change its weights. Vectors belong to the run's arena, on the ops' device. */
#ifndef TRAINER_AGENT_H
#define TRAINER_AGENT_H
#include "core/config.h"
#include "core/memory.h"
#include "trainer/envs/env.h"
#include "trainer/network.h"

typedef struct AgentNetwork {
  const char *name;                 /* "actor": the name in messages */
  NetworkShape shape;
  size_t n;                         /* parameters */
  float *theta;                     /* [n] */
  NetworkActivations activations;   /* for max_rows rows; both networks' share one block */
} AgentNetwork;

typedef struct Agent {
  OpsHead head;                     /* of the action */
  int max_rows;                     /* rows that the activations hold; longer inputs go through in pieces */
  AgentNetwork actor, critic;       /* outputs: head.logits logits; 1 value */
  float *activation_block;
  const int32_t *features;          /* [inputs]: which of whole_inputs features the networks see, NULL: all (env.h) */
  int whole_inputs;
} Agent;

/* Fixes the shapes for this environment and registers weights and activations. Borrows env's list of features. */
void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena);
/* Places the activations, after the arena's commit. */
void agent_place(Agent *agent);
/* Initial weights: a function of the seed only, and those of networks over whole observations. */
void agent_initialise(Agent *agent, uint64_t seed);

/* Output of `network` with the weights `theta` (its own, or a copy such as the proximal policy's) for any number of
 * rows: x [rows][inputs] -> output [rows][outputs]. The activations' block is used up. */
void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output);

/* The policy in x [rows][inputs], as the head's parameters [rows][head.logits]; theta: of the actor or a copy. What a
 * learner samples from, compares and stores is always this, however the network makes it. */
void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters);
/* The critic's values [rows]. */
void agent_values(const Agent *agent, Ops *ops, const float *x, int rows, float *values);

/* The widest layer, input included: what ops must be able to hold. */
int agent_max_width(const Agent *agent);

#endif
