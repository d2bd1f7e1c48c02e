/* Prints a plan as tables and as JSON. plan.c computes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "sweep/plan/check.h"
#include "sweep/plan/plan.h"
#include "sweep/plan/searches.h"
#include "sweep/spec/id_set.h"

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Appends "8, 16, 32"; of a long list only both ends. */
static void append_values(CoreText *text, const SweepValueList *list) {
  enum { SHOWN_MAX = 12, SHOWN_FIRST = 6, SHOWN_LAST = 2 };
  for (size_t i = 0; i < list->count; i++) {
    bool is_skipped = list->count > SHOWN_MAX && i >= SHOWN_FIRST && i < list->count - SHOWN_LAST;
    const char *value = *list->values[i].text ? list->values[i].text : "\"\"";
    if (!is_skipped) core_text_appendf(text, "%s%s", i ? ", " : "", value);
    else if (i == SHOWN_FIRST) core_text_append(text, ", ...");
  }
}

static void add_axis(CoreTable *table, const char *block, const SweepAxis *axis) {
  for (size_t i = 0; i < axis->list_count; i++) {
    CoreText values = {0};
    append_values(&values, &axis->lists[i]);
    core_table_cell(table, "%s", i == 0 ? block : "");
    core_table_cell(table, "%s", axis->lists[i].row->name);
    core_table_cell(table, "%zu", axis->length);
    core_table_cell(table, "%s", core_text_string(&values));
    core_text_free(&values);
  }
}

/* Prints the axes of each block. Zips belong to every block and are printed once, first. */
static void print_axes(const SweepPlan *plan) {
  static const char *const headers[] = {"block", "setting", "count", "values"};
  const SweepGrid *grid = &plan->grid;
  CoreTable *table = core_table_create(headers, 4);
  char block[SWEEP_NAME + 8];
  bool has_rows = false;

  for (size_t p = 0; p < grid->part_count; p++) {
    bool is_first = true;
    for (size_t a = 0; a < grid->parts[p].axis_count; a++) {
      const SweepAxis *axis = &grid->parts[p].axes[a];
      if (axis->search || (axis->zip && p > 0)) continue; /* sweep_searches_print shows a search */
      if (axis->zip) snprintf(block, sizeof block, "zip %s", axis->zip);
      else snprintf(block, sizeof block, "grid %s", grid->parts[p].block->name);
      add_axis(table, axis->zip || is_first ? block : "", axis);
      if (!axis->zip) is_first = false;
      has_rows = true;
    }
  }

  if (has_rows) {
    core_table_print(table, stdout);
    printf("\n");
  }
  core_table_destroy(&table);
}

static void append_seeds(CoreText *text, const SweepSpec *spec) {
  enum { SHOWN_MAX = 10 };
  char extended[64] = "";
  if (spec->extended_seeds > 0) snprintf(extended, sizeof extended, "; %zu by --seeds", spec->extended_seeds);
  bool is_range = true;
  for (size_t i = 1; i < spec->seed_count; i++) is_range = is_range && spec->seeds[i] == spec->seeds[i - 1] + 1;
  core_text_appendf(text, "%zu (%lld", spec->seed_count, (long long)spec->seeds[0]);
  if (is_range && spec->seed_count > 1) core_text_appendf(text, "..%lld", (long long)spec->seeds[spec->seed_count - 1]);
  if (!is_range) {
    for (size_t i = 1; i < spec->seed_count && i < SHOWN_MAX; i++)
      core_text_appendf(text, ", %lld", (long long)spec->seeds[i]);
  }
  core_text_appendf(text, "%s%s)", is_range || spec->seed_count <= SHOWN_MAX ? "" : ", ...", extended);
}

