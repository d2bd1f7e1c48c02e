/* sweep/plan/cost_model: its speeds against those that docs/benchmarks.md and docs/cuda-measurements.md measured. */
#include "test.h"

#include "sweep/plan/cost_model.h"

/* Stated in docs/experiments.md. */
#define CPU_FACTOR 1.6
#define GPU_FACTOR 1.2
#define SEARCH_FACTOR 1.5
#define RUNS_FACTOR 1.8

typedef struct Case {
  const char *name;
  double speed;       /* measured transitions per second of training */
  int processors;
  const char *pairs;  /* settings, separated by spaces */
} Case;

#define PEERS "env.num=512 ppo.num_steps=64 ppo.num_minibatches=2 ppo.epochs=8 "
#define CLEANRL "net.sharing=joint net.width=64 net.depth=2 ppo.epochs=10 "
#define ATARI "env.num=8 ppo.num_steps=128 ppo.num_minibatches=4 ppo.epochs=4 net.encoder=nature net.sharing=shared " \
              "net.trunk_width=512 net.depth=0 "
#define PROCGEN "env.num=64 ppo.num_steps=256 ppo.num_minibatches=8 ppo.epochs=3 net.encoder=impala " \
                "net.sharing=shared net.trunk_width=256 net.depth=0 "
static const Case cpu_cases[] = {
  {"S, 3 x 256", 12.8e3, 2, PEERS "env.task=random_s"},
  {"M, 3 x 256", 12.3e3, 2, PEERS "env.task=random_m"},
  {"L, 3 x 256", 8.9e3, 2, PEERS "env.task=random_l"},
  {"S, 3 x 256, bf16", 18.4e3, 2, PEERS "env.task=random_s train.precision=bf16"},
  {"L, 3 x 256, bf16", 13.8e3, 2, PEERS "env.task=random_l train.precision=bf16"},
  {"S, 2 x 64", 138e3, 2,
   "env.task=random_s env.num=64 ppo.num_steps=64 ppo.num_minibatches=8 net.width=64 net.depth=2"},
  {"HalfCheetah, one environment", 16.4e3, 1,
   CLEANRL "env.task=mujoco/HalfCheetah-v4 env.num=1 ppo.num_steps=2048 ppo.num_minibatches=32"},
  {"Breakout, mean of three machines", 410, 2, ATARI "env.task=atari/Breakout"},
  {"starpilot", 325, 2, PROCGEN "env.task=procgen/starpilot"},
  {"AllegroHand", 7.4e3, 2,
   "env.task=mujoco/AllegroHand env.num=192 ppo.num_steps=8 ppo.epochs=5 ppo.num_minibatches=2 net.sharing=shared "
   "net.trunk_widths=512-256-128 net.depth=0"},
  {"AllegroKuka, LSTM of 768", 2.25e3, 2,
   "env.task=mujoco/AllegroKukaRegrasping env.num=192 ppo.num_steps=16 ppo.epochs=2 ppo.num_minibatches=4 "
   "net.sharing=shared net.memory=lstm net.memory_width=768 net.trunk_widths=768-512-256 net.depth=0"},
};

/* One H200. Representation metrics are off, as in its table. */
#define WORLDS "train.device=cuda env.num=65536 ppo.num_steps=64 ppo.num_minibatches=64 " \
               "metrics.representation_every=1000000 "
#define LOCOMOTION "train.device=cuda env.task=loco512 metrics.representation_every=1000000 "
static const Case gpu_cases[] = {
  {"S, 65 536 environments, bf16", 8.54e6, 1, WORLDS "env.task=random_s train.precision=bf16"},
  {"S, 1 048 576 environments, bf16", 8.56e6, 1, "train.device=cuda env.task=random_s env.num=1048576 ppo.num_steps=64 "
   "ppo.num_minibatches=1024 ppo.epochs=8 train.precision=bf16 metrics.representation_every=1000000"}, /* not fitted */
  {"S, tf32", 4.07e6, 1, WORLDS "env.task=random_s train.precision=tf32"},
  {"S, float32", 2.13e6, 1, WORLDS "env.task=random_s"},
  {"L, bf16", 5.55e6, 1, WORLDS "env.task=random_l train.precision=bf16 env.reset=new"},
  {"loco512, 2048 environments, bf16", 3.57e6, 1, LOCOMOTION "train.precision=bf16"},
  {"loco512, float32", 1.37e6, 1, LOCOMOTION},
  {"S, transformer", 0.206e6, 1,
   "train.device=cuda env.task=random_s train.precision=bf16 env.observations=entity net.encoder=transformer "
   "net.sharing=shared net.width=128 net.depth=5 metrics.representation_every=1000000"},
};

