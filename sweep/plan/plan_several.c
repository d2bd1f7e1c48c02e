/* `sweep plan A.ini B.ini ...`: what a whole study costs. Looks at one file after the other and keeps only the ids of
 * their runs, so that a paper's worth of files fits anywhere. plan.c plans one file in full. */
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

/* Of the runs that no earlier file has; of all files, when it is the sum. Hours are NaN where no speed is known. */
typedef struct Price {
  char name[SWEEP_NAME];
  size_t runs;                        /* of the file, shared ones included */
  size_t added, to_run;
  double transitions, transitions_left;
  double cpu_hours, gpu_hours;        /* of what is left, the runs one after another */
} Price;

typedef struct Prices {
  const char *root;
  double speed;                       /* given; 0: as measured */
  SweepSpeeds *speeds;                /* NULL: results.db cannot be read */
  SweepIdSet seen;
  Price *files, sum;
  size_t count;
} Prices;

static double hours(const Prices *prices, const CoreConfig *config, double transitions, SweepDevice device) {
  double per_second = prices->speed;
  if (per_second == 0 && prices->speeds)
    per_second = sweep_speeds_find(prices->speeds, config, device).steps_per_second;
  return transitions == 0 ? 0 : per_second > 0 ? transitions / per_second / 3600 : NAN;
}

static int add_run(Prices *prices, const SweepGrid *grid, size_t run, bool has_runs, Price *price) {
  CoreConfig config;
  StoreState state = {.status = STORE_PENDING};
  if (!sweep_id_set_add(&prices->seen, grid->ids[run], NULL)) return CORE_OK; /* an earlier file has it */
  sweep_grid_config(grid, run, &config);
  if (has_runs) TRY(store_run_state_read(prices->root, grid->ids[run], true, &state));
  bool ended = state.status == STORE_FINISHED || state.status == STORE_DIVERGED ||
               (state.status == STORE_STOPPED_BY_RULE && grid->spec->stop.rule != SWEEP_STOP_NONE);
  double planned = sweep_plan_transitions(&config);
  double left = ended ? 0 : sweep_plan_left(&config, &state);
  price->added++;
  price->to_run += !ended;
  price->transitions += planned;
  price->transitions_left += left;
  price->cpu_hours += hours(prices, &config, left, SWEEP_CPU);
  price->gpu_hours += hours(prices, &config, left, SWEEP_GPU);
  return CORE_OK;
}

