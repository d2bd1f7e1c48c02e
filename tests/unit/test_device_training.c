/* Training on a device against training on the CPU: the same environment, agent and learner, once in the host's memory
 * and once in an emulated device's, which host code cannot access (core/device/device.h). Only the order of terms in
 * matrix products differs, so values agree closely for a few iterations; actions, rewards and episodes are equal as
 * long as no probability falls on the other side of a random number. */
#include "test.h"

#include "core/memory.h"
#include "trainer/learners/ppo.h"
#include "trainer/learners/sapg.h"
#include "device_tools.h"
#include "training_tools.h"

/* Whether trainings on a device that begin from here on are on an emulated one. TEST_DEVICE=gpu (tests/gpu/all.sh) asks
 * for the GPU, which must be there, whatever a test says. */
static void emulate(bool wanted) {
  if (wanted && !is_gpu_requested()) setenv("CORE_DEVICE", "emulated", 1);
  else unsetenv("CORE_DEVICE");
}

static CoreConfig small_config(const char *algorithm, const char *device) {
  CoreConfig config = CONFIGURED_SMALL("env.num=8", "ppo.num_minibatches=2", "eval.count=1", "metrics.states=64",
                                       "env.max_steps=24");
  set(&config, algorithm);
  set(&config, device);
  return config;
}

/* more: settings of both, NULL at the end; NULL: none. */
#define WITH(...) (const char *const[]){__VA_ARGS__, NULL}
static void compare_within(double slack, int iterations, const char *algorithm, const char *const *more) {
  CoreConfig on_device = small_config(algorithm, "train.device=cuda"),
             on_host = small_config(algorithm, "train.device=cpu");
  for (int i = 0; more && more[i]; i++) set(&on_device, more[i]), set(&on_host, more[i]);

  emulate(true);
  Training *a = make(&on_device), *b = make(&on_host);
  emulate(false);
  assert_true(a->device != NULL && b->device == NULL);
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 0);

  for (int i = 0; i < iterations; i++) {
    const StoreIteration device = iterate(a, 1), host = iterate(b, 1);
    assert_same_rows(&device, &host, slack);
  }

  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, slack * 1e-3);
  assert_close_weights(a, &a->agent.critic, b, &b->agent.critic, slack * 1e-3);
  if (strcmp(algorithm, "algo.name=ppo_ewma") == 0) { /* the proximal weights, too */
    AgentNetwork left = a->agent.actor, right = b->agent.actor;
    left.theta = learner_as_ppo(&a->learner)->proximal.theta;
    right.theta = learner_as_ppo(&b->learner)->proximal.theta;
    assert_close_weights(a, &left, b, &right, slack * 1e-3);
  }

  StoreEvaluation device, host;
  training_evaluate(a, &device);
  training_evaluate(b, &host);
  assert_relatively_near("evaluation", device.episode_return, host.episode_return, 0.05);
  assert_true(a->device->launches > 100);

  training_destroy(&a);
  training_destroy(&b);
}

static void compare_for(int iterations, const char *algorithm, const char *const *more) {
  compare_within(1, iterations, algorithm, more);
}
static void compare(const char *algorithm, const char *const *more) { compare_for(3, algorithm, more); }

/* Encoders have hundreds of layers' worth of launches, each of which opens and closes the emulator's memory. */
#define FEW "env.num=2", "ppo.num_steps=4", "ppo.num_minibatches=1", "ppo.epochs=1", "metrics.states=8", \
            "eval.episodes=2", "env.max_steps=3", "env.level_count=2"

