/* Sends distinct configurations to the trainer (checker.h), looks parents up in the workspace's manifests, and reports
 * problems with their lines of the experiment file. */
#include "sweep/plan/check.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/code/code.h"
#include "store/workspace/run.h"
#include "sweep/plan/checker.h"
#include "sweep/plan/code.h"
#include "sweep/plan/gpu_fit.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

enum { PROBLEMS_MAX = 6 };

/* Distinct configuration: `run` is one of its `runs` in the grid. */
typedef struct Variant {
  size_t run, runs;
} Variant;

/* Message, one of its runs, and their number. */
typedef struct Problem {
  char *message;
  size_t run, runs;
} Problem;

typedef struct Check {
  const SweepCheckOptions *options;
  const SweepGrid *grid;
  Variant *variants;
  Problem *problems;
  char **warnings;
  size_t variant_count, problem_count, warning_count;
  bool has_parents; /* some run has a parent */
} Check;

static void add_problem(Check *check, const char *message, const Variant *variant) {
  for (size_t i = 0; i < check->problem_count; i++) {
    if (strcmp(check->problems[i].message, message) != 0) continue;
    check->problems[i].runs += variant->runs;
    return;
  }
  check->problems = core_memory_resize(check->problems, (check->problem_count + 1) * sizeof *check->problems);
  check->problems[check->problem_count++] = (Problem){core_text_duplicate(message), variant->run, variant->runs};
}

/* ---- distinct configurations ------------------------------------------------------------------------------------ */

/* Masks the parent's id, so that variants do not differ in it. Parents are checked per run. */
static void mask_parent(Check *check, CoreConfig *config) {
  CoreOrigin origin;
  if (!*config->init.from || core_origin_parse(config->init.from, &origin) != CORE_OK || !origin.is_run) return;
  check->has_parents = true;
  snprintf(config->init.from, sizeof config->init.from, "run:0000000000000000@%lld", (long long)origin.iteration);
}

static size_t resource_set(const Check *check, size_t run) {
  return check->options->resources ? sweep_resources_of_run(check->options->resources, check->grid, run) : 0;
}

/* Finds the variants of one resource set. In a full grid the runs of the first seed have all of them. */
static void find_variants_of_set(Check *check, size_t set) {
  const SweepGrid *grid = check->grid;
  SweepIdSet known = {0};
  char id[CORE_RUN_ID];
  CoreConfig config;
  const size_t first = check->variant_count;
  size_t index, capacity = first;

  for (size_t run = 0; run < grid->runs && (grid->is_part || grid->places[run] < grid->cells); run++) {
    if (resource_set(check, run) != set) continue;
    sweep_grid_config(grid, run, &config);
    if (config.program) continue; /* not run by the trainer */

    mask_parent(check, &config);
    core_config_start_id(&config, id);
    const bool is_new = sweep_id_set_add(&known, id, &index);
    index += first;
    if (is_new) {
      if (index == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        check->variants = core_memory_resize(check->variants, capacity * sizeof *check->variants);
      }
      check->variants[index] = (Variant){.run = run};
      check->variant_count = index + 1;
    }
    check->variants[index].runs += grid->is_part ? 1 : grid->spec->seed_count;
  }

  sweep_id_set_free(&known);
}

static void variant_config(void *context, size_t i, CoreConfig *config) {
  const Check *check = context;
  sweep_grid_config(check->grid, check->variants[i].run, config);
}

static const SlurmSettings *run_settings(const Check *check, size_t run) {
  return &check->options->resources->sets[resource_set(check, run)];
}

static SweepCheckMachine variant_machine(void *context, size_t i) {
  const Check *check = context;
  if (!check->options->resources) return (SweepCheckMachine){.ranks = 1};
  const SlurmSettings *settings = run_settings(check, check->variants[i].run);
  return (SweepCheckMachine){.ranks = settings->ranks_per_run, .has_gpus = settings->gpus_per_run > 0};
}

