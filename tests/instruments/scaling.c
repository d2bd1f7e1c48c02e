/* The model of scaling.h, and `instruments scaling`, which prints it. */
#include "tests/instruments/scaling.h"

#include <math.h>
#include <stdio.h>

#include "core/command/options.h"
#include "core/text.h"
#include "trainer/run/training.h"
#include "trainer/update/gradient_device.h"

/* ---- one all-reduce ---------------------------------------------------------------------------------------------- */

/* NCCL's protocols: fraction of a line that is data (LL: 4 of 8 bytes, LL128: 120 of 128), and microseconds per call
 * and per step over NVLink and over the network (NCCL 2.2x, src/graph/tuning.cc: baseLat, hwLat). */
typedef struct Latency { double call, nvlink, network; } Latency;
static const struct { double data; Latency ring, tree; } PROTOCOLS[] = {
  {0.5, {6.6, 0.6, 2.7}, {6.8, 0.6, 5.0}},
  {120.0 / 128, {14.0, 1.9, 4.0}, {14.0, 1.25, 8.5}},
  {1, {8.4, 3.4, 14.0}, {8.4, 4.0, 14.0}}};

double scaling_all_reduce_us(const ScalingMachine *machine, int gpus, double bytes) {
  const int local = gpus < machine->gpus_per_node ? gpus : machine->gpus_per_node, nodes = (gpus + local - 1) / local;
  const double between = nodes > 1 ? fmin(machine->nvlink_gb, machine->network_gb * local) : machine->nvlink_gb;
  double best = INFINITY;

  if (gpus == 1) return 0;
  for (size_t p = 0; p < sizeof PROTOCOLS / sizeof *PROTOCOLS; p++) {
    const Latency *ring = &PROTOCOLS[p].ring, *tree = &PROTOCOLS[p].tree;
    const double bytes_per_us = between * 1e3 * PROTOCOLS[p].data;
    const double network_steps = nodes > 1 ? 2 * nodes : 0, steps = 2.0 * (gpus - 1);
    const double by_ring = ring->call + (steps - network_steps) * ring->nvlink + network_steps * ring->network +
                           steps / gpus * bytes / bytes_per_us;
    const double by_tree = tree->call + 2 * ((local - 1) * tree->nvlink + log2(nodes) * tree->network) +
                           2 * bytes / bytes_per_us;
    best = fmin(best, fmin(by_ring, by_tree));
  }

  return best;
}

/* ---- a minibatch ------------------------------------------------------------------------------------------------- */

/* Returns the fraction of a minibatch's time after which a bucket's gradient is complete. A network's forward pass
 * takes a third and its backward pass two thirds of its time; the actor is first, the backward pass of a trunk last. */
static double complete_at(const Agent *agent, const GradientBucket *bucket) {
  const double actor = (double)agent->actor.n, critic = (double)agent->critic.n, all = actor + critic;
  const double trunk = agent->trunk > 0 ? (double)network_kernel(&agent->actor.shape, agent->trunk) : 0;
  const double first = (double)bucket->first;
  if (!bucket->is_actor) return (all - trunk * 2 / 3 - first * 2 / 3) / all;
  if (first >= trunk) return (actor / 3 + (actor - first) * 2 / 3) / all;
  return (all - first * 2 / 3) / all;
}

/* Returns the fraction of padding rows by minibatch_capacity's rule: six standard deviations of a rank's number of
 * units plus one, limited to the whole minibatch. A slice of neighbors is that of one rank or of few. */
static double padding_fraction(const ScalingRun *run, int gpus) {
  if (run->slices > 0) return fmin(gpus, run->slices) - 1;
  const double units = run->minibatch_rows / run->unit_rows;
  if (gpus == 1 || run->is_equal) return 0;
  return fmin((6 * sqrt(units) + 1) / units, gpus - 1);
}

/* Returns the time of a search per iteration. The number of steps does not depend on a batch's size, and up to one
 * batch per GPU is played concurrently. A step takes the time of that many environments in a rollout, at least
 * SCALING_STEP_US. */
