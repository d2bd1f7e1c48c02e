/* The model of runs on many GPUs (trainer/tools/scaling.h): its sums against NCCL's cost formula worked out by hand,
 * and what must hold of its predictions whatever the figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "trainer/tools/scaling.h"
#include "trainer/update/gradient_device.h"
#include "training_tools.h"

static void assert_near_to(double got, double want) {
  if (!(fabs(got - want) <= 1e-9 * fabs(want))) fail_msg("%.12g, not %.12g", got, want);
}

static void test_sums(void **state) {
  const ScalingMachine machine = SCALING_H200;
  (void)state;
  assert_true(scaling_sum_us(&machine, 1, 1e6) == 0);
  assert_near_to(scaling_sum_us(&machine, 2, 0), 6.6 + 2 * 0.6);                       /* ring, LL */
  assert_near_to(scaling_sum_us(&machine, 128, 0), 6.8 + 2 * (7 * 0.6 + 4 * 5.0));     /* tree, LL */
  assert_near_to(scaling_sum_us(&machine, 8, 1e9), 8.4 + 14 * 3.4 + 14.0 / 8 * 1e9 / 450e3); /* ring, Simple */
  assert_near_to(scaling_sum_us(&machine, 16, 1e9),
                 8.4 + (30 - 4) * 3.4 + 4 * 14.0 + 30.0 / 16 * 1e9 / 400e3); /* eight ports a node limit it */
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
                          .minibatch_rows = 1e4, .by_transitions = true};
  const size_t bucket = (size_t)config.comm.bucket_kb * 1024;
  double before = 1;
  for (int gpus = 1; gpus <= 128; gpus *= 2) {
    const ScalingPoint p = scaling_predict(&machine, &run, agent, bucket, gpus);
    assert_near_to(p.minibatch_us, 800);
    assert_near_to(p.bytes, (double)(agent->actor.n + agent->critic.n) * sizeof(float));
    assert_true(p.exposed_us >= 0 && p.exposed_us <= p.sum_us && p.efficiency <= before);
    if (gpus > 1) assert_true(p.exposed_us > 0); /* the last bucket cannot be hidden */
    assert_near_to(p.filled_us, gpus > 1 ? 800 * 601 / 1e4 : 0);
    assert_near_to(p.efficiency, 1e5 / (1e5 + 100 * (p.exposed_us + p.filled_us)));
    assert_near_to(p.waiting, 1e5 / (1e5 + 100 * (p.exposed_us + p.host_us + p.uneven_us)));
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_predictions),
                                     cmocka_unit_test(test_buckets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
