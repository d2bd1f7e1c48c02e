/* The simulator as the trainer's environment: effects of the settings of [env] and eval.levels, and complete
 * trainings with them. */
#include "test.h"

#include "sim/levels/level_set.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/run/training_internal.h"
#include "training_tools.h"

#define KINETIX "../shared/data/kinetix_levels"

static CoreConfig small_config(const char *const *more) {
  static const char *const pairs[] = {
    "env.task=random_s", "env.level_count=8", "env.num=16", "env.max_steps=20", "ppo.num_steps=16",
    "ppo.num_minibatches=4", "ppo.epochs=2", "net.width=16", "net.depth=2", "eval.episodes=8", "eval.count=0",
    "train.total_steps=1024", "train.threads=1", "metrics.states=256"};
  CoreConfig config = configured(pairs, sizeof pairs / sizeof *pairs);
  for (int i = 0; more && more[i]; i++) set(&config, more[i]);
  return config;
}
#define WITH(...) (const char *const[]){__VA_ARGS__, NULL}

static void assert_refused(const CoreConfig *config, const char *part) {
  Training *training = NULL;
  assert_int_equal(training_plan(config, &training), CORE_USAGE);
  assert_null(training);
  assert_message(part);
}

static Env *make_env(const CoreConfig *config) {
  Env *env = NULL;
  if (env_create(config, 3, 1, &env) != CORE_OK) fail_msg("%s", core_error_message());
  return env;
}

/* ---- actions --------------------------------------------------------------------------------------------------- */

static void test_heads(void **state) {
  (void)state;
  CoreConfig config = small_config(NULL);
  Env *env = make_env(&config);
  assert_int_equal(env->head.factors, 6);
  assert_int_equal(env->head.logits, 16);
  assert_int_equal(env->action_values, 0);
  env_destroy(&env);
  set(&config, "env.actions=discrete");
  env = make_env(&config);
  assert_int_equal(env->head.factors, 1);
  assert_int_equal(env->head.size[0], 11);
  assert_int_equal(env->head.logits, 11);
  env_destroy(&env);
  set(&config, "env.actions=continuous");
  env = make_env(&config);
  assert_int_equal(env->action_values, 6);
  env_destroy(&env);
}

/* Few easy levels and one of eleven classes a step: far better than chance after a small budget. */
static void test_learns_discrete_actions(void **state) {
  (void)state;
  CoreConfig config =
    small_config(WITH("env.task=loco512", "env.morphologies=car+unicycle", "env.difficulty=0", "env.max_steps=256",
                      "env.actions=discrete", "env.num=64", "ppo.num_steps=32", "ppo.epochs=4", "net.width=64",
                      "ppo.learning_rate=1e-3", "eval.count=1", "eval.episodes=128", "train.total_steps=64000"));
  StoreEvaluation before, after;
  Training *training = make(&config);
  training_evaluate(training, &before);
  iterate(training, (int)training->plan.iterations);
  training_evaluate(training, &after);
  assert_true(after.solve_rate > 0.6);
  assert_true(after.solve_rate - before.solve_rate > 5 * hypot(before.solve_rate_se, after.solve_rate_se));
  training_destroy(&training);
}

/* ---- levels of training ---------------------------------------------------------------------------------------- */

static void test_sizes(void **state) {
  (void)state;
  CoreConfig config = small_config(NULL);
  Env *env = make_env(&config);
  assert_int_equal(env->whole_length, 140);
  env_destroy(&env);
  set(&config, "env.size=l");
  env = make_env(&config);
  assert_int_equal(env->whole_length, 679);
  assert_true(env->observation_length <= 140); /* empty slots show nothing */
  env_destroy(&env);
  set(&config, "env.reset=new");
  env = make_env(&config);
  assert_int_equal(env->observation_length, 679); /* the features of new levels are unknown */
  env_destroy(&env);
  config = small_config(WITH("env.task=random_m", "env.size=s"));
  assert_refused(&config, "env.size = s");
}

static void test_new_levels_need_a_generator(void **state) {
  (void)state;
  CoreConfig config = small_config(WITH("env.task=loco512", "env.reset=new"));
  assert_refused(&config, "random_s");
  set(&config, "env.reset=same");
  Env *env = make_env(&config);
  env_destroy(&env);
}

/* A training on new levels resumes bit for bit from its worlds' saved state, and has one solve rate over all. */
static void test_training_on_new_levels(void **state) {
  (void)state;
  const CoreConfig config = small_config(WITH("env.reset=new", "eval.count=1", "env.max_steps=12"));
  Training *straight = make(&config), *resumed = make(&config);
  StoreIteration row = iterate(straight, 2);
  assert_true(row.episodes >= 16 && row.solve_rate >= 0 && row.solve_rate <= 1);
  iterate(resumed, 1);
  training_before_save(resumed);
  iterate(resumed, 1);
  assert_memory_equal(straight->agent.actor.theta, resumed->agent.actor.theta,
                      straight->agent.actor.n * sizeof(float));
  Training *loaded = make(&config);
  memcpy(loaded->env_state, resumed->env_state, resumed->env_state_bytes);
  assert_int_equal(loaded->env->load(loaded->env, loaded->env_state, loaded->env_state_bytes), CORE_OK);
  StoreEvaluation evaluation;
  training_evaluate(loaded, &evaluation); /* on the fixed set of the same distribution */
  assert_true(evaluation.episodes == 8);
  training_destroy(&straight);
  training_destroy(&resumed);
  training_destroy(&loaded);
}

