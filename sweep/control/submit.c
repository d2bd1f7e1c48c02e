/* `sweep submit`: records the manifest and the runs, then submits the missing runs to Slurm (launch.c) or, without
 * Slurm, to the local executor. Safe to repeat: finished runs stay, missing and failed ones are started, interrupted
 * ones resume from their checkpoints.
 *
 *   submit_waves           --wait: every wave of a search; otherwise, and without a search: once
 *     submit_wave          proposes trials, expands the grid and checks its runs
 *       submit_runs        records the runs in the manifest and in results.db
 *         submit_here      starts the executor, or
 *         submit_to_slurm  submits job arrays; --wait: repeatedly, until none of the runs waits for the job limit */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "slurm/cluster.h"
#include "store/workspace/run.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/control/submit_internal.h"
#include "sweep/control/output.h"
#include "sweep/control/resubmission.h"
#include "sweep/supervise/environment.h"
#include "sweep/local/executor.h"
#include "sweep/local/notify.h"
#include "sweep/local/queue.h"
#include "sweep/plan/check.h"
#include "sweep/plan/code.h"
#include "sweep/plan/searches.h"
#include "sweep/search/ask.h"
#include "sweep/search/wave.h"
#include "sweep/spec/markers.h"
#include "sweep/spec/extension.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"
#include "sweep/spec/where.h"
#include "sweep/status/cluster_status.h"

enum { ROOM_POLL_S = 10 };

typedef struct SubmitOptions {
  SweepCommon common;
  CoreOptionList where;
  bool wait, force, no_start, local, hold, no_check, trust, keep, json, same_environment;
  int64_t jobs;              /* 0: not set */
  const char *seeds;         /* NULL: no new seeds */
  SweepResubmission again;   /* chosen runs; none: all */
  SweepOutput output;
} SubmitOptions;

/* A sweep to submit, and where to. */
typedef struct Submission {
  const SubmitOptions *options;
  bool is_first_wave;        /* later waves leave failed runs alone, and restart none */
  const SweepSpec *spec;
  const SlurmSettings *settings;
  const SweepResources *resources;
  SlurmCluster *cluster;     /* NULL: this machine */
  const SweepGrid *grid;     /* all runs */
  const SweepGrid *part;     /* runs that --where selects */
} Submission;

/* Whether the user has chosen runs: by name, --failed or --by-rule. */
static bool is_chosen(const SubmitOptions *options) { return sweep_resubmission_is_requested(&options->again); }

/* ---- this machine ------------------------------------------------------------------------------------------------ */

/* Ends an interrupted extension by seeds: all runs of the grid are submitted now, including those of its seeds. */
static int end_extension(const Submission *s, const SweepGrid *grid) {
  if (grid->is_part) return CORE_OK;
  return sweep_extension_end(s->options->common.root, s->spec->name, s->spec->seeds, s->spec->seed_count);
}

static void print_nothing_to_start(const Submission *s, const size_t runs[SWEEP_CONDITIONS]) {
  FILE *out = s->options->output.out;
  fprintf(out, "nothing to start: %zu runs are finished", runs[SWEEP_FINISHED]);
  if (runs[SWEEP_DIVERGED]) fprintf(out, ", %zu diverged (--force runs them again)", runs[SWEEP_DIVERGED]);
  if (runs[SWEEP_STOPPED_BY_RULE])
    fprintf(out, ", %zu stopped by rule (sweep submit %s --by-rule resumes them)", runs[SWEEP_STOPPED_BY_RULE],
            s->spec->name);
  fprintf(out, "\n");
}

/* Makes the request, and checks it against a queued one, whose runs also continue (*has_more_runs). */
static int make_request(const Submission *s, SweepQueueRequest *request, bool *has_more_runs) {
  const SubmitOptions *options = s->options;
  *request = (SweepQueueRequest){
    .jobs = options->jobs, .force = options->force, .requested_unix_s = core_clock_unix_s()};
  if (options->hold) snprintf(request->held, sizeof request->held, "all");
  TRY(sweep_where_format(&options->where, request->where));
  return sweep_queue_check(options->common.root, s->spec->name, request, has_more_runs);
}

