/* Registry of tasks (tasks.h). A new environment adds its constructor and its description here. */
#include "trainer/envs/tasks/tasks.h"

#include <stdio.h>
#include <string.h>

#include "trainer/envs/bridge/bridge_env.h"
#include "trainer/envs/library/library_env.h"
#include "trainer/envs/mujoco/mujoco_env.h"
#include "trainer/envs/mujoco/mujoco_task.h"
#include "trainer/envs/procgen/procgen_env.h"
#include "trainer/envs/procgen/procgen_game.h"
#include "trainer/envs/sim.h"

static bool has_prefix(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

bool task_is_environment(const char *name) {
  return has_prefix(name, MUJOCO_PREFIX) || has_prefix(name, PROCGEN_PREFIX) || has_prefix(name, LIBRARY_PREFIX) ||
         bridge_env_has(name);
}

int env_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env) {
  const char *task = config->env.task;
  const EnvBatch batch = {.worlds = worlds, .seed = seed};
  const MujocoSettings mujoco = {.success_tolerance = config->hand.success_tolerance};
  if (has_prefix(task, MUJOCO_PREFIX)) return mujoco_env_create(task + strlen(MUJOCO_PREFIX), &mujoco, &batch, env);
  if (has_prefix(task, PROCGEN_PREFIX)) return procgen_env_create(config, &batch, env);
  if (has_prefix(task, LIBRARY_PREFIX)) return library_env_create(config, &batch, env);
  if (bridge_env_has(task)) return bridge_env_create(config, &batch, env);
  return env_sim_create(config, worlds, seed, env);
}

int env_create_from_spaces(const CoreConfig *config, const char *spaces, Env **env) {
  if (bridge_env_has(config->env.task)) return bridge_env_create_from_spaces(config, spaces, env);
  return core_error(CORE_FAIL, "env.task = %.100s: this environment cannot be created from its spaces",
                    config->env.task);
}

void env_append_warnings(const CoreConfig *config, CoreText *lines) {
  if (bridge_env_has(config->env.task)) bridge_env_append_warnings(config, lines);
}

static const TaskInfo levels[] = {
  {"loco512", "512 locomotion morphologies", 0, "by env.actions", 0},
  {"levels", "Kinetix level files, env.levels", 0, "by env.actions", 0},
  {"random_s", "Kinetix' level generator, size S", 0, "by env.actions", 0},
  {"random_m", "Kinetix' level generator, size M", 0, "by env.actions", 0},
  {"random_l", "Kinetix' level generator, size L", 0, "by env.actions", 0},
};
static const TaskInfo others[] = {
  {"gym/<id>", "any environment of Gymnasium, in Python: trainer tasks gym", 0, "varies", 0},
  {"library:<file>/<name>", "a user-defined environment in C", 0, "varies", 0},
  {"atari/<Game>", "a game of the Arcade Learning Environment, in Python: trainer tasks atari", 0, "varies", 0},
  {"envpool/<id>", "any environment of EnvPool, in Python: trainer tasks envpool", 0, "varies", 0},
};
enum { OTHER_TASKS = sizeof others / sizeof *others };
enum { LEVEL_TASKS = sizeof levels / sizeof *levels };

static void mujoco_info(const MujocoTask *task, TaskInfo *info) {
  *info = (TaskInfo){.observations = task->observations, .limit = task->limit};
  snprintf(info->about, sizeof info->about, "%s, on MuJoCo",
           task->family == MUJOCO_GYMNASIUM ? "Gymnasium's" : "Isaac Gym's");
  snprintf(info->name, sizeof info->name, MUJOCO_PREFIX "%s", task->name);
  snprintf(info->actions, sizeof info->actions, "%d in -%g .. %g", task->nu, (double)task->bound,
           (double)task->bound);
}

/* Lists the tasks of the simulator, MuJoCo, Procgen, Python and libraries. */
bool task_info(int i, TaskInfo *info) {
  int first = LEVEL_TASKS;
  if (i < first) {
    *info = levels[i];
    return true;
  }

  for (int k = 0; mujoco_task(k); k++, first++) {
    if (i != first) continue;
    mujoco_info(mujoco_task(k), info);
    return true;
  }

  for (int k = 0; procgen_games[k]; k++, first++) {
    if (i != first) continue;
    *info = (TaskInfo){.about = "Procgen's", .observations = PROCGEN_PIXELS, .actions = "15 classes"};
    snprintf(info->name, sizeof info->name, PROCGEN_PREFIX "%s", procgen_games[k]);
    return true;
  }

  if (i >= first + OTHER_TASKS) return false;
  *info = others[i - first];
  return true;
}
