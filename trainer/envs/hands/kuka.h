/* Lifting a cuboid from a table with an arm and a hand: goals, rewards, observations and the tolerance curriculum of
 * IsaacGymEnvs' AllegroKukaRegrasping, AllegroKukaThrow and AllegroKukaReorientation, as pure functions without a
 * physics engine. Lengths in meters, angles in radians, rotations as in rotation.h. Source: IsaacGymEnvs 1.5.1,
 * tasks/allegro_kuka, cfg/task/AllegroKuka.yaml and cfg/task/env. */
#ifndef TRAINER_HANDS_KUKA_H
#define TRAINER_HANDS_KUKA_H
#include <stdbool.h>

enum { KUKA_ARM = 7, KUKA_JOINTS = 23, KUKA_TIPS = 4, KUKA_KEYPOINTS = 4 };

/* Kinds of goals. */
typedef enum KukaGoals {
  KUKA_POSITIONS,  /* Regrasping: a position above the table; then the cuboid is put back on the table */
  KUKA_BUCKETS,    /* Throw: in a bucket next to the table; then the cuboid is put back on the table */
  KUKA_POSES,      /* Reorientation: a position and a rotation above the table */
} KukaGoals;

/* Parameters of a task, named after the yaml files. */
typedef struct KukaTask {
  KukaGoals goals;
  int length;            /* episodeLength: maximum steps since the last goal or the start */
  int success_steps;     /* successSteps: steps near the goal until it counts as reached */
  double tolerance;      /* successTolerance: initial tolerance */
  double final_tolerance;       /* targetSuccessTolerance: final tolerance */
  double force;          /* forceScale: random force on the cuboid, per unit of its mass */
  bool big, sticks;      /* withBigCuboids, withSticks; all tasks have small cuboids */
} KukaTask;

/* Observed progress of the episode. */
typedef struct KukaProgress {
  double steps, reached;         /* steps since the start or the last goal; goals reached */
  double lifted;                 /* 0 or 1 */
  double keypoint;               /* minimum so far of KukaDistances.keypoint */
  double tip[KUKA_TIPS];         /* minimum so far of KukaDistances.tip */
} KukaProgress;

/* State of a world in addition to its physics; doubles only, so that it can be stored as an array. */
typedef struct KukaState {
  double tolerance;              /* current tolerance; 0: no episode has started yet */
  double steps_since, episodes_since, reached_since; /* counts since the tolerance last changed */
  double scale[3];               /* sides of the cuboid, in KUKA_SIDE */
  double force[3], force_probability; /* random force in the cuboid's frame; probability of a new one per step */
  KukaProgress current, observed; /* observed: before the last step's reward */
  double near_steps;             /* steps near the current goal */
  double reward;                 /* reward of the last step */
  double is_reached;             /* 1: the goal was reached in the last step */
} KukaState;
enum { KUKA_STATE = sizeof(KukaState) / sizeof(double) };

#define KUKA_SIDE 0.05           /* objectBaseSize */
#define KUKA_DENSITY 400.0       /* cuboids, kg/m3 */
#define KUKA_GRAVITY 9.81        /* cuboid only, m/s2 */
#define KUKA_TABLE_HEIGHT 0.53   /* top of the table */
#define KUKA_START_HEIGHT 0.63   /* initial center of the cuboid, before noise; reference height of lifting */
extern const double kuka_home[KUKA_JOINTS]; /* initial joint positions, before noise */

/* Inputs of rewards and observations, in world coordinates. */
typedef struct KukaView {
  const double *joint_position, *joint_velocity; /* [KUKA_JOINTS], arm before hand */
  const double *joint_range;                     /* [KUKA_JOINTS][2] limits of positions */
  double wrist[3], wrist_rotation[4], wrist_velocity[3], wrist_angular_velocity[3]; /* last link of the arm */
  double tip[KUKA_TIPS][3], tip_rotation[KUKA_TIPS][4];                             /* last links of the fingers */
  double position[3], rotation[4], velocity[3], angular_velocity[3];                /* cuboid */
  double goal[3], goal_rotation[4];
} KukaView;

