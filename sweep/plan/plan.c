/* Implements `sweep plan`: what a file would run, how much of it is done, and how long the rest takes. Reads the
 * workspace and writes nothing; submit.c is its counterpart that does. */
#include "sweep/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/script.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "slurm/cluster.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/plan/cost_model.h"
#include "sweep/plan/check.h"
#include "sweep/plan/searches.h"
#include "sweep/plan/speed.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/trust.h"

/* ---- making ---------------------------------------------------------------------------------------------------- */

double sweep_plan_transitions(const CoreConfig *config) {
  CoreOrigin origin = {.iteration = 0};
  bool is_continued = strcmp(config->init.restore, "all") == 0 &&
                      core_origin_parse(config->init.from, &origin) == CORE_OK && origin.is_run && origin.iteration > 0;
  int64_t inherited = is_continued ? origin.iteration : 0;
  return (double)(core_config_iterations(config) - inherited) * (double)core_config_transitions_per_iteration(config);
}

double sweep_plan_remaining(const CoreConfig *config, const StoreState *state) {
  double end = (double)core_config_iterations(config) * (double)core_config_transitions_per_iteration(config);
  double start = end - sweep_plan_transitions(config); /* counters continue those of the parent */
  return fmax(0, end - fmax(start, (double)state->transitions));
}

static bool has_ended(const SweepSpec *spec, StoreStatus status) {
  return store_status_is_final(status) || (status == STORE_STOPPED_BY_RULE && spec->stop.rule != SWEEP_STOP_NONE);
}

/* Adds the cost of a run's remaining transitions. */
static void add_cost(const SweepSpeeds *speeds, const CoreConfig *config, double left, size_t run, SweepPlan *plan) {
  const SlurmSettings *settings = &plan->resources.sets[sweep_resources_of_run(&plan->resources, &plan->grid, run)];
  const SweepWork work = {.left = left, .speed = plan->speed, .is_here = !sweep_spec_has_resources(plan->spec)};
  SweepSpeed speed;
  const SweepCost cost = sweep_speeds_cost(speeds, config, settings, &work, &speed);
  const double seconds = config->program && speed.steps_per_second == 0 ? NAN : sweep_cost_seconds(&cost);

  plan->cost.training_s += cost.training_s;
  plan->cost.searches_s += cost.searches_s;
  plan->cost.evaluations_s += cost.evaluations_s;
  plan->cost.checkpoints_s += cost.checkpoints_s;
  plan->cost.disk_bytes += cost.disk_bytes;
  plan->seconds_left += seconds;
  plan->gpu_seconds += settings->gpus_per_run > 0 ? seconds * settings->gpus_per_run : 0;
  plan->cpu_seconds += seconds * (double)(settings->ranks_per_run * settings->cpus_per_run);

  plan->modeled += speed.steps_per_second == 0;
  plan->speed_exact = plan->speed_exact && speed.exact;
  if (speed.runs > plan->speed_runs) plan->speed_runs = speed.runs;
}

/* Adds one run: its state, remaining transitions and their cost. */
static int add_run(const char *root, const SweepSpeeds *speeds, bool has_runs, size_t run, SweepPlan *plan) {
  CoreConfig config;
  StoreState state = {.status = STORE_PENDING};
  SweepRunMemory memory;

  sweep_grid_config(&plan->grid, run, &config);
  if (has_runs) TRY(store_run_state_read(root, plan->grid.ids[run], true, &state));
  if (state.attempt > 0) {
    TRY(sweep_run_memory_read(root, plan->grid.ids[run], &memory));
    sweep_run_memory_merge(&plan->memory, &memory);
  }

  double planned = sweep_plan_transitions(&config);
  plan->status[run] = (uint8_t)state.status;
  plan->count[state.status]++;
  plan->transitions += planned;
  if (has_ended(plan->spec, state.status)) return CORE_OK;

  double remaining = sweep_plan_remaining(&config, &state);
  plan->to_run++;
  plan->resumable += state.transitions > 0;
  plan->transitions_left += remaining;
  const SweepEnvSteps acting = sweep_env_steps_left(&config, remaining);
  plan->search_steps += acting.searches;
  plan->evaluation_steps += acting.evaluations;
  add_cost(speeds, &config, remaining, run, plan);
  return CORE_OK;
}

