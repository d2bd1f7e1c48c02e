/* Distinct configurations to the trainer (checker.h), parents by the workspace's manifests, and the faults in words
 * that point into the experiment file. */
#include "sweep/plan/check.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/origin.h"
#include "core/config/script.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "store/workspace/run.h"
#include "sweep/plan/checker.h"
#include "sweep/plan/code.h"
#include "sweep/plan/gpu_fit.h"
#include "sweep/plan/workers.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

enum { FAULTS_SHOWN = 6 };

/* One kind of configuration: `run` stands for `runs` of the grid. */
typedef struct Shape { size_t run, runs; } Shape;

/* A message, and whom it concerns. */
typedef struct Fault {
  char *message;
  size_t run, runs;
} Fault;

typedef struct Look {
  const SweepCheck *check;
  const SweepGrid *grid;
  Shape *shapes;
  Fault *faults;
  char **warnings;
  size_t shape_count, fault_count, warning_count;
  bool has_parents;           /* some run begins from another one */
} Look;

static void add_fault(Look *look, const char *message, const Shape *shape) {
  for (size_t i = 0; i < look->fault_count; i++) {
    if (strcmp(look->faults[i].message, message) != 0) continue;
    look->faults[i].runs += shape->runs;
    return;
  }
  look->faults = core_memory_resize(look->faults, (look->fault_count + 1) * sizeof *look->faults);
  look->faults[look->fault_count++] = (Fault){core_text_duplicate(message), shape->run, shape->runs};
}

/* ---- distinct configurations ------------------------------------------------------------------------------------ */

/* Another parent's id is no other shape: whether it is there is looked up for each run. */
static void blur_parent(Look *look, CoreConfig *config) {
  CoreOrigin origin;
  if (!*config->init.from || core_origin_parse(config->init.from, &origin) != CORE_OK || !origin.is_run) return;
  look->has_parents = true;
  snprintf(config->init.from, sizeof config->init.from, "run:0000000000000000@%lld", (long long)origin.iteration);
}

static size_t set_of(const Look *look, size_t run) {
  return look->check->resources ? sweep_resources_of_run(look->check->resources, look->grid, run) : 0;
}

/* Finds the shapes of one resource set. A whole grid has them all among the first seed's runs. */
static void find_shapes_of_set(Look *look, size_t set) {
  const SweepGrid *grid = look->grid;
  SweepIdSet known = {0};
  char id[CORE_RUN_ID];
  CoreConfig config;
  const size_t first = look->shape_count;
  size_t place, capacity = first;
  for (size_t run = 0; run < grid->runs && (grid->is_part || grid->places[run] < grid->cells); run++) {
    if (set_of(look, run) != set) continue;
    sweep_grid_config(grid, run, &config);
    if (config.program) continue; /* the trainer knows nothing of it */
    blur_parent(look, &config);
    core_config_start_id(&config, id);
    const bool is_new = sweep_id_set_add(&known, id, &place);
    place += first;
    if (is_new) {
      if (place == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        look->shapes = core_memory_resize(look->shapes, capacity * sizeof *look->shapes);
      }
      look->shapes[place] = (Shape){.run = run};
      look->shape_count = place + 1;
    }
    look->shapes[place].runs += grid->is_part ? 1 : grid->spec->seed_count;
  }
  sweep_id_set_free(&known);
}

static void find_shapes(Look *look) {
  const size_t sets = look->check->resources ? look->check->resources->count : 1;
  for (size_t set = 0; set < sets; set++) find_shapes_of_set(look, set);
}

static void config_of_shape(void *context, size_t i, CoreConfig *config) {
  const Look *look = context;
  sweep_grid_config(look->grid, look->shapes[i].run, config);
}

static const SlurmSettings *settings_of(const Look *look, size_t run) {
  return &look->check->resources->sets[set_of(look, run)];
}

static SweepCheckPlace place_of_shape(void *context, size_t i) {
  const Look *look = context;
  if (!look->check->resources) return (SweepCheckPlace){.ranks = 1};
  const SlurmSettings *settings = settings_of(look, look->shapes[i].run);
  return (SweepCheckPlace){.ranks = settings->ranks_per_run, .has_gpus = settings->gpus_per_run > 0};
}

