/* Table of MuJoCo tasks: sizes, observations, rewards, terminations and noise. Does not require MuJoCo. Sources:
 * gymnasium 1.4.0, envs/mujoco, for Gymnasium's tasks; trainer/envs/hands for the others. */
#ifndef TRAINER_MUJOCO_TASK_H
#define TRAINER_MUJOCO_TASK_H
#include <stdbool.h>

#include "trainer/envs/hands/kuka.h"
#include "trainer/envs/hands/reorient.h"

#define MUJOCO_PREFIX "mujoco/" /* prefix of a task's name in env.task */

enum { MUJOCO_OBSERVATIONS_MAX = 376, MUJOCO_NAMES = 8 };

/* Rules of a task: initial states, actions, observations and rewards. */
typedef enum MujocoFamily {
  MUJOCO_GYMNASIUM,      /* the fields below from `reset` on (mujoco_rules.h) */
  MUJOCO_REORIENT,       /* in-hand reorientation: `reorient` (mujoco_goal.h) */
  MUJOCO_KUKA,           /* lifting or throwing a cuboid: `kuka` */
} MujocoFamily;

/* Kinds of observations. */
typedef enum MujocoObservation {
  MUJOCO_OBSERVE_STATE,      /* qpos from index `skip` on, qvel clipped to +-clip, and contact forces if `forces` */
  MUJOCO_OBSERVE_BODIES,     /* qpos, qvel, then inertias, velocities, actuator and contact forces of all bodies */
  MUJOCO_OBSERVE_POLES,      /* cart position, sines and cosines of the poles' angles, velocities, constraint forces */
  MUJOCO_OBSERVE_ARM,        /* Reacher */
  MUJOCO_OBSERVE_PUSH,       /* Pusher */
} MujocoObservation;

typedef enum MujocoReward {
  MUJOCO_FORWARD,        /* speed along x + healthy - control - contact */
  MUJOCO_UPRIGHT,        /* InvertedPendulum: 1 per step */
  MUJOCO_TIP,            /* InvertedDoublePendulum: 10 - distance of the tip - velocities */
  MUJOCO_REACH,          /* Reacher: distance of the finger */
  MUJOCO_PUSH,           /* Pusher: distances of object, goal and arm */
  MUJOCO_STAND,          /* HumanoidStandup: height */
} MujocoReward;

/* Reference point of the forward velocity along x. */
typedef enum MujocoPlace { MUJOCO_PLACE_JOINT, MUJOCO_PLACE_TORSO, MUJOCO_PLACE_MASS } MujocoPlace;

typedef enum MujocoReset { MUJOCO_RESET_NOISE, MUJOCO_RESET_REACHER, MUJOCO_RESET_PUSHER } MujocoReset;

/* Termination: a state is healthy if qpos[place] is in low .. high and the conditions below hold; place 0: always. */
typedef struct MujocoHealth {
  int place;
  double low, high;
  bool closed;           /* whether the range includes its ends, and all values must be finite (Ant) */
  double angle;          /* maximum of |qpos[place + 1]|; 0: unlimited */
  double state;          /* maximum magnitude of all values from qpos[2] on; 0: unlimited */
} MujocoHealth;

typedef struct MujocoTask {
  const char *name;      /* Gymnasium's id, or a name of this project */
  MujocoFamily family;
  const char *model;     /* file in MuJoCo's directory of models; with `release`: bundled (trainer/envs/models) */
  int release;           /* custom numeric "release" of a bundled model; 0: Gymnasium's model */
  const char *include;   /* bundled file that a bundled model includes; NULL: none */
  const char *mujoco_include; /* file of MuJoCo's models that a bundled model includes; NULL: none */
  int version;           /* 4 or 5: version suffix of Gymnasium's id */
  int nq, nv, nu, bodies; /* required sizes of the model; bodies include the world */
  int observations;
  int frame_skip;        /* physics steps per environment step */
  int limit;             /* time limit in environment steps */
  const ReorientTask *reorient; /* parameters for MUJOCO_REORIENT */
  const KukaTask *kuka;  /* parameters for MUJOCO_KUKA */
  float bound;           /* actions are in -bound .. bound */
  MujocoReset reset;
  double qpos_noise;     /* uniform noise of the initial qpos */
  double qvel_noise;     /* noise of the initial qvel: uniform, or normal with this standard deviation */
  bool normal;           /* distribution of qvel_noise */
  MujocoObservation observation;
  int skip;
  double clip;           /* 0: not clipped */
  bool forces;           /* whether contact forces, clipped to +-1, are observed (MUJOCO_OBSERVE_STATE) */
  MujocoReward reward;
  MujocoPlace place;
  double forward, control, contact, healthy; /* weights */
  double contact_max;   /* maximum contact cost; 0: forces are clipped to +-1 instead */
  bool control_in_double; /* true: control cost of ctrl in double; false: of the action in float, as in numpy */
  MujocoHealth health;
  const char *named[MUJOCO_NAMES]; /* bodies used by rewards and observations */
} MujocoTask;

/* Returns task i, from 0; NULL: there are no more. */
const MujocoTask *mujoco_task(int i);
/* Finds a task by its name, without "mujoco/"; NULL: unknown. */
const MujocoTask *mujoco_task_find(const char *name);
/* Sets the error for an unknown name, suggesting the nearest one. Returns CORE_USAGE. */
int mujoco_task_unknown(const char *name);
/* Whether contact forces must be computed after a step. */
bool mujoco_task_has_forces(const MujocoTask *task);

#endif
