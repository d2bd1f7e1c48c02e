/* Tasks with goals that change within an episode: what they do instead of Gymnasium's rules. Each family of them is one
 * table of functions, and mujoco_rules.h calls it. What a world keeps beside MuJoCo's own state (goal, counters, the
 * last action) lies in mjData.userdata, which is part of mjSTATE_INTEGRATION: it is saved, and moves between threads,
 * with the rest. A model declares its length, <size nuserdata="..."/>. Nothing is allocated; each function works on one
 * mjData. */
#ifndef TRAINER_MUJOCO_GOAL_H
#define TRAINER_MUJOCO_GOAL_H
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
typedef struct MujocoGoalRules {
  /* Is the model one for these functions? Called once, after sizes and named bodies were checked. CORE_USAGE: what it
   * lacks, or a goal that cannot be reached. path: for messages. */
  int (*check)(const MujocoModel *model, const char *path);
  /* Puts into the thread's own model (mujoco_model_of) what differs between worlds, after a world's state was put into
   * `data`. NULL: nothing does, and all threads share one model. */
  void (*prepare)(const MujocoModel *model, const mjData *data);
  /* The first state of an episode and its first goal; ends with mj_forward. userdata is as the last episode left it, 0
   * before the first. */
  void (*reset)(const MujocoModel *model, mjData *data, const MujocoRandom *random);
  /* Before the physics: action [nu], within the task's bounds, to data->ctrl. */
  void (*act)(const MujocoModel *model, mjData *data, const float *action);
  /* After the physics: the step's reward; counts a goal that was reached. *ended: the state ends the episode. */
  double (*reward)(const MujocoModel *model, mjData *data, bool *ended);
  /* After the reward, where the episode goes on: the next goal where this one was reached. */
  void (*advance)(const MujocoModel *model, mjData *data, const MujocoRandom *random);
  void (*observe)(const MujocoModel *model, const mjData *data, double *observation); /* [task->observations] */
  int (*reached)(const mjData *data); /* goals of the episode so far */
} MujocoGoalRules;

/* Of the task's family; NULL for Gymnasium's. */
const MujocoGoalRules *mujoco_goal_rules(const MujocoTask *task);

/* CORE_USAGE: the model has no userdata of this length, or no mocap body "goal". */
int mujoco_goal_check(const MujocoModel *model, const char *path, int userdata);

extern const MujocoGoalRules mujoco_reorient_rules, mujoco_kuka_rules;
#endif
#endif