static SweepChecker make_checker(const SweepCheck *check, Look *look) {
  return (SweepChecker){.root = check->root, .folder = check->in_root ? check->root : NULL,
                        .elsewhere = check->resources != NULL, .seconds = check->seconds, .config = config_of_shape,
                        .place = place_of_shape, .context = look};
}

/* ---- memory on a cluster ---------------------------------------------------------------------------------------- */

/* The job's memory, where it says how much. bytes: of a rank. */
static void judge_memory(Look *look, const Shape *shape, double bytes, double bytes_here) {
  const SlurmSettings *slurm = settings_of(look, shape->run);
  const double has = (double)slurm_settings_run_mem(slurm) * 1048576;
  char needed[32], given[32], message[512];
  CoreConfig config;
  sweep_grid_config(look->grid, shape->run, &config);
  const double workers = sweep_workers_bytes(&config, slurm->ranks_per_run);
  const double needs = (bytes * (double)slurm->ranks_per_run + workers) / (double)slurm->nodes;
  core_text_count(needs, needed);
  if (has == 0 && needs > bytes_here) {
    core_warn("%s: a run takes about %sB of memory, more than this machine has (%sB); slurm.mem is not set, so nobody "
              "knows here whether the partition's default is enough", look->grid->spec->ini.file, needed,
              core_text_count(bytes_here, given));
    return;
  }
  if (has == 0 || needs <= has) return;
  snprintf(message, sizeof message, "slurm.mem: a run takes about %sB of memory%s and its job asks for %sB; raise "
           "slurm.mem, or lower %senv.num or ppo.num_steps", needed, workers > 0 ? " with its Python processes" : "",
           core_text_count(has, given), workers > 0 ? "env.workers, " : "");
  if (slurm->ranks_per_run == 1) add_fault(look, message, shape);
  else core_warn("%s: %s", look->grid->spec->ini.file, message);
}

/* Plans of one shape with 2, 4, 8 ... times as many ranks, a GPU each. */
typedef struct Larger {
  const Look *look;
  size_t run, count;
  int64_t ranks[16];
} Larger;

static void config_of_larger(void *context, size_t i, CoreConfig *config) {
  const Larger *larger = context;
  sweep_grid_config(larger->look->grid, larger->run, config);
}

static SweepCheckPlace place_of_larger(void *context, size_t i) {
  const Larger *larger = context;
  return (SweepCheckPlace){.ranks = larger->ranks[i], .has_gpus = true};
}

/* Returns the number of GPUs, one a rank, on which the shape would fit; 0: none up to 1024. */
static int64_t find_gpus(Look *look, size_t run) {
  enum { GPUS_MAX = 1024 };
  const SlurmSettings *settings = settings_of(look, run);
  Larger larger = {.look = look, .run = run};
  SweepVerdict verdicts[16] = {0};
  char problem[512];
  CoreConfig config, resolved;
  size_t answered;
  int64_t found = 0;
  sweep_grid_config(look->grid, run, &config);
  if (core_config_resolve(&config, &resolved) != CORE_OK) return 0;
  for (int64_t n = settings->ranks_per_run; n <= GPUS_MAX; n *= 2)
    if (resolved.env.num % n == 0 && (double)n > settings->gpus_per_run && larger.count < 16)
      larger.ranks[larger.count++] = n;
  SweepChecker checker = make_checker(look->check, look);
  checker.config = config_of_larger, checker.place = place_of_larger, checker.context = &larger;
  sweep_checker_run(&checker, larger.count, verdicts, &answered, problem);
  for (size_t i = 0; i < answered; i++) {
    if (!found && verdicts[i].answer == SWEEP_STARTS && verdicts[i].device_bytes <= sweep_gpu_bytes(settings))
      found = larger.ranks[i];
    free(verdicts[i].message);
  }
  return found;
}

