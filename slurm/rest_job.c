/* Writes a job as slurmrestd's JSON. Options are those of the batch script (slurm_options_each); a table maps each to
 * its key in the older and in the newer format. */
#include <stdlib.h>
#include <string.h>

#include "slurm/cluster.h"
#include "slurm/rest_internal.h"

extern char **environ;

/* JSON format of a value. */
typedef enum Shape {
  WORD,     /* "text" */
  NUMBER,   /* 5 */
  OBJECT,   /* {"set": true, "infinite": false, "number": 5}; before v0.0.39 a NUMBER */
  WORDS,    /* ["text"]; before v0.0.39 a WORD */
  MINUTES,  /* "02:00:00" to an OBJECT of minutes, rounded up */
  MEGABYTES, /* "8192M" to an OBJECT */
  GRES,     /* "gpu:2" */
  GPUS,     /* "a100:2" */
  NODES,    /* [n, n]; from v0.0.39 minimum_nodes and maximum_nodes */
  SIGNAL,   /* "B:USR2@120" */
  YES, NO,  /* without a value */
} Shape;

static const struct { const char *option, *older, *newer; Shape shape; } keys[] = {
  {"--partition", "partition", "partition", WORD},
  {"--account", "account", "account", WORD},
  {"--qos", "qos", "qos", WORD},
  {"--reservation", "reservation", "reservation", WORD},
  {"--constraint", "constraints", "constraints", WORD},
  {"--time", "time_limit", "time_limit", MINUTES},
  {"--nodes", "nodes", NULL, NODES},
  {"--ntasks", "tasks", "tasks", NUMBER},
  {"--ntasks-per-node", "tasks_per_node", "tasks_per_node", NUMBER},
  {"--cpus-per-task", "cpus_per_task", "cpus_per_task", NUMBER},
  {"--mem", "memory_per_node", "memory_per_node", MEGABYTES},
  {"--mem-per-cpu", "memory_per_cpu", "memory_per_cpu", MEGABYTES},
  {"--gres", "gres", "tres_per_node", GRES},
  {"--gpus-per-node", "gpus_per_node", "tres_per_node", GPUS},
  {"--signal", NULL, NULL, SIGNAL},
  {"--requeue", "requeue", "requeue", YES},
  {"--no-requeue", "requeue", "requeue", NO},
  {"--open-mode", "open_mode", "open_mode", WORDS},
  /* options of slurm.extra */
  {"--nice", "nice", "nice", NUMBER},
  {"--licenses", "licenses", "licenses", WORD},
  {"--mail-user", "mail_user", "mail_user", WORD},
  {"--mail-type", "mail_type", "mail_type", WORDS},
  {"--wckey", "wckey", "wckey", WORD},
  {"--prefer", "prefer", "prefer", WORD},
  {"--threads-per-core", "threads_per_core", "threads_per_core", NUMBER},
};

typedef struct Writer {
  json_t *job;
  int version;
  char problem[128]; /* option without an equivalent */
} Writer;

static bool is_newer(const Writer *w) { return w->version >= REST_VERSION_OBJECTS; }

static json_t *object_number(const Writer *w, int64_t number) {
  return is_newer(w) ? json_pack("{s:b, s:b, s:I}", "set", 1, "infinite", 0, "number", (json_int_t)number)
                     : json_integer((json_int_t)number);
}

static json_t *flag_array(const Writer *w, const char *value) {
  char upper[SLURM_TEXT];
  size_t i = 0;
  if (!is_newer(w)) return core_json_text(value);
  for (; value[i] && i + 1 < sizeof upper; i++)
    upper[i] = (char)(value[i] >= 'a' && value[i] <= 'z' ? value[i] - 'a' + 'A' : value[i]);
  upper[i] = '\0';
  return json_pack("[s]", upper);
}

