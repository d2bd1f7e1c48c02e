/* The model of runs on many GPUs (tests/instruments/scaling.h): its all-reduces against NCCL's cost formula computed by
 * hand, and invariants of its predictions. */
#include "test.h"

#include "tests/instruments/scaling.h"
#include "trainer/update/gradient_device.h"
#include "training_tools.h"

static void assert_near_to(double got, double want) {
  if (!(fabs(got - want) <= 1e-9 * fabs(want))) fail_msg("%.12g, not %.12g", got, want);
}

static void test_all_reduce(void **state) {
  const ScalingMachine machine = SCALING_H200;
  (void)state;
  assert_true(scaling_all_reduce_us(&machine, 1, 1e6) == 0);
  assert_near_to(scaling_all_reduce_us(&machine, 2, 0), 6.6 + 2 * 0.6);                       /* ring, LL */
  assert_near_to(scaling_all_reduce_us(&machine, 128, 0), 6.8 + 2 * (7 * 0.6 + 4 * 5.0));     /* tree, LL */
  assert_near_to(scaling_all_reduce_us(&machine, 8, 1e9), 8.4 + 14 * 3.4 + 14.0 / 8 * 1e9 / 450e3); /* ring, Simple */
  assert_near_to(scaling_all_reduce_us(&machine, 16, 1e9),
                 8.4 + (30 - 4) * 3.4 + 4 * 14.0 + 30.0 / 16 * 1e9 / 400e3); /* limited by eight ports per node */
}

static void predict_all(const char *sharing, const char *bucket_kb) {
  CoreConfig config = CONFIGURED_SMALL("net.width=64", "net.depth=3");
  const ScalingMachine machine = SCALING_H200;
  Training *training = NULL;
  set(&config, sharing);
  set(&config, bucket_kb);
  assert_int_equal(training_plan(&config, &training), CORE_OK);
  const Agent *agent = &training->agent;
  const ScalingRun run = {.transitions = 1e6, .steps_per_second = 1e7, .update_share = 0.8, .minibatches = 100,
                          .minibatch_rows = 1e4, .unit_rows = 1};
  const size_t bucket = (size_t)config.comm.bucket_kb * 1024;
  double before = 1;
  for (int gpus = 1; gpus <= 128; gpus *= 2) {
    const ScalingPoint p = scaling_predict(&machine, &run, agent, bucket, gpus);
    assert_near_to(p.minibatch_us, 800);
    assert_near_to(p.bytes, (double)(agent->actor.n + agent->critic.n) * sizeof(float));
    assert_true(p.exposed_us >= 0 && p.exposed_us <= p.sum_us && p.efficiency <= before);
    if (gpus > 1) assert_true(p.exposed_us > 0); /* the last bucket cannot be overlapped */
    assert_near_to(p.padding_us, gpus > 1 ? 800 * 601 / 1e4 : 0);
    assert_near_to(p.efficiency, 1e5 / (1e5 + 100 * (p.exposed_us + p.padding_us)));
    assert_near_to(p.host_efficiency, 1e5 / (1e5 + 100 * (p.exposed_us + p.host_us + p.imbalance_us)));
    before = p.efficiency;
  }
  training_destroy(&training);
}

static void test_predictions(void **state) {
  (void)state;
  predict_all("net.sharing=separate", "comm.bucket_kb=1048576");
  predict_all("net.sharing=separate", "comm.bucket_kb=1");
  predict_all("net.sharing=shared", "comm.bucket_kb=1");
}

