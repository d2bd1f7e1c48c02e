/* The model of cost_model.h: environment steps and floating-point operations over constant rates. */
#include "sweep/plan/cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/plan/gpu_fit.h"

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Rates in floating-point operations per second. A core reaches width / (width + half_width) of its peak: 70% with
 * layers of 64 units, 90% with 256. */
static const double core_peak = 111e9, half_width = 27, core_bf16_gain = 1.44, core_image_share = 0.8;
static const double gpu_rate = 33e12, gpu_tf32_rate = 67e12, gpu_bf16_rate = 158e12;
/* Kinetix' transformer is bound by memory: measured in bf16. Otherwise its arrays take twice the bytes (trainer info
 * --cost: 12.8 instead of 6.5 MB per transition), and float32's products take their own time. */
static const double gpu_transformer_bf16_rate = 42e12, gpu_transformer_tf32_rate = 21e12;

/* Fixed times in seconds: of a rollout's step and of a minibatch, and of a minibatch's all-reduce per doubling of the
 * ranks. */
static const double core_step_s = 10e-6, core_minibatch_s = 30e-6, gpu_step_s = 150e-6, gpu_minibatch_s = 110e-6;
static const double all_reduce_s = 10e-6;

/* Time of a GPU to generate a level, and length of the episodes of a policy that begins. */
static const double gpu_level_s = 1.2e-6, early_episode = 100;

/* On a GPU, an iteration with representation metrics takes as long as this many others. */
static const double representation_iterations = 2.2;

static const double disk_rate = 1e9;                   /* bytes per second of a checkpoint (assumed) */
static const double row_bytes = 510 + 438;             /* rows of a run log and of results.db */
static const double profile_row_bytes = 60, evaluation_row_bytes = 150;

/* Environments by prefix of env.task; the first that matches counts. */
typedef struct Task {
  const char *prefix;
  double core_steps, gpu_steps; /* steps per second of one core and of one GPU; 0: not on GPUs */
  double observations, actions; /* values per observation and logits of the policy */
  double episode;               /* mean length of an episode; 0: env.max_steps */
  double world_bytes;           /* per environment in a checkpoint */
} Task;

static const Task tasks[] = {
  {"random_s", 1.39e6, 137e6, 98, 16, 0, 730},
  {"random_m", 1.39e6, 113e6, 194, 16, 0, 1210},
  {"random_l", 575e3, 38e6, 567, 16, 0, 3510},
  {"loco512", 463e3, 11e6, 232, 16, 0, 2800},
  {"levels", 1.39e6, 113e6, 194, 16, 0, 1210},
  {"mujoco/HalfCheetah", 18e3, 0, 17, 6, 1000, 400},
  {"mujoco/Ant", 2.8e3, 0, 27, 8, 1000, 600},
  {"mujoco/Humanoid", 2.15e3, 0, 376, 17, 500, 4000},
  {"mujoco/Walker2d", 5.2e3, 0, 17, 6, 500, 400},
  {"mujoco/ShadowHand", 5e3, 0, 211, 20, 600, 3000},
  {"mujoco/AllegroHand", 4.5e3, 0, 88, 16, 600, 3000},
  {"mujoco/AllegroKuka", 26e3, 0, 99, 23, 600, 3000},
  {"mujoco/", 10e3, 0, 17, 6, 1000, 400},
  {"procgen/", 27e3, 0, 12288, 15, 500, 30000},
  {"atari/", 1.24e3, 0, 28224, 18, 1500, 30000},
  {"", 20e3, 0, 16, 4, 500, 200},
};

