/* `sweep submit`: records the manifest and the runs, then hands what is missing to Slurm (launch.c) or, where there is
 * none, to the local executor. Safe to repeat: what is finished stays, what is missing or failed is started, what was
 * interrupted goes on from its checkpoint. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/log.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "store/workspace/run.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/control/missing.h"
#include "sweep/control/register.h"
#include "sweep/local/environment.h"
#include "sweep/local/executor.h"
#include "sweep/local/notify.h"
#include "sweep/local/queue.h"
#include "sweep/plan/check.h"
#include "sweep/plan/code.h"
#include "sweep/plan/duplicates.h"
#include "sweep/plan/searches.h"
#include "sweep/search/wave.h"
#include "sweep/spec/archived.h"
#include "sweep/spec/extension.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/where.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/failures.h"
#include "sweep/status/progress.h"

enum { ROOM_POLL_S = 10 };

typedef struct SubmitOptions {
  SweepCommon common;
  CoreOptionList where;
  bool wait, force, no_start, local, dry_run, test_only, held, no_check, trust, keep, json, same_environment;
  int64_t jobs;
  bool on_cluster, keep_failed;
  json_t *told;              /* what --json prints */
} SubmitOptions;

static void tell(const SubmitOptions *options, const char *key, json_t *value) {
  if (options->told) json_object_set_new(options->told, key, value);
  else json_decref(value);
}

static void tell_count(const SubmitOptions *options, const char *key, size_t count) {
  tell(options, key, json_integer((json_int_t)count));
}

static char farewell[512];

/* The handler is removed by now, and the signal acts as it would have. */
static void on_interrupt(int number) {
  if (write(STDERR_FILENO, farewell, strlen(farewell)) < 0) _exit(1);
  raise(number);
}

/* Ctrl-C ends the waiting, not what is waited for. */
static void explain_interrupt(const char *name, const char *ends) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  snprintf(farewell, sizeof farewell, "\n%s goes on without this command;  sweep status %s  shows progress,  "
           "sweep %s %s  ends it\n", name, name, ends, name);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

/* Draws the sweep's progress until the executor has taken it off the queue. 1 when a submitted run failed. */
static int wait_for(const char *root, const SweepGrid *grid) {
  const char *name = grid->spec->name;
  CoreLive live = {.stream = stdout, .plain_every_s = 15};
  bool queued = true;
  SweepProgress progress;
  explain_interrupt(name, "stop");
  while (queued) {
    SweepQueueRequest request;
    TRY(sweep_queue_read(root, name, &request, &queued));
    if (queued && !sweep_queue_executor_pid(root))
      return core_error(CORE_FAIL, "the executor is gone (see %s/executor.log); sweep submit again goes on", root);
    TRY(sweep_progress_read(root, name, NULL, &progress));
    CoreText text = {0};
    SweepFailures failures = {0};
    sweep_progress_draw(&progress, !queued, &text);
    sweep_failures_add_progress(&progress, &failures);
    sweep_failures_draw(&failures, &progress, &text);
    sweep_failures_free(&failures);
    core_live_draw(&live, core_text_string(&text), !queued);
    core_text_free(&text);
    sweep_progress_free(&progress);
    if (queued) usleep(500 * 1000);
  }
  return sweep_missing_check_all(root, grid);
}

/* All runs of the grid are submitted, those of seeds that sweep extend has added, too. */
static int end_extension(const char *root, const SweepGrid *grid) {
  if (grid->is_part) return CORE_OK;
  return sweep_extension_end(root, grid->spec->name, grid->spec->seeds, grid->spec->seed_count);
}

