/* sweep/plan and sweep/speed: finished and remaining work and the estimated time, on a workspace made by hand. */
#include "test.h"

#include "core/files.h"
#include "store/database/database.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/plan/cost_model.h"
#include "sweep/plan/plan.h"
#include "sweep/plan/speed.h"

static const SweepPlanOptions everything = {0};

/* 8 worlds * 16 steps: 128 transitions an iteration, 1280 in 10. */
static const char text[] =
    "[sweep]\nname = s\nseeds = 4\n[env]\nnum = 8\n[train]\ntotal_steps = 1280\n[ppo]\nnum_steps = "
    "16\nnum_minibatches = 4\n"
    "[grid g]\nnet.width = 32, 64\n";

typedef struct Fixture {
  SweepSpec spec;
  SweepGrid grid;
} Fixture;

static void open_fixture(Fixture *f) {
  assert_int_equal(sweep_spec_parse("f.ini", text, NULL, NULL, 0, &f->spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&f->spec, &f->grid), CORE_OK);
}

static void close_fixture(Fixture *f) {
  sweep_grid_free(&f->grid);
  sweep_spec_free(&f->spec);
}

static double levels_s = NAN; /* seconds_levels of iterations, which take 10 s */
static const char *device = "cpu"; /* device of the next run */

/* A run as a trainer leaves it: directory, one logged iteration a speed (the last counts), state. */
static void leave_run(const Fixture *f, size_t run, StoreStatus status, int64_t transitions, double speed) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  StoreRunlog *log;
  sweep_grid_config(&f->grid, run, &config);
  assert_int_equal(store_run_prepare(test_directory, &config, id), CORE_OK);
  assert_string_equal(id, f->grid.ids[run]);
  if (speed > 0) {
    assert_int_equal(store_runlog_open(test_directory, id, 1, STORE_LOG_STATS, &log), CORE_OK);
    for (int i = 1; i <= 2; i++) {
      StoreIteration row = store_iteration_unmeasured(i);
      row.transitions = 128 * i;
      row.steps_per_second = i == 2 ? speed : 1; /* a first iteration is slow and does not count */
      row.seconds_rollout = 6;
      row.seconds_update = 3;
      row.seconds_other = 1;
      row.seconds_levels = levels_s;
      store_runlog_iteration(log, &row);
    }
    assert_int_equal(store_runlog_close(&log), CORE_OK);
  }
  StoreState now = {.status = status, .attempt = 1, .transitions = transitions, .transitions_total = 1280};
  now.steps_per_second = now.solve_rate = NAN;
  snprintf(now.device, sizeof now.device, "%s", device);
  assert_int_equal(store_run_state_write(test_directory, id, &now), CORE_OK);
}

static void import(const Fixture *f) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport result;
  assert_int_equal(store_path_database(test_directory, path), CORE_OK);
  assert_int_equal(store_database_open(path, false, &database), CORE_OK);
  assert_int_equal(store_database_begin(database), CORE_OK);
  assert_int_equal(store_database_put_sweep(database, "s", text), CORE_OK);
  for (size_t i = 0; i < f->grid.runs; i++) {
    CoreConfig config;
    sweep_grid_config(&f->grid, i, &config);
    assert_int_equal(store_database_put_run(database, "s", (int64_t)i, &config, f->grid.ids[i]), CORE_OK);
  }
  assert_int_equal(store_database_commit(database), CORE_OK);
  assert_int_equal(store_import(database, test_directory, NULL, true, &result), CORE_OK);
  store_database_close(&database);
}

static void test_empty_workspace(void **state) {
  (void)state;
  Fixture f;
  SweepPlan plan;
  open_fixture(&f);
  assert_int_equal(sweep_plan_make(test_directory, &f.spec, &everything, &plan), CORE_OK);
  assert_int_equal(plan.to_run, 8);
  assert_int_equal(plan.change.added, 8);
  assert_true(plan.transitions == 8 * 1280);
  assert_true(plan.transitions_left == 8 * 1280);
  assert_true(plan.modeled == 8 && plan.seconds_left > 0);
  sweep_plan_free(&plan);
  close_fixture(&f);
}

