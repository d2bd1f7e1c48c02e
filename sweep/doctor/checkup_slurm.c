/* Checks the cluster from this machine and, with a job of a minute, from one of its nodes (checkup.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "store/workspace/run.h"
#include "sweep/doctor/checkup.h"

enum {
  POLL_MS = 500,
  JOB_TIME_S = 60,
  ARRAY_TASKS_LOW = 1000,
  SKEW_WARN_S = 2,
  SKEW_BAD_S = STORE_LOST_AFTER_S / 2
};

/* ---- the controller ---------------------------------------------------------------------------------------------- */

static void check_limits(SweepCheckup *checkup, SlurmCluster *cluster, const SlurmSettings *settings) {
  const SlurmLimits *limits;
  if (slurm_limits(cluster, &limits) != CORE_OK) {
    sweep_checkup_add(checkup, "Slurm", SWEEP_BAD, "retry later; scontrol ping shows when it is back", "%s",
                      core_error_message());
    return;
  }

  sweep_checkup_add(checkup, "Slurm", SWEEP_GOOD, NULL, "version %s, cluster %s, through %s",
                    *limits->version ? limits->version : "unknown", *limits->cluster ? limits->cluster : "unknown",
                    strcmp(slurm_cluster_api(cluster), "cli") == 0 ? "its commands" : "slurmrestd");
  sweep_checkup_add(checkup, "array limit", limits->array_tasks_max < ARRAY_TASKS_LOW ? SWEEP_NOTE : SWEEP_GOOD,
                    limits->array_tasks_max < ARRAY_TASKS_LOW
                      ? "larger sweeps are split into several arrays; slurm.runs_per_task reduces the number of tasks"
                      : NULL,
                    "%lld tasks per array", (long long)limits->array_tasks_max);

  char submit[SLURM_NAME + 64] = "";
  SlurmAllowance allowance;
  if (slurm_allowance(cluster, settings->account, settings->qos, &allowance) == CORE_OK && allowance.submit_room >= 0)
    snprintf(submit, sizeof submit, ", %lld of account %s", (long long)allowance.submit_max, allowance.account);
  sweep_checkup_add(checkup, "job limit", SWEEP_GOOD, NULL,
                    "%lld jobs in the queue%s; finished ones are purged after %lld s", (long long)limits->jobs_max,
                    submit, (long long)limits->min_job_age_s);

  sweep_checkup_add(checkup, "accounting", limits->accounting ? SWEEP_GOOD : SWEEP_NOTE,
                    limits->accounting ? NULL : "nothing to do: sweep status uses the runs' own files",
                    limits->accounting ? "sacct is available" : "none");
  if (*limits->preempt_mode && strncmp(limits->preempt_mode, "OFF", 3) != 0)
    sweep_checkup_add(checkup, "preemption", SWEEP_NOTE, "set checkpoint.every to limit lost work", "on (%s)",
                      limits->preempt_mode);
}

static void check_partitions(SweepCheckup *checkup, SlurmCluster *cluster, const SlurmSettings *settings) {
  SlurmPartition *partitions;
  size_t count, up = 0;
  char limit[32];
  CoreText text = {0};
  if (slurm_partitions(cluster, &partitions, &count) != CORE_OK) {
    sweep_checkup_add(checkup, "partitions", SWEEP_WARN, NULL, "%s", core_error_message());
    return;
  }

  bool is_known = !*settings->partition;
  for (size_t i = 0; i < count; i++) {
    const SlurmPartition *p = &partitions[i];
    up += p->up && p->nodes_up > 0;
    is_known |= strcmp(p->name, settings->partition) == 0 || strchr(settings->partition, ',');
    core_text_appendf(&text, "%s%s%s (%lld of %lld nodes up, %lld CPUs", i ? "; " : "", p->name,
                      p->is_default ? "*" : "", (long long)p->nodes_up, (long long)p->nodes, (long long)p->cpus_max);
    if (p->gpus_max > 0) core_text_appendf(&text, ", %lld GPUs", (long long)p->gpus_max);
    core_text_appendf(&text, "%s%s)", p->time_max_s ? ", " : "",
                      p->time_max_s ? slurm_time_format(p->time_max_s, limit) : "");
  }

  sweep_checkup_add(checkup, "partitions", up == 0 ? SWEEP_BAD : SWEEP_GOOD,
                    up == 0 ? "sinfo -R shows why nodes are down" : NULL, "%s",
                    count ? core_text_string(&text) : "none");
  if (!is_known)
    sweep_checkup_add(checkup, "site", SWEEP_BAD, "correct slurm.partition in the site file",
                      "slurm.partition = %s: no such partition", settings->partition);

  core_text_free(&text);
  free(partitions);
}