static int start(const SubmitOptions *options, const SweepGrid *grid, size_t recorded, const SweepMissing *missing) {
  const char *root = options->common.root, *name = grid->spec->name;
  if (missing->todo + missing->running == 0) {
    printf("nothing to start: %zu runs are finished", missing->finished);
    if (missing->diverged) printf(", %zu diverged (--force runs them again)", missing->diverged);
    if (missing->stopped)
      printf(", %zu stopped by rule (sweep retry %s --by-rule takes them up)", missing->stopped, name);
    printf("\n");
    return end_extension(root, grid);
  }
  const SweepQueueRequest request = {
    .jobs = options->jobs, .force = options->force, .requested_unix_s = core_clock_unix_s()};
  sweep_archived_end(root, name);
  sweep_notify_reset(root, name, recorded - missing->todo - missing->running);
  TRY(sweep_environment_record(root, name));
  TRY(sweep_queue_write(root, name, &request));
  int64_t process;
  bool joined;
  TRY(sweep_executor_start(root, name, &process, &joined));
  TRY(end_extension(root, grid));
  printf("%s: %zu runs to do, %s executor %lld\n", name, missing->todo, joined ? "added to" : "started",
         (long long)process);
  if (!options->wait) {
    printf("it goes on when this shell closes;  sweep status %s  shows progress,  sweep stop %s  ends it\n", name,
           name);
    return CORE_OK;
  }
  return wait_for(root, grid);
}

/* ---- Slurm ------------------------------------------------------------------------------------------------------- */

/* The cluster to submit to; NULL: this machine. Without Slurm's commands or configuration the machine is taken to be a
 * workstation; a cluster that only does not answer is an error, since nobody wants their sweep on its login node. */
static int choose_cluster(const SubmitOptions *options, const SlurmSettings *settings, SlurmCluster **cluster) {
  SlurmFault fault;
  *cluster = NULL;
  if (options->local || options->no_start || options->jobs > 0) return CORE_OK; /* --jobs speaks of this machine */
  const int code = slurm_cluster_open(settings->api, cluster, &fault);
  if (code == CORE_OK || fault != SLURM_ABSENT || strcmp(settings->api, "auto") != 0) return code;
  if (options->test_only || options->held)
    return core_error(code, "%s; --test-only and --held need it", core_error_message());
  return CORE_OK;
}

static void print_kept(const SweepLaunchResult *done, const char *name) {
  const struct {
    size_t count;
    const char *what;
  } kinds[] = {{done->runs[SWEEP_RUN_FINISHED], "finished"},
               {done->runs[SWEEP_RUN_QUEUED], "in the queue already"},
               {done->runs[SWEEP_RUN_RUNNING], "running"},
               {done->runs[SWEEP_RUN_DIVERGED], "diverged (--force runs them again)"},
               {done->runs[SWEEP_RUN_FAILED], "failed (sweep retry runs them again)"},
               {done->runs[SWEEP_RUN_STOPPED_BY_RULE], "stopped by rule (sweep retry --by-rule takes them up)"},
               {done->runs[SWEEP_RUN_EXHAUSTED], "ran out of memory (sweep report says how much sweep retry --mem should give them)"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].count) printf("  %zu %s\n", kinds[i].count, kinds[i].what);
  if (done->orphans)
    printf("  %zu begin from runs that are neither done nor in a queue (%s): submit those first\n", done->orphans,
           done->orphan);
  if (done->submitted) printf("  sweep status %s  shows progress,  sweep cancel %s  ends it\n", name, name);
}

/* --wait: what sweep status --watch shows, then the verdict. */
static int watch(const char *root, const SweepGrid *grid) {
  char command[] = "status", option[] = "--root", watched[] = "--watch";
  char *words[] = {command, option, (char *)root, (char *)grid->spec->name, watched, NULL};
  explain_interrupt(grid->spec->name, "cancel");
  fflush(stdout);
  TRY(sweep_status(5, words));
  return sweep_missing_check(root, grid);
}

