/* [program], [settings] and [metric] of experiment files: kinds of settings, run ids, words of the command, errors,
 * and round trips through config.ini and results.db. */
#include "test.h"

#include <jansson.h>

#include "core/config/script.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/spec.h"

#define HEAD "[sweep]\nname = own\nseeds = 2\ngoal = max return\n"
#define COMMAND "[program]\ncommand = python3 t.py --lr {lr} --seed={seed} {flags}\nstep = step of {steps}\n"
#define SETTINGS "[settings]\nlr = 2.5e-4\nsteps = 500k\nnet = mlp | cnn\nanneal = True\nnote = a b\nratio = 1.0\n"
#define FILE_TEXT HEAD COMMAND SETTINGS "[metric]\nreturn = charts/return\n[grid g]\nlr = 1e-3, 0.1\nnet = mlp, cnn\n"

typedef struct Made {
  SweepSpec spec;
  SweepGrid grid;
} Made;

static void make(const char *text, Made *made) {
  int code = sweep_spec_parse("own.ini", text, NULL, NULL, 0, &made->spec);
  if (code == CORE_OK) code = sweep_grid_expand(&made->spec, &made->grid);
  if (code != CORE_OK) fail_msg("%s", core_error_message());
}

static void free_made(Made *made) {
  sweep_grid_free(&made->grid);
  sweep_spec_free(&made->spec);
}

static void refuse(const char *text, const char *part) {
  SweepSpec spec;
  assert_int_equal(sweep_spec_parse("own.ini", text, NULL, NULL, 0, &spec), CORE_USAGE);
  assert_message(part);
}

/* Checks which metric a name in [stop] and [search] refers to. */
static void assert_metric(const CoreScript *program, const char *name, const char *expected) {
  SweepMetric metric;
  if (sweep_metric_find("a measure", name, program, NULL, 0, &metric) != CORE_OK) fail_msg("%s", core_error_message());
  assert_string_equal(metric.name, expected);
}

static void test_metrics(void **state) {
  Made made;
  SweepMetric metric;
  make(HEAD COMMAND SETTINGS "[metric]\nentropy = losses/ent\nmine = x/y\n[search s]\ntrials = 2\nlr = 0.1 .. 1.0\n"
       "goal = min losses/ent\n[stop]\nrule = median\nmeasure = losses/kl\n",
       &made);

  const CoreScript *program = made.spec.base.program;
  assert_string_equal(made.spec.searches[0].space.goals[0].measure, "iteration.entropy");
  assert_int_equal(sweep_stop_metric(&made.spec.stop, program, &metric), CORE_OK);
  assert_string_equal(metric.name, "metric.losses/kl");
  assert_string_equal(sweep_metric_short(&metric), "losses/kl");

  assert_metric(program, "losses/ent", "iteration.entropy");
  assert_metric(program, "metric.losses/ent", "iteration.entropy");
  assert_metric(program, "x/y", "metric.mine");
  assert_metric(program, "mine", "metric.mine");
  assert_metric(program, "episode_return", "iteration.episode_return");
  assert_metric(program, "evaluation.episode_return", "evaluation.episode_return");
  assert_metric(NULL, "episode_return", "evaluation.episode_return");
  assert_metric(NULL, "metric.goal_distance", "metric.goal_distance");
  assert_metric(NULL, "info/distance", "metric.info/distance");

  assert_int_equal(sweep_metric_find("a measure", "episode_retrun", program, NULL, 0, &metric), CORE_USAGE);
  assert_int_equal(sweep_metric_find("a measure", "goal_distance", NULL, NULL, 0, &metric), CORE_USAGE);
  free_made(&made);

  refuse(HEAD COMMAND SETTINGS "[search s]\ntrials = 2\ngoal = min finall\nlr = 0.1 .. 1.0\n", "did you mean final?");
  const char *const endless = HEAD "[program]\ncommand = t {lr}\n[settings]\nlr = 0.1\n[stop]\nrule = median\n";
  assert_int_equal(sweep_spec_parse("own.ini", endless, NULL, NULL, 0, &made.spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&made.spec, &made.grid), CORE_USAGE);
  assert_message("own.ini:10:8: stop.rule = median needs the end of a run");
  sweep_spec_free(&made.spec);
}

