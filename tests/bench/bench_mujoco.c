/* MuJoCo tasks: environment steps per second of 512 worlds under random actions, compared with a bare loop of
 * mj_step on the same model with as many threads (step_HalfCheetah ...); memory of 10 000 worlds; and PPO end to end
 * with CleanRL's settings, 1 world x 2048 steps (ppo_HalfCheetah). Prints CSV.
 *
 * The bare loop is the minimum of an environment: an mjData per thread, the task's number of mj_step calls per
 * environment step, the same actions, and a reset where the task would end the episode, because a robot lying on the
 * ground has another cost than a standing one. It has no observations, rewards, random numbers or states of worlds. For
 * tasks with successive goals, whose rules give the effect of actions and the ends of episodes, the loop repeats the
 * targets and initial states recorded from one world, each thread from another position. Worlds are then at all ages of
 * an episode, because a falling object has another cost than one in a hand. Both alternate, and the results are medians
 * over the rounds. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/bench/bench_ppo.h"
#include "trainer/envs/mujoco/mujoco_env.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
enum { RECORDED = 32768, WORLDS = 512, MANY = 10000, TURNS = 9, ACTIONS = 16, AGES = 16 };
static const double turn_seconds = 0.4;

/* One task, and all that stepping it needs. */
typedef struct Bench {
  Env *env;
  MujocoModel *model;     /* model of the bare loop */
  float *actions;         /* [ACTIONS][WORLDS][values], uniform within the task's bounds */
  EnvStep out;
  int threads;
  double *targets;        /* [RECORDED][nu] that actuators got in a recorded world; NULL: the actions themselves */
  double *starts;         /* [episodes][model->state] first states */
  int *start;             /* [RECORDED] which of them comes before the step; -1: none */
  size_t *next;           /* [threads] the recorded step that a thread's bare loop comes to next */
} Bench;

static EnvStep make_step(const Env *env) {
  const size_t worlds = (size_t)env->worlds;
  return (EnvStep){
    .observations = core_memory_zero_allocate(worlds * (size_t)env->observation_length, sizeof(float)),
    .rewards = core_memory_zero_allocate(worlds, sizeof(float)),
    .dones = core_memory_zero_allocate(worlds, 1),
    .solved = core_memory_zero_allocate(worlds, 1),
    .episode_steps = core_memory_zero_allocate(worlds, sizeof(int32_t)),
  };
}

static void free_step(EnvStep *out) {
  free(out->observations);
  free(out->rewards);
  free(out->dones);
  free(out->solved);
  free(out->episode_steps);
}

static float *draw_actions(const Env *env) {
  const size_t count = (size_t)ACTIONS * WORLDS * (size_t)env->action_values;
  float *actions = core_memory_allocate(count * sizeof *actions);
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_RESET, 0, 0);
  for (size_t i = 0; i < count; i++)
    actions[i] = env->action_low +
                 (env->action_high - env->action_low) * (float)((double)core_random_next(&stream) * 0x1p-32);
  return actions;
}

/* ---- the two loops ----------------------------------------------------------------------------------------------- */

/* Seconds of `calls` steps of all worlds. */
static double step_ours(const Bench *bench, int calls) {
  const size_t set = (size_t)WORLDS * (size_t)bench->env->action_values;
  const double begun = bench_seconds();
  for (int i = 0; i < calls; i++)
    bench->env->step(bench->env, bench->actions + (size_t)(i % ACTIONS) * set, &bench->out);
  return bench_seconds() - begun;
}

/* Worlds go on by different numbers of steps, the last ones by nearly an episode. */
static void spread_ages(const Bench *bench) {
  Env *env = bench->env;
  const int limit = bench->model->task->limit, some = WORLDS / AGES;
  const size_t set = (size_t)WORLDS * (size_t)env->action_values;
  for (int i = 0; i < limit * (AGES - 1) / AGES; i++) {
    const int first = (i * AGES / limit + 1) * some;
    env->parts->step(env, first, WORLDS - first, bench->actions + (size_t)(i % ACTIONS) * set, &bench->out);
  }
}

static bool is_healthy(const MujocoHealth *health, const mjData *data) {
  const int at = health->place;
  return at == 0 || (data->qpos[at] > health->low && data->qpos[at] < health->high &&
                     (health->angle == 0 || fabs(data->qpos[at + 1]) < health->angle));
}

