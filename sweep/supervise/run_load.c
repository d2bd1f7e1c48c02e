/* Records what runs used, and reads it (run_load.h). */
#include "sweep/supervise/run_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/workspace/paths.h"

enum { FILE_MAX = 64 << 10, WRITE_EVERY_S = 10 };

struct SweepLoadRecorder {
  SweepRunLoad load;
  double every_s;        /* length of an interval */
  double cpu_s;          /* CPU time so far; an ended process counts when its parent has waited for it */
  double last_unix_s;    /* time of the last sample */
  SweepLoadPoint open;   /* the interval that has begun; its means are sums weighted by seconds */
  double open_s, gpu_s;  /* its length, and the part of it with a GPU */
  double written_unix_s;
};

/* Returns the larger number; one that is not NaN if the other is. */
static double larger(double a, double b) { return fmax(a, b); }

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static double parse_number(const char *text) {
  double value;
  return core_text_to_real(text, &value) && isfinite(value) && value >= 0 ? value : NAN;
}

static bool parse_point(char *line, SweepLoadPoint *point) {
  double *const fields[] = {&point->unix_s, &point->cpus, &point->memory_mb, &point->gpu_percent,
                            &point->gpu_memory_mb, &point->gpu_total_mb};
  char *save = NULL, *word = strtok_r(line, "\t", &save);
  size_t count = 0;
  for (; word && count < sizeof fields / sizeof *fields; word = strtok_r(NULL, "\t", &save))
    *fields[count++] = parse_number(word);
  return count == sizeof fields / sizeof *fields && isfinite(point->unix_s) && isfinite(point->cpus) &&
         isfinite(point->memory_mb);
}

int sweep_run_load_read(const char *root, const char *id, SweepRunLoad *load) {
  char path[CORE_PATH_MAX], *data, *save = NULL;
  size_t size;
  *load = (SweepRunLoad){.count = 0};
  TRY(store_path_run(root, id, "load.tsv", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, FILE_MAX, &data, &size));

  double cpus, memory_mb, before = 0;
  for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    SweepLoadPoint point;
    if (sscanf(line, "machine_cpus=%lf machine_memory_mb=%lf", &cpus, &memory_mb) == 2) {
      load->machine_cpus = isfinite(cpus) && cpus > 0 ? cpus : 0;
      load->machine_memory_mb = isfinite(memory_mb) && memory_mb > 0 ? memory_mb : 0;
    } else if (parse_point(line, &point) && point.unix_s > before && load->count < SWEEP_LOAD_POINTS) {
      before = point.unix_s;
      load->point[load->count++] = point;
    }
  }

  free(data);
  return CORE_OK;
}

static void append_number(CoreText *text, double value, int decimals) {
  if (isnan(value)) core_text_append(text, "\t-");
  else core_text_appendf(text, "\t%.*f", decimals, value);
}

static void write_file(const char *root, const char *id, const SweepRunLoad *load) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  core_text_appendf(&text, "machine_cpus=%.0f machine_memory_mb=%.0f\n", load->machine_cpus, load->machine_memory_mb);
  for (size_t i = 0; i < load->count; i++) {
    const SweepLoadPoint *point = &load->point[i];
    core_text_appendf(&text, "%.1f", point->unix_s);
    append_number(&text, point->cpus, 2);
    append_number(&text, point->memory_mb, 1);
    append_number(&text, point->gpu_percent, 0);
    append_number(&text, point->gpu_memory_mb, 0);
    append_number(&text, point->gpu_total_mb, 0);
    core_text_append(&text, "\n");
  }

  int code = store_path_run(root, id, "load.tsv", path);
  if (code == CORE_OK) code = core_files_write_unsynced(path, core_text_string(&text), text.length);
  if (code != CORE_OK) core_warn("%s", core_error_message());
  core_text_free(&text);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static SweepLoadPoint merge_points(const SweepLoadPoint *a, const SweepLoadPoint *b) {
  const double both = 0.5 * (a->gpu_percent + b->gpu_percent);
  return (SweepLoadPoint){.unix_s = b->unix_s,
                          .cpus = 0.5 * (a->cpus + b->cpus),
                          .memory_mb = larger(a->memory_mb, b->memory_mb),
                          .gpu_percent = isnan(both) ? larger(a->gpu_percent, b->gpu_percent) : both,
                          .gpu_memory_mb = larger(a->gpu_memory_mb, b->gpu_memory_mb),
                          .gpu_total_mb = larger(a->gpu_total_mb, b->gpu_total_mb)};
}

