/* core/config: run ids, and the defaults that they are relative to. */
#include "test.h"

#include "core/config/config.h"

/* Run ids count only what differs from these: a change here gives old ids to runs with other settings. A new row may be
 * added; no line may change. */
static const char *const pinned_defaults[][2] = {
  {"env.task", "loco512"},
  {"env.num", "2048"},
  {"env.morphologies", "public"},
  {"env.difficulty", "all"},
  {"env.level_count", "512"},
  {"env.levels", ""},
  {"env.level_folder", ""},
  {"env.size", "auto"},
  {"env.frame_skip", "2"},
  {"env.max_steps", "256"},
  {"env.dense_reward", "0.2"},
  {"env.pad_writes_zero", "no"},
  {"train.seed", "0"},
  {"train.total_steps", "100000000"},
  {"train.device", "auto"},
  {"train.precision", "float32"},
  {"train.threads", "0"},
  {"train.observation_storage", "float32"},
  {"train.plan", ""},
  {"train.rollout_halves", "1"},
  {"algo.name", "ppo"},
  {"ppo.num_steps", "256"},
  {"ppo.num_minibatches", "32"},
  {"ppo.epochs", "8"},
  {"ppo.epsilon", "0.2"},
  {"ppo.com", "64"},
  {"ppo.ewma_rule", "plain"},
  {"ppo.learning_rate", "0.0003"},
  {"ppo.lr_schedule", "constant"},
  {"ppo.gamma", "0.995"},
  {"ppo.gae_lambda", "0.9"},
  {"ppo.entropy_coef", "0.01"},
  {"ppo.value_coef", "0.5"},
  {"ppo.clip_value", "yes"},
  {"ppo.max_grad_norm", "0.5"},
  {"ppo.normalize_advantage", "batch"},
  {"ppo.minibatch_by", "transitions"},
  {"ppo.sequence_length", "16"},
  {"ppo.adam_beta1", "0.9"},
  {"ppo.adam_beta2", "0.999"},
  {"ppo.adam_epsilon", "1e-5"},
  {"sgd.dimensions", "50"},
  {"sgd.noise", "3"},
  {"sgd.start", "10"},
  {"sgd.learning_rate", "0.1"},
  {"scale.scheme", "none"},
  {"scale.factor", "1"},
  {"env.curriculum", "none"},
  {"sfl.sampled_ratio", "0.5"},
  {"sfl.batch_size", "4096"},
  {"sfl.num_batches", "3"},
  {"sfl.rollout_steps", "512"},
  {"sfl.max_episodes", "50"},
  {"sfl.buffer_size", "1024"},
  {"sfl.period", "128"},
  {"net.width", "256"},
  {"net.depth", "3"},
  {"net.widths", ""},
  {"net.activation", "tanh"},
  {"net.sharing", "separate"},
  {"net.trunk_width", "128"},
  {"net.trunk_depth", "1"},
  {"net.trunk_widths", ""},
  {"net.trunk_activation", "relu"},
  {"net.norm", "auto"},
  {"net.encoder", "none"},
  {"net.memory", "none"},
  {"net.memory_width", "256"},
  {"env.observations", "flat"},
  {"ppo.norm_epsilon", "0"},
  {"init.from", ""},
  {"init.restore", "all"},
  {"eval.count", "20"},
  {"eval.levels", ""},
  {"eval.episodes", "512"},
  {"eval.video_every", "0"},
  {"eval.actions", "sampled"},
  {"metrics.every", "1"},
  {"metrics.representation_every", "10"},
  {"metrics.profile_every", "0"},
  {"metrics.states", "65536"},
  {"metrics.visited_states", "0"},
  {"metrics.limit_epochs", "0"},
  {"metrics.noise_every", "0"},
  {"metrics.layers", "no"},
  {"env.reset", "level_set"},
  {"env.actions", "multi_discrete"},
  {"env.normalize_observations", "none"},
  {"env.normalize_warmup", "128"},
  {"env.normalize_rewards", "none"},
  {"env.normalize_rewards_gamma", "0.99"},
  {"env.clip_rewards", "none"},
  {"env.truncation", "terminate"},
  {"sapg.blocks", "6"},
  {"sapg.off_policy_ratio", "1"},
  {"sapg.clip", "code"},
  {"sapg.embedding", "32"},
  {"sapg.entropy_scale", "0"},
  {"sapg.bounds_coef", "0.0001"},
  {"sapg.kl_threshold", "0.016"},
  {"sapg.sequence_length", "4"},
  {"sapg.normalize_value", "yes"},
  {"pqn.learning_rate", "0.00025"},
  {"pqn.lr_schedule", "linear"},
  {"pqn.gamma", "0.99"},
  {"pqn.q_lambda", "0.65"},
  {"pqn.epsilon_start", "1"},
  {"pqn.epsilon_end", "0.05"},
  {"pqn.exploration_fraction", "0.5"},
  {"pqn.max_grad_norm", "10"},
  {"net.action_head", "gaussian"},
  {"net.log_std_init", "0"},
  {"ppo.ddr_target", "0"},
  {"ppo.ddr_by", "auto"},
  {"ppo.ddr_gain", "0.1"},
  {"ppo.ddr_schedule", "constant"},
  {"ppo.ddr_transitions", "1e6"},
  {"ppo.ddr_growth", "0.5"},
  {"ppo.com_min", "0.1"},
  {"ppo.com_max", "100000"},
  {"ppo.epsilon_min", "0.001"},
  {"ppo.epsilon_max", "10"},
  {"ppo.ratio_cap", "0"},
  {"ppo.kl_penalty", "0"},
  {"ppo.kl_penalty_form", "squared"},
  {"ppo.kl_penalty_target", "0"},
  {"ppo.target_kl", "0"},
  {"ppo.target_kl_check", "epoch"},
  {"ppo.lr_warmup", "0"},
  {"ppo.weight_decay", "0"},
  {"ppo.shuffle", "all"},
  {"sfl.placement", "first"},
  {"ppo.adv_ewma_decay", "0"},
  {"ppo.reward_scale", "1"},
  {"ppo.kl_threshold", "0.016"},
  {"env.workers", "1"},
  {"env.python", ""},
  {"env.timeout", "60"},
  {"env.code", ""},
  {"env.folder", ""},
  {"hand.success_tolerance", "0.1"},
  {"procgen.mode", "easy"},
  {"procgen.num_levels", "0"},
  {"procgen.start_level", "0"},
  {"atari.frame_skip", "4"},
  {"atari.sticky", "0"},
  {"atari.noop_max", "30"},
  {"atari.fire_reset", "yes"},
  {"atari.episodic_life", "yes"},
  {"atari.full_actions", "no"},
  {"ppo.bounds_coef", "0"},
  {"ppo.normalize_value", "no"},
  {"log.rows", "10000"},
  {"checkpoint.every", "60"},
  {"checkpoint.keep", "2"},
  {"checkpoint.best", "auto"},
  {"checkpoint.every_iterations", "0"},
  {"comm.deterministic", "no"},
  {"comm.shards", "0"},
  {"comm.library", "auto"},
  {"comm.bucket_kb", "1024"},
  {"comm.share_gpu", "no"},
};