/* Environment steps of one thread, in one world. */
static void step_bare_thread(const Bench *bench, mjData *data, int64_t steps) {
  const MujocoTask *task = bench->model->task;
  const mjModel *model = bench->model->model;
  const float *actions = bench->actions + (size_t)omp_get_thread_num() * (size_t)task->nu;
  int length = 0;
  for (int64_t i = 0; i < steps; i++) {
    const float *action = actions + (size_t)(i % (ACTIONS * WORLDS / 2)) * (size_t)task->nu;
    for (int k = 0; k < task->nu; k++) data->ctrl[k] = (double)action[k];
    for (int k = 0; k < task->frame_skip; k++) mujoco.mj_step(model, data);
    if (++length < task->limit && is_healthy(&task->health, data)) continue;
    mujoco.mj_resetData(model, data);
    length = 0;
  }
}

static double draw(void *state) { return (double)core_random_next(state) * 0x1p-32; }

/* The next recorded episode's first state. */
static void record_start(Bench *bench, mjData *data, int episode) {
  const size_t length = (size_t)bench->model->state;
  bench->starts = core_memory_resize(bench->starts, (size_t)(episode + 1) * length * sizeof *bench->starts);
  mujoco.mj_getState(bench->model->model, data, bench->starts + (size_t)episode * length, mjSTATE_INTEGRATION);
}

/* One world under the task's rules and random actions. */
static void record(Bench *bench) {
  MujocoModel *model = bench->model;
  const size_t nu = (size_t)model->task->nu;
  mjData *data = model->data[0];
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_RESET, 1, 0);
  const MujocoRandom random = {draw, draw, &stream};
  bool ended = true;
  int episodes = 0, length = 0;
  bench->targets = core_memory_allocate(RECORDED * nu * sizeof *bench->targets);
  bench->start = core_memory_allocate(RECORDED * sizeof *bench->start);
  for (size_t i = 0; i < RECORDED; i++) {
    const float *action = bench->actions + i % (ACTIONS * WORLDS) * nu;
    double mark[MUJOCO_REFERENCE] = {0};
    bench->start[i] = ended ? episodes : -1;
    if (ended) {
      mujoco_reset(model, data, &random);
      record_start(bench, data, episodes++);
      length = 0;
    }
    ended = !mujoco_step(model, data, action);
    memcpy(bench->targets + i * nu, data->ctrl, nu * sizeof *bench->targets);
    if (!ended) mujoco_reward(model, data, action, mark, &ended);
    ended |= ++length == model->task->limit;
    if (!ended) mujoco_advance(model, data, &random);
  }
}

/* Sets the threads' starting points: initial states of episodes, spread over the record. */
static void place_threads(Bench *bench) {
  bench->next = core_memory_allocate((size_t)bench->threads * sizeof *bench->next);
  for (int i = 0; i < bench->threads; i++) {
    size_t at = (size_t)i * RECORDED / (size_t)bench->threads;
    while (bench->start[at] < 0) at = (at + 1) % RECORDED;
    bench->next[i] = at;
  }
}

static void step_recorded_thread(const Bench *bench, mjData *data, int64_t steps) {
  const MujocoTask *task = bench->model->task;
  mjModel *model = mujoco_model_of(bench->model, data);
  size_t at = bench->next[omp_get_thread_num()];
  for (int64_t i = 0; i < steps; i++, at = (at + 1) % RECORDED) {
    if (bench->start[at] >= 0)
      mujoco_load(bench->model, data, bench->starts + (size_t)(bench->start[at] * bench->model->state));
    memcpy(data->ctrl, bench->targets + at * (size_t)task->nu, (size_t)task->nu * sizeof *data->ctrl);
    for (int k = 0; k < task->frame_skip; k++) mujoco.mj_step(model, data);
  }
  bench->next[omp_get_thread_num()] = at;
}

/* Seconds of as many environment steps as `calls` calls of the other. */
static double step_bare(const Bench *bench, int calls) {
  const double begun = bench_seconds();
#pragma omp parallel num_threads(bench->threads)
  (bench->targets ? step_recorded_thread : step_bare_thread)(bench, bench->model->data[omp_get_thread_num()],
                                                             (int64_t)calls * WORLDS / bench->threads);
  return bench_seconds() - begun;
}

/* ---- one task ---------------------------------------------------------------------------------------------------- */

static void time_task(const Bench *bench, const char *name) {
  double ours[TURNS], bare[TURNS], share[TURNS];
  if (bench->targets) spread_ages(bench);
  else step_ours(bench, 40); /* past the first falls */
  const double once = step_ours(bench, 10) / 10;
  const int calls = 1 + (int)(turn_seconds / once);
  const double steps = (double)calls * WORLDS;
  step_bare(bench, calls);
  for (int i = 0; i < TURNS; i++) {
    ours[i] = steps / step_ours(bench, calls);
    bare[i] = steps / step_bare(bench, calls);
    share[i] = 100 * ours[i] / bare[i];
  }
  bench_row("mujoco", name, "steps_per_second", bench_median(ours, TURNS), "environment steps/s", bench->threads);
  bench_row("mujoco", name, "bare mj_step", bench_median(bare, TURNS), "environment steps/s", bench->threads);
  bench_row("mujoco", name, "share of bare mj_step", bench_median(share, TURNS), "%", bench->threads);
}

