/* Lifting a cuboid from a table with an arm and a hand: goals, rewards, observations and the tolerance's curriculum of
 * IsaacGymEnvs' AllegroKukaRegrasping, AllegroKukaThrow and AllegroKukaReorientation, as formulas on plain numbers,
 * without a physics engine. Lengths in metres, angles in radians, rotations as rotation.h has them. Source:
 * IsaacGymEnvs 1.5.1, tasks/allegro_kuka, cfg/task/AllegroKuka.yaml and cfg/task/env. */
#ifndef TRAINER_HANDS_KUKA_H
#define TRAINER_HANDS_KUKA_H
#include <stdbool.h>

enum { KUKA_ARM = 7, KUKA_JOINTS = 23, KUKA_TIPS = 4, KUKA_KEYPOINTS = 4 };

/* Where goals are. */
typedef enum KukaGoals {
  KUKA_PLACES,     /* Regrasping: a place above the table; then the cuboid lies on the table again */
  KUKA_BUCKETS,    /* Throw: in a bucket beside the table; then the cuboid lies on the table again */
  KUKA_POSES,      /* Reorientation: a place and a rotation above the table */
} KukaGoals;

/* What the tasks differ in, by the names that the yaml files have. */
typedef struct KukaTask {
  KukaGoals goals;
  int length;            /* episodeLength: steps since the last goal was reached, or since the start */
  int success_steps;     /* successSteps: near the goal before it counts as reached */
  double tolerance;      /* successTolerance, at the beginning */
  double tightest;       /* targetSuccessTolerance */
  double force;          /* forceScale: random forces on the cuboid, in its weights / 9.81 */
  bool big, sticks;      /* withBigCuboids, withSticks; small ones are in all tasks */
} KukaTask;

/* What the agent is told of the episode so far. */
typedef struct KukaProgress {
  double steps, reached;         /* since the start or the last goal; goals */
  double lifted;                 /* 0 or 1 */
  double keypoint;               /* closest to the goal that the farthest keypoint was */
  double tip[KUKA_TIPS];         /* closest to the cuboid that each fingertip was */
} KukaProgress;

/* What a world remembers between steps beside its physics; only doubles, so that it can be kept as an array of them. */
typedef struct KukaState {
  double tolerance;              /* now; 0: the world has not begun */
  double since, ends, reached_before; /* since the tolerance last changed: steps, episodes, goals reached in these */
  double scale[3];               /* of the cuboid's sides, in KUKA_SIDE */
  double force[3], force_share;  /* the random force, in the cuboid's axes; how likely a new one is in a step */
  KukaProgress now, shown;       /* shown: as it was when the last step's reward began to be counted */
  double near;                   /* steps near the present goal */
  double reward;                 /* of the last step */
  double goal_due;               /* 1: the goal was reached in the last step */
} KukaState;
enum { KUKA_STATE = sizeof(KukaState) / sizeof(double) };

#define KUKA_SIDE 0.05           /* objectBaseSize */
#define KUKA_DENSITY 400.0       /* of cuboids, kg / m3 */
#define KUKA_GRAVITY 9.81        /* for the cuboid alone, m / s2 */
#define KUKA_TABLE_HEIGHT 0.53   /* of the table's top */
#define KUKA_START_HEIGHT 0.63   /* of the cuboid's centre, before noise; lifting is measured from it */
extern const double kuka_home[KUKA_JOINTS]; /* joints' positions at the start, before noise */

/* What rewards and observations look at, in the world's axes. */
typedef struct KukaView {
  const double *position, *speed; /* [KUKA_JOINTS], the arm's first */
  const double *range;            /* [KUKA_JOINTS][2], of positions */
  double wrist[3], wrist_rotation[4], wrist_velocity[3], wrist_spin[3]; /* of the arm's last link */
  double tip[KUKA_TIPS][3], tip_rotation[KUKA_TIPS][4];                 /* of the fingers' last links */
  double place[3], rotation[4], velocity[3], spin[3];                   /* of the cuboid */
  double goal[3], goal_rotation[4];
} KukaView;

/* Distances in a view. */
typedef struct KukaDistances {
  double tip[KUKA_TIPS];  /* of each fingertip from the cuboid's centre */
  double keypoint;        /* of the keypoint that is farthest from where the goal has it */
} KukaDistances;

/* A step's reward by its terms. hand_delta_penalty is always 0 in the source, and is left out. */
typedef struct KukaReward {
  double tips, lifting, lifted, keypoint, arm, hand, goal, total;
} KukaReward;

/* ---- cuboids ----------------------------------------------------------------------------------------------------- */

/* How many cuboids of different sides the task has, and the sides of number 0 .. count - 1, in KUKA_SIDE. Source:
 * tasks/allegro_kuka/generate_cuboids.py. */
int kuka_cuboids(const KukaTask *task);
void kuka_cuboid(const KukaTask *task, int number, double scale[3]);

/* ---- goals and starts, from numbers u that are uniform in 0 .. 1 ------------------------------------------------- */

/* Uniform over all rotations. Source: K. Shoemake, Uniform random rotations, Graphics Gems III, 1992. */
void kuka_random_rotation(const double u[3], double rotation[4]);
#define KUKA_IN_BUCKET 0.05      /* the goal's height in a bucket */
/* Where a goal is; of KUKA_BUCKETS the bucket's lower end. u[3] is for buckets only. */
void kuka_goal_place(const KukaTask *task, const double u[4], double place[3]);
/* The corner of the goals' volume that is farthest from `from`; KUKA_PLACES and KUKA_POSES. Gives its distance. */
double kuka_farthest_goal(const double from[3]);
/* The cuboid's place at the start: over the table. */
void kuka_start_place(const double u[3], double place[3]);
/* Joint j's position at the start, within its range. */
double kuka_start_joint(int j, double u, double low, double high);
/* Any joint's speed at the start. */
double kuka_start_speed(double u);
/* How likely a new random force is in each step of an episode. */
double kuka_force_share(double u);

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The target of joint j of range low .. high that an action in -1 .. 1 asks for: the arm's are speeds of the last
 * target, the hand's are targets. */
double kuka_target(int j, double action, double last, double low, double high);
/* What is left of a random force after a step. */
double kuka_force_left(void);

/* Places of the keypoints of a cuboid at a place: 1 (its centre) or 4. Gives how many. */
int kuka_keypoints(const KukaTask *task, const double scale[3], const double place[3], const double rotation[4],
                   double keypoint[KUKA_KEYPOINTS][3]);
KukaDistances kuka_distances(const KukaTask *task, const KukaState *state, const KukaView *view);

/* Begins an episode: what belongs to one is 0; the tolerance's curriculum goes on. */
void kuka_begin_episode(const KukaTask *task, KukaState *state);
/* After an episode began (`episode`) or the goal changed: the closest distances are those of this view. */
void kuka_begin_goal(const KukaTask *task, KukaState *state, const KukaView *view, bool episode);
/* The step's reward. Counts the step and the goal, tightens the tolerance. *ended: the episode is over. */
KukaReward kuka_reward(const KukaTask *task, KukaState *state, const KukaView *view, bool *ended);

/* IsaacGymEnvs' full_state, each number within +-10: joints' positions as shares of their ranges, speeds; the palm's
 * place, the wrist's rotation, velocity and spin; those of the cuboid; fingertips and keypoints from the palm;
 * keypoints from the goal's; scales; the closest distances so far; lifted, steps, goals; the reward. Gives how many. */
int kuka_observe(const KukaTask *task, const KukaState *state, const KukaView *view, double *observation);

#endif