/* Queues the sweep for the executor, and starts that if necessary. recorded: number of runs in the manifest. */
static int start_here(const Submission *s, size_t recorded, const size_t runs[SWEEP_CONDITIONS]) {
  const SubmitOptions *options = s->options;
  const char *root = options->common.root, *name = s->spec->name;
  const size_t pending = runs[SWEEP_NOT_SUBMITTED] + runs[SWEEP_RUNNING];
  int64_t executor;
  bool has_joined, has_more_runs, is_queued;
  SweepQueueRequest request;

  if (pending == 0) {
    print_nothing_to_start(s, runs);
    return end_extension(s, s->part);
  }

  TRY(make_request(s, &request, &has_more_runs));
  if (is_chosen(options)) TRY(sweep_resubmission_lift_stops(&options->again));
  sweep_archived_end(root, name);
  sweep_notify_reset(root, name, recorded - pending);
  TRY(sweep_environment_record(root, name));
  TRY(sweep_queue_write(root, name, &request));
  TRY(sweep_queue_read(root, name, &request, &is_queued)); /* runs that were held stay held */
  TRY(sweep_executor_start(root, name, &executor, &has_joined));
  TRY(end_extension(s, s->part));

  fprintf(options->output.out, "%s: %zu runs to do, %s executor %lld\n", name, runs[SWEEP_NOT_SUBMITTED],
          has_joined ? "added to" : "started", (long long)executor);
  if (has_more_runs)
    fprintf(options->output.out, "%s: the runs queued earlier continue, too; sweep stop %s drops all\n", name, name);

  if (*request.held)
    fprintf(options->output.out, "%s: runs of it are held; sweep hold %s --off lets them start\n", name, name);
  if (options->wait) return sweep_wait_here(root, s->part, options->output.out);
  fprintf(options->output.out, "running in the background; progress: sweep status %s   stop: sweep stop %s\n", name,
          name);
  return CORE_OK;
}

static int submit_here(const Submission *s, size_t recorded) {
  const SubmitOptions *options = s->options;
  const SweepOutput *output = &options->output;
  size_t runs[SWEEP_CONDITIONS];

  TRY(sweep_missing_count(options->common.root, s->part, options->force, is_chosen(options), runs));
  sweep_output_set_count(output, "to_run", runs[SWEEP_NOT_SUBMITTED]);
  sweep_output_set_count(output, "finished", runs[SWEEP_FINISHED]);
  sweep_output_set_count(output, "diverged", runs[SWEEP_DIVERGED]);
  sweep_output_set_count(output, "running", runs[SWEEP_RUNNING]);
  sweep_output_set_count(output, "stopped_by_rule", runs[SWEEP_STOPPED_BY_RULE]);

  return start_here(s, recorded, runs);
}

/* ---- Slurm ------------------------------------------------------------------------------------------------------- */

/* Opens the cluster to submit to; NULL: this machine. Without Slurm's commands or configuration the machine is taken
 * for a workstation. A cluster that does not answer is an error, so that no sweep runs on a login node by accident. */
static int choose_cluster(const SubmitOptions *options, const SlurmSettings *settings, SlurmCluster **cluster) {
  SlurmFault fault;
  *cluster = NULL;
  if (options->local || options->no_start || options->jobs > 0) return CORE_OK; /* --jobs limits this machine's runs */
  const int code = slurm_cluster_open(settings->api, cluster, &fault);
  const bool is_absent = code != CORE_OK && fault == SLURM_ABSENT && strcmp(settings->api, "auto") == 0;
  return is_absent ? CORE_OK : code;
}

static void report_counts(const SweepOutput *output, const SweepLaunchResult *result) {
  sweep_output_set_count(output, "submitted", result->submitted);
  sweep_output_set_count(output, "arrays", result->arrays);
  sweep_output_set_count(output, "queued", result->runs[SWEEP_QUEUED]);
  sweep_output_set_count(output, "finished", result->runs[SWEEP_FINISHED]);
  sweep_output_set_count(output, "diverged", result->runs[SWEEP_DIVERGED]);
  sweep_output_set_count(output, "running", result->runs[SWEEP_RUNNING]);
  sweep_output_set_count(output, "stopped_by_rule", result->runs[SWEEP_STOPPED_BY_RULE]);
  sweep_output_set_count(output, "waiting", result->waiting);
}