/* Makes each two intervals one. */
static void halve(SweepLoadRecorder *recorder) {
  SweepRunLoad *load = &recorder->load;
  const size_t count = load->count;
  for (size_t i = 0; i < count / 2; i++) load->point[i] = merge_points(&load->point[2 * i], &load->point[2 * i + 1]);
  if (count % 2) load->point[count / 2] = load->point[count - 1];
  load->count = (count + 1) / 2;
  recorder->every_s *= 2;
}

static void close_interval(SweepLoadRecorder *recorder) {
  SweepLoadPoint *open = &recorder->open;
  if (!(recorder->open_s > 0)) return;
  if (recorder->load.count == SWEEP_LOAD_POINTS) halve(recorder);
  open->cpus /= recorder->open_s;
  open->gpu_percent = recorder->gpu_s > 0 ? open->gpu_percent / recorder->gpu_s : NAN;
  recorder->load.point[recorder->load.count++] = *open;
  recorder->open_s = 0;
}

/* Adds the time since the last sample to the interval. */
static void extend_interval(SweepLoadRecorder *recorder, double now_unix_s, const SweepLoadSample *sample) {
  const double seconds = now_unix_s - recorder->last_unix_s;
  SweepLoadPoint *open = &recorder->open;
  if (!(seconds > 0)) return;
  if (!(recorder->open_s > 0)) {
    recorder->open = (SweepLoadPoint){.gpu_memory_mb = NAN, .gpu_total_mb = NAN};
    recorder->open_s = recorder->gpu_s = 0;
  }

  open->unix_s = now_unix_s;
  open->cpus += fmax(0, sample->cpu_s - recorder->cpu_s);
  open->memory_mb = larger(open->memory_mb, sample->memory_mb);
  open->gpu_memory_mb = larger(open->gpu_memory_mb, sample->gpu_memory_mb);
  open->gpu_total_mb = larger(open->gpu_total_mb, sample->gpu_total_mb);
  if (!isnan(sample->gpu_percent)) {
    open->gpu_percent += seconds * sample->gpu_percent;
    recorder->gpu_s += seconds;
  }
  recorder->open_s += seconds;
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

static SweepLoadRecorder *create_recorder(const char *root, const char *id) {
  SweepLoadRecorder *recorder = core_memory_zero_allocate(1, sizeof *recorder);
  SweepRunLoad *load = &recorder->load;
  if (sweep_run_load_read(root, id, load) != CORE_OK) core_warn("%s", core_error_message());
  load->machine_cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
  load->machine_memory_mb = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 20);

  /* Intervals as long as those of the file. */
  recorder->every_s = 1;
  const double spread_s = load->count > 1 ? load->point[load->count - 1].unix_s - load->point[0].unix_s : 0;
  while (load->count > 1 && 2 * recorder->every_s <= spread_s / (double)(load->count - 1)) recorder->every_s *= 2;
  return recorder;
}

void sweep_load_recorder_add(const char *root, const char *id, double now_unix_s, const SweepLoadSample *sample,
                             SweepLoadRecorder **given) {
  if (!*given) {
    *given = create_recorder(root, id);
    (*given)->written_unix_s = now_unix_s;
  } else {
    extend_interval(*given, now_unix_s, sample);
  }

  SweepLoadRecorder *recorder = *given;
  recorder->cpu_s = larger(recorder->cpu_s, sample->cpu_s);
  recorder->last_unix_s = now_unix_s;
  if (recorder->open_s < recorder->every_s) return;
  close_interval(recorder);
  if (now_unix_s - recorder->written_unix_s < WRITE_EVERY_S) return;
  write_file(root, id, &recorder->load);
  recorder->written_unix_s = now_unix_s;
}

void sweep_load_recorder_end(const char *root, const char *id, SweepLoadRecorder **recorder) {
  if (!*recorder) return;
  close_interval(*recorder);
  if ((*recorder)->load.count > 0) write_file(root, id, &(*recorder)->load);
  free(*recorder);
  *recorder = NULL;
}
