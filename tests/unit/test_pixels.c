/* Pixels of environments as bytes (EnvPixels of trainer/envs/env.h): the bytes equal the values that the same worlds
 * show without a pixel encoder; the shapes are the environment's; observations that are not images are rejected.
 *
 * Environments in Python are tests/cli/environments/sitecustomize.py's. Without Procgen or Gymnasium their tests are
 * skipped. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "trainer/envs/procgen/procgen_game.h"
#include "trainer/envs/tasks/tasks.h"
#include "training_tools.h"

enum { WORLDS = 3, STEPS = 25 };

typedef struct Side {
  Env *env;
  float *observations, *finals, *rewards;
  uint8_t dones[WORLDS], solved[WORLDS], truncated[WORLDS];
  int32_t episode_steps[WORLDS];
} Side;

static Side open_side(const char *task, const char *encoder) {
  CoreConfig config = CONFIGURED("env.workers=2", "procgen.num_levels=3");
  char pair[128];
  Side side = {0};
  snprintf(pair, sizeof pair, "env.task=%s", task), set(&config, pair);
  snprintf(pair, sizeof pair, "net.encoder=%s", encoder), set(&config, pair);
  if (env_create(&config, WORLDS, 7, &side.env) != CORE_OK) fail_msg("%s", core_error_message());
  const size_t n = (size_t)WORLDS * (size_t)side.env->observation_length;
  side.observations = core_memory_zero_allocate(n, sizeof(float));
  side.finals = core_memory_zero_allocate(n, sizeof(float));
  side.rewards = core_memory_zero_allocate(WORLDS, sizeof(float));
  side.env->reset(side.env, side.observations);
  return side;
}

static void close_side(Side *side) {
  env_destroy(&side->env);
  free(side->observations), free(side->finals), free(side->rewards);
}

static void step(Side *side, int t) {
  uint8_t actions[WORLDS];
  for (int w = 0; w < WORLDS; w++) {
    CoreRandomStream stream = core_random_stream(5, CORE_RANDOM_ACTION, (uint32_t)w, (uint32_t)t);
    actions[w] = (uint8_t)(core_random_next(&stream) % (uint32_t)side->env->head.size[0]);
  }
  const EnvStep out = {.observations = side->observations, .rewards = side->rewards, .dones = side->dones,
                       .solved = side->solved, .episode_steps = side->episode_steps, .truncated = side->truncated,
                       .final_observations = side->env->truncates ? side->finals : NULL};
  side->env->step(side->env, actions, &out);
  if (env_check(side->env) != CORE_OK) fail_msg("%s", core_error_message());
}

/* Row w of the bytes is that of the numbers, times `scale`; behind the last pixel is 0. */
static void assert_row(const Side *bytes, const Side *numbers, const float *packed, const float *plain, int w,
                       float scale) {
  const int pixels = numbers->env->observation_length, length = bytes->env->observation_length;
  const uint8_t *row = (const uint8_t *)(packed + (size_t)w * (size_t)length);
  const float *wanted = plain + (size_t)w * (size_t)pixels;
  for (int i = 0; i < pixels; i++)
    if (row[i] != (int)(wanted[i] * scale + 0.5f)) fail_msg("world %d, pixel %d: %d, not %g", w, i, row[i],
                                                            (double)(wanted[i] * scale));
  for (int i = pixels; i < 4 * length; i++) assert_int_equal(row[i], 0);
}

/* Creates the same worlds with and without a pixel encoder. Returns the layout of the pixels. */
static EnvPixels compare(const char *task, const char *encoder, float scale) {
  Side bytes = open_side(task, encoder), numbers = open_side(task, "none");
  assert_non_null(bytes.env->pixels);
  assert_null(numbers.env->pixels);
  const EnvPixels pixels = *bytes.env->pixels;
  int ends = 0;
  assert_int_equal(env_pixels_frame(&pixels) * (size_t)pixels.frames, numbers.env->observation_length);
  assert_int_equal(bytes.env->observation_length, env_pixels_length(&pixels));
  for (int t = 0; t < STEPS; t++) {
    for (int w = 0; w < WORLDS; w++) {
      assert_row(&bytes, &numbers, bytes.observations, numbers.observations, w, scale);
      if (t > 0 && bytes.dones[w] && bytes.env->truncates)
        assert_row(&bytes, &numbers, bytes.finals, numbers.finals, w, scale), ends++;
    }
    step(&bytes, t), step(&numbers, t);
    assert_memory_equal(bytes.rewards, numbers.rewards, sizeof(float) * WORLDS);
    assert_memory_equal(bytes.dones, numbers.dones, WORLDS);
  }
  assert_true(ends > 0 || !bytes.env->truncates);
  close_side(&bytes), close_side(&numbers);
  return pixels;
}

static void assert_pixels(EnvPixels p, int height, int width, int channels, int frames, bool channels_last) {
  if (p.height != height || p.width != width || p.channels != channels || p.frames != frames ||
      p.channels_last != channels_last)
    fail_msg("%d x %d, %d channels, %d frames, %d", p.height, p.width, p.channels, p.frames, p.channels_last);
}

/* ---- Procgen ----------------------------------------------------------------------------------------------------- */

static void test_procgen(void **state) {
  (void)state;
  if (procgen_check("coinrun") != CORE_OK) skip();
  assert_pixels(compare("procgen/coinrun", "impala", 255), 64, 64, 3, 1, true);
}

/* ---- environments in Python -------------------------------------------------------------------------------------- */

#define NEED_PYTHON() \
  if (!has_python()) skip()

