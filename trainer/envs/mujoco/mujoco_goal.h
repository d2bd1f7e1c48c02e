/* Rules of tasks whose goals change within an episode. Each family is a table of functions that mujoco_rules.h calls
 * instead of Gymnasium's rules. State in addition to MuJoCo's (goal, counters, last action) is in mjData.userdata,
 * which is part of mjSTATE_INTEGRATION, so it is saved and moves between threads with the rest. The model declares
 * its size, <size nuserdata="..."/>. Nothing is allocated; each function works on one mjData. */
#ifndef TRAINER_MUJOCO_GOAL_H
#define TRAINER_MUJOCO_GOAL_H
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
typedef struct MujocoGoalRules {
  /* Checks that the model suits the rules; called once, after sizes and named bodies have been checked. path: for
   * messages. CORE_USAGE: unsuitable model, or unreachable goals. */
  int (*check)(const MujocoModel *model, const char *path);
  /* Updates the thread's model (mujoco_model_of) for the world whose state was loaded into `data`. NULL: worlds do not
   * differ, and all threads share one model. */
  void (*prepare)(const MujocoModel *model, const mjData *data);
  /* Sets the initial state and the first goal of an episode; ends with mj_forward. userdata is that of the previous
   * episode, 0 before the first. */
  void (*reset)(const MujocoModel *model, mjData *data, const MujocoRandom *random);
  /* Sets data->ctrl from action [nu], which is within the task's bounds; before the physics. */
  void (*act)(const MujocoModel *model, mjData *data, const float *action);
  /* Computes the step's reward and counts a reached goal; after the physics. *ended: whether the state is terminal. */
  double (*reward)(const MujocoModel *model, mjData *data, bool *ended);
  /* Sets the next goal if this one was reached; after the reward, unless the episode has ended. */
  void (*advance)(const MujocoModel *model, mjData *data, const MujocoRandom *random);
  void (*observe)(const MujocoModel *model, const mjData *data, double *observation); /* [task->observations] */
  int (*reached)(const mjData *data); /* number of goals reached in the episode */
} MujocoGoalRules;

/* Returns the rules of the task's family; NULL for Gymnasium's. */
const MujocoGoalRules *mujoco_goal_rules(const MujocoTask *task);

/* Checks the model's userdata size and its mocap body "goal". CORE_USAGE: they do not match. */
int mujoco_goal_check(const MujocoModel *model, const char *path, int userdata);

extern const MujocoGoalRules mujoco_reorient_rules, mujoco_kuka_rules;
#endif
#endif
