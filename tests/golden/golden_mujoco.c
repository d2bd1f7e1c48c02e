/* golden_mujoco DIR [FILE...]: plays the actions of each TASK.gold of DIR (made by Gymnasium itself) and compares every
 * observation, reward and end, and every seeded reset. With the MuJoCo that made the files, on an x86-64 processor with
 * fused multiply-add, all must be equal; elsewhere the first 20 steps after a reset, within 1e-9. It prints which
 * applies. One line per file; exit status 0: all ok, 1: a deviation or a damaged file, 2: wrong usage, 77: no
 * MuJoCo. */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "tests/golden/golden_numpy.h"
#include "tests/golden/golden_read.h"
#include "trainer/envs/mujoco/mujoco_rules.h"

enum { NO_MUJOCO = 77, EARLY = 20 };

#if CORE_HAS_MUJOCO
enum { MADE_BY = 4000000 };
static const double elsewhere = 1e-9;
static const double last_digit = 1e-15; /* normal noise: numpy's table of layers is rounded differently */

typedef struct Result {
  size_t values, resets;
  double worst;            /* largest deviation that counts */
  double reset_worst;      /* maximum error of seeded resets */
  int wrong_ends;
  const char *fault;
} Result;

/* One file: its tensors, and the world that plays it. */
typedef struct Play {
  Gold gold;
  MujocoModel *model;
  mjData *data;
  bool exact;
  size_t runs, steps, next_reset;
  double *action, *reset_at, *qpos, *qvel, *reset_observation, *observation, *reward, *terminated, *truncated, *seed;
  size_t resets;
  Numpy numpy;
  Result *result;
} Play;

static double *tensor(Play *play, const char *name, size_t *n) {
  const GoldEntry *entry = gold_find(&play->gold, name);
  *n = entry ? gold_elements(entry) : 0;
  if (entry == NULL) play->result->fault = name;
  double *values = core_memory_zero_allocate(*n + 1, sizeof *values);
  for (size_t i = 0; i < *n; i++) values[i] = gold_element(&play->gold, entry, i);
  return values;
}

static double deviation(double ours, double truth) {
  if (ours == truth || (isnan(ours) && isnan(truth))) return 0;
  return isfinite(ours) && isfinite(truth) ? fabs(ours - truth) : INFINITY;
}

static void compare(Play *play, const double *ours, const double *truth, size_t n, size_t since_reset) {
  if (!play->exact && since_reset > EARLY) return;
  for (size_t i = 0; i < n; i++) play->result->worst = fmax(play->result->worst, deviation(ours[i], truth[i]));
  play->result->values += n;
}

/* The next reset from its known state, and the same one drawn by numpy's generator. */
static void reset(Play *play) {
  const MujocoTask *task = play->model->task;
  const size_t k = play->next_reset++, nq = (size_t)task->nq, nv = (size_t)task->nv;
  double seen[MUJOCO_OBSERVATIONS_MAX];
  mujoco_reset(play->model, play->data, &(MujocoRandom){numpy_uniform, numpy_normal, &play->numpy});
  for (size_t i = 0; i < nq; i++)
    play->result->reset_worst = fmax(play->result->reset_worst, deviation(play->data->qpos[i], play->qpos[k * nq + i]));
  for (size_t i = 0; i < nv; i++)
    play->result->reset_worst = fmax(play->result->reset_worst, deviation(play->data->qvel[i], play->qvel[k * nv + i]));
  mujoco_reset_to(play->model, play->data, play->qpos + k * nq, play->qvel + k * nv);
  mujoco_observe(play->model, play->data, seen);
  compare(play, seen, play->reset_observation + k * (size_t)task->observations, (size_t)task->observations, 0);
  play->result->resets++;
}

static bool is_reset_at(const Play *play, size_t run, size_t step) {
  const size_t k = play->next_reset;
  return k < play->resets && play->reset_at[2 * k] == (double)run && play->reset_at[2 * k + 1] == (double)step;
}

static void play_step(Play *play, size_t row, int since_reset) {
  const MujocoTask *task = play->model->task;
  const size_t seen = (size_t)task->observations;
  float action[MUJOCO_OBSERVATIONS_MAX];
  double observation[MUJOCO_OBSERVATIONS_MAX], mark[MUJOCO_REFERENCE];
  bool ended;
  for (int i = 0; i < task->nu; i++) action[i] = (float)play->action[row * (size_t)task->nu + (size_t)i];
  mujoco_reward_reference(play->model, play->data, mark);
  if (!mujoco_step(play->model, play->data, action)) play->result->fault = "numbers that are not finite";
  const double reward = mujoco_reward(play->model, play->data, action, mark, &ended);
  mujoco_observe(play->model, play->data, observation);
  compare(play, observation, play->observation + row * seen, seen, (size_t)since_reset);
  compare(play, &reward, play->reward + row, 1, (size_t)since_reset);
  if (!play->exact && since_reset > EARLY) return;
  play->result->wrong_ends += ended != (play->terminated[row] != 0);
  play->result->wrong_ends += (since_reset == task->limit) != (play->truncated[row] != 0);
}