static void test_ppo(void **state) { (void)state, compare("algo.name=ppo", NULL); }
/* Logits of sampled states alone are kept where these are few; the CPU keeps all. */
static void test_sampled_logits(void **state) {
  (void)state;
  compare("algo.name=ppo", WITH("metrics.states=19"));
  compare("algo.name=ppo_ewma", WITH("metrics.states=32", "env.actions=continuous"));
}
static void test_ppo_ewma(void **state) { (void)state, compare("algo.name=ppo_ewma", WITH("net.norm=layer")); }
static void test_minibatch_norm(void **state) {
  (void)state, compare("algo.name=ppo", WITH("ppo.normalize_advantage=minibatch"));
}
/* Hidden layers that are bf16 in the device's memory, where the CPU has floats: with activations of their own, with
 * ReLU in the products and a trunk, and with layer norm, which keeps floats. */
enum { BF16_SLACK = 30 };
static void test_bf16(void **state) {
  (void)state;
  compare_within(BF16_SLACK, 2, "algo.name=ppo", WITH("train.precision=bf16"));
  compare_within(BF16_SLACK, 2, "algo.name=ppo",
                 WITH("train.precision=bf16", "net.activation=relu", "net.sharing=shared"));
  compare_within(BF16_SLACK, 2, "algo.name=ppo_ewma", WITH("train.precision=bf16", "net.norm=layer"));
}
/* Chains of layers in one launch (device_mlp.c): separate networks, and a trunk with towers. */
static void test_fused_layers(void **state) {
  (void)state;
  compare_within(BF16_SLACK, 2, "algo.name=ppo", WITH("train.precision=bf16", "net.width=64"));
  compare_within(BF16_SLACK, 2, "algo.name=ppo",
                 WITH("train.precision=bf16", "net.width=64", "net.sharing=shared", "net.trunk_width=128"));
}
/* Minibatches in micro-batches of at most this many rows, the last one smaller; the host has whole minibatches. */
static void compare_in_pieces(const char *rows, const char *algorithm, const char *const *more) {
  setenv("TRAINER_MICROBATCH", rows, 1);
  compare(algorithm, more);
  setenv("TRAINER_QUEUE", "none", 1);
  compare_for(2, algorithm, more);
  unsetenv("TRAINER_QUEUE");
  unsetenv("TRAINER_MICROBATCH");
}
static void test_microbatches(void **state) {
  (void)state;
  compare_in_pieces("19", "algo.name=ppo", WITH("ppo.normalize_advantage=minibatch"));
  compare_in_pieces("19", "algo.name=ppo_ewma", WITH("ppo.minibatch_by=environments", "net.sharing=shared"));
  compare_in_pieces("16", "algo.name=ppo", WITH("ppo.target_kl=0.5", "ppo.normalize_advantage=minibatch_unbiased"));
  compare_in_pieces("19", "algo.name=pqn", WITH("env.actions=discrete"));
  compare_in_pieces("19", "algo.name=ppo", WITH("net.memory=lstm", "net.memory_width=8"));
}
static void test_shared_trunk(void **state) { (void)state, compare("algo.name=ppo", WITH("net.sharing=shared")); }
static void test_gaussian(void **state) { (void)state, compare("algo.name=ppo", WITH("env.actions=continuous")); }

/* Three blocks of four worlds; the leader learns from one follower or both, so the last minibatch is larger. */
#define SAPG "env.num=12", "env.actions=continuous", "sapg.blocks=3", "sapg.embedding=4", "sapg.entropy_scale=0.01", \
             "env.normalize_observations=rl_games"
static void test_sapg(void **state) {
  (void)state;
  compare("algo.name=sapg", WITH(SAPG));
  compare("algo.name=sapg", WITH(SAPG, "sapg.clip=paper", "sapg.off_policy_ratio=2", "net.sharing=shared",
                                 "env.normalize_rewards=ppo_ewma"));
  compare("algo.name=sapg", WITH(SAPG, "sapg.off_policy_ratio=0", "sapg.normalize_value=no",
                                 "env.normalize_observations=none", "net.sharing=joint"));
}