/* Units of 100 rows deviate ten times as much; equal parts have no padding; the limit is the whole minibatch. */
static void test_padding(void **state) {
  CoreConfig config = CONFIGURED_SMALL("net.width=64", "net.depth=3");
  const ScalingMachine machine = SCALING_H200;
  Training *training = NULL;
  (void)state;
  assert_int_equal(training_plan(&config, &training), CORE_OK);
  ScalingRun run = {.transitions = 1e6, .steps_per_second = 1e7, .update_share = 0.8, .minibatches = 100,
                    .minibatch_rows = 1e4, .unit_rows = 100};
  ScalingPoint p = scaling_predict(&machine, &run, &training->agent, 1 << 20, 64);
  assert_near_to(p.padding_us, 800 * 61 / 1e2);
  assert_near_to(p.imbalance_us, 800 * sqrt(2 * log(64) / 1e2));
  run.unit_rows = 1e4; /* one environment per GPU */
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 64).padding_us, 800 * 7);
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 2).padding_us, 800);
  run.is_equal = true;
  p = scaling_predict(&machine, &run, &training->agent, 1 << 20, 64);
  assert_true(p.padding_us == 0 && p.imbalance_us == 0);
  run.slices = 24; /* each on one of 64 GPUs */
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 64).padding_us, 800 * 23);
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 2).padding_us, 800);
  assert_true(scaling_predict(&machine, &run, &training->agent, 1 << 20, 1).padding_us == 0);
  training_destroy(&training);
}

/* 64 batches of 4096 levels, 512 steps each, every 32 iterations; 20 us of rollout per step of 1000 environments. */
static void test_search(void **state) {
  CoreConfig config = CONFIGURED_SMALL("net.width=64", "net.depth=3");
  const ScalingMachine machine = SCALING_H200;
  Training *training = NULL;
  (void)state;
  assert_int_equal(training_plan(&config, &training), CORE_OK);
  ScalingRun run = {.transitions = 1e6, .steps_per_second = 1e7, .update_share = 0.8, .minibatches = 100,
                    .minibatch_rows = 1e4, .unit_rows = 1, .search_levels = 64 * 4096, .search_steps = 512,
                    .search_batch = 4096, .search_batches = 64, .search_period = 32};
  const int gpus[] = {1, 8, 64, 128};
  const double batches[] = {64, 8, 1, 1};
  for (int i = 0; i < 4; i++)
    assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, gpus[i]).search_us,
                   batches[i] * 512 * SCALING_STEP_US / 32);
  run.steps_per_second = 1e6; /* 0.2 us per environment step */
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 8).search_us, 8 * 512 * 4096 * 0.2 / 32);
  run.search_batches = 3; /* 2 GPUs share each of three batches */
  run.search_levels = 3 * 4096;
  assert_near_to(scaling_predict(&machine, &run, &training->agent, 1 << 20, 2).search_us,
                 3 * 512 * 2048 * 0.2 / 32);
  training_destroy(&training);
}

/* Buckets cover each network once, from the top down. */
static void test_buckets(void **state) {
  static const char *const bucket_kb[] = {"comm.bucket_kb=1", "comm.bucket_kb=20", "comm.bucket_kb=1024"};
  (void)state;
  for (size_t i = 0; i < sizeof bucket_kb / sizeof *bucket_kb; i++) {
    CoreConfig config = CONFIGURED_SMALL("net.width=64", "net.depth=3", "net.sharing=shared", "net.norm=layer");
    Training *training = NULL;
    set(&config, bucket_kb[i]);
    assert_int_equal(training_plan(&config, &training), CORE_OK);
    GradientSending sending = {.buckets = 0};
    gradient_device_plan(&training->agent, (size_t)config.comm.bucket_kb * 1024, &sending);
    size_t actor = training->agent.actor.n, critic = training->agent.critic.n;
    for (int b = 0; b < sending.buckets; b++) {
      size_t *end = sending.bucket[b].is_actor ? &actor : &critic;
      assert_int_equal(sending.bucket[b].first + sending.bucket[b].n, *end);
      *end = sending.bucket[b].first;
    }
    assert_int_equal(actor, 0);
    assert_int_equal(critic, 0);
    training_destroy(&training);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_reduce), cmocka_unit_test(test_predictions),
                                     cmocka_unit_test(test_padding), cmocka_unit_test(test_search),
                                     cmocka_unit_test(test_buckets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