static void play_runs(Play *play) {
  for (size_t run = 0; run < play->runs; run++) {
    int since_reset = 0;
    play->numpy = numpy_seed((uint64_t)play->seed[run]);
    for (size_t step = 0; step < play->steps; step++) {
      if (is_reset_at(play, run, step)) {
        reset(play);
        since_reset = 0;
      }
      play_step(play, run * play->steps + step, ++since_reset);
    }
  }
}

static void play_file(Play *play) {
  const MujocoTask *task = play->model->task;
  size_t n[10];
  play->seed = tensor(play, "in/seed", &play->runs);
  play->action = tensor(play, "in/action", &n[0]);
  play->reset_at = tensor(play, "in/reset_at", &n[1]);
  play->qpos = tensor(play, "in/reset_qpos", &n[2]);
  play->qvel = tensor(play, "in/reset_qvel", &n[3]);
  play->reset_observation = tensor(play, "out/reset_obs", &n[4]);
  play->observation = tensor(play, "out/obs", &n[5]);
  play->reward = tensor(play, "out/reward", &n[6]);
  play->terminated = tensor(play, "out/terminated", &n[7]);
  play->truncated = tensor(play, "out/truncated", &n[8]);
  play->resets = n[1] / 2;
  play->steps = play->runs ? n[6] / play->runs : 0;
  const size_t rows = play->runs * play->steps, seen = (size_t)task->observations;
  const bool fits = rows > 0 && n[0] == rows * (size_t)task->nu && n[2] == play->resets * (size_t)task->nq &&
                    n[3] == play->resets * (size_t)task->nv && n[4] == play->resets * seen && n[5] == rows * seen &&
                    n[6] == rows && n[7] == rows && n[8] == rows;
  if (play->result->fault == NULL && !fits) play->result->fault = "tensors of other shapes than the task's";
  if (play->result->fault == NULL) play_runs(play);
  if (play->result->fault == NULL && play->next_reset != play->resets) play->result->fault = "resets out of order";
  double *const all[] = {play->seed, play->action, play->reset_at, play->qpos, play->qvel, play->reset_observation,
                         play->observation, play->reward, play->terminated, play->truncated};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static bool is_exact_here(void) {
#if defined(__x86_64__)
  return mjVERSION_HEADER == MADE_BY && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

/* Returns the task, the first part of the file's name. */
static const MujocoTask *task_of(const char *file) {
  const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "_."), base);
  return mujoco_task_find(name);
}

static bool run_file(const char *directory, const char *file) {
  char path[4096];
  Result result = {0};
  Play play = {.result = &result, .exact = is_exact_here()};
  const MujocoTask *task = task_of(file);
  snprintf(path, sizeof path, "%s/%s", directory, file);
  if (task == NULL) {
    printf("%-32s not ok: no task of this name\n", file);
    return false;
  }
  if (gold_open(&play.gold, path) != CORE_OK || mujoco_model_create(task, &play.model) != CORE_OK) {
    printf("%-32s not ok: %s\n", file, core_error_message());
    gold_close(&play.gold);
    return false;
  }
  play.data = play.model->data[0];
  play_file(&play);
  const double allowed = play.exact ? 0 : elsewhere;
  const bool good = result.fault == NULL && result.values > 0 && result.worst <= allowed && result.wrong_ends == 0 &&
                    result.reset_worst <= fmax(allowed, task->normal ? last_digit : 0);
  printf("%-32s %8zu values  deviation %g  %d wrong ends  %zu seeded resets %g  %s%s%s\n", file, result.values,
         result.worst, result.wrong_ends, result.resets, result.reset_worst, good ? "ok" : "not ok",
         result.fault ? ": " : "", result.fault ? result.fault : "");
  mujoco_model_release(play.model);
  gold_close(&play.gold);
  return good;
}

static int is_gold(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".gold") == 0;
}

static int run(const char *directory, char **names, int count) {
  struct dirent **entries = NULL;
  int bad = 0;
  if (mujoco_library_open() != CORE_OK) {
    fprintf(stderr, "golden_mujoco: %s\n", core_error_message());
    return NO_MUJOCO;
  }
  const int files = count > 0 ? count : scandir(directory, &entries, is_gold, alphasort);
  if (files <= 0) {
    fprintf(stderr, "golden_mujoco: %s %s\n", files < 0 ? "cannot read the folder" : "no .gold files in", directory);
    return CORE_USAGE;
  }
  printf("MuJoCo %s, %s\n", mujoco_library_version(), is_exact_here()
           ? "as the files were made: nothing may deviate"
           : "not as the files were made (4.0.0 on x86-64 with FMA): 1e-9 in the first 20 steps");
  for (int i = 0; i < files; i++) {
    bad += !run_file(directory, entries ? entries[i]->d_name : names[i]);
    if (entries) free(entries[i]);
  }
  free(entries);
  printf("%d files ok, %d not ok\n", files - bad, bad);
  return bad ? CORE_FAIL : CORE_OK;
}
#else
static int run(const char *directory, char **names, int count) {
  (void)directory, (void)names, (void)count;
  mujoco_library_open();
  fprintf(stderr, "golden_mujoco: %s\n", core_error_message());
  return NO_MUJOCO;
}
#endif

int main(int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-') {
    fprintf(stderr, "usage: golden_mujoco DIR [FILE...]\nCompares Gymnasium's MuJoCo tasks with the .gold files of "
            "DIR.\n");
    return CORE_USAGE;
  }
  return run(argv[1], argv + 2, argc - 2);
}
