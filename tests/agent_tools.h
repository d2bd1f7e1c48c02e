/* An agent with random weights and a random batch, and its gradient against finite differences. Include it after
 * cmocka.h. */
#ifndef TESTS_AGENT_TOOLS_H
#define TESTS_AGENT_TOOLS_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/nets/agent.h"

/* The loss of a test is the sum of both networks' outputs, each times its weight. */
typedef struct AgentFixture {
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  AgentGradient gradient;
  int rows, outputs;
  float *x;             /* [rows][inputs] */
  float *weight_actor;  /* [rows][outputs] */
  float *weight_critic; /* [rows] */
} AgentFixture;

/* Numbers in [-scale, scale) of stream `stream`. */
static inline void fill(uint32_t stream, float *x, size_t n, float scale) {
  CoreRandomStream random = core_random_stream(3, CORE_RANDOM_TEST, stream, 0);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, -scale, scale);
}

/* An agent of `config` for `env`, that passes at most `max_rows` rows at once, and a batch of env's worlds. `outputs`:
 * numbers of a row of the policy. agent_fixture_destroy() frees it. */
static inline AgentFixture *agent_fixture_create(const CoreConfig *config, const Env *env, int max_rows, int inputs,
                                                 int outputs) {
  AgentFixture *f = core_memory_zero_allocate(1, sizeof *f);
  f->rows = env->worlds, f->outputs = outputs;
  const size_t rows = (size_t)f->rows, all_inputs = rows * (size_t)inputs, all_outputs = rows * (size_t)outputs;
  f->arena = core_arena_create("test");
  agent_register(&f->agent, config, env, max_rows, f->arena);
  agent_register_gradient(&f->agent, &f->gradient, f->rows, f->arena);
  CORE_ARENA(f->arena, f->x, all_inputs, "observations");
  CORE_ARENA(f->arena, f->weight_actor, all_outputs, "weights of the policy's outputs");
  CORE_ARENA(f->arena, f->weight_critic, rows, "weights of the values");
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  agent_bind_activations(&f->agent);
  assert_int_equal(ops_cpu_create(2, f->rows, agent_ops_width(&f->agent), &f->ops), CORE_OK);
  fill(1, f->agent.actor.theta, f->agent.actor.n, 0.8f);
  fill(2, f->agent.critic.theta, f->agent.critic.n, 0.8f);
  fill(3, f->x, all_inputs, 1);
  fill(4, f->weight_actor, all_outputs, 1);
  fill(5, f->weight_critic, rows, 1);
  return f;
}

static inline void agent_fixture_destroy(AgentFixture **fixture) {
  ops_destroy(&(*fixture)->ops);
  core_arena_destroy(&(*fixture)->arena);
  free(*fixture);
  *fixture = NULL;
}

/* The backward pass against central differences of `loss` in double. theta: the actor's vector, then the critic's. */
static inline void compare_agent_gradient(AgentFixture *f, double (*loss)(const AgentFixture *, const double *theta),
                                          const char *what) {
  const Agent *agent = &f->agent;
  const size_t actor = agent->actor.n, n = actor + agent->critic.n, outputs = (size_t)(f->rows * f->outputs);
  float *dactor = core_memory_allocate(outputs * sizeof *dactor);
  float *dcritic = core_memory_allocate((size_t)f->rows * sizeof *dcritic);
  memcpy(dactor, f->weight_actor, outputs * sizeof *dactor);
  memcpy(dcritic, f->weight_critic, (size_t)f->rows * sizeof *dcritic);
  for (size_t i = 0; i < actor; i++) f->gradient.actor[i] = NAN; /* every element must be set */
  agent_pass(agent, f->ops, &agent->actor, f->x, f->rows);
  agent_backward(agent, f->ops, &agent->actor, f->x, f->rows, dactor, &f->gradient);
  agent_pass(agent, f->ops, &agent->critic, f->x, f->rows);
  agent_backward(agent, f->ops, &agent->critic, f->x, f->rows, dcritic, &f->gradient);
  free(dactor), free(dcritic);
  double *theta = core_memory_allocate(n * sizeof *theta), h = 1e-6;
  for (size_t i = 0; i < n; i++)
    theta[i] = (double)(i < actor ? agent->actor.theta[i] : agent->critic.theta[i - actor]);
  for (size_t i = 0; i < n; i++) {
    double at = theta[i], got = (double)(i < actor ? f->gradient.actor[i] : f->gradient.critic[i - actor]);
    theta[i] = at + h;
    double above = loss(f, theta);
    theta[i] = at - h;
    double want = (above - loss(f, theta)) / (2 * h);
    theta[i] = at;
    if (!(fabs(got - want) <= 5e-5 * (1 + fabs(want))))
      fail_msg("%s, element %zu: got %.9g, want %.9g", what, i, got, want);
  }
  free(theta);
}

#endif