static void check_mpi(SweepCheckup *checkup, const SlurmSettings *settings) {
  CoreText kinds = {0};
  bool is_known;
  if (slurm_probe_mpi(settings->mpi, &is_known, &kinds) != CORE_OK)
    sweep_checkup_add(checkup, "MPI", SWEEP_NOTE, "only runs with several ranks need it", "cannot query srun: %s",
                      core_error_message());
  else if (is_known)
    sweep_checkup_add(checkup, "MPI", SWEEP_GOOD, NULL, "srun --mpi=%s is available (%s)", settings->mpi,
                      core_text_string(&kinds));
  else
    sweep_checkup_add(
      checkup, "MPI", SWEEP_WARN,
      "set slurm.mpi to an available type, or request Slurm's PMIx plugin: otherwise ranks cannot connect",
      "srun does not support %s (%s)", settings->mpi, core_text_string(&kinds));
  core_text_free(&kinds);
}

/* ---- a node ------------------------------------------------------------------------------------------------------ */

int sweep_checkup_run_on_node(const char *path) {
  char host[64] = "", trainer[CORE_PATH_MAX];
  const char *arguments[] = {trainer, "info", NULL};
  CoreText text = {0}, info = {0};
  gethostname(host, sizeof host - 1);
  core_text_appendf(&text, "host=%s\nlocked=%d\nunix=%.3f\n", host, sweep_checkup_is_locked(path), core_clock_unix_s());

  int code = sweep_checkup_program("trainer", trainer, sizeof trainer);
  if (code == CORE_OK) code = slurm_probe(arguments, 30, &info);
  core_text_appendf(&text, "trainer=%s\n", code == CORE_OK ? "runs" : core_error_message());

  char *save = NULL;
  for (char *line = info.data ? strtok_r(info.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
    char *value = line + strcspn(line, " ");
    value += strspn(value, " ");
    if (strncmp(line, "CUDA", 4) == 0) core_text_appendf(&text, "cuda=%s\n", value);
    if (strncmp(line, "NCCL", 4) == 0) core_text_appendf(&text, "nccl=%s\n", value);
  }

  char answer[CORE_PATH_MAX];
  TRY(core_files_path(answer, "%s.answer", path));
  code = core_files_write_atomic(answer, core_text_string(&text), text.length);
  core_text_free(&text);
  core_text_free(&info);
  return code;
}

/* Copies the value of a "key=value" line; "": none. */
static void find_value(const char *text, const char *key, char *value, size_t size) {
  const size_t length = strlen(key);
  value[0] = '\0';
  for (const char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, length) == 0 && line[length] == '=')
      snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
  }
}

/* Compares the node's clock with this machine's. The node wrote its time between the submission and now, so only a time
 * outside of that interval shows a difference. */
static void check_node_clock(SweepCheckup *checkup, const char *node_time, double submitted_unix_s) {
  const double now_unix_s = core_clock_unix_s();
  double node_unix_s, skew_s = 0;
  if (core_text_to_real(node_time, &node_unix_s))
    skew_s = fmax(0, fmax(node_unix_s - now_unix_s, submitted_unix_s - node_unix_s));
  const bool differs = skew_s > SKEW_WARN_S;
  sweep_checkup_add(
    checkup, "node's clock", skew_s > SKEW_BAD_S ? SWEEP_BAD : differs ? SWEEP_WARN : SWEEP_GOOD,
    differs ? "report it to the administrators: no run is lost, but waiting times of runs are off by as much"
            : NULL,
    "%s", differs ? "differs from this machine's" : "agrees with this machine's");
}

/* Reports what the job wrote about its node. */
static void report_node(SweepCheckup *checkup, const char *text, double submitted_unix_s) {
  char host[80], value[400];
  find_value(text, "host", host, sizeof host);
  sweep_checkup_add(checkup, "job", SWEEP_GOOD, NULL, "ran on %s and sees the workspace", host);

  find_value(text, "locked", value, sizeof value);
  if (strcmp(value, "1") == 0)
    sweep_checkup_add(checkup, "locks between machines", SWEEP_GOOD, NULL, "%s respects a lock of this machine",
                      host);
  else
    sweep_checkup_add(
      checkup, "locks between machines", SWEEP_WARN,
      "no run is lost: heartbeats exclude a second writer; do not run sweep collect on two machines at once",
      "%s got a lock that this machine holds", host);

  find_value(text, "unix", value, sizeof value);
  check_node_clock(checkup, value, submitted_unix_s);

  find_value(text, "trainer", value, sizeof value);
  const bool is_runnable = strcmp(value, "runs") == 0;
  sweep_checkup_add(checkup, "trainer on the node", is_runnable ? SWEEP_GOOD : SWEEP_BAD,
                    is_runnable ? NULL : "the node lacks the program or a library: set slurm.modules or a container",
                    "%s", value);

  find_value(text, "cuda", value, sizeof value);
  if (*value) sweep_checkup_add(checkup, "CUDA on the node", SWEEP_NOTE, NULL, "%s", value);
  find_value(text, "nccl", value, sizeof value);
  if (*value) sweep_checkup_add(checkup, "NCCL on the node", SWEEP_NOTE, NULL, "%s", value);
}