static void print_counts(const SweepPlan *plan) {
  const SweepGrid *grid = &plan->grid;
  CoreText seeds = {0};
  append_seeds(&seeds, plan->spec);

  printf("cells        %zu", grid->cells);
  if (grid->part_count > 1) {
    for (size_t p = 0; p < grid->part_count; p++) {
      const SweepPart *part = &grid->parts[p];
      printf("%s%s%s%s %zu", p ? ", " : " (", part->block ? part->block->name : "",
             part->block && part->search ? " x " : "", part->search ? part->search->name : "", part->cells);
    }
  }

  printf("%s\nseeds        %s\nruns         %zu", grid->part_count > 1 ? ")" : "", core_text_string(&seeds),
         grid->runs);
  if (grid->duplicates) printf(" (%zu duplicates merged)", grid->duplicates);
  printf("\n");
  core_text_free(&seeds);

  for (size_t i = 0; i < STORE_STATUSES; i++) {
    const StoreStatus status = store_status_order[i];
    if (status == STORE_FINISHED || (plan->count[status] && status != STORE_PENDING))
      printf("%-12s %zu\n", store_status_name(status), plan->count[status]);
  }

  printf("to run       %zu", plan->to_run);
  if (plan->resumable) printf(" (%zu of them resume from checkpoints)", plan->resumable);
  printf("\n");
  if (plan->change.absent)
    printf("not in file  %zu runs of the sweep's manifest, which are left unchanged\n", plan->change.absent);
  CoreText absent = {0};
  sweep_code_describe_absent(&plan->codes, &absent);
  if (absent.length > 0) printf("             %s\n", absent.data);
  core_text_free(&absent);
}

/* Prints the cost of trials that are not proposed yet. */
static void print_pending(const SweepPlan *plan) {
  const SweepPendingTrials pending = sweep_searches_estimate(&plan->grid, plan->transitions);
  char runs[32], transitions[32];
  if (pending.trials == 0) return;
  printf("later waves  %zu trials, about %s runs and %s transitions more\n", pending.trials,
         core_text_count(pending.runs, runs), core_text_count(pending.transitions, transitions));
}

/* Appends ", searches 3 h" if it takes any time. */
static void append_time(CoreText *text, const char *name, double seconds) {
  char time[32];
  if (seconds > 0) core_text_appendf(text, ", %s %s", name, core_text_duration(seconds, time));
}

/* Appends the source of the estimate's speed. */
static void append_source(const SweepPlan *plan, CoreText *text) {
  char speed[32];
  if (plan->speed > 0) core_text_appendf(text, "at %s transitions/s", core_text_count(plan->speed, speed));
  else if (plan->modeled == plan->to_run) core_text_append(text, "by the model, since nothing was measured");
  else if (plan->modeled > 0)
    core_text_appendf(text, "%zu of %zu runs by the model, the others as measured", plan->modeled, plan->to_run);
  else
    core_text_appendf(text, "measured on %zu run%s with the %s", plan->speed_runs, plan->speed_runs == 1 ? "" : "s",
                      plan->speed_exact ? "same settings" : "nearest settings, adjusted by the model");
}

static void print_estimate(const SweepPlan *plan) {
  char total[32], left[32], time[32];
  CoreText source = {0}, parts = {0};
  printf("transitions  %s, %s left\n", core_text_count(plan->transitions, total),
         core_text_count(plan->transitions_left, left));

  append_source(plan, &source);
  append_time(&parts, "searches", plan->cost.searches_s);
  append_time(&parts, "evaluations at most", plan->cost.evaluations_s);
  append_time(&parts, "checkpoints", plan->cost.checkpoints_s);

  if (plan->to_run == 0) printf("estimate     nothing left to run\n");
  else if (isnan(plan->seconds_left)) printf("estimate     unknown speed: measure one run, or use --speed\n");
  else printf("estimate     %s of run time in total (%s)\n", core_text_duration(plan->seconds_left, time),
              core_text_string(&source));
  if (plan->to_run > 0 && parts.length > 0)
    printf("             training %s%s\n", core_text_duration(plan->cost.training_s, time), parts.data);
  if (plan->to_run > 0 && plan->cost.disk_bytes > 0)
    printf("disk         %sB of logs and checkpoints\n", core_text_count(plan->cost.disk_bytes, total));
  if (plan->speed_problem[0]) printf("             no measured speeds: %s\n", plan->speed_problem);
  core_text_free(&source);
  core_text_free(&parts);
}

