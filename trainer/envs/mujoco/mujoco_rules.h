/* Rules of a task: initial states, steps, observations and rewards of one world. Dispatches to mujoco_goal.h for
 * tasks with goals and implements Gymnasium's tasks. The latter are bit-identical to Gymnasium with the same MuJoCo:
 * sums are in numpy's order, and float32 where numpy uses it. Nothing is allocated; each function works on one
 * mjData. */
#ifndef TRAINER_MUJOCO_RULES_H
#define TRAINER_MUJOCO_RULES_H
#include "trainer/envs/mujoco/mujoco_model.h"

#if CORE_HAS_MUJOCO
enum { MUJOCO_REFERENCE = 3 };

/* Source of random numbers. */
typedef struct MujocoRandom {
  double (*uniform)(void *state); /* in [0, 1), 53 bits */
  double (*normal)(void *state);  /* standard normal */
  void *state;
} MujocoRandom;

/* Sets the initial state of an episode. Noise is drawn in Gymnasium's order: all of qpos, then all of qvel. */
void mujoco_reset(const MujocoModel *model, mjData *data, const MujocoRandom *random);
/* Sets the state from qpos [nq] and qvel [nv]. */
void mujoco_reset_to(const MujocoModel *model, mjData *data, const double *qpos, const double *qvel);
/* Loads a world's state [model->state]. */
void mujoco_load(const MujocoModel *model, mjData *data, const double *state);
/* Runs the physics of one environment step with action [nu]. Returns false if MuJoCo met a non-finite value and
 * reset the state to the model's. */
bool mujoco_step(const MujocoModel *model, mjData *data, const float *action);

/* Computes the reference of the next step's reward, which is stored with the world's state: positions of bodies lag
 * behind qpos after a step, so they cannot be recomputed from the state. */
void mujoco_reward_reference(const MujocoModel *model, const mjData *data, double reference[MUJOCO_REFERENCE]);
/* Computes the observation, [task->observations]. */
void mujoco_observe(const MujocoModel *model, const mjData *data, double *observation);
/* Computes the reward of the step with `action` [nu] from `reference`, and counts a reached goal. *ended: whether the
 * state is terminal. */
double mujoco_reward(const MujocoModel *model, mjData *data, const float *action,
                     const double reference[MUJOCO_REFERENCE], bool *ended);
/* Sets the next goal if the last one was reached; after the reward of a step that did not end the episode. */
void mujoco_advance(const MujocoModel *model, mjData *data, const MujocoRandom *random);
/* Returns the number of goals reached in the episode; 0 if the task has none. */
int mujoco_reached(const MujocoModel *model, const mjData *data);
#endif
#endif