static CoreConfigKind kind_of(const CoreConfig *config, const char *name) {
  const CoreScriptSetting *setting = core_script_find(config->program, name);
  if (!setting) fail_msg("no setting %s", name);
  return setting->kind;
}

static void test_kinds(void **state) {
  Made made;
  CoreText text = {0};
  make(FILE_TEXT, &made);
  const CoreConfig *base = &made.spec.base;
  assert_int_equal(kind_of(base, "lr"), CORE_CONFIG_REAL);
  assert_int_equal(kind_of(base, "ratio"), CORE_CONFIG_REAL);
  assert_int_equal(kind_of(base, "steps"), CORE_CONFIG_INT);
  assert_int_equal(kind_of(base, "net"), CORE_CONFIG_ENUM);
  assert_int_equal(kind_of(base, "anneal"), CORE_CONFIG_ENUM);
  assert_int_equal(kind_of(base, "note"), CORE_CONFIG_STRING);
  assert_string_equal(core_config_get(base, core_config_find("steps"), &text), "500000");
  assert_string_equal(core_config_get(base, core_config_find("net"), &text), "mlp");
  assert_int_equal(base->train.total_steps, 500000);
  assert_string_equal(core_script_text(base->program, CORE_SCRIPT_goal), "max return");
  assert_int_equal(made.grid.cells, 4);
  assert_int_equal(made.grid.runs, 8);
  core_text_free(&text);
  free_made(&made);
}

/* The contract of docs/programs.md: these may never change. */
static void test_ids(void **state) {
  Made made;
  CoreText text = {0};
  CoreConfig config;
  make(FILE_TEXT, &made);
  sweep_grid_config(&made.grid, 0, &config);
  core_script_canonical(&config, true, &text);
  assert_string_equal(text.data,
                      "program 1\ncommand=python3 t.py --lr {lr} --seed={seed} {flags}\nanneal=True\nlr=0.001\n"
                      "net=mlp\nnote=a b\nratio=1\nsteps=500000\nseed=0\n");
  assert_string_equal(made.grid.ids[0], "6560270b059ec76a");
  core_text_free(&text);
  free_made(&made);
}

/* An edited default is another run, another order of the lines is not, and where metrics come from is neither. */
static void test_what_counts(void **state) {
  Made made, other;
  make(FILE_TEXT, &made);
  make(HEAD "[settings]\nratio = 1.0\nnote = a b\nanneal = True\nnet = mlp | cnn\nsteps = 500k\nlr = 7.0\n"
            COMMAND "metrics = csv:x.csv\ngrace = 5\n[grid g]\nlr = 1e-3, 0.1\nnet = mlp, cnn\n", &other);
  for (size_t run = 0; run < made.grid.runs; run++) assert_string_equal(made.grid.ids[run], other.grid.ids[run]);
  free_made(&other);
  make(HEAD COMMAND "[settings]\nlr = 2.5e-4\nsteps = 500k\nnet = mlp | cnn\nanneal = False\nnote = a b\nratio = 1.0\n"
       "[grid g]\nlr = 1e-3, 0.1\nnet = mlp, cnn\n", &other);
  for (size_t run = 0; run < made.grid.runs; run++) assert_string_not_equal(made.grid.ids[run], other.grid.ids[run]);
  free_made(&other);
  free_made(&made);
}

static void check_same_runs(const char *text, const Made *made) {
  Made again;
  make(text, &again);
  assert_int_equal(again.grid.runs, made->grid.runs);
  for (size_t run = 0; run < made->grid.runs; run++) assert_string_equal(again.grid.ids[run], made->grid.ids[run]);
  free_made(&again);
}

static void test_frozen(void **state) {
  Made made;
  CoreText text = {0};
  const char *sets[] = {"ratio=3", "steps=2k", "anneal=False"};
  assert_int_equal(sweep_spec_parse("own.ini", FILE_TEXT, NULL, sets, 3, &made.spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&made.spec, &made.grid), CORE_OK);
  sweep_freeze_print(&made.spec, &text);
  check_same_runs(core_text_string(&text), &made);
  core_text_free(&text);
  free_made(&made);
}