static CoreConfig make_config(const char *pairs) {
  CoreConfig config = core_config_default();
  char *copy = strdup(pairs), *save = NULL;
  for (char *pair = strtok_r(copy, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
    assert_int_equal(core_config_set_pair(&config, pair), CORE_OK);
  config.train.total_steps = 1000000000000;
  free(copy);
  return config;
}

/* Asserts that predicted and measured speed differ by at most the factor, and prints both. */
static void check_case(const Case *c, double factor) {
  const CoreConfig config = make_config(c->pairs);
  SlurmSettings settings = slurm_settings_default();
  settings.cpus_per_run = c->processors;
  const SweepCost cost = sweep_cost_model(&config, &settings);
  const double all = (double)core_config_iterations(&config) *
                     (double)core_config_transitions_per_iteration(&config);
  const double predicted = all / cost.training_s;
  print_message("%-34s measured %9.0f, predicted %9.0f steps/s, ratio %.2f\n", c->name, c->speed, predicted,
                predicted / c->speed);
  assert_true(fabs(log(predicted / c->speed)) < log(factor));
}

static void test_cpu(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cpu_cases / sizeof *cpu_cases; i++) check_case(&cpu_cases[i], CPU_FACTOR);
}

/* Asserts that the time of one search of 262 144 levels, 512 steps each, is near the 2.45 s that were measured. */
static void check_search(void) {
  CoreConfig config = make_config(
    "train.device=cuda env.task=random_s train.precision=bf16 env.curriculum=sfl ppo.minibatch_by=environments "
    "net.sharing=shared sfl.batch_size=32768 sfl.num_batches=8 sfl.rollout_steps=512 sfl.period=2 eval.count=0");
  config.train.total_steps = 2 * core_config_transitions_per_iteration(&config);
  const SlurmSettings settings = slurm_settings_default();
  const double predicted = sweep_cost_model(&config, &settings).searches_s;
  print_message("search of 262 144 levels           measured      2.45, predicted %9.2f s\n", predicted);
  assert_true(fabs(log(predicted / 2.45)) < log(SEARCH_FACTOR));
}

static void test_gpu(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof gpu_cases / sizeof *gpu_cases; i++) check_case(&gpu_cases[i], GPU_FACTOR);
  check_search();
}

/* Returns the predicted transitions per second of a run with these settings on one GPU. */
static double gpu_speed(const char *pairs) {
  const CoreConfig config = make_config(pairs);
  const SlurmSettings settings = slurm_settings_default();
  const double transitions = (double)core_config_iterations(&config) *
                             (double)core_config_transitions_per_iteration(&config);
  return transitions / sweep_cost_model(&config, &settings).training_s;
}

/* Networks are priced in the run's precision. */
static void test_precisions(void **state) {
  static const char *const precisions[] = {"float32", "tf32", "bf16"}, *const networks[] = {
    WORLDS "env.task=random_s ",
    "train.device=cuda env.task=random_s env.observations=entity net.encoder=transformer net.sharing=shared "
    "net.width=128 net.depth=5 "};
  (void)state;
  for (int i = 0; i < 2; i++) {
    char pairs[512];
    double speed[3];
    for (int k = 0; k < 3; k++) {
      snprintf(pairs, sizeof pairs, "%strain.precision=%s", networks[i], precisions[k]);
      speed[k] = gpu_speed(pairs);
    }
    print_message("float32 %.0f, tf32 %.0f, bf16 %.0f steps/s\n", speed[0], speed[1], speed[2]);
    for (int k = 0; k < 2; k++) assert_true(speed[k + 1] > 1.4 * speed[k] && speed[k + 1] < 3 * speed[k]);
  }
}