/* `first`: the batch with which this command began; 0: it begins. What it has started over since is not again. */
static int submit_to_slurm(const SubmitOptions *options, const SweepGrid *grid, const SweepManifest *manifest,
                           const SlurmSettings *settings, const SweepResources *resources, SlurmCluster *cluster,
                           int64_t first) {
  const SweepLaunch launch = {.root = options->common.root,
                              .name = grid->spec->name,
                              .cluster = cluster,
                              .settings = settings,
                              .resources = resources,
                              .force = options->force && !options->keep_failed, /* of the first wave */
                              .forced_before_batch = first,
                              .keep_failed = options->keep_failed,
                              .mode = options->dry_run ? SWEEP_LAUNCH_DRY_RUN
                                      : options->test_only ? SWEEP_LAUNCH_TEST_ONLY : SWEEP_LAUNCH_SUBMIT,
                              .held = options->held};
  SweepLaunchResult done;
  if (!options->dry_run && !options->test_only) TRY(sweep_environment_record(launch.root, launch.name));
  const int code = sweep_launch_grid(&launch, grid, manifest, &done);
  if (!options->dry_run && !options->test_only) sweep_cluster_status_clear_cache();
  tell_count(options, "submitted", done.submitted);
  tell_count(options, "arrays", done.arrays);
  tell_count(options, "queued", done.runs[SWEEP_RUN_QUEUED]);
  tell_count(options, "finished", done.runs[SWEEP_RUN_FINISHED]);
  tell_count(options, "diverged", done.runs[SWEEP_RUN_DIVERGED]);
  tell_count(options, "running", done.runs[SWEEP_RUN_RUNNING]);
  tell_count(options, "stopped_by_rule", done.runs[SWEEP_RUN_STOPPED_BY_RULE]);
  tell_count(options, "waiting", done.waiting);
  if (code != CORE_OK && done.submitted + done.rejected > 0)
    return core_error(code, "%zu runs are in the queue, %zu are not: %s; sweep submit again goes on with those",
                      done.submitted, done.rejected, core_error_message());
  if (code != CORE_OK) return code;
  if (!options->dry_run && !options->test_only && done.waiting == 0) TRY(end_extension(launch.root, grid));
  if (done.submitted > 0)
    printf("%s: %zu runs submitted in %zu array%s\n", grid->spec->name, done.submitted, done.arrays,
           done.arrays == 1 ? "" : "s");
  else if (!options->dry_run && !options->test_only && !done.waiting) printf("nothing to submit\n");
  print_kept(&done, grid->spec->name);
  if (done.waiting > 0 && !options->wait)
    return core_error(
      CORE_REQUEUE,
      "%zu runs are not submitted yet: the limit on jobs in the queue is reached; %s, which does so by itself",
      done.waiting, launch.force ? "start those over with sweep retry RUN --force when some have ended, or take submit "
                                   "--force --wait" : "sweep submit again when some have ended, or submit --wait");
  if (!options->wait || options->dry_run || options->test_only) return CORE_OK;
  if (done.submitted + done.runs[SWEEP_RUN_QUEUED] == 0 && done.waiting > 0) sleep(ROOM_POLL_S); /* others of ours fill the queue */
  const int verdict = watch(options->common.root, grid);
  if (done.waiting == 0 || verdict == CORE_FAIL) return verdict; /* failed runs are for a person to look at */
  return submit_to_slurm(options, grid, manifest, settings, resources, cluster, first ? first : done.batch);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int submit_somewhere(const SubmitOptions *options, const SweepSpec *spec, const SlurmSettings *settings,
                            const SweepResources *resources, SlurmCluster *cluster, const SweepGrid *grid,
                            const SweepGrid *part) {
  const char *root = options->common.root;
  const bool nothing = options->dry_run || options->test_only;
  SweepManifest manifest = {0};
  SweepManifestChange change;
  SweepMissing missing;
  int code;
  if (nothing) {
    TRY(sweep_manifest_merge(root, grid, &manifest, &change));
  } else {
    TRY(sweep_extension_begin(root, spec->name, options->common.extra_seeds, options->common.extra_seed_count));
    TRY(sweep_manifest_record(root, grid, &manifest, &change));
    TRY_GOTO(code, done, sweep_register_runs(root, spec, grid, &manifest));
  }
  if (options->common.is_new) printf("made the workspace %s\n", root);
  tell_count(options, "runs", grid->runs);
  tell_count(options, "new", change.added);
  tell_count(options, "not_in_file", change.absent);
  tell(options, "backend", core_json_text(options->no_start ? "none" : cluster ? "slurm" : "local"));
  printf("%s: %zu runs, %zu new in the manifest", spec->name, grid->runs, change.added);
  if (change.absent) printf("; %zu earlier ones are no longer in the file and stay as they are", change.absent);
  printf("\n");
  fflush(stdout);
  if (cluster) {
    code = submit_to_slurm(options, part, &manifest, settings, resources, cluster, 0);
    goto done;
  }
  code = options->no_start && !nothing ? end_extension(root, grid) : CORE_OK;
  if (options->no_start) goto done;
  TRY_GOTO(code, done, sweep_missing_count(root, part, options->force, &missing));
  tell_count(options, "to_run", missing.todo);
  tell_count(options, "finished", missing.finished);
  tell_count(options, "diverged", missing.diverged);
  tell_count(options, "running", missing.running);
  tell_count(options, "stopped_by_rule", missing.stopped);
  if (options->dry_run) printf("%zu runs would be started on this machine; nothing was written\n", missing.todo);
  else code = start(options, grid, manifest.count, &missing);
done:
  sweep_manifest_free(&manifest);
  return code;
}

/* A batch system would tell of it after a night in the queue. */
static int check(const SubmitOptions *options, const SweepResources *resources, const SlurmCluster *cluster,
                 const SweepGrid *grid) {
  SweepChecked checked;
  const SweepCheck asked = {
    .root = options->common.root, .resources = cluster ? resources : NULL, .in_root = cluster != NULL};
  TRY(sweep_searches_check(grid));
  TRY(sweep_duplicates_check(grid));
  const SweepCodeChoice choice = {.trust = options->trust, .force = options->force, .keep = options->keep,
                                  .dry_run = options->dry_run || options->test_only};
  TRY(sweep_code_admit(options->common.root, grid, &choice));
  if (options->no_check) return CORE_OK;
  TRY(sweep_check_grid(&asked, grid, &checked));
  if (checked.problem[0])
    core_warn("%zu of %zu configurations were not checked: %s", checked.distinct - checked.checked, checked.distinct,
              checked.problem);
  return CORE_OK;
}

static size_t count_trials(const SweepSpec *spec) {
  size_t trials = 0;
  for (size_t i = 0; i < spec->search_count; i++) trials += spec->searches[i].trials;
  return trials;
}

/* The next trials of a search, when the runs of those before have ended. */
static int propose(const SubmitOptions *options, SweepSpec *spec) {
  size_t more = 0;
  if (options->dry_run || options->test_only) return CORE_OK;
  TRY(sweep_wave_propose(options->common.root, spec, &more));
  if (spec->search_count > 0) tell_count(options, "proposed", more);
  if (more > 0) printf("%s: %zu trials proposed\n", spec->name, more);
  if (sweep_spec_is_open(spec))
    printf("%s: %zu trials so far; the others follow in waves, from what these come to\n", spec->name,
           count_trials(spec));
  return CORE_OK;
}

static int submit_once(SubmitOptions *options, SweepSpec *spec) {
  SweepGrid grid, part;
  SweepResources resources = {0};
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster;
  TRY(sweep_spec_slurm(spec, &settings));
  TRY(propose(options, spec));
  TRY(choose_cluster(options, &settings, &cluster));
  options->on_cluster = cluster != NULL;
  int code = sweep_grid_expand(spec, &grid);
  if (code == CORE_OK) {
    code = sweep_where_choose(&grid, &options->where, &part);
    if (code == CORE_OK && !cluster && !options->no_start && !options->dry_run) code = sweep_where_check_here(&part);
    if (code == CORE_OK) code = sweep_resources_make(&grid, &resources);
    if (code == CORE_OK) code = check(options, &resources, cluster, &part);
    if (code == CORE_OK) code = submit_somewhere(options, spec, &settings, &resources, cluster, &grid, &part);
    sweep_resources_free(&resources);
    sweep_where_free(&part);
    sweep_grid_free(&grid);
  }
  slurm_cluster_close(&cluster);
  return code;
}

/* With --wait wave after wave; on this machine it is the executor that goes on (next_wave.h). A wave with failed or
 * diverged runs has ended as well, and is not run again. Tasks may have proposed and submitted meanwhile. */
static int submit_spec(SubmitOptions *options, SweepSpec *spec) {
  if (options->same_environment) sweep_environment_apply(options->common.root, spec->name, SWEEP_ENVIRONMENT_REPLACE);
  int code = submit_once(options, spec);
  bool more = true;
  while (more && options->wait && options->on_cluster && (code == CORE_OK || code == CORE_FAIL) &&
         sweep_spec_is_open(spec)) {
    const int verdict = code;
    const size_t before = count_trials(spec);
    char words[1024];
    snprintf(words, sizeof words, "%s", core_error_message());
    options->keep_failed = true;
    code = submit_once(options, spec);
    more = count_trials(spec) > before;
    if (!more && code == CORE_OK && verdict != CORE_OK) code = core_error(verdict, "%s", words);
  }
  return code;
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

/* --json: what is meant for people goes to stderr meanwhile, and one value to stdout at the end, however it ended. */
static int submit_telling(SubmitOptions *options, SweepSpec *spec) {
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return core_error_errno(CORE_FAIL, "cannot redirect output");
  options->told = json_pack("{s:s, s:s, s:b}", "sweep", spec->name, "root", options->common.root, "dry_run",
                            options->dry_run || options->test_only);
  const int code = submit_spec(options, spec);
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  json_object_set_new(options->told, "error", code == CORE_OK ? json_null() : core_json_text(core_error_message()));
  core_json_print(options->told);
  return code;
}

static int submit(void *given, const char **operands, size_t count) {
  SubmitOptions *options = given;
  SweepSpec spec;
  if (options->force && options->keep)
    return core_error(CORE_USAGE, "--force and --keep exclude each other: runs by other code start over or stay");
  if (options->jobs < 0) return core_error(CORE_USAGE, "--jobs %lld: at least 1", (long long)options->jobs);
  const bool nothing = options->dry_run || options->test_only;
  TRY(nothing ? sweep_common_open(&options->common) : sweep_common_make(&options->common));
  int code = sweep_common_spec(&options->common, operands[0], &spec);
  if (code == CORE_OK) {
    code = options->json ? submit_telling(options, &spec) : submit_spec(options, &spec);
    sweep_spec_free(&spec);
  }
  if (options->common.is_new && code == CORE_USAGE) (void)rmdir(options->common.root); /* nothing was recorded in it */
  return code;
}

static int command(const CoreManual *manual, int argc, char **argv, CoreAnswer answer) {
  SubmitOptions given = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common),
    SWEEP_OPTION_PROFILE(given.common),
    SWEEP_OPTION_SET(given.common),
    SWEEP_OPTION_WHERE(given.where),
    {"jobs", 'j', CORE_OPTION_INT, &given.jobs, "N",
     "runs at a time; the cores are shared out among them (default: one a core)"},
    {"wait", 'w', CORE_OPTION_FLAG, &given.wait, NULL, "stay, show progress, return 1 if a run failed"},
    {"force", 'f', CORE_OPTION_FLAG, &given.force, NULL,
     "run finished and diverged runs again, as new attempts, and start over what other code began"},
    {"no-start", 0, CORE_OPTION_FLAG, &given.no_start, NULL, "record the manifest and start nothing"},
    {"local", 0, CORE_OPTION_FLAG, &given.local, NULL, "run on this machine, whether there is a Slurm or not"},
    {"dry-run", 'n', CORE_OPTION_FLAG, &given.dry_run, NULL, "say what would be submitted and its cost; write nothing"},
    {"test-only", 0, CORE_OPTION_FLAG, &given.test_only, NULL,
     "ask Slurm whether it would take it and when it would start; submit nothing"},
    {"no-check", 0, CORE_OPTION_FLAG, &given.no_check, NULL, "start without asking the trainer whether runs would"},
    {"trust", 0, CORE_OPTION_FLAG, &given.trust, NULL,
     "allow the code that env.task, env.python and env.code name to run, now and later; asked again when it changes"},
    {"keep", 0, CORE_OPTION_FLAG, &given.keep, NULL,
     "go on beside runs that were made by other code, and from their checkpoints; recorded in sweeps/NAME/kept"},
    {"same-environment", 0, CORE_OPTION_FLAG, &given.same_environment, NULL,
     "with the variables and directory of the sweep's last submission, not this shell's"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "print JSON; what people read goes to stderr"},
    {"held", 0, CORE_OPTION_FLAG, &given.held, NULL, "Slurm: submit held; sweep release lets the runs start"},
    {0}};
  return core_options_answer(manual, options, argc, argv, answer, &given);
}

