/* Counting four small versions of a run, and extrapolation (cost.h). */
#include "tests/instruments/cost.h"

#include <math.h>
#include <stdlib.h>

#include "core/command/options.h"
#include "core/device/access_counts.h"
#include "core/json.h"
#include "core/memory.h"
#include "trainer/run/training.h"
#include "trainer/update/minibatch.h"

/* The small versions: `worlds` and twice as many, STEPS and twice as many. ITERATIONS: the first is measured and
 * searches, the second is not and does not. */
enum { CORNERS = 4, STEPS = 2, WORLDS = 32, ENCODER_WORLDS = 2, ITERATIONS = 2, SHOWN = 12 };

static const char *const PHASE[CORE_PHASES] = {
  [CORE_PHASE_OTHER] = "other", [CORE_PHASE_SEARCH] = "search", [CORE_PHASE_ROLLOUT] = "rollout",
  [CORE_PHASE_UPDATE] = "update", [CORE_PHASE_MINIBATCHES] = "minibatches", [CORE_PHASE_MEASURE] = "measure"};

/* Counts of a kernel by what issued it, of each version's iterations. */
typedef struct Sample { const char *kernel; CoreAccessBy by; CostSum sum[ITERATIONS][CORNERS]; } Sample;
typedef struct Samples { Sample sample[COST_KERNELS_MAX]; int count; } Samples;

/* Sizes of the run, in those of the first small version. */
typedef struct Scale {
  double worlds, steps, rows, transitions, states, levels, search_steps; /* rows: of a minibatch */
  double searches, minibatches;                                          /* batches of a search; of an iteration */
  double acting_pieces, pieces;                                          /* passes of the networks over them */
} Scale;

/* ---- the small versions ------------------------------------------------------------------------------------------ */

static CoreConfig small_version(const CoreConfig *config, int worlds, int steps) {
  CoreConfig small = *config;
  snprintf(small.train.device, sizeof small.train.device, "cuda");
  small.env.num = worlds;
  small.ppo.num_steps = steps;
  small.ppo.num_minibatches = small.ppo.epochs = 1;
  small.ppo.target_kl = 0;
  small.ppo.sequence_length = small.sapg.sequence_length = STEPS;

  small.eval.count = 0;
  small.metrics.states = (int64_t)worlds * steps;
  small.metrics.representation_every = ITERATIONS;
  small.metrics.profile_every = small.metrics.noise_every = small.metrics.visited_states = 0;

  small.train.total_steps = ITERATIONS * (int64_t)worlds * steps;
  small.sfl.batch_size = worlds;
  small.sfl.num_batches = 1;
  small.sfl.rollout_steps = steps;
  small.sfl.buffer_size = 1;
  small.sfl.period = ITERATIONS;

  if (core_config_has_curriculum(config)) small.env.max_steps = STEPS;
  snprintf(small.init.from, sizeof small.init.from, "%s", "");
  return small;
}

static Sample *sample_of(Samples *samples, const CoreAccessCount *count) {
  for (int i = 0; i < samples->count; i++) {
    Sample *sample = &samples->sample[i];
    if (sample->by.phase == count->by.phase && sample->by.is_encoding == count->by.is_encoding &&
        strcmp(sample->kernel, count->kernel) == 0)
      return sample;
  }
  CORE_CHECK(samples->count < COST_KERNELS_MAX);
  Sample *sample = &samples->sample[samples->count++];
  *sample = (Sample){.kernel = count->kernel, .by = count->by};
  return sample;
}

static void take_counts(Samples *samples, int iteration, int corner) {
  size_t n;
  const CoreAccessCount *count = core_access_counts(&n);
  for (size_t i = 0; i < n; i++)
    sample_of(samples, &count[i])->sum[iteration][corner] =
      (CostSum){(double)count[i].launches, (double)count[i].read, (double)count[i].written};
  core_access_clear();
}

static int count_iterations(Training *training, Samples *samples, int corner) {
  StoreIteration row;
  TRY(training_allocate(training));
  TRY(training_connect(training));
  TRY(training_start(training));
  core_access_clear();
  for (int i = 0; i < ITERATIONS; i++) {
    TRY(training_iterate(training, &row));
    training->device->synchronize(training->device);
    take_counts(samples, i, corner);
  }
  return CORE_OK;
}