/* Asserts the time of whole runs on two threads, none of which the constants are from. */
static void check_runs(const char *name, const char *pairs, int runs, int64_t transitions, double seconds) {
  CoreConfig config = make_config(pairs);
  config.train.total_steps = transitions;
  const SlurmSettings settings = slurm_settings_default();
  const SweepCost cost = sweep_cost_model(&config, &settings);
  const double predicted = runs * sweep_cost_seconds(&cost) / 2;
  print_message("%-34s measured %9.0f, predicted %9.0f s, ratio %.2f\n", name, seconds, predicted,
                predicted / seconds);
  assert_true(fabs(log(predicted / seconds)) < log(RUNS_FACTOR));
}

/* `make demo`, and the study of docs/study.md: 1.80 G transitions in 6.6 hours. */
static void test_runs(void **state) {
  (void)state;
  check_runs("make demo",
             "env.task=loco512 env.num=32 ppo.num_steps=64 ppo.num_minibatches=4 net.width=64 net.depth=2 "
             "eval.count=10 eval.episodes=320",
             18, 600000, 242);
  check_runs("the study",
             "env.task=loco512 env.num=64 ppo.num_steps=64 ppo.num_minibatches=8 net.width=64 net.depth=2 "
             "algo.name=ppo_ewma eval.count=12 eval.episodes=320 metrics.representation_every=100",
             1065, 1800000000 / 1065, 6.6 * 3600);
}

/* 128 GPUs are 128 times as fast, except for all-reduces; searches, evaluations and checkpoints take time. */
static void test_parts(void **state) {
  (void)state;
  const CoreConfig config = make_config(
    "train.device=cuda env.task=random_s env.num=1048576 env.curriculum=sfl ppo.num_minibatches=1024 "
    "sfl.num_batches=1024 sfl.period=2");
  SlurmSettings one = slurm_settings_default(), many = one;
  many.ranks_per_run = 128;
  many.gpus_per_run = 128;
  const SweepCost slow = sweep_cost_model(&config, &one), fast = sweep_cost_model(&config, &many);
  assert_true(slow.training_s / fast.training_s > 32 && slow.training_s / fast.training_s < 128);
  assert_true(fast.on_gpu && fast.searches_s > 0 && fast.evaluations_s > 0 && fast.checkpoints_s > 0);
  assert_true(fast.searches_s < slow.searches_s / 32);
  CoreConfig small = config, large = config;
  small.sfl.batch_size = 1024; /* 32 batches at once instead of 8: as many levels */
  large.sfl.batch_size = 32768;
  const double per_level = slow.searches_s / (double)config.sfl.batch_size;
  assert_true(fabs(sweep_cost_model(&small, &one).searches_s / 1024 - per_level) < 1e-6 * per_level);
  assert_true(fabs(sweep_cost_model(&large, &one).searches_s / 32768 - per_level) < 1e-6 * per_level);
  CoreConfig slices = make_config("env.task=random_s env.num=4096 ppo.num_minibatches=16 ppo.shuffle=none");
  SlurmSettings ranks = one, threads = one;
  ranks.ranks_per_run = threads.cpus_per_run = 16;
  assert_true(sweep_cost_model(&slices, &ranks).training_s > 8 * sweep_cost_model(&slices, &threads).training_s);
  const SweepCost half = sweep_cost_remaining(&fast, 0.5, fast.training_s);
  assert_true(fabs(half.training_s - fast.training_s) < 1e-6 * fast.training_s);
  assert_true(fabs(half.searches_s - fast.searches_s) < 1e-6 * fast.searches_s);
}