/* Compares trainings in shards, whose samples a device divides as ranks do. */
static void test_sapg_in_shards(void **state) {
  (void)state;
  compare("algo.name=sapg", WITH(SAPG, "comm.deterministic=yes", "comm.shards=6", "sapg.off_policy_ratio=2"));
}

/* Observations in half precision: the stored ones, which the policy acts on, have the CPU's bits. */
static void test_half_observations(void **state) {
  (void)state;
  compare("algo.name=ppo", WITH("train.observation_storage=float16"));
  compare("algo.name=pqn", WITH("train.observation_storage=float16", "env.actions=discrete",
                                "env.normalize_observations=cleanrl"));
  compare("algo.name=sapg", WITH(SAPG, "train.observation_storage=float16"));
}

static void test_set_encoder(void **state) {
  (void)state;
  compare_for(2, "algo.name=ppo", WITH(FEW, "env.observations=entity", "net.encoder=set"));
}
static void test_transformer(void **state) {
  (void)state;
  compare_for(1, "algo.name=ppo",
              WITH(FEW, "env.observations=entity", "net.encoder=transformer", "net.sharing=shared"));
}
/* Matrices of entities are bf16 on the device, where the CPU has floats. */
static void test_bf16_encoders(void **state) {
  (void)state;
  compare_within(BF16_SLACK, 1, "algo.name=ppo",
                 WITH(FEW, "env.observations=entity", "net.encoder=transformer", "train.precision=bf16"));
  compare_within(BF16_SLACK, 1, "algo.name=ppo",
                 WITH(FEW, "env.observations=entity", "net.encoder=set", "net.sharing=shared", "train.precision=bf16"));
}
/* Levels are drawn, filtered and searched on the device. */
static void test_curriculum(void **state) {
  (void)state;
  setenv("SIM_WARP_WORLDS", "alone", 1); /* warps are slow to emulate */
  compare_for(2, "algo.name=ppo",
              WITH("env.task=random_s", "env.curriculum=sfl", "env.size=m", "env.max_steps=12", "sfl.batch_size=12",
                   "sfl.num_batches=2", "sfl.buffer_size=5", "sfl.period=2", "sfl.rollout_steps=30"));
  unsetenv("SIM_WARP_WORLDS");
}
static void test_new_levels(void **state) {
  (void)state;
  setenv("SIM_WARP_WORLDS", "alone", 1);
  compare_for(2, "algo.name=ppo", WITH("env.task=random_s", "env.reset=new"));
  compare_for(3, "algo.name=ppo", WITH("env.task=random_s", "env.reset=new_filtered", "env.max_steps=9"));
  unsetenv("SIM_WARP_WORLDS");
}
static void test_padded(void **state) { (void)state, compare("algo.name=ppo", WITH("env.observations=padded")); }

static void assert_same_measures(const StoreIteration *x, const StoreIteration *y, double tolerance) {
#define SAME(field) assert_relatively_near(#field, x->field, y->field, fmax(tolerance, 1e-9))
  SAME(clip_fraction_silent);
  SAME(grad_norm_actor);
  SAME(grad_norm_critic);
  SAME(grad_kurtosis_actor);
  SAME(grad_kurtosis_critic);
  SAME(grad_kurtosis_nonzero_actor);
  SAME(step_norm_actor);
  SAME(step_norm_critic);
#undef SAME
}

/* Iterations whose minibatches are queued and recorded against iterations in which the host decides on each step: the
 * same bits, in iterations that measure and in others, and what the host waits for does not grow with the minibatches.
 * recorded: minibatches of an epoch that the graph is; 0: all. room: rows of a piece, less than by rule, so that it
 * comes to epochs that cannot be queued; 0: the rule's. */