static double search_us(const ScalingRun *run, int gpus) {
  if (run->search_levels == 0) return 0;
  double at_once = fmin(gpus, run->search_batches);
  while (fmod(run->search_batches, at_once) != 0) at_once--;
  const double batches = run->search_batches / at_once, levels = run->search_levels / run->search_batches;
  const double own = fmin(levels * at_once / gpus, run->search_batch);
  const double rollout_us = run->transitions / run->steps_per_second * 1e6 * (1 - run->update_share);
  const double step_us = fmax(SCALING_STEP_US, own * rollout_us / run->transitions);
  return batches * run->search_steps * step_us / run->search_period;
}

/* Returns the time of a host that decides each step of several ranks: it copies two losses and two norms (20 us each),
 * and an MPI all-reduce over a tree (2.5 us per step) checks that no rank has failed. */
static double host_step_us(int gpus) { return gpus > 1 ? 4 * 20 + 2 * ceil(log2(gpus)) * 2.5 : 0; }

/* Returns the excess of the rank with the most rows: the maximum of n normal samples is about sqrt(2 ln n) standard
 * deviations, and a rank's number of units has the deviation sqrt(units). */
static double imbalance_fraction(const ScalingRun *run, int gpus) {
  if (run->slices > 0) return padding_fraction(run, gpus);
  const double units = run->minibatch_rows / run->unit_rows;
  return gpus > 1 && !run->is_equal ? sqrt(2 * log(gpus) / units) : 0;
}