static int add_runs(const char *root, const SweepSpeeds *speeds, SweepPlan *plan) {
  char path[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/runs", root));
  bool has_runs = core_files_exists(path); /* without it no run has a state */
  plan->speed_exact = true;
  plan->status = core_memory_allocate(plan->grid.runs * sizeof *plan->status);
  for (size_t run = 0; run < plan->grid.runs; run++) TRY(add_run(root, speeds, has_runs, run, plan));
  return CORE_OK;
}

/* Removes the runs that do not match the conditions from the grid, not from the manifest. */
static int filter_runs(const CoreOptionList *where, SweepPlan *plan) {
  SweepGrid part;
  if (where->count == 0) return CORE_OK;
  TRY(sweep_where_select(&plan->grid, where, &part));
  free(plan->grid.ids);
  free(plan->grid.places);
  plan->grid = part;
  return CORE_OK;
}

int sweep_plan_make(const char *root, const SweepSpec *spec, const SweepPlanOptions *options, SweepPlan *plan) {
  SweepSpeeds *speeds;
  int code;
  *plan = (SweepPlan){.spec = spec, .speed = options->speed};

  TRY(sweep_plan_check_speed(options->speed));
  TRY(sweep_grid_expand(spec, &plan->grid));
  TRY_GOTO(code, out, sweep_searches_check(&plan->grid));
  TRY_GOTO(code, out, sweep_duplicates_check(&plan->grid));
  TRY_GOTO(code, out, sweep_manifest_merge(root, &plan->grid, &plan->manifest, &plan->change));
  TRY_GOTO(code, out, filter_runs(&options->where, plan));
  TRY_GOTO(code, out, sweep_resources_make(&plan->grid, &plan->resources));

  /* Without a readable database the plan reports why, and has the model's estimate. */
  if (sweep_speeds_load(root, &speeds) != CORE_OK)
    snprintf(plan->speed_problem, sizeof plan->speed_problem, "%s", core_error_message());
  code = add_runs(root, speeds, plan);
  sweep_speeds_destroy(&speeds);
out:
  if (code != CORE_OK) sweep_plan_free(plan);
  return code;
}

size_t sweep_plan_to_run(const SweepPlan *plan, size_t set) {
  size_t count = 0;
  for (size_t run = 0; run < plan->grid.runs; run++)
    count += sweep_resources_of_run(&plan->resources, &plan->grid, run) == set &&
             !has_ended(plan->spec, (StoreStatus)plan->status[run]);
  return count;
}

int sweep_plan_check_speed(double speed) {
  if (speed >= 0 && isfinite(speed)) return CORE_OK;
  return core_error(CORE_USAGE, "--speed %g: expected a positive number of transitions per second", speed);
}

void sweep_plan_free(SweepPlan *plan) {
  sweep_grid_free(&plan->grid);
  sweep_manifest_free(&plan->manifest);
  free(plan->status);
  sweep_resources_free(&plan->resources);
  core_text_free(&plan->untrusted);
  sweep_code_free(&plan->codes);
  *plan = (SweepPlan){0};
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static const CoreManual manual = {
    .usage = "sweep plan FILE|NAME... [options]",
    .about =
        "Shows what an experiment file would run: axes, cells, seeds and runs, how much is done, how many transitions "
        "remain, and what they cost: time, GPU-hours and bytes, by measured speeds or else by a model. The trainer "
        "checks each distinct configuration: levels, encoders, parents, memory; not if the file names code that is not "
        "trusted, which the plan reports. Of a [program] it shows the first command and which code is hashed. Writes "
        "and starts nothing. FILE is an experiment (docs/experiments.md), NAME a submitted sweep. For several files, "
        "prints what each adds to those before it (shared runs count once) and the total cost.",
    .more = core_script_help,
    .operands_min = 1,
    .operands = {"FILE|NAME"},
    .operands_max = SIZE_MAX};

/* Time limit of the check, since a plan is interactive. sweep submit has none. */
static const double check_timeout_s = 30;

static const int64_t NO_SCRIPT = INT64_MIN;

typedef struct PlanOptions {
  SweepCommon common;
  SweepPlanOptions plan;
  bool json, runs, test_only, no_check, trust, power;
  int64_t script;        /* number of an array; NO_SCRIPT: none */
} PlanOptions;

/* Notes that the sweep or its code is not trusted. --trust is for the code: sweep submit --trust prints the sweep. */
static int find_untrusted(const PlanOptions *options, SweepPlan *plan) {
  const int code = sweep_trust_check(options->common.root, plan->spec);
  if (code == CORE_USAGE) {
    core_text_append(&plan->untrusted, core_error_message());
    core_error_clear();
    return CORE_OK;
  }
  TRY(code);
  return sweep_code_find_untrusted(&plan->grid, options->trust, &plan->untrusted);
}

/* Checks that the runs would start where sweep submit would start them. A [slurm] section without Slurm on this machine
 * means another cluster, whose machines are not this one. */
static int check(const PlanOptions *options, SlurmCluster *cluster, SweepPlan *plan) {
  const char *root = options->common.root;
  TRY(find_untrusted(options, plan));
  TRY(sweep_code_compare(root, &plan->grid, &plan->codes));
  if (plan->change.absent > 0 && options->plan.where.count == 0)
    sweep_code_compare_absent(root, &plan->grid, &plan->manifest, &plan->codes);
  if (options->no_check || plan->untrusted.length > 0) return CORE_OK;
  const bool is_remote = cluster || sweep_spec_has_resources(plan->spec);
  const SweepCheckOptions check_options = {.root = root,
                                           .resources = is_remote ? &plan->resources : NULL,
                                           .in_root = cluster != NULL,
                                           .seconds = check_timeout_s};
  plan->is_checked = true;
  return sweep_check_grid(&check_options, &plan->grid, &plan->checked);
}

/* Prints only the batch script that sweep submit would send to Slurm now, so that it can be piped into sbatch
 * --test-only. */
static int print_script(const char *root, const SweepPlan *plan, int64_t array) {
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster = NULL;
  SlurmFault fault;
  SweepPreview preview = {.array = array};
  SweepLaunchResult result;
  const char *name = plan->spec->name;

  TRY(sweep_spec_slurm(plan->spec, &settings));
  int code = slurm_cluster_open(settings.api, &cluster, &fault);
  if (code != CORE_OK && fault != SLURM_ABSENT) return code;

  const SweepLaunch launch = {
    .root = root, .name = name, .cluster = cluster, .settings = &settings, .resources = &plan->resources,
    .mode = SWEEP_LAUNCH_PREVIEW, .preview = &preview};
  code = sweep_launch_grid(&launch, &plan->grid, &plan->manifest, &result);
  slurm_cluster_close(&cluster);

  if (code == CORE_OK && preview.arrays == 0)
    code = core_error(
        CORE_FAIL,
        "%s: there is nothing to submit (%zu runs are finished, %zu in the queue, %zu running, %zu diverged)", name,
        result.runs[SWEEP_FINISHED], result.runs[SWEEP_QUEUED], result.runs[SWEEP_RUNNING],
        result.runs[SWEEP_DIVERGED]);
  else if (code == CORE_OK && !preview.script.length)
    code = core_error(CORE_USAGE, "--script %lld: %s makes arrays 0 to %lld", (long long)array, name,
                      (long long)preview.arrays - 1);

  if (code == CORE_OK) fputs(core_text_string(&preview.script), stdout);
  if (code == CORE_OK && preview.arrays > 1)
    fprintf(stderr, "note: array %lld of %lld; --script N shows another\n", (long long)array,
            (long long)preview.arrays);
  core_text_free(&preview.script);
  return code;
}

/* Asks Slurm whether it would accept the jobs and when they would start. */
static int test_submission(const char *root, const SweepPlan *plan, SlurmCluster *cluster) {
  SlurmSettings settings = slurm_settings_default();
  SweepLaunchResult result;
  if (!cluster) return core_error(CORE_FAIL, "--test-only asks Slurm, which is not on this machine or does not answer");
  TRY(sweep_spec_slurm(plan->spec, &settings));
  const SweepLaunch launch = {.root = root, .name = plan->spec->name, .cluster = cluster, .settings = &settings,
                              .resources = &plan->resources, .mode = SWEEP_LAUNCH_TEST_ONLY};
  return sweep_launch_grid(&launch, &plan->grid, &plan->manifest, &result);
}

/* Prints the highest cost that [slurm] allows; nothing without resources, or without a Slurm here. */
static void print_cost(const SweepPlan *plan, SlurmCluster *cluster) {
  const SweepResources *resources = &plan->resources;
  SlurmAllowance allowance;
  CoreText text = {0};
  if (!cluster || !sweep_spec_has_resources(plan->spec) || plan->to_run == 0) return;

  SweepDemand *demands = core_memory_zero_allocate(resources->count, sizeof *demands);
  const char **labels = core_memory_zero_allocate(resources->count, sizeof *labels);
  size_t count = 0; /* sets with runs, of which --where may leave one */
  for (size_t set = 0; set < resources->count; set++) {
    const size_t runs = sweep_plan_to_run(plan, set);
    labels[count] = resources->labels[set];
    if (runs > 0) demands[count++] = (SweepDemand){&resources->sets[set], runs};
  }

  if (count > 1) {
    for (size_t set = 0; set < count; set++) {
      core_text_clear(&text);
      sweep_launch_append_cost(&demands[set], 1, &text);
      printf("%-12s %s: %zu runs, %s\n", set ? "" : "on Slurm", labels[set], demands[set].runs,
             core_text_string(&text));
    }
  }

  core_text_clear(&text);
  sweep_launch_append_cost(demands, count, &text);
  printf("%-12s %s%s\n", count > 1 ? "" : "on Slurm", count > 1 ? "together " : "", core_text_string(&text));
  core_text_clear(&text);

  const SlurmSettings *first = demands[0].settings;
  if (slurm_allowance(cluster, first->account, first->qos, &allowance) == CORE_OK)
    sweep_launch_append_allowance(&allowance, demands, count, &text);
  core_error_clear();
  printf("%s", core_text_string(&text));
  core_text_free(&text);
  free(labels);
  free(demands);
}

/* Checks each resource set against the cluster's partitions. */
static int check_partitions(const SweepPlan *plan, SlurmCluster *cluster) {
  const SweepResources *resources = &plan->resources;
  if (!cluster || !sweep_spec_has_resources(plan->spec)) return CORE_OK;

  for (size_t set = 0; set < resources->count; set++) {
    const char *label = *resources->labels[set] ? resources->labels[set] : "this sweep";
    const bool has_runs = sweep_plan_to_run(plan, set) > 0;
    const int code = has_runs ? sweep_fit_check(cluster, &resources->sets[set]) : CORE_OK;
    if (code == CORE_OK) continue;
    if (code == CORE_USAGE) return core_error_context(code, "%s: runs of %s", plan->spec->ini.file, label);
    core_warn("cannot check whether a partition accepts these runs: %s", core_error_message());
    core_error_clear();
    return CORE_OK;
  }
  return CORE_OK;
}

static int print(const PlanOptions *options, SlurmCluster *cluster, SweepPlan *plan) {
  const char *root = options->common.root;
  TRY(check(options, cluster, plan));
  if (options->script != NO_SCRIPT) return print_script(root, plan, options->script);
  if (options->test_only) return test_submission(root, plan, cluster);
  if (!options->no_check) TRY(check_partitions(plan, cluster));
  if (options->json) {
    sweep_plan_print_json(root, plan, options->runs);
    return CORE_OK;
  }
  sweep_plan_print(root, plan, options->runs);
  print_cost(plan, cluster);
  return CORE_OK;
}

/* Opens the cluster, if this is a login node. NULL: no Slurm here, or it does not answer. */
static SlurmCluster *find_cluster(const SweepSpec *spec) {
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster = NULL;
  if (sweep_spec_slurm(spec, &settings) == CORE_OK) slurm_cluster_open(settings.api, &cluster, NULL);
  core_error_clear(); /* errors of [slurm] are reported where it is used */
  return cluster;
}

static int plan_one(const PlanOptions *options, const char *operand) {
  SweepSpec spec;
  SweepPlan plan;
  TRY(sweep_common_spec(&options->common, operand, &spec));
  if (options->power) {
    const int code = sweep_power_print(options->common.root, &spec, options->json);
    sweep_spec_free(&spec);
    return code;
  }

  int code = sweep_plan_make(options->common.root, &spec, &options->plan, &plan);
  if (code == CORE_OK) {
    SlurmCluster *cluster = find_cluster(&spec);
    code = print(options, cluster, &plan);
    slurm_cluster_close(&cluster);
    sweep_plan_free(&plan);
  }
  sweep_spec_free(&spec);
  return code;
}

static int plan(void *given, const char **operands, size_t count) {
  PlanOptions *options = given;
  bool is_missing;
  if ((options->script != NO_SCRIPT) + options->test_only + options->json > 1)
    return core_error(CORE_USAGE, "--script, --test-only and --json exclude each other");
  TRY(store_root_plan(options->common.root_option, options->common.root, &is_missing));
  if (is_missing) core_unicode_print(stderr, "note: %s does not exist yet; sweep submit creates it\n",
                                     options->common.root);
  if (count == 1) return plan_one(options, operands[0]);
  if (options->plan.where.count > 0)
    return core_error(CORE_USAGE, "--where selects runs of one file; found %zu files", count);
  if (options->runs) return core_error(CORE_USAGE, "--runs lists the runs of one file; found %zu files", count);
  if (options->script != NO_SCRIPT || options->test_only)
    return core_error(CORE_USAGE, "--script and --test-only take one file; found %zu files", count);
  if (options->power) return core_error(CORE_USAGE, "--power is of one file; found %zu files", count);
  return sweep_plan_files(&options->common, operands, count, options->plan.speed, options->json);
}

int sweep_plan(int argc, char **argv) {
  PlanOptions given = {.script = NO_SCRIPT};
  const CoreOption options[] = {
      SWEEP_OPTION_PROFILE(given.common),
      SWEEP_OPTION_SET(given.common),
      SWEEP_OPTION_ROOT(given.common),
      SWEEP_OPTION_WHERE(given.plan.where),
      {"runs", 0, CORE_OPTION_FLAG, &given.runs, NULL, "list each run with id, status and settings that differ"},
      {"speed", 0, CORE_OPTION_REAL, &given.plan.speed, "N",
       "estimate times at N transitions per second and run instead of measured speeds"},
      {"power", 0, CORE_OPTION_FLAG, &given.power, NULL,
       "instead of the plan: for each claim of the papers that the file tests, how often it would be supported if it "
       "is true, and with how many seeds; seeds vary as in the workspace's runs, or as assumed (docs/results.md)"},
      {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "print JSON instead of tables"},
      {"script", 0, CORE_OPTION_INT, &given.script, "N",
       "print the exact batch script of array N that sweep submit would send to Slurm now; the first is 0"},
      {"test-only", 0, CORE_OPTION_FLAG, &given.test_only, NULL,
       "ask Slurm whether it would accept the jobs and when they would start"},
      {"no-check", 0, CORE_OPTION_FLAG, &given.no_check, NULL,
       "do not have the trainer check that the runs would start"},
      {"trust", 0, CORE_OPTION_FLAG, &given.trust, NULL,
       "trust the code that env.task, env.python, env.code and [program] name until it changes"},
      {0}};

  return core_options_run(&manual, options, argc, argv, plan, &given);
}