/* ---- levels of evaluation -------------------------------------------------------------------------------------- */

static void test_further_sets_have_rows_of_their_own(void **state) {
  (void)state;
  const CoreConfig config = small_config(WITH("env.size=m", "eval.count=2", "eval.levels=random_m+random_s/7"));
  Training *training = make(&config);
  StoreEvaluation row;
  assert_int_equal(training->others.count, 2);
  assert_int_equal(training->others.set[0].levels->level_count, 128);
  assert_int_equal(training->others.set[1].levels->level_count, 1);
  assert_int_equal(training->others.set[0].levels->observation_length, training->levels->observation_length);
  training_evaluate(training, &row);
  assert_string_equal(row.level_set, "train");
  const double trained = training->position.solve_rate;
  static const char *const names[] = {"random_m", "random_s/7"};
  for (int i = 0; i < 2; i++) {
    training_evaluate_other(training, i, &row);
    assert_string_equal(row.level_set, names[i]);
    assert_true(row.episodes == 8 && row.solve_rate >= 0 && row.solve_rate <= 1 && row.iteration == 0);
  }
  assert_true(training->position.solve_rate == trained); /* the training levels' */
  training_destroy(&training);
}

/* Sets that show nothing new leave every bit of the training as it is. */
static void test_further_sets_leave_training_alone(void **state) {
  (void)state;
  CoreConfig config = small_config(WITH("env.task=loco512", "env.morphologies=all", "env.level_count=512"));
  Training *plain = make(&config);
  set(&config, "eval.count=4");
  set(&config, "eval.levels=car+tree");
  Training *evaluated = make(&config);
  StoreEvaluation row;
  for (int i = 0; i < 3; i++) {
    iterate(plain, 1);
    iterate(evaluated, 1);
    for (int k = 0; k < 2; k++) training_evaluate_other(evaluated, k, &row);
  }
  assert_memory_equal(plain->agent.actor.theta, evaluated->agent.actor.theta, plain->agent.actor.n * sizeof(float));
  training_destroy(&plain);
  training_destroy(&evaluated);
}

static void test_impossible_sets(void **state) {
  (void)state;
  static const struct { const char *levels, *part;
  } wrong[] = {{"random_m", "set env.size to a larger size"},
               {"random_s+random_s", "names random_s twice"},
               {"random_s++random_m", "empty name"},
               {"randomm", "did you mean random_m?"},
               {"absent.json", "absent.json"},
               {"random_s/65536", "0 to 65535"},
               {"car/64", "levels are 0 to 63"},
               {"kinetix_s", "env.level_folder"},
               {"a+b+c+d+e+f+g+h+i", "more than 8 sets"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CoreConfig config = small_config(WITH("eval.count=1"));
    char pair[128];
    snprintf(pair, sizeof pair, "eval.levels=%s", wrong[i].levels);
    set(&config, pair);
    assert_refused(&config, wrong[i].part);
    assert_message("eval.levels");
  }
}

/* Kinetix' lists, of which the levels are published: as evaluation sets in addition to another set, and as training
 * levels. */
static void test_published_sets(void **state) {
  (void)state;
  static const int counts[] = {10, 24, 40};
  if (!core_files_exists(KINETIX)) {
    print_message("# %s is not here\n", KINETIX);
    skip();
  }
  CoreConfig config = small_config(WITH("env.level_folder=" KINETIX, "env.size=l", "eval.count=1",
                                        "eval.levels=kinetix_s+kinetix_m+kinetix_l"));
  Training *training = make(&config);
  StoreEvaluation row;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(training->others.set[i].levels->level_count, counts[i]);
    training_evaluate_other(training, i, &row);
    assert_string_equal(row.level_set, sim_level_lists[i].name);
  }
  training_destroy(&training);
  config = small_config(WITH("env.task=levels", "env.levels=kinetix_m+" KINETIX "/s/h0_weak_thrust.permute2.json",
                             "env.level_count=512", "env.level_folder=" KINETIX));
  Env *env = make_env(&config);
  assert_int_equal(env->level_count, 25);
  env_destroy(&env);
}

/* ---- missing functions of an environment ------------------------------------------------------------------------- */

