/* The memory of a policy over a rollout (net.memory; trainer/nets/recurrent.h): the states that worlds carry from step
 * to step and from rollout to rollout, those at the starts of the sequences that are learnt from, and gathering
 * sequences for who runs networks over them. Where the policy has no memory nothing of this has room or does anything.
 *
 * A state is 0 where an episode begins. Sequences are numbered world after world, ppo.num_steps / length a world
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
  int state_size;        /* of a state; 0: there is no memory */
  int length;            /* steps of a sequence */
  float *current;        /* [worlds][numbers] that enter the next step; carried from rollout to rollout */
  float *starts;         /* [steps / length + 1][worlds][numbers] at starts of sequences; the last: after the rollout */
  uint8_t *begins;       /* [steps + 1][worlds] 1: an episode began, so that 0 entered. 0 where a sequence starts, whose
                          * state says it */
} RolloutStates;

static inline bool states_apply(const RolloutStates *states) { return states->state_size > 0; }
/* Rows that stay together: 1 without memory. */
static inline int states_length(const RolloutStates *states) { return states_apply(states) ? states->length : 1; }

void states_register(RolloutStates *states, const CoreConfig *config, const Shards *shards, int steps,
                     CoreArena *arena);
/* New episodes in all worlds. */
void states_clear(const RolloutStates *states);
/* A rollout begins. */
void states_begin(const RolloutStates *states);
/* Before the policy acts at step t in worlds first .. first + count - 1: keeps what enters, where a sequence starts. */
void states_store(const RolloutStates *states, int t, int first, int count);
/* The agent's next passes are of worlds from `first` on, a step of each. advances: their states go on by the step. */
void states_bind(const RolloutStates *states, const Agent *agent, int first, bool advances);
/* After step t of these worlds: 0 enters the next where done [worlds of the rollout]. */
void states_clear_done(const RolloutStates *states, int t, int first, int count, const uint8_t *done);
/* The rollout has ended. */
void states_finish(const RolloutStates *states);

/* ---- sequences for learning and measuring ------------------------------------------------------------------------ */

/* The layout of the run's sequences: for numbers of all of its worlds. */
SapgLayout states_layout(const RolloutStates *states, int global_worlds);

/* Who looks at `most` of the run's `total` rows draws whole sequences: how many rows these are, at least one sequence.
 * Without memory: the smaller number. */
int64_t states_round_to_sequences(const RolloutStates *states, int64_t most, int64_t total);
/* Row `step` of a drawn sequence, or without memory the drawn row, as this rank's; -1: another rank's. */
int64_t states_sampled_row(const RolloutStates *states, const Shards *shards, int64_t drawn, int step);

/* Buffers of some gathered sequences. */
typedef struct Sequences {
  int length;            /* of those that are gathered: the rollout's, unless the owner says 1 */
  uint32_t *by_step;     /* [room] rows, step after step */
  uint32_t *start_rows;  /* [room / length] */
  float *start;          /* [room / length][numbers] */
  uint8_t *begins;       /* [room] */
} Sequences;

void sequences_register(Sequences *sequences, const RolloutStates *states, int room, CoreArena *arena);
/* The buffers from row `row` on, where a sequence begins. */
Sequences sequences_from(const Sequences *sequences, const RolloutStates *states, int row);
/* Numbers `rows`, one sequence after the other -> one step after the other, in the buffer. Without memory: as they
 * are. */
const uint32_t *sequences_order(const Sequences *sequences, const RolloutStates *states, const uint32_t *rows,
                                int count);
/* What entered sequences of `sequences->length` of these rows of the rollout, one step after the other. They start
 * where the rollout's do, or after it. */
void sequences_gather(const Sequences *sequences, const RolloutStates *states, Ops *ops, const uint32_t *rows,
                      int count);
/* The agent's next passes are over the gathered sequences. */
void sequences_bind(const Sequences *sequences, const Agent *agent);

#endif
