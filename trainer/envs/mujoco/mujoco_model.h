/* A task's model, loaded once and shared by all its batches, with an mjData per thread: a world is a state that is
 * loaded into it, stepped and stored, so that it takes 1 KB instead of 200 KB. */
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
  ReorientTask reorient;   /* parameters of a reorientation task, including the run's settings */
  const struct MujocoGoalRules *goals; /* rules of a task with goals (mujoco_goal.h); NULL: Gymnasium's rules */
  mjModel *model;
  double dt;               /* seconds per environment step */
  double mass;             /* mass of all bodies, summed as by numpy */
  int named[MUJOCO_NAMES]; /* ids of the task's named bodies */
  int state;               /* size of a world's state in doubles: mjSTATE_INTEGRATION */
  uint8_t hash[MUJOCO_HASH]; /* hash of the model's files */
  int threads, users;
  mjData **data;           /* [threads] */
  mjModel **copies;        /* [threads] copies of `model`, if worlds modify it; NULL: all threads share it */
} MujocoModel;

/* Loads the task's model, with one mjData and a reference count of 1. CORE_USAGE: missing library or file, damaged
 * file, or sizes that do not match the task. */
int mujoco_model_create(const MujocoTask *task, MujocoModel **model);
/* Returns the number of threads for `worlds` worlds, at most OpenMP's, and creates their mjData if they are missing. */
int mujoco_model_threads(MujocoModel *model, int worlds);
/* Returns the model to use with a thread's mjData. */
mjModel *mujoco_model_of(const MujocoModel *model, const mjData *data);
/* Increments and decrements the reference count; the last release frees the model. */
MujocoModel *mujoco_model_share(MujocoModel *model);
void mujoco_model_release(MujocoModel *model);
size_t mujoco_model_bytes(const MujocoModel *model);

/* Computes numpy's sum of n <= 128 values: eight partial sums, then the remaining values one by one. */
double mujoco_sum(const double *x, int n);
#endif
#endif