static SweepChecker make_checker(const SweepCheckOptions *options, Check *check) {
  /* A workspace that does not exist yet holds no files for relative paths, as little as /. */
  const char *workspace = core_files_exists(options->root) ? options->root : "/";
  return (SweepChecker){.root = options->root,
                        .directory = options->in_root ? workspace : NULL,
                        .is_remote = options->resources != NULL,
                        .seconds = options->seconds,
                        .config = variant_config,
                        .machine = variant_machine,
                        .context = check};
}

/* ---- memory on a cluster ---------------------------------------------------------------------------------------- */

/* Compares the memory of a run with its job's. bytes: per rank; bytes_here: memory of this machine. */
static void check_memory(Check *check, const Variant *variant, double bytes, double bytes_here) {
  const SlurmSettings *slurm = run_settings(check, variant->run);
  const double available = (double)slurm_settings_run_mem(slurm) * 1048576;
  char needed[32], limit[32], message[512];
  CoreConfig config;

  sweep_grid_config(check->grid, variant->run, &config);
  const double workers = sweep_workers_bytes(&config, slurm->ranks_per_run);
  const double required = (bytes * (double)slurm->ranks_per_run + workers) / (double)slurm->nodes;
  core_text_count(required, needed);

  if (available == 0 && required > bytes_here) {
    core_warn("%s: a run needs about %sB of memory, more than this machine has (%sB); set slurm.mem unless the "
              "partition's default is enough",
              check->grid->spec->ini.file, needed, core_text_count(bytes_here, limit));
    return;
  }
  if (available == 0 || required <= available) return;

  snprintf(message, sizeof message,
           "slurm.mem: a run needs about %sB of memory%s, but its job requests %sB; raise "
           "slurm.mem, or lower %senv.num or ppo.num_steps",
           needed, workers > 0 ? " with its Python processes" : "", core_text_count(available, limit),
           workers > 0 ? "env.workers, " : "");
  if (slurm->ranks_per_run == 1) add_problem(check, message, variant);
  else core_warn("%s: %s", check->grid->spec->ini.file, message);
}

/* Alternatives to one variant with 2, 4, 8 ... times the ranks, each with one GPU. */
typedef struct Larger {
  const Check *check;
  size_t run, count;
  int64_t ranks[16];
} Larger;

static void larger_config(void *context, size_t i, CoreConfig *config) {
  const Larger *larger = context;
  sweep_grid_config(larger->check->grid, larger->run, config);
}

static SweepCheckMachine larger_machine(void *context, size_t i) {
  const Larger *larger = context;
  return (SweepCheckMachine){.ranks = larger->ranks[i], .has_gpus = true};
}

/* Returns the number of GPUs, one per rank, on which the run would fit; 0: none up to 1024. */
static int64_t find_gpus(Check *check, size_t run) {
  enum { GPUS_MAX = 1024 };
  const SlurmSettings *settings = run_settings(check, run);
  Larger larger = {.check = check, .run = run};
  SweepCheckResult results[16] = {0};
  char problem[512];
  CoreConfig config, resolved;
  size_t answered;
  int64_t found = 0;
  sweep_grid_config(check->grid, run, &config);
  if (core_config_resolve(&config, &resolved) != CORE_OK) return 0;

  const double used = fmin(settings->gpus_per_run, (double)settings->ranks_per_run);
  for (int64_t n = settings->ranks_per_run; n <= GPUS_MAX; n *= 2)
    if (resolved.env.num % n == 0 && (double)n > used && larger.count < 16)
      larger.ranks[larger.count++] = n;

  SweepChecker checker = make_checker(check->options, check);
  checker.config = larger_config;
  checker.machine = larger_machine;
  checker.context = &larger;
  sweep_checker_run(&checker, larger.count, results, &answered, problem);

  for (size_t i = 0; i < answered; i++) {
    if (!found && results[i].answer == SWEEP_CHECK_OK && results[i].device_bytes <= sweep_gpu_bytes(settings))
      found = larger.ranks[i];
    free(results[i].message);
  }
  return found;
}