/* Warnings are given once for equal words. */
static void warn(Look *look, const char *message) {
  for (size_t i = 0; i < look->warning_count; i++)
    if (strcmp(look->warnings[i], message) == 0) return;
  look->warnings = core_memory_resize(look->warnings, (look->warning_count + 1) * sizeof *look->warnings);
  look->warnings[look->warning_count++] = core_text_duplicate(message);
  core_warn("%s: %s", look->grid->spec->ini.file, message);
}

static void judge_gpus(Look *look, const Shape *shape, double device_bytes) {
  CoreText message = {0};
  CoreConfig config;
  sweep_grid_config(look->grid, shape->run, &config);
  const SweepGpuFit fit = sweep_gpu_fit(settings_of(look, shape->run), &config, device_bytes, &message);
  if (fit == SWEEP_GPU_TOO_SMALL) {
    const int64_t gpus = find_gpus(look, shape->run);
    if (gpus > 0)
      core_text_appendf(&message, "; slurm.gpus_per_run = %lld and slurm.ranks_per_run = %lld would do",
                        (long long)gpus, (long long)gpus);
    else core_text_append(&message, "; lower env.num or ppo.num_steps");
    add_fault(look, core_text_string(&message), shape);
  } else if (fit != SWEEP_GPU_FITS) {
    warn(look, core_text_string(&message));
  }
  core_text_free(&message);
}

static void take_verdict(Look *look, const Shape *shape, SweepVerdict *verdict) {
  if (verdict->message) add_fault(look, verdict->message, shape);
  else if (look->check->resources) {
    judge_memory(look, shape, verdict->bytes, verdict->bytes_here);
    judge_gpus(look, shape, verdict->device_bytes);
  }
  free(verdict->message);
}

/* ---- parents ---------------------------------------------------------------------------------------------------- */

/* Of a run that has ended: it will not make the checkpoint any more. */
static bool has_missed(const char *root, const CoreOrigin *origin) {
  char folder[CORE_PATH_MAX], path[CORE_PATH_MAX];
  StoreState state;
  if (origin->iteration < 0 || store_run_state_read(root, origin->run, true, &state) != CORE_OK ||
      state.status != STORE_FINISHED || store_path_run(root, origin->run, "ckpt", folder) != CORE_OK ||
      core_files_path(path, "%s/iteration-%012lld.ckpt", folder, (long long)origin->iteration) != CORE_OK)
    return false;
  return !core_files_exists(path);
}

/* Does the run begin from an iteration that its parent in this grid, or the run itself, never comes to? */
static bool is_beyond(const SweepGrid *grid, const CoreConfig *config, const CoreOrigin *origin, size_t parent,
                      CoreText *message) {
  CoreConfig theirs;
  const int64_t own = core_config_iterations(config);
  if (strcmp(config->init.restore, "all") == 0 && origin->iteration >= own) {
    core_text_appendf(message, "init.from = run:...@%lld: this run goes on from there and ends after iteration %lld; "
                      "set train.total_steps to more", (long long)origin->iteration, (long long)own);
    return true;
  }
  if (parent >= grid->runs || strcmp(grid->ids[parent], origin->run) != 0) return false;
  sweep_grid_config(grid, parent, &theirs);
  const int64_t last = core_config_iterations(&theirs);
  if (origin->iteration > last)
    core_text_appendf(message, "init.from = run:...@%lld: that run of this sweep ends after iteration %lld; name an "
                      "earlier one, or set its train.total_steps to more", (long long)origin->iteration,
                      (long long)last);
  return origin->iteration > last;
}