static void compare_queued_as(const char *algorithm, const char *const *more, int recorded, int capacity) {
  enum { ITERATIONS = 4 };
  CoreConfig config = small_config(algorithm, "train.device=cuda");

  set(&config, "ppo.num_minibatches=8");
  for (int i = 0; more && more[i]; i++) set(&config, more[i]);
  set(&config, "metrics.representation_every=2");
  emulate(true);
  Training *a = make(&config);
  setenv("TRAINER_QUEUE", "none", 1);
  Training *b = make(&config);
  unsetenv("TRAINER_QUEUE"), emulate(false);

  if (capacity > 0) {
    assert_true(learner_as_ppo(&a->learner)->minibatch.capacity > capacity);
    learner_as_ppo(&a->learner)->minibatch.capacity = learner_as_ppo(&b->learner)->minibatch.capacity = capacity;
  }
  /* Pieces of shards are padded where they are queued: on a GPU products of other shapes may add in another order. */
  const double tolerance = is_gpu_requested() && a->shards.global_shards > 1 ? 1e-3 : 0;

  uint64_t before = 0;
  int measured = 0;
  for (int i = 0; i < ITERATIONS; i++) {
    before = a->device->synchronizations;
    const StoreIteration x = iterate(a, 1), y = iterate(b, 1);
    measured += !isnan(x.grad_kurtosis_actor);
    assert_relatively_near("policy_loss", x.policy_loss, y.policy_loss, fmax(100 * tolerance, 1e-9));
    assert_relatively_near("value_loss", x.value_loss, y.value_loss, fmax(tolerance, 1e-12));
    assert_relatively_near("clip_fraction", x.clip_fraction, y.clip_fraction, fmax(tolerance, 1e-12));
    assert_relatively_near("kl", x.kl, y.kl, tolerance);
    assert_relatively_near("kl_controller", x.kl_controller, y.kl_controller, fmax(tolerance, 1e-12));
    assert_same_measures(&x, &y, tolerance);
    if (config.ppo.epsilon < 0.01 && !isnan(x.grad_kurtosis_actor)) assert_true(x.clip_fraction_silent > 0.1);
    assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, tolerance);
    assert_close_weights(a, &a->agent.critic, b, &b->agent.critic, tolerance);
  }
  assert_int_equal(measured, ITERATIONS / 2);

  const int64_t minibatches = config.ppo.epochs * (recorded ? recorded : config.ppo.num_minibatches);
  /* Rollouts without measurements are one graph each, except for Q values, whose probability of random actions
   * changes. */
  const uint64_t rollouts = strcmp(algorithm, "algo.name=pqn") == 0 ? 0 : (uint64_t)(ITERATIONS - measured);
  const uint64_t all = (uint64_t)(ITERATIONS * minibatches - 2); /* the first of either kind is not recorded */
  const int64_t shards = a->shards.global_shards;
  /* moments of shards; rows of an epoch; and metrics, in passes of as few rows as exact minibatches have */
  const int64_t passes = shards > 1 && strcmp(config.ppo.shuffle, "blocks") == 0 ? 16 : 0;
  const int64_t most = shards > 1 ? 4 * shards + config.ppo.epochs + passes : 0;

  const int64_t waits = (int64_t)(a->device->synchronizations - before);
  assert_int_equal(b->device->graphs, rollouts);
  if (capacity > 0) assert_in_range(a->device->graphs, 1 + rollouts, all - 1 + rollouts);
  else {
    assert_int_equal(a->device->graphs, all + rollouts);
    if (waits > 40 + most) fail_msg("%lld waits", (long long)waits);
  }

  training_destroy(&a);
  training_destroy(&b);
}
static void compare_queued(const char *algorithm, const char *const *more) { compare_queued_as(algorithm, more, 0, 0); }

