/* Observations stored as the parts that change on a level (trainer/rollout/compact.h): training on them equals
 * training on full observations, bit by bit, on the CPU and on a device; and a device's memory, whose plan names
 * what does not fit. */
#include "test.h"

#include "core/memory.h"
#include "trainer/run/training_internal.h"
#include "trainer/ranks/ranks.h"
#include "training_tools.h"

static CoreConfig small_config(const char *device, const char *storage) {
  CoreConfig config =
    CONFIGURED_SMALL("env.num=8", "ppo.num_minibatches=2", "eval.count=0", "metrics.states=64", "env.max_steps=12",
                     "env.morphologies=all", "env.level_count=5", "metrics.representation_every=1");
  set(&config, device);
  set(&config, storage);
  return config;
}

static Training *made(const CoreConfig *config) {
  setenv("CORE_DEVICE", "emulated", 1);
  Training *training = make(config);
  unsetenv("CORE_DEVICE");
  return training;
}

static void assert_same_weights(const Training *a, const Training *b) {
  const size_t bytes = a->agent.actor.n * sizeof(float);
  float *x = core_memory_allocate(bytes), *y = core_memory_allocate(bytes);
  core_device_to_host(a->device, x, a->agent.actor.theta, bytes);
  core_device_to_host(b->device, y, b->agent.actor.theta, bytes);
  assert_memory_equal(x, y, bytes);
  free(x), free(y);
}

/* Compares one rollout row by row, which locates a fault best. */
static void assert_same_observations(const Rollout *floats, const Rollout *state) {
  const int rows = (floats->steps + 1) * floats->worlds;
  const size_t n = (size_t)rows * (size_t)floats->features;
  uint32_t *index = core_memory_allocate((size_t)rows * sizeof *index);
  float *got = core_memory_allocate(n * sizeof *got);
  for (int i = 0; i < rows; i++) index[i] = (uint32_t)i;
  compact_gather(&state->compact, index, rows, got);
  for (size_t i = 0; i < n; i++)
    if (memcmp(&got[i], &floats->observations[i], sizeof *got) != 0)
      fail_msg("row %zu, number %zu is %g, not %g", i / (size_t)floats->features, i % (size_t)floats->features,
               (double)got[i], (double)floats->observations[i]);
  free(index), free(got);
}

/* More new levels arrived than the pool can hold, so some were regenerated. */
static void assert_places(const Rollout *rollout, CompactLevels levels) {
  const size_t rows = (size_t)(rollout->steps + 1) * (size_t)rollout->worlds;
  assert_int_equal(rollout->compact.level != NULL, levels == COMPACT_OF_EPISODE);
  if (levels != COMPACT_OF_EPISODE) return;
  int32_t *level = core_memory_allocate(rows * sizeof *level);
  size_t kept = 0, again = 0;
  core_device_to_host(rollout->device, level, rollout->compact.level, rows * sizeof *level);
  for (size_t i = 0; i < rows; i++) {
    assert_true(level[i] < (int32_t)rollout->compact.slots);
    if (level[i] < 0) again++;
    else kept += level[i] >= rollout->worlds;
  }
  assert_true(kept > 0 && again > 0);
  free(level);
}

/* Settings, ending with NULL, and the storage. */
typedef struct Case {
  const char *device, *settings[16];
  CompactLevels levels;
} Case;

/* Episodes end, so worlds go from level to level. */
static void compare(Case c) {
  CoreConfig floats = small_config(c.device, "train.observation_storage=float32");
  CoreConfig state = small_config(c.device, "train.observation_storage=state");
  for (size_t i = 0; c.settings[i]; i++) set(&floats, c.settings[i]), set(&state, c.settings[i]);
  Training *a = made(&floats), *b = made(&state);
  assert_true(!a->rollout.is_compact && b->rollout.is_compact);
  assert_true(b->rollout.compact.changing > 0 && b->rollout.compact.changing < b->rollout.features / 2);
  assert_int_equal(b->rollout.compact.levels, c.levels);
  for (int i = 0; i < 3; i++) {
    const StoreIteration x = iterate(a, 1), y = iterate(b, 1);
    if (a->device == NULL) assert_same_observations(&a->rollout, &b->rollout);
    if (!(x.kl == y.kl && x.value_loss == y.value_loss && x.policy_loss == y.policy_loss && x.kl > 0))
      fail_msg("iteration %d: KL %.17g and %.17g, value loss %.17g and %.17g", i + 1, x.kl, y.kl, x.value_loss,
               y.value_loss);
    assert_true(x.episodes > 0 && x.episodes == y.episodes && x.coverage_states == y.coverage_states);
    assert_same_weights(a, b);
  }
  assert_places(&b->rollout, c.levels);
  training_destroy(&a);
  training_destroy(&b);
}