static int add_file(Prices *prices, const SweepCommon *common, const char *operand, bool has_runs, Price *price) {
  SweepSpec spec;
  SweepGrid grid;
  TRY(sweep_common_spec(common, operand, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    code = sweep_duplicates_check(&grid);
    *price = (Price){.runs = grid.runs};
    memcpy(price->name, spec.name, sizeof price->name);
    for (size_t run = 0; run < grid.runs && code == CORE_OK; run++) code = add_run(prices, &grid, run, has_runs, price);
    sweep_grid_free(&grid);
  }
  sweep_spec_free(&spec);
  return code;
}

static void add_up(Prices *prices) {
  for (size_t i = 0; i < prices->count; i++) {
    const Price *file = &prices->files[i];
    prices->sum.runs += file->runs;
    prices->sum.added += file->added;
    prices->sum.to_run += file->to_run;
    prices->sum.transitions += file->transitions;
    prices->sum.transitions_left += file->transitions_left;
    prices->sum.cpu_hours += file->cpu_hours;
    prices->sum.gpu_hours += file->gpu_hours;
  }
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

/* "1.2 M": hours grow out of days and years here, so they are counted as hours. */
static void hours_cell(CoreTable *table, double value) {
  char text[32];
  if (isnan(value)) core_table_cell(table, "?");
  else if (value < 10) core_table_cell(table, "%.2g", value);
  else core_table_cell(table, "%s", core_text_count(round(value), text));
}

static void add_row(const Prices *prices, CoreTable *table, const Price *price) {
  char all[32], left[32];
  core_table_cell(table, "%s", price->name);
  core_table_cell(table, "%zu", price->runs);
  core_table_cell(table, "%zu", price->added);
  core_table_cell(table, "%zu", price->to_run);
  core_table_cell(table, "%s", core_text_count(price->transitions, all));
  core_table_cell(table, "%s", core_text_count(price->transitions_left, left));
  hours_cell(table, price->cpu_hours);
  if (prices->speed == 0) hours_cell(table, price->gpu_hours);
}

static void print_prices(const Prices *prices) {
  static const char *const measured[] = {"sweep", "runs", "added", "to run", "transitions", "left", "CPU, h", "GPU, h"};
  static const char *const given[] = {"sweep", "runs", "added", "to run", "transitions", "left", "hours"};
  CoreTable *table = prices->speed > 0 ? core_table_create(given, 7) : core_table_create(measured, 8);
  for (size_t i = 0; i < prices->count; i++) add_row(prices, table, &prices->files[i]);
  add_row(prices, table, &prices->sum);
  core_table_print(table, stdout);
  core_table_destroy(&table);
  printf("\n");
  core_terminal_print_wrapped(stdout,
                              "added: runs that no file above has; what stands right of it is of those. Training "
                              "transitions; the search for levels (sfl) and evaluations come on top.",
                              0, 0);
  if (prices->speed > 0) printf("Hours of runs, one after another, at %g transitions a second.\n", prices->speed);
  if (prices->speed == 0 && !(isnan(prices->sum.cpu_hours) && isnan(prices->sum.gpu_hours)))
    core_terminal_print_wrapped(stdout,
                                "Hours of runs, one after another, at the speed of the nearest measured task, network "
                                "and epochs. Without Slurm, sweep submit runs one a core at a time.",
                                0, 0);
  if (prices->speed == 0 && (isnan(prices->sum.cpu_hours) || isnan(prices->sum.gpu_hours)))
    core_terminal_print_wrapped(stdout, "?: no run of this workspace has measured a speed on that kind of device yet; "
                                "--speed N prices with N transitions a second.", 0, 0);
}

static json_t *json_of_price(const Price *price) {
  json_t *cpu = isnan(price->cpu_hours) ? json_null() : json_real(price->cpu_hours);
  json_t *gpu = isnan(price->gpu_hours) ? json_null() : json_real(price->gpu_hours);
  return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "sweep", price->name, "runs", (json_int_t)price->runs,
                   "added", (json_int_t)price->added, "to_run", (json_int_t)price->to_run, "transitions",
                   price->transitions, "transitions_left", price->transitions_left, "cpu_hours", cpu, "gpu_hours", gpu);
}

static void print_json(const Prices *prices) {
  json_t *root = json_object(), *files = json_array();
  for (size_t i = 0; i < prices->count; i++) json_array_append_new(files, json_of_price(&prices->files[i]));
  json_object_set_new(root, "sweeps", files);
  json_object_set_new(root, "all", json_of_price(&prices->sum));
  core_json_print(root);
}

int sweep_plan_several(const SweepCommon *common, const char *const *operands, size_t count, double speed, bool json) {
  Prices prices = {.root = common->root, .speed = speed, .sum = {.name = "all, each run once"}};
  char path[CORE_PATH_MAX];
  int code = CORE_OK;
  TRY(sweep_plan_check_speed(speed));
  TRY(core_files_path(path, "%s/runs", common->root));
  bool has_runs = core_files_exists(path);
  if (sweep_speeds_load(common->root, &prices.speeds) != CORE_OK)
    core_warn("no measured speeds: %s", core_error_message());
  prices.files = core_memory_zero_allocate(count, sizeof *prices.files);
  for (; prices.count < count && code == CORE_OK; prices.count++)
    code = add_file(&prices, common, operands[prices.count], has_runs, &prices.files[prices.count]);
  if (code == CORE_OK) {
    add_up(&prices);
    if (json) print_json(&prices);
    else print_prices(&prices);
  }
  sweep_speeds_destroy(&prices.speeds);
  sweep_id_set_free(&prices.seen);
  free(prices.files);
  return code;
}