static void look_at_parent(Look *look, const SweepIdSet *known, size_t run) {
  CoreConfig config;
  CoreOrigin origin;
  char path[CORE_PATH_MAX];
  const char *root = look->check->root;
  size_t parent = look->grid->runs;
  CoreText message = {0};
  sweep_grid_config(look->grid, run, &config);
  if (core_origin_parse(config.init.from, &origin) != CORE_OK || !origin.is_run || !*config.init.from) return;
  if (sweep_id_set_find(known, origin.run, &parent)) { /* the grid's come first */
    is_beyond(look->grid, &config, &origin, parent, &message);
  } else if (store_path_run(root, origin.run, "config.ini", path) != CORE_OK) {
    return;
  } else if (!core_files_exists(path)) {
    core_text_appendf(&message, "init.from = %.200s: neither this sweep nor the workspace has a run %s; submit its "
                      "sweep first, or name it by what it differs in, as run:{ppo.com=8}", config.init.from,
                      origin.run);
  } else if (has_missed(root, &origin)) {
    core_text_appendf(&message, "init.from = %.200s: that run is finished and has kept no checkpoint of iteration "
                      "%lld (checkpoint.keep, checkpoint.every_iterations)", config.init.from,
                      (long long)origin.iteration);
  } else {
    is_beyond(look->grid, &config, &origin, look->grid->runs, &message);
  }
  if (message.length) add_fault(look, core_text_string(&message), &(Shape){run, 1});
  core_text_free(&message);
}

static int look_at_parents(Look *look) {
  SweepIdSet known = {0};
  if (!look->has_parents) return CORE_OK;
  sweep_id_set_add_all(&known, (const char(*)[CORE_RUN_ID])look->grid->ids, look->grid->runs);
  int code = sweep_manifest_add_ids(look->check->root, NULL, &known);
  for (size_t run = 0; run < look->grid->runs && code == CORE_OK; run++) look_at_parent(look, &known, run);
  sweep_id_set_free(&known);
  return code;
}

/* ---- a user's program -------------------------------------------------------------------------------------------- */

/* Whether the first word of the command can be executed. `setup` may change PATH, and compute nodes have another. */
static int look_at_program(Look *look) {
  const CoreScript *program = look->grid->spec->base.program;
  char folder[CORE_PATH_MAX], path[CORE_PATH_MAX], **words;
  size_t count;
  if (!program || look->check->resources || *core_script_text(program, CORE_SCRIPT_setup)) return CORE_OK;
  TRY(core_script_directory(program, folder));
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_command), NULL, &words, &count));
  const bool is_path = strchr(words[0], '/') != NULL, is_whole = words[0][0] == '/';
  int code = core_files_path(path, "%s%s%s", is_whole ? "" : folder, is_whole ? "" : "/", words[0]);
  if (code == CORE_OK && !(is_path ? access(path, X_OK) == 0 : core_process_exists(words[0]))) {
    CoreText message = {0};
    core_text_appendf(&message, "program.command: there is no program %.200s%s; correct its name, PATH or setup",
                      is_path ? path : words[0], is_path ? "" : " in PATH");
    add_fault(look, core_text_string(&message), &(Shape){0, look->grid->runs});
    core_text_free(&message);
  }
  core_script_argv_free(&words);
  return code;
}

/* ---- where it stands -------------------------------------------------------------------------------------------- */

static const SweepValueList *find_list(const SweepPart *part, const char *name) {
  for (size_t a = 0; a < part->axis_count; a++)
    for (size_t i = 0; i < part->axes[a].list_count; i++)
      if (strcmp(part->axes[a].lists[i].row->name, name) == 0) return &part->axes[a].lists[i];
  return NULL;
}

/* Does the line set it, in its section or in the profile that was taken? */
static bool sets(const SweepSpec *spec, const CoreIniEntry *entry, const char *name) {
  const size_t section = strcspn(name, ".");
  if (!entry->key) return false;
  if (strncmp(entry->section, name, section) == 0 && !entry->section[section] && name[section] == '.')
    return strcmp(entry->key, name + section + 1) == 0;
  return spec->profile[0] && strncmp(entry->section, "profile ", 8) == 0 &&
         strcmp(entry->section + 8, spec->profile) == 0 && strcmp(entry->key, name) == 0;
}

/* The line that gives `name` its value in this run, as "file:line:column: " or "--set pair: "; false: none does. */
static bool append_place_of(const SweepSpec *spec, const SweepPart *part, const char *name, CoreText *text) {
  const SweepValueList *list = find_list(part, name);
  const CoreIniEntry *found = list ? list->entry : NULL;
  for (size_t i = 0; i < spec->set_count && !found; i++) {
    const size_t length = strcspn(spec->sets[i], "=");
    if (strlen(name) != length || strncmp(spec->sets[i], name, length) != 0) continue;
    core_text_appendf(text, "--set %s: ", spec->sets[i]);
    return true;
  }
  for (size_t i = 0; i < spec->ini.count && !list; i++)
    if (sets(spec, &spec->ini.entries[i], name)) found = &spec->ini.entries[i]; /* the last counts: the profile's */
  if (found) core_text_appendf(text, "%s:%d:%d: ", spec->ini.file, found->line, found->column);
  return found != NULL;
}