static void test_queued(void **state) {
  (void)state;
  compare_queued("algo.name=ppo", NULL);
  compare_queued("algo.name=ppo", WITH("ppo.normalize_advantage=minibatch_unbiased"));
  compare_queued("algo.name=ppo", WITH("net.sharing=shared"));
  compare_queued("algo.name=ppo", WITH("ppo.kl_penalty=0.5"));
  compare_queued("algo.name=ppo", WITH("ppo.minibatch_by=environments"));
  compare_queued("algo.name=ppo", WITH("ppo.max_grad_norm=0.01"));
  compare_queued("algo.name=ppo", WITH("ppo.epsilon=0.0001"));
  compare_queued("algo.name=ppo_ewma", NULL);
  compare_queued("algo.name=ppo", WITH(FEW, "env.observations=entity", "net.encoder=set", "ppo.num_minibatches=2"));
  compare_queued("algo.name=ppo_ewma", WITH("ppo.ratio_cap=1.01"));
  compare_queued("algo.name=ppo_ewma", WITH("ppo.com=0"));
}

/* SAPG waits for each epoch's KL. 256 samples in minibatches of 24: the tenth, of 40, is not recorded. */
/* Searches for levels: kernel by kernel in the first batch, then a graph per batch. */
static void test_queued_search(void **state) {
  (void)state;
  CoreConfig config = small_config("algo.name=ppo", "train.device=cuda");
  const char *const more[] = {"env.task=random_s", "env.curriculum=sfl", "env.size=m", "env.max_steps=12",
                              "sfl.batch_size=12", "sfl.num_batches=3", "sfl.buffer_size=5", "sfl.period=2",
                              "sfl.rollout_steps=30", "metrics.representation_every=1000",
                              "comm.deterministic=yes"}; /* batch by batch */
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) set(&config, more[i]);
  setenv("SIM_WARP_WORLDS", "alone", 1), setenv("TRAINER_QUEUE", "none", 1);
  emulate(true);
  Training *training = make(&config);
  emulate(false);
  for (int i = 0; i < 3; i++) iterate(training, 1);
  unsetenv("TRAINER_QUEUE"), unsetenv("SIM_WARP_WORLDS");
  assert_int_equal(training->curriculum->search.piece, 30);
  assert_in_range(training->device->graphs, 2 + 3, 2 + 3 + 2); /* two searches, and at most the later rollouts */
  training_destroy(&training);
}

static void test_queued_sapg(void **state) {
  (void)state;
  compare_queued_as("algo.name=sapg", WITH(SAPG), 9, 0);
  compare_queued_as("algo.name=sapg", WITH(SAPG, "sapg.clip=paper", "net.sharing=shared"), 9, 0);
}

/* Shards, whose rows of a minibatch differ in number and may be none: pieces are filled up. */
#define SHARDS(n) "comm.deterministic=yes", "comm.shards=" #n
static void test_queued_shards(void **state) {
  (void)state;
  compare_queued("algo.name=ppo", WITH(SHARDS(2), "ppo.normalize_advantage=minibatch", "ppo.kl_penalty=0.5"));
  compare_queued("algo.name=ppo_ewma", WITH(SHARDS(2), "ppo.ratio_cap=1.01", "net.sharing=shared",
                                            "env.actions=continuous", "net.action_head=tanh_affine"));
  compare_queued("algo.name=ppo", WITH(SHARDS(8), "ppo.shuffle=blocks", "ppo.minibatch_by=environments"));
  compare_queued("algo.name=ppo", WITH(SHARDS(2), "ppo.shuffle=blocks", "ppo.normalize_advantage=minibatch"));
  compare_queued("algo.name=pqn", WITH(SHARDS(2), "env.actions=discrete"));
}
static void test_shuffled_shards(void **state) {
  (void)state;
  compare_queued("algo.name=ppo", WITH(SHARDS(4), "ppo.minibatch_by=environments"));
  compare_queued("algo.name=ppo", WITH(SHARDS(2), "ppo.shuffle=blocks", "ppo.minibatch_by=environments"));
  compare_queued("algo.name=ppo", WITH(SHARDS(2), "ppo.shuffle=none"));
  compare_queued("algo.name=ppo", WITH("ppo.shuffle=blocks"));
  compare_queued_as("algo.name=ppo", WITH(SHARDS(2)), 0, 10);
}