/* A copy that goes on over a batch until it has had 16 times the epochs makes 15 more updates. */
static void test_limit_of_batch(void **state) {
  (void)state;
  const CoreConfig config = make_config("env.task=loco512 env.num=32 ppo.num_steps=64 ppo.epochs=10");
  CoreConfig longer = config, limited = config, none = config;
  const SlurmSettings one = slurm_settings_default();
  longer.ppo.epochs = 25; /* 1.5 more updates an iteration */
  none.metrics.limit_epochs = 160; /* without profiles there are no limits */
  limited.metrics.limit_epochs = 199;
  limited.metrics.profile_every = 10;
  const double seconds = sweep_cost_model(&longer, &one).training_s;
  assert_true(fabs(sweep_cost_model(&limited, &one).training_s / seconds - 1) < 0.06);
  assert_true(sweep_cost_model(&none, &one).training_s == sweep_cost_model(&config, &one).training_s);
}

/* Gradients of all minibatches every second iteration cost as much as half an epoch more. */
static void test_noise_scale(void **state) {
  (void)state;
  const CoreConfig config = make_config("env.task=loco512 env.num=32 ppo.num_steps=64 ppo.epochs=10 "
                                        "ppo.num_minibatches=4 ppo.normalize_advantage=minibatch");
  CoreConfig longer = config, measured = config, undivided = config;
  const SlurmSettings one = slurm_settings_default();
  longer.ppo.epochs = 11;
  measured.metrics.noise_every = 2;
  const double seconds = sweep_cost_model(&config, &one).training_s;
  const double epoch = sweep_cost_model(&longer, &one).training_s - seconds;
  const double more = sweep_cost_model(&measured, &one).training_s - seconds;
  assert_true(fabs(more / epoch - 0.5) < 0.06);
  undivided.ppo.num_minibatches = 1; /* one minibatch has nothing to be compared with */
  measured.ppo.num_minibatches = 1;
  assert_true(sweep_cost_model(&measured, &one).training_s == sweep_cost_model(&undivided, &one).training_s);
}

/* A rank uses one GPU, so three of four are idle; half a GPU takes longer than a whole one. */
static void test_idle_gpus(void **state) {
  (void)state;
  const CoreConfig config = make_config("train.device=cuda env.task=random_s env.num=65536 ppo.num_minibatches=64");
  SlurmSettings one = slurm_settings_default(), four = one, half = one;
  one.gpus_per_run = 1;
  four.gpus_per_run = 4;
  half.gpus_per_run = 0.5;
  assert_true(sweep_cost_gpus(&four) == 1 && sweep_cost_gpus(&half) == 0.5);
  const SweepCost of_one = sweep_cost_model(&config, &one), of_four = sweep_cost_model(&config, &four);
  assert_true(of_one.training_s == of_four.training_s && of_one.evaluations_s == of_four.evaluations_s);
  assert_true(sweep_cost_model(&config, &half).training_s > 1.5 * of_one.training_s);
}

/* The best checkpoint is one more, and without evaluations there is none. */
static void test_best_checkpoint(void **state) {
  (void)state;
  const SlurmSettings settings = slurm_settings_default();
  static const char *const pairs[] = {
    "checkpoint.keep=2", "checkpoint.keep=3 checkpoint.best=none", "checkpoint.keep=2 checkpoint.best=none",
    "checkpoint.keep=2 eval.count=0", "checkpoint.keep=2 eval.count=0 checkpoint.best=none"};
  double bytes[5];
  for (size_t i = 0; i < 5; i++) {
    const CoreConfig config = make_config(pairs[i]);
    bytes[i] = sweep_cost_model(&config, &settings).disk_bytes;
  }
  assert_true(bytes[0] == bytes[1] && bytes[0] > bytes[2] && bytes[3] == bytes[4]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_gpu),
                                     cmocka_unit_test(test_precisions),
                                     cmocka_unit_test(test_runs), cmocka_unit_test(test_parts),
                                     cmocka_unit_test(test_limit_of_batch), cmocka_unit_test(test_noise_scale),
                                     cmocka_unit_test(test_idle_gpus),
                                     cmocka_unit_test(test_best_checkpoint)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