#define CPU "train.device=cpu"
#define CUDA "train.device=cuda"
/* Episodes so short that there are more than places; L slots, of which drawn levels of size M take some. */
#define NEW(reset)                                                                                                     \
  "env.task=random_m", "env.size=l", "env.level_count=1", "env.reset=" reset, "env.max_steps=5", "ppo.num_steps=24"
/* Levels change with each rollout; some come from a search. */
#define CURRICULUM "env.task=random_s", "env.curriculum=sfl", "env.size=m", "sfl.batch_size=4", \
                   "sfl.rollout_steps=12", "sfl.buffer_size=3", "sfl.period=2"

static void test_cpu(void **state) { (void)state, compare((Case){CPU, {NULL}, COMPACT_STAY}); }
static void test_device(void **state) { (void)state, compare((Case){CUDA, {"algo.name=ppo_ewma"}, COMPACT_STAY}); }
static void test_by_environments(void **state) {
  (void)state, compare((Case){CUDA, {"ppo.minibatch_by=environments"}, COMPACT_STAY});
}
static void test_new_cpu(void **state) { (void)state, compare((Case){CPU, {NEW("new_filtered")}, COMPACT_OF_EPISODE}); }
static void test_new_device(void **state) { (void)state, compare((Case){CUDA, {NEW("new")}, COMPACT_OF_EPISODE}); }
static void test_filtered_device(void **state) {
  (void)state, compare((Case){CUDA, {NEW("new_filtered"), "env.num=4"}, COMPACT_OF_EPISODE});
}
static void test_curriculum_cpu(void **state) { (void)state, compare((Case){CPU, {CURRICULUM}, COMPACT_OF_ROLLOUT}); }
static void test_curriculum_device(void **state) {
  (void)state, compare((Case){CUDA, {CURRICULUM}, COMPACT_OF_ROLLOUT});
}

/* Entity observations of size M: what touches is a bit of the attention masks. */
#define ENTITY "env.observations=entity", "net.encoder=set", "net.sharing=shared"
static void test_entity_cpu(void **state) { (void)state, compare((Case){CPU, {ENTITY}, COMPACT_STAY}); }
static void test_entity_device(void **state) { (void)state, compare((Case){CUDA, {ENTITY}, COMPACT_STAY}); }
static void test_entity_new(void **state) {
  (void)state, compare((Case){CPU, {ENTITY, NEW("new")}, COMPACT_OF_EPISODE});
}
static void test_entity_new_device(void **state) {
  (void)state, compare((Case){CUDA, {ENTITY, NEW("new"), "env.num=4"}, COMPACT_OF_EPISODE});
}
static void test_entity_curriculum(void **state) {
  (void)state, compare((Case){CUDA, {ENTITY, CURRICULUM}, COMPACT_OF_ROLLOUT});
}

static void test_refusals(void **state) {
  static const char *const settings[] = {"env.normalize_observations=cleanrl", "env.observations=padded"};
  (void)state;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    CoreConfig config = small_config(CPU, "train.observation_storage=state");
    Training *training = NULL;
    set(&config, settings[i]);
    assert_int_equal(training_plan(&config, &training), CORE_USAGE);
    assert_message("train.observation_storage");
  }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static Training *planned(const CoreConfig *config, const char *device) {
  Training *training = NULL;
  setenv("CORE_DEVICE", device, 1);
  if (training_plan(config, &training) != CORE_OK) fail_msg("%s", core_error_message());
  unsetenv("CORE_DEVICE");
  return training;
}

/* 1 048 576 worlds of the 512 public morphologies (232 numbers an observation), 256 steps, 3 x 256 separate networks,
 * on 141 GB (131 GiB). */