/* config.ini and run.config describe the run of their id. */
static void test_files(void **state) {
  Made made;
  CoreText text = {0};
  CoreConfig config, again;
  const CoreScript *program;
  char path[] = "/tmp/test_script.XXXXXX", id[CORE_RUN_ID];

  make(FILE_TEXT, &made);
  sweep_grid_config(&made.grid, 5, &config);
  core_config_to_ini(&config, &text);

  const int fd = mkstemp(path);
  FILE *file = fdopen(fd, "w");
  fputs(core_text_string(&text), file);
  fclose(file);
  again = core_config_default();
  if (core_config_read(path, &again) != CORE_OK) fail_msg("%s", core_error_message());
  remove(path);
  core_config_id(&again, id);
  assert_string_equal(id, made.grid.ids[5]);

  core_text_clear(&text);
  core_config_to_json(&config, &text);
  json_t *root = json_loads(core_text_string(&text), 0, NULL);
  assert_non_null(root);
  assert_int_equal(core_script_from_json(root, &program), CORE_OK);

  again = core_config_default();
  core_script_attach(&again, program);
  again.train.seed = config.train.seed;
  core_config_id(&again, id);
  assert_string_equal(id, made.grid.ids[5]);

  json_decref(root);
  core_text_free(&text);
  free_made(&made);
}

/* JSON has no infinity: results.db keeps whether "inf" is a number or a text. */
static void test_infinity(void **state) {
  Made made;
  CoreText text = {0};
  const CoreScript *program;
  CoreConfig config;
  (void)state;
  make(HEAD COMMAND SETTINGS "norm = l2\n[grid g]\nlr = inf\nnorm = inf\n", &made);
  sweep_grid_config(&made.grid, 0, &config);
  core_config_to_json(&config, &text);
  json_t *root = json_loads(core_text_string(&text), 0, NULL);
  assert_int_equal(core_script_from_json(root, &program), CORE_OK);
  assert_int_equal(core_script_find(program, "lr")->kind, CORE_CONFIG_REAL);
  assert_int_equal(core_script_find(program, "norm")->kind, CORE_CONFIG_STRING);
  json_decref(root);
  core_text_free(&text);
  free_made(&made);
}

static void check_words(const CoreScript *program, const char *text, const char *joined) {
  const CoreScriptRun run = {.id = "0123456789abcdef", .dir = "/w/files", .config = "/w/settings.json", .seed = 7};
  char **words;
  size_t count;
  CoreText line = {0};
  if (core_script_argv(program, text, &run, &words, &count) != CORE_OK) fail_msg("%s", core_error_message());
  for (size_t i = 0; i < count; i++) core_text_appendf(&line, "[%s]", words[i]);
  assert_null(words[count]);
  assert_string_equal(core_text_string(&line), joined);
  core_text_free(&line);
  core_script_argv_free(&words);
}

static void test_words(void **state) {
  Made made;
  make(HEAD COMMAND "[settings]\nlr = 0.1\nsteps = 9\nnote = \"$(rm -rf /); `x`\"\n", &made);
  const CoreScript *program = made.spec.base.program;
  check_words(program, "a  b\tc", "[a][b][c]");
  check_words(program, "\"a b\" 'c \"d' x\"y z\"w ''", "[a b][c \"d][xy zw][]");
  check_words(program, "--lr={lr} {run}/{seed} {dir} {config} {{x}", "[--lr=0.1][0123456789abcdef/7][/w/files]"
              "[/w/settings.json][{x}]");
  check_words(program, "t {overrides}", "[t][lr=0.1][steps=9][note='$(rm -rf /); `x`']");
  check_words(program, "t {flags}", "[t][--lr][0.1][--steps][9][--note][$(rm -rf /); `x`]");
  check_words(program, "sh -c {note}", "[sh][-c][$(rm -rf /); `x`]");
  free_made(&made);
}

