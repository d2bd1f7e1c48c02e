/* The table of tasks (mujoco_task.h). */
#include "trainer/envs/mujoco/mujoco_task.h"

#include <string.h>

#include "core/error.h"
#include "core/text.h"

#define SIZES(q, v, u, b) .nq = q, .nv = v, .nu = u, .bodies = b
#define UNIFORM(x) .qpos_noise = x, .qvel_noise = x
#define NORMAL(x) .qpos_noise = x, .qvel_noise = x, .normal = true
#define FORWARD(cost) .reward = MUJOCO_FORWARD, .forward = 1, .control = cost

#define CHEETAH \
  .model = "half_cheetah.xml", SIZES(9, 9, 6, 8), .observations = 17, .frame_skip = 5, .limit = 1000, .bound = 1, \
  NORMAL(0.1), .observation = MUJOCO_OBSERVE_STATE, .skip = 1, FORWARD(0.1)
#define HOPPER \
  .model = "hopper.xml", SIZES(6, 6, 3, 5), .observations = 11, .frame_skip = 4, .limit = 1000, .bound = 1, \
  UNIFORM(5e-3), .observation = MUJOCO_OBSERVE_STATE, .skip = 1, .clip = 10, FORWARD(1e-3), .healthy = 1, \
  .health = {.place = 1, .low = 0.7, .high = 1e300, .angle = 0.2, .state = 100}
#define WALKER \
  SIZES(9, 9, 6, 8), .observations = 17, .frame_skip = 4, .limit = 1000, .bound = 1, UNIFORM(5e-3), \
  .observation = MUJOCO_OBSERVE_STATE, .skip = 1, .clip = 10, FORWARD(1e-3), .healthy = 1, \
  .health = {.place = 1, .low = 0.8, .high = 2, .angle = 1}
#define SWIMMER \
  .model = "swimmer.xml", SIZES(5, 5, 2, 4), .observations = 8, .frame_skip = 4, .limit = 1000, .bound = 1, \
  UNIFORM(0.1), .observation = MUJOCO_OBSERVE_STATE, .skip = 2, FORWARD(1e-4)
#define ANT \
  .model = "ant.xml", SIZES(15, 14, 8, 14), .frame_skip = 5, .limit = 1000, .bound = 1, NORMAL(0.1), \
  .observation = MUJOCO_OBSERVE_STATE, .skip = 2, FORWARD(0.5), .place = MUJOCO_PLACE_TORSO, .healthy = 1, \
  .health = {.place = 2, .low = 0.2, .high = 1, .closed = true}
#define HUMANOID \
  .model = "humanoid.xml", SIZES(24, 23, 17, 14), .frame_skip = 5, .limit = 1000, .bound = 0.4f, \
  UNIFORM(0.01), .observation = MUJOCO_OBSERVE_BODIES, .skip = 2, .reward = MUJOCO_FORWARD, \
  .place = MUJOCO_PLACE_MASS, .forward = 1.25, .control = 0.1, .control_in_double = true, .healthy = 5, \
  .health = {.place = 2, .low = 1, .high = 2}
#define STANDUP \
  .model = "humanoidstandup.xml", SIZES(24, 23, 17, 14), .frame_skip = 5, .limit = 1000, .bound = 0.4f, \
  UNIFORM(0.01), .observation = MUJOCO_OBSERVE_BODIES, .skip = 2, .reward = MUJOCO_STAND, .control = 0.1, \
  .control_in_double = true, .contact = 0.5e-6, .contact_max = 10
#define PENDULUM \
  .model = "inverted_pendulum.xml", SIZES(2, 2, 1, 3), .observations = 4, .frame_skip = 2, .limit = 1000, \
  .bound = 3, UNIFORM(0.01), .observation = MUJOCO_OBSERVE_STATE, .reward = MUJOCO_UPRIGHT
#define POLES \
  .model = "inverted_double_pendulum.xml", SIZES(3, 3, 1, 4), .frame_skip = 5, .limit = 1000, .bound = 1, \
  NORMAL(0.1), .observation = MUJOCO_OBSERVE_POLES, .reward = MUJOCO_TIP
#define REACHER \
  .model = "reacher.xml", SIZES(4, 4, 2, 5), .frame_skip = 2, .limit = 50, .bound = 1, \
  .reset = MUJOCO_RESET_REACHER, .observation = MUJOCO_OBSERVE_ARM, .reward = MUJOCO_REACH, \
  .named = {"fingertip", "target"}

/* Source: IsaacGymEnvs 1.5.1, cfg/task/{Shadow,Allegro}Hand.yaml; places from tasks/{shadow,allegro}_hand.py. */
#define REORIENT \
  .goal_below = 0.04, .object_noise = 0.01, .joint_noise = 0.2, .speed = 20, .distance_scale = -10, \
  .rotation_scale = 1, .rotation_epsilon = 0.1, .action_scale = -0.0002, .tolerance = 0.1, .goal_bonus = 250, \
  .fall_distance = 0.24, .fall_penalty = 0
static const ReorientTask shadow = {.joints = 24, .tips = 5, .start = {0, -0.39, 0.6}, REORIENT};
static const ReorientTask allegro = {.joints = 16, .start = {0, -0.2, 0.56}, REORIENT};

/* Source: IsaacGymEnvs 1.5.1, cfg/task/env/{regrasping,throw,reorientation}.yaml. 50 goals end an episode. */
static const KukaTask regrasping = {.goals = KUKA_POSITIONS, .length = 400, .success_steps = 30, .tolerance = 0.075,
                                    .final_tolerance = 0.01, .force = 2, .big = true, .sticks = true};
