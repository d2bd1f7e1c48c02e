/* Computes usage from files alone: Slurm forgets finished jobs after minutes. */
#include "sweep/status/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/cluster/batch.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/record.h"
#include "sweep/local/attempt_steps.h"
#include "sweep/spec/manifest.h"

enum { TIME_STEP_S = 300 };
static const double time_margin = 1.5;
static const double excess_min = 2; /* lower limits are suggested for limits at least this many times too large */

typedef struct Batches { SweepBatch *batch; size_t count; } Batches;

double sweep_usage_efficiency(double useful_s, double spent_s) { return spent_s > 0 ? useful_s / spent_s : NAN; }

/* Returns the batch of that number, reading each once. NULL: it no longer exists. */
static const SweepBatch *find_batch(Batches *batches, const char *root, const char *name, int64_t number) {
  for (size_t i = 0; i < batches->count; i++)
    if (batches->batch[i].number == number) return &batches->batch[i];
  SweepBatch batch;
  if (sweep_batch_read(root, name, number, &batch) != CORE_OK) return NULL;
  batches->batch = core_memory_resize(batches->batch, (batches->count + 1) * sizeof batch);
  batches->batch[batches->count] = batch;
  return &batches->batch[batches->count++];
}

/* Returns when the array of the run's first start was submitted: the last submission before that start. */
static double submission_before(const SweepJournal *journal, double first_unix_s) {
  double submitted_unix_s = NAN;
  for (size_t i = 0; i < journal->count; i++)
    if (journal->arrays[i].requested_unix_s <= first_unix_s &&
        !(journal->arrays[i].requested_unix_s < submitted_unix_s))
      submitted_unix_s = journal->arrays[i].requested_unix_s;
  return submitted_unix_s;
}

/* Returns the seconds of the last attempt by the run's state. An attempt that failed to begin keeps the start time of
 * the one before and has its own end, so time counts up to the last heartbeat only. */
static double attempt_seconds(const StoreState *state) {
  if (!(state->started_unix_s > 0)) return 0;
  const double end = state->finished_unix_s > state->started_unix_s
                       ? fmin(state->finished_unix_s, state->heartbeat_unix_s + STORE_HEARTBEAT_S)
                       : state->heartbeat_unix_s;
  return fmax(0, end - state->started_unix_s);
}

/* Returns the seconds of a start whose end is not recorded: it runs, or was killed. */
static double open_start_seconds(const SweepRecord *record, const StoreState *state) {
  if (record->ended_unix_s > 0 || !(record->started_unix_s > 0)) return 0;
  return fmax(0, state->heartbeat_unix_s - record->started_unix_s);
}

/* ---- attempts of a run ------------------------------------------------------------------------------------------- */

/* The attempts of a run that is no longer in its first one. */
typedef struct Attempts {
  StoreState *ended;         /* [count], in the order of attempts.tsv */
  size_t count;
} Attempts;

/* Returns the seconds of an attempt; 0: not recorded. */
static double find_seconds(const Attempts *attempts, const StoreState *state, int attempt) {
  if (attempt == state->attempt) return attempt_seconds(state);
  for (size_t i = attempts->count; i-- > 0;)
    if (attempts->ended[i].attempt == attempt) return attempt_seconds(&attempts->ended[i]);
  return 0;
}

/* Adds up the seconds of all attempts, and of the work that later ones have repeated. An attempt without a record is
 * repeated by any later one that has records. */