static int bench_task(const char *task, const char *name) {
  const EnvBatch batch = {.worlds = WORLDS, .seed = 1};
  Bench bench = {0};
  TRY(mujoco_env_create(task, NULL, &batch, &bench.env));
  TRY(mujoco_model_create(mujoco_task_find(task), &bench.model));
  bench.threads = mujoco_model_threads(bench.model, WORLDS);
  bench.out = make_step(bench.env);
  bench.actions = draw_actions(bench.env);
  bench.env->reset(bench.env, bench.out.observations);
  if (bench.model->goals) {
    record(&bench);
    place_threads(&bench);
  }
  time_task(&bench, name);
  free(bench.actions);
  free(bench.targets);
  free(bench.starts);
  free(bench.start);
  free(bench.next);
  free_step(&bench.out);
  mujoco_model_release(bench.model);
  bench.env->destroy(bench.env);
  return CORE_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static double resident_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Memory of 10 000 worlds and the task's model, measured around their creation and first steps. The arrays
 * that observations go to are not counted: they are the trainer's. */
static int bench_memory(const char *task, const char *name, int threads) {
  const EnvBatch batch = {.worlds = MANY, .seed = 1};
  const double before = resident_bytes();
  Env *env;
  TRY(mujoco_env_create(task, NULL, &batch, &env));
  EnvStep out = make_step(env);
  const double actions_bytes = (double)MANY * env->action_values * sizeof(float);
  float *actions = core_memory_zero_allocate((size_t)MANY * (size_t)env->action_values, sizeof *actions);
  env->reset(env, out.observations);
  for (int i = 0; i < 3; i++) env->step(env, actions, &out);
  const double arrays = (double)MANY * (env->observation_length * 4.0 + 10) + actions_bytes;
  bench_row("mujoco", name, "memory of 10000 worlds", (resident_bytes() - before - arrays) * 1e-6, "MB", threads);
  free(actions);
  free_step(&out);
  env->destroy(env);
  return CORE_OK;
}

/* ---- PPO end to end ---------------------------------------------------------------------------------------------- */

/* CleanRL's ppo_continuous_action. */
static const char *const cheetah[][2] = {
  {"env.task", "mujoco/HalfCheetah-v4"}, {"env.num", "1"}, {"env.normalize_observations", "cleanrl"},
  {"env.normalize_rewards", "cleanrl"}, {"train.total_steps", "1e6"}, {"ppo.num_steps", "2048"},
  {"ppo.num_minibatches", "32"}, {"ppo.epochs", "10"}, {"ppo.gamma", "0.99"}, {"ppo.gae_lambda", "0.95"},
  {"ppo.lr_schedule", "linear"}, {"ppo.entropy_coef", "0"}, {"ppo.norm_epsilon", "1e-6"},
  {"ppo.normalize_advantage", "minibatch_unbiased"}, {"net.sharing", "joint"}, {"net.width", "64"},
  {"net.depth", "2"}, {0}};

/* bench_mujoco [PART]: only tasks whose names have this part. */
int main(int count, char **arguments) {
  static const char *const tasks[][2] = {{"HalfCheetah-v4", "step_HalfCheetah"}, {"Ant-v4", "step_Ant"},
                                         {"Humanoid-v4", "step_Humanoid"}, {"Walker2d-v4", "step_Walker2d"},
                                         {"ShadowHand", "step_ShadowHand"}, {"AllegroHand", "step_AllegroHand"},
                                         {"AllegroKukaRegrasping", "step_AllegroKukaRegrasping"},
                                         {"AllegroKukaThrow", "step_AllegroKukaThrow"},
                                         {"AllegroKukaReorientation", "step_AllegroKukaReorientation"}};
  const int threads = omp_get_num_procs();
  const char *part = count > 1 ? arguments[1] : "";
  int code = *part ? CORE_OK : bench_memory("Humanoid-v4", "worlds_Humanoid", threads);
  for (size_t i = 0; code == CORE_OK && i < sizeof tasks / sizeof *tasks; i++)
    if (strstr(tasks[i][0], part)) code = bench_task(tasks[i][0], tasks[i][1]);
  if (code == CORE_OK && !*part) code = bench_ppo("mujoco", "ppo_HalfCheetah", cheetah, threads);
  if (code != CORE_OK) printf("# mujoco: %s\n", core_error_message());
  return code == CORE_OK ? 0 : 1;
}
#else
int main(void) {
  printf("# mujoco: no rows, for this was built without MuJoCo; make mujoco fetches it\n");
  return 0;
}
#endif