static const KukaTask throwing = {.goals = KUKA_BUCKETS, .length = 300, .success_steps = 5, .tolerance = 0.075,
                                  .final_tolerance = 0.075};
static const KukaTask reorientation = {.goals = KUKA_POSES, .length = 600, .success_steps = 1, .tolerance = 0.075,
                                       .final_tolerance = 0.01, .force = 2, .big = true, .sticks = true};
#define KUKA \
  .family = MUJOCO_KUKA, .include = "allegro_kuka.xml", .release = 1, SIZES(30, 29, 23, 28), .frame_skip = 2, \
  .bound = 1, \
  .named = {"object", "link_7", "index_3", "middle_3", "ring_3", "thumb_3", "link_2"}

static const MujocoTask tasks[] = {
  {.name = "HalfCheetah-v4", .version = 4, CHEETAH},
  {.name = "HalfCheetah-v5", .version = 5, CHEETAH},
  {.name = "Hopper-v4", .version = 4, HOPPER},
  {.name = "Hopper-v5", .version = 5, HOPPER},
  {.name = "Walker2d-v4", .version = 4, WALKER, .model = "walker2d.xml"},
  {.name = "Walker2d-v5", .version = 5, WALKER, .model = "walker2d_v5.xml"},
  {.name = "Swimmer-v4", .version = 4, SWIMMER},
  {.name = "Swimmer-v5", .version = 5, SWIMMER},
  {.name = "Ant-v4", .version = 4, ANT, .observations = 27},
  {.name = "Ant-v5", .version = 5, ANT, .observations = 105, .forces = true, .contact = 5e-4},
  {.name = "Humanoid-v4", .version = 4, HUMANOID, .observations = 376},
  {.name = "Humanoid-v5", .version = 5, HUMANOID, .observations = 348, .contact = 5e-7, .contact_max = 10},
  {.name = "HumanoidStandup-v4", .version = 4, STANDUP, .observations = 376},
  {.name = "HumanoidStandup-v5", .version = 5, STANDUP, .observations = 348},
  {.name = "InvertedPendulum-v4", .version = 4, PENDULUM},
  {.name = "InvertedPendulum-v5", .version = 5, PENDULUM},
  {.name = "InvertedDoublePendulum-v4", .version = 4, POLES, .observations = 11},
  {.name = "InvertedDoublePendulum-v5", .version = 5, POLES, .observations = 9},
  {.name = "Reacher-v4", .version = 4, REACHER, .observations = 11},
  {.name = "Reacher-v5", .version = 5, REACHER, .observations = 10},
  {.name = "Pusher-v5", .version = 5, .model = "pusher_v5.xml", SIZES(11, 11, 7, 13), .observations = 23,
   .frame_skip = 5, .limit = 100, .bound = 2, .reset = MUJOCO_RESET_PUSHER, .observation = MUJOCO_OBSERVE_PUSH,
   .reward = MUJOCO_PUSH, .named = {"tips_arm", "object", "goal"}},
  {.name = "ShadowHand", .family = MUJOCO_REORIENT, .model = "shadow_hand.xml", .release = 1,
   .mujoco_include = "hand/robot.xml", SIZES(31, 30, 20, 29), .observations = 211, .frame_skip = 4, .limit = 600,
   .bound = 1,
   .reorient = &shadow,
   .named = {"object", "robot0:ffdistal", "robot0:mfdistal", "robot0:rfdistal", "robot0:lfdistal",
             "robot0:thdistal"}},
  {.name = "AllegroHand", .family = MUJOCO_REORIENT, .model = "allegro_hand.xml", .release = 1,
   SIZES(23, 22, 16, 21), .observations = 88, .frame_skip = 8, .limit = 600, .bound = 1, .reorient = &allegro,
   .named = {"object"}},
  {.name = "AllegroKukaRegrasping", KUKA, .model = "allegro_kuka_regrasping.xml", .observations = 99, .limit = 20000,
   .kuka = &regrasping},
  {.name = "AllegroKukaThrow", KUKA, .model = "allegro_kuka_throw.xml", .observations = 99, .limit = 15000,
   .kuka = &throwing},
  {.name = "AllegroKukaReorientation", KUKA, .model = "allegro_kuka_reorientation.xml", .observations = 117,
   .limit = 30000, .kuka = &reorientation},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

const MujocoTask *mujoco_task(int i) { return i < TASKS ? &tasks[i] : NULL; }

const MujocoTask *mujoco_task_find(const char *name) {
  for (int i = 0; i < TASKS; i++)
    if (strcmp(tasks[i].name, name) == 0) return &tasks[i];
  return NULL;
}

int mujoco_task_unknown(const char *name) {
  const char *names[TASKS];
  for (int i = 0; i < TASKS; i++) names[i] = tasks[i].name;
  const char *near = core_text_nearest(name, names, TASKS);
  return core_error(CORE_USAGE, "env.task = " MUJOCO_PREFIX "%.60s is not a MuJoCo task%s%s%s; trainer tasks lists "
                    "them", name, near ? "; did you mean " MUJOCO_PREFIX : "", near ? near : "", near ? "?" : "");
}

bool mujoco_task_has_forces(const MujocoTask *task) {
  return (task->reorient && task->reorient->tips > 0) || task->forces || task->observation == MUJOCO_OBSERVE_BODIES ||
         task->contact > 0;
}
