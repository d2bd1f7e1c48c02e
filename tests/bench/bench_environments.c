/* Third-party environments in the trainer: a round trip of the bridge, and environment steps per second without a
 * policy, under random actions, compared with the same environment in plain Python. Prints CSV.
 *
 *   bridge    a round trip of 256 worlds that do nothing (peers/sitecustomize.py), from the actions to the observations
 *             in the trainer's buffers, without the step's own time, which the environment reports. bridge_busy: next
 *             to a busy program per processor
 *   CartPole  256 worlds through the bridge; peers: the same vector class, and Gymnasium's own vectorized one
 *   Breakout  CleanRL's preprocessing, complete games; peer: AtariVectorEnv with a thread per processor.
 *             Breakout_lives: a lost life ends the episode. Ours then plays three steps that are not counted, as
 *             CleanRL's wrappers do; the peer cannot, and continues
 *   starpilot 64 worlds in this process; peer: ProcgenGym3Env, which has its own threads
 *
 *   ppo_Breakout, ppo_starpilot  PPO end to end with CleanRL's settings, rollout and update; starpilot with 32 steps
 *             and one minibatch, because its 256 and eight take minutes. ppo_Breakout_together, ..._halves: with two
 *             workers and comm.deterministic, by train.rollout_halves
 *
 * Ours and the peers alternate; the results are medians over the rounds. SWEEP_PYTHON is the trainer's Python,
 * PEER_ENVIRONMENTS that of the peers (default: the same).
 *
 * Usage: bench_environments [CASE ...]    only these */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/bench/bench_peer.h"
#include "tests/bench/bench_ppo.h"
#include "trainer/envs/tasks/tasks.h"

enum { TURNS = 7, ACTIONS = 16, BRIDGE_TURNS = 20000, BUSY_TURNS = 2000 };
static const double turn_seconds = 1.0;

typedef struct Case {
  const char *name;       /* name in the rows */
  const char *task, *encoder;
  const char *setting;    /* one more, NAME=VALUE; NULL: none */
  int worlds, workers;
  const char *peer, *peer_name; /* environment for environment_steps.py, and its name in rows; NULL: none */
  const char *other, *other_name; /* a second one, which takes no turns */
} Case;

typedef struct Bench {
  Env *env;
  uint8_t *actions;       /* [ACTIONS][worlds] */
  EnvStep out;
  int next;               /* index of the next actions */
} Bench;

static int open_bench(const Case *wanted, Bench *bench) {
  CoreConfig config = core_config_default();
  char workers[16];
  *bench = (Bench){0};
  snprintf(workers, sizeof workers, "%d", wanted->workers);
  TRY(core_config_set(&config, "env.task", wanted->task));
  TRY(core_config_set(&config, "env.workers", workers));
  TRY(core_config_set(&config, "net.encoder", wanted->encoder));
  if (wanted->setting) TRY(core_config_set_pair(&config, wanted->setting));
  TRY(env_create(&config, wanted->worlds, 1, &bench->env));
  const size_t worlds = (size_t)wanted->worlds, rows = worlds * (size_t)bench->env->observation_length;
  bench->actions = core_memory_allocate(ACTIONS * worlds);
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_RESET, 0, 0);
  for (size_t i = 0; i < ACTIONS * worlds; i++)
    bench->actions[i] = (uint8_t)(core_random_next(&stream) % (uint32_t)bench->env->head.size[0]);
  bench->out = (EnvStep){
    .observations = core_memory_zero_allocate(rows, sizeof(float)),
    .rewards = core_memory_zero_allocate(worlds, sizeof(float)),
    .dones = core_memory_zero_allocate(worlds, 1),
    .solved = core_memory_zero_allocate(worlds, 1),
    .episode_steps = core_memory_zero_allocate(worlds, sizeof(int32_t)),
  };
  bench->env->reset(bench->env, bench->out.observations);
  return env_check(bench->env);
}