static void help_blocks(CoreHelp *help) {
  sweep_search_help(help);
  sweep_stop_help(help);
}

int sweep_submit(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep submit FILE|NAME [options]",
    .about = "Records the experiment's runs in the workspace and hands what is missing to Slurm as job arrays, or, "
             "where there is no Slurm, starts it on this machine, detached: the shell may close. Repeating it is safe: "
             "finished runs stay, queued ones are not queued twice, interrupted ones go on from their checkpoints, "
             "failed ones are tried again. FILE is an experiment (.ini) whose [slurm] section says what a run needs "
             "(docs/cluster.md); NAME a sweep submitted before.",
    .more = help_blocks, .least = 1, .most = 1};
  return command(&manual, argc, argv, submit);
}

/* ---- extend ------------------------------------------------------------------------------------------------------ */

static const CoreManual extend_manual = {
  .usage = "sweep extend NAME seeds=N [options]",
  .about = "Adds seeds to a sweep: seeds=10 asks for 0 to 9, seeds=\"0..9, 20\" for a list. Those that are there stay; "
           "the runs of the new ones are submitted. The sweep keeps them: sweep submit of its file has them too "
           "(sweeps/NAME/extended).",
  .least = 2, .most = 2};

static bool is_seeds(const char *operand) { return strncmp(operand, "seeds=", 6) == 0; }