/* Prints a warning once. */
static void warn(Check *check, const char *message) {
  for (size_t i = 0; i < check->warning_count; i++)
    if (strcmp(check->warnings[i], message) == 0) return;
  check->warnings = core_memory_resize(check->warnings, (check->warning_count + 1) * sizeof *check->warnings);
  check->warnings[check->warning_count++] = core_text_duplicate(message);
  core_warn("%s: %s", check->grid->spec->ini.file, message);
}

static void check_gpus(Check *check, const Variant *variant, double device_bytes) {
  CoreText message = {0};
  CoreConfig config;
  sweep_grid_config(check->grid, variant->run, &config);
  const SweepGpuFit fit = sweep_gpu_fit(run_settings(check, variant->run), &config, device_bytes, &message);

  if (fit == SWEEP_GPU_TOO_SMALL) {
    const int64_t gpus = find_gpus(check, variant->run);
    if (gpus > 0)
      core_text_appendf(&message, "; slurm.gpus_per_run = %lld and slurm.ranks_per_run = %lld are enough",
                        (long long)gpus, (long long)gpus);
    else core_text_append(&message, "; lower env.num or ppo.num_steps");
    add_problem(check, core_text_string(&message), variant);
  } else if (fit != SWEEP_GPU_FITS) {
    warn(check, core_text_string(&message));
  }
  core_text_free(&message);
}

/* Warns of features that are too wide for their rank: the trainer's time for it grows with the cube of the width. */
static void check_feature_ranks(Check *check, const Variant *variant) {
  CoreConfig config;
  char message[256];
  int width[CORE_CONFIG_LAYERS_MAX];
  sweep_grid_config(check->grid, variant->run, &config);
  if (config.program || core_config_has_no_envs(&config)) return;
  int layers = core_config_tower_widths(&config, width);
  if (layers == 0 && strcmp(config.net.sharing, "shared") == 0) layers = core_config_trunk_widths(&config, width);
  if (layers == 0 || width[layers - 1] <= CORE_CONFIG_RANKED_WIDTH_MAX) return;
  snprintf(message, sizeof message, "the last hidden layer has %d units; feature ranks are measured up to %d and will "
           "be missing", width[layers - 1], CORE_CONFIG_RANKED_WIDTH_MAX);
  warn(check, message);
}

/* Warns of minibatches that ranks pad by more than a quarter. */
static void check_padding(Check *check, const Variant *variant) {
  CoreConfig config, resolved;
  char message[256];
  sweep_grid_config(check->grid, variant->run, &config);
  if (config.program || core_config_has_no_envs(&config) || core_config_resolve(&config, &resolved) != CORE_OK) return;
  const double padding = sweep_gpu_padding(run_settings(check, variant->run), &resolved);
  if (padding <= 1.25) return;
  const char *form = sweep_has_slices(&resolved)
                       ? "ppo.shuffle = none: few of the %lld ranks have environments of a minibatch, which takes %.3g "
                         "times as long as equal shares; set ppo.shuffle = blocks, or slurm.ranks_per_run = 1"
                       : "each of %lld ranks would compute %.3g times its rows of a minibatch, whose number is random; "
                         "set ppo.shuffle = blocks and a multiple of ppo.num_minibatches environments per rank";
  snprintf(message, sizeof message, form, (long long)run_settings(check, variant->run)->ranks_per_run, padding);
  warn(check, message);
}

static void add_result(Check *check, const Variant *variant, SweepCheckResult *result) {
  check_feature_ranks(check, variant);
  if (result->message) add_problem(check, result->message, variant);
  else if (check->options->resources) {
    check_memory(check, variant, result->bytes, result->bytes_here);
    check_gpus(check, variant, result->device_bytes);
    check_padding(check, variant);
  }
  free(result->message);
}