static void test_million(void **state) {
  CoreConfig config = small_config("train.device=cuda", "train.observation_storage=float32");
  static const char *const settings[] = {"env.num=1048576",         "ppo.num_steps=256",   "ppo.num_minibatches=4096",
                                         "net.width=256",           "net.depth=3",         "env.difficulty=all",
                                         "env.morphologies=public", "env.level_count=512", "env.max_steps=256"};

  (void)state;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) set(&config, settings[i]);
  Training *training = planned(&config, "emulated:memory=131G");
  print_message("# float32: %.1f GB on the device\n", training->plan.device_bytes / 1e9);
  assert_int_equal(training_memory_check(training), CORE_FAIL);
  const char *message = core_error_message();
  if (!strstr(message, "rollout observations [steps + 1][worlds][features] 250 GB") ||
      !strstr(message, "set train.observation_storage = state")) fail_msg("%s", message);
  training_destroy(&training);

  set(&config, "train.observation_storage=float16");
  training = planned(&config, "emulated:memory=131G");
  print_message("# float16: %.1f GB on the device\n", training->plan.device_bytes / 1e9);
  assert_int_equal(training_memory_check(training), CORE_FAIL);
  assert_message("set train.observation_storage = state");
  training_destroy(&training);

  set(&config, "train.observation_storage=state");
  training = planned(&config, "emulated:memory=131G");
  print_message("# state: %.1f GB on the device, worlds %.1f GB of it; %d of %d numbers change\n",
                training->plan.device_bytes / 1e9, training->plan.device_worlds_bytes / 1e9,
                training->rollout.compact.changing, training->rollout.features);
  if (training_memory_check(training) != CORE_OK) fail_msg("%s", core_error_message());
  training_destroy(&training);
}

/* Checks 2^20 worlds on generated levels: new ones per iteration or per episode. */
static void check_million_drawn(const char *const *settings) {
  static const char *const common[] = {"env.num=1048576",   "ppo.num_steps=256", "ppo.num_minibatches=4096",
                                       "net.width=256",     "net.depth=3",       "env.task=random_s",
                                       "env.level_count=1", "env.max_steps=256"};
  CoreConfig config = small_config(CUDA, "train.observation_storage=float32");
  for (size_t i = 0; i < sizeof common / sizeof *common; i++) set(&config, common[i]);
  for (size_t i = 0; settings[i]; i++) set(&config, settings[i]);
  Training *training = planned(&config, "emulated:memory=131G");
  print_message("# float32, %s: %.1f GB on the device\n", settings[0], training->plan.device_bytes / 1e9);
  assert_int_equal(training_memory_check(training), CORE_FAIL);
  training_destroy(&training);
  set(&config, "train.observation_storage=state");
  training = planned(&config, "emulated:memory=131G");
  const Compact *compact = &training->rollout.compact;
  const double constants = (double)compact->slots * (compact->features - compact->changing) * sizeof *compact->table;
  print_message(
    "# state, %s: %.1f GB on the device, worlds %.1f GB, constants %.1f GB of it; %d of %d numbers change\n",
    settings[0], training->plan.device_bytes / 1e9, training->plan.device_worlds_bytes / 1e9, constants / 1e9,
    compact->changing, compact->features);
  if (training_memory_check(training) != CORE_OK) fail_msg("%s", core_error_message());
  assert_true(training->plan.device_bytes > constants + training->plan.device_worlds_bytes);
  training_destroy(&training);
}

static void test_million_drawn(void **state) {
  (void)state;
  check_million_drawn((const char *const[]){"env.reset=new", NULL});
  check_million_drawn((const char *const[]){"env.reset=new_filtered", NULL});
  check_million_drawn((const char *const[]){"env.curriculum=sfl", "sfl.rollout_steps=256", NULL});
}

/* The planned memory equals the used memory within 5%: slightly more is enough, slightly less is not. */
static void check_estimate(const char *const *settings) {
  CoreConfig config = small_config(CUDA, "train.observation_storage=state");
  char device[64];
  for (size_t i = 0; settings[i]; i++) set(&config, settings[i]);
  Training *training = planned(&config, "emulated");
  const double bytes = training->plan.device_bytes;
  training_destroy(&training);
  for (int more = -1; more <= 1; more += 2) {
    snprintf(device, sizeof device, "emulated:memory=%.0f", bytes * (1 + 0.05 * more));
    training = planned(&config, device);
    const int code = training_allocate(training);
    if (code != (more > 0 ? CORE_OK : CORE_FAIL))
      fail_msg("%s, %.0f bytes planned, %s: %s", settings[0], bytes, device, core_error_message());
    training_destroy(&training);
  }
}

