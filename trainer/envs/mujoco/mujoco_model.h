/* A task's model, read once and shared by all batches of it, with one mjData a thread: worlds are states that are put
 * into it, stepped and taken out again, so that a world takes a kilobyte and not 200. */
#ifndef TRAINER_MUJOCO_MODEL_H
#define TRAINER_MUJOCO_MODEL_H
#include <stdint.h>

#include "trainer/envs/mujoco/mujoco_library.h"
#include "trainer/envs/mujoco/mujoco_task.h"

#if CORE_HAS_MUJOCO
enum { MUJOCO_HASH = 16 };

struct MujocoGoalRules;

typedef struct MujocoModel {
  const MujocoTask *task;
  ReorientTask reorient;   /* of a task that turns an object: its numbers, with what the run has chosen of them */
  const struct MujocoGoalRules *goals; /* of a task with goals (mujoco_goal.h); NULL: Gymnasium's rules */
  mjModel *model;
  double dt;               /* seconds an environment step */
  double mass;             /* of all bodies, summed as numpy does */
  int named[MUJOCO_NAMES]; /* numbers of the task's named bodies */
  int state;               /* doubles of a world's state: mjSTATE_INTEGRATION */
  uint8_t hash[MUJOCO_HASH]; /* of the model's file */
  int threads, users;
  mjData **data;           /* [threads] */
  mjModel **own;           /* [threads] copies of `model`, where worlds differ in it; NULL: all threads share it */
} MujocoModel;

/* The task's model with one mjData, for one user. CORE_USAGE: no library, no file, a damaged one, or a model of other
 * sizes than the task's. */
int mujoco_model_create(const MujocoTask *task, MujocoModel **model);
/* How many threads may step `worlds` worlds now: as many as OpenMP has. Each gets its mjData when it is first needed,
 * which is at the first reset, or at the first step after a resume. */
int mujoco_model_threads(MujocoModel *model, int worlds);
/* The model that a thread's mjData is stepped with. */
mjModel *mujoco_model_of(const MujocoModel *model, const mjData *data);
/* One user more, and one fewer; the last one frees it. */
MujocoModel *mujoco_model_share(MujocoModel *model);
void mujoco_model_release(MujocoModel *model);
size_t mujoco_model_bytes(const MujocoModel *model);

/* numpy's sum of n <= 128 numbers: eight sums side by side, then the rest one by one. */
double mujoco_sum(const double *x, int n);
#endif
#endif
