/* The agent: an actor and a critic network over the same observations, with their activations. They are separate, on a
 * common trunk, or over encoders (encoder.h). Learners change their weights. Vectors belong to the run's
 * arena, on the ops' device.
 *
 * With a trunk the actor's network is trunk and tower in one, and its vector holds the trunk's weights first; the
 * critic's network is its tower, over the trunk's output. So actor's vector ++ critic's vector is always the whole
 * agent, and a copy of the actor's vector (the proximal policy) is a whole policy. After its network's parameters it
 * holds a Gaussian's log standard deviations, one set or one a block of worlds, and the blocks' embeddings
 * (learners/sapg.h): then the last of an observation's numbers is its block, and both networks see the block's
 * embedding in its place.
 *
 * With net.encoder each network sees the output of an encoder in place of the observation. The encoder's weights are
 * the last of its network's vector; with net.sharing = shared there is one, the actor's. An encoder of entities is then
 * in the trunk's place; on an encoder of pixels the trunk stands.
 *
 * With net.memory an LSTM (recurrent.h) stands on all that, in front of trunk and towers: one, the actor's, with
 * net.sharing = shared, else one a network; its weights are behind the encoder's. Who runs such an agent says by
 * agent_bind_sequences how rows hang together. */
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
  AGENT_SEPARATE,                   /* two networks, each with a loss and a gradient norm of its own */
  AGENT_JOINT,                      /* two networks, one loss: the gradient's norm is that of both */
  AGENT_SHARED,                     /* a trunk and two towers, one loss */
} AgentSharing;

typedef struct AgentNetwork {
  const char *name;                 /* "actor": the name in messages */
  NetworkShape shape;
  size_t n;                         /* parameters: the shape's, then those that the head has for itself, then others */
  size_t log_sigma, embedding, encoder, recurrent; /* where those begin in the vector; where the next do where there
                                                    * are none */
  const EncoderShape *encoder_shape; /* of what is there */
  const RecurrentShape *recurrent_shape;
  float *theta;                     /* [n] */
  NetworkActivations activations;   /* for max_rows rows */
} AgentNetwork;

/* SAPG's blocks of worlds, each with a policy of its own, on common networks. */
typedef struct AgentBlocks {
  int count, width;                 /* blocks, or 0; numbers of an embedding */
  float *joined;                    /* [max_rows][features + width]: what the networks see */
  int32_t *of_row;                  /* [max_rows] */
} AgentBlocks;

/* What the next passes of an agent with memory go through. */
typedef struct AgentPassState {
  RecurrentSequences sequences;
  int first;                        /* the sequence of a piece's first row */
} AgentPassState;

typedef struct Agent {
  OpsHead head;                     /* of the action */
  int inputs;                       /* numbers of an observation */
  int max_rows;                     /* rows that the activations hold; longer inputs go through in pieces */
  AgentSharing sharing;
  int trunk;                        /* the actor's leading layers that the critic shares; 0 unless AGENT_SHARED */
  AgentNetwork actor, critic;       /* outputs: head.logits logits, or a Gaussian's means; 1 value */
  float *joined;                    /* [max_rows][head.logits] GAUSSIAN: means and log standard deviations */
  AgentBlocks blocks;
  Encoder encoder;                  /* of kind ENCODER_NONE: the networks see the observations themselves */
  float *encoded;                   /* [max_rows][encoder's width]: of the pass that ran last */
  Recurrent recurrent;              /* of width 0: there is no memory */
  AgentPassState *now;                    /* with memory only; changes from pass to pass */
  bool is_q; /* the actor's outputs are Q values: the policy takes the greatest but with probability
              * epsilon any, a state's value is the greatest, and there is no critic (n = 0) */
  double epsilon;
  float log_std;                    /* GAUSSIAN: what log_sigma begins with */
  float *activation_block;          /* the trunk's, then those of the tower that ran last: actor's or critic's; of
                                     * networks that are apart, the actor's and then the critic's */
  CoreDevice *device;               /* where weights and activations are; NULL: the host */
  struct Communicator *communicator; /* to the devices of the run's other ranks; NULL: one rank, or the host */
  const int32_t *features;          /* [features]: which of whole_inputs features the networks see, NULL: all (env.h) */
  int whole_inputs;
} Agent;

static inline bool agent_is_recurrent(const Agent *agent) { return agent->recurrent.shape.width > 0; }