/* The command gets numbers as the user has written them; texts that look like numbers stay texts. */
static void test_spelling(void **state) {
  static const struct { const char *def, *word; CoreConfigKind kind; } rows[] = {
    {"\"3.10\"", "3.10", CORE_CONFIG_STRING}, {"'007'", "007", CORE_CONFIG_STRING}, {"007", "007", CORE_CONFIG_STRING},
    {"-007", "-007", CORE_CONFIG_STRING}, {"00.5", "00.5", CORE_CONFIG_STRING}, {"1_000", "1_000", CORE_CONFIG_STRING},
    {"0x10", "0x10", CORE_CONFIG_STRING}, {"1.10", "1.10", CORE_CONFIG_REAL}, {"1e-3", "1e-3", CORE_CONFIG_REAL},
    {"1.0", "1.0", CORE_CONFIG_REAL}, {".50", ".50", CORE_CONFIG_REAL}, {"2.5k", "2500.0", CORE_CONFIG_REAL},
    {"500k", "500000", CORE_CONFIG_INT}, {"1e6", "1000000", CORE_CONFIG_INT}, {"0", "0", CORE_CONFIG_INT},
    {"+5", "+5", CORE_CONFIG_INT}, {"\"True\"", "True", CORE_CONFIG_STRING}, {"\"a | b\"", "a | b", CORE_CONFIG_STRING},
    {"3.10 | 3.11", "3.10", CORE_CONFIG_ENUM}, {"\"a;b\" | 'c d'", "a;b", CORE_CONFIG_ENUM},
    {"''", "", CORE_CONFIG_STRING}};

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Made made;
    CoreText text = {0}, frozen = {0};
    core_text_appendf(&text, "[sweep]\nname = own\n[program]\ncommand = t\n[settings]\nv = %s\n", rows[i].def);
    make(text.data, &made);
    assert_int_equal(kind_of(&made.spec.base, "v"), rows[i].kind);

    core_text_clear(&text);
    core_text_appendf(&text, "[%s]", rows[i].word);
    check_words(made.spec.base.program, "{v}", text.data);

    sweep_freeze_print(&made.spec, &frozen); /* and so after any number of submissions */
    Made again;
    make(core_text_string(&frozen), &again);
    assert_int_equal(kind_of(&again.spec.base, "v"), rows[i].kind);
    check_words(again.spec.base.program, "{v}", text.data);
    assert_string_equal(again.grid.ids[0], made.grid.ids[0]);

    free_made(&again);
    free_made(&made);
    core_text_free(&text);
    core_text_free(&frozen);
  }
}

#define ONE "[sweep]\nname = own\n[program]\ncommand = t {v}\n[settings]\nn = 7\n"

static void test_spelled_values(void **state) {
  Made made;
  CoreConfig config;
  CoreText frozen = {0};
  make(ONE "v = 1.0\n[grid g]\nv = 3.10, 1e-3, 2, 2e6, 1.5M, inf, '4.50'\n", &made);
  static const char *const words[] = {"[3.10]", "[1e-3]", "[2.0]", "[2.0e6]", "[1.5e6]", "[inf]", "[4.50]"};
  for (size_t run = 0; run < made.grid.runs; run++) {
    sweep_grid_config(&made.grid, run, &config);
    check_words(config.program, "{v}", words[run]);
  }
  sweep_freeze_print(&made.spec, &frozen);
  check_same_runs(core_text_string(&frozen), &made);
  free_made(&made);

  Made other; /* one number is one run, however it is spelled */
  make(ONE "v = 0.001\n", &made);
  make(ONE "v = 1e-3\n", &other);
  assert_string_equal(made.grid.ids[0], other.grid.ids[0]);
  free_made(&other);
  free_made(&made);

  refuse(ONE "v = 1.0\n[grid g]\nv = 0.1, 1e-1\n", "the value 0.1 is repeated");
  refuse(ONE "v = 1.0\n[grid g]\nn = 007\n", "it begins with a zero");
  refuse(ONE "v = 1.0\n[grid g]\nv = 00.5\n", "it begins with a zero");
  core_text_free(&frozen);
}

/* Texts that look alike are no two values: e and U+0301, a Hangul syllable in parts, the Angstrom sign. */
static void test_decomposed(void **state) {
  static const char *const texts[] = {"cafe\xcc\x81", "\xe1\x84\x92\xe1\x85\xa1", "\xe2\x84\xab",
                                      "\xe3\x81\x8b\xe3\x82\x99"};
  Made made;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    CoreText text = {0};
    core_text_appendf(&text, ONE "v = %s\n", texts[i]);
    refuse(text.data, "write it composed (NFC)");
    core_text_clear(&text);
    core_text_appendf(&text, ONE "v = x\n[grid g]\nv = a, %s\n", texts[i]);
    refuse(text.data, "write it composed (NFC)");
    core_text_clear(&text);
    core_text_appendf(&text, ONE "v = x | %s\n", texts[i]);
    refuse(text.data, "write it composed (NFC)");
    core_text_free(&text);
  }
  make(ONE "v = caf\xc3\xa9\n[grid g]\nv = \xed\x95\x98, \xe3\x81\x8c, \xd0\xb9, \xc3\x85\n", &made);
  assert_int_equal(made.grid.runs, 4);
  free_made(&made);
}