static int count_corners(const CoreConfig *config, int worlds, Samples *samples) {
  static const CoreEmulatedBody *const tables[] = {ops_counted_bodies, sim_counted_bodies};
  TRY(core_access_start(tables, sizeof tables / sizeof *tables));
  int code = CORE_OK;
  for (int corner = 0; corner < CORNERS; corner++) {
    if (code != CORE_OK) break;
    const CoreConfig small = small_version(config, worlds << corner % 2, STEPS << corner / 2);
    Training *training = NULL;
    code = training_plan(&small, &training);
    if (code == CORE_OK && training->sgd)
      code = core_error(CORE_USAGE, "algo.name = %s trains no networks, whose cost could be counted", small.algo.name);
    if (code == CORE_OK) code = count_iterations(training, samples, corner);
    training_destroy(&training);
  }
  core_access_stop();
  return code;
}

/* ---- extrapolation ----------------------------------------------------------------------------------------------- */

static double at_least_0(double x) { return x > 0 ? x : 0; }

/* Extrapolates counts that are linear in worlds and in steps: v of (1, 1), (2, 1), (1, 2), (2, 2). What does not grow
 * with the worlds, weights and launches, repeats in each of `pieces` passes. */
static double of_worlds(const double v[CORNERS], double worlds, double steps, double pieces) {
  const double both = v[3] - v[1] - v[2] + v[0], by_world = v[1] - v[0] - both, by_step = v[2] - v[0] - both;
  const double fixed = v[0] - both - by_world - by_step;
  return at_least_0(pieces * (fixed + by_step * steps) + worlds * (by_world + both * steps));
}

/* Extrapolates counts that are linear in rows, of which the last version has four times as many as the first. */
static double of_rows(const double v[CORNERS], double rows, double pieces) {
  const double by_row = (v[3] - v[0]) / 3;
  return at_least_0(pieces * (v[0] - by_row) + rows * by_row);
}

static double extrapolate(const Scale *scale, int phase, const double v[CORNERS]) {
  switch (phase) {
    case CORE_PHASE_SEARCH: return scale->searches * of_worlds(v, scale->levels, scale->search_steps, 1);
    case CORE_PHASE_ROLLOUT: return of_worlds(v, scale->worlds, scale->steps, scale->acting_pieces);
    case CORE_PHASE_MINIBATCHES: return scale->minibatches * of_rows(v, scale->rows, scale->pieces);
    case CORE_PHASE_MEASURE: return of_rows(v, scale->states, 1);
    default: return of_rows(v, scale->transitions, 1);
  }
}

static CostSum extrapolate_sum(const Scale *scale, int phase, const CostSum sum[CORNERS]) {
  double launches[CORNERS], read[CORNERS], written[CORNERS];
  for (int i = 0; i < CORNERS; i++) {
    launches[i] = sum[i].launches;
    read[i] = sum[i].read;
    written[i] = sum[i].written;
  }
  return (CostSum){extrapolate(scale, phase, launches), extrapolate(scale, phase, read),
                   extrapolate(scale, phase, written)};
}

static void add(CostSum *sum, CostSum more) {
  sum->launches += more.launches;
  sum->read += more.read;
  sum->written += more.written;
}

static double pieces_of(double rows, double most) { return most > 0 ? fmax(1, ceil(rows / most)) : 1; }

/* Plans the run itself, whose device may be as large as needed. */
static int scale_of(const CoreConfig *config, int worlds, Scale *scale, Cost *cost) {
  CoreConfig whole = *config;
  Training *training = NULL;

  snprintf(whole.train.device, sizeof whole.train.device, "cuda");
  int code = training_plan(&whole, &training);
  if (code == CORE_OK) {
    const double small = (double)worlds * STEPS, rows = training->plan.minibatch_rows;
    const double transitions = (double)training->plan.transitions_per_iteration;
    const double most = training->agent.max_rows, states = fmin((double)config->metrics.states, transitions);
    const double chunk = training->agent.encoder.chunk_rows > 0 ? fmin(most, training->agent.encoder.chunk_rows) : most;
    const bool searches = core_config_has_curriculum(config) && config->sfl.sampled_ratio > 0;

    *scale = (Scale){
      .worlds = (double)config->env.num / worlds, .steps = (double)config->ppo.num_steps / STEPS, .rows = rows / small,
      .transitions = transitions / small, .states = states / small,
      .search_steps = (double)config->sfl.rollout_steps / STEPS,
      .minibatches = (double)training->plan.updates_per_iteration,
      .acting_pieces = pieces_of((double)config->env.num, chunk), .pieces = pieces_of(rows, chunk)};
    if (searches) {
      scale->levels = (double)training->curriculum->search.at_once / worlds;
      scale->searches = training->curriculum->search.batches;
      cost->worlds[CORE_PHASE_SEARCH] = training->curriculum->search.at_once;
      cost->steps[CORE_PHASE_SEARCH] = scale->searches * (double)config->sfl.rollout_steps;
      cost->rows[CORE_PHASE_SEARCH] = cost->worlds[CORE_PHASE_SEARCH] * cost->steps[CORE_PHASE_SEARCH];
    }
    cost->transitions = transitions;
    cost->minibatches = scale->minibatches;
    cost->pieces = scale->pieces;
    cost->rows[CORE_PHASE_ROLLOUT] = transitions;
    cost->rows[CORE_PHASE_MINIBATCHES] = scale->minibatches * rows;
    cost->worlds[CORE_PHASE_ROLLOUT] = (double)config->env.num;
    cost->steps[CORE_PHASE_ROLLOUT] = (double)config->ppo.num_steps;
    cost_count_products(&training->agent, cost);
    cost->search_share = searches ? 1 / (double)config->sfl.period : 0;
  }

  training_destroy(&training);
  return code;
}