static void test_done_and_partly_done(void **state) {
  (void)state;
  Fixture f;
  SweepPlan plan;
  open_fixture(&f);
  leave_run(&f, 0, STORE_FINISHED, 1280, 0);
  leave_run(&f, 1, STORE_STOPPED, 384, 0);
  leave_run(&f, 2, STORE_FAILED, 0, 0);
  leave_run(&f, 3, STORE_DIVERGED, 640, 0);
  assert_int_equal(sweep_plan_make(test_directory, &f.spec, &everything, &plan), CORE_OK);
  assert_int_equal(plan.count[STORE_FINISHED], 1);
  assert_int_equal(plan.count[STORE_PENDING], 4);
  assert_int_equal(plan.to_run, 6); /* neither the finished nor the diverged one */
  assert_int_equal(plan.resumable, 1);
  assert_true(plan.transitions_left == 6 * 1280 - 384);
  sweep_plan_free(&plan);
  close_fixture(&f);
}

/* Width 32 was measured at 100, 200, 400 steps/s, width 64 never: it takes the nearest, times the model's ratio. */
static void test_estimate(void **state) {
  (void)state;
  Fixture f;
  SweepPlan plan;
  SweepSpeeds *speeds;
  CoreConfig config;

  open_fixture(&f);
  leave_run(&f, 0, STORE_FINISHED, 1280, 100);
  leave_run(&f, 2, STORE_FINISHED, 1280, 400);
  leave_run(&f, 4, STORE_FINISHED, 1280, 200);
  import(&f);

  assert_int_equal(sweep_speeds_load(test_directory, &speeds), CORE_OK);
  sweep_grid_config(&f.grid, 6, &config);
  SweepSpeed speed = sweep_speeds_find(speeds, &config, NULL);
  assert_true(speed.steps_per_second == 200);
  assert_true(speed.exact);
  assert_int_equal(speed.runs, 3);

  CoreConfig larger = config;
  larger.env.num *= 64;
  larger.ppo.num_minibatches *= 64;
  assert_false(sweep_speeds_find(speeds, &larger, NULL).exact); /* other environments at once */

  CoreConfig finer = config;
  finer.ppo.num_minibatches *= 2;
  speed = sweep_speeds_find(speeds, &finer, NULL);
  assert_true(!speed.exact && speed.steps_per_second < 200); /* more minibatches take longer */

  CoreConfig convolutions = config; /* an equal shape after an encoder is not comparable */
  snprintf(convolutions.net.encoder, sizeof convolutions.net.encoder, "nature");
  assert_false(sweep_speeds_find(speeds, &convolutions, NULL).exact);
  sweep_grid_config(&f.grid, 7, &config);
  assert_false(sweep_speeds_find(speeds, &config, NULL).exact);

  sweep_speeds_destroy(&speeds);
  assert_null(speeds);

  assert_int_equal(sweep_plan_make(test_directory, &f.spec, &everything, &plan), CORE_OK);
  assert_int_equal(plan.to_run, 5);
  assert_false(plan.speed_exact);
  assert_true(plan.cost.training_s > 5 * 1280 / 200.0 && plan.cost.training_s < 1.5 * 5 * 1280 / 200.0);
  assert_true(plan.cost.evaluations_s > 0 && plan.cost.checkpoints_s > 0);
  assert_true(plan.modeled == 0 && plan.seconds_left > plan.cost.training_s);
  sweep_plan_free(&plan);
  close_fixture(&f);
}

/* A search for levels is a cost of its own, and not a part of the speed. */
static void test_searching_run(void **state) {
  (void)state;
  Fixture f;
  SweepSpeeds *speeds;
  CoreConfig config;
  open_fixture(&f);
  levels_s = 5;
  leave_run(&f, 0, STORE_FINISHED, 1280, 100);
  levels_s = NAN;
  import(&f);
  assert_int_equal(sweep_speeds_load(test_directory, &speeds), CORE_OK);
  sweep_grid_config(&f.grid, 0, &config);
  assert_true(sweep_speeds_find(speeds, &config, NULL).steps_per_second == 200);
  sweep_speeds_destroy(&speeds);
  close_fixture(&f);
}

static SweepSpeeds *load_run_on(const Fixture *f, const char *machine) {
  SweepSpeeds *speeds;
  device = machine;
  leave_run(f, 0, STORE_FINISHED, 1280, 100);
  device = "cpu";
  import(f);
  assert_int_equal(sweep_speeds_load(test_directory, &speeds), CORE_OK);
  return speeds;
}

/* Opens a workspace with one run of a GPU. *config: the same run; *planned: one rank with one GPU. */
static SweepSpeeds *open_run_on_gpu(Fixture *f, const char *machine, CoreConfig *config, SlurmSettings *planned) {
  open_fixture(f);
  SweepSpeeds *speeds = load_run_on(f, machine);
  sweep_grid_config(&f->grid, 0, config);
  snprintf(config->train.device, sizeof config->train.device, "cuda");
  *planned = slurm_settings_default();
  planned->gpus_per_run = 1;
  return speeds;
}