/* CORE_USAGE where net.encoder, env.observations and what else the agent is made of do not go together. */
int agent_check(const CoreConfig *config);
/* CORE_USAGE where net.encoder can not read what the environment shows. */
int agent_check_env(const CoreConfig *config, const Env *env);
/* Numbers of the state of one world's memory; 0: no memory. */
int agent_states(const CoreConfig *config);
/* Fixes the shapes for this environment and registers weights and activations. Borrows env's list of features. */
void agent_register(Agent *agent, const CoreConfig *config, const Env *env, int max_rows, CoreArena *arena);
/* Its step for the vectors' sizes and parts, from head, shapes, blocks and encoder. */
void agent_count_parameters(Agent *agent);
/* Places the activations, after the arena's commit. */
void agent_bind_activations(Agent *agent);

/* Before passes of an agent with memory: how their rows hang together, until it is called again. Numbers of a state:
 * agent->recurrent.states. A pass changes the parts of `end` of the networks that run. Without memory nothing
 * happens. */
void agent_bind_sequences(const Agent *agent, const RecurrentSequences *sequences);

/* Output of `network` with the weights `theta` (its own, or a copy such as the proximal policy's) for any number of
 * rows: x [rows][inputs] -> output [rows][outputs]. The critic's trunk is always the agent's own. The activations are
 * used up; after a single piece those of the hidden layers stand there. */
void agent_forward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *theta, const float *x,
                   int rows, float *output);

/* The policy in x [rows][inputs], as the head's parameters [rows][head.logits]; theta: of the actor or a copy. What a
 * learner samples from, compares and stores is always this, however the network makes it. */
void agent_policy(const Agent *agent, Ops *ops, const float *theta, const float *x, int rows, float *parameters);
/* The critic's values [rows]. */
void agent_values(const Agent *agent, Ops *ops, const float *x, int rows, float *values);
/* Both, with the agent's own weights; a common trunk runs once. */
void agent_act(const Agent *agent, Ops *ops, const float *x, int rows, float *parameters, float *values);

/* ---- learning: one minibatch of at most max_rows rows, the actor first, the critic after it ---------------------- */

/* What backward passes fill and need; belongs to a learner. */
typedef struct AgentGradient {
  float *actor, *critic;            /* [n] each: d loss / d theta */
  float *scratch, *critic_scratch;  /* between layers; the latter where networks are apart, else the same serves both */
  float *below;                     /* [2][rows][width]: what the towers send down to trunk or encoder; NULL without */
  float *mean;                      /* [rows][factors] GAUSSIAN: at the actor's output */
  /* Called during backward passes, unless NULL: the gradient of actor or critic is complete from parameter `first`
   * on. */
  void (*on_complete)(void *context, bool is_actor, size_t first);
  void *context;
  float *encoded;                   /* [rows][encoder's width], where trunk or memory stand on an encoder */
  float *recurrent;                 /* [rows][width] at the memory's output, where a trunk stands on it */
  float *entrance, *embedding;      /* [rows][features + width], [blocks][width]: with blocks, of one network's pass */
} AgentGradient;
void agent_register_gradient(const Agent *agent, AgentGradient *gradient, int rows, CoreArena *arena);

/* Forward with the network's own weights: returns the policy's parameters [rows][head.logits] or the values [rows],
 * which stay until the next pass, as do the activations that agent_backward needs. The critic's pass goes on from
 * what is common as the actor's left it, so it must see the same rows. */
const float *agent_pass(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows);
/* The gradient at what agent_pass returned (overwritten) -> gradient->actor or ->critic. Those of a trunk, of a common
 * encoder and of embeddings, in gradient->actor, are complete after the critic's call: call for the actor before. */
void agent_backward(const Agent *agent, Ops *ops, const AgentNetwork *network, const float *x, int rows, float *doutput,
                    const AgentGradient *gradient);

/* "actor.W1[3,17]", "actor.log_sigma[2]": the k-th parameter in a message. buffer >= 64. */
const char *agent_parameter_name(const AgentNetwork *network, size_t k, char *buffer);

/* Whether the networks have nothing in common but their input, on a device: then the actor's passes may go beside the
 * critic's (ops->enter), since each has activations, and AgentGradient scratch, for itself. */
bool agent_is_apart(const Agent *agent);

/* Whether observations go into chains of dense layers (ops.h) and nowhere else. */
bool agent_chains_inputs(const Agent *agent);

/* What ops must be able to hold (ops_cpu_create). */
int agent_ops_rows(const Agent *agent);
int agent_ops_width(const Agent *agent);
/* Ops that hold it, in train.precision, on the CPU. */
/* Adds the shapes of all dense layers, encoders' too. */
void agent_add_layers(const Agent *agent, OpsBf16 *choice);
int agent_create_ops(const Agent *agent, const CoreConfig *config, int threads, Ops **ops);

#endif
