/* The cluster, looked at from here and, with a job of a minute, from one of its nodes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "slurm/probe.h"
#include "slurm/reason.h"
#include "slurm/script.h"
#include "store/workspace/run.h"
#include "sweep/doctor/checkup.h"

enum { POLL_MS = 500, JOB_TIME_S = 60, ARRAY_LOW = 1000 };

/* ---- what the controller says ------------------------------------------------------------------------------------ */

static void check_limits(SweepCheckup *checkup, SlurmCluster *cluster, const SlurmSettings *settings) {
  const SlurmLimits *limits;
  if (slurm_limits(cluster, &limits) != CORE_OK) {
    sweep_checkup_add(checkup, "Slurm", SWEEP_BAD, "try again later; scontrol ping shows when it is back", "%s",
                      core_error_message());
    return;
  }
  sweep_checkup_add(checkup, "Slurm", SWEEP_GOOD, NULL, "version %s, cluster %s, through %s",
                    *limits->version ? limits->version : "not known", *limits->cluster ? limits->cluster : "not known",
                    strcmp(slurm_cluster_api(cluster), "cli") == 0 ? "its commands" : "slurmrestd");
  sweep_checkup_add(checkup, "array limit", limits->array_tasks_max < ARRAY_LOW ? SWEEP_NOTE : SWEEP_GOOD,
                    limits->array_tasks_max < ARRAY_LOW
                      ? "larger sweeps become several arrays; slurm.runs_per_task makes fewer tasks of them"
                      : NULL,
                    "%lld tasks an array", (long long)limits->array_tasks_max);
  char submit[SLURM_NAME + 64] = "";
  SlurmAllowance allowance;
  if (slurm_allowance(cluster, settings->account, settings->qos, &allowance) == CORE_OK && allowance.submit_room >= 0)
    snprintf(submit, sizeof submit, ", %lld of account %s", (long long)allowance.submit_max, allowance.account);
  sweep_checkup_add(checkup, "job limit", SWEEP_GOOD, NULL,
                    "%lld jobs in the queue%s; finished ones are forgotten after %lld s", (long long)limits->jobs_max,
                    submit, (long long)limits->min_job_age_s);
  sweep_checkup_add(checkup, "accounting", limits->accounting ? SWEEP_GOOD : SWEEP_NOTE,
                    limits->accounting ? NULL : "nothing to do: status uses the runs' own files",
                    limits->accounting ? "sacct can be asked" : "none");
  if (*limits->preempt_mode && strncmp(limits->preempt_mode, "OFF", 3) != 0)
    sweep_checkup_add(checkup, "preemption", SWEEP_NOTE, "set checkpoint.every, so that little is lost", "on (%s)",
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
  bool found = !*settings->partition;
  for (size_t i = 0; i < count; i++) {
    const SlurmPartition *p = &partitions[i];
    up += p->up && p->nodes_up > 0;
    found |= strcmp(p->name, settings->partition) == 0 || strchr(settings->partition, ',');
    core_text_appendf(&text, "%s%s%s (%lld of %lld nodes up, %lld processors", i ? "; " : "", p->name,
                      p->is_default ? "*" : "", (long long)p->nodes_up, (long long)p->nodes, (long long)p->cpus_max);
    if (p->gpus_max > 0) core_text_appendf(&text, ", %lld GPUs", (long long)p->gpus_max);
    core_text_appendf(&text, "%s%s)", p->time_max_s ? ", " : "",
                      p->time_max_s ? slurm_time_format(p->time_max_s, limit) : "");
  }
  sweep_checkup_add(checkup, "partitions", up == 0 ? SWEEP_BAD : SWEEP_GOOD,
                    up == 0 ? "sinfo -R says why nodes are down" : NULL, "%s",
                    count ? core_text_string(&text) : "none");
  if (!found)
    sweep_checkup_add(checkup, "site", SWEEP_BAD, "correct slurm.partition in the site file",
                      "slurm.partition = %s is none of them", settings->partition);
  core_text_free(&text);
  free(partitions);
}

static void check_mpi(SweepCheckup *checkup, const SlurmSettings *settings) {
  CoreText kinds = {0};
  bool known;
  if (slurm_probe_mpi(settings->mpi, &known, &kinds) != CORE_OK)
    sweep_checkup_add(checkup, "MPI", SWEEP_NOTE, "only runs with several ranks need it", "srun cannot be asked: %s",
                      core_error_message());
  else if (known)
    sweep_checkup_add(checkup, "MPI", SWEEP_GOOD, NULL, "srun --mpi=%s is there (%s)", settings->mpi,
                      core_text_string(&kinds));
  else
    sweep_checkup_add(
      checkup, "MPI", SWEEP_WARN,
      "set slurm.mpi to one of them, or ask for Slurm's PMIx plugin: runs with several ranks would each be alone",
      "srun knows no %s (%s)", settings->mpi, core_text_string(&kinds));
  core_text_free(&kinds);
}

/* ---- what a node says -------------------------------------------------------------------------------------------- */

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
    char *words = line + strcspn(line, " ");
    words += strspn(words, " ");
    if (strncmp(line, "CUDA", 4) == 0) core_text_appendf(&text, "cuda=%s\n", words);
    if (strncmp(line, "NCCL", 4) == 0) core_text_appendf(&text, "nccl=%s\n", words);
  }
  char answer[CORE_PATH_MAX];
  TRY(core_files_path(answer, "%s.answer", path));
  code = core_files_write_atomic(answer, core_text_string(&text), text.length);
  core_text_free(&text);
  core_text_free(&info);
  return code;
}

static void value_of(const char *text, const char *key, char *value, size_t size) {
  const size_t length = strlen(key);
  value[0] = '\0';
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
    if (strncmp(line, key, length) == 0 && line[length] == '=')
      snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
}