static const Task *find_task(const CoreConfig *config) {
  const Task *task = tasks;
  while (strncmp(config->env.task, task->prefix, strlen(task->prefix)) != 0) task++;
  return task;
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef struct Network {
  double operations;       /* operations of one forward pass of all networks per observation */
  double input_operations; /* operations of the first layers, whose backward pass computes no gradient of the input */
  double parameters;
} Network;

static void add_layer(Network *network, double inputs, double outputs) {
  network->operations += 2 * inputs * outputs;
  network->parameters += (inputs + 1) * outputs;
}

/* Adds the hidden layers of "512-256-128", or of `depth` times `width` where the text is empty. Returns the width of
 * the last one. */
static double add_layers(Network *network, double inputs, const char *widths, int64_t width, int64_t depth) {
  double last = inputs;
  if (!*widths) {
    for (int64_t i = 0; i < depth; i++) {
      add_layer(network, last, (double)width);
      last = (double)width;
    }
  }
  for (const char *c = widths; *c; c += *c == '-') {
    char *end;
    const double units = (double)strtol(c, &end, 10);
    if (end == c) break;
    add_layer(network, last, units);
    last = units;
    c = end;
  }
  return last;
}

/* Adds an encoder and returns the width of its output. Entities are the shapes of a level and a dummy: in a transformer
 * each takes 0.22 M multiplications in each of two layers, and messages of joints and thrusters take a fifth more. */
static double add_encoder(Network *network, const CoreConfig *config, const Task *task) {
  const char *encoder = config->net.encoder;
  const bool is_large = strcmp(task->prefix, "random_l") == 0, is_small = strcmp(task->prefix, "random_s") == 0;
  const double tokens = is_large ? 17 : is_small ? 8 : 10;

  if (strcmp(encoder, "nature") == 0) {
    *network = (Network){network->operations + 2 * 7.75e6, 2 * 3.28e6, network->parameters + 77e3};
    return 3136;
  }
  if (strcmp(encoder, "impala") == 0) {
    *network = (Network){network->operations + 2 * 30e6, 2 * 1.77e6, network->parameters + 97e3};
    return 2048;
  }
  if (strcmp(encoder, "transformer") == 0) {
    *network = (Network){network->operations + 2 * 2 * tokens * 1.2 * 0.22e6, 0, network->parameters + 600e3};
    return 128;
  }

  if (strcmp(encoder, "none") == 0) return task->observations;
  *network = (Network){network->operations + 2 * tokens * 0.02e6, 0, network->parameters + 30e3};
  return 128;
}

static double add_memory(Network *network, const CoreConfig *config, double inputs) {
  const double width = (double)config->net.memory_width;
  if (strcmp(config->net.memory, "lstm") != 0) return inputs;
  add_layer(network, inputs + width, 4 * width);
  return width;
}

/* Adds a tower with its head. */
static void add_tower(Network *network, const CoreConfig *config, double inputs, double outputs) {
  const double last = add_layers(network, inputs, config->net.widths, config->net.width, config->net.depth);
  add_layer(network, last, outputs);
}

/* Returns the width of the first hidden layer. */
static double first_width(const CoreConfig *config) {
  const bool is_shared = strcmp(config->net.sharing, "shared") == 0;
  const char *widths = is_shared ? config->net.trunk_widths : config->net.widths;
  if (*widths) return strtod(widths, NULL);
  return (double)(is_shared ? config->net.trunk_width : config->net.width);
}

static Network make_network(const CoreConfig *config, const Task *task) {
  Network network = {0};
  const bool is_shared = strcmp(config->net.sharing, "shared") == 0, is_q = strcmp(config->algo.name, "pqn") == 0;
  const int networks = is_shared || is_q ? 1 : 2;
  double inputs = 0;

  for (int i = 0; i < networks; i++) {
    inputs = add_encoder(&network, config, task);
    inputs = add_memory(&network, config, inputs);
    if (is_shared && strcmp(config->net.encoder, "transformer") != 0)
      inputs = add_layers(&network, inputs, config->net.trunk_widths, config->net.trunk_width,
                          config->net.trunk_depth);
    add_tower(&network, config, inputs, i == 0 ? task->actions : 1);
    if (strcmp(config->net.encoder, "none") == 0 && strcmp(config->net.memory, "none") == 0)
      network.input_operations += 2 * task->observations * first_width(config);
  }

  if (is_shared && !is_q) add_tower(&network, config, inputs, 1);
  return network;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Processors and GPUs of a run, and their rates. */
typedef struct Machine {
  bool on_gpu;
  double ranks, processors, gpus;
  double rate;                  /* operations per second, all devices */
  double env_rate;              /* environment steps per second, all devices */
  double step_s, minibatch_s;   /* fixed times */
  double padding;               /* rows of a minibatch that a rank computes, relative to an equal share */
} Machine;

double sweep_cost_gpus(const SlurmSettings *settings) {
  return settings->gpus_per_run > 0 ? fmin(settings->gpus_per_run, (double)settings->ranks_per_run) : 1;
}

/* Returns the operations per second of one GPU in the run's precision. */
static double rate_of_gpu(const CoreConfig *config) {
  const char *precision = config->train.precision;
  const bool is_transformer = strcmp(config->net.encoder, "transformer") == 0;
  if (strcmp(precision, "bf16") == 0) return is_transformer ? gpu_transformer_bf16_rate : gpu_bf16_rate;
  if (strcmp(precision, "tf32") == 0) return is_transformer ? gpu_transformer_tf32_rate : gpu_tf32_rate;
  return is_transformer ? 1 / (1 / gpu_transformer_tf32_rate + 1 / gpu_rate) : gpu_rate;
}

static Machine make_machine(const CoreConfig *config, const SlurmSettings *settings, const Task *task) {
  const bool is_bf16 = strcmp(config->train.precision, "bf16") == 0;
  Machine m = {.ranks = (double)settings->ranks_per_run, .padding = sweep_gpu_padding(settings, config)};
  m.processors = m.ranks * (double)settings->cpus_per_run;
  m.gpus = sweep_cost_gpus(settings);
  m.on_gpu = strcmp(config->train.device, "cuda") == 0;

  m.rate = m.processors * core_peak * first_width(config) / (first_width(config) + half_width);
  m.rate *= is_bf16 ? core_bf16_gain : 1;
  if (strcmp(config->net.encoder, "nature") == 0 || strcmp(config->net.encoder, "impala") == 0)
    m.rate *= core_image_share;
  m.env_rate = m.on_gpu && task->gpu_steps > 0 ? m.gpus * task->gpu_steps : m.processors * task->core_steps;
  m.step_s = core_step_s;
  m.minibatch_s = core_minibatch_s;

  if (!m.on_gpu) return m;
  m.rate = m.gpus * rate_of_gpu(config);
  m.step_s = gpu_step_s;
  m.minibatch_s = gpu_minibatch_s + all_reduce_s * log2(fmax(1, m.ranks));
  return m;
}

/* Returns the time of `steps` environment steps of `worlds` environments with the policy. */
static double acting_seconds(const Machine *m, const Network *network, double steps, double worlds) {
  return steps / m->env_rate + steps * network->operations / m->rate + steps / fmax(1, worlds) * m->step_s;
}

/* Returns the operations of learning per transition: updates, whose backward pass takes two forward ones, the proximal
 * policy, and KL on metrics.states of a rollout. */
static double update_operations(const CoreConfig *config, const Network *network) {
  const double rows = (double)core_config_transitions_per_iteration(config);
  double epoch = 3 * network->operations - network->input_operations;
  if (strcmp(config->algo.name, "ppo_ewma") == 0) epoch += 0.5 * network->operations;
  if (strcmp(config->algo.name, "sapg") == 0)
    epoch *= 1 + (double)config->sapg.off_policy_ratio / (double)config->sapg.blocks;
  const double measured = strcmp(config->algo.name, "pqn") == 0 ? 0 : fmin(1, (double)config->metrics.states / rows);
  return (double)config->ppo.epochs * epoch + measured * network->operations;
}

/* Returns the time to generate new levels: one per episode (env.reset), or one per environment and iteration (SFL). On
 * processors it is part of a step's time. */
static double levels_seconds(const CoreConfig *config, const Machine *m) {
  const double steps = (double)config->ppo.num_steps, worlds = (double)config->env.num;
  double levels = strncmp(config->env.reset, "new", 3) == 0 ? worlds * steps / early_episode : 0;
  if (core_config_has_curriculum(config)) levels = worlds * (1 - config->sfl.sampled_ratio);
  return m->on_gpu ? levels * gpu_level_s / m->gpus : 0;
}

/* Returns the updates of copies that go on over a batch (metrics.limit_epochs), per iteration: the epochs double from
 * ppo.epochs on, as trainer/learners/limit.h says. */
static double limit_updates(const CoreConfig *config) {
  const double epochs = (double)config->ppo.epochs, most = (double)config->metrics.limit_epochs;
  if (config->metrics.profile_every == 0 || most < 2 * epochs) return 0;
  return (exp2(floor(log2(most / epochs))) - 1) / (double)config->metrics.profile_every;
}

/* Returns the updates that the passes for the noise scale (metrics.noise_every) amount to, per iteration. */
static double noise_updates(const CoreConfig *config) {
  const double every = (double)config->metrics.noise_every;
  const bool is_measured = every > 0 && config->ppo.num_minibatches > 1 && strcmp(config->algo.name, "sapg") != 0;
  return is_measured ? 1 / (every * (double)config->ppo.epochs) : 0;
}

static double training_seconds(const CoreConfig *config, const Machine *m, const Network *network) {
  const double iterations = (double)core_config_iterations(config);
  const double rows = (double)core_config_transitions_per_iteration(config);
  const double rollout = acting_seconds(m, network, rows, (double)config->env.num) +
                         levels_seconds(config, m);
  const double update = m->padding * rows * update_operations(config, network) / m->rate +
                        (double)config->ppo.epochs * (double)config->ppo.num_minibatches * m->minibatch_s;
  const double metrics = m->on_gpu ? (representation_iterations - 1) / (double)config->metrics.representation_every : 0;
  return iterations * (rollout + (1 + limit_updates(config) + noise_updates(config)) * update) * (1 + metrics);
}

static double search_seconds(const CoreConfig *config, const Machine *m, const Network *network) {
  const double transitions = (double)core_config_iterations(config) *
                             (double)core_config_transitions_per_iteration(config);
  const double batch = (double)config->sfl.batch_size;
  const double of_rank = m->on_gpu ? fmax(1, floor(CORE_CONFIG_SEARCHED_LEVELS / batch)) : 1;
  const double at_once = config->comm.deterministic ? 1 : m->ranks * of_rank;
  const double levels = batch * fmin(at_once, (double)config->sfl.num_batches);
  const double steps = sweep_env_steps_left(config, transitions).searches;
  const double generation = m->on_gpu ? steps / (double)config->sfl.rollout_steps * gpu_level_s / m->gpus : 0;
  return acting_seconds(m, network, steps, levels) + generation;
}

static double evaluation_seconds(const CoreConfig *config, const Machine *m, const Network *network,
                                 const Task *task) {
  const double transitions = (double)core_config_iterations(config) *
                             (double)core_config_transitions_per_iteration(config);
  double steps = sweep_env_steps_left(config, transitions).evaluations;
  if (steps == 0 && config->eval.count > 0)
    steps = (double)(config->eval.count + 1) * (double)config->eval.episodes *
            (task->episode > 0 ? task->episode : (double)config->env.max_steps);
  return acting_seconds(m, network, steps, fmin((double)config->eval.episodes, (double)config->env.num));
}

/* Returns the bytes of a checkpoint: weights, two moments and the proximal weights, environments. */
static double checkpoint_bytes(const CoreConfig *config, const Network *network, const Task *task) {
  const double copies = strcmp(config->algo.name, "ppo_ewma") == 0 ? 4 : 3;
  return copies * sizeof(float) * network->parameters + (double)config->env.num * task->world_bytes;
}

static double disk_bytes(const CoreConfig *config, const Network *network, const Task *task) {
  const double iterations = (double)core_config_iterations(config);
  const double every = (double)config->metrics.profile_every;
  double rows = iterations;
  while (config->log.rows > 0 && rows > (double)config->log.rows && rows > iterations / 64) rows /= 2;
  const double updates = (double)config->ppo.epochs * (double)config->ppo.num_minibatches;
  const bool has_best = config->eval.count > 0 && strcmp(config->checkpoint.best, "none") != 0;
  return rows * row_bytes + (double)(config->eval.count + 1) * evaluation_row_bytes +
         (every > 0 ? iterations / every * updates * profile_row_bytes : 0) +
         (double)config->metrics.visited_states * task->observations * sizeof(float) +
         (double)(config->checkpoint.keep + has_best) * checkpoint_bytes(config, network, task);
}

/* Returns the time of the noisy parabola's steps; nothing else takes time. */
static SweepCost sgd_cost(const CoreConfig *config) {
  const double steps = (double)config->train.total_steps;
  return (SweepCost){.training_s = steps * (10e-6 + (double)config->sgd.dimensions * 20e-9),
                     .disk_bytes = fmin(steps, 1e4) * row_bytes};
}

SweepCost sweep_cost_model(const CoreConfig *config, const SlurmSettings *settings) {
  CoreConfig resolved;
  if (config->program) return (SweepCost){0};
  if (core_config_resolve(config, &resolved) != CORE_OK) {
    resolved = *config;
    core_error_clear();
  }
  if (core_config_has_no_envs(&resolved)) return sgd_cost(&resolved);

  const Task *task = find_task(&resolved);
  const Machine machine = make_machine(&resolved, settings, task);
  const Network network = make_network(&resolved, task);
  SweepCost cost = {.on_gpu = machine.on_gpu, .training_s = training_seconds(&resolved, &machine, &network),
                    .searches_s = search_seconds(&resolved, &machine, &network),
                    .evaluations_s = evaluation_seconds(&resolved, &machine, &network, task),
                    .disk_bytes = disk_bytes(&resolved, &network, task)};

  const double every = fmax(resolved.checkpoint.every, 1);
  cost.checkpoints_s = (1 + sweep_cost_seconds(&cost) / every) * checkpoint_bytes(&resolved, &network, task) /
                       disk_rate;
  return cost;
}

double sweep_cost_seconds(const SweepCost *cost) {
  return cost->training_s + cost->searches_s + cost->evaluations_s + cost->checkpoints_s;
}

SweepCost sweep_cost_remaining(const SweepCost *cost, double left, double training_s) {
  const double modeled = left * cost->training_s;
  const double ratio = training_s > 0 && modeled > 0 ? training_s / modeled : 1;
  return (SweepCost){.on_gpu = cost->on_gpu,
                     .training_s = training_s > 0 ? training_s : modeled,
                     .searches_s = ratio * left * cost->searches_s,
                     .evaluations_s = ratio * left * cost->evaluations_s,
                     .checkpoints_s = left * cost->checkpoints_s,
                     .disk_bytes = cost->disk_bytes};
}

/* Returns the steps of all searches: one before the first iteration and then before each sfl.period iterations. */
static double search_steps(const CoreConfig *config) {
  if (!core_config_has_curriculum(config) || config->sfl.sampled_ratio == 0) return 0;
  const double searches = ceil((double)core_config_iterations(config) / (double)config->sfl.period);
  return searches * (double)config->sfl.num_batches * (double)config->sfl.batch_size *
         (double)config->sfl.rollout_steps;
}

/* Returns how many level sets an evaluation is on: the training levels and those of eval.levels. */
static double level_sets(const CoreConfig *config) {
  double sets = 1 + (*config->eval.levels != '\0');
  for (const char *c = config->eval.levels; *c; c++) sets += *c == '+';
  return sets;
}

static double evaluation_steps(const CoreConfig *config) {
  if (strchr(config->env.task, '/')) return 0; /* its own time limit */
  const double evaluations = (double)config->eval.count + (config->eval.count > 0); /* one before training */
  return evaluations * level_sets(config) * (double)config->eval.episodes * (double)config->env.max_steps;
}

SweepEnvSteps sweep_env_steps_left(const CoreConfig *config, double left) {
  if (config->program || core_config_has_no_envs(config)) return (SweepEnvSteps){0};
  const double total = (double)core_config_iterations(config) * (double)core_config_transitions_per_iteration(config);
  const double share = total > 0 ? left / total : 0;
  return (SweepEnvSteps){share * search_steps(config), share * evaluation_steps(config)};
}