static void close_run(Fixture *f, SweepSpeeds *speeds) {
  sweep_speeds_destroy(&speeds);
  close_fixture(f);
}

/* The speed measured on two processors is scaled to those of [slurm], and not used for runs on GPUs. */
static void test_speed_on_processors(void **state) {
  (void)state;
  Fixture f;
  CoreConfig config;
  SlurmSettings machine = slurm_settings_default();
  open_fixture(&f);
  SweepSpeeds *speeds = load_run_on(&f, "cpu, avx512; ranks: 1, threads: 2");
  sweep_grid_config(&f.grid, 0, &config);
  machine.cpus_per_run = 2;
  SweepSpeed speed = sweep_speeds_find(speeds, &config, &machine);
  assert_true(speed.exact && speed.steps_per_second == 100);
  assert_true(sweep_speeds_find(speeds, &config, NULL).exact);
  machine.ranks_per_run = 16;
  machine.cpus_per_run = 8;
  config.env.num = 4096;
  const double here = sweep_speeds_find(speeds, &config, NULL).steps_per_second;
  speed = sweep_speeds_find(speeds, &config, &machine);
  assert_true(!speed.exact && speed.steps_per_second > 40 * here && speed.steps_per_second <= 64 * here);
  snprintf(config.train.device, sizeof config.train.device, "cuda");
  assert_true(sweep_speeds_find(speeds, &config, &machine).steps_per_second == 0);
  const SweepWork work = {.left = 1e9};
  const SweepCost cost = sweep_speeds_cost(speeds, &config, &machine, &work, &speed);
  assert_true(speed.steps_per_second == 0 && cost.training_s > 0); /* the model's */
  sweep_speeds_destroy(&speeds);
  close_fixture(&f);
}

/* A speed measured on one GPU is not that of 128. */
static void test_speed_on_gpus(void **state) {
  (void)state;
  Fixture f;
  CoreConfig config;
  SlurmSettings machine;
  SweepSpeeds *speeds = open_run_on_gpu(&f, "cuda:0, NVIDIA H100; ranks: 1, threads: 4", &config, &machine);
  assert_true(sweep_speeds_find(speeds, &config, &machine).exact);
  config.env.num = 1048576;
  const double one = sweep_speeds_find(speeds, &config, &machine).steps_per_second;
  machine.gpus_per_run = 128;
  machine.ranks_per_run = 128;
  const double many = sweep_speeds_find(speeds, &config, &machine).steps_per_second;
  assert_true(many > 64 * one && many <= 128 * one);
  snprintf(config.train.device, sizeof config.train.device, "cpu");
  assert_true(sweep_speeds_find(speeds, &config, &machine).steps_per_second == 0);
  close_run(&f, speeds);
}

/* Runs with train.device = auto are runs on processors if [slurm] requests no GPU. */
static void test_speed_of_auto(void **state) {
  (void)state;
  Fixture f;
  CoreConfig config;
  SlurmSettings machine;
  SweepSpeeds *speeds = open_run_on_gpu(&f, "cuda:0, NVIDIA H100; ranks: 1, threads: 4", &config, &machine);
  snprintf(config.train.device, sizeof config.train.device, "auto");
  machine.gpus_per_run = 0;
  assert_true(sweep_speeds_find(speeds, &config, &machine).steps_per_second == 0);
  assert_true(sweep_speeds_find(speeds, &config, NULL).exact); /* the machine of the measured runs */
  machine.gpus_per_run = 1;
  assert_true(sweep_speeds_find(speeds, &config, &machine).exact);
  close_run(&f, speeds);
}

/* Runs with as many ranks have the same share of a GPU, and a rank uses one GPU even if more are requested. */
static void test_speed_on_shared_gpus(void **state) {
  (void)state;
  Fixture f;
  CoreConfig config;
  SlurmSettings machine;
  SweepSpeeds *speeds = open_run_on_gpu(&f, "cuda:0, NVIDIA H100; ranks: 1, threads: 4", &config, &machine);
  static const double gpus[] = {0.5, 1, 4};
  for (size_t i = 0; i < 3; i++) {
    machine.gpus_per_run = gpus[i];
    const SweepSpeed speed = sweep_speeds_find(speeds, &config, &machine);
    assert_true(speed.exact && speed.steps_per_second == 100);
  }
  machine.ranks_per_run = 2; /* two of four GPUs are idle */
  const SweepSpeed four = sweep_speeds_find(speeds, &config, &machine);
  machine.gpus_per_run = 2;
  assert_false(four.exact);
  assert_true(sweep_speeds_find(speeds, &config, &machine).steps_per_second == four.steps_per_second);
  close_run(&f, speeds);
}

