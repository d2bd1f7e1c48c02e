#include "sweep/plan/gpu_fit.h"

#include <string.h>
#include <strings.h>

/* Beyond this a missing slurm.gpu_mem is worth a warning: every data center GPU since 2017 has as much. */
static const double ANY_GPU_BYTES = 15e9;

/* Words in GRES names, and gigabytes. Longer words first. */
static const struct {
  const char *word;
  double gigabytes;
} known_types[] = {
  {"gh200", 96}, {"gb200", 186}, {"h200", 141}, {"h100", 80},  {"a100_80", 80}, {"a100-80", 80}, {"a100", 40},
  {"b200", 180}, {"l40s", 48},   {"l40", 48},   {"a40", 48},   {"a30", 24},     {"a10", 24},     {"a6000", 48},
  {"l4", 24},    {"v100", 16},   {"p100", 12},  {"t4", 16},    {"4090", 24},    {"3090", 24},    {"2080", 11},
};

static const char *find_word(const char *text, const char *word) {
  const size_t length = strlen(word);
  for (; *text; text++)
    if (strncasecmp(text, word, length) == 0) return text;
  return NULL;
}

double sweep_gpu_bytes(const SlurmSettings *settings) {
  if (settings->gpu_mem > 0) return (double)settings->gpu_mem * 1048576;
  for (size_t i = 0; *settings->gpu_type && i < sizeof known_types / sizeof *known_types; i++)
    if (find_word(settings->gpu_type, known_types[i].word)) return known_types[i].gigabytes * 1e9;
  return 0;
}

/* Ranks that share a GPU; a run on a share of one has the rest taken by others. */
double sweep_gpu_needed(const SlurmSettings *settings, double device_bytes) {
  const double ranks = (double)settings->ranks_per_run, gpus = settings->gpus_per_run;
  return gpus > 0 && gpus < ranks ? device_bytes * ranks / gpus : device_bytes;
}

static void append_source(const SlurmSettings *settings, CoreText *message) {
  char text[32];
  core_text_count(sweep_gpu_bytes(settings), text);
  if (settings->gpu_mem > 0) core_text_appendf(message, "slurm.gpu_mem is %sB", text);
  else core_text_appendf(message, "slurm.gpu_type = %s has %sB", settings->gpu_type, text);
}

SweepGpuFit sweep_gpu_fit(const SlurmSettings *settings, const CoreConfig *config, double device_bytes,
                          CoreText *message) {
  const double has = sweep_gpu_bytes(settings), needs = sweep_gpu_needed(settings, device_bytes);
  char text[32];
  if (settings->gpus_per_run == 0) return SWEEP_GPU_FITS;
  if (device_bytes == 0) {
    core_text_appendf(message, "slurm.gpus_per_run = %g, but train.device = %s trains these runs on processors: leave "
                      "the GPUs out, or set train.device = cuda", settings->gpus_per_run, config->train.device);
    return SWEEP_GPU_UNUSED;
  }
  if (settings->gpus_per_run > (double)settings->ranks_per_run) {
    core_text_appendf(message, "slurm.gpus_per_run = %g with slurm.ranks_per_run = %lld: a rank uses one GPU; ask for "
                      "as many ranks", settings->gpus_per_run, (long long)settings->ranks_per_run);
    return SWEEP_GPU_UNUSED;
  }
  core_text_count(needs, text);
  if (has > 0 && needs <= has) return SWEEP_GPU_FITS;
  if (has == 0 && needs <= ANY_GPU_BYTES) return SWEEP_GPU_FITS;
  if (has == 0) {
    core_text_appendf(message, "a run takes about %sB of each of its GPUs; slurm.gpu_mem (or gpu_type) would say "
                      "whether they have it", text);
    return SWEEP_GPU_UNKNOWN;
  }
  core_text_appendf(message, "slurm.gpus_per_run: a run takes about %sB of each of its GPUs (%g), and ", text,
                    settings->gpus_per_run);
  append_source(settings, message);
  return SWEEP_GPU_TOO_SMALL;
}