/* Formats generic resources per node, whose spelling changed with Slurm 24.05 (v0.0.41). */
static json_t *format_gres(const Writer *w, const char *value, bool has_name) {
  CoreText text = {0};
  core_text_appendf(&text, "%s%s%s",
                    !is_newer(w)       ? ""
                    : w->version >= 41 ? "gres/"
                                       : "gres:",
                    has_name ? "" : "gpu:", value);
  json_t *string = core_json_text(core_text_string(&text));
  core_text_free(&text);
  return string;
}

/* The newer format can signal the batch shell; the older one refuses "B:", so make_script adds a timer. */
static void set_signal(Writer *w, const char *value) {
  char name[16];
  long long lead;
  if (!is_newer(w) || sscanf(value, "B:%15[A-Z0-9]@%lld", name, &lead) != 2) return;
  json_object_set_new(w->job, "kill_warning_signal", core_json_text(name));
  json_object_set_new(w->job, "kill_warning_delay", object_number(w, lead));
  json_object_set_new(w->job, "kill_warning_flags", json_pack("[s]", "BATCH_JOB"));
}

static int64_t leading_number(const char *text) {
  char digits[24];
  int64_t number;
  snprintf(digits, sizeof digits, "%.*s", (int)strspn(text, "0123456789"), text);
  return core_text_to_int(digits, &number) ? number : 0;
}

static json_t *format_value(const Writer *w, Shape shape, const char *value) {
  switch (shape) {
    case WORD: return core_json_text(value);
    case NUMBER: return json_integer((json_int_t)leading_number(value));
    case OBJECT: return object_number(w, leading_number(value));
    case WORDS: return flag_array(w, value);
    case MINUTES: return object_number(w, (slurm_time_parse(value) + 59) / 60);
    case MEGABYTES: return object_number(w, leading_number(value));
    case GRES: return format_gres(w, value, true);
    case GPUS: return is_newer(w) ? format_gres(w, value, false) : core_json_text(value);
    case YES: return json_true();
    case NO: return json_false();
    default: return NULL;
  }
}

static void add_option(void *context, const char *option, const char *value) {
  Writer *w = context;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (strcmp(keys[i].option, option) != 0) continue;
    if (!value && keys[i].shape != YES && keys[i].shape != NO) break;
    if (keys[i].shape == SIGNAL) {
      set_signal(w, value);
    } else if (keys[i].shape == NODES && is_newer(w)) {
      json_object_set_new(w->job, "minimum_nodes", json_integer((json_int_t)leading_number(value)));
      json_object_set_new(w->job, "maximum_nodes", json_integer((json_int_t)leading_number(value)));
    } else if (keys[i].shape == NODES) {
      json_object_set_new(w->job, keys[i].older,
                          json_pack("[I, I]", (json_int_t)leading_number(value), (json_int_t)leading_number(value)));
    } else {
      json_object_set_new(w->job, is_newer(w) ? keys[i].newer : keys[i].older, format_value(w, keys[i].shape, value));
    }
    return;
  }

  snprintf(w->problem, sizeof w->problem, "%s", option);
}

/* Collects the environment of the job. sbatch passes on all variables; through slurmrestd only those that jobs need are
 * sent, and never the token. */
static json_t *make_environment(bool newer) {
  static const char *const kept[] = {
    "PATH=",   "HOME=",       "USER=",        "LOGNAME=", "SHELL=",    "LANG=", "LC_",   "LD_LIBRARY_PATH=",
    "TMPDIR=", "MODULEPATH=", "MODULESHOME=", "LMOD_",    "BASH_ENV=", "OMP_",  "OMPI_", "UCX_",
    "NCCL_",   "CUDA_",       "SWEEP_",       "NO_COLOR="};
  json_t *environment = newer ? json_array() : json_object();
  bool has_path = false;

  for (char **variable = environ; *variable; variable++) {
    const char *equals = strchr(*variable, '=');
    bool is_kept = false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
      is_kept |= strncmp(*variable, kept[i], strlen(kept[i])) == 0;
    if (!is_kept || !equals || !core_text_is_utf8(*variable)) continue;
    has_path |= strncmp(*variable, "PATH=", 5) == 0;
    if (newer) {
      json_array_append_new(environment, core_json_text(*variable));
      continue;
    }
    char *name = core_text_duplicate(*variable);
    name[equals - *variable] = '\0';
    json_object_set_new(environment, name, core_json_text(equals + 1));
    free(name);
  }

  if (!has_path && newer) json_array_append_new(environment, core_json_text("PATH=/usr/bin:/bin"));
  else if (!has_path)
    json_object_set_new(environment, "PATH", core_json_text("/usr/bin:/bin")); /* an empty one is refused */
  return environment;
}