/* Prints the hours of all GPUs and processors that runs hold, by [slurm] and blocks. */
static void print_processors(const SweepPlan *plan) {
  const SweepResources *resources = &plan->resources;
  const SlurmSettings *s = &resources->sets[0];
  size_t sets = 0; /* sets of the runs */
  char hours[32];
  if (plan->to_run == 0 || isnan(plan->seconds_left)) return;
  if (plan->gpu_seconds > 0)
    printf("GPUs         %s GPU-hours, by the GPUs that [slurm] requests\n",
           core_text_count(plan->gpu_seconds / 3600, hours));

  core_text_count(plan->cpu_seconds / 3600, hours);
  for (size_t set = 0; set < resources->count; set++) {
    if (sweep_plan_to_run(plan, set) == 0) continue;
    s = &resources->sets[set];
    sets++;
  }

  const double processors = (double)(s->ranks_per_run * s->cpus_per_run);
  if (sets > 1) printf("processors   %s processor hours, over %zu resource sets\n", hours, sets);
  else if (processors > 1)
    printf("processors   [slurm] gives a run %g (%lld rank%s of %lld): %s processor hours\n", processors,
           (long long)s->ranks_per_run, s->ranks_per_run == 1 ? "" : "s", (long long)s->cpus_per_run, hours);
}

/* Finds the configuration with the most Python processes. Returns their number. */
static int64_t find_workers(const SweepPlan *plan, CoreConfig *found) {
  int64_t count = 0;
  CoreConfig config;
  for (size_t run = 0; run < plan->grid.cells && run < plan->grid.runs; run++) { /* the first seed has every cell */
    sweep_grid_config(&plan->grid, run, &config);
    if (sweep_workers_count(&config) <= count) continue;
    count = sweep_workers_count(&config);
    *found = config;
  }
  return count;
}

static void print_workers(const SweepPlan *plan) {
  SlurmSettings s = slurm_settings_default();
  CoreConfig config;
  CoreText text = {0};
  if (find_workers(plan, &config) == 0) return;
  const bool has_slurm = plan->spec->resource_count > 0 && sweep_spec_slurm(plan->spec, &s) == CORE_OK;
  sweep_workers_describe(&config, has_slurm ? &s : NULL, &text);
  printf("processes    %s\n", core_text_string(&text));
  core_text_free(&text);
}

/* Returns the smallest budget, which determines the rungs. */
static double min_budget(const SweepPlan *plan) {
  double budget = INFINITY;
  CoreConfig config;
  for (size_t run = 0; run < plan->grid.cells && run < plan->grid.runs; run++) { /* the first seed has every cell */
    sweep_grid_config(&plan->grid, run, &config);
    budget = fmin(budget, (double)config.train.total_steps);
  }
  return budget;
}

/* Prints the memory of earlier runs, compared with [slurm]. */
static void print_memory(const SweepPlan *plan) {
  SlurmSettings s = slurm_settings_default();
  const SweepRunMemory *memory = &plan->memory;
  if (memory->peak_mb == 0 && memory->exceeded_mb == 0) return;
  printf("memory       ");
  if (memory->peak_mb > 0) printf("runs until now used at most %lld MB", (long long)memory->peak_mb);
  if (memory->exceeded_mb > 0)
    printf("%sslurm.mem = %lldM was too little; %lldM would be enough", memory->peak_mb > 0 ? "; " : "",
           (long long)memory->exceeded_mb, (long long)sweep_run_memory_needed(memory));
  printf("\n");
  if (sweep_spec_slurm(plan->spec, &s) != CORE_OK) core_error_clear();
  else if (slurm_settings_run_mem(&s) > 0 && slurm_settings_run_mem(&s) <= memory->exceeded_mb)
    printf("             slurm.mem = %lldM is too little; raise it\n", (long long)slurm_settings_run_mem(&s));
}

/* Warns if the rule would be applied less than three times in a run, and so would decide too late. */
static void print_interval(const SweepPlan *plan) {
  enum { CHECKS_MIN = 3, CHECKS_RECOMMENDED = 10 };
  const bool is_known = plan->to_run > 0 && !isnan(plan->seconds_left);
  const double run_s = is_known ? plan->cost.training_s / (double)plan->to_run : NAN;
  const double every_s = plan->spec->stop.every;
  char length[32];
  if (!(run_s < CHECKS_MIN * every_s)) return;
  printf("             stop.every = %g is too long for runs of about %s, which end before the rule is applied %d "
         "times; use stop.every = %.2g\n",
         every_s, core_text_duration(run_s, length), (int)CHECKS_MIN, fmax(0.1, run_s / CHECKS_RECOMMENDED));
}

