/* From init.from to a checkpoint file, and from its sections to a started training (inherit.h). */
#include "trainer/run/inherit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/learners/ddr_control.h"
#include "trainer/learners/rl_games.h"
#include "trainer/run/logs.h"
#include "trainer/run/run_files.h"
#include "trainer/run/training_internal.h"

typedef struct Parent {
  char checkpoint[CORE_PATH_MAX], config[CORE_PATH_MAX]; /* files */
  char run[CORE_RUN_ID];
  int64_t iteration;
  bool moves_other; /* whether its ppo.ddr_target controls COM where ours controls epsilon, or the other way round */
} Parent;

/* ---- choice of the checkpoint ---------------------------------------------------------------------------------- */

static int find_run(const CoreOrigin *origin, const char *root, Parent *parent) {
  char directory[CORE_PATH_MAX];
  TRY(store_path_run(root, origin->run, "config.ini", parent->config));
  if (!core_files_exists(parent->config)) return core_error(CORE_USAGE, "no run %s in %s", origin->run, root);
  TRY(run_files_check_trainer(parent->config));
  TRY(store_path_run(root, origin->run, "ckpt", directory));
  if (origin->iteration < 0) return checkpoint_newest_path(directory, parent->checkpoint);
  TRY(checkpoint_path(directory, origin->iteration, parent->checkpoint));
  if (core_files_exists(parent->checkpoint)) return CORE_OK;
  return core_error(CORE_USAGE, "run %s has kept no checkpoint of iteration %" PRId64 " (checkpoint.keep, "
                    "checkpoint.every)", origin->run, origin->iteration);
}