static void judge_node(SweepCheckup *checkup, const char *text, double asked_s) {
  char host[80], value[400];
  double there;
  value_of(text, "host", host, sizeof host);
  sweep_checkup_add(checkup, "job", SWEEP_GOOD, NULL, "ran on %s and sees the workspace", host);
  value_of(text, "locked", value, sizeof value);
  if (strcmp(value, "1") == 0)
    sweep_checkup_add(checkup, "locks between machines", SWEEP_GOOD, NULL, "%s is refused what this machine has locked",
                      host);
  else
    sweep_checkup_add(
      checkup, "locks between machines", SWEEP_WARN,
      "nothing is lost by it: heartbeats keep a second writer out; do not run sweep collect on two machines at once",
      "%s got a lock that this machine holds", host);
  value_of(text, "unix", value, sizeof value);
  const double now = core_clock_unix_s(), good = core_text_to_real(value, &there);
  const double skew = !good             ? 0
                      : there > now     ? there - now
                      : there < asked_s ? asked_s - there
                                        : 0; /* it was between our two looks */
  sweep_checkup_add(
    checkup, "node's clock",
    skew > STORE_LOST_AFTER_S / 2 ? SWEEP_BAD
    : skew > 2                    ? SWEEP_WARN
                                  : SWEEP_GOOD,
    skew > 2 ? "tell the administrators: no run is lost by it, but waiting times in sweep report are wrong by as much"
             : NULL,
    "%s", skew > 2 ? "differs from this machine's" : "agrees with this machine's");
  value_of(text, "trainer", value, sizeof value);
  sweep_checkup_add(
    checkup, "trainer on the node", strcmp(value, "runs") == 0 ? SWEEP_GOOD : SWEEP_BAD,
    strcmp(value, "runs") == 0 ? NULL : "the node lacks the program or a library: slurm.modules, or a container", "%s",
    value);
  value_of(text, "cuda", value, sizeof value);
  if (*value) sweep_checkup_add(checkup, "CUDA on the node", SWEEP_NOTE, NULL, "%s", value);
  value_of(text, "nccl", value, sizeof value);
  if (*value) sweep_checkup_add(checkup, "NCCL on the node", SWEEP_NOTE, NULL, "%s", value);
}

/* The queue's word on the job that did not come back. */
static void judge_absence(SweepCheckup *checkup, SlurmCluster *cluster, int64_t id, int job_s) {
  SlurmTasks tasks = {0};
  const char *name = "sweep-doctor";
  char words[160] = "Slurm knows nothing of it any more",
       advice[200] = "does the node see the workspace under the same path?";
  bool stuck = false;
  if (slurm_list(cluster, &name, 1, &tasks) == CORE_OK)
    for (size_t i = 0; i < tasks.count; i++) {
      const SlurmTask *task = &tasks.rows[i];
      if (task->job != id) continue;
      const bool waits = task->state == SLURM_PENDING;
      snprintf(words, sizeof words, "%s (%s)", waits ? slurm_reason_text(task->reason) : slurm_state_name(task->state),
               task->reason);
      stuck = waits && slurm_reason_is_stuck(task->reason);
      if (waits)
        snprintf(advice, sizeof advice, "%s",
                 stuck ? slurm_reason_advice(task->reason) : "give it longer: sweep doctor --job --wait 600");
    }
  slurm_tasks_free(&tasks);
  sweep_checkup_add(checkup, "job", stuck ? SWEEP_BAD : SWEEP_WARN, advice, "no word from job %lld within %d s: %s",
                    (long long)id, job_s, words);
}

static int send_job(SlurmCluster *cluster, const char *root, const SlurmSettings *given, const char *path,
                    int64_t *id) {
  char program[CORE_PATH_MAX];
  SlurmSettings settings = *given;
  CoreText script = {0};
  if (*settings.container) snprintf(program, sizeof program, "sweep"); /* the image's, as for tasks (split.c) */
  else TRY(sweep_checkup_program("sweep", program, sizeof program));
  settings.time = JOB_TIME_S, settings.signal_lead = 0, settings.nodes = 1, settings.ranks_per_run = 1,
  settings.runs_per_task = 1;
  if (settings.gpus_per_run > 1) settings.gpus_per_run = 1;
  SlurmJob job = {.name = "sweep-doctor", .comment = "sweep doctor", .folder = root, .tasks = 1, .settings = &settings};
  const char *const command[] = {program, "doctor", "--on-node", path, NULL};
  slurm_script_print(&job, command, &script);
  job.script = core_text_string(&script);
  const int code = slurm_submit(cluster, &job, id);
  core_text_free(&script);
  return code;
}

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
  const double asked = core_clock_unix_s(), end = core_clock_s() + job_s;
  char *text = NULL;
  size_t size;
  if (send_job(cluster, root, settings, path, &id) != CORE_OK) {
    sweep_checkup_add(checkup, "job", SWEEP_BAD, "correct the setting that it names, in the site file or with --set",
                      "%s", core_error_message());
  } else {
    while (core_clock_s() < end && !core_files_exists(answer)) usleep(POLL_MS * 1000);
    if (core_files_exists(answer) && core_files_read(answer, 0, &text, &size) == CORE_OK) {
      judge_node(checkup, text, asked);
    } else {
      judge_absence(checkup, cluster, id, job_s);
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
    const bool absent = fault == SLURM_ABSENT && strcmp(settings->api, "auto") == 0;
    sweep_checkup_add(checkup, "Slurm", absent && job_s == 0 ? SWEEP_NOTE : SWEEP_BAD,
                      absent
                        ? "sweep submit runs on this machine; for a cluster go to its login node, or set SLURMRESTD"
                        : "docs/cluster.md says what is needed",
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
