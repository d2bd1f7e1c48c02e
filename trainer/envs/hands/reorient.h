/* Turning an object in the hand: goals, rewards and observations of IsaacGymEnvs' ShadowHand and AllegroHand, as
 * formulas on plain numbers, without a physics engine. Lengths in metres, angles in radians, rotations as rotation.h
 * has them. Source: IsaacGymEnvs 1.5.1, tasks/{shadow,allegro}_hand.py and cfg/task/{Shadow,Allegro}Hand.yaml. */
#ifndef TRAINER_HANDS_REORIENT_H
#define TRAINER_HANDS_REORIENT_H
#include <stdbool.h>

enum { REORIENT_TIPS = 5, REORIENT_TIP = 13, REORIENT_FORCE = 6 };

/* Numbers of a task, by the names that its yaml file has for them. */
typedef struct ReorientTask {
  int joints;                /* of the hand; they are the model's first */
  int tips;                  /* fingertips that are observed; 0: none */
  double start[3];           /* the object's place at the start, before noise */
  double goal_below;         /* the goal's place is `start`, so much lower */
  double object_noise;       /* resetPositionNoise: +- on each coordinate */
  double joint_noise;        /* resetDofPosRandomInterval: share of a joint's range */
  bool relative;             /* useRelativeControl: actions are speeds of the targets, not the targets */
  double speed;              /* dofSpeedScale: radians a second of an action of 1, where relative */
  double distance_scale;     /* distRewardScale */
  double rotation_scale;     /* rotRewardScale */
  double rotation_epsilon;   /* rotEps */
  double action_scale;       /* actionPenaltyScale */
  double tolerance;          /* successTolerance */
  double goal_bonus;         /* reachGoalBonus */
  double fall_distance;      /* fallDistance */
  double fall_penalty;       /* fallPenalty */
} ReorientTask;

/* A step's reward by its terms, and what it is a sum of. */
typedef struct ReorientReward {
  double distance, rotation, action, bonus, fall, total;
  bool reached, fallen;      /* within the tolerance of the goal's rotation; out of the hand, which ends the episode */
} ReorientReward;

/* Object and goal as they stand after the step that `action` [count] made. */
ReorientReward reorient_reward(const ReorientTask *task, const double place[3], const double rotation[4],
                               const double goal_place[3], const double goal_rotation[4], const double *action,
                               int count);

/* What an observation is made of. Vectors are in the world's axes, forces at fingertips in the fingertip's. */
typedef struct ReorientView {
  const double *position, *low, *high, *speed, *torque; /* [task->joints] */
  const double *place, *rotation, *velocity, *spin;     /* of the object: [3], [4], [3], [3] */
  const double *goal_place, *goal_rotation;
  double tip[REORIENT_TIPS][REORIENT_TIP]; /* place, rotation (x, y, z, w), velocity, spin */
  double force[REORIENT_TIPS][REORIENT_FORCE]; /* force, torque */
  const double *action;
  int actions;
} ReorientView;

/* IsaacGymEnvs' full_state, each number within +-5: joints' positions as shares of their ranges (-1 .. 1), speeds x 0.2
 * and torques x 10; the object's place, rotation, velocity and spin x 0.2; the goal's place and rotation, and the
 * rotation between; states of the fingertips and forces there x 10; the action. Gives how many numbers. */
int reorient_observe(const ReorientTask *task, const ReorientView *view, double *observation);

/* The target of a joint of range low .. high that an action in -1 .. 1 asks for; `last` is the target so far, dt the
 * step's seconds. */
double reorient_target(const ReorientTask *task, double action, double last, double low, double high, double dt);

#endif