static void defaults_never_change(void **state) {
  size_t count, pinned = sizeof pinned_defaults / sizeof *pinned_defaults;
  const CoreConfigRow *rows = core_config_rows(&count);
  (void)state;
  for (size_t i = 0; i < pinned; i++) {
    const CoreConfigRow *row = core_config_find(pinned_defaults[i][0]);
    if (!row) fail_msg("%s has left the table", pinned_defaults[i][0]);
    assert_string_equal(row->def, pinned_defaults[i][1]);
  }
  if (count != pinned) fail_msg("%zu rows, %zu pinned: pin the defaults of new rows here", count, pinned);
  assert_string_equal(rows[0].name, "env.task");
}

static void ids_never_change(void **state) {
  /* BLAKE2b with 16 bytes of output, first 8, as Python's hashlib.blake2b(text, digest_size=16) gives them. */
  static const struct { const char *pairs[4], *id; } cases[] = {
    {{NULL}, "cae66941d9efbd40"},                                           /* the empty text */
    {{"train.seed=1"}, "fb1a49e61cddf137"},                                               /* "train.seed=1\n" */
    {{"ppo.epsilon=0.1", "algo.name=ppo_ewma", "env.num=512"}, "9f75273497e8e9b6"},       /* in the table's order */
    {{"train.threads=8", "checkpoint.every=0", "train.device=cpu"}, "cae66941d9efbd40"}, /* execution settings */
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CoreConfig config = core_config_default();
    char id[CORE_RUN_ID];
    for (size_t p = 0; cases[i].pairs[p]; p++)
      assert_int_equal(core_config_set_pair(&config, cases[i].pairs[p]), CORE_OK);
    core_config_id(&config, id);
    assert_string_equal(id, cases[i].id);
  }
}

static void equal_settings_have_equal_ids(void **state) {
  static const char *const same[][2] = {
    {"train.total_steps=1e6", "train.total_steps=1000000"}, {"ppo.epsilon=.10", "ppo.epsilon=1e-1"},
    {"train.total_steps=50k", "train.total_steps=50000"}, {"ppo.com=1.1k", "ppo.com=1100"},
    {"ppo.com=-0", "ppo.com=0"}, {"ppo.epochs=8", "ppo.epochs=8.0"}, {"ppo.clip_value=on", "ppo.clip_value=1"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    char id[2][CORE_RUN_ID];
    for (int k = 0; k < 2; k++) {
      CoreConfig config = core_config_default();
      assert_int_equal(core_config_set_pair(&config, same[i][k]), CORE_OK);
      core_config_id(&config, id[k]);
    }
    assert_string_equal(id[0], id[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(defaults_never_change),
    cmocka_unit_test(ids_never_change),
    cmocka_unit_test(equal_settings_have_equal_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