/* A learning rate that follows the KL, bounds of means and normalized values; with shards the host decides. */
#define RL_GAMES "env.actions=continuous", "ppo.lr_schedule=kl", "ppo.bounds_coef=1e-2", "ppo.normalize_value=yes"
static void test_rl_games(void **state) {
  (void)state;
  compare("algo.name=ppo", WITH(RL_GAMES));
  compare_queued("algo.name=ppo", WITH(RL_GAMES, "ppo.normalize_advantage=minibatch_unbiased"));
  compare("algo.name=ppo_ewma", WITH(RL_GAMES, SHARDS(2)));
}

/* A value that is not finite is found in the first minibatch with it, queued or not, and named in the same words. */
static void compare_divergence(const char *algorithm, const char *const *more) {
  const char *const settings[] = {"train.device=cuda", "train.device=cpu"};
  char message[2][512];
  for (int i = 0; i < 2; i++) {
    CoreConfig config = small_config(algorithm, settings[i]);
    set(&config, "ppo.num_minibatches=8");
    set(&config, "metrics.representation_every=1000");
    for (int k = 0; more && more[k]; k++) set(&config, more[k]);
    emulate(true);
    Training *training = make(&config);
    emulate(false);
    const float nan = NAN;
    StoreIteration row = iterate(training, 1);
    Learner *learner = &training->learner;
    const Optimizer *critic = learner->kind == &sapg_learner ? &((Sapg *)learner->state)->critic_optimizer
                                                             : &learner_as_ppo(learner)->critic_optimizer;
    core_device_to_device(training->device, &critic->m[3], &nan, sizeof nan);
    assert_int_equal(training_iterate(training, &row), CORE_FAIL);
    snprintf(message[i], sizeof message[i], "%s", core_error_message());
    training_destroy(&training);
  }
  assert_string_equal(message[0], message[1]);
  assert_non_null(strstr(message[0], "epoch 1, minibatch 2"));
}

static void test_divergence(void **state) {
  (void)state;
  compare_divergence("algo.name=ppo_ewma", NULL);
  compare_divergence("algo.name=ppo_ewma", WITH(SHARDS(4)));
  compare_divergence("algo.name=sapg", WITH(SAPG));
}

/* Statistics that change with every step and once an iteration, those of rewards, warm-up, and going on from a
 * checkpoint. */
static void test_normalization(void **state) {
  (void)state;
  compare("algo.name=ppo", WITH("env.normalize_observations=cleanrl", "env.normalize_rewards=cleanrl"));
  compare("algo.name=ppo", WITH("env.normalize_observations=stoix", "env.normalize_warmup=5",
                                "env.normalize_rewards=ppo_ewma", "env.actions=continuous"));
  compare("algo.name=ppo", WITH("env.normalize_observations=rl_games"));
  compare("algo.name=ppo", WITH("env.clip_rewards=sign"));
  compare("algo.name=ppo", WITH("env.normalize_observations=cleanrl_each", "env.normalize_rewards=cleanrl_each",
                                "env.actions=continuous", "eval.actions=mean"));
}

static void test_pqn(void **state) {
  (void)state;
  compare("algo.name=pqn", WITH("env.actions=discrete"));
  compare_queued("algo.name=pqn", WITH("env.actions=discrete"));
}

