/* What happens in one world of a task: how it begins, what a step does, what is seen and rewarded. Tasks with goals
 * have functions of their own for it (mujoco_goal.h); those of Gymnasium's tasks are here. Numbers of the latter are
 * Gymnasium's bit for bit, given the same MuJoCo: sums are in numpy's order, and what numpy has in float is in float.
 * Nothing is allocated; each function works on one mjData. */
#ifndef TRAINER_MUJOCO_RULES_H
#define TRAINER_MUJOCO_RULES_H
#include "trainer/envs/mujoco/mujoco_model.h"

#if CORE_HAS_MUJOCO
enum { MUJOCO_MARKS = 3 };

/* Where random numbers come from. */
typedef struct MujocoRandom {
  double (*uniform)(void *state); /* in [0, 1), 53 bits */
  double (*normal)(void *state);  /* mean 0, deviation 1 */
  void *state;
} MujocoRandom;

/* The first state of an episode. Gymnasium's noise is in its order: all of qpos, then all of qvel. */
void mujoco_reset(const MujocoModel *model, mjData *data, const MujocoRandom *random);
/* The same from known qpos [nq] and qvel [nv]. */
void mujoco_reset_to(const MujocoModel *model, mjData *data, const double *qpos, const double *qvel);
/* Takes up a world where it was left: state [model->state]. */
void mujoco_take(const MujocoModel *model, mjData *data, const double *state);
/* One environment step: action [nu] as the agent gave it. False: MuJoCo met a number that is not finite and began
 * again from the model's own state, which is no state of this episode. */
bool mujoco_step(const MujocoModel *model, mjData *data, const float *action);

/* What the next step's reward is measured from, to be kept with the world's state: positions of bodies are older than
 * qpos after a step, and so are no function of the state. */
void mujoco_mark(const MujocoModel *model, const mjData *data, double mark[MUJOCO_MARKS]);
/* [task->observations] */
void mujoco_observe(const MujocoModel *model, const mjData *data, double *observation);
/* Of the step that was made by `action` [nu] from `mark`; *ended: the state ends the episode. A goal that was reached
 * is counted. */
double mujoco_reward(const MujocoModel *model, mjData *data, const float *action, const double mark[MUJOCO_MARKS],
                     bool *ended);
/* After the reward of a step that did not end the episode: the next goal, where the last one was reached. */
void mujoco_advance(const MujocoModel *model, mjData *data, const MujocoRandom *random);
/* Goals of the episode so far; 0 where the task has none. */
int mujoco_reached(const MujocoModel *model, const mjData *data);
#endif
#endif