static void test_flags(void **state) {
  Made made;
  make(ONE "v = -1e-5\ncuda = True\nanneal = no\nnote = -x\nempty =\n", &made);
  const CoreScript *program = made.spec.base.program;
  check_words(program, "t {flags}", "[t][--n][7][--v=-1e-5][--cuda][True][--anneal][no][--note=-x][--empty][]");
  check_words(program, "t {cuda?--cuda} {anneal?--anneal} {anneal?:--no-anneal} {cuda?--cuda:--no-cuda}",
              "[t][--cuda][--no-anneal][--cuda]");
  check_words(program, "t {flags} {cuda?--cuda} {n} x={v}",
              "[t][--anneal][no][--note=-x][--empty][][--cuda][7][x=-1e-5]");
  check_words(program, "x={anneal?1:0} \"{anneal?a}\" {anneal?a}", "[x=0][]");
  check_words(program, "{{cuda} {overrides}", "[{cuda}][n=7][v=-1e-5][cuda=True][anneal=no][note='-x'][empty='']");
  free_made(&made);
  refuse("[sweep]\nname = own\n[program]\ncommand = t {n?--n}\n[settings]\nn = 7\n", "is neither true nor false");
  refuse("[sweep]\nname = own\n[program]\ncommand = t {cud?--n}\n[settings]\ncuda = True\n", "did you mean {cuda}?");
}