/* A database of an older version has no ranks: the speed counts as measured on the planned machine. */
static void test_speed_of_unknown_machine(void **state) {
  (void)state;
  Fixture f;
  CoreConfig config;
  SlurmSettings machine;
  SweepSpeeds *speeds = open_run_on_gpu(&f, "cuda:0, NVIDIA H100", &config, &machine);
  machine.gpus_per_run = 8;
  machine.ranks_per_run = 8;
  const SweepSpeed speed = sweep_speeds_find(speeds, &config, &machine);
  assert_true(!speed.exact && speed.steps_per_second == 100);
  close_run(&f, speeds);
}

/* The measured network of nearly equal size is used, not the first or the fastest. */
static void test_nearest_network(void **state) {
  (void)state;
  Fixture f;
  SweepSpeeds *speeds;
  open_fixture(&f);
  leave_run(&f, 0, STORE_FINISHED, 1280, 900);
  leave_run(&f, 1, STORE_FINISHED, 1280, 300);
  import(&f);
  assert_int_equal(sweep_speeds_load(test_directory, &speeds), CORE_OK);
  CoreConfig config = f.spec.base;
  config.net.width = 128;
  const double wide = sweep_speeds_find(speeds, &config, NULL).steps_per_second;
  assert_true(wide > 30 && wide < 300);
  config.net.width = 16;
  assert_true(sweep_speeds_find(speeds, &config, NULL).steps_per_second > 900);
  sweep_speeds_destroy(&speeds);
  close_fixture(&f);
}

static void test_foreign_database(void **state) {
  (void)state;
  Fixture f;
  SweepPlan plan;
  char path[CORE_PATH_MAX];
  static const char foreign[] = "this is no database, though it bears the name of one; it is long enough to be "
                                "looked at";
  open_fixture(&f);
  assert_int_equal(store_path_database(test_directory, path), CORE_OK);
  assert_int_equal(core_files_write_atomic(path, foreign, sizeof foreign), CORE_OK);
  assert_int_equal(sweep_plan_make(test_directory, &f.spec, &everything, &plan), CORE_OK);
  assert_non_null(strstr(plan.speed_problem, "results.db"));
  assert_true(plan.modeled == plan.to_run && plan.seconds_left > 0); /* by the model */
  sweep_plan_free(&plan);
  close_fixture(&f);
}

/* Searches before iterations 1, 4, 7 and 10 of ten; evaluations on three sets, one more than eval.count. */
static void test_acting(void **state) {
  static const char *const pairs[] = {
    "env.task=random_s", "env.curriculum=sfl", "env.num=8", "ppo.num_steps=16", "ppo.num_minibatches=4",
    "env.max_steps=16", "train.total_steps=1280", "sfl.period=3", "sfl.num_batches=2", "sfl.batch_size=100",
    "sfl.rollout_steps=50", "eval.count=4", "eval.episodes=10", "eval.levels=random_m+loco512"};
  CoreConfig config = core_config_default();
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    assert_int_equal(core_config_set_pair(&config, pairs[i]), CORE_OK);
  SweepEnvSteps acting = sweep_env_steps_left(&config, 1280);
  assert_true(acting.searches == 4 * 2 * 100 * 50 && acting.evaluations == 5 * 3 * 10 * 16);
  acting = sweep_env_steps_left(&config, 640);
  assert_true(acting.searches == 2 * 2 * 100 * 50);
  assert_int_equal(core_config_set_pair(&config, "sfl.sampled_ratio=0"), CORE_OK);
  assert_int_equal(core_config_set_pair(&config, "eval.count=0"), CORE_OK);
  acting = sweep_env_steps_left(&config, 1280);
  assert_true(acting.searches == 0 && acting.evaluations == 0);
  assert_int_equal(core_config_set_pair(&config, "algo.name=noisy_sgd"), CORE_OK);
  assert_true(sweep_env_steps_left(&config, 1280).searches == 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
    TEST(test_empty_workspace), TEST(test_done_and_partly_done), TEST(test_estimate), TEST(test_nearest_network),
    TEST(test_speed_on_processors), TEST(test_speed_on_gpus), TEST(test_speed_of_auto),
    TEST(test_speed_on_shared_gpus), TEST(test_speed_of_unknown_machine),
    TEST(test_foreign_database), TEST(test_acting), TEST(test_searching_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