/* Leaves only the new ones. There may be none: then an extension by these seeds was interrupted, and is completed.
 * CORE_USAGE: there are none, and it was not; says which are there. */
static int keep_new(const SubmitOptions *options, const char *operand, const char *asked, int64_t *seeds,
                    size_t *count) {
  SweepSpec spec;
  SweepExtension recorded = {0};
  CoreText present = {0};
  size_t added;
  TRY(sweep_common_spec(&options->common, operand, &spec));
  int code = sweep_extension_read(options->common.root, spec.name, &recorded);
  const bool is_unfinished = sweep_extension_is_unfinished(&recorded, seeds, *count);
  sweep_extension_print(spec.seeds, spec.seed_count, &present);
  const int64_t last = spec.seeds[spec.seed_count - 1];
  sweep_extension_join(&spec.seeds, &spec.seed_count, seeds, *count, &added);
  memcpy(seeds, spec.seeds + spec.seed_count - added, added * sizeof *seeds);
  *count = added;
  if (code == CORE_OK && is_unfinished)
    fprintf(stderr, "%s: an earlier sweep extend was interrupted, and is completed now\n", spec.name);
  else if (code == CORE_OK && added == 0)
    code = core_error(CORE_USAGE, "%s has the seeds %s already, and %s adds none: sweep extend never takes seeds away; "
                      "seeds=%lld would add one", spec.name, core_text_string(&present), asked, (long long)last + 2);
  core_text_free(&present);
  sweep_extension_free(&recorded);
  sweep_spec_free(&spec);
  return code;
}

static int extend(void *given, const char **operands, size_t count) {
  SubmitOptions *options = given;
  const size_t place = is_seeds(operands[0]) ? 0 : 1; /* either order */
  int64_t *seeds;
  size_t seed_count;
  if (!is_seeds(operands[place])) return core_options_misuse(&extend_manual, "seeds=N is missing");
  for (size_t i = 0; i < options->common.sets.count; i++)
    if (strncmp(options->common.sets.items[i], "sweep.seeds=", 12) == 0)
      return core_options_misuse(&extend_manual, "--set %s and %s both name seeds", options->common.sets.items[i],
                                 operands[place]);
  const CoreIniEntry entry = {.value = operands[place] + 6};
  TRY(sweep_common_open(&options->common));
  TRY(sweep_value_list_seeds(NULL, &entry, &seeds, &seed_count));
  int code = keep_new(options, operands[1 - place], operands[place], seeds, &seed_count);
  options->common.extra_seeds = seeds;
  options->common.extra_seed_count = seed_count;
  if (code == CORE_OK) code = submit(given, &operands[1 - place], 1);
  free(seeds);
  return code;
}

int sweep_extend(int argc, char **argv) { return command(&extend_manual, argc, argv, extend); }
