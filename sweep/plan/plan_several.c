/* Implements `sweep plan A.ini B.ini ...`: the cost of a study. Reads one file after the other and stores only the ids
 * of their runs, so that many large files fit into memory. plan.c plans one file in full. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/plan/check.h"
#include "sweep/plan/plan.h"
#include "sweep/plan/speed.h"
#include "sweep/spec/id_set.h"

/* Cost of the runs of a file that no earlier file has, or of all files. Hours are NaN if no speed is known. */
typedef struct Cost {
  char name[SWEEP_NAME];
  size_t runs; /* all runs of the file */
  size_t added, to_run;
  double transitions, transitions_left;
  double cpu_hours, gpu_hours; /* hours of the remaining part: runs on processors, and on GPUs that are requested */
  double disk_bytes;
} Cost;

typedef struct Costs {
  const char *root;
  double speed;                       /* --speed; 0: measured speeds, else the model's, are used */
  SweepSpeeds *speeds;                /* NULL: results.db cannot be read */
  SweepIdSet seen;
  Cost *files, sum;
  size_t count;
} Costs;

/* Adds the cost of the remaining transitions, in GPU-hours if the run requests GPUs, else in processor hours. */
static void add_cost(const Costs *costs, const CoreConfig *config, const SlurmSettings *settings,
                     const SweepWork *work, Cost *cost) {
  SweepSpeed speed;
  const SweepCost run = sweep_speeds_cost(costs->speeds, config, settings, work, &speed);
  const bool is_unknown = config->program && speed.steps_per_second == 0;
  double hours = is_unknown ? NAN : sweep_cost_seconds(&run) / 3600;
  if (work->left == 0) hours = 0;
  const double processors = (double)(settings->ranks_per_run * settings->cpus_per_run);
  if (settings->gpus_per_run > 0) cost->gpu_hours += hours * settings->gpus_per_run;
  else cost->cpu_hours += hours * processors;
  cost->disk_bytes += work->left == 0 ? 0 : run.disk_bytes;
}

static int add_run(Costs *costs, const SweepGrid *grid, const SweepResources *resources, size_t run, bool has_runs,
                   Cost *cost) {
  CoreConfig config;
  StoreState state = {.status = STORE_PENDING};

  if (!sweep_id_set_add(&costs->seen, grid->ids[run], NULL)) return CORE_OK; /* counted for an earlier file */
  sweep_grid_config(grid, run, &config);
  if (has_runs) TRY(store_run_state_read(costs->root, grid->ids[run], true, &state));
  bool has_ended = store_status_is_final(state.status) ||
                   (state.status == STORE_STOPPED_BY_RULE && grid->spec->stop.rule != SWEEP_STOP_NONE);

  double planned = sweep_plan_transitions(&config);
  double remaining = has_ended ? 0 : sweep_plan_remaining(&config, &state);
  cost->added++;
  cost->to_run += !has_ended;
  cost->transitions += planned;
  cost->transitions_left += remaining;
  const SweepWork work = {.left = remaining, .speed = costs->speed, .is_here = !sweep_spec_has_resources(grid->spec)};
  add_cost(costs, &config, &resources->sets[sweep_resources_of_run(resources, grid, run)], &work, cost);
  return CORE_OK;
}

static int add_file(Costs *costs, const SweepCommon *common, const char *operand, bool has_runs, Cost *cost) {
  SweepSpec spec;
  SweepGrid grid;
  TRY(sweep_common_spec(common, operand, &spec));
  int code = sweep_grid_expand(&spec, &grid);

  if (code == CORE_OK) {
    SweepResources resources = {0};
    code = sweep_duplicates_check(&grid);
    if (code == CORE_OK) code = sweep_resources_make(&grid, &resources);
    *cost = (Cost){.runs = grid.runs};
    memcpy(cost->name, spec.name, sizeof cost->name);
    for (size_t run = 0; run < grid.runs; run++) {
      if (code != CORE_OK) break;
      code = add_run(costs, &grid, &resources, run, has_runs, cost);
    }
    sweep_resources_free(&resources);
    sweep_grid_free(&grid);
  }

  sweep_spec_free(&spec);
  return code;
}