/* Words that Hydra's parser gives back as they are; tests/cli/test_program_code.sh asks that parser if it is there. */
static void test_overrides(void **state) {
  static const struct { const char *def, *word; } rows[] = {
    {"\"a=b\"", "'a=b'"}, {"\"x,y\"", "'x,y'"}, {"\"3 #4\"", "'3 #4'"}, {"\"{a: 1}\"", "'{a: 1}'"},
    {"\"it's\"", "'it\\'s'"}, {"\"\"", "''"}, {"1.0", "1.0"}, {"1e-3", "1e-3"}, {"\"007\"", "'007'"},
    {"\"3.10\"", "'3.10'"}, {"True", "True"},
    {"\"True\"", "'True'"}, {"[64,64]", "[64,64]"}, {"null", "null"},
    {"\"a\\\\b\"", "'a\\b'"}, {"\"a\\\\\"", "'a\\\\'"},
    {"\"${x}\"", "'\\${x}'"}, {"mlp", "mlp"}, {"/data/x_1.h5", "/data/x_1.h5"}, {"500k", "500000"},
    {"3.10 | 4", "3.10"},
    {"a b | c", "'a b'"}, {"\"nan\"", "'nan'"}, {"2024-01-01", "'2024-01-01'"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Made made;
    CoreText text = {0};
    core_text_appendf(&text, "[sweep]\nname = own\n[program]\ncommand = t\n[settings]\nv = %s\n", rows[i].def);
    make(text.data, &made);
    core_text_clear(&text);
    core_text_appendf(&text, "[v=%s]", rows[i].word);
    check_words(made.spec.base.program, "{overrides}", text.data);
    core_text_free(&text);
    free_made(&made);
  }
}

static void test_quoted(void **state) {
  Made made;
  CoreText line = {0};
  make(HEAD COMMAND "[settings]\nlr = 0.1\nsteps = 9\nnote = \"it's; $HOME\"\n", &made);
  assert_int_equal(core_script_quote(made.spec.base.program, "a '' {note} --x={lr} {flags}", NULL, &line), CORE_OK);
  assert_string_equal(line.data, "a '' 'it'\\''s; $HOME' --x=0.1 --steps 9");
  core_text_free(&line);
  free_made(&made);
}

/* Grids of the trainer next to grids of the program. */
static void test_mixed(void **state) {
  Made made;
  CoreConfig config;
  CoreText text = {0};
  make(HEAD COMMAND SETTINGS "[train]\ntotal_steps = 4096\n[grid theirs]\nlr = 0.1, 0.2\n"
       "[grid ours]\nprogram = no\nppo.epsilon = 0.1, 0.3\n", &made);
  assert_int_equal(made.grid.runs, 8);
  sweep_grid_config(&made.grid, 0, &config);
  assert_non_null(config.program);
  sweep_grid_config(&made.grid, 3, &config);
  assert_null(config.program);
  assert_true(config.ppo.epsilon == 0.3);
  assert_int_equal(config.train.total_steps, 4096);
  assert_string_equal(config.algo.name, "ppo");
  sweep_freeze_print(&made.spec, &text);
  check_same_runs(core_text_string(&text), &made);
  core_text_free(&text);
  free_made(&made);
  refuse(HEAD COMMAND SETTINGS "[grid ours]\nprogram = no\nlr = 0.1\n", "is a grid of the trainer");
  refuse(HEAD COMMAND SETTINGS "[grid a]\nppo.epsilon = 0.1\n[grid b]\nprogram = no\nppo.epsilon = 0.1\n",
         "is a grid of the program");
}

static void test_refused(void **state) {
  refuse(HEAD COMMAND SETTINGS "[grid g]\nlrr = 1\n", "lrr is not a setting of the program; did you mean lr?");
  refuse(HEAD COMMAND SETTINGS "[grid g]\nsteps = 0.5\n", "steps = 0.5 is not a whole number");
  refuse(HEAD COMMAND SETTINGS "[grid g]\nnet = mpl\n", "did you mean mlp?");
  refuse(HEAD COMMAND SETTINGS "[grid g]\nppo.epsilon = 0.1\n", "is a setting of the trainer");
  refuse(HEAD COMMAND SETTINGS "[ppo]\nepochs = 1\n", "is a setting of the trainer");
  refuse(HEAD "[program]\ncommand = t {lrr}\n" SETTINGS, "did you mean {lr}?");
  refuse(HEAD "[program]\ncommand = t ${HOME}/x\n" SETTINGS, "no shell interprets ${HOME}");
  refuse(HEAD "[program]\ncommand = t 'x\n" SETTINGS, "is not closed");
  refuse(HEAD "[program]\ncommand = t{flags}\n" SETTINGS, "a separate word");
  refuse(HEAD "[program]\n" SETTINGS, "has no command");
  refuse(HEAD "[program]\ncomand = x\n" SETTINGS, "did you mean command?");
  refuse(HEAD "[program]\ncommand = t\nmetrics = stdout:r=[(\n" SETTINGS, "is invalid");
  refuse(HEAD "[program]\ncommand = t\nmetrics = stdout:r,s=([0-9]+)\n" SETTINGS, "1 groups");
  refuse(HEAD "[program]\ncommand = t\nmetrics = parquet:x\n" SETTINGS, "expected jsonl");
  refuse(HEAD "[program]\ncommand = t\nstep = s of {total}\n" SETTINGS, "has no total");
  refuse(HEAD "[program]\ncommand = t\nstep = s of {net}\n" SETTINGS, "is not a number");
  refuse(HEAD COMMAND "[settings]\nlr = 1\nseed = 3\n", "seeds in [sweep]");
  refuse(HEAD COMMAND "[settings]\nlr = 1\nlr = 2\n", "given twice");
  refuse(HEAD COMMAND "[settings]\nppo.epsilon = 0.2\nlr = 1\nsteps = 1\n", "choose another name");
  refuse("[sweep]\nname = own\ngoal = best return\n" COMMAND SETTINGS, "expected max METRIC");
  refuse("[sweep]\nname = own\ngoal = max return\n", "[program], which this file does not have");
  refuse("[sweep]\nname = own\n" SETTINGS, "requires a [program]");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_metrics),        cmocka_unit_test(test_kinds),
                                     cmocka_unit_test(test_infinity),       cmocka_unit_test(test_ids),
                                     cmocka_unit_test(test_what_counts),    cmocka_unit_test(test_spelling),
                                     cmocka_unit_test(test_spelled_values), cmocka_unit_test(test_decomposed),
                                     cmocka_unit_test(test_flags),          cmocka_unit_test(test_overrides),
                                     cmocka_unit_test(test_quoted),         cmocka_unit_test(test_frozen),
                                     cmocka_unit_test(test_files),          cmocka_unit_test(test_words),
                                     cmocka_unit_test(test_mixed),          cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