static bool has_python(void) {
  CoreConfig config = CONFIGURED("env.task=gym/Count-v0");
  char python[512], environments[CORE_PATH_MAX];
  Env *env = NULL;
  snprintf(python, sizeof python, "%s/python/bin/python", getenv("SWEEP_BUILD") ? getenv("SWEEP_BUILD") : "build");
  setenv("SWEEP_PYTHON", python, 1);
  assert_non_null(realpath("tests/cli/environments", environments));
  setenv("PYTHONPATH", environments, 1);
  setenv("SWEEP_TEST_ENVIRONMENTS", "1", 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  setenv("PYTHONWARNINGS", "ignore", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1); /* numpy's threads, which nothing here needs, are busy when they begin */
  const int code = env_create(&config, 1, 1, &env);
  env_destroy(&env);
  if (code == CORE_OK) return true;
  if (!strstr(core_error_message(), "has no package") && !strstr(core_error_message(), "there is no Python"))
    fail_msg("%s", core_error_message());
  return false;
}

static void test_shapes(void **state) {
  (void)state;
  NEED_PYTHON();
  assert_pixels(compare("gym/Picture-v0", "nature", 1), 5, 7, 1, 1, true);
  assert_pixels(compare("gym/Colored-v0", "nature", 1), 5, 7, 3, 1, true);
  assert_pixels(compare("gym/Stacked-v0", "nature", 1), 5, 7, 1, 4, false);
  assert_pixels(compare("gym/StackedColors-v0", "impala", 1), 5, 7, 3, 2, true);
}

static void assert_refused(const char *task, const char *encoder, const char *part) {
  CoreConfig config = core_config_default();
  Env *env = NULL;
  char pair[128];
  snprintf(pair, sizeof pair, "env.task=%s", task), set(&config, pair);
  snprintf(pair, sizeof pair, "net.encoder=%s", encoder), set(&config, pair);
  assert_int_equal(env_create(&config, WORLDS, 1, &env), CORE_USAGE);
  assert_message(part);
}

static void test_what_is_no_picture(void **state) {
  (void)state;
  NEED_PYTHON();
  assert_refused("gym/Count-v0", "nature", "net.encoder = nature reads pictures of bytes");
  assert_refused("gym/Row-v0", "impala", "set net.encoder to none");
  assert_refused("gym/Folded-v0", "nature", "reads pictures of bytes");
}

/* In the middle of an episode. */
static void assert_fails(const char *task, const char *part) {
  Side side = open_side(task, "nature");
  const uint8_t actions[WORLDS] = {0};
  const EnvStep out = {.observations = side.observations, .rewards = side.rewards, .dones = side.dones,
                       .solved = side.solved, .episode_steps = side.episode_steps};
  for (int t = 0; t < 4; t++) side.env->step(side.env, actions, &out);
  assert_int_equal(env_check(side.env), CORE_FAIL);
  assert_message(part);
  close_side(&side);
}

static void test_changes(void **state) {
  (void)state;
  NEED_PYTHON();
  assert_fails("gym/Turns-v0", "shape");
  assert_fails("gym/Floats-v0", "gym/Floats-v0");
}

/* ---- in a training ----------------------------------------------------------------------------------------------- */

/* All rows that the learner can gather, of a rollout that begins with step `begun` of the run: episodes have ten. */
static void assert_film(const Training *training, int begun) {
  const Rollout *rollout = &training->rollout;
  const int rows = (rollout->steps + 1) * rollout->worlds;
  const size_t length = (size_t)rollout->features;
  float *got = core_memory_allocate((size_t)rows * length * sizeof *got);
  uint32_t *index = core_memory_allocate((size_t)rows * sizeof *index);
  for (int i = 0; i < rows; i++) index[i] = (uint32_t)(rows - 1 - i);
  rollout_gather_observations(rollout, training->ops, index, rows, got);
  for (int i = 0; i < rows; i++) {
    const uint8_t *row = (const uint8_t *)(got + (size_t)i * length);
    const int step = (begun + (int)index[i] / rollout->worlds) % 10;
    for (int p = 0; p < 4 * 1600; p++) {
      const int before = step - 3 + p / 1600, wanted = 25 * (before > 0 ? before : 0);
      if (row[p] != wanted) fail_msg("row %u, pixel %d is %d, not %d", index[i], p, row[p], wanted);
    }
  }
  free(got), free(index);
}

static void test_training(void **state) {
  (void)state;
  NEED_PYTHON();
  const CoreConfig config =
    CONFIGURED("env.task=gym/Film-v0", "net.encoder=nature", "env.num=4", "ppo.num_steps=16", "ppo.num_minibatches=2",
               "ppo.epochs=1", "net.width=8", "net.depth=1", "eval.count=0", "eval.episodes=2", "train.threads=1",
               "train.total_steps=192", "metrics.states=32", "metrics.representation_every=1",
               "train.device=cpu");
  Training *training = make(&config);
  assert_int_equal(training->rollout.frames.stack, 4);
  for (int i = 0; i < 3; i++) {
    const StoreIteration row = iterate(training, 1);
    assert_film(training, 16 * i);
    if (!(isfinite(row.kl) && row.episodes > 0 && row.coverage_states > 0))
      fail_msg("KL %g, %g episodes, %g states", row.kl, (double)row.episodes, (double)row.coverage_states);
  }
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_procgen), cmocka_unit_test(test_shapes), cmocka_unit_test(test_what_is_no_picture),
    cmocka_unit_test(test_changes), cmocka_unit_test(test_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
