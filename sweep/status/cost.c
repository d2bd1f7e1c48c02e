/* Implements `sweep status --cost`: resource usage per run and in total, and limits that would have been enough. */
#include "sweep/status/usage.h"

#include <math.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/terminal.h"
#include "sweep/status/annotations.h"

static const char *seconds_or_dash(double seconds, char *buffer) {
  return isfinite(seconds) ? core_text_duration(seconds, buffer) : "-";
}

static json_t *run_json(const SweepRunUsage *run, size_t index) {
  return json_pack("{s:I, s:s, s:s, s:I, s:o, s:f, s:f, s:o, s:o, s:o, s:I, s:s, s:I}", "index", (json_int_t)index,
                   "run", run->id, "status", store_status_name(run->status), "starts",
                   (json_int_t)run->starts, "wait_s",
                   core_json_real(run->wait_s), "spent_s", run->spent_s, "useful_s", run->useful_s, "efficiency",
                   core_json_real(sweep_usage_efficiency(run->useful_s, run->spent_s)), "cpus",
                   core_json_real(run->cpus), "gpus", core_json_real(run->gpus), "peak_mb",
                   (json_int_t)run->memory.peak_mb,
                   "peak_source", sweep_memory_source_name(run->memory.source), "exceeded_mb",
                   (json_int_t)run->memory.exceeded_mb);
}

static void print_json(const char *name, const SweepUsage *usage, const SweepAnnotations *annotations,
                       const CoreText *advice) {
  json_t *runs = json_array(), *lines = json_array();
  for (size_t i = 0; i < usage->count; i++) {
    json_t *run = run_json(&usage->run[i], i);
    sweep_annotations_add_run_json(annotations, i, run);
    json_array_append_new(runs, run);
  }

  char *copy = core_text_duplicate(core_text_string(advice)), *save = NULL;
  for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
    json_array_append_new(lines, core_json_text(line));

  json_t *all =
    json_pack("{s:s, s:o, s:o, s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:o, s:o}", "name", name,
              "wait_median_s",
              core_json_real(usage->wait_median_s), "wait_max_s", core_json_real(usage->wait_max_s), "spent_s",
              usage->spent_s, "useful_s", usage->useful_s, "wasted_s", usage->wasted_s, "efficiency",
              core_json_real(sweep_usage_efficiency(usage->useful_s, usage->spent_s)), "cpu_hours", usage->cpu_hours,
              "cpu_hours_wasted", usage->cpu_hours_wasted, "gpu_hours", usage->gpu_hours, "gpu_hours_wasted",
              usage->gpu_hours_wasted, "peak_max_mb", (json_int_t)usage->most.peak_mb, "stopped_by_rule",
              (json_int_t)usage->stopped_by_rule, "transitions_saved", usage->transitions_saved, "advice", lines,
              "run", runs);

  sweep_annotations_add_json(annotations, all);
  core_json_print(all);
  free(copy);
}

static void print_csv_cell(double value) {
  if (isfinite(value)) printf(",%.3f", value);
  else printf(",");
}

static void print_csv(const SweepUsage *usage) {
  CoreText id = {0};
  printf("index,run,status,starts,wait_s,spent_s,useful_s,efficiency,cpus,gpus,peak_mb\n");

  for (size_t i = 0; i < usage->count; i++) {
    const SweepRunUsage *run = &usage->run[i];
    core_text_clear(&id);
    core_text_append_cell(&id, run->id);
    printf("%zu,%s,%s,%lld", i, core_text_string(&id), store_status_name(run->status), (long long)run->starts);
    print_csv_cell(run->wait_s);
    print_csv_cell(run->spent_s);
    print_csv_cell(run->useful_s);
    print_csv_cell(sweep_usage_efficiency(run->useful_s, run->spent_s));
    print_csv_cell(run->cpus);
    print_csv_cell(run->gpus);
    if (run->memory.peak_mb > 0) printf(",%lld\n", (long long)run->memory.peak_mb);
    else printf(",\n");
  }

  core_text_free(&id);
}