static int add_attempts(const char *root, const char *id, const StoreState *state, double *spent_s,
                        double *repeated_s) {
  Attempts attempts;
  SweepAttemptSteps later = {0};
  *spent_s = *repeated_s = 0;
  TRY(store_attempts_read(root, id, &attempts.ended, &attempts.count));

  int code = CORE_OK;
  for (int attempt = state->attempt; attempt >= 1 && code == CORE_OK; attempt--) {
    SweepAttemptSteps steps;
    const double seconds = find_seconds(&attempts, state, attempt);
    code = sweep_attempt_steps_read(root, id, attempt, &steps);
    *spent_s += seconds;
    if (later.count > 0) *repeated_s += seconds * sweep_attempt_steps_repeated(&steps, &later);
    sweep_attempt_steps_merge(&later, &steps);
    sweep_attempt_steps_free(&steps);
  }

  sweep_attempt_steps_free(&later);
  free(attempts.ended);
  return code;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Whether the record is of a job of this sweep, not of another sweep that shares the run. */
static bool is_of_sweep(const SweepJournal *journal, const SweepRecord *record) {
  for (size_t i = 0; i < journal->count; i++)
    if (journal->arrays[i].batch == record->batch && journal->arrays[i].job == record->job) return true;
  return false;
}

static int read_run(const char *root, const char *name, const SweepJournal *journal, Batches *batches,
                    SweepUsage *usage, SweepRunUsage *run) {
  StoreState state;
  SweepRecord record;
  bool has_record;

  TRY(store_run_state_read(root, run->id, true, &state));
  TRY(sweep_record_read(root, run->id, &record, &has_record));
  if (sweep_run_memory_read(root, run->id, &run->memory) != CORE_OK) core_warn("%s", core_error_message());

  run->status = state.status;
  run->transitions = (double)state.transitions;
  run->budget = (double)state.transitions_total;
  run->starts = has_record ? record.starts : state.attempt;
  run->wait_s = run->cpus = run->gpus = NAN;

  double attempts_s = attempt_seconds(&state), repeated_s = 0;
  if (state.attempt > 1) TRY(add_attempts(root, run->id, &state, &attempts_s, &repeated_s));
  run->spent_s = attempts_s;
  if (has_record) {
    const SweepBatch *batch = is_of_sweep(journal, &record) ? find_batch(batches, root, name, record.batch) : NULL;
    run->spent_s = record.spent_s + open_start_seconds(&record, &state);
    if (record.first_unix_s > 0) run->wait_s = record.first_unix_s - submission_before(journal, record.first_unix_s);
    if (run->memory.source == SWEEP_MEMORY_UNKNOWN && record.peak_mb > 0) {
      run->memory.peak_mb = record.peak_mb;
      run->memory.source = SWEEP_MEMORY_LARGEST_PROCESS;
    }
    run->out_of_memory = run->status != STORE_FINISHED && sweep_joblog_is_oom(root, name, journal, &record);
    run->hit_time_limit = record.cause == SWEEP_CAUSE_TIME_LIMIT || record.cause == SWEEP_CAUSE_NOT_REQUEUED;
    if (batch) {
      run->cpus = (double)(batch->settings.cpus_per_run * batch->settings.ranks_per_run);
      run->gpus = batch->settings.gpus_per_run;
    }
    const int64_t limit = batch ? slurm_settings_run_mem(&batch->settings) : 0;
    if (run->out_of_memory && limit > run->memory.exceeded_mb) run->memory.exceeded_mb = limit;
    if (batch && (!usage->is_slurm || batch->number == journal->batches)) usage->settings = batch->settings;
    usage->is_slurm |= batch != NULL;
  }

  if (run->spent_s < state.train_seconds) run->spent_s = state.train_seconds; /* earlier starts have no record */
  const double useful_max_s = fmax(0, run->spent_s - repeated_s);
  run->useful_s = run->status == STORE_FAILED                         ? 0
                  : run->status == STORE_FINISHED && run->starts <= 1 ? useful_max_s
                                                                      : fmin(state.train_seconds, useful_max_s);
  return CORE_OK;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void add_up(SweepUsage *usage) {
  double *waits = core_memory_allocate((usage->count + 1) * sizeof *waits);
  size_t count = 0;

  for (size_t i = 0; i < usage->count; i++) {
    const SweepRunUsage *run = &usage->run[i];
    const double wasted = run->spent_s - run->useful_s;
    usage->spent_s += run->spent_s;
    usage->useful_s += run->useful_s;
    usage->wasted_s += wasted;
    if (isfinite(run->wait_s)) waits[count++] = run->wait_s;

    if (isfinite(run->cpus)) {
      usage->cpu_hours += run->cpus * run->spent_s / 3600;
      usage->cpu_hours_wasted += run->cpus * wasted / 3600;
    }
    if (isfinite(run->gpus)) {
      usage->gpu_hours += run->gpus * run->spent_s / 3600;
      usage->gpu_hours_wasted += run->gpus * wasted / 3600;
    }
    if (run->status == STORE_STOPPED_BY_RULE) {
      usage->stopped_by_rule++;
      usage->transitions_saved += fmax(0, run->budget - run->transitions);
    }
    if (run->status == STORE_FINISHED && run->spent_s > usage->finished_max_s) usage->finished_max_s = run->spent_s;
    if (run->status == STORE_FAILED) usage->failed_s += wasted;
    sweep_run_memory_merge(&usage->most, &run->memory);
  }

  qsort(waits, count, sizeof *waits, compare_doubles);
  usage->wait_median_s = count ? (waits[(count - 1) / 2] + waits[count / 2]) / 2 : NAN;
  usage->wait_max_s = count ? waits[count - 1] : NAN;
  free(waits);
}

int sweep_usage_read(const char *root, const char *name, SweepUsage *usage) {
  SweepManifest manifest;
  SweepJournal journal;
  Batches batches = {0};
  *usage = (SweepUsage){.settings = slurm_settings_default()};
  TRY(sweep_manifest_read(root, name, &manifest));

  int code = sweep_journal_read(root, name, &journal);
  if (code == CORE_OK) {
    usage->count = manifest.count;
    usage->run = core_memory_zero_allocate(manifest.count + 1, sizeof *usage->run);
    for (size_t i = 0; i < manifest.count && code == CORE_OK; i++) {
      memcpy(usage->run[i].id, manifest.ids[i], CORE_RUN_ID);
      code = read_run(root, name, &journal, &batches, usage, &usage->run[i]);
    }
    sweep_journal_free(&journal);
  }

  for (size_t i = 0; i < batches.count; i++) sweep_batch_free(&batches.batch[i]);
  free(batches.batch);
  sweep_manifest_free(&manifest);
  if (code == CORE_OK) add_up(usage);
  else sweep_usage_free(usage);
  return code;
}

void sweep_usage_free(SweepUsage *usage) {
  free(usage->run);
  *usage = (SweepUsage){0};
}

int sweep_usage_read_settings(const char *root, const char *name, const char *id, SlurmSettings *settings,
                              bool *is_known) {
  SweepJournal journal;
  SweepRecord record;
  SweepBatch batch;
  bool has_record;
  *is_known = false;
  TRY(sweep_record_read(root, id, &record, &has_record));
  if (!has_record) return CORE_OK;
  TRY(sweep_journal_read(root, name, &journal));
  const bool is_own = is_of_sweep(&journal, &record);
  sweep_journal_free(&journal);
  if (!is_own) return CORE_OK;
  TRY(sweep_batch_read(root, name, record.batch, &batch));
  *settings = batch.settings;
  *is_known = true;
  sweep_batch_free(&batch);
  return CORE_OK;
}

/* ---- advice ------------------------------------------------------------------------------------------------------ */

static int64_t round_up(double value, int64_t step) { return (int64_t)ceil(value / (double)step) * step; }

/* Whether all runs have ended. Those that have not may need more than the others. */
static bool all_have_ended(const SweepUsage *usage) {
  for (size_t i = 0; i < usage->count; i++) {
    const StoreStatus status = usage->run[i].status;
    if (status != STORE_FINISHED && status != STORE_DIVERGED && status != STORE_STOPPED_BY_RULE) return false;
  }
  return true;
}

static void advise_time(const SweepUsage *usage, CoreText *lines) {
  char current[32], suggested[32];
  size_t interrupted = 0;

  for (size_t i = 0; i < usage->count; i++)
    interrupted += usage->run[i].hit_time_limit || (usage->run[i].starts > 1 && usage->run[i].status == STORE_FINISHED);
  const int64_t needed =
      round_up(time_margin * usage->finished_max_s + (double)usage->settings.signal_lead, TIME_STEP_S);
  if (usage->finished_max_s <= 0) return;

  slurm_time_format(usage->settings.time, current);
  slurm_time_format(needed, suggested);
  if (usage->settings.time > 0 && interrupted > 0 && usage->settings.time < needed)
    core_text_appendf(lines, "slurm.time = %s lets each run finish in one job (now %s; %zu runs needed several)\n",
                      suggested, current, interrupted);
  else if (all_have_ended(usage) &&
           (usage->settings.time == 0 || (double)usage->settings.time > excess_min * (double)needed))
    core_text_appendf(lines, "slurm.time = %s is enough (%s%s): backfill starts short jobs sooner\n", suggested,
                      usage->settings.time ? "now " : "now the partition's default",
                      usage->settings.time ? current : "");
}

/* Whether the memory of every run was measured well enough to suggest a lower limit. */
static bool is_measured(const SweepUsage *usage) {
  enum { SAMPLES_MIN = 5 };
  for (size_t i = 0; i < usage->count; i++) {
    const SweepRunUsage *run = &usage->run[i];
    const bool is_sampled = run->memory.source == SWEEP_MEMORY_PROCESSES && run->memory.samples >= SAMPLES_MIN;
    if (run->status == STORE_FINISHED && !is_sampled && run->memory.source != SWEEP_MEMORY_CGROUP) return false;
  }
  return all_have_ended(usage) && usage->most.peak_mb > 0;
}

int sweep_usage_check_memory(const char *root, const char *name, const int64_t *indices, size_t count,
                             int64_t limit_mb) {
  SweepUsage usage;
  TRY(sweep_usage_read(root, name, &usage));
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    const SweepRunUsage *run = &usage.run[indices[i]];
    code = sweep_run_memory_record_oom(root, run->id, run->memory.exceeded_mb);
    if (code == CORE_OK && limit_mb > 0 && limit_mb <= run->memory.exceeded_mb)
      code = core_error(CORE_USAGE, "--mem: %lldM is too little: run %s ran out of memory at %lldM; use --mem %lldM",
                        (long long)limit_mb, run->id, (long long)run->memory.exceeded_mb,
                        (long long)sweep_run_memory_needed(&usage.most));
  }
  sweep_usage_free(&usage);
  return code;
}

static void advise_memory(const SweepUsage *usage, const char *name, CoreText *lines) {
  size_t killed = 0;
  for (size_t i = 0; i < usage->count; i++) killed += usage->run[i].out_of_memory;
  const int64_t needed = sweep_run_memory_needed(&usage->most), current = slurm_settings_run_mem(&usage->settings);

  if (killed > 0)
    core_text_appendf(lines, "%zu runs ran out of memory at slurm.mem = %lldM: sweep submit %s --failed --mem %lldM\n",
                      killed, (long long)current, name, (long long)needed);
  else if (is_measured(usage) && (double)current > excess_min * (double)needed) {
    core_text_appendf(lines, "slurm.mem = %lldM is enough (now %lldM; peak usage: %lldM", (long long)needed,
                      (long long)current, (long long)usage->most.peak_mb);
    if (usage->most.summed_mb > usage->most.peak_mb)
      core_text_appendf(lines, ", or %lldM with shared memory counted in each process",
                        (long long)usage->most.summed_mb);
    if (usage->most.exceeded_mb > 0)
      core_text_appendf(lines, "; %lldM was too little", (long long)usage->most.exceeded_mb);
    core_text_append(lines, "): more runs fit a node\n");
  }
}

/* Advises on the two kinds of waste: runs that failed, and work done again from a checkpoint. */
static void advise_waste(const SweepUsage *usage, const char *name, CoreText *lines) {
  static const double efficiency_min = 0.8, share_min = 0.05; /* fractions of the time spent */
  if (!(sweep_usage_efficiency(usage->useful_s, usage->spent_s) < efficiency_min)) return;
  const double failed = usage->failed_s / usage->spent_s, repeated = usage->wasted_s / usage->spent_s - failed;
  if (failed >= share_min)
    core_text_appendf(lines, "%.0f %% of the time was spent by failed runs; sweep status %s --failed shows why\n",
                      100 * failed, name);
  if (repeated >= share_min)
    core_text_appendf(lines,
                      "%.0f %% of the time was spent on repeating lost work; a smaller checkpoint.every loses less "
                      "per interruption\n",
                      100 * repeated);
}

void sweep_usage_advise(const SweepUsage *usage, const char *name, CoreText *lines) {
  if (!usage->is_slurm) return;
  advise_time(usage, lines);
  advise_memory(usage, name, lines);
  advise_waste(usage, name, lines);
}
