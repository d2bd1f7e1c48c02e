/* Agent: an actor and a critic network over the same observations, with their activations. They are separate, on a
 * common trunk, or over encoders (encoder.h). Learners change their weights. Vectors belong to the run's arena, on the
 * ops' device.
 *
 * With a trunk the actor's network is trunk and tower in one, and its vector holds the trunk's weights first; the
 * critic's network is its tower, over the trunk's output. So actor's vector ++ critic's vector is always the complete
 * agent, and a copy of the actor's vector (the proximal policy) is a complete policy. After its network's parameters
 * the actor's vector holds a Gaussian's log standard deviations, one set or one per block of worlds, and the blocks'
 * embeddings (learners/sapg.h): then the last element of an observation is its block, and both networks see the block's
 * embedding instead.
 *
 * With net.encoder each network sees the output of an encoder instead of the observation. The encoder's weights are the
 * last of its network's vector; with net.sharing = shared there is one encoder, the actor's. An encoder of entities
 * then replaces the trunk; on an encoder of pixels the trunk remains.
 *
 * With net.memory an LSTM (recurrent.h) follows the observation or encoder, before trunk and towers: one, the actor's,
 * with net.sharing = shared, else one per network; its weights follow the encoder's. Before running a recurrent agent,
 * call agent_bind_sequences() to describe how rows form sequences. */
#ifndef TRAINER_AGENT_H
#define TRAINER_AGENT_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/nets/encoder.h"
#include "trainer/nets/network.h"
#include "trainer/nets/recurrent.h"
#include "trainer/ops/bf16.h"

/* net.sharing */
typedef enum AgentSharing {
  AGENT_SEPARATE,                   /* two networks, each with its own loss and gradient norm */
  AGENT_JOINT,                      /* two networks, one loss: the gradient's norm is that of both */
  AGENT_SHARED,                     /* a trunk and two towers, one loss */
} AgentSharing;

typedef struct AgentNetwork {
  const char *name;                 /* "actor": the name in messages */
  NetworkShape shape;
  size_t n;                         /* number of parameters: the shape's, the head's, then the others */
  /* offsets of those in the vector; of the next part where one is absent */
  size_t log_sigma, embedding, encoder, recurrent;
  const EncoderShape *encoder_shape; /* shape of the encoder in this vector */
  const RecurrentShape *recurrent_shape;
  float *theta;                     /* [n] */
  NetworkActivations activations;   /* capacity: max_rows rows */
} AgentNetwork;

/* SAPG's blocks of worlds, each with its own policy, on common networks. */
typedef struct AgentBlocks {
  int count, width;                 /* number of blocks, or 0; width of an embedding */
  float *joined;                    /* [max_rows][features + width] input of the networks */
  int32_t *of_row;                  /* [max_rows] block of each row */
} AgentBlocks;

/* Sequences of a recurrent agent's next passes. */
typedef struct AgentPassState {
  RecurrentSequences sequences;
  int first;                        /* sequence of a chunk's first row */
} AgentPassState;

typedef struct Agent {
  OpsHead head;                     /* head of the action */
  int inputs;                       /* elements of an observation */
  int max_rows;                     /* rows that the activations hold; larger inputs are processed in chunks */
  AgentSharing sharing;
  int trunk;                        /* leading layers of the actor that the critic shares; 0 unless AGENT_SHARED */
  AgentNetwork actor, critic;       /* outputs: head.logits logits, or a Gaussian's means; 1 value */
  float *joined;                    /* [max_rows][head.logits] GAUSSIAN: means and log standard deviations */
  AgentBlocks blocks;
  Encoder encoder;                  /* kind ENCODER_NONE: the networks see the observations themselves */
  float *encoded;                   /* [max_rows][encoder's width] output of the last pass */
  Recurrent recurrent;              /* width 0: not recurrent */
  AgentPassState *pass_state;       /* recurrent agents only; changes from pass to pass */
  bool is_q; /* whether the actor's outputs are Q values: the policy is epsilon-greedy, a state's value is the greatest
              * Q, and there is no critic (n = 0) */
  double epsilon;
  float log_std;                    /* GAUSSIAN: initial value of log_sigma */
  float *activation_block;          /* activations of the trunk, then of the tower that ran last (actor or critic); of
                                     * separate networks, the actor's and then the critic's */
  CoreDevice *device;               /* device of weights and activations; NULL: the host */
  struct Communicator *communicator; /* communicator of the run's other ranks with devices; NULL: one rank, or the
                                      * host */
  const int32_t *features;          /* [features]: indices among full_inputs features that the networks see; NULL: all
                                     * (env.h) */
  int full_inputs;
} Agent;

static inline bool agent_is_recurrent(const Agent *agent) { return agent->recurrent.shape.width > 0; }