/* ---- parents ---------------------------------------------------------------------------------------------------- */

/* Whether the parent has finished without the checkpoint, so that it will never exist. */
static bool lacks_checkpoint(const char *root, const CoreOrigin *origin) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  StoreState state;
  if (origin->iteration < 0 || store_run_state_read(root, origin->run, true, &state) != CORE_OK ||
      state.status != STORE_FINISHED || store_path_run(root, origin->run, "ckpt", directory) != CORE_OK ||
      core_files_path(path, "%s/iteration-%012lld.ckpt", directory, (long long)origin->iteration) != CORE_OK)
    return false;
  return !core_files_exists(path);
}

/* Whether the run begins from an iteration that its parent in this grid, or the run itself, never reaches. */
static bool is_out_of_reach(const SweepGrid *grid, const CoreConfig *config, const CoreOrigin *origin, size_t parent,
                            CoreText *message) {
  CoreConfig parent_config;
  const int64_t iterations = core_config_iterations(config);

  if (strcmp(config->init.restore, "all") == 0 && origin->iteration >= iterations) {
    core_text_appendf(message,
                      "init.from = run:...@%lld: this run resumes from there and ends after iteration %lld; "
                      "raise train.total_steps",
                      (long long)origin->iteration, (long long)iterations);
    return true;
  }

  if (parent >= grid->runs || strcmp(grid->ids[parent], origin->run) != 0) return false;
  sweep_grid_config(grid, parent, &parent_config);
  const int64_t last = core_config_iterations(&parent_config);
  if (origin->iteration > last)
    core_text_appendf(message,
                      "init.from = run:...@%lld: its parent in this sweep ends after iteration %lld; name an "
                      "earlier iteration, or raise the parent's train.total_steps",
                      (long long)origin->iteration, (long long)last);
  return origin->iteration > last;
}

static void check_parent(Check *check, const SweepIdSet *known, size_t run) {
  CoreConfig config;
  CoreOrigin origin;
  char path[CORE_PATH_MAX];
  const char *root = check->options->root;
  size_t parent = check->grid->runs;
  CoreText message = {0};

  sweep_grid_config(check->grid, run, &config);
  if (core_origin_parse(config.init.from, &origin) != CORE_OK || !origin.is_run || !*config.init.from) return;

  if (sweep_id_set_find(known, origin.run, &parent)) { /* runs of the grid come first */
    is_out_of_reach(check->grid, &config, &origin, parent, &message);
  } else if (store_path_run(root, origin.run, "config.ini", path) != CORE_OK) {
    return;
  } else if (!core_files_exists(path)) {
    core_text_appendf(&message,
                      "init.from = %.200s: neither this sweep nor the workspace has run %s; submit its "
                      "sweep first, or name it by its settings: run:{ppo.com=8}",
                      config.init.from, origin.run);
  } else if (lacks_checkpoint(root, &origin)) {
    core_text_appendf(&message,
                      "init.from = %.200s: that run has finished without a checkpoint of iteration "
                      "%lld (checkpoint.keep, checkpoint.every_iterations)",
                      config.init.from, (long long)origin.iteration);
  } else {
    is_out_of_reach(check->grid, &config, &origin, check->grid->runs, &message);
  }

  if (message.length) add_problem(check, core_text_string(&message), &(Variant){run, 1});
  core_text_free(&message);
}

static int check_parents(Check *check) {
  SweepIdSet known = {0};
  if (!check->has_parents) return CORE_OK;
  sweep_id_set_add_all(&known, (const char(*)[CORE_RUN_ID])check->grid->ids, check->grid->runs);
  int code = sweep_manifest_add_ids(check->options->root, NULL, &known);
  if (code == CORE_OK) {
    for (size_t run = 0; run < check->grid->runs; run++) check_parent(check, &known, run);
  }
  sweep_id_set_free(&known);
  return code;
}

