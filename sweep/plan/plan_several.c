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
#include "sweep/plan/duplicates.h"
#include "sweep/plan/plan.h"
#include "sweep/plan/speed.h"
#include "sweep/spec/id_set.h"

/* Cost of the runs of a file that no earlier file has, or of all files. Hours are NaN if no speed is known. */
typedef struct Cost {
  char name[SWEEP_NAME];
  size_t runs; /* all runs of the file */
  size_t added, to_run;
  double transitions, transitions_left;
  double cpu_hours, gpu_hours; /* cost of the remaining transitions, summed over runs */
} Cost;

typedef struct Costs {
  const char *root;
  double speed;                       /* --speed; 0: measured speeds are used */
  SweepSpeeds *speeds;                /* NULL: results.db cannot be read */
  SweepIdSet seen;
  Cost *files, sum;
  size_t count;
} Costs;

static double hours(const Costs *costs, const CoreConfig *config, double transitions, SweepDevice device) {
  double per_second = costs->speed;
  if (per_second == 0 && costs->speeds) per_second = sweep_speeds_find(costs->speeds, config, device).steps_per_second;
  return transitions == 0 ? 0 : per_second > 0 ? transitions / per_second / 3600 : NAN;
}

static int add_run(Costs *costs, const SweepGrid *grid, size_t run, bool has_runs, Cost *cost) {
  CoreConfig config;
  StoreState state = {.status = STORE_PENDING};
  if (!sweep_id_set_add(&costs->seen, grid->ids[run], NULL)) return CORE_OK; /* counted for an earlier file */
  sweep_grid_config(grid, run, &config);
  if (has_runs) TRY(store_run_state_read(costs->root, grid->ids[run], true, &state));
  bool has_ended = state.status == STORE_FINISHED || state.status == STORE_DIVERGED ||
                   (state.status == STORE_STOPPED_BY_RULE && grid->spec->stop.rule != SWEEP_STOP_NONE);
  double planned = sweep_plan_transitions(&config);
  double remaining = has_ended ? 0 : sweep_plan_remaining(&config, &state);
  cost->added++;
  cost->to_run += !has_ended;
  cost->transitions += planned;
  cost->transitions_left += remaining;
  cost->cpu_hours += hours(costs, &config, remaining, SWEEP_CPU);
  cost->gpu_hours += hours(costs, &config, remaining, SWEEP_GPU);
  return CORE_OK;
}

static int add_file(Costs *costs, const SweepCommon *common, const char *operand, bool has_runs, Cost *cost) {
  SweepSpec spec;
  SweepGrid grid;
  TRY(sweep_common_spec(common, operand, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    code = sweep_duplicates_check(&grid);
    *cost = (Cost){.runs = grid.runs};
    memcpy(cost->name, spec.name, sizeof cost->name);
    for (size_t run = 0; run < grid.runs && code == CORE_OK; run++) code = add_run(costs, &grid, run, has_runs, cost);
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
  char all[32], left[32];
  core_table_cell(table, "%s", cost->name);
  core_table_cell(table, "%zu", cost->runs);
  core_table_cell(table, "%zu", cost->added);
  core_table_cell(table, "%zu", cost->to_run);
  core_table_cell(table, "%s", core_text_count(cost->transitions, all));
  core_table_cell(table, "%s", core_text_count(cost->transitions_left, left));
  add_hours(table, cost->cpu_hours);
  if (costs->speed == 0) add_hours(table, cost->gpu_hours);
}

static void print_costs(const Costs *costs) {
  static const char *const measured[] = {"sweep", "runs", "added", "to run", "transitions", "left", "CPU, h", "GPU, h"};
  static const char *const given[] = {"sweep", "runs", "added", "to run", "transitions", "left", "hours"};
  CoreTable *table = costs->speed > 0 ? core_table_create(given, 7) : core_table_create(measured, 8);
  for (size_t i = 0; i < costs->count; i++) add_row(costs, table, &costs->files[i]);
  add_row(costs, table, &costs->sum);
  core_table_print(table, stdout);
  core_table_destroy(&table);
  printf("\n");
  core_terminal_print_wrapped(
      stdout,
      "added: runs that no file above has; the columns to the right are of these runs. Transitions of "
      "training only, without those of level search (sfl) and evaluations.",
      0, 0);
  if (costs->speed > 0) printf("Hours: sum over runs at %g transitions per second.\n", costs->speed);
  if (costs->speed == 0 && !(isnan(costs->sum.cpu_hours) && isnan(costs->sum.gpu_hours)))
    core_terminal_print_wrapped(stdout,
                                "Hours: sum over runs at the speed of the nearest measured task, network and epochs. "
                                "Without Slurm, sweep submit runs one run per core at a time.",
                                0, 0);
  if (costs->speed == 0 && (isnan(costs->sum.cpu_hours) || isnan(costs->sum.gpu_hours)))
    core_terminal_print_wrapped(stdout,
                                "?: no run of this workspace has measured a speed on that kind of device yet; "
                                "--speed N assumes N transitions per second.",
                                0, 0);
}

static json_t *json_of_cost(const Cost *cost) {
  json_t *cpu = isnan(cost->cpu_hours) ? json_null() : json_real(cost->cpu_hours);
  json_t *gpu = isnan(cost->gpu_hours) ? json_null() : json_real(cost->gpu_hours);
  return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "sweep", cost->name, "runs", (json_int_t)cost->runs,
                   "added", (json_int_t)cost->added, "to_run", (json_int_t)cost->to_run, "transitions",
                   cost->transitions, "transitions_left", cost->transitions_left, "cpu_hours", cpu, "gpu_hours", gpu);
}

static void print_json(const Costs *costs) {
  json_t *root = json_object(), *files = json_array();
  for (size_t i = 0; i < costs->count; i++) json_array_append_new(files, json_of_cost(&costs->files[i]));
  json_object_set_new(root, "sweeps", files);
  json_object_set_new(root, "all", json_of_cost(&costs->sum));
  core_json_print(root);
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
  for (; costs.count < count && code == CORE_OK; costs.count++)
    code = add_file(&costs, common, operands[costs.count], has_runs, &costs.files[costs.count]);
  if (code == CORE_OK) {
    add_up(&costs);
    if (json) print_json(&costs);
    else print_costs(&costs);
  }
  sweep_speeds_destroy(&costs.speeds);
  sweep_id_set_free(&costs.seen);
  free(costs.files);
  return code;
}