static void print_result(const Submission *s, const SweepLaunchResult *result) {
  static const struct { SweepCondition condition; const char *text; } descriptions[] = {
    {SWEEP_QUEUED, "in the queue already"},
    {SWEEP_RUNNING, "running"},
    {SWEEP_FINISHED, "finished"},
    {SWEEP_DIVERGED, "diverged (--force runs them again)"},
    {SWEEP_FAILED, "failed (sweep submit --failed runs them again)"},
    {SWEEP_STOPPED_BY_RULE, "stopped by rule (sweep submit --by-rule resumes them)"},
    {SWEEP_OUT_OF_MEMORY, "ran out of memory (sweep status --cost recommends a limit for --failed --mem)"}};

  FILE *out = s->options->output.out;
  const char *name = s->spec->name;
  if (result->submitted > 0)
    fprintf(out, "%s: %zu runs submitted in %zu array%s\n", name, result->submitted, result->arrays,
            result->arrays == 1 ? "" : "s");
  else if (!result->waiting) fprintf(out, "nothing to submit\n");
  for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++) {
    const size_t count = result->runs[descriptions[i].condition];
    if (count > 0) fprintf(out, "  %zu %s\n", count, descriptions[i].text);
  }

  if (result->orphans)
    fprintf(out, "  %zu start from runs that are neither done nor in a queue (%s): submit those first\n",
            result->orphans, result->orphan);
  if (result->submitted) fprintf(out, "  progress: sweep status %s   stop: sweep stop %s\n", name, name);
}

/* Submits once, and reports the result. first_batch: number of the first batch of this command; 0: none yet. Runs that
 * --force has restarted since then are not restarted again. */
static int launch_once(const Submission *s, const SweepManifest *manifest, int64_t first_batch,
                       SweepLaunchResult *result) {
  const SubmitOptions *options = s->options;
  const SweepLaunch launch = {.root = options->common.root,
                              .name = s->spec->name,
                              .cluster = s->cluster,
                              .settings = s->settings,
                              .resources = s->resources,
                              .force = options->force && s->is_first_wave,
                              .forced_before_batch = first_batch,
                              .keep_failed = !s->is_first_wave,
                              .resume_stopped = is_chosen(options),
                              .out = options->output.out,
                              .held = options->hold};

  if (is_chosen(options)) TRY(sweep_resubmission_lift_stops(&options->again));
  TRY(sweep_environment_record(launch.root, launch.name));
  const int code = sweep_launch_grid(&launch, s->part, manifest, result);
  sweep_cluster_status_clear_cache();
  report_counts(&options->output, result);

  if (code != CORE_OK && result->submitted + result->rejected > 0)
    return core_error(code, "%zu runs were submitted, %zu were not: %s; run sweep submit again for those",
                      result->submitted, result->rejected, core_error_message());
  TRY(code);

  if (result->waiting == 0) TRY(end_extension(s, s->part));
  print_result(s, result);
  return CORE_OK;
}

static int job_limit_error(const Submission *s, size_t waiting) {
  if (s->options->force && s->is_first_wave)
    return core_error(CORE_REQUEUE, "%zu runs are not submitted yet: the job limit is reached; restart them with sweep "
                      "submit %s RUN --force when some jobs have ended, or use sweep submit --force --wait", waiting,
                      s->spec->name);
  return core_error(CORE_REQUEUE, "%zu runs are not submitted yet: the job limit is reached; run sweep submit again "
                    "when some jobs have ended, or use --wait", waiting);
}

/* Submits, and with --wait waits and submits again until the job limit holds no run back. Failed runs end the wait,
 * since a user has to look at them. */