static void close_bench(Bench *bench) {
  env_destroy(&bench->env);
  free(bench->actions);
  free(bench->out.observations);
  free(bench->out.rewards);
  free(bench->out.dones);
  free(bench->out.solved);
  free(bench->out.episode_steps);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void step(Bench *bench) {
  const size_t at = (size_t)(bench->next++ % ACTIONS) * (size_t)bench->env->worlds;
  bench->env->step(bench->env, bench->actions + at, &bench->out);
}

/* Returns the environment steps per second over the next `seconds`. */
static double step_ours(Bench *bench, double seconds) {
  const double start = bench_seconds();
  double passed;
  int64_t steps = 0;
  do {
    for (int i = 0; i < 4; i++) step(bench), steps += bench->env->worlds;
    passed = bench_seconds() - start;
  } while (passed < seconds);
  return (double)steps / passed;
}

static void time_other(const Case *wanted, int threads) {
  BenchPeer peer;
  double speed[TURNS];
  if (!bench_peer_start(&peer, getenv("PEER_ENVIRONMENTS"), wanted->other, wanted->worlds, threads)) return;
  for (int i = -1; i < 3; i++) speed[i < 0 ? 0 : i] = bench_peer_turn(&peer, turn_seconds);
  bench_row("environments", wanted->name, wanted->other_name, bench_median(speed, 3), "environment steps/s", threads);
  bench_peer_end(&peer);
}

static int time_case(const Case *wanted) {
  const int threads = omp_get_num_procs();
  double ours[TURNS], theirs[TURNS], share[TURNS];
  char metric[128];
  Bench bench;
  BenchPeer peer = {0};
  int code = open_bench(wanted, &bench);
  const bool paired = code == CORE_OK && wanted->peer &&
                      bench_peer_start(&peer, getenv("PEER_ENVIRONMENTS"), wanted->peer, wanted->worlds, threads);
  if (code == CORE_OK) step_ours(&bench, turn_seconds);
  if (paired) bench_peer_turn(&peer, turn_seconds);
  for (int i = 0; code == CORE_OK && i < TURNS; i++) {
    ours[i] = step_ours(&bench, turn_seconds);
    theirs[i] = paired ? bench_peer_turn(&peer, turn_seconds) : 0;
    share[i] = theirs[i] > 0 ? 100 * ours[i] / theirs[i] : 0;
    code = env_check(bench.env);
  }
  if (code == CORE_OK)
    bench_row("environments", wanted->name, "steps_per_second", bench_median(ours, TURNS), "environment steps/s",
              threads);
  if (code == CORE_OK && paired) {
    bench_row("environments", wanted->name, wanted->peer_name, bench_median(theirs, TURNS), "environment steps/s",
              threads);
    snprintf(metric, sizeof metric, "share of %s", wanted->peer_name);
    bench_row("environments", wanted->name, metric, bench_median(share, TURNS), "%", threads);
  }
  bench_peer_end(&peer);
  close_bench(&bench);
  if (code == CORE_OK && wanted->other) time_other(wanted, threads);
  return code;
}

/* ---- a turn of the bridge ---------------------------------------------------------------------------------------- */

/* µs; the reward of world 0 is how long the environment's own step took. */
static int time_turns(const char *name, int turns) {
  static const Case still = {"bridge", "gym/Still-v0", "none", 0, 256, 1, 0, 0, 0, 0};
  double *beyond = core_memory_allocate((size_t)turns * sizeof *beyond);
  double *whole = core_memory_allocate((size_t)turns * sizeof *whole);
  Bench bench;
  setenv("SWEEP_BENCH_STILL", "1", 1);
  int code = open_bench(&still, &bench);
  unsetenv("SWEEP_BENCH_STILL");
  for (int i = -turns / 20; code == CORE_OK && i < turns; i++) {
    const double start = bench_seconds();
    step(&bench);
    const double took = 1e6 * (bench_seconds() - start);
    if (i >= 0) whole[i] = took, beyond[i] = took - (double)bench.out.rewards[0];
  }
  if (code == CORE_OK) code = env_check(bench.env);
  if (code == CORE_OK) {
    const int threads = omp_get_num_procs();
    bench_row("environments", name, "turn of 256 worlds", bench_median(whole, turns), "us", threads);
    bench_row("environments", name, "turn beyond the environment", bench_median(beyond, turns), "us", threads);
    bench_row("environments", name, "the same; 99 of 100 below", beyond[turns / 100 * 99], "us", threads);
  }
  close_bench(&bench);
  free(beyond), free(whole);
  return code;
}

/* Measures next to other programs, one per processor. */
static int time_turns_busy(const char *name, int turns) {
  pid_t busy[256];
  const int count = omp_get_num_procs() < 256 ? omp_get_num_procs() : 256;
  int made = 0, code = CORE_OK;
  for (; code == CORE_OK && made < count; made += code == CORE_OK) {
    if ((busy[made] = fork()) == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile int forever = 1; forever;) continue;
    }
    if (busy[made] < 0) code = core_error_errno(CORE_FAIL, "another process");
  }
  if (code == CORE_OK) code = time_turns(name, turns);
  for (int i = 0; i < made; i++) kill(busy[i], SIGKILL), waitpid(busy[i], NULL, 0);
  return code;
}

/* A missing package is reported as a comment; a failure is a failure. */
static bool tell(const char *name, int code) {
  if (code != CORE_OK) printf("# environments, %s: %s\n", name, core_error_message());
  return code == CORE_OK || code == CORE_USAGE;
}