/* ---- a user's program -------------------------------------------------------------------------------------------- */

static int check_program(Check *check) {
  CoreText problem = {0};
  if (check->grid->spec->is_code_unknown)
    warn(check, "no code of the program is known, so that an edit of it makes no new runs; list its files: "
                "[program] code = FILES, or code = none");
  const int code = sweep_program_check(check->options->root, check->grid, check->options->resources != NULL, &problem);
  if (problem.length > 0) add_problem(check, problem.data, &(Variant){0, check->grid->runs});
  core_text_free(&problem);
  return code;
}

/* ---- location -------------------------------------------------------------------------------------------------- */

static const SweepValueList *find_list(const SweepPart *part, const char *name) {
  for (size_t a = 0; a < part->axis_count; a++)
    for (size_t i = 0; i < part->axes[a].list_count; i++)
      if (strcmp(part->axes[a].lists[i].row->name, name) == 0) return &part->axes[a].lists[i];
  return NULL;
}

/* Whether the line sets the setting, in its section or in the selected profile. */
static bool sets_name(const SweepSpec *spec, const CoreIniEntry *entry, const char *name) {
  const size_t section = strcspn(name, ".");
  if (!entry->key) return false;
  if (strncmp(entry->section, name, section) == 0 && !entry->section[section] && name[section] == '.')
    return strcmp(entry->key, name + section + 1) == 0;
  return spec->profile[0] && strncmp(entry->section, "profile ", 8) == 0 &&
         strcmp(entry->section + 8, spec->profile) == 0 && strcmp(entry->key, name) == 0;
}

/* Appends the line that sets `name` for these runs, "file:line:column: " or "--set pair: ". false: none does. */
static bool append_setting_location(const SweepSpec *spec, const SweepPart *part, const char *name, CoreText *text) {
  const SweepValueList *list = find_list(part, name);
  const CoreIniEntry *found = list ? list->entry : NULL;
  for (size_t i = 0; i < spec->set_count && !found; i++) {
    const size_t length = strcspn(spec->sets[i], "=");
    if (strlen(name) != length || strncmp(spec->sets[i], name, length) != 0) continue;
    core_text_appendf(text, "--set %s: ", spec->sets[i]);
    return true;
  }
  for (size_t i = 0; i < spec->ini.count && !list; i++)
    if (sets_name(spec, &spec->ini.entries[i], name))
      found = &spec->ini.entries[i]; /* the last one applies: the profile's */
  if (found) core_text_appendf(text, "%s:%d:%d: ", spec->ini.file, found->line, found->column);
  return found != NULL;
}

/* Appends the location of the first setting that the message names and that the experiment sets; otherwise that of the
 * block or the file. */
static void append_location(const SweepSpec *spec, const SweepPart *part, const char *message, CoreText *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  char name[64];
  for (const char *c = message; *c; c += strspn(c, letters), c += strcspn(c, letters)) {
    size_t length = strspn(c, letters);
    while (length > 0 && c[length - 1] == '.') length--;
    if (length == 0 || length >= sizeof name) continue;
    memcpy(name, c, length);
    name[length] = '\0';
    if (strchr(name, '.') && append_setting_location(spec, part, name, text)) return;
  }
  if (part->block) core_text_appendf(text, "%s:%d: ", spec->ini.file, part->block->entry->line);
  else core_text_appendf(text, "%s: ", spec->ini.file);
}

static void append_problem(const Check *check, const Problem *problem, CoreText *text) {
  const SweepGrid *grid = check->grid;
  append_location(grid->spec, sweep_grid_part(grid, problem->run), problem->message, text);
  core_text_append(text, problem->message);
  if (problem->runs >= grid->runs) {
    core_text_append(text, grid->runs == 1 ? " (the only run)" : " (all runs)");
    return;
  }
  core_text_appendf(text, " (%zu of the %zu runs: ", problem->runs, grid->runs);
  sweep_grid_describe(grid, problem->run, text);
  core_text_append(text, problem->runs > 1 ? " ...)" : ")");
}

