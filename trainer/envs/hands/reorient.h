/* In-hand reorientation: goals, rewards and observations of IsaacGymEnvs' ShadowHand and AllegroHand, as pure
 * functions without a physics engine. Lengths in meters, angles in radians, rotations as in rotation.h. Source:
 * IsaacGymEnvs 1.5.1, tasks/{shadow,allegro}_hand.py and cfg/task/{Shadow,Allegro}Hand.yaml. */
#ifndef TRAINER_HANDS_REORIENT_H
#define TRAINER_HANDS_REORIENT_H
#include <stdbool.h>

enum { REORIENT_TIPS = 5, REORIENT_TIP = 13, REORIENT_FORCE = 6 };

/* Parameters of a task, named after its yaml file. */
typedef struct ReorientTask {
  int joints;                /* joints of the hand, the first ones of the model */
  int tips;                  /* observed fingertips */
  double start[3];           /* initial position of the object, before noise */
  double goal_below;         /* distance of the goal's position below `start` */
  double object_noise;       /* resetPositionNoise: +- per coordinate */
  double joint_noise;        /* resetDofPosRandomInterval: fraction of a joint's range */
  bool relative;             /* useRelativeControl: actions are velocities of the targets, not targets */
  double speed;              /* dofSpeedScale: rad/s for an action of 1, if relative */
  double distance_scale;     /* distRewardScale */
  double rotation_scale;     /* rotRewardScale */
  double rotation_epsilon;   /* rotEps */
  double action_scale;       /* actionPenaltyScale */
  double tolerance;          /* successTolerance */
  double goal_bonus;         /* reachGoalBonus */
  double fall_distance;      /* fallDistance */
  double fall_penalty;       /* fallPenalty */
} ReorientTask;

/* Terms of a step's reward. */
typedef struct ReorientReward {
  double distance, rotation, action, bonus, fall, total;
  bool reached,
      fallen; /* reached: rotation within tolerance; fallen: the object left the hand, which ends the episode */
} ReorientReward;

/* Computes the reward of a step with `action` [count] from the state after it. */
ReorientReward reorient_reward(const ReorientTask *task, const double position[3], const double rotation[4],
                               const double goal_position[3], const double goal_rotation[4], const double *action,
                               int count);

/* Inputs of an observation. Vectors are in world coordinates, forces at fingertips in the fingertip's frame. */
typedef struct ReorientView {
  const double *joint_position, *low, *high, *joint_velocity, *torque; /* [task->joints] joints */
  const double *position, *rotation, *velocity, *angular_velocity;     /* object: [3], [4], [3], [3] */
  const double *goal_position, *goal_rotation;
  double tip[REORIENT_TIPS][REORIENT_TIP]; /* position, rotation (x, y, z, w), velocity, angular velocity */
  double force[REORIENT_TIPS][REORIENT_FORCE]; /* force, torque */
  const double *action;
  int actions;
} ReorientView;

/* Computes IsaacGymEnvs' full_state, each value clipped to +-5: joint positions scaled to -1 .. 1, velocities x 0.2 and
 * torques x 10; the object's position, rotation, velocity and angular velocity x 0.2; the goal's position and rotation,
 * and the rotation to it; fingertip states and forces x 10; the action. Returns the number of values. */
int reorient_observe(const ReorientTask *task, const ReorientView *view, double *observation);

/* Returns the target of a joint with range low .. high for an action in -1 .. 1; `last`: previous target; dt:
 * seconds per step. */
double reorient_target(const ReorientTask *task, double action, double last, double low, double high, double dt);

#endif