/* Of the first setting that the message names and that the experiment sets; else of the block, or the file. */
static void append_place(const SweepSpec *spec, const SweepPart *part, const char *message, CoreText *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  char name[64];
  for (const char *c = message; *c; c += strspn(c, letters), c += strcspn(c, letters)) {
    size_t length = strspn(c, letters);
    while (length > 0 && c[length - 1] == '.') length--;
    if (length == 0 || length >= sizeof name) continue;
    memcpy(name, c, length);
    name[length] = '\0';
    if (strchr(name, '.') && append_place_of(spec, part, name, text)) return;
  }
  if (part->block) core_text_appendf(text, "%s:%d: ", spec->ini.file, part->block->entry->line);
  else core_text_appendf(text, "%s: ", spec->ini.file);
}

static void append_fault(const Look *look, const Fault *fault, CoreText *text) {
  const SweepGrid *grid = look->grid;
  append_place(grid->spec, sweep_grid_part(grid, fault->run), fault->message, text);
  core_text_append(text, fault->message);
  if (fault->runs >= grid->runs) {
    core_text_append(text, grid->runs == 1 ? " (the only run)" : " (all runs)");
    return;
  }
  core_text_appendf(text, " (%zu of the %zu runs: ", fault->runs, grid->runs);
  sweep_grid_describe(grid, fault->run, text);
  core_text_append(text, fault->runs > 1 ? " ...)" : ")");
}

static int say(const Look *look) {
  CoreText text = {0};
  if (look->fault_count == 0) return CORE_OK;
  if (look->fault_count > 1) core_text_append(&text, "these runs would end at their start:\n");
  for (size_t i = 0; i < look->fault_count && i < FAULTS_SHOWN; i++) {
    if (i > 0) core_text_append(&text, "\n");
    append_fault(look, &look->faults[i], &text);
  }
  if (look->fault_count > FAULTS_SHOWN)
    core_text_appendf(&text, "\nand %zu more kinds of fault", look->fault_count - FAULTS_SHOWN);
  const int code = core_error(CORE_USAGE, "%s", core_text_string(&text));
  core_text_free(&text);
  return code;
}

static void warn_of(const char *file, CoreText *remarks) {
  for (char *rest = remarks->data, *line; (line = strsep(&rest, "\n"));)
    if (*line) core_warn("%s: %s", file, line);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

int sweep_check_grid(const SweepCheck *check, const SweepGrid *grid, SweepChecked *checked) {
  Look look = {.check = check, .grid = grid};
  CoreText remarks = {0};
  SweepChecker checker = make_checker(check, &look);
  checker.remarks = &remarks;
  *checked = (SweepChecked){0};
  TRY(sweep_code_check_trust(grid, false)); /* the trainer would open it */
  find_shapes(&look);
  SweepVerdict *verdicts = core_memory_zero_allocate(look.shape_count + 1, sizeof *verdicts);
  checked->distinct = look.shape_count;
  sweep_checker_run(&checker, look.shape_count, verdicts, &checked->checked, checked->problem);
  for (size_t i = 0; i < checked->checked; i++) take_verdict(&look, &look.shapes[i], &verdicts[i]);
  warn_of(grid->spec->ini.file, &remarks);
  int code = look_at_parents(&look);
  if (code == CORE_OK) code = look_at_program(&look);
  if (code == CORE_OK) code = say(&look);
  for (size_t i = 0; i < look.fault_count; i++) free(look.faults[i].message);
  for (size_t i = 0; i < look.warning_count; i++) free(look.warnings[i]);
  free(look.warnings);
  free(look.faults);
  free(look.shapes);
  free(verdicts);
  core_text_free(&remarks);
  return code;
}