static int submit_to_slurm(const Submission *s, const SweepManifest *manifest) {
  const SubmitOptions *options = s->options;
  int64_t first_batch = 0;

  for (;;) {
    SweepLaunchResult result;
    TRY(launch_once(s, manifest, first_batch, &result));
    if (!options->wait) return result.waiting > 0 ? job_limit_error(s, result.waiting) : CORE_OK;

    /* Other jobs of this user may fill the queue; then there is none of this sweep to wait for. */
    const bool is_full_of_others = result.waiting > 0 && result.submitted + result.runs[SWEEP_QUEUED] == 0;
    if (is_full_of_others) sleep(ROOM_POLL_S);
    const int code = sweep_wait_on_slurm(options->common.root, s->part, options->output.out);
    if (result.waiting == 0 || code == CORE_FAIL) return code;
    if (first_batch == 0) first_batch = result.batch;
  }
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Merges the runs into the manifest and registers them. The caller frees the manifest, also after an error. */
static int record_runs(const Submission *s, SweepManifest *manifest, SweepManifestChange *change) {
  const SweepCommon *common = &s->options->common;
  TRY(sweep_extension_begin(common->root, s->spec->name, common->extra_seeds, common->extra_seed_count));
  TRY(sweep_manifest_record(common->root, s->grid, manifest, change));
  return sweep_register_runs(common->root, s->spec, s->grid, manifest);
}

/* Prints which files were edited since the runs that are no longer in the file. */
static void print_old_code(const Submission *s, const SweepManifest *manifest) {
  SweepCodeChanges codes = {0};
  CoreText text = {0};
  sweep_code_compare_absent(s->options->common.root, s->grid, manifest, &codes);
  sweep_code_describe_absent(&codes, &text);
  if (text.length > 0) fprintf(s->options->output.out, "%s: %s\n", s->spec->name, text.data);
  core_text_free(&text);
  sweep_code_free(&codes);
}

static void report_runs(const Submission *s, const SweepManifest *manifest, const SweepManifestChange *change) {
  const SubmitOptions *options = s->options;
  const SweepOutput *output = &options->output;
  const char *backend = options->no_start ? "none" : s->cluster ? "slurm" : "local";
  sweep_output_set_count(output, "runs", s->grid->runs);
  sweep_output_set_count(output, "new", change->added);
  sweep_output_set_count(output, "not_in_file", change->absent);
  sweep_output_set(output, "backend", core_json_text(backend));
  if (options->common.is_new) core_unicode_print(output->out, "made the workspace %s\n", options->common.root);
  fprintf(output->out, "%s: %zu runs, %zu new in the manifest", s->spec->name, s->grid->runs, change->added);
  if (change->absent)
    fprintf(output->out, "; %zu earlier ones are no longer in the file and stay as they are", change->absent);
  fprintf(output->out, "\n");
  if (change->absent) print_old_code(s, manifest);
  fflush(output->out);
}

static int submit_runs(const Submission *s) {
  const SubmitOptions *options = s->options;
  SweepManifest manifest = {0};
  SweepManifestChange change;
  int code;
  TRY_GOTO(code, out, record_runs(s, &manifest, &change));
  report_runs(s, &manifest, &change);
  if (s->cluster) code = submit_to_slurm(s, &manifest);
  else if (!options->no_start) code = submit_here(s, manifest.count);
  else code = end_extension(s, s->grid);
out:
  sweep_manifest_free(&manifest);
  return code;
}

/* Checks the runs now, since a batch system would report an error only after a night in the queue. With --trust and
 * --keep, also records what the user accepts. */
static int check_runs(const Submission *s) {
  const SubmitOptions *options = s->options;
  SweepCheckSummary checked;
  const bool is_on_cluster = s->cluster != NULL;
  const SweepCheckOptions request = {.root = options->common.root, .resources = is_on_cluster ? s->resources : NULL,
                                     .in_root = is_on_cluster};
  const SweepCodeChoice choice = {.trust = options->trust, .force = options->force, .keep = options->keep,
                                  .out = options->output.out};

  TRY(sweep_searches_check(s->part));
  TRY(sweep_duplicates_check(s->part));
  TRY(sweep_code_admit(options->common.root, s->part, &choice));

  if (options->no_check) return CORE_OK;
  TRY(sweep_check_grid(&request, s->part, &checked));
  if (checked.problem[0])
    core_warn("%zu of %zu configurations were not checked: %s", checked.distinct - checked.checked, checked.distinct,
              checked.problem);
  return CORE_OK;
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

static size_t count_trials(const SweepSpec *spec) {
  size_t trials = 0;
  for (size_t i = 0; i < spec->search_count; i++) trials += spec->searches[i].trials;
  return trials;
}

static bool has_program(const SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++)
    if (core_search_has_program(&spec->searches[i].space) && sweep_search_is_open(&spec->searches[i])) return true;
  return false;
}

/* Checks that the programs of the searches are trusted before one is started, and that they can propose before anything
 * is trained. */
static int admit_programs(const SubmitOptions *options, const SweepSpec *spec) {
  const SweepCodeChoice choice = {.trust = options->trust, .out = options->output.out};
  if (!has_program(spec)) return CORE_OK;
  TRY(sweep_code_admit_text(options->common.root, spec, &choice));
  return options->no_check ? CORE_OK : sweep_ask_check(spec);
}

/* Adds the next trials of each search whose earlier trials have ended. */
static int propose(const SubmitOptions *options, SweepSpec *spec) {
  const SweepOutput *output = &options->output;
  size_t proposed = 0;
  if (is_chosen(options)) return CORE_OK;
  TRY(admit_programs(options, spec));
  TRY(sweep_wave_propose(options->common.root, spec, &proposed));
  if (spec->search_count > 0) sweep_output_set_count(output, "proposed", proposed);
  if (proposed > 0) fprintf(output->out, "%s: %zu trials proposed\n", spec->name, proposed);
  if (sweep_spec_is_open(spec))
    fprintf(output->out, "%s: %zu trials so far; the others follow in waves, based on their results\n", spec->name,
            count_trials(spec));
  return CORE_OK;
}

/* ---- chosen runs ------------------------------------------------------------------------------------------------- */

/* Applies --mem and --time to the resources of the chosen runs, which Slurm has had at least once or gets now. */
static int change_resources(const Submission *s, SweepResources *resources) {
  const SweepResubmission *again = &s->options->again;
  if (s->cluster) return sweep_resubmission_set_resources(again, s->part, resources);
  if (!again->mem && !again->time) return CORE_OK;
  return core_error(CORE_USAGE, "--%s is a limit of Slurm jobs, and these runs start on this machine, which has none",
                    again->mem ? "mem" : "time");
}

/* Chooses the runs. *count: their number; 0 is no error, and is reported. */
static int choose_runs(SubmitOptions *options, const SweepSpec *spec, size_t *count) {
  const SweepOutput *output = &options->output;
  SweepResubmission *again = &options->again;
  TRY(sweep_resubmission_choose(options->common.root, spec->name, again, &options->where, count));
  json_t *ids = json_array();
  sweep_selection_list(&again->selection, again->selection.is_selected, ids);
  sweep_output_set(output, "run", ids);
  if (*count > 0) return CORE_OK;
  sweep_output_set_count(output, "submitted", 0);
  fprintf(output->out, "%s: nothing to submit: no run %s\n", spec->name,
          again->by_rule && !again->failed ? "was stopped by its rule" : "has failed or was lost");
  return CORE_OK;
}

/* ---- waves ------------------------------------------------------------------------------------------------------- */

/* Submits the runs of the trials so far. *is_on_cluster: whether they go to Slurm; unchanged where an error comes
 * first. */
static int submit_wave(const SubmitOptions *options, SweepSpec *spec, bool is_first, bool *is_on_cluster) {
  SweepGrid grid, part;
  SweepResources resources = {0};
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster;

  TRY(sweep_spec_slurm(spec, &settings));
  TRY(propose(options, spec));
  TRY(choose_cluster(options, &settings, &cluster));
  *is_on_cluster = cluster != NULL;
  const bool is_here = !cluster && !options->no_start;
  const Submission s = {.options = options, .is_first_wave = is_first, .spec = spec, .settings = &settings,
                        .resources = &resources, .cluster = cluster, .grid = &grid, .part = &part};

  int code = sweep_grid_expand(spec, &grid);
  if (code == CORE_OK) {
    code = sweep_where_select(&grid, &options->where, &part);
    if (code == CORE_OK && is_here) code = sweep_where_check_here(options->common.root, &grid, &part);
    if (code == CORE_OK) code = sweep_resources_make(&part, &resources);
    if (code == CORE_OK && is_chosen(options)) code = change_resources(&s, &resources);
    if (code == CORE_OK) code = check_runs(&s);
    if (code == CORE_OK) code = submit_runs(&s);
    sweep_resources_free(&resources);
    sweep_where_free(&part);
    sweep_grid_free(&grid);
  }

  slurm_cluster_close(&cluster);
  return code;
}

/* Submits. With --wait on a cluster, also submits wave after wave of a search; on this machine the executor does
 * (executor.h). A wave with failed or diverged runs has ended as well, and is not repeated. Tasks may have proposed
 * and submitted waves meanwhile. */
static int submit_waves(SubmitOptions *options, SweepSpec *spec) {
  size_t chosen = 0;
  bool is_on_cluster = false;
  if (options->same_environment)
    sweep_environment_apply(options->common.root, spec->name, SWEEP_ENVIRONMENT_REPLACE);
  if (is_chosen(options)) TRY(choose_runs(options, spec, &chosen));
  if (is_chosen(options) && chosen == 0) return CORE_OK;

  int code = submit_wave(options, spec, true, &is_on_cluster);
  bool has_more = options->wait && is_on_cluster && !is_chosen(options);
  while (has_more && (code == CORE_OK || code == CORE_FAIL) && sweep_spec_is_open(spec)) {
    const int wave_code = code;
    const size_t old_trials = count_trials(spec);
    char message[1024];
    snprintf(message, sizeof message, "%s", core_error_message());

    code = submit_wave(options, spec, false, &is_on_cluster);
    has_more = is_on_cluster && count_trials(spec) > old_trials;

    /* A wave without new trials succeeds although runs of the one before have failed, whose error stands. */
    if (!has_more && code == CORE_OK && wave_code != CORE_OK) code = core_error(wave_code, "%s", message);
  }
  return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Submits, and with --json prints the results, also of a failure. */
static int submit_and_report(SubmitOptions *options, SweepSpec *spec) {
  SweepOutput *output = &options->output;
  *output = sweep_output_open(options->json);
  sweep_output_set(output, "sweep", core_json_text(spec->name));
  sweep_output_set(output, "root", core_json_text(options->common.root));
  const int code = submit_waves(options, spec);
  sweep_output_set(output, "error", code == CORE_OK ? json_null() : core_json_text(core_error_message()));
  sweep_output_close(output);
  return code;
}

/* Refuses options that contradict each other. */
static int check_options(const SubmitOptions *options) {
  if (options->force && options->keep)
    return core_error(CORE_USAGE, "--force and --keep exclude each other: runs by other code either restart or stay");
  if (options->hold && options->wait)
    return core_error(CORE_USAGE, "--hold and --wait exclude each other: held runs do not end");
  if (options->hold && options->no_start)
    return core_error(CORE_USAGE, "--hold and --no-start exclude each other: only queued runs are held");
  if (options->no_start && is_chosen(options))
    return core_error(CORE_USAGE, "--no-start and a choice of runs exclude each other: these runs are recorded");
  if (options->seeds && is_chosen(options))
    return core_error(CORE_USAGE, "--seeds adds runs, and --failed, --by-rule and RUN choose some; use one of them");
  if (options->jobs < 0) return core_error(CORE_USAGE, "--jobs %lld: must be at least 1", (long long)options->jobs);
  return sweep_resubmission_check(&options->again);
}

static int submit(void *context, const char **operands, size_t count) {
  SubmitOptions *options = context;
  SweepSpec spec;
  int64_t *seeds = NULL;
  options->again.runs = operands + 1;
  options->again.run_count = count - 1;
  TRY(check_options(options));
  TRY(sweep_common_make(&options->common));

  int code = options->seeds ? sweep_seeds_add(&options->common, operands[0], options->seeds, &seeds) : CORE_OK;
  if (code == CORE_OK) code = sweep_common_spec(&options->common, operands[0], &spec);
  if (code == CORE_OK) {
    code = submit_and_report(options, &spec);
    sweep_resubmission_free(&options->again);
    sweep_spec_free(&spec);
  }
  free(seeds);
  /* Nothing was recorded in the new workspace. */
  if (options->common.is_new && code == CORE_USAGE) (void)rmdir(options->common.root);
  return code;
}

static void print_help_blocks(CoreHelp *help) {
  sweep_search_help(help);
  sweep_stop_help(help);
}

int sweep_submit(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep submit FILE|NAME [RUN]... [options]",
    .about = "Records the experiment's runs in the workspace and submits the missing ones to Slurm as job arrays or, "
             "without Slurm, starts them on this machine in the background. Safe to repeat: finished runs stay, queued "
             "ones are not queued twice, interrupted ones resume from their checkpoints, failed ones are retried. "
             "FILE is an experiment (.ini) whose [slurm] section sets the resources of a run (docs/cluster.md); NAME "
             "is a sweep submitted before. RUN, --failed and --by-rule choose runs of it: only these are submitted. "
             SWEEP_SELECTION_HELP,
    .more = print_help_blocks, .operands_min = 1, .operands = {"FILE|NAME", "RUN"}, .operands_max = SIZE_MAX};

  SubmitOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    SWEEP_OPTION_PROFILE(parsed.common),
    SWEEP_OPTION_SET(parsed.common),
    SWEEP_OPTION_WHERE(parsed.where),
    {"failed", 0, CORE_OPTION_FLAG, &parsed.again.failed, NULL,
     "only runs that failed or were lost, also by lack of memory or time or with their node"},
    {"by-rule", 0, CORE_OPTION_FLAG, &parsed.again.by_rule, NULL,
     "only runs that the sweep's [stop] rule has stopped; it does not stop them again"},
    {"mem", 0, CORE_OPTION_TEXT, &parsed.again.mem, "SIZE",
     "Slurm: memory per run of the chosen ones: 8G, or +50% of its previous limit"},
    {"time", 0, CORE_OPTION_TEXT, &parsed.again.time, "TIME",
     "Slurm: time limit per task of the chosen runs: 04:00:00"},
    {"seeds", 0, CORE_OPTION_TEXT, &parsed.seeds, "N",
     "add seeds: 10 stands for 0 to 9, \"0..9, 20\" for a list; the sweep keeps them (sweeps/NAME/extended)"},
    {"jobs", 'j', CORE_OPTION_INT, &parsed.jobs, "N",
     "run at most N runs at a time, which share the cores (default: one run per core)"},
    {"wait", 'w', CORE_OPTION_FLAG, &parsed.wait, NULL, "wait and show progress; exit with 1 if a run failed"},
    {"force", 'f', CORE_OPTION_FLAG, &parsed.force, NULL,
     "run finished and diverged runs again as new attempts, and restart runs that other code began"},
    {"hold", 0, CORE_OPTION_FLAG, &parsed.hold, NULL, "queue the runs held; sweep hold --off lets them start"},
    {"no-start", 0, CORE_OPTION_FLAG, &parsed.no_start, NULL, "record the manifest and start nothing"},
    {"local", 0, CORE_OPTION_FLAG, &parsed.local, NULL, "run on this machine even if Slurm is available"},
    {"no-check", 0, CORE_OPTION_FLAG, &parsed.no_check, NULL,
     "do not check with the trainer whether the runs can start"},
    {"trust", 0, CORE_OPTION_FLAG, &parsed.trust, NULL,
     "accept the sweep of another user, which is printed, and the code that env.task, env.python and env.code name, "
     "until they change"},
    {"keep", 0, CORE_OPTION_FLAG, &parsed.keep, NULL,
     "continue next to runs that were made by other code, and from their checkpoints; recorded in sweeps/NAME/kept"},
    {"same-environment", 0, CORE_OPTION_FLAG, &parsed.same_environment, NULL,
     "use the variables and directory of the sweep's last submission instead of this shell's"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print JSON; human-readable text goes to stderr"},
    {0}};
  return core_options_run(&manual, options, argc, argv, submit, &parsed);
}