static void print_runs(const SweepUsage *usage) {
  static const char *const headers[] = {"index", "run", "status", "starts", "waited", "ran", "useful", "memory"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  char buffer[32];

  for (size_t i = 0; i < usage->count; i++) {
    const SweepRunUsage *run = &usage->run[i];
    const double efficiency = sweep_usage_efficiency(run->useful_s, run->spent_s);
    core_table_cell(table, "%zu", i);
    core_table_cell(table, "%s", run->id);
    core_table_cell(table, "%s", store_status_name(run->status));
    core_table_cell(table, "%lld", (long long)run->starts);
    core_table_cell(table, "%s", seconds_or_dash(run->wait_s, buffer));
    core_table_cell(table, "%s", seconds_or_dash(run->spent_s, buffer));
    if (isfinite(efficiency))
      core_table_cell_color(table, efficiency < 0.5 ? CORE_RED : CORE_PLAIN, "%.0f %%", 100 * efficiency);
    else core_table_cell(table, "-");
    if (run->memory.peak_mb > 0) core_table_cell(table, "%lld MB", (long long)run->memory.peak_mb);
    else core_table_cell(table, "-");
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);
}

static void print_text(const char *name, const SweepUsage *usage, const SweepAnnotations *annotations,
                       const CoreText *advice, bool runs) {
  char spent[32], wasted[32], median[32], longest[32];
  size_t finished = 0, not_started = 0, restarted = 0;

  for (size_t i = 0; i < usage->count; i++) {
    finished += usage->run[i].status == STORE_FINISHED;
    not_started += usage->run[i].starts == 0;
    restarted += usage->run[i].starts > 1;
  }

  if (runs) print_runs(usage);
  printf("%s: %zu runs, %zu finished, ", name, usage->count, finished);
  if (usage->stopped_by_rule > 0) printf("%zu stopped by rule, ", usage->stopped_by_rule);
  if (not_started > 0) printf("%zu never started, ", not_started);
  printf("%zu started more than once\n", restarted);
  CoreText text = {0};
  sweep_annotations_draw(annotations, name, &text);
  fputs(core_text_string(&text), stdout);
  core_text_free(&text);

  if (isfinite(usage->wait_median_s))
    printf("  waited     median %s, at most %s\n", core_text_duration(usage->wait_median_s, median),
           core_text_duration(usage->wait_max_s, longest));
  printf("  ran        %s in total, %s of it wasted (failed runs and repeated work)\n",
         core_text_duration(usage->spent_s, spent), core_text_duration(usage->wasted_s, wasted));
  if (usage->stopped_by_rule > 0)
    printf("  saved      %s transitions by stopping runs early; they keep their checkpoints and count as censored\n",
           core_text_count(usage->transitions_saved, spent));

  if (usage->is_slurm) {
    printf("  CPU-hours  %.3f, %.3f wasted\n", usage->cpu_hours, usage->cpu_hours_wasted);
    if (usage->gpu_hours > 0) printf("  GPU-hours  %.3f, %.3f wasted\n", usage->gpu_hours, usage->gpu_hours_wasted);
  }
  if (usage->most.peak_mb > 0)
    printf("  memory     %lld MB at most%s\n", (long long)usage->most.peak_mb,
           usage->most.source == SWEEP_MEMORY_LARGEST_PROCESS ? " (of some runs only the largest process is known)"
                                                              : "");
  if (usage->most.exceeded_mb > 0)
    printf("             slurm.mem = %lldM was too little\n", (long long)usage->most.exceeded_mb);
  if (advice->length) printf("%s", core_text_string(advice));
}

int sweep_cost_print(const SweepCostOptions *options, const char *root, const char *name) {
  SweepUsage usage;
  SweepAnnotations annotations;
  CoreText advice = {0};

  TRY(sweep_usage_read(root, name, &usage));
  sweep_usage_advise(&usage, name, &advice);

  SweepAnnotationFiles files;
  sweep_annotation_files_read(root, false, &files);
  sweep_annotations_select(root, name, &files, &annotations);
  sweep_annotation_files_free(&files);

  if (options->json) print_json(name, &usage, &annotations, &advice);
  else if (options->csv) print_csv(&usage);
  else print_text(name, &usage, &annotations, &advice, options->runs);
  sweep_annotations_free(&annotations);
  core_text_free(&advice);
  sweep_usage_free(&usage);
  return CORE_OK;
}