static int larger(const void *a, const void *b) {
  const CostSum *x = &((const CostKernel *)a)->sum, *y = &((const CostKernel *)b)->sum;
  const double difference = y->read + y->written - x->read - x->written;
  return (difference > 0) - (difference < 0);
}

static void sum_up(const Samples *samples, const Scale *scale, Cost *cost) {
  for (int i = 0; i < samples->count; i++) {
    const Sample *sample = &samples->sample[i];
    const int phase = sample->by.phase;
    const CostSum measured = extrapolate_sum(scale, phase, sample->sum[0]);
    const CostSum usual = phase == CORE_PHASE_SEARCH ? measured : extrapolate_sum(scale, phase, sample->sum[1]);
    add(&cost->measured[phase], measured);
    add(&cost->phase[phase], usual);
    if (sample->by.is_encoding) add(&cost->encoder[phase], usual);
    cost->kernel[cost->kernels++] = (CostKernel){sample->kernel, (CoreDevicePhase)phase, sample->by.is_encoding, usual};
  }
  if (cost->search_share == 0) cost->phase[CORE_PHASE_SEARCH] = (CostSum){0};
  qsort(cost->kernel, (size_t)cost->kernels, sizeof *cost->kernel, larger);
}

int cost_of(const CoreConfig *config, Cost *cost) {
  const int worlds = strcmp(config->net.encoder, "none") == 0 ? WORLDS : ENCODER_WORLDS;
  Samples *samples = core_memory_zero_allocate(1, sizeof *samples);
  Scale scale = {0};
  *cost = (Cost){0};
  setenv("CORE_DEVICE", "emulated", 1);
  int code = scale_of(config, worlds, &scale, cost);
  if (code == CORE_OK) code = count_corners(config, worlds, samples);
  if (code == CORE_OK) sum_up(samples, &scale, cost);
  free(samples);
  return code;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Returns the share of a phase's sums in an iteration. */
static double share_of(const Cost *cost, int phase) { return phase == CORE_PHASE_SEARCH ? cost->search_share : 1; }

double cost_bytes_per_transition(const Cost *cost) {
  double bytes = 0;
  for (int p = 0; p < CORE_PHASES; p++)
    bytes += share_of(cost, p) * (cost->phase[p].read + cost->phase[p].written);
  return bytes / cost->transitions;
}

const char *cost_kernel_text(const CostKernel *kernel, char *text) {
  snprintf(text, 64, "%.20s %s%s", kernel->name, PHASE[kernel->phase], kernel->is_encoding ? ", encoder" : "");
  return text;
}

static json_t *sum_json(const char *key, const char *name, const CostSum *sum, double share, double transitions) {
  return json_pack("{s:s, s:f, s:f, s:f, s:f}", key, name, "launches", round(sum->launches), "read_bytes", sum->read,
                   "written_bytes", sum->written, "bytes_per_transition",
                   share * (sum->read + sum->written) / transitions);
}

static void print_json(const Cost *cost) {
  json_t *phases = json_array(), *measured = json_array(), *encoder = json_array(), *kernels = json_array();
  for (int p = 0; p < CORE_PHASES; p++) {
    json_array_append_new(phases, sum_json("phase", PHASE[p], &cost->phase[p], share_of(cost, p), cost->transitions));
    json_array_append_new(encoder, sum_json("phase", PHASE[p], &cost->encoder[p], share_of(cost, p),
                                            cost->transitions));
    if (p != CORE_PHASE_SEARCH)
      json_array_append_new(measured, sum_json("phase", PHASE[p], &cost->measured[p], 1, cost->transitions));
  }

  for (int i = 0; i < cost->kernels; i++) {
    const CostKernel *k = &cost->kernel[i];
    json_t *kernel = sum_json("kernel", k->name, &k->sum, share_of(cost, (int)k->phase), cost->transitions);
    json_object_set_new(kernel, "phase", core_json_text(PHASE[k->phase]));
    json_object_set_new(kernel, "encoder", json_boolean(k->is_encoding));
    json_array_append_new(kernels, kernel);
  }

  core_json_print(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "transitions", cost->transitions,
                            "bytes_per_transition", cost_bytes_per_transition(cost), "expected_seconds_on_h200",
                            cost_seconds(cost), "searches_per_iteration", cost->search_share, "minibatches",
                            cost->minibatches, "pieces_of_a_minibatch", cost->pieces, "phases", phases, "encoder",
                            encoder, "measured_iteration", measured, "kernels", kernels));
}