static void print_stop(const SweepPlan *plan) {
  CoreText text = {0};
  if (plan->spec->stop.rule == SWEEP_STOP_NONE) return;
  sweep_stop_describe(&plan->spec->stop, min_budget(plan), &text);
  printf("stopping     %s\n", core_text_string(&text));
  if (plan->to_run > 0)
    printf("             remaining transitions are an upper bound, since stopped runs need fewer\n");
  print_interval(plan);
  core_text_free(&text);
}

/* Prints the code of the runs, and runs that were made by other code. */
static void print_code(const SweepPlan *plan) {
  const SweepCodeChanges *codes = &plan->codes;
  CoreText text = {0};
  const char *line = core_text_string(&codes->current);
  for (const char *label = "code"; *line; label = "", line = strchr(line, '\n') + 1) {
    const char *summary = strchr(line, '\t') + 1;
    printf("%-12s %.*s\n", label, (int)strcspn(summary, "\n"), summary);
  }

  sweep_code_describe(codes, &text);
  if (text.length > 0)
    printf("other code   %s; %s\n", text.data,
           codes->kept == codes->finished + codes->unfinished ? "kept"
                                                              : "--force starts them over, --keep accepts the mix");

  core_text_clear(&text);
  sweep_code_describe_mapping(codes, &text);
  if (text.length > 0) printf("other names  %s\n", text.data);
  core_text_free(&text);
}

static void print_check(const SweepPlan *plan) {
  const SweepCheckSummary *checked = &plan->checked;
  if (plan->untrusted.length > 0) printf("not checked  %s\n", core_text_string(&plan->untrusted));
  if (!plan->is_checked) return;
  if (checked->problem[0])
    printf("checked      %zu of %zu configurations: %s\n", checked->checked, checked->distinct, checked->problem);
  else if (checked->checked < checked->distinct)
    printf("checked      %zu of %zu configurations, which would start; sweep submit checks all\n", checked->checked,
           checked->distinct);
  else if (plan->spec->base.program) printf("checked      the command and its script exist\n");
  else if (checked->distinct == 1) printf("checked      the trainer would start it\n");
  else printf("checked      the trainer would start all %zu configurations\n", checked->distinct);
}

static SweepIdSet index_manifest(const SweepPlan *plan) {
  SweepIdSet ids = {0};
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])plan->manifest.ids, plan->manifest.count);
  return ids;
}

static size_t find_index(const SweepIdSet *ids, const char *id) {
  size_t index = 0;
  CORE_CHECK(sweep_id_set_find(ids, id, &index)); /* the manifest was merged with this grid */
  return index;
}

static void print_runs(const SweepPlan *plan) {
  static const char *const headers[] = {"index", "run", "status", "differs"};
  SweepIdSet ids = index_manifest(plan);
  CoreTable *table = core_table_create(headers, 4);
  CoreText text = {0};

  for (size_t run = 0; run < plan->grid.runs; run++) {
    core_text_clear(&text);
    sweep_grid_describe(&plan->grid, run, &text);
    core_table_cell(table, "%zu", find_index(&ids, plan->grid.ids[run]));
    core_table_cell(table, "%s", plan->grid.ids[run]);
    core_table_cell(table, "%s", store_status_name((StoreStatus)plan->status[run]));
    core_table_cell(table, "%s", core_text_string(&text));
  }

  printf("\n");
  core_table_print(table, stdout);
  core_table_destroy(&table);
  core_text_free(&text);
  sweep_id_set_free(&ids);
}