/* Distances to the cuboid and to the goal. */
typedef struct KukaDistances {
  double tip[KUKA_TIPS];  /* distance of each fingertip from the cuboid's center */
  double keypoint;        /* maximum distance of a keypoint from its goal */
} KukaDistances;

/* Terms of a step's reward. hand_delta_penalty is omitted, as it is always 0 in the source. */
typedef struct KukaReward {
  double tips, lifting, lifted, keypoint, arm, hand, goal, total;
} KukaReward;

/* ---- cuboids ----------------------------------------------------------------------------------------------------- */

/* Returns the number of cuboids of a task. Source: tasks/allegro_kuka/generate_cuboids.py. */
int kuka_cuboid_count(const KukaTask *task);
/* Computes the sides of cuboid `index`, in KUKA_SIDE. */
void kuka_cuboid(const KukaTask *task, int index, double scale[3]);

/* ---- goals and initial states, from u uniform in 0 .. 1 ---------------------------------------------------------- */

/* Computes a rotation that is uniform over all rotations. Source: K. Shoemake, Uniform random rotations, Graphics
 * Gems III, 1992. */
void kuka_random_rotation(const double u[3], double rotation[4]);
#define KUKA_IN_BUCKET 0.05      /* height of the goal in a bucket */
/* Computes the position of a goal; for KUKA_BUCKETS, of the bucket's bottom. u[3] is for buckets only. */
void kuka_goal_position(const KukaTask *task, const double u[4], double position[3]);
/* Returns the maximum distance of a goal from `from`; KUKA_POSITIONS and KUKA_POSES only. */
double kuka_max_goal_distance(const double from[3]);
/* Computes the initial position of the cuboid, above the table. */
void kuka_start_position(const double u[3], double position[3]);
/* Returns the initial position of joint j, within its range. */
double kuka_start_joint(int j, double u, double low, double high);
/* Returns the initial velocity of a joint. */
double kuka_start_velocity(double u);
/* Returns the probability of a new random force per step of an episode. */
double kuka_force_probability(double u);

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Returns the target of joint j with range low .. high for an action in -1 .. 1: a velocity of the target for the
 * arm, the target itself for the hand. */
double kuka_target(int j, double action, double last, double low, double high);
/* Returns the factor by which a random force decays per step. */
double kuka_force_decay(void);

/* Computes the keypoints of a cuboid: its center, or 4 for KUKA_POSES. Returns their number. */
int kuka_keypoints(const KukaTask *task, const double scale[3], const double position[3], const double rotation[4],
                   double keypoint[KUKA_KEYPOINTS][3]);
KukaDistances kuka_distances(const KukaTask *task, const KukaState *state, const KukaView *view);

/* Resets the state for a new episode, except the tolerance curriculum. */
void kuka_start_episode(const KukaTask *task, KukaState *state);
/* Resets the minimum distances to those of `view`, after an episode has started (is_new_episode) or the goal
 * changed. */
void kuka_start_goal(const KukaTask *task, KukaState *state, const KukaView *view, bool is_new_episode);
/* Computes the step's reward and updates the state, including the tolerance. *ended: whether the episode has ended. */
KukaReward kuka_reward(const KukaTask *task, KukaState *state, const KukaView *view, bool *ended);

/* Computes IsaacGymEnvs' full_state, each value clipped to +-10: joint positions scaled to -1 .. 1, velocities; the
 * palm's position, the wrist's rotation, velocity and angular velocity; those of the cuboid; fingertips and keypoints
 * relative to the palm; keypoints relative to the goal's; scales; minimum distances so far; lifted, steps, goals; the
 * reward. Returns the number of values. */
int kuka_observe(const KukaTask *task, const KukaState *state, const KukaView *view, double *observation);

#endif