/* Checks that net.encoder, env.observations and the agent's other settings fit together. CORE_USAGE: they do not. */
int agent_check(const CoreConfig *config);
/* Checks that net.encoder can read the environment's observations. CORE_USAGE: it cannot. */
int agent_check_env(const CoreConfig *config, const Env *env);
/* Returns the size of one world's recurrent state; 0: not recurrent. */
int agent_state_size(const CoreConfig *config);
/* Fixes the shapes for this environment and registers weights and activations. Borrows env's list of features. */
void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena);
/* Computes the vectors' sizes and parts from head, shapes, blocks and encoder. Part of agent_register(). */
void agent_count_parameters(Agent *agent);
/* Assigns the activation buffers, after the arena's commit. */
void agent_bind_activations(Agent *agent);

/* Describes how the rows of a recurrent agent's passes form sequences, until the next call. Size of a state:
 * agent->recurrent.states. A pass changes the parts of `end` of the networks that run. Does nothing for other
 * agents. */
void agent_bind_sequences(const Agent *agent, const RecurrentSequences *sequences);

/* Computes the output of `network` with the weights `theta` (its own, or a copy such as the proximal policy's) for any
 * number of rows: x [rows][inputs] -> output [rows][outputs]. The critic's trunk is always the agent's own. Overwrites
 * the activations; after a single chunk they are those of the hidden layers. */
void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output);

/* Computes the policy for x [rows][inputs], as the head's parameters [rows][head.logits]; theta: the actor's or a copy.
 * Learners always sample from, compare and store this form, however the network produces it. */
void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters);
/* Computes the critic's values [rows]. */
void agent_values(const Agent *agent, Ops *ops, const float *x, int rows, float *values);
/* Computes both, with the agent's own weights; a common trunk runs once. */
void agent_act(const Agent *agent, Ops *ops, const float *x, int rows, float *parameters, float *values);

/* ---- learning: one minibatch of at most max_rows rows, the actor first, the critic after it ---------------------- */

/* Output and scratch of backward passes; belongs to a learner. */
typedef struct AgentGradient {
  float *actor, *critic;            /* [n] each: d loss / d theta */
  float *scratch, *critic_scratch;  /* between layers; separate for the critic where networks are separate, else the
                                     * same buffer */
  float *below;                     /* [2][rows][width]: gradients from the towers to trunk or encoder; NULL without */
  float *mean;                      /* [rows][factors] GAUSSIAN: at the actor's output */
  /* Optional callback during backward passes: the gradient of actor or critic is complete from parameter `first` on. */
  void (*on_complete)(void *context, bool is_actor, size_t first);
  void *context;
  float *encoded;                   /* [rows][encoder's width], where a trunk or an LSTM follows an encoder */
  float *recurrent;                 /* [rows][width] at the LSTM's output, where a trunk follows it */
  float *entrance, *embedding;      /* [rows][features + width], [blocks][width]: with blocks, from one network's
                                     * pass */
} AgentGradient;
void agent_register_gradient(const Agent *agent, AgentGradient *gradient, int rows, CoreArena *arena);

/* Runs a forward pass with the network's own weights: returns the policy's parameters [rows][head.logits] or the values
 * [rows], valid until the next pass, as are the activations that agent_backward needs. The critic's pass reuses the
 * common part from the actor's pass, so it must see the same rows. */
const float *agent_pass(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows);
/* agent_pass for callers that only compute a loss from its result, without sums on the host, and then call
 * agent_backward: until then the result may not exist (ops.h, expect_loss). */
const float *agent_pass_to_loss(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows);
/* Computes the gradient from that at agent_pass's result (overwritten) -> gradient->actor or ->critic. Those of a
 * trunk, of a common encoder and of embeddings, in gradient->actor, are complete after the critic's call only: call for
 * the actor first. */
void agent_backward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows, float *doutput,
                    const AgentGradient *gradient);

/* Formats the name of the k-th parameter for messages: "actor.W1[3,17]", "actor.log_sigma[2]". buffer >= 64. */
const char *agent_parameter_name(const AgentNetwork *network, size_t k, char *buffer);

/* Whether the networks have nothing in common except their input, on a device: then actor and critic may run on
 * separate streams (ops->stream_push), since each has its own activations and AgentGradient scratch. */
bool agent_is_apart(const Agent *agent);

/* Whether observations are read by chains of dense layers (ops.h) only. */
bool agent_chains_inputs(const Agent *agent);

/* Return the rows, width and kernel size that ops must support (ops_cpu_create_within). */
int agent_ops_rows(const Agent *agent);
int agent_ops_width(const Agent *agent);
OpsCpuLimits agent_ops_limits(const Agent *agent);
/* Adds the shapes of all dense layers, encoders' too. */
void agent_add_layers(const Agent *agent, OpsBf16 *choice);
/* Creates CPU ops that support the agent's passes, in train.precision. */
int agent_create_ops(const Agent *agent, const CoreConfig *config, int threads, Ops **ops);

#endif
