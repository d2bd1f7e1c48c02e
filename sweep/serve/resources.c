/* Answers about what a run used, and what it asked for (routes.h): its load over time (sweep/supervise/run_load.h), its
 * peak of memory (run_memory.h), and a line of advice. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sweep/supervise/run_load.h"
#include "sweep/supervise/run_memory.h"
#include "sweep/serve/routes.h"
#include "sweep/status/usage.h"

enum { ADVISED_POINTS_MIN = 5 };
static const double excess_min = 2; /* less is advised where at least this many times too much was asked for */

/* Resources that a run asked of Slurm; for a run of this machine, those of the machine. 0: unknown. */
typedef struct Asked {
  bool is_slurm;
  double cpus, memory_mb, gpus; /* on a node, as the load is that of a node */
  double ranks;                 /* on a node */
} Asked;

/* Totals over the load. NaN: unknown. */
typedef struct Used { double cpus, cpus_max, memory_mb, gpu_percent, gpu_memory_mb, gpu_total_mb; } Used;

static void read_asked(const ServeContext *context, const char *sweep, const char *id, const SweepRunLoad *load,
                       Asked *asked) {
  SlurmSettings settings;
  *asked = (Asked){false, load->machine_cpus, load->machine_memory_mb, 0, 1};
  if (sweep_usage_read_settings(context->serve->root, sweep, id, &settings, &asked->is_slurm) != CORE_OK ||
      !asked->is_slurm) {
    core_error_clear();
    asked->is_slurm = false;
    return;
  }
  const double nodes = settings.nodes > 0 ? (double)settings.nodes : 1;
  asked->ranks = fmax(1, (double)settings.ranks_per_run / nodes);
  asked->cpus = (double)settings.cpus_per_run * asked->ranks;
  asked->memory_mb = (double)slurm_settings_run_mem(&settings);
  asked->gpus = settings.gpus_per_run / nodes;
}

static Used add_up(const SweepRunLoad *load, const SweepRunMemory *memory) {
  Used used = {NAN, NAN, memory->peak_mb > 0 ? (double)memory->peak_mb : NAN, NAN, NAN, NAN};
  double cpus = 0, gpu_percent = 0, gpu_points = 0;
  for (size_t i = 0; i < load->count; i++) {
    const SweepLoadPoint *point = &load->point[i];
    cpus += point->cpus;
    used.cpus_max = fmax(used.cpus_max, point->cpus);
    used.memory_mb = fmax(used.memory_mb, point->memory_mb);
    used.gpu_memory_mb = fmax(used.gpu_memory_mb, point->gpu_memory_mb);
    used.gpu_total_mb = fmax(used.gpu_total_mb, point->gpu_total_mb);
    if (isnan(point->gpu_percent)) continue;
    gpu_percent += point->gpu_percent;
    gpu_points++;
  }
  if (load->count > 0) used.cpus = cpus / (double)load->count;
  if (gpu_points > 0) used.gpu_percent = gpu_percent / gpu_points;
  return used;
}

/* ---- advice ------------------------------------------------------------------------------------------------------ */

/* "0.2 of 16 GB": both in the unit of the second. */
static void append_memory(CoreText *text, double used_mb, double of_mb) {
  const bool is_gb = (of_mb > 0 ? of_mb : used_mb) >= 1000;
  const double unit = is_gb ? 1024 : 1;
  core_text_appendf(text, "%.3g", used_mb / unit);
  if (of_mb > 0) core_text_appendf(text, " of %.3g", of_mb / unit);
  core_text_append(text, is_gb ? " GB" : " MB");
}

static void append_separator(CoreText *text) { core_text_append(text, text->length > 0 ? ", " : "used "); }

static void append_used(CoreText *text, const Used *used, const Asked *asked) {
  if (!isnan(used->memory_mb)) {
    append_separator(text);
    append_memory(text, used->memory_mb, asked->memory_mb);
  }
  if (!isnan(used->cpus)) {
    append_separator(text);
    core_text_appendf(text, "%.2g", used->cpus);
    if (asked->cpus > 0) core_text_appendf(text, " of %g CPU%s", asked->cpus, asked->cpus > 1 ? "s" : "");
    else core_text_append(text, " CPUs");
  }
  if (!isnan(used->gpu_memory_mb)) {
    append_separator(text);
    append_memory(text, used->gpu_memory_mb, used->gpu_total_mb);
    core_text_append(text, " of GPU memory");
    if (!isnan(used->gpu_percent)) core_text_appendf(text, "; the GPU was busy %.0f %% of the time", used->gpu_percent);
  } else if (asked->gpus > 0 && !isnan(used->cpus)) {
    core_text_appendf(text, "; no process on the %g GPU%s that it asked for was seen", asked->gpus,
                      asked->gpus > 1 ? "s" : "");
  }
}

/* Advises to ask for less. As in sweep_usage_advise, only runs that have ended and were sampled often enough tell. */
static void append_advice(CoreText *text, const Used *used, const Asked *asked, const SweepRunMemory *memory,
                          bool has_ended) {
  const double needed_mb = (double)sweep_run_memory_needed(memory), needed_cpus = ceil(used->cpus_max / asked->ranks);
  const bool has_memory = memory->source >= SWEEP_MEMORY_PROCESSES && memory->samples >= ADVISED_POINTS_MIN;
  if (!asked->is_slurm || !has_ended) return;
  if (has_memory && needed_mb > 0 && asked->memory_mb > excess_min * needed_mb)
    core_text_appendf(text, "; slurm.mem = %.0fM is enough", needed_mb);
  if (needed_cpus >= 1 && asked->cpus >= excess_min * needed_cpus * asked->ranks)
    core_text_appendf(text, "; slurm.cpus_per_run = %.0f is enough", needed_cpus);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static json_t *points_json(const SweepRunLoad *load) {
  json_t *list = json_array();
  for (size_t i = 0; i < load->count; i++) {
    const SweepLoadPoint *p = &load->point[i];
    json_array_append_new(list, json_pack("[o, o, o, o, o]", core_json_real(p->unix_s), core_json_real(p->cpus),
                                          core_json_real(p->memory_mb), core_json_real(p->gpu_percent),
                                          core_json_real(p->gpu_memory_mb)));
  }
  return list;
}

int serve_api_resources(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  size_t index;
  SweepRunMemory memory;
  Asked asked;
  CoreText text = {0};
  TRY(serve_argument_run(context, &sweep, &index));
  const char *root = context->serve->root, *id = sweep->view->progress.run[index].id;

  SweepRunLoad *load = core_memory_allocate(sizeof *load); /* too large for a thread's stack */
  int code = sweep_run_load_read(root, id, load);
  if (code == CORE_OK) code = sweep_run_memory_read(root, id, &memory);
  if (code != CORE_OK) {
    free(load);
    return code;
  }

  read_asked(context, sweep->view->progress.name, id, load, &asked);
  const Used used = add_up(load, &memory);
  const bool has_ended = sweep->view->progress.run[index].state.status != STORE_RUNNING;
  append_used(&text, &used, &asked);
  append_advice(&text, &used, &asked, &memory, has_ended);
  *value = json_pack("{s:s, s:o, s:{s:b, s:f, s:f, s:f}, s:o, s:o}", "run", id, "advice",
                     core_json_text(core_text_string(&text)), "asked", "slurm", asked.is_slurm, "cpus", asked.cpus,
                     "memory_mb", asked.memory_mb, "gpus", asked.gpus, "gpu_memory_mb",
                     core_json_real(used.gpu_total_mb), "point", points_json(load));
  core_text_free(&text);
  free(load);
  return CORE_OK;
}