/* Snapshots between minibatches, and a copy that goes on, of which nothing else is to change. */
static void test_profile(void **state) {
  CoreConfig plain = small_config("algo.name=ppo", "train.device=cuda");
  CoreConfig profiled = small_config("algo.name=ppo", "train.device=cuda"),
             on_host = small_config("algo.name=ppo", "train.device=cpu");
  (void)state;
  set(&profiled, "metrics.profile_every=1"), set(&on_host, "metrics.profile_every=1");
  set(&profiled, "metrics.limit_epochs=8"), set(&on_host, "metrics.limit_epochs=8");
  emulate(true);
  Training *a = make(&profiled), *b = make(&plain), *c = make(&on_host);
  emulate(false);
  for (int i = 0; i < 2; i++) {
    const StoreIteration x = iterate(a, 1), z = iterate(c, 1);
    iterate(b, 1);
    assert_relatively_near("kl_monotone", x.kl_monotone, z.kl_monotone, 1e-9);
    assert_relatively_near("kl_slope", x.kl_slope, z.kl_slope, 1e-2);
    assert_relatively_near("kl_consecutive", x.kl_consecutive, z.kl_consecutive, 1e-3);
    assert_relatively_near("kl_limit", x.kl_limit, z.kl_limit, 1e-2);
    assert_relatively_near("limit_moved", x.limit_moved, z.limit_moved, 2e-2);
  }
  for (int i = 0; i < c->profile.points; i++)
    assert_relatively_near("ess_percent", a->profile.ess_percent[i], c->profile.ess_percent[i], 1e-3);
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 0);
  training_destroy(&a);
  training_destroy(&b);
  training_destroy(&c);
}

/* The bytes that a checkpoint would hold after `iterations`, section after section. */
static void copy_sections(const Checkpoint *from, Checkpoint *to) {
  assert_int_equal(from->sections, to->sections);
  for (int i = 0; i < from->sections; i++) {
    assert_string_equal(from->section[i].name, to->section[i].name);
    assert_int_equal(from->section[i].bytes, to->section[i].bytes);
    memcpy(to->section[i].data, from->section[i].data, from->section[i].bytes);
  }
}

/* A device's checkpoint resumes there bit by bit, and also on the CPU; and the reverse. */
static void compare_resumed(const char *algorithm, const char *const *more) {
  CoreConfig on_device = small_config(algorithm, "train.device=cuda"),
             on_host = small_config(algorithm, "train.device=cpu");
  Checkpoint saved = {0}, resumed = {0}, host = {0};

  for (int i = 0; more[i]; i++) set(&on_device, more[i]), set(&on_host, more[i]);
  emulate(true);
  Training *a = make(&on_device), *b = make(&on_device), *c = make(&on_host);
  emulate(false);

  training_add_sections(a, &saved);
  training_add_sections(b, &resumed);
  training_add_sections(c, &host);

  iterate(a, 1);
  training_before_save(a);
  copy_sections(&saved, &resumed);
  copy_sections(&saved, &host);
  assert_int_equal(training_after_load(b), CORE_OK);
  assert_int_equal(training_after_load(c), CORE_OK);
  assert_close_weights(a, &a->agent.actor, c, &c->agent.actor, 0);

  const StoreIteration first = iterate(a, 1), second = iterate(b, 1), third = iterate(c, 1);
  assert_true(first.kl == second.kl && first.value_loss == second.value_loss &&
              first.learning_rate == second.learning_rate);
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 0);
  assert_same_rows(&first, &third, 1);

  training_before_save(c);
  copy_sections(&host, &resumed);
  assert_int_equal(training_after_load(b), CORE_OK);
  const StoreIteration fourth = iterate(b, 1), fifth = iterate(c, 1);
  assert_same_rows(&fourth, &fifth, 1);

  training_destroy(&a);
  training_destroy(&b);
  training_destroy(&c);
}

static void test_checkpoint(void **state) {
  (void)state;
  compare_resumed("algo.name=ppo_ewma", WITH("env.normalize_observations=cleanrl", "env.normalize_rewards=cleanrl"));
  compare_resumed("algo.name=sapg", WITH(SAPG, "env.normalize_rewards=ppo_ewma", "train.observation_storage=float16"));
  compare_resumed("algo.name=ppo",
                  WITH("env.normalize_observations=cleanrl_each", "env.normalize_rewards=cleanrl_each"));
  setenv("SIM_WARP_WORLDS", "alone", 1);
  compare_resumed("algo.name=ppo", WITH("env.task=random_s", "env.reset=new_filtered", "env.max_steps=19",
                                        "ppo.num_steps=40", "train.observation_storage=state"));
  unsetenv("SIM_WARP_WORLDS");
}