static void add_up(Costs *costs) {
  for (size_t i = 0; i < costs->count; i++) {
    const Cost *file = &costs->files[i];
    costs->sum.runs += file->runs;
    costs->sum.added += file->added;
    costs->sum.to_run += file->to_run;
    costs->sum.transitions += file->transitions;
    costs->sum.transitions_left += file->transitions_left;
    costs->sum.cpu_hours += file->cpu_hours;
    costs->sum.gpu_hours += file->gpu_hours;
    costs->sum.disk_bytes += file->disk_bytes;
  }
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

/* Adds a cell such as "1.2 M": hours, also where days or years would be shorter. */
static void add_hours(CoreTable *table, double value) {
  char text[32];
  if (isnan(value)) core_table_cell(table, "?");
  else if (value < 10) core_table_cell(table, "%.2g", value);
  else core_table_cell(table, "%s", core_text_count(round(value), text));
}

static void add_row(const Costs *costs, CoreTable *table, const Cost *cost) {
  char total[32], left[32];
  core_table_cell(table, "%s", cost->name);
  core_table_cell(table, "%zu", cost->runs);
  core_table_cell(table, "%zu", cost->added);
  core_table_cell(table, "%zu", cost->to_run);
  core_table_cell(table, "%s", core_text_count(cost->transitions, total));
  core_table_cell(table, "%s", core_text_count(cost->transitions_left, left));
  add_hours(table, cost->cpu_hours);
  add_hours(table, cost->gpu_hours);
  core_table_cell(table, "%s", core_text_count(cost->disk_bytes, total));
}

static void print_costs(const Costs *costs) {
  static const char *const headers[] = {"sweep", "runs",   "added",  "to run", "transitions",
                                        "left",  "CPU, h", "GPU, h", "bytes"};
  CoreTable *table = core_table_create(headers, 9);

  for (size_t i = 0; i < costs->count; i++) add_row(costs, table, &costs->files[i]);
  add_row(costs, table, &costs->sum);
  core_table_print(table, stdout);
  core_table_destroy(&table);
  printf("\n");

  core_terminal_print_wrapped(
      stdout,
      "added: runs that no file above has; the columns to the right are of these runs. Transitions are of training "
      "only; hours include level searches (sfl), evaluations and checkpoints.",
      0, 0);

  if (costs->speed > 0)
    printf("Hours: of the GPUs, else of the processors, of each run at %g transitions per second.\n", costs->speed);
  else
    core_terminal_print_wrapped(stdout,
                                "Hours: of the GPUs that a run requests, else of its processors, at measured speeds "
                                "or, without any, by a model. Without Slurm, sweep submit runs one run per core at a "
                                "time.",
                                0, 0);
  if (isnan(costs->sum.cpu_hours) || isnan(costs->sum.gpu_hours))
    core_terminal_print_wrapped(stdout, "?: no run of this program has measured a speed yet; --speed N assumes one.", 0,
                                0);
}

static json_t *json_of_cost(const Cost *cost) {
  json_t *cpu = isnan(cost->cpu_hours) ? json_null() : json_real(cost->cpu_hours);
  json_t *gpu = isnan(cost->gpu_hours) ? json_null() : json_real(cost->gpu_hours);
  return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:f}", "sweep", cost->name, "runs", (json_int_t)cost->runs,
                   "added", (json_int_t)cost->added, "to_run", (json_int_t)cost->to_run, "transitions",
                   cost->transitions, "transitions_left", cost->transitions_left, "cpu_hours", cpu, "gpu_hours", gpu,
                   "disk_bytes", cost->disk_bytes);
}

int sweep_plan_files(const SweepCommon *common, const char *const *operands, size_t count, double speed, bool json) {
  Costs costs = {.root = common->root, .speed = speed, .sum = {.name = "total, each run once"}};
  char path[CORE_PATH_MAX];
  int code = CORE_OK;

  TRY(sweep_plan_check_speed(speed));
  TRY(core_files_path(path, "%s/runs", common->root));
  bool has_runs = core_files_exists(path);
  if (sweep_speeds_load(common->root, &costs.speeds) != CORE_OK)
    core_warn("no measured speeds: %s", core_error_message());

  costs.files = core_memory_zero_allocate(count, sizeof *costs.files);
  for (; costs.count < count; costs.count++) {
    if (code != CORE_OK) break;
    code = add_file(&costs, common, operands[costs.count], has_runs, &costs.files[costs.count]);
  }
  if (code == CORE_OK) {
    add_up(&costs);
    if (json) {
      json_t *root = json_object(), *files = json_array();
      for (size_t i = 0; i < costs.count; i++) json_array_append_new(files, json_of_cost(&costs.files[i]));
      json_object_set_new(root, "sweeps", files);
      json_object_set_new(root, "all", json_of_cost(&costs.sum));
      core_json_print(root);
    } else print_costs(&costs);
  }

  sweep_speeds_destroy(&costs.speeds);
  sweep_id_set_free(&costs.seen);
  free(costs.files);
  return code;
}