static int find_path(const char *path, Parent *parent) {
  const char *slash = strrchr(path, '/');
  struct stat file;
  TRY(core_files_path(parent->checkpoint, "%s", path));
  if (stat(path, &file) != 0)
    return core_error(CORE_USAGE, "no such file; name a run as run:<id> or run:<id>@<iteration>");
  if (S_ISDIR(file.st_mode))
    return core_error(CORE_USAGE, "is a directory; name a file in its ckpt/, or the run as run:<id>");
  return core_files_path(parent->config, "%.*s/../config.ini", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int find_parent(const CoreConfig *config, const char *root, Parent *parent) {
  CoreOrigin origin;
  TRY(core_origin_parse(config->init.from, &origin));
  if (origin.is_run) TRY(find_run(&origin, root, parent));
  else TRY(find_path(config->init.from, parent));
  return checkpoint_identify(parent->checkpoint, parent->run, &parent->iteration);
}

/* ---- choice of the sections ------------------------------------------------------------------------------------ */

static bool is_network(const char *name) { return strcmp(name, "actor") == 0 || strcmp(name, "critic") == 0; }

/* Initializes per-world statistics from those of all of the parent's worlds pooled. */
static void spread_moments(const Training *training, const Checkpoint *sections) {
  const ObsPipeline *pipeline = &training->rollout.pipeline;
  const double *pooled = NULL;
  if (!pipeline->is_each) return;
  for (int i = 0; i < sections->sections; i++) {
    const CheckpointSection *section = &sections->section[i];
    if (strcmp(section->name, OBS_SECTION) == 0) pooled = section->data;
    if (pooled && strcmp(section->name, OBS_EACH_SECTION) == 0)
      normalize_each_spread(pooled, pipeline->global_worlds, pipeline->shown, section->data);
  }
}

static int read_section(const Parent *parent, const CheckpointSection *section) {
  int64_t iteration;
  int code =
    checkpoint_read_section(parent->checkpoint, NULL, section->name, section->data, section->bytes, &iteration);
  if (code != CORE_USAGE) return code;
  if (is_network(section->name))
    return core_error_context(code, "net.width, net.depth and the rest of [net], and what is observed (env.task, "
                              "env.levels ...) must be the parent's");
  return core_error_context(code, "env.num and the levels must be the parent's; init.restore = weights takes its "
                            "networks only");
}

/* Initializes a section that the parent's learner lacks from the restored ones. */
static int make_section(Training *training, const Parent *parent, const CheckpointSection *section) {
  const Learner *learner = &training->learner;
  if (learner->kind->init_missing_section != NULL && learner->kind->init_missing_section(learner->state,
                                                                                         section->name)) return CORE_OK;
  return read_section(parent, section); /* reports that it is missing */
}

/* Restores the cells that the parent's states have reached, if it had the same levels, hence the same box. */
static int restore_coverage(Coverage *coverage, const Parent *parent) {
  int64_t iteration;
  bool there;
  TRY(checkpoint_has_section(parent->checkpoint, COVERAGE_SECTION, &there));
  if (!there) return CORE_OK;
  CoverageRecord *record = core_memory_allocate(sizeof *record);
  int code = checkpoint_read_section(parent->checkpoint, NULL, COVERAGE_SECTION, record, sizeof *record, &iteration);
  if (code == CORE_OK) code = coverage_resume_from(coverage, record);
  free(record);
  return code;
}

static int restore_all(Training *training, const Checkpoint *sections, const Parent *parent) {
  bool there[CHECKPOINT_SECTIONS_MAX];

  for (int i = 0; i < sections->sections; i++) {
    const CheckpointSection *section = &sections->section[i];
    there[i] = strcmp(section->name, "clock") == 0 || /* the time, and the bf16 methods, are the run's own */
               strcmp(section->name, TRAINING_BF16_SECTION) == 0 || strcmp(section->name, COVERAGE_SECTION) == 0 ||
               strcmp(section->name, TRAINING_EVALUATION_SECTION) == 0 ||
               strcmp(section->name, RUN_LOGS_SECTION) == 0 || strcmp(section->name, RUN_LOGS_INFO_SECTION) == 0;
    if (there[i] || (parent->moves_other && strcmp(section->name, DDR_CONTROL_SECTION) == 0)) continue;
    TRY(checkpoint_has_section(parent->checkpoint, section->name, &there[i]));
    if (there[i]) TRY(read_section(parent, section));
  }

  training->learner.kind->set_count(training->learner.state, &training->position.count);
  training_device_upload(training); /* the learner derives its sections from those on the device */
  for (int i = 0; i < sections->sections; i++)
    if (!there[i]) TRY(make_section(training, parent, &sections->section[i]));

  if (training->learner.kind->apply_schedule)
    training->learner.kind->apply_schedule(training->learner.state, training->position.iteration);
  training_device_download(training);
  training->learner.kind->get_count(training->learner.state, &training->position.count);
  return restore_coverage(&training->coverage, parent);
}

/* Restores the units of the parent's critic, if it normalizes values. */
static int restore_units(const Checkpoint *sections, const Parent *parent) {
  bool there;
  TRY(checkpoint_has_section(parent->checkpoint, RL_GAMES_VALUES_SECTION, &there));
  if (!there) return CORE_OK;
  for (int i = 0; i < sections->sections; i++)
    if (strcmp(sections->section[i].name, RL_GAMES_VALUES_SECTION) == 0)
      TRY(read_section(parent, &sections->section[i]));
  return CORE_OK;
}

static int restore_weights(Training *training, const Checkpoint *sections, const Parent *parent) {
  for (int i = 0; i < sections->sections; i++) {
    const CheckpointSection *section = &sections->section[i];
    if (is_network(section->name) || strcmp(section->name, OBS_SECTION) == 0) TRY(read_section(parent, section));
  }
  spread_moments(training, sections);
  training_device_upload(training);
  rollout_restored(&training->rollout);
  training->learner.kind->start(training->learner.state);
  TRY(restore_units(sections, parent)); /* cleared by start */
  training_device_download(training);
  training->learner.kind->get_count(training->learner.state, &training->position.count);
  return CORE_OK;
}

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/* Checks the iterations: the count continues, so they must be as long as the parent's, and some must be left. */
static int check_count(const Training *training, const CoreConfig *theirs, const Parent *parent) {
  int64_t there = core_config_transitions_per_iteration(theirs), here = training->plan.transitions_per_iteration;
  if (there != here)
    return core_error(CORE_USAGE, "an iteration has %" PRId64 " transitions there and %" PRId64 " here; env.num and "
                      "ppo.num_steps must be the parent's, or init.restore = weights", there, here);
  if (parent->iteration < training->plan.iterations) return CORE_OK;
  return core_error(CORE_USAGE, "it is at iteration %" PRId64 ", but train.total_steps allows %" PRId64 "; raise "
                    "train.total_steps, which counts from the parent's start", parent->iteration,
                    training->plan.iterations);
}

static bool same_levels(const CoreConfig *a, const CoreConfig *b) {
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.morphologies, b->env.morphologies) == 0 &&
         strcmp(a->env.difficulty, b->env.difficulty) == 0 && strcmp(a->env.levels, b->env.levels) == 0 &&
         a->env.level_count == b->env.level_count && strcmp(a->env.curriculum, b->env.curriculum) == 0 &&
         strcmp(a->env.size, b->env.size) == 0 && strcmp(a->env.reset, b->env.reset) == 0 &&
         strcmp(a->eval.levels, b->eval.levels) == 0;
}

static bool same_features(const Env *a, const Env *b) {
  if (a->observation_length != b->observation_length || a->whole_length != b->whole_length) return false;
  if (!a->features || !b->features) return a->features == b->features;
  return memcmp(a->features, b->features, (size_t)a->observation_length * sizeof *a->features) == 0;
}

/* Checks the features. Networks see only the features that some level has, so with other levels the same index may mean
 * another feature. */
static int check_features(const Training *training, const CoreConfig *theirs) {
  Env *env;
  if (same_levels(theirs, &training->config)) return CORE_OK;
  TRY(env_create(theirs, 1, 0, &env));
  bool same = same_features(env, training->levels);
  env_destroy(&env);
  return same ? CORE_OK
              : core_error(CORE_USAGE, "its levels have other features, so its networks have other inputs; "
                           "use levels of the same kind");
}

/* Checks a setting that would give weights of the same number to other networks. */
static int check_same(const char *key, const char *theirs, const char *ours) {
  if (strcmp(theirs, ours) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "its %s is %s, here it is %s", key, theirs, ours);
}

static const char *value_units(const CoreConfig *config, const char **key) {
  const bool is_sapg = strcmp(config->algo.name, "sapg") == 0;
  *key = is_sapg ? "sapg.normalize_value" : "ppo.normalize_value";
  return (is_sapg ? config->sapg.normalize_value : config->ppo.normalize_value) ? "yes" : "no";
}

/* Checks the networks' inputs, and the units of the critic. Units may be new: they start as those of rewards. */
static int check_units(const CoreConfig *theirs, const CoreConfig *ours, bool restores_all) {
  const char *seen = theirs->env.normalize_observations, *sees = ours->env.normalize_observations, *key;
  const bool was_normal = strcmp(seen, "none") != 0, is_normal = strcmp(sees, "none") != 0;
  const bool needs_each = restores_all && strcmp(sees, "cleanrl_each") == 0;
  const char *scaled = theirs->env.normalize_rewards, *scales = ours->env.normalize_rewards;
  if (was_normal != is_normal || needs_each) TRY(check_same("env.normalize_observations", seen, sees));
  if (restores_all && strcmp(scales, "none") != 0) TRY(check_same("env.normalize_rewards", scaled, scales));
  const char *spoke = value_units(theirs, &key), *speaks = value_units(ours, &key);
  return strcmp(spoke, "yes") == 0 ? check_same(key, spoke, speaks) : CORE_OK;
}

static int check_settings(const Training *training, Parent *parent, bool restores_all) {
  const CoreConfig *ours = &training->config;
  CoreConfig theirs = *ours;

  if (core_files_exists(parent->config)) {
    theirs = core_config_default();
    TRY(core_config_read(parent->config, &theirs));
  }

  if (core_config_has_no_envs(&theirs))
    return core_error(CORE_USAGE, "algo.name = %s has no networks", theirs.algo.name);
  if ((strcmp(theirs.algo.name, "pqn") == 0) != training->agent.is_q)
    return core_error(CORE_USAGE,
                      "its algo.name is %s, here it is %s, and pqn's network of Q values is neither actor nor "
                      "critic",
                      theirs.algo.name, ours->algo.name);

  TRY(check_same("net.memory", theirs.net.memory, ours->net.memory));
  TRY(check_same("net.activation", theirs.net.activation, ours->net.activation));
  TRY(check_same("net.trunk_activation", theirs.net.trunk_activation, ours->net.trunk_activation));
  TRY(check_features(training, &theirs));
  TRY(check_units(&theirs, ours, restores_all));
  parent->moves_other = ddr_control_kind(&theirs) != ddr_control_kind(ours);
  return restores_all ? check_count(training, &theirs, parent) : CORE_OK;
}

static int restore(Training *training, const Checkpoint *sections, const char *root, Parent *parent) {
  const CoreConfig *config = &training->config;
  bool restores_all = strcmp(config->init.restore, "all") == 0;
  TRY(find_parent(config, root, parent));
  TRY(check_settings(training, parent, restores_all));
  return restores_all ? restore_all(training, sections, parent) : restore_weights(training, sections, parent);
}

int inherit_restore(Training *training, const Checkpoint *sections, const char *root, char parent[INHERIT_PARENT]) {
  Parent found = {0};
  int code = restore(training, sections, root, &found);
  if (code != CORE_OK) return core_error_context(code, "init.from = %s", training->config.init.from);
  snprintf(parent, INHERIT_PARENT, "%s@%" PRId64, found.run, found.iteration);
  return CORE_OK;
}

/* ---- checks before the start ------------------------------------------------------------------------------------ */

/* Checks the networks' shapes; read_section would detect a mismatch too, once there is memory to read into. */
static int check_networks(const CoreConfig *ours, const Parent *parent) {
  CoreConfig theirs = core_config_default();
  CoreText value = {0}, other = {0};
  size_t count;
  int code = CORE_OK;
  const CoreConfigRow *row = core_config_rows(&count);
  if (!core_files_exists(parent->config)) return CORE_OK;
  TRY(core_config_read(parent->config, &theirs));

  for (const CoreConfigRow *end = row + count; row < end; row++) {
    if (code != CORE_OK) break;
    if (strcmp(row->section, "net") != 0 || strcmp(row->key, "norm") == 0) continue; /* auto resolves differently */
    if (core_config_is_read(ours, row) && !core_config_value_equals(&theirs, ours, row))
      code = check_same(row->name, core_config_get(&theirs, row, &other), core_config_get(ours, row, &value));
  }

  core_text_free(&value);
  core_text_free(&other);
  return code;
}

/* Whether the parent has a checkpoint yet. */
static bool is_there(const CoreOrigin *origin, const char *root) {
  Parent parent = {0};
  const bool there = find_run(origin, root, &parent) == CORE_OK;
  core_error_clear();
  return there;
}

static int check_parent(const Training *training, const char *root) {
  Parent parent = {0};
  TRY(find_parent(&training->config, root, &parent));
  TRY(check_networks(&training->config, &parent));
  return check_settings(training, &parent, strcmp(training->config.init.restore, "all") == 0);
}

int inherit_check(const Training *training, const char *root) {
  CoreOrigin origin;
  const char *from = training->config.init.from;
  if (!*from) return CORE_OK;
  TRY(core_origin_parse(from, &origin));
  if (origin.is_run && !is_there(&origin, root)) return CORE_OK;
  int code = check_parent(training, root);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "init.from = %s", from);
}