/* Copies the script. If the API version cannot signal the batch shell, inserts a timer before the last line: a child
 * signals the process that the shell becomes. */
static char *make_script(const SlurmJob *job, int version) {
  const SlurmSettings *s = job->settings;
  const char *exec = strstr(job->script, "\nexec ");
  CoreText script = {0};
  if (version >= REST_VERSION_OBJECTS || s->signal_lead <= 0 || s->time <= s->signal_lead || !exec)
    return core_text_duplicate(job->script);
  core_text_append_bytes(&script, job->script, (size_t)(exec + 1 - job->script));
  core_text_appendf(&script, "{ sleep %lld; kill -%s $$; } </dev/null >/dev/null 2>&1 &\n",
                    (long long)(s->time - s->signal_lead), s->signal);
  core_text_append(&script, exec + 1);
  char *text = core_text_duplicate(core_text_string(&script));
  core_text_free(&script);
  return text;
}

static void add_names(Writer *w, const SlurmJob *job) {
  CoreText text = {0};
  core_text_appendf(&text, "0-%lld", (long long)job->tasks - 1);
  if (job->running_max > 0) core_text_appendf(&text, "%%%lld", (long long)job->running_max);
  json_object_set_new(w->job, "array", core_json_text(core_text_string(&text)));

  core_text_clear(&text);
  slurm_options_dependency(job, &text);
  if (text.length) json_object_set_new(w->job, "dependency", core_json_text(core_text_string(&text)));
  if (job->after_each && is_newer(w)) json_object_set_new(w->job, "flags", json_pack("[s]", "KILL_INVALID_DEPENDENCY"));
  else if (job->after_each) json_object_set_new(w->job, "kill_on_invalid_dependency", json_true());

  json_object_set_new(w->job, "name", core_json_text(job->name));
  json_object_set_new(w->job, "comment", core_json_text(job->comment));
  json_object_set_new(w->job, "current_working_directory", core_json_text(job->directory));
  json_object_set_new(w->job, "standard_output", core_json_text(job->output ? job->output : "/dev/null"));
  if (job->held) json_object_set_new(w->job, "hold", json_true());
  core_text_free(&text);
}

int rest_job_write(const SlurmJob *job, int version, char **body) {
  Writer w = {.job = json_object(), .version = version};
  *body = NULL;

  if (*job->settings->container && strcmp(job->settings->container_runtime, "pyxis") == 0) {
    json_decref(w.job);
    return core_error(
      CORE_USAGE, "slurm.container with pyxis: slurmrestd does not support it; use slurm.api = cli, or apptainer");
  }

  add_names(&w, job);
  slurm_options_each(job->settings, add_option, &w);
  if (*w.problem) {
    json_decref(w.job);
    return core_error(CORE_USAGE, "slurm.extra: slurmrestd does not support %s; use slurm.api = cli, or leave it out",
                      w.problem);
  }

  json_object_set_new(w.job, "environment", make_environment(is_newer(&w)));
  char *script = make_script(job, version);
  json_t *request = json_object();
  json_object_set_new(is_newer(&w) ? w.job : request, "script", core_json_text(script));
  json_object_set_new(request, "job", w.job);
  free(script);
  *body = json_dumps(request, JSON_COMPACT);
  json_decref(request);
  return *body ? CORE_OK : core_error(CORE_FAIL, "the job contains text that is not UTF-8");
}