static const char vector[] = "AtariVectorEnv in Python", whole_games[] = "atari.episodic_life=no";
static const Case cases[] = {
  {"CartPole", "gym/CartPole-v1", "none", 0, 256, 1, "gym/CartPole-v1", "SyncVectorEnv in Python",
   "vector/CartPole-v1", "Gymnasium's vectorized class in Python"},
  {"Breakout_8", "atari/Breakout", "nature", whole_games, 8, 1, "atari/breakout", vector, 0, 0},
  {"Breakout_64", "atari/Breakout", "nature", whole_games, 64, 1, "atari/breakout", vector, 0, 0},
  {"Breakout_lives_8", "atari/Breakout", "nature", 0, 8, 1, "atari/breakout", vector, 0, 0},
  {"Breakout_lives_64", "atari/Breakout", "nature", 0, 64, 1, "atari/breakout", vector, 0, 0},
  {"Breakout_lives_64_two_workers", "atari/Breakout", "nature", 0, 64, 2, "atari/breakout", vector, 0, 0},
  {"starpilot", "procgen/starpilot", "impala", 0, 64, 1, "procgen/starpilot", "ProcgenGym3Env in Python", 0, 0},
};

/* CleanRL's ppo_atari and ppo_procgen. */
#define CLEANRL \
  {"env.workers", "1"}, {"ppo.gae_lambda", "0.95"}, {"ppo.entropy_coef", "0.01"}, {"ppo.value_coef", "0.5"}, \
    {"ppo.max_grad_norm", "0.5"}, {"ppo.norm_epsilon", "1e-6"}, {"ppo.normalize_advantage", "minibatch_unbiased"}, \
    {"ppo.adam_epsilon", "1e-5"}, {"net.sharing", "shared"}, {"net.depth", "0"}, {"net.activation", "relu"}
#define BREAKOUT \
  CLEANRL, {"env.task", "atari/Breakout"}, {"env.num", "8"}, {"env.clip_rewards", "sign"}, {"ppo.num_steps", "128"}, \
    {"ppo.num_minibatches", "4"}, {"ppo.epochs", "4"}, {"ppo.epsilon", "0.1"}, {"ppo.gamma", "0.99"}, \
    {"ppo.learning_rate", "2.5e-4"}, {"ppo.lr_schedule", "linear"}, {"net.encoder", "nature"}, \
    {"net.trunk_width", "512"}, {"train.total_steps", "1e7"}
static const char *const breakout[][2] = {BREAKOUT, {0}};
/* Also measured: two workers, with and without stepping halves of the worlds. */
#define TWO_WORKERS {"env.workers", "2"}, {"comm.deterministic", "yes"}
static const char *const together[][2] = {BREAKOUT, TWO_WORKERS, {"train.rollout_halves", "1"}, {0}};
static const char *const halves[][2] = {BREAKOUT, TWO_WORKERS, {"train.rollout_halves", "2"}, {0}};
static const char *const starpilot[][2] = {
  CLEANRL, {"env.task", "procgen/starpilot"}, {"env.num", "64"}, {"env.normalize_rewards", "cleanrl"},
  {"env.normalize_rewards_gamma", "0.999"}, {"ppo.num_steps", "32"}, {"ppo.num_minibatches", "1"}, {"ppo.epochs", "3"},
  {"ppo.epsilon", "0.2"}, {"ppo.gamma", "0.999"}, {"ppo.learning_rate", "5e-4"}, {"net.encoder", "impala"},
  {"net.trunk_width", "256"}, {"train.total_steps", "25001984"}, {0}};

static bool is_wanted(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return count == 0;
}

static const struct { const char *name; const char *const (*settings)[2]; } trainings[] = {
  {"ppo_Breakout", breakout}, {"ppo_Breakout_together", together}, {"ppo_Breakout_halves", halves},
  {"ppo_starpilot", starpilot}};

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a peer that died is no reason to */
  const int count = argc - 1, threads = omp_get_num_procs();
  char **names = argv + 1;
  bool good = !is_wanted("bridge", count, names) || tell("bridge", time_turns("bridge", BRIDGE_TURNS));
  if (is_wanted("bridge_busy", count, names) && !tell("bridge_busy", time_turns_busy("bridge_busy", BUSY_TURNS)))
    good = false;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (is_wanted(cases[i].name, count, names) && !tell(cases[i].name, time_case(&cases[i]))) good = false;
  for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
    const char *name = trainings[i].name;
    if (is_wanted(name, count, names) && !tell(name, bench_ppo("environments", name, trainings[i].settings, threads)))
      good = false;
  }
  return good ? 0 : 1;
}