/* Reports the state of a job that did not answer. */
static void report_missing_answer(SweepCheckup *checkup, SlurmCluster *cluster, int64_t id, int job_s) {
  SlurmTasks tasks = {0};
  const char *name = "sweep-doctor";
  char state[160] = "Slurm does not know it any more",
       advice[200] = "check that the node sees the workspace under the same path";
  bool is_stuck = false;

  if (slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks) == CORE_OK)
    for (size_t i = 0; i < tasks.count; i++) {
      const SlurmTask *task = &tasks.rows[i];
      if (task->job != id) continue;
      const bool is_pending = task->state == SLURM_PENDING;
      snprintf(state, sizeof state, "%s (%s)",
               is_pending ? slurm_reason_text(task->reason) : slurm_state_name(task->state), task->reason);
      is_stuck = is_pending && slurm_reason_is_stuck(task->reason);
      if (is_pending)
        snprintf(advice, sizeof advice, "%s",
                 is_stuck ? slurm_reason_advice(task->reason) : "wait longer: sweep doctor --job --wait 600");
    }

  slurm_tasks_free(&tasks);
  sweep_checkup_add(checkup, "job", is_stuck ? SWEEP_BAD : SWEEP_WARN, advice,
                    "no answer from job %lld within %d s: %s", (long long)id, job_s, state);
}

/* Submits a job that runs sweep_checkup_run_on_node. */
static int submit_job(SlurmCluster *cluster, const char *root, const SlurmSettings *defaults, const char *path,
                      int64_t *id) {
  char program[CORE_PATH_MAX];
  SlurmSettings settings = *defaults;
  CoreText script = {0};

  if (*settings.container) snprintf(program, sizeof program, "sweep"); /* found by its PATH, as in split.c */
  else TRY(sweep_checkup_program("sweep", program, sizeof program));

  settings.time = JOB_TIME_S;
  settings.signal_lead = 0;
  settings.nodes = 1;
  settings.ranks_per_run = 1;
  settings.runs_per_task = 1;
  if (settings.gpus_per_run > 1) settings.gpus_per_run = 1;

  SlurmJob job = {
    .name = "sweep-doctor", .comment = "sweep doctor", .directory = root, .tasks = 1, .settings = &settings};
  const char *const command[] = {program, "doctor", "--on-node", path, NULL};
  slurm_script_print(&job, command, &script);
  job.script = core_text_string(&script);
  const int code = slurm_submit(cluster, &job, id);
  core_text_free(&script);
  return code;
}

/* Runs the job while holding a lock, waits for its answer, and reports it. */
static void run_job(SweepCheckup *checkup, SlurmCluster *cluster, const char *root, const SlurmSettings *settings,
                    int job_s) {
  char path[CORE_PATH_MAX], answer[CORE_PATH_MAX];
  int fd;
  int64_t id;
  if (core_files_path(path, "%s/.doctor-job.%d", root, (int)getpid()) != CORE_OK ||
      core_files_path(answer, "%s.answer", path) != CORE_OK || core_files_lock(path, false, &fd) != CORE_OK) {
    sweep_checkup_add(checkup, "job", SWEEP_BAD, NULL, "%s", core_error_message());
    return;
  }

  const double submitted_unix_s = core_clock_unix_s(), deadline_s = core_clock_s() + job_s;
  char *text = NULL;
  size_t size;

  if (submit_job(cluster, root, settings, path, &id) != CORE_OK) {
    sweep_checkup_add(checkup, "job", SWEEP_BAD, "correct the named setting in the site file or with --set",
                      "%s", core_error_message());
  } else {
    while (core_clock_s() < deadline_s && !core_files_exists(answer)) usleep(POLL_MS * 1000);
    if (core_files_exists(answer) && core_files_read(answer, 0, &text, &size) == CORE_OK) {
      report_node(checkup, text, submitted_unix_s);
    } else {
      report_missing_answer(checkup, cluster, id, job_s);
      slurm_cancel(cluster, &(SlurmId){id, -1}, 1);
    }
  }

  free(text);
  core_files_unlock(&fd);
  unlink(path);
  unlink(answer);
}

void sweep_checkup_slurm(SweepCheckup *checkup, const char *root, const SlurmSettings *settings, int job_s) {
  SlurmCluster *cluster;
  SlurmFault fault;

  if (slurm_cluster_open(settings->api, &cluster, &fault) != CORE_OK) {
    const bool is_absent = fault == SLURM_ABSENT && strcmp(settings->api, "auto") == 0;
    sweep_checkup_add(checkup, "Slurm", is_absent && job_s == 0 ? SWEEP_NOTE : SWEEP_BAD,
                      is_absent
                        ? "sweep submit runs on this machine; for a cluster use its login node, or set SLURMRESTD"
                        : "use the cluster's login node, or set SLURMRESTD (docs/slurmrest.md)",
                      "%s", core_error_message());
    return;
  }

  check_limits(checkup, cluster, settings);
  if (slurm_fault(cluster) == SLURM_FINE) {
    check_partitions(checkup, cluster, settings);
    if (strcmp(slurm_cluster_api(cluster), "cli") == 0) check_mpi(checkup, settings);
    if (job_s > 0) run_job(checkup, cluster, root, settings, job_s);
  }
  slurm_cluster_close(&cluster);
}