static void test_estimate(void **state) {
  (void)state;
  check_estimate((const char *const[]){"env.num=1024", "env.morphologies=public", "env.difficulty=all", NULL});
  check_estimate(
    (const char *const[]){"env.task=random_s", "env.level_count=1", "env.reset=new", "env.num=1024", NULL});
  check_estimate(
    (const char *const[]){"env.task=random_s", "env.level_count=1", "env.reset=new_filtered", "env.num=1024", NULL});
}

/* Returns the planned bytes of a device with this setting, for a number of ranks. */
static double bytes_of_ranks(int ranks, const char *setting) {
  CoreConfig config = small_config(CUDA, "train.observation_storage=state");
  set(&config, setting);
  ranks_plan_as(ranks);
  Training *training = planned(&config, "emulated");
  const double bytes = training->plan.device_bytes;
  training_destroy(&training);
  ranks_plan_as(1);
  return bytes;
}

static void test_buffers_of_nccl(void **state) {
  (void)state;
  const double without = bytes_of_ranks(2, "comm.library=mpi");
  assert_true(bytes_of_ranks(2, "comm.library=auto") == without + 1.5e9);
  assert_true(bytes_of_ranks(2, "comm.library=nccl") == without + 1.5e9);
  assert_true(bytes_of_ranks(2, "comm.share_gpu=yes") == without);
  assert_true(bytes_of_ranks(1, "comm.library=nccl") == bytes_of_ranks(1, "comm.library=mpi"));
}

static void expect_lack(const CoreConfig *config, const char *message) {
  Training *training = planned(config, "emulated:memory=4M");
  assert_int_equal(training_memory_check(training), CORE_FAIL);
  assert_message(message);
  training_destroy(&training);
}

/* Settings that need other tensors than observations, and settings that reject `state`. */
static void test_settings(void **state) {
  CoreConfig config = small_config("train.device=cuda", "train.observation_storage=state");
  CoreConfig normalized = small_config("train.device=cuda", "train.observation_storage=float32");
  (void)state;
  set(&normalized, "env.normalize_observations=cleanrl"), set(&normalized, "env.num=512"),
    set(&normalized, "ppo.num_minibatches=16");
  expect_lack(&normalized, "set train.observation_storage = float16, or lower");
  set(&normalized, "train.observation_storage=float16");
  expect_lack(&normalized, "; lower env.num or ppo.num_steps");
  set(&config, "net.width=512"), set(&config, "ppo.num_minibatches=1"), set(&config, "env.num=256");
  expect_lack(&config, "raise ppo.num_minibatches");
  setenv("TRAINER_MICROBATCH", "2048", 1); /* fewer than a minibatch's rows */
  expect_lack(&config, "lower net.width");
  unsetenv("TRAINER_MICROBATCH");
}

/* The plan fits, but something else has taken part of the memory since. */
static void test_out_of_memory(void **state) {
  CoreConfig config = small_config("train.device=cuda", "train.observation_storage=float32");
  void *taken;
  (void)state;
  Training *training = planned(&config, "emulated:memory=64M");
  assert_int_equal(training_memory_check(training), CORE_OK);
  assert_int_equal(training->device->allocate(training->device, (64 << 20) - (128 << 10), &taken), CORE_OK);
  assert_int_equal(training_allocate(training), CORE_FAIL);
  const char *message = core_error_message();
  if (!strstr(message, "out of memory of emulated on the CPU") || !strstr(message, "largest:") ||
      !strstr(message, "nvidia-smi"))
    fail_msg("%s", message);
  training->device->release(training->device, taken);
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu),
                                     cmocka_unit_test(test_device),
                                     cmocka_unit_test(test_by_environments),
                                     cmocka_unit_test(test_new_cpu),
                                     cmocka_unit_test(test_new_device),
                                     cmocka_unit_test(test_filtered_device),
                                     cmocka_unit_test(test_curriculum_cpu),
                                     cmocka_unit_test(test_curriculum_device),
                                     cmocka_unit_test(test_entity_cpu),
                                     cmocka_unit_test(test_entity_device),
                                     cmocka_unit_test(test_entity_new),
                                     cmocka_unit_test(test_entity_new_device),
                                     cmocka_unit_test(test_entity_curriculum),
                                     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_million),
                                     cmocka_unit_test(test_million_drawn),
                                     cmocka_unit_test(test_estimate),
    cmocka_unit_test(test_buffers_of_nccl),
                                     cmocka_unit_test(test_settings),
                                     cmocka_unit_test(test_out_of_memory)};
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
