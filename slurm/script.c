/* Prints batch scripts. Values were validated by settings.c; the words of the command are quoted. */
#include "slurm/cluster.h"

#include <string.h>

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef void Emit(void *context, const char *option, const char *value);

static void emit_number(Emit *emit, void *context, const char *option, int64_t number, const char *unit) {
  char text[48];
  snprintf(text, sizeof text, "%lld%s", (long long)number, unit);
  emit(context, option, text);
}

static void emit_gpus(const SlurmSettings *s, Emit *emit, void *context) {
  char text[SLURM_TEXT + 64];
  const int64_t gpus = slurm_settings_task_gpus(s) / s->nodes;
  if (gpus == 0) return;
  const bool gres = strcmp(s->gpu_syntax, "gres") == 0;
  snprintf(text, sizeof text, "%s%s%s%lld", gres ? "gpu:" : "", s->gpu_type, *s->gpu_type ? ":" : "", (long long)gpus);
  emit(context, gres ? "--gres" : "--gpus-per-node", text);
}

static void emit_extra(const SlurmSettings *s, Emit *emit, void *context) {
  char copy[SLURM_TEXT], *tail = copy;
  if (!*s->extra) return;
  snprintf(copy, sizeof copy, "%s", s->extra);
  for (char *option; (option = strsep(&tail, " "));) {
    char *equals = strchr(option, '=');
    if (equals) *equals = '\0';
    if (*option) emit(context, option, equals ? equals + 1 : NULL);
  }
}

void slurm_options_each(const SlurmSettings *s, Emit *emit, void *context) {
  char text[SLURM_TEXT + 32];
  const struct {
    const char *option, *value;
  } options[] = {{"--partition", s->partition},
                 {"--account", s->account},
                 {"--qos", s->qos},
                 {"--reservation", s->reservation},
                 {"--constraint", s->constraint}};

  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (*options[i].value) emit(context, options[i].option, options[i].value);
  if (s->time > 0) emit(context, "--time", slurm_time_format(s->time, text));
  emit_number(emit, context, "--nodes", s->nodes, "");

  /* Runs without ranks are children of one task, which gets the processors of all. */
  const bool by_srun = s->ranks_per_run > 1;
  emit_number(emit, context, "--ntasks", by_srun ? s->ranks_per_run * s->runs_per_task : 1, "");
  emit_number(emit, context, "--cpus-per-task", by_srun ? s->cpus_per_run : slurm_settings_task_cpus(s), "");
  if (s->nodes > 1) emit_number(emit, context, "--ntasks-per-node", s->ranks_per_run / s->nodes, "");
  if (s->mem > 0) emit_number(emit, context, "--mem", s->mem * s->runs_per_task, "M");
  if (s->mem_per_cpu > 0) emit_number(emit, context, "--mem-per-cpu", s->mem_per_cpu, "M");
  emit_gpus(s, emit, context);

  snprintf(text, sizeof text, "B:%s@%lld", s->signal, (long long)s->signal_lead);
  if (s->signal_lead > 0) emit(context, "--signal", text);
  emit(context, s->requeue ? "--requeue" : "--no-requeue", NULL);
  emit(context, "--open-mode", "append");
  emit_extra(s, emit, context);
}

void slurm_options_dependency(const SlurmJob *job, CoreText *text) {
  char id[48];
  for (size_t i = 0; i < job->after_count; i++)
    core_text_appendf(text, "%s:%s", i ? "" : "afterany", slurm_id_format(job->after[i], id));
  if (job->after_each)
    core_text_appendf(text, "%saftercorr:%lld", job->after_count ? "," : "", (long long)job->after_each);
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

static void add_line(void *context, const char *option, const char *value) {
  core_text_appendf(context, "#SBATCH %s%s%s\n", option, value ? "=" : "", value ? value : "");
}

static void add_quoted(CoreText *script, const char *option, const char *value) {
  core_text_appendf(script, "#SBATCH %s=\"", option);
  for (; *value; value++) { /* sbatch understands \ inside quotes */
    if (*value == '"' || *value == '\\') core_text_append(script, "\\");
    core_text_append_bytes(script, value, 1);
  }
  core_text_append(script, "\"\n");
}

/* Whole jobs use afterany, since with afterok one failed task would block this job forever. Task by task there is only
 * aftercorr, which needs success: Slurm cancels tasks whose dependency can never be satisfied. */
static void add_dependency(CoreText *script, const SlurmJob *job) {
  if (job->after_count == 0 && job->after_each == 0) return;
  core_text_append(script, "#SBATCH --dependency=");
  slurm_options_dependency(job, script);
  core_text_append(script, job->after_each ? "\n#SBATCH --kill-on-invalid-dep=yes\n" : "\n");
}

/* Apptainer wraps the command; pyxis uses sbatch options. Both mount the job's working directory. */
static void add_container(const SlurmJob *job, CoreText *script) {
  const SlurmSettings *s = job->settings;
  if (!*s->container || strcmp(s->container_runtime, "apptainer") != 0) return;
  core_text_appendf(script, " apptainer exec%s --bind ", slurm_settings_task_gpus(s) > 0 ? " --nv" : "");
  core_text_append_shell(script, job->directory);
  core_text_append(script, " ");
  core_text_append_shell(script, s->container);
}

static void add_pyxis(const SlurmJob *job, CoreText *script) {
  const SlurmSettings *s = job->settings;
  if (!*s->container || strcmp(s->container_runtime, "pyxis") != 0) return;
  add_quoted(script, "--container-image", s->container);
  core_text_append(script, "#SBATCH --no-container-entrypoint\n");
  CoreText mounts = {0};
  core_text_appendf(&mounts, "%s:%s", job->directory, job->directory);
  add_quoted(script, "--container-mounts", core_text_string(&mounts));
  core_text_free(&mounts);
}

void slurm_script_print(const SlurmJob *job, const char *const *command, CoreText *script) {
  /* Only modules need a login shell, which costs tenths of a second per task. */
  const bool may_load = *job->settings->modules || *job->settings->setup;

  core_text_append(script, may_load ? "#!/bin/bash -l\n" : "#!/bin/bash\n");
  add_quoted(script, "--job-name", job->name);
  add_quoted(script, "--comment", job->comment);
  core_text_appendf(script, "#SBATCH --array=0-%lld", (long long)job->tasks - 1);
  if (job->running_max > 0) core_text_appendf(script, "%%%lld", (long long)job->running_max);
  core_text_append(script, "\n");
  add_dependency(script, job);
  if (job->remark) core_text_appendf(script, "# %s\n", job->remark);

  slurm_options_each(job->settings, add_line, script);
  add_quoted(script, "--chdir", job->directory);
  add_quoted(script, "--output", job->output ? job->output : "/dev/null");
  if (job->held) core_text_append(script, "#SBATCH --hold\n");
  add_pyxis(job, script);

  if (*job->settings->modules)
    core_text_appendf(script, "module load %s || { echo 'module load failed' >&2; exit 1; }\n", job->settings->modules);
  if (*job->settings->scratch) core_text_appendf(script, "export TMPDIR=\"%s\"\n", job->settings->scratch);
  if (*job->settings->setup)
    core_text_appendf(script, "%s\nstatus=$?\n[ $status -eq 0 ] || { echo \"slurm.setup failed with exit code "
                      "$status\" >&2; exit 1; }\n", job->settings->setup);

  core_text_append(script, "exec");
  add_container(job, script);
  for (size_t i = 0; command[i]; i++) {
    core_text_append(script, " ");
    core_text_append_shell(script, command[i]);
  }
  core_text_append(script, "\n");
}
