/* The tasks on MuJoCo, one row each: sizes, observations, rewards, ends and noise. MuJoCo itself is not needed to read
 * this table. Source of Gymnasium's numbers: gymnasium 1.4.0, envs/mujoco; of the hands': trainer/envs/hands. */
#ifndef TRAINER_MUJOCO_TASK_H
#define TRAINER_MUJOCO_TASK_H
#include <stdbool.h>

#include "trainer/envs/hands/kuka.h"
#include "trainer/envs/hands/reorient.h"

#define MUJOCO_PREFIX "mujoco/" /* of a task's name in env.task */

enum { MUJOCO_OBSERVATIONS_MAX = 376, MUJOCO_NAMES = 8 };

/* Whose rules a task has: how episodes begin, what actions do, what is seen and rewarded. */
typedef enum MujocoFamily {
  MUJOCO_GYMNASIUM,      /* the fields below from `reset` on (mujoco_rules.h) */
  MUJOCO_REORIENT,       /* goals that an object is turned to: `reorient` (mujoco_goal.h) */
  MUJOCO_KUKA,           /* goals that a cuboid is lifted to or thrown in: `kuka` */
} MujocoFamily;

/* What an observation is made of. */
typedef enum MujocoObservation {
  MUJOCO_SEE_STATE,      /* qpos from number `skip` on, qvel within +-clip, then contact forces where `forces` */
  MUJOCO_SEE_BODIES,     /* qpos, qvel, then inertias, velocities, actuator and contact forces of all bodies */
  MUJOCO_SEE_POLES,      /* the cart's place, sines and cosines of the poles' angles, velocities, constraint forces */
  MUJOCO_SEE_ARM,        /* Reacher */
  MUJOCO_SEE_PUSH,       /* Pusher */
} MujocoObservation;

typedef enum MujocoReward {
  MUJOCO_FORWARD,        /* speed along x + healthy - control - contact */
  MUJOCO_UPRIGHT,        /* InvertedPendulum: 1 a step */
  MUJOCO_TIP,            /* InvertedDoublePendulum: 10 - distance of the tip - speeds */
  MUJOCO_REACH,          /* Reacher: distance of the finger */
  MUJOCO_PUSH,           /* Pusher: distances of object, goal and arm */
  MUJOCO_STAND,          /* HumanoidStandup: height */
} MujocoReward;

/* Whose place along x the speed is of. */
typedef enum MujocoPlace { MUJOCO_PLACE_JOINT, MUJOCO_PLACE_TORSO, MUJOCO_PLACE_MASS } MujocoPlace;

typedef enum MujocoReset { MUJOCO_RESET_NOISE, MUJOCO_RESET_REACHER, MUJOCO_RESET_PUSHER } MujocoReset;

/* A state is healthy while qpos[place] is in low .. high and the others are in their ranges; place 0: always. */
typedef struct MujocoHealth {
  int place;
  double low, high;
  bool closed;           /* the range's ends belong to it, and all numbers must be finite (Ant) */
  double angle;          /* |qpos[place + 1]| below this; 0: any */
  double state;          /* all numbers from qpos[2] on within +- this; 0: any */
} MujocoHealth;

typedef struct MujocoTask {
  const char *name;      /* Gymnasium's id, or a name of ours */
  MujocoFamily family;
  const char *model;     /* file in MuJoCo's folder of models; with `release`: a file of ours (trainer/envs/models) */
  int release;           /* of a model of ours: what its numeric "release" says; 0: the model is Gymnasium's */
  const char *part;      /* of ours that includes another of ours: that file */
  const char *beside;    /* of a model of ours that includes a file of MuJoCo's models: that file */
  int version;           /* 4 or 5: what Gymnasium's id ends in */
  int nq, nv, nu, bodies; /* what the model must have; bodies with the world */
  int observations;
  int frame_skip;        /* physics steps an environment step */
  int limit;             /* environment steps an episode */
  const ReorientTask *reorient; /* of MUJOCO_REORIENT */
  const KukaTask *kuka;  /* of MUJOCO_KUKA */
  float bound;           /* actions are in -bound .. bound */
  MujocoReset reset;
  double qpos_noise;     /* qpos begins uniformly within +- this around the model's */
  double qvel_noise;     /* and qvel: uniformly, or normally with this deviation where `normal` */
  bool normal;
  MujocoObservation see;
  int skip;
  double clip;           /* 0: not clipped */
  bool forces;           /* contact forces of the bodies, within +-1, are seen (MUJOCO_SEE_STATE) */
  MujocoReward reward;
  MujocoPlace place;
  double forward, control, contact, healthy; /* weights */
  double contact_most;   /* the contact cost's upper bound; 0: forces are within +-1 instead */
  bool control_in_double; /* of what the actuators got; else of the action, in float as numpy has it */
  MujocoHealth health;
  const char *named[MUJOCO_NAMES]; /* bodies that rewards and observations look at */
} MujocoTask;

/* The i'th task, 0, 1, ...; NULL: there are no more. */
const MujocoTask *mujoco_task(int i);
/* By Gymnasium's id, without "mujoco/"; NULL where there is none. */
const MujocoTask *mujoco_task_find(const char *name);
/* CORE_USAGE for a name that is none, with the nearest one. */
int mujoco_task_unknown(const char *name);
/* Are contact forces needed after a step? */
bool mujoco_task_has_forces(const MujocoTask *task);

#endif