/* Each setting that needs a missing table is rejected by name, with a remedy. */
static void test_settings_that_need_what_an_environment_lacks(void **state) {
  (void)state;
  const EnvLevels levels = {0};
  Env bare = {.name = "toy", .worlds = 1, .observation_length = 3, .level_count = 1};
  Env *made = NULL;
  char name[ENV_SET_NAME];
  const CoreConfig config =
    small_config(WITH("env.curriculum=sfl", "train.observation_storage=state", "eval.count=1", "eval.levels=random_m"));
  assert_int_equal(curriculum_check(&config, &bare), CORE_USAGE);
  assert_message("env.curriculum = sfl needs a generator of levels, which toy environments lack; set env.curriculum");
  bare.levels = &levels; /* levels alone are not enough */
  assert_int_equal(curriculum_check(&config, &bare), CORE_USAGE);
  bare.levels = NULL;
  assert_int_equal(compact_check(&config, &bare), CORE_USAGE);
  assert_message("train.observation_storage = state needs constants of levels, which toy environments lack; set");
  assert_int_equal(env_create_evaluation(&config, &bare, 0, &(EnvBatch){.worlds = 1}, &made, name), CORE_USAGE);
  assert_message("eval.levels = random_m needs levels, which toy environments lack; set eval.levels");
  assert_null(made);
}

static void destroy_toy(Env *env) { env->worlds = 0; }

/* Worlds on the host only: cuda wraps them, auto trains on the CPU and reports why. */
static void test_an_environment_without_a_device(void **state) {
  (void)state;
  Env bare = {.name = "toy", .worlds = 1, .destroy = destroy_toy};
  Training training = {.config = small_config(WITH("train.device=cuda")), .levels = &bare,
                       .device = core_device_emulated(CORE_DEVICE_FORWARD), .arena = core_arena_create("test")};
  core_arena_set_device(training.arena, training.device);
  assert_int_equal(training_device_check_env(&training), CORE_OK);
  assert_true(training.levels != &bare && env_is_hosted(training.levels) && training.device != NULL);
  env_destroy(&training.levels);
  assert_int_equal(bare.worlds, 0); /* ownership had been transferred */
  training.levels = &bare;
  set(&training.config, "train.device=auto");
  assert_int_equal(training_device_check_env(&training), CORE_OK);
  assert_true(training.device == NULL && core_arena_device(training.arena) == NULL);
  assert_string_equal(training.device_note, "toy environments run there; train.device = cuda has networks and "
                                           "updates on the GPU");
  core_arena_destroy(&training.arena);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void test_names_of_levels(void **state) {
  (void)state;
  SimLevelSet set, all;
  char name[LEVELS_NAME];

  assert_int_equal(levels_read("random_m", "", &all), CORE_OK);
  assert_int_equal(all.count, LEVELS_RANDOM);
  assert_int_equal(levels_read("random_m/70", "", &set), CORE_OK);
  assert_int_equal(set.count, 1);
  assert_memory_equal(&set.level[0], &all.level[70], sizeof set.level[0]);
  sim_level_set_free(&set);
  sim_level_set_free(&all);

  assert_int_equal(levels_read_part("random_s/3+loco512", 0, "", &set, name), CORE_OK);
  assert_string_equal(name, "random_s/3");
  sim_level_set_free(&set);
  assert_int_equal(levels_read_part("random_s/3+loco512", 1, "", &set, name), CORE_OK);
  assert_string_equal(name, "loco512");
  assert_int_equal(set.count, 512);
  sim_level_set_free(&set);

  if (!core_files_exists(KINETIX)) skip();
  assert_int_equal(levels_read_part(KINETIX "/s//+" KINETIX "/m/arm_up.json", 0, "", &set, name), CORE_OK);
  assert_string_equal(name, "s"); /* a directory: its own name */
  sim_level_set_free(&set);
  assert_int_equal(levels_read_part(KINETIX "/s+" KINETIX "/m/arm_up.permute1", 1, "", &set, name), CORE_OK);
  assert_string_equal(name, "m/arm_up.permute1");
  sim_level_set_free(&set);

  assert_int_equal(
    levels_read_part("car+" KINETIX "/../kinetix_levels/../kinetix_levels/../kinetix_levels/m", 1, "", &set, name),
    CORE_OK);
  assert_string_equal(name, "m");
  sim_level_set_free(&set);

  assert_int_equal(levels_read_part("random_s/00000000000000000000000000000000000000000000000000000000000000003", 0, "",
                                    &set, name), CORE_USAGE);
  assert_message("too long");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_heads),
    cmocka_unit_test(test_learns_discrete_actions),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_new_levels_need_a_generator),
    cmocka_unit_test(test_training_on_new_levels),
    cmocka_unit_test(test_further_sets_have_rows_of_their_own),
    cmocka_unit_test(test_further_sets_leave_training_alone),
    cmocka_unit_test(test_impossible_sets),
    cmocka_unit_test(test_published_sets),
    cmocka_unit_test(test_settings_that_need_what_an_environment_lacks),
    cmocka_unit_test(test_an_environment_without_a_device),
    cmocka_unit_test(test_names_of_levels),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