static void print_sum(const char *name, const CostSum *sum, double share, double transitions) {
  char read[32], written[32], each[32];
  printf("%-40s %10.0f %11sB %11sB %11sB\n", name, sum->launches, core_text_count(sum->read, read),
         core_text_count(sum->written, written),
         core_text_count(share * (sum->read + sum->written) / transitions, each));
}

/* Prints the sums of a minibatch's step; bytes of a transition are those of all epochs. */
static void print_minibatch(const Cost *cost, const char *name, const CostSum *all) {
  const double n = cost->minibatches;
  const CostSum each = {all->launches / n, all->read / n, all->written / n};
  if (each.launches > 0) print_sum(name, &each, n, cost->transitions);
}

static void print_table(const Cost *cost) {
  char text[64], bytes[32];

  printf("%-40s %10s %12s %12s %12s\n", "an iteration", "launches", "read", "written", "transition");
  for (int p = 0; p < CORE_PHASES; p++)
    if (p != CORE_PHASE_SEARCH) print_sum(PHASE[p], &cost->phase[p], 1, cost->transitions);
  if (cost->search_share > 0) {
    snprintf(text, sizeof text, "search, every %.0f iterations", 1 / cost->search_share);
    print_sum(text, &cost->phase[CORE_PHASE_SEARCH], cost->search_share, cost->transitions);
  }

  printf("\na minibatch, in passes over %.0f part%s\n", cost->pieces, cost->pieces > 1 ? "s" : "");
  print_minibatch(cost, "all of it", &cost->phase[CORE_PHASE_MINIBATCHES]);
  print_minibatch(cost, "its encoder", &cost->encoder[CORE_PHASE_MINIBATCHES]);

  printf("\nwith representation metrics\n");
  for (int p = CORE_PHASE_ROLLOUT; p < CORE_PHASES; p++)
    print_sum(PHASE[p], &cost->measured[p], 1, cost->transitions);

  printf("\nthe largest kernels\n");
  for (int i = 0; i < cost->kernels && i < SHOWN; i++) {
    const CostKernel *k = &cost->kernel[i];
    print_sum(cost_kernel_text(k, text), &k->sum, share_of(cost, (int)k->phase), cost->transitions);
  }
  printf("\n%sB per transition, each four bytes once per launch\n",
         core_text_count(cost_bytes_per_transition(cost), bytes));
}

typedef struct CostOptions { const char *file; CoreOptionList sets; bool json; } CostOptions;

static int run_command(void *opts, const char **operands, size_t count) {
  const CostOptions *options = opts;
  CoreConfig config;
  TRY(core_config_load(options->file, options->sets.items, options->sets.count, &config));

  Cost *cost = core_memory_allocate(sizeof *cost);
  const int code = cost_of(&config, cost);
  if (code == CORE_OK && options->json) print_json(cost);
  else if (code == CORE_OK) {
    print_table(cost);
    cost_print_times(cost);
  }
  free(cost);
  return code;
}

int instrument_cost(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "instruments cost [--config FILE] [--set KEY=VALUE]... [--json]",
    .about = "Prints the device memory that an iteration of a configuration reads and writes on one GPU, and its "
             "kernel launches. They are counted on the CPU with small versions of the run, within a minute. Times that "
             "are expected on an H200 follow by a small model."};

  CostOptions options = {0};
  const CoreOption table[] = {
    {"config", 'c', CORE_OPTION_TEXT, &options.file, "FILE", "read settings from an INI file; the rest are defaults"},
    {"set", 's', CORE_OPTION_LIST, &options.sets, "KEY=VALUE", "change one setting; may be given several times"},
    {"json", 0, CORE_OPTION_FLAG, &options.json, NULL, "print JSON"},
    {0}};

  return core_options_run(&manual, table, argc, argv, run_command, &options);
}
