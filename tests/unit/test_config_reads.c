/* core/config_reads: the settings that a run reads, reasons for unread ones, and the shared cell of configurations
 * that read the same values. */
#include "test.h"

#include "core/config/config.h"

static CoreConfig made(const char *const *pairs) {
  CoreConfig config = core_config_default();
  for (; *pairs; pairs++) assert_int_equal(core_config_set_pair(&config, *pairs), CORE_OK);
  return config;
}
#define CONFIG(...) made((const char *const[]){__VA_ARGS__, NULL})

static bool reads(const CoreConfig *config, const char *name) {
  const CoreConfigRow *row = core_config_find(name);
  assert_non_null(row);
  return core_config_is_read(config, row);
}

static void learners_read_their_own_sections(void **state) {
  (void)state;
  static const struct { const char *learner, *setting; bool read; } known[] = {
    {"ppo", "ppo.com", false},        {"ppo_ewma", "ppo.com", true},       {"sapg", "ppo.com", false},
    {"ppo", "ppo.epsilon", true},     {"sapg", "ppo.epsilon", true},       {"pqn", "ppo.epsilon", false},
    {"ppo", "ppo.lr_schedule", true}, {"sapg", "ppo.lr_schedule", false},  {"pqn", "ppo.num_minibatches", true},
    {"ppo", "ppo.bounds_coef", true}, {"ppo", "ppo.kl_threshold", false}, {"sapg", "ppo.normalize_value", false},
    {"ppo", "sapg.blocks", false},    {"sapg", "sapg.blocks", true},       {"pqn", "pqn.gamma", true},
    {"ppo", "pqn.gamma", false},      {"ppo", "sgd.noise", false},         {"noisy_sgd", "sgd.noise", true},
    {"noisy_sgd", "env.num", false},  {"noisy_sgd", "ppo.epochs", false},  {"noisy_sgd", "metrics.states", false},
    {"ppo", "env.num", true},         {"noisy_sgd", "train.total_steps", true}, {"noisy_sgd", "train.seed", true},
    {"noisy_sgd", "algo.name", true}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    CoreConfig config = core_config_default();
    assert_int_equal(core_config_set(&config, "algo.name", known[i].learner), CORE_OK);
    if (reads(&config, known[i].setting) != known[i].read) fail_msg("%s, %s", known[i].learner, known[i].setting);
  }
}

static void what_hangs_on_something_unread_is_unread(void **state) {
  (void)state;

  CoreConfig config = CONFIG("ppo.normalize_advantage=ewma");
  assert_true(reads(&config, "ppo.adv_ewma_decay"));
  config = CONFIG("ppo.normalize_advantage=ewma", "algo.name=pqn");
  assert_false(reads(&config, "ppo.adv_ewma_decay"));
  config = CONFIG("ppo.lr_schedule=kl");
  assert_true(reads(&config, "ppo.kl_threshold"));

  config = CONFIG("env.curriculum=sfl", "sfl.sampled_ratio=0");
  assert_true(reads(&config, "sfl.sampled_ratio"));
  assert_false(reads(&config, "sfl.period"));
  config = CONFIG("sfl.sampled_ratio=0.5");
  assert_false(reads(&config, "sfl.period"));
  config = CONFIG("eval.count=0");
  assert_false(reads(&config, "eval.levels"));

  /* An entity encoder replaces the trunk; the trunk follows a pixel encoder. */
  config = CONFIG("net.sharing=shared", "net.encoder=set");
  assert_false(reads(&config, "net.trunk_width"));
  config = CONFIG("net.sharing=shared", "net.encoder=nature", "net.depth=0");
  assert_true(reads(&config, "net.trunk_width") && reads(&config, "net.norm"));

  /* A list of widths replaces the width and the number of layers. */
  config = CONFIG("net.widths=64-32", "net.depth=0");
  assert_false(reads(&config, "net.width") || reads(&config, "net.depth") || reads(&config, "net.trunk_widths"));
  assert_true(reads(&config, "net.widths") && reads(&config, "net.activation"));
  config = CONFIG("net.sharing=shared", "net.trunk_widths=64-32");
  assert_false(reads(&config, "net.trunk_width") || reads(&config, "net.trunk_depth"));
  assert_true(reads(&config, "net.trunk_widths") && reads(&config, "net.trunk_activation"));

  config = CONFIG("init.from=run:0123456789abcdef");
  assert_true(reads(&config, "init.restore"));
  config = core_config_default();
  assert_false(reads(&config, "init.restore"));
  config = CONFIG("net.sharing=shared", "net.encoder=set");
  assert_false(reads(&config, "net.trunk_width"));
}

static void the_reason_names_what_would_have_it_read(void **state) {
  (void)state;
  CoreText text = {0};
  CoreConfig config = core_config_default();
  core_config_append_unread_reason(&config, core_config_find("ppo.com"), &text);
  assert_string_equal(core_text_string(&text), "ppo.com is read only if algo.name is ppo_ewma, but it is ppo");
  core_text_clear(&text);
  config = CONFIG("algo.name=pqn");
  core_config_append_unread_reason(&config, core_config_find("ppo.epsilon"), &text);
  assert_string_equal(core_text_string(&text),
                      "ppo.epsilon is read only if algo.name is ppo, ppo_ewma or sapg, but it is pqn");
  core_text_clear(&text);
  config = CONFIG("ppo.epsilon=0.1");
  core_config_append_unread_reason(&config, core_config_find("init.restore"), &text);
  assert_string_equal(core_text_string(&text),
                      "init.restore is read only if init.from is not empty, but it is empty");
  core_text_clear(&text);
  core_config_append_unread_reason(&config, core_config_find("ppo.epsilon"), &text);
  assert_string_equal(core_text_string(&text), "");
  core_text_free(&text);
}

static void assert_same_cell(CoreConfig a, CoreConfig b, bool same) {
  char x[CORE_RUN_ID], y[CORE_RUN_ID];
  core_config_cell_id(&a, x);
  core_config_cell_id(&b, y);
  assert_int_equal(strcmp(x, y) == 0, same);
}

static void copies_share_a_cell_and_others_do_not(void **state) {
  (void)state;
  CoreText text = {0};
  assert_same_cell(CONFIG("ppo.com=8"), CONFIG("ppo.com=512"), true);
  assert_same_cell(CONFIG("ppo.com=8", "algo.name=ppo_ewma"), CONFIG("ppo.com=512", "algo.name=ppo_ewma"), false);
  assert_same_cell(CONFIG("train.seed=1"), CONFIG("train.seed=2", "train.threads=4"), true);
  assert_same_cell(CONFIG("ppo.epsilon=0.1"), CONFIG("ppo.epsilon=0.2"), false);
  /* the scaled values are executed */
  assert_same_cell(CONFIG("scale.scheme=more_minibatches", "scale.factor=2"),
                   CONFIG("env.num=4096", "ppo.num_minibatches=64"), true);
  const CoreConfig config = CONFIG("ppo.com=8", "ppo.epsilon=0.1", "train.seed=3", "env.num=64");
  core_config_cell(&config, &text);
  assert_string_equal(core_text_string(&text), "env.num=64\nppo.epsilon=0.1\n");
  core_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(learners_read_their_own_sections),
    cmocka_unit_test(what_hangs_on_something_unread_is_unread),
    cmocka_unit_test(the_reason_names_what_would_have_it_read),
    cmocka_unit_test(copies_share_a_cell_and_others_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