ScalingPoint scaling_predict(const ScalingMachine *machine, const ScalingRun *run, const Agent *agent,
                             size_t bucket_bytes, int gpus) {
  const double iteration_us = run->transitions / run->steps_per_second * 1e6;
  ScalingPoint point = {.gpus = gpus, .minibatch_us = iteration_us * run->update_share / run->minibatches};
  GradientSending sending = {.buckets = 0};
  double end = 0;

  gradient_device_plan(agent, bucket_bytes, &sending);
  point.calls = sending.buckets;
  for (int i = 0; i < sending.buckets; i++) {
    const double bytes = (double)sending.bucket[i].n * sizeof(float);
    const double ready = complete_at(agent, &sending.bucket[i]) * point.minibatch_us;
    const double us = scaling_all_reduce_us(machine, gpus, bytes);
    if (i == 0) point.window_us = point.minibatch_us - ready;
    point.bytes += bytes;
    point.sum_us += us;
    end = fmax(end, ready) + us;
  }

  point.exposed_us = gpus > 1 ? fmax(0, end - point.minibatch_us) : 0;
  point.host_us = host_step_us(gpus);
  point.imbalance_us = point.minibatch_us * imbalance_fraction(run, gpus);
  point.padding_us = point.minibatch_us * padding_fraction(run, gpus);
  point.search_us = search_us(run, gpus);

  const double all_us = iteration_us + point.search_us;
  point.efficiency = iteration_us / (all_us + run->minibatches * (point.exposed_us + point.padding_us));
  const double host_us = point.exposed_us + point.imbalance_us + point.host_us;
  point.host_efficiency = iteration_us / (all_us + run->minibatches * host_us);
  return point;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void print_points(const ScalingRun *run, const Training *training) {
  static const int gpus[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  const ScalingMachine machine = SCALING_H200;
  const size_t bucket = (size_t)training->config.comm.bucket_kb * 1024;
  GradientSending sending = {.buckets = 0};

  gradient_device_plan(&training->agent, bucket, &sending);
  printf("one GPU: %.0f transitions per iteration at %.3g steps/s, %.0f minibatches of %.0f rows\n", run->transitions,
         run->steps_per_second, run->minibatches, run->minibatch_rows);
  printf("all-reduces of a minibatch, in order:");
  for (int i = 0; i < sending.buckets; i++)
    printf(" %s %zu bytes%s", sending.bucket[i].is_actor ? "actor" : "critic", sending.bucket[i].n * sizeof(float),
           i + 1 < sending.buckets ? "," : "\n");

  printf("%5s %10s %9s %10s %11s %10s %10s %11s %8s %10s %13s\n", "GPUs", "minibatch", "sums", "window",
         "exposed", "padding", "search", "efficiency", "host", "imbalance", "host decides");
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    const ScalingPoint p = scaling_predict(&machine, run, &training->agent, bucket, gpus[i]);
    printf("%5d %7.0f us %6.0f us %7.0f us %8.0f us %7.0f us %7.0f ms %9.1f %% %5.0f us %7.0f us %11.1f %%\n", p.gpus,
           p.minibatch_us, p.sum_us, p.window_us, p.exposed_us, p.padding_us, p.search_us / 1e3, 100 * p.efficiency,
           p.host_us, p.imbalance_us, 100 * p.host_efficiency);
  }

  printf("per minibatch: all-reduces, the time that they may overlap, the exposed part, padding rows; per iteration: "
         "search; host, imbalance: if the host decides each step\n");
  printf("DD-PPO (Wijmans et al. 2020): 83.6 %% at 128 GPUs (107x one GPU)\n");
}

static ScalingRun plan_run(const Training *training, double speed, double share) {
  const TrainingPlan *plan = &training->plan;
  const CoreConfig *config = &training->config;
  const bool by_environments = strcmp(config->ppo.minibatch_by, "environments") == 0;
  const double unit = (double)(by_environments ? config->ppo.num_steps : core_config_sequence_length(config));

  ScalingRun run = {.transitions = (double)plan->transitions_per_iteration, .steps_per_second = speed,
                    .update_share = share, .minibatches = (double)plan->updates_per_iteration,
                    .minibatch_rows = plan->minibatch_rows, .unit_rows = unit,
                    .is_equal = strcmp(config->ppo.shuffle, "blocks") == 0};
  const bool has_slices = strcmp(config->ppo.shuffle, "none") == 0 && strcmp(config->algo.name, "sapg") != 0;
  run.slices = has_slices ? (double)config->ppo.num_minibatches : 0;

  if (!core_config_has_curriculum(config) || config->sfl.sampled_ratio == 0) return run;
  run.search_batch = (double)config->sfl.batch_size;
  run.search_batches = (double)config->sfl.num_batches;
  run.search_levels = run.search_batch * run.search_batches;
  run.search_steps = (double)config->sfl.rollout_steps;
  run.search_period = (double)config->sfl.period;
  return run;
}

static int predict(CoreConfig *config, double speed, double share) {
  Training *training;
  snprintf(config->train.device, sizeof config->train.device, "cpu");
  TRY(training_plan(config, &training));
  if (training->sgd) {
    training_destroy(&training);
    return core_error(CORE_USAGE, "algo.name = %s does not train networks on GPUs", config->algo.name);
  }
  const ScalingRun run = plan_run(training, speed, share);
  print_points(&run, training);
  training_destroy(&training);
  return CORE_OK;
}

typedef struct ScalingOptions { const char *file; CoreOptionList sets; double speed, share; } ScalingOptions;

static int run_command(void *opts, const char **operands, size_t count) {
  const ScalingOptions *options = opts;
  CoreConfig config;
  if (!(options->speed > 0 && options->share > 0 && options->share <= 1))
    return core_error(CORE_USAGE, "--speed must be above 0, --update-share above 0 and at most 1");
  TRY(core_config_load(options->file, options->sets.items, options->sets.count, &config));
  return predict(&config, options->speed, options->share);
}

int instrument_scaling(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "instruments scaling [--config FILE] [--set KEY=VALUE]... [OPTIONS]",
    .about = "Predicts how a run scales over GPUs: bytes and time of the gradients' all-reduces, the part "
             "overlapped with the backward pass, and the efficiency, with env.num worlds per GPU. A model "
             "(docs/cuda.md), not a measurement: NCCL's published cost model on NVLink and 400 Gb/s InfiniBand.",
    .hint = "pass settings as --set KEY=VALUE, a file as --config FILE"};

  ScalingOptions options = {.speed = 20e6, .share = 0.8};
  const CoreOption table[] = {
    {"config", 'c', CORE_OPTION_TEXT, &options.file, "FILE", "read settings from an INI file; the rest are defaults"},
    {"set", 's', CORE_OPTION_LIST, &options.sets, "KEY=VALUE", "change one setting; may be given several times"},
    {"speed", 0, CORE_OPTION_REAL, &options.speed, "STEPS/S", "training speed on one GPU, from its log (default 20e6)"},
    {"update-share", 0, CORE_OPTION_REAL, &options.share, "FRACTION",
     "fraction of an iteration's time that is the update (default 0.8)"},
    {0}};

  return core_options_run(&manual, table, argc, argv, run_command, &options);
}