/* On the GPU itself, with products of each precision: near the CPU's weights after an iteration, which its first
 * products already begin to leave. */
static void check_gpu(const char *precision) {
  CoreConfig on_device = small_config("algo.name=ppo", "train.device=cuda"),
             on_host = small_config("algo.name=ppo", "train.device=cpu");
  CoreDevice *gpu = open_gpu(is_gpu_requested());
  core_device_close(&gpu);
  set(&on_device, precision);
  Training *a = make(&on_device), *b = make(&on_host);
  const StoreIteration device = iterate(a, 1), host = iterate(b, 1);
  assert_relatively_near("advantage_sd", device.advantage_sd, host.advantage_sd, 0.05);
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 0.05);
  training_destroy(&a);
  training_destroy(&b);
}
static void test_gpu(void **state) { (void)state, check_gpu("train.precision=float32"); }
static void test_gpu_tf32(void **state) { (void)state, check_gpu("train.precision=tf32"); }
static void test_gpu_bf16(void **state) { (void)state, check_gpu("train.precision=bf16"); }

/* Settings for devices only are refused with train.device = cpu; auto runs with and without a GPU. */
static void test_refusals(void **state) {
  (void)state;
  CoreConfig config = small_config("algo.name=ppo", "train.precision=tf32");
  Training *training = NULL;
  set(&config, "train.device=cpu");
  assert_int_equal(training_plan(&config, &training), CORE_USAGE);
  assert_message("tf32: requires a GPU");
  config = small_config("algo.name=ppo", "train.device=auto");
  training = make(&config);
  assert_true(training->device == NULL || training->device->stream != NULL);
  training_destroy(&training);
}

int main(void) {
  setenv("TRAINER_BF16", "rounded", 1); /* every layer, as a device does, however small it is */

  const struct CMUnitTest tests[] = {/* the most important tests on a GPU come first */
                                     cmocka_unit_test(test_gpu),
                                     cmocka_unit_test(test_ppo),
                                     cmocka_unit_test(test_sampled_logits),
                                     cmocka_unit_test(test_queued),
                                     cmocka_unit_test(test_queued_shards),
                                     cmocka_unit_test(test_shuffled_shards),
                                     cmocka_unit_test(test_gpu_bf16),
                                     cmocka_unit_test(test_gpu_tf32),
                                     cmocka_unit_test(test_checkpoint),
                                     cmocka_unit_test(test_ppo_ewma),
                                     cmocka_unit_test(test_minibatch_norm),
                                     cmocka_unit_test(test_microbatches),
                                     cmocka_unit_test(test_sapg),
                                     cmocka_unit_test(test_sapg_in_shards),
                                     cmocka_unit_test(test_queued_sapg),
                                     cmocka_unit_test(test_half_observations),
                                     cmocka_unit_test(test_set_encoder),
                                     cmocka_unit_test(test_transformer),
                                     cmocka_unit_test(test_bf16_encoders),
                                     cmocka_unit_test(test_padded),
                                     cmocka_unit_test(test_curriculum),
                                     cmocka_unit_test(test_queued_search),
                                     cmocka_unit_test(test_new_levels),
                                     cmocka_unit_test(test_shared_trunk),
                                     cmocka_unit_test(test_bf16), cmocka_unit_test(test_fused_layers),
                                     cmocka_unit_test(test_gaussian),
                                     cmocka_unit_test(test_pqn),
                                     cmocka_unit_test(test_normalization),
                                     cmocka_unit_test(test_profile),
                                     cmocka_unit_test(test_rl_games),
    cmocka_unit_test(test_divergence),
                                     cmocka_unit_test(test_refusals)};

  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
