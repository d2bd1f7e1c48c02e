/* core/config: the table, values from text and files, errors, canonical text, JSON. */
#include "test.h"

#include <jansson.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/random.h"
#include "store/runlog/runlog.h"

static void every_row_is_sound(void **state) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  CoreText text = {0};
  (void)state;
  for (size_t i = 0; i < count; i++) {
    const CoreConfigRow *row = &rows[i];
    CoreConfig config = core_config_default(), fresh = config;
    assert_true(strlen(row->help) > 3);
    assert_ptr_equal(core_config_find(row->name), row);
    if (core_config_set(&config, row->name, row->def) != CORE_OK) fail_msg("default: %s", core_error_message());
    assert_memory_equal(&config, &fresh, sizeof config);
    assert_string_equal(core_config_get(&fresh, row, &text), row->def);
    assert_true((row->choices != NULL) == (row->kind == CORE_CONFIG_ENUM));
  }
  core_text_free(&text);
  assert_null(core_config_find("ppo"));
  assert_null(core_config_find(""));
  assert_null(core_config_find("ppo.epsilon "));
  CoreConfig config = core_config_default();
  assert_int_equal(core_config_check(&config), CORE_OK);
}

/* Synonyms name existing settings, and none hides a setting of the same key. */
static void synonyms_name_settings_and_columns(void **state) {
  (void)state;
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
#define SETTING(synonym, setting)                                                                                      \
  assert_non_null(core_config_find(#setting));                                                                         \
  for (size_t i = 0; i < count; i++) assert_string_not_equal(rows[i].key, #synonym);
#define RELATED SETTING
#define COLUMN(name, ...) || strcmp(column, #name) == 0
#define METRIC(synonym, name)                                                                                          \
  {                                                                                                                    \
    const char *column = #name;                                                                                        \
    assert_true(false STORE_ITERATION_COLUMNS(COLUMN));                                                                \
  }
#include "core/config/synonyms.def"
#undef SETTING
#undef RELATED
#undef METRIC
#undef COLUMN

  assert_string_equal(core_config_find_synonym("--clip-coef"), "ppo.epsilon");
  assert_string_equal(core_config_find_synonym("ppo.Clip_Coef"), "ppo.epsilon");
  assert_string_equal(core_config_find_metric_synonym("losses/approx_kl"), "kl");
  assert_ptr_equal(core_config_find_equivalent("clip-coef"), core_config_find("ppo.epsilon"));
  assert_ptr_equal(core_config_find_equivalent("gamma"), core_config_find("ppo.gamma"));

  assert_null(core_config_find_equivalent("minibatch_size")); /* a related number in another unit */
  assert_null(core_config_find_equivalent("env_count"));
  assert_ptr_equal(core_config_find_equivalent("learning-rate"), core_config_find("ppo.learning_rate"));
  assert_ptr_equal(core_config_find_equivalent("algo.gamma"), core_config_find("ppo.gamma"));
  assert_null(core_config_find_equivalent("other.gamma"));

  assert_null(core_config_find_synonym(""));
  assert_null(core_config_find_synonym("clip_coef_"));
  assert_null(core_config_find_metric_synonym("losses/"));
}

static void wrong_values_say_what_is_possible(void **state) {
  static const struct { const char *pair, *message;
  } cases[] = {
    {"ppo.epsilom=1", "ppo.epsilom is not a setting; did you mean ppo.epsilon?"},
    {"epsilon=1", "epsilon is not a setting; did you mean ppo.epsilon?"},
    {"learning_rate=1", "learning_rate is not a setting; did you mean ppo.learning_rate?"},
    {"epsilom=1", "epsilom is not a setting; did you mean ppo.epsilon?"},
    {"com=1", "com is not a setting; did you mean ppo.com?"},
    {"clip_coef=1", "clip_coef is not a setting; did you mean ppo.epsilon?"},
    {"ppo.ent-coef=1", "ppo.ent-coef is not a setting; did you mean ppo.entropy_coef?"},
    {"total_timesteps=1", "total_timesteps is not a setting; did you mean train.total_steps?"},
    {"optimizer.rate=1", "optimizer.rate is not a setting; `trainer --help` lists them"},
    {"=1", " is not a setting; `trainer --help` lists them"},
    {"ppo.epsilon", "'ppo.epsilon' is not key=value"},
    {"ppo.epochs=abc", "ppo.epochs = abc is not a whole number; expected 1 to 1024 epochs"},
    {"ppo.epochs=", "ppo.epochs = (empty) is not a whole number; expected 1 to 1024 epochs"},
    {"ppo.epochs=1.5", "ppo.epochs = 1.5 is not a whole number; expected 1 to 1024 epochs"},
    {"ppo.epochs=1 k",
     "ppo.epochs = 1 k is not a whole number: no blank may stand before the suffix, as in 50k; expected 1 to 1024 "
     "epochs"},
    {"ppo.com=5kk", "ppo.com = 5kk is not a number: suffixes are k, M, G and T, for 1e3, 1e6, 1e9 and 1e12; "
     "expected 0 to 1e9 updates"},
    {"ppo.epochs=2k", "ppo.epochs = 2k is out of range; expected 1 to 1024 epochs"},
    {"ppo.epochs=0", "ppo.epochs = 0 is out of range; expected 1 to 1024 epochs"},
    {"ppo.epochs=1025", "ppo.epochs = 1025 is out of range; expected 1 to 1024 epochs"},
    {"ppo.epochs=inf", "ppo.epochs = inf is not a whole number; expected 1 to 1024 epochs"},
    {"ppo.epsilon=nan", "ppo.epsilon = nan is not a number; expected 0 to inf"},
    {"ppo.epsilon=-0.1", "ppo.epsilon = -0.1 is out of range; expected 0 to inf"},
    {"ppo.com=inf", "ppo.com = inf is out of range; expected 0 to 1e9 updates"},
    {"ppo.clip_value=maybe", "ppo.clip_value = maybe is not a boolean; expected yes or no"},
    {"algo.name=ppo_ewm",
     "algo.name = ppo_ewm is not one of: ppo, ppo_ewma, sapg, pqn, noisy_sgd; did you mean ppo_ewma?"},
    {"algo.name=", "algo.name = (empty) is not one of: ppo, ppo_ewma, sapg, pqn, noisy_sgd"},
    {"algo.name=ppo|ppo_ewma",
     "algo.name = ppo|ppo_ewma is not one of: ppo, ppo_ewma, sapg, pqn, noisy_sgd; did you mean ppo_ewma?"},
    {"net.activation=gelu", "net.activation = gelu is not one of: tanh, relu, silu, elu; did you mean relu?"},
    {"env.levels=a\nb", "env.levels contains a newline"},
    {"env.levels=a\tb", "env.levels contains control character U+0009"},
    {"env.levels=\xff", "env.levels contains byte 0xff, which is not UTF-8"},
  };

  CoreConfig config = core_config_default(), before = config;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(core_config_set_pair(&config, cases[i].pair), CORE_USAGE);
    assert_string_equal(core_error_message(), cases[i].message);
  }

  char longest[400] = "env.levels=";
  memset(longest + 11, 'x', 255);
  assert_int_equal(core_config_set_pair(&config, longest), CORE_OK);
  assert_int_equal(strlen(config.env.levels), 255);
  assert_int_equal(core_config_set_pair(&config, "env.levels="), CORE_OK);
  longest[11 + 255] = 'x';
  assert_int_equal(core_config_set_pair(&config, longest), CORE_USAGE);
  assert_string_equal(core_error_message(), "env.levels is too long: 256 bytes; expected at most 255");

  char name[400];
  memset(name, 'k', sizeof name);
  memcpy(name + 390, "=1", 3);
  assert_int_equal(core_config_set_pair(&config, name), CORE_USAGE);
  assert_memory_equal(&config, &before, sizeof config);
}

static void infinity_is_a_value_where_the_range_has_it(void **state) {
  CoreConfig config = core_config_default();
  (void)state;
  assert_int_equal(core_config_set(&config, "ppo.epsilon", "inf"), CORE_OK);
  assert_true(isinf(config.ppo.epsilon));
  assert_int_equal(core_config_set(&config, "train.total_steps", "3e9"), CORE_OK);
  assert_int_equal(config.train.total_steps, 3000000000);
}

/* A value within the row's range, of the kinds that people and searches produce. */
static void random_value(CoreRandomStream *random, const CoreConfigRow *row, char *text, size_t size) {
  static const char letters[] = "abz09+-_/. ;#\"\\='|[]";
  double unit = core_random_unit(core_random_next(random)), low = row->min;
  double high = row->max < 1e12 ? row->max : 1e12;
  uint32_t pick = core_random_next(random);

  switch (row->kind) {
    case CORE_CONFIG_INT: snprintf(text, size, "%lld", (long long)(low + unit * unit * (high - low))); break;
    case CORE_CONFIG_REAL:
      if (pick % 8 == 0) core_text_from_real(row->max, text);
      else core_text_from_real(low + unit * unit * unit * (high - low), text);
      break;
    case CORE_CONFIG_BOOL: snprintf(text, size, "%s", pick % 2 ? "true" : "off"); break;
    case CORE_CONFIG_ENUM: {
      const char *choice = row->choices;
      for (uint32_t skip = pick % 4; skip && strchr(choice, '|'); skip--) choice = strchr(choice, '|') + 1;
      snprintf(text, size, "%.*s", (int)strcspn(choice, "|"), choice);
      break;
    }
    case CORE_CONFIG_STRING: {
      size_t length = pick % 12;
      for (size_t i = 0; i < length; i++)
        text[i] = letters[core_random_below(core_random_next(random), sizeof letters - 1)];
      text[length] = '\0';
      break;
    }
  }
}

static CoreConfig random_config(uint32_t which) {
  CoreRandomStream random = core_random_stream(11, CORE_RANDOM_TEST, which, 0);
  CoreConfig config = core_config_default();
  char value[CORE_CONFIG_TEXT];
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  for (size_t i = 0; i < count; i++) {
    if (core_random_next(&random) % 3 == 0) continue;
    random_value(&random, &rows[i], value, sizeof value);
    if (core_config_set(&config, rows[i].name, value) != CORE_OK) fail_msg("%s", core_error_message());
  }
  return config;
}

static void write_text(const char *path, const char *text) {
  if (core_files_write_atomic(path, text, strlen(text)) != CORE_OK) fail_msg("%s", core_error_message());
}

static void random_configs_survive_a_file(void **state) {
  char path[CORE_PATH_MAX];
  CoreText text = {0}, value = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  (void)state;

  assert_int_equal(test_directory_make(NULL), 0);
  assert_int_equal(core_files_path(path, "%s/config.ini", test_directory), CORE_OK);

  for (uint32_t i = 0; i < 200; i++) {
    CoreConfig config = random_config(i), back = core_config_default(), copy = core_config_default();
    char id[CORE_RUN_ID], id_back[CORE_RUN_ID];

    core_text_clear(&text);
    core_config_to_ini(&config, &text);
    write_text(path, core_text_string(&text));
    if (core_config_read(path, &back) != CORE_OK) fail_msg("%s\n%s", core_error_message(), core_text_string(&text));
    assert_memory_equal(&config, &back, sizeof config);

    core_config_id(&config, id);
    core_config_id(&back, id_back);
    assert_string_equal(id, id_back);

    for (size_t r = 0; r < count; r++)
      assert_int_equal(core_config_set(&copy, rows[r].name, core_config_get(&config, &rows[r], &value)), CORE_OK);
    assert_memory_equal(&config, &copy, sizeof config);
  }

  core_text_free(&text);
  core_text_free(&value);
  assert_int_equal(test_directory_remove(NULL), 0);
}

static void json_holds_every_value_in_its_kind(void **state) {
  CoreText text = {0}, value = {0};
  CoreConfigJson one_after_another = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  (void)state;

  for (uint32_t i = 0; i < 100; i++) {
    CoreConfig config = random_config(i);
    json_error_t error;
    core_text_clear(&text);
    core_config_to_json(&config, &text);

    for (int again = 0; again < 2; again++) { /* computed from the previous one, and from itself */
      assert_string_equal(core_config_json(&one_after_another, &config), core_text_string(&text));
      config.train.seed += !again;
      core_text_clear(&text);
      core_config_to_json(&config, &text);
    }

    json_t *root = json_loads(core_text_string(&text), JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("%s: %s", error.text, core_text_string(&text));

    for (size_t r = 0; r < count; r++) {
      json_t *item = json_object_get(json_object_get(root, rows[r].section), rows[r].key);
      const void *field = (const char *)&config + rows[r].offset;
      assert_non_null(item);
      switch (rows[r].kind) {
        case CORE_CONFIG_INT:
          assert_true(json_is_integer(item) && json_integer_value(item) == *(const int64_t *)field);
          break;
        case CORE_CONFIG_REAL:
          if (isinf(*(const double *)field)) assert_string_equal(json_string_value(item), "inf");
          else assert_true(json_is_number(item) && json_number_value(item) == *(const double *)field);
          break;
        case CORE_CONFIG_BOOL:
          assert_true(json_is_boolean(item) && json_boolean_value(item) == *(const bool *)field);
          break;
        case CORE_CONFIG_ENUM:
        case CORE_CONFIG_STRING: assert_string_equal(json_string_value(item), (const char *)field); break;
      }
    }
    json_decref(root);
  }

  core_config_json_free(&one_after_another);
  core_text_free(&text);
  core_text_free(&value);
}

static void bad_files_point_at_the_fault(void **state) {
  static const struct { const char *text, *message; } cases[] = {
    {"[ppo]\nepsilom = 1\n", ":2:1: ppo.epsilom is not a setting; did you mean ppo.epsilon?"},
    {"[ppo]\n  epochs =  0\n", ":2:13: ppo.epochs = 0 is out of range; expected 1 to 1024 epochs"},
    {"[ppo]\nepochs = 4\n[env]\nnum = 8\n[ppo]\n\nepochs = 4\n",
     ":7:1: ppo.epochs is given twice, first in line 2; remove one"},
    {"[pppo]\n", ":1:1: [pppo] is not a section of a config file; did you mean [ppo]?"},
    {"[nothing known]\n", ":1:1: [nothing known] is not a section of a config file; `trainer --help` lists them"},
    {"\nepochs = 1\n", ":2:1: epochs is before the first [section]"},
    {"[ppo\n", ":1:5: the section's ']' is missing"},
  };
  char path[CORE_PATH_MAX];
  CoreConfig config = core_config_default(), before = config;
  (void)state;
  assert_int_equal(test_directory_make(NULL), 0);
  assert_int_equal(core_files_path(path, "%s/bad.ini", test_directory), CORE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(path, cases[i].text);
    assert_int_equal(core_config_read(path, &config), CORE_USAGE);
    assert_memory_equal(core_error_message(), path, strlen(path));
    assert_string_equal(core_error_message() + strlen(path), cases[i].message);
  }
  assert_int_equal(core_config_read("/nonexistent", &config), CORE_FAIL);
  assert_memory_equal(&config, &before, sizeof config); /* no setting of an invalid file is used */
  assert_int_equal(test_directory_remove(NULL), 0);
}

static void pairs_go_over_the_file_over_the_defaults(void **state) {
  const char *pairs[] = {"ppo.epochs=5", "ppo.epochs=6"}, *unknown[] = {"ppo.epochs=5", "ppo.epoch=6"};
  const char *odd[] = {"algo.name=pqn"};
  char path[CORE_PATH_MAX];
  CoreConfig config;
  (void)state;
  assert_int_equal(test_directory_make(NULL), 0);
  assert_int_equal(core_files_path(path, "%s/run.ini", test_directory), CORE_OK);
  write_text(path, "[ppo]\nepochs = 4\n[train]\nseed = 7\n");
  assert_int_equal(core_config_load(path, pairs, 2, &config), CORE_OK);
  assert_int_equal(config.ppo.epochs, 6);
  assert_int_equal(config.train.seed, 7);
  assert_int_equal(core_config_load(NULL, NULL, 0, &config), CORE_OK);
  assert_int_equal(config.ppo.epochs, core_config_default().ppo.epochs);
  assert_int_equal(config.train.seed, core_config_default().train.seed);
  assert_int_equal(core_config_load(path, unknown, 2, &config), CORE_USAGE);
  assert_memory_equal(core_error_message(), "--set: ppo.epoch", 16);
  assert_int_equal(core_config_load(NULL, odd, 1, &config), CORE_USAGE); /* its env.actions is multi_discrete */
  assert_int_equal(test_directory_remove(NULL), 0);
}

static void checks_between_settings(void **state) {
  static const struct { const char *pairs[5], *message; } cases[] = {
    {{"ppo.num_minibatches=33"},
     "env.num * ppo.num_steps = 2048 * 256 = 524288 transitions cannot be divided into ppo.num_minibatches = 33 equal "
     "parts; set ppo.num_minibatches to 32 or 64"},
    {{"env.num=1", "ppo.num_steps=1"},
     "env.num * ppo.num_steps = 1 * 1 = 1 transitions cannot be divided into ppo.num_minibatches = 32 equal parts; "
     "set ppo.num_minibatches to 1"},
    {{"env.num=48", "ppo.minibatch_by=environments"},
     "env.num = 48 cannot be divided into ppo.num_minibatches = 32 equal parts (ppo.minibatch_by = environments); set "
     "ppo.num_minibatches to 24 or 48, or env.num to a multiple of it"},
    {{"env.task=levels"},
     "env.task = levels needs env.levels; set it to a directory of level files, or to files joined by '+'"},
    {{"algo.name=sapg", "env.num=2052", "env.actions=multi_discrete"},
     "algo.name = sapg needs a standard deviation per block, which env.actions = multi_discrete does not provide; set "
     "env.actions = continuous, or algo.name to ppo or ppo_ewma, which support all"},
    {{"algo.name=sapg", "env.num=2052", "env.actions=discrete"},
     "algo.name = sapg needs a standard deviation per block, which env.actions = discrete does not provide; set "
     "env.actions = continuous, or algo.name to ppo or ppo_ewma, which support all"},
    {{"algo.name=pqn", "env.actions=multi_discrete"},
     "algo.name = pqn needs a discrete set of actions, which env.actions = multi_discrete does not provide; set "
     "env.actions = discrete, or algo.name to ppo or ppo_ewma, which support all"},
    {{"algo.name=pqn", "env.actions=continuous"},
     "algo.name = pqn needs a discrete set of actions, which env.actions = continuous does not provide; set "
     "env.actions = discrete, or algo.name to ppo or ppo_ewma, which support all"},
    {{"algo.name=sapg", "env.actions=continuous"},
     "env.num = 2048 cannot be divided into sapg.blocks = 6 blocks; set env.num to 2046 or 2052"},
    {{"algo.name=sapg", "env.actions=continuous", "env.num=2052", "sapg.off_policy_ratio=6"},
     "sapg.off_policy_ratio = 6: there are 5 followers in sapg.blocks = 6; set it to 0 to 5"},
    {{"algo.name=sapg", "env.actions=continuous", "env.num=2052", "sapg.sequence_length=3"},
     "ppo.num_steps = 256 is not a multiple of sapg.sequence_length = 3; set the latter to 1, or to a divisor"},
    {{"algo.name=sapg", "env.actions=continuous", "env.num=2052", "net.action_head=tanh_affine"},
     "algo.name = sapg needs a log standard deviation per block; set net.action_head to gaussian"},
    {{"net.widths=64,32"},
     "net.widths = 64,32: expected 1 to 16 widths of 1 to 16384 units, separated by '-', such as 512-256-128"},
    {{"net.trunk_widths=64-"},
     "net.trunk_widths = 64-: expected 1 to 16 widths of 1 to 16384 units, separated by '-', such as 512-256-128"},
    {{"net.widths=64-16385"},
     "net.widths = 64-16385: expected 1 to 16 widths of 1 to 16384 units, separated by '-', such as 512-256-128"},
    {{"net.widths=1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17"},
     "net.widths = 1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17: expected 1 to 16 widths of 1 to 16384 units, "
     "separated by '-', such as 512-256-128"},
    {{"net.widths=1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16384", "net.trunk_widths=7"}, NULL},
    {{"algo.name=sapg", "env.actions=continuous", "env.num=2052"}, NULL},
    {{"algo.name=ppo", "env.actions=continuous"}, NULL},
    {{"algo.name=ppo_ewma", "env.actions=continuous", "net.action_head=tanh_affine"}, NULL},
    {{"algo.name=ppo_ewma", "env.actions=discrete"}, NULL},
    {{"algo.name=pqn", "env.actions=discrete"}, NULL},
    {{"algo.name=pqn", "env.task=atari/Breakout"}, NULL},
    {{"algo.name=sapg", "env.num=2052", "env.task=gym/Pendulum-v1"}, NULL},
    {{"env.num=48"}, NULL},
    {{"env.num=64", "ppo.minibatch_by=environments"}, NULL},
    {{"env.task=levels", "env.levels=some/folder"}, NULL},
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CoreConfig config = core_config_default();
    for (size_t p = 0; cases[i].pairs[p]; p++)
      assert_int_equal(core_config_set_pair(&config, cases[i].pairs[p]), CORE_OK);
    assert_int_equal(core_config_check(&config), cases[i].message ? CORE_USAGE : CORE_OK);
    if (cases[i].message) assert_string_equal(core_error_message(), cases[i].message);
  }
}

static void iterations_cover_the_budget(void **state) {
  CoreConfig config = core_config_default();
  (void)state;
  assert_int_equal(core_config_transitions_per_iteration(&config), 524288);
  assert_int_equal(core_config_iterations(&config), 191); /* 1e8 / 524288 = 190.7 */
  config.train.total_steps = 524288;
  assert_int_equal(core_config_iterations(&config), 1);
  config.train.total_steps++;
  assert_int_equal(core_config_iterations(&config), 2);
}

static void help_and_docs_name_every_setting(void **state) {
  static char help[100000];
  CoreText markdown = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  FILE *file = tmpfile();
  (void)state;
  assert_non_null(file);
  CoreHelp terminal = {.out = file};
  core_config_help(&terminal);
  rewind(file);
  help[fread(help, 1, sizeof help - 1, file)] = '\0';
  fclose(file);
  core_config_to_markdown(&markdown);
  for (size_t i = 0; i < count; i++) {
    assert_non_null(strstr(help, rows[i].name));
    assert_non_null(strstr(core_text_string(&markdown), rows[i].name));
    assert_non_null(strstr(core_text_string(&markdown), rows[i].help));
  }
  core_text_free(&markdown);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(pairs_go_over_the_file_over_the_defaults),
    cmocka_unit_test(every_row_is_sound),
    cmocka_unit_test(synonyms_name_settings_and_columns),
    cmocka_unit_test(wrong_values_say_what_is_possible),
    cmocka_unit_test(infinity_is_a_value_where_the_range_has_it),
    cmocka_unit_test(random_configs_survive_a_file),
    cmocka_unit_test(json_holds_every_value_in_its_kind),
    cmocka_unit_test(bad_files_point_at_the_fault),
    cmocka_unit_test(checks_between_settings),
    cmocka_unit_test(iterations_cover_the_budget),
    cmocka_unit_test(help_and_docs_name_every_setting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
