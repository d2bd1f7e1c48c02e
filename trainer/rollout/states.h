/* Recurrent states of a policy over a rollout (net.memory; trainer/nets/recurrent.h): the states that worlds carry from
 * step to step and from rollout to rollout, those at the starts of the sequences that are learned from, and gathering
 * of sequences for passes over them. For other policies nothing here takes memory or does anything.
 *
 * A state is 0 where an episode begins. Sequences are numbered world after world, ppo.num_steps / length per world
 * (sapg_layout.h). */
#ifndef TRAINER_STATES_H
#define TRAINER_STATES_H
#include "core/device/arena.h"
#include "trainer/math/sapg_layout.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/shards.h"

/* Everything is on the rollout's device. */
typedef struct RolloutStates {
  CoreDevice *device;    /* NULL: the host */
  int worlds, steps;
  int state_size;        /* floats of a state; 0: not recurrent */
  int length;            /* steps of a sequence */
  float *current;        /* [worlds][state_size] states that enter the next step; carried from rollout to rollout */
  float *starts;         /* [steps / length + 1][worlds][state_size] at starts of sequences; the last: after the
                          * rollout */
  uint8_t *begins;       /* [steps + 1][worlds] 1: an episode began, so that a zero state entered. 0 at starts of
                          * sequences, whose stored state is 0 then */
} RolloutStates;

static inline bool states_apply(const RolloutStates *states) { return states->state_size > 0; }
/* Returns the rows that stay together: 1 unless recurrent. */
static inline int states_length(const RolloutStates *states) { return states_apply(states) ? states->length : 1; }

void states_register(RolloutStates *states, const CoreConfig *config, const Shards *shards, int steps,
                     CoreArena *arena);
/* Clears the states: new episodes in all worlds. */
void states_clear(const RolloutStates *states);
/* Begins a rollout. */
void states_begin(const RolloutStates *states);
/* Stores the states of worlds first .. first + count - 1 where a sequence starts at step t, before the policy acts. */
void states_store(const RolloutStates *states, int t, int first, int count);
/* Binds the agent's next passes to worlds from `first` on, one step each. advances: the states advance by the step. */
void states_bind(const RolloutStates *states, const Agent *agent, int first, bool advances);
/* Clears the states of these worlds after step t where done [worlds of the rollout]. */
void states_clear_done(const RolloutStates *states, int t, int first, int count, const uint8_t *done);
/* Ends the rollout. */
void states_finish(const RolloutStates *states);

/* ---- sequences for learning and measuring ------------------------------------------------------------------------ */

/* Returns the layout of the run's sequences, for indices over all of its worlds. */
SapgLayout states_layout(const RolloutStates *states, int global_worlds);

/* Returns how many of the run's `total` rows to sample when at most `wanted` are needed and sequences must stay whole:
 * at least one sequence. Unless recurrent: the smaller number. */
int64_t states_round_to_sequences(const RolloutStates *states, int64_t wanted, int64_t total);
/* Returns row `step` of a sampled sequence, or unless recurrent the sampled row, as this rank's; -1: another rank's. */
int64_t states_sampled_row(const RolloutStates *states, const Shards *shards, int64_t drawn, int step);

/* Buffers of gathered sequences. */
typedef struct Sequences {
  int length;            /* length of the gathered sequences: the rollout's, unless the owner sets 1 */
  uint32_t *by_step;     /* [capacity] rows, step after step */
  uint32_t *start_rows;  /* [capacity / length] */
  float *start;          /* [capacity / length][state_size] */
  uint8_t *begins;       /* [capacity] */
} Sequences;

void sequences_register(Sequences *sequences, const RolloutStates *states, int capacity, CoreArena *arena);
/* Returns the buffers from row `row` on, where a sequence begins. */
Sequences sequences_from(const Sequences *sequences, const RolloutStates *states, int row);
/* Reorders `rows` from sequence after sequence to step after step, in the buffer. Unless recurrent: returns them
 * unchanged. */
const uint32_t *sequences_order(const Sequences *sequences, const RolloutStates *states, const uint32_t *rows,
                                int count);
/* Gathers the initial states and episode starts of sequences of `sequences->length` of these rows of the rollout, given
 * step after step. They start where the rollout's do, or later. */
void sequences_gather(const Sequences *sequences, const RolloutStates *states, Ops *ops, const uint32_t *rows,
                      int count);
/* Binds the agent's next passes to the gathered sequences. */
void sequences_bind(const Sequences *sequences, const Agent *agent);

#endif