static int report_problems(const Check *check) {
  CoreText text = {0};
  if (check->problem_count == 0) return CORE_OK;
  if (check->problem_count > 1) core_text_append(&text, "these runs would fail at their start:\n");
  for (size_t i = 0; i < check->problem_count && i < PROBLEMS_MAX; i++) {
    if (i > 0) core_text_append(&text, "\n");
    append_problem(check, &check->problems[i], &text);
  }
  if (check->problem_count > PROBLEMS_MAX)
    core_text_appendf(&text, "\nand %zu more kinds of problem", check->problem_count - PROBLEMS_MAX);
  const int code = core_error(CORE_USAGE, "%s", core_text_string(&text));
  core_text_free(&text);
  return code;
}

/* ---- grid ------------------------------------------------------------------------------------------------------- */

int sweep_check_grid(const SweepCheckOptions *options, const SweepGrid *grid, SweepCheckSummary *checked) {
  Check check = {.options = options, .grid = grid};
  CoreText warnings = {0};
  SweepChecker checker = make_checker(options, &check);
  checker.warnings = &warnings;
  *checked = (SweepCheckSummary){0};
  TRY(sweep_code_check_trust(grid, false)); /* the trainer would load untrusted code */

  const size_t sets = check.options->resources ? check.options->resources->count : 1;
  for (size_t set = 0; set < sets; set++) find_variants_of_set(&check, set);
  SweepCheckResult *results = core_memory_zero_allocate(check.variant_count + 1, sizeof *results);
  checked->distinct = check.variant_count;
  sweep_checker_run(&checker, check.variant_count, results, &checked->checked, checked->problem);
  for (size_t i = 0; i < checked->checked; i++) add_result(&check, &check.variants[i], &results[i]);
  for (char *tail = warnings.data, *line; (line = strsep(&tail, "\n"));)
    if (*line) core_warn("%s: %s", grid->spec->ini.file, line);

  int code = check_parents(&check);
  if (code == CORE_OK) code = check_program(&check);
  if (code == CORE_OK) code = report_problems(&check);

  for (size_t i = 0; i < check.problem_count; i++) free(check.problems[i].message);
  for (size_t i = 0; i < check.warning_count; i++) free(check.warnings[i]);
  free(check.warnings);
  free(check.problems);
  free(check.variants);
  free(results);
  core_text_free(&warnings);
  return code;
}

static const double WORKER_BYTES = 25e6; /* measured: 25 MB not shared with others, 40 MB with them */

static int64_t min_int(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t sweep_workers_count(const CoreConfig *config) {
  if (!store_code_needs_python(config->env.task)) return 0;
  const int64_t workers = min_int(config->env.workers, config->env.num);
  return 1 + workers + (config->eval.count > 0 ? min_int(workers, config->eval.episodes) : 0);
}

double sweep_workers_bytes(const CoreConfig *config, int64_t ranks) {
  return (double)(ranks * sweep_workers_count(config)) * WORKER_BYTES;
}

void sweep_workers_describe(const CoreConfig *config, const SlurmSettings *slurm, CoreText *text) {
  const int64_t count = sweep_workers_count(config), ranks = slurm ? slurm->ranks_per_run : 1;
  char bytes[32];
  if (count == 0) return;
  core_text_appendf(text, "%lld Python processes per %s: at least %sB of memory, without the trainer", (long long)count,
                    ranks > 1 ? "rank" : "run", core_text_count(sweep_workers_bytes(config, 1), bytes));
  if (slurm && config->env.workers > slurm->cpus_per_run)
    core_text_appendf(text, "; %lld of them step at once, and slurm.cpus_per_run = %lld",
                      (long long)config->env.workers, (long long)slurm->cpus_per_run);
}
