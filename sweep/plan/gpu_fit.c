#include "sweep/plan/gpu_fit.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Memory that every data center GPU since 2017 has. A run that needs more gets a warning if slurm.gpu_mem is
 * missing. */
static const double common_gpu_bytes = 15e9;

/* Substrings of GRES names and memory sizes. Longer ones first. */
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
  if (!*settings->gpu_type) return 0;
  for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
    if (find_word(settings->gpu_type, known_types[i].word)) return known_types[i].gigabytes * 1e9;
  return 0;
}

/* Multiplies by the ranks that share a GPU. A run on a fraction of a GPU shares it with other runs. */
double sweep_gpu_needed(const SlurmSettings *settings, double device_bytes) {
  const double ranks = (double)settings->ranks_per_run, gpus = settings->gpus_per_run;
  return gpus > 0 && gpus < ranks ? device_bytes * ranks / gpus : device_bytes;
}

SweepGpuFit sweep_gpu_fit(const SlurmSettings *settings, const CoreConfig *config, double device_bytes,
                          CoreText *message) {
  const double available = sweep_gpu_bytes(settings), needed = sweep_gpu_needed(settings, device_bytes);
  char text[32];
  if (settings->gpus_per_run == 0) return SWEEP_GPU_FITS;
  if (device_bytes == 0) {
    core_text_appendf(message,
                      "slurm.gpus_per_run = %g, but train.device = %s trains these runs on processors; remove "
                      "slurm.gpus_per_run, or set train.device = cuda",
                      settings->gpus_per_run, config->train.device);
    return SWEEP_GPU_UNUSED;
  }

  core_text_count(needed, text);
  if (available > 0 && needed > available) {
    core_text_appendf(message, "slurm.gpus_per_run: a run needs about %sB of each of its GPUs (%g), but ", text,
                      fmin(settings->gpus_per_run, (double)settings->ranks_per_run));
    core_text_count(sweep_gpu_bytes(settings), text);
    if (settings->gpu_mem > 0) core_text_appendf(message, "slurm.gpu_mem is %sB", text);
    else core_text_appendf(message, "slurm.gpu_type = %s has %sB", settings->gpu_type, text);
    return SWEEP_GPU_TOO_SMALL;
  }

  if (settings->gpus_per_run > (double)settings->ranks_per_run) {
    core_text_appendf(message,
                      "slurm.gpus_per_run = %g with slurm.ranks_per_run = %lld: a rank uses one GPU; request "
                      "as many ranks",
                      settings->gpus_per_run, (long long)settings->ranks_per_run);
    return SWEEP_GPU_UNUSED;
  }

  if (available > 0 || needed <= common_gpu_bytes) return SWEEP_GPU_FITS;
  core_text_appendf(message,
                    "a run needs about %sB of each of its GPUs; set slurm.gpu_mem or slurm.gpu_type to check "
                    "whether they have it",
                    text);
  return SWEEP_GPU_UNKNOWN;
}

bool sweep_has_slices(const CoreConfig *config) {
  return strcmp(config->ppo.shuffle, "none") == 0 && strcmp(config->algo.name, "sapg") != 0;
}

double sweep_gpu_padding(const SlurmSettings *settings, const CoreConfig *config) {
  const bool by_environments = strcmp(config->ppo.minibatch_by, "environments") == 0;
  const double unit = (double)(by_environments ? config->ppo.num_steps : core_config_sequence_length(config));
  const double ranks = (double)settings->ranks_per_run, parts = (double)config->ppo.num_minibatches;
  const double rank_units = (double)core_config_transitions_per_iteration(config) / unit / ranks; /* units of a rank */
  const bool is_exact = strcmp(config->ppo.shuffle, "blocks") == 0 && fmod(rank_units, parts) == 0;
  const double share = rank_units / parts;
  if (ranks == 1) return 1;
  if (sweep_has_slices(config)) return fmin(ranks, parts);
  if (strcmp(config->train.device, "cuda") != 0 || is_exact) return 1;
  return fmin(ceil(share + 6 * sqrt(share) + 1), share * ranks) / share;
}
