/* The list of tasks (tasks.h). A new environment adds its way of creation and its facts here. */
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

static bool begins(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

bool task_is_environment(const char *name) {
  return begins(name, MUJOCO_PREFIX) || begins(name, PROCGEN_PREFIX) || begins(name, LIBRARY_PREFIX) ||
         bridge_env_has(name);
}

int env_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env) {
  const char *task = config->env.task;
  const EnvBatch batch = {.worlds = worlds, .seed = seed};
  const MujocoSettings mujoco = {.success_tolerance = config->hand.success_tolerance};
  if (begins(task, MUJOCO_PREFIX)) return mujoco_env_create(task + strlen(MUJOCO_PREFIX), &mujoco, &batch, env);
  if (begins(task, PROCGEN_PREFIX)) return procgen_env_create(config, &batch, env);
  if (begins(task, LIBRARY_PREFIX)) return library_env_create(config, &batch, env);
  if (bridge_env_has(task)) return bridge_env_create(config, &batch, env);
  return env_sim_create(config, worlds, seed, env);
}

int env_create_from_spaces(const CoreConfig *config, const char *spaces, Env **env) {
  if (bridge_env_has(config->env.task)) return bridge_env_create_from_spaces(config, spaces, env);
  return core_error(CORE_FAIL, "env.task = %.100s: environments of its kind are made, not read", config->env.task);
}

void env_append_warnings(const CoreConfig *config, CoreText *lines) {
  if (bridge_env_has(config->env.task)) bridge_env_append_warnings(config, lines);
}

static const TaskFacts levels[] = {
  {"loco512", "512 locomotion morphologies", 0, "by env.actions", 0},
  {"levels", "Kinetix level files, env.levels", 0, "by env.actions", 0},
  {"random_s", "Kinetix' generator of levels, size S", 0, "by env.actions", 0},
  {"random_m", "Kinetix' generator of levels, size M", 0, "by env.actions", 0},
  {"random_l", "Kinetix' generator of levels, size L", 0, "by env.actions", 0},
};
static const TaskFacts others[] = {
  {"gym/<id>", "any environment of Gymnasium, in Python: trainer tasks gym", 0, "its own", 0},
  {"library:<file>/<name>", "an environment in C of your own", 0, "its own", 0},
  {"atari/<Game>", "a game of the Arcade Learning Environment, in Python: trainer tasks atari", 0, "its own", 0},
  {"envpool/<id>", "any environment of EnvPool, in Python: trainer tasks envpool", 0, "its own", 0},
};
enum { OTHER_TASKS = sizeof others / sizeof *others };
enum { LEVEL_TASKS = sizeof levels / sizeof *levels };

static void mujoco_facts(const MujocoTask *task, TaskFacts *facts) {
  *facts = (TaskFacts){.observations = task->observations, .limit = task->limit};
  snprintf(facts->about, sizeof facts->about, "%s, on MuJoCo",
           task->family == MUJOCO_GYMNASIUM ? "Gymnasium's" : "Isaac Gym's");
  snprintf(facts->name, sizeof facts->name, MUJOCO_PREFIX "%s", task->name);
  snprintf(facts->actions, sizeof facts->actions, "%d in -%g .. %g", task->nu, (double)task->bound,
           (double)task->bound);
}

static void procgen_facts(const char *game, TaskFacts *facts) {
  *facts = (TaskFacts){.about = "Procgen's", .observations = PROCGEN_PIXELS, .actions = "15 classes"};
  snprintf(facts->name, sizeof facts->name, PROCGEN_PREFIX "%s", game);
}

/* Those of the simulator, of MuJoCo, of Procgen, of the bridge. */
bool task_facts(int i, TaskFacts *facts) {
  int first = LEVEL_TASKS;
  if (i < first) return *facts = levels[i], true;
  for (int k = 0; mujoco_task(k); k++, first++)
    if (i == first) return mujoco_facts(mujoco_task(k), facts), true;
  for (int k = 0; procgen_games[k]; k++, first++)
    if (i == first) return procgen_facts(procgen_games[k], facts), true;
  if (i < first + OTHER_TASKS) return *facts = others[i - first], true;
  return false;
}