void sweep_plan_print(const char *root, const SweepPlan *plan, bool with_runs) {
  const char *bold = core_terminal_color(stdout, CORE_BOLD), *reset = core_terminal_reset(stdout);

  printf("%s%s%s  ", bold, plan->spec->name, reset);
  core_unicode_print(stdout, "%s", plan->spec->ini.file);
  if (plan->spec->profile[0]) printf("  profile %s", plan->spec->profile);
  for (size_t i = 0; i < plan->spec->set_count; i++) core_unicode_print(stdout, "  --set %s", plan->spec->sets[i]);
  printf("\n\n");

  print_axes(plan);
  sweep_searches_print(plan->spec);
  print_counts(plan);
  print_pending(plan);
  print_estimate(plan);
  print_processors(plan);
  print_workers(plan);
  print_memory(plan);
  print_stop(plan);
  print_code(plan);
  sweep_program_print(root, plan);
  print_check(plan);
  if (with_runs) print_runs(plan);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static json_t *json_of_count(size_t count) { return json_integer((json_int_t)count); }

static json_t *json_of_list(const SweepValueList *list) {
  json_t *values = json_array();

  for (size_t i = 0; i < list->count; i++) {
    const SweepValue *value = &list->values[i];
    switch (list->row->kind) {
      case CORE_CONFIG_INT: json_array_append_new(values, json_integer(value->number.integer)); break;
      case CORE_CONFIG_REAL: /* JSON has no infinity */
        json_array_append_new(values,
                              isfinite(value->number.real) ? json_real(value->number.real) : core_json_text("inf"));
        break;
      case CORE_CONFIG_BOOL: json_array_append_new(values, json_boolean(value->number.boolean)); break;
      case CORE_CONFIG_ENUM:
      case CORE_CONFIG_STRING: json_array_append_new(values, core_json_text(value->text)); break;
    }
  }
  return values;
}

static json_t *json_of_parts(const SweepGrid *grid) {
  json_t *parts = json_array();
  for (size_t p = 0; p < grid->part_count; p++) {
    const SweepPart *part = &grid->parts[p];
    json_t *axes = json_array(), *entry = json_object();
    for (size_t a = 0; a < part->axis_count; a++) {
      if (part->axes[a].search) continue;
      json_t *axis = json_object(), *settings = json_object();
      for (size_t i = 0; i < part->axes[a].list_count; i++)
        json_object_set_new(settings, part->axes[a].lists[i].row->name, json_of_list(&part->axes[a].lists[i]));

      json_object_set_new(axis, "zip", part->axes[a].zip ? core_json_text(part->axes[a].zip) : json_null());
      json_object_set_new(axis, "length", json_of_count(part->axes[a].length));
      json_object_set_new(axis, "settings", settings);
      json_array_append_new(axes, axis);
    }

    json_object_set_new(entry, "name", part->block ? core_json_text(part->block->name) : json_null());
    if (part->search) json_object_set_new(entry, "search", core_json_text(part->search->name));
    json_object_set_new(entry, "cells", json_of_count(part->cells));
    json_object_set_new(entry, "axes", axes);
    json_array_append_new(parts, entry);
  }
  return parts;
}

static json_t *json_of_runs(const SweepPlan *plan) {
  json_t *runs = json_array();
  SweepIdSet ids = index_manifest(plan);
  CoreText text = {0};

  for (size_t run = 0; run < plan->grid.runs; run++) {
    json_t *entry = json_object();
    core_text_clear(&text);
    sweep_grid_describe(&plan->grid, run, &text);
    json_object_set_new(entry, "index", json_of_count(find_index(&ids, plan->grid.ids[run])));
    json_object_set_new(entry, "id", core_json_text(plan->grid.ids[run]));
    json_object_set_new(entry, "status", core_json_text(store_status_name((StoreStatus)plan->status[run])));
    json_object_set_new(entry, "differs", core_json_text(core_text_string(&text)));
    json_array_append_new(runs, entry);
  }

  core_text_free(&text);
  sweep_id_set_free(&ids);
  return runs;
}

static json_t *json_of_codes(const SweepCodeChanges *codes) {
  json_t *list = json_array();
  for (const char *line = core_text_string(&codes->current); *line; line = strchr(line, '\n') + 1) {
    const size_t hash = strcspn(line, "\t"), end = strcspn(line, "\n");
    json_array_append_new(list, json_pack("{s:s%, s:s%}", "hash", line, hash, "files", line + hash + 1,
                                          end - hash - 1));
  }
  return list;
}

static json_t *json_of_other_code(const SweepCodeChanges *codes) {
  return json_pack("{s:o, s:o, s:o, s:s}", "finished", json_of_count(codes->finished), "unfinished",
                   json_of_count(codes->unfinished), "kept", json_of_count(codes->kept), "differs",
                   core_text_string(&codes->difference));
}

static json_t *json_of_statuses(const SweepPlan *plan) {
  json_t *statuses = json_object();
  for (int status = 0; status < STORE_STATUSES; status++)
    json_object_set_new(statuses, store_status_name((StoreStatus)status), json_of_count(plan->count[status]));
  return statuses;
}

/* Sets the remaining cost; times are null if no speed is known. */
static void set_costs(json_t *root, const SweepPlan *plan) {
  json_object_set_new(root, "hours_left", core_json_real(plan->seconds_left / 3600));
  json_object_set_new(root, "gpu_hours_left", core_json_real(plan->gpu_seconds / 3600));
  json_object_set_new(root, "cpu_hours_left", core_json_real(plan->cpu_seconds / 3600));
  json_object_set_new(root, "modeled_runs", json_of_count(plan->modeled));
  json_object_set_new(root, "disk_bytes", json_real(plan->cost.disk_bytes));
}

void sweep_plan_print_json(const char *root, const SweepPlan *plan, bool with_runs) {
  const SweepSpec *spec = plan->spec;
  json_t *object = json_object(), *seeds = json_array();
  for (size_t i = 0; i < spec->seed_count; i++) json_array_append_new(seeds, json_integer(spec->seeds[i]));

  json_object_set_new(object, "sweep", core_json_text(spec->name));
  json_object_set_new(object, "file", core_json_text(spec->ini.file));
  json_object_set_new(object, "profile", spec->profile[0] ? core_json_text(spec->profile) : json_null());
  json_object_set_new(object, "grids", json_of_parts(&plan->grid));
  if (spec->search_count > 0) json_object_set_new(object, "searches", sweep_searches_json(spec));
  json_object_set_new(object, "seeds", seeds);
  json_object_set_new(object, "stop_rule", core_json_text(sweep_stop_kind_name(spec->stop.rule)));
  json_object_set_new(object, "extended_seeds", json_of_count(spec->extended_seeds));

  json_object_set_new(object, "cells", json_of_count(plan->grid.cells));
  json_object_set_new(object, "runs", json_of_count(plan->grid.runs));
  json_object_set_new(object, "duplicates", json_of_count(plan->grid.duplicates));
  json_object_set_new(object, "status", json_of_statuses(plan));
  json_object_set_new(object, "to_run", json_of_count(plan->to_run));
  json_object_set_new(object, "partly_done", json_of_count(plan->resumable));
  json_object_set_new(object, "new_in_manifest", json_of_count(plan->change.added));
  json_object_set_new(object, "not_in_file", json_of_count(plan->change.absent));

  json_object_set_new(object, "transitions", json_real(plan->transitions));
  json_object_set_new(object, "transitions_left", json_real(plan->transitions_left));
  json_object_set_new(object, "search_steps_left", json_real(plan->search_steps));
  json_object_set_new(object, "evaluation_steps_left", json_real(plan->evaluation_steps));

  json_object_set_new(object, "python_processes", json_integer(find_workers(plan, &(CoreConfig){0})));
  json_object_set_new(object, "memory_peak_mb", json_integer(plan->memory.peak_mb));
  json_object_set_new(object, "memory_exceeded_mb", json_integer(plan->memory.exceeded_mb));
  json_object_set_new(object, "memory_needed_mb", json_integer(sweep_run_memory_needed(&plan->memory)));
  set_costs(object, plan);

  if (spec->base.program) json_object_set_new(object, "program", sweep_program_json(root, plan));
  json_object_set_new(object, "code", json_of_codes(&plan->codes));
  if (plan->codes.finished + plan->codes.unfinished > 0)
    json_object_set_new(object, "other_code", json_of_other_code(&plan->codes));
  if (plan->codes.absent > 0)
    json_object_set_new(object, "old_code", json_pack("{s:o, s:s}", "runs", json_of_count(plan->codes.absent),
                                                      "differs", core_text_string(&plan->codes.absent_difference)));

  if (plan->untrusted.length > 0)
    json_object_set_new(object, "untrusted", core_json_text(core_text_string(&plan->untrusted)));
  if (plan->is_checked)
    json_object_set_new(object, "checked",
                        json_pack("{s:o, s:o, s:s}", "configurations", json_of_count(plan->checked.distinct),
                                  "checked", json_of_count(plan->checked.checked), "problem",
                                  plan->checked.problem[0] ? plan->checked.problem : NULL));

  if (with_runs) json_object_set_new(object, "run_list", json_of_runs(plan));
  core_json_print(object);
}
