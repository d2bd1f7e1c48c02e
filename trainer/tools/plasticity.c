/* Plays checkpoints' policies for states, and prints how their networks fit random targets on these (tools.h). */
#include "trainer/tools/tools.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/random.h"
#include "store/workspace/run_name.h"
#include "trainer/evaluate/eval_rollout.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/measure/plasticity.h"
#include "trainer/run/machine.h"
#include "trainer/tools/player.h"

enum { WORLDS = 64, STEPS_MAX = 1024, STATES_MAX = 1 << 20, SEEDS_MAX = 1000 };

typedef struct Given {
  const char *root, *targets, *around;
  int64_t states, batch, steps, seeds, seed;
  double learning_rate;
  bool best, json;
} Given;

/* A checkpoint, its probe, and the worlds that its policy plays for states. */
typedef struct Probed {
  Player player;
  CoreArena *arena;
  Plasticity probe;
  EvalRollout rollout;
  Env *env;
} Probed;

/* Fits of one seed, from the checkpoint's weights and from fresh ones. */
typedef struct Fit { uint64_t seed; PlasticityCurve trained, fresh; } Fit;

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Creates the worlds: at most WORLDS, spread evenly over the training levels as in evaluations. */
static int create_worlds(Probed *probed, int worlds, uint64_t seed) {
  const Env *of = probed->player.env;
  int32_t level[WORLDS];
  TRY(of->clone(of, &(EnvBatch){.worlds = worlds, .seed = seed}, &probed->env));
  Env *env = probed->env;
  for (int w = 0; w < worlds; w++) level[w] = evaluate_level(w, worlds, env->level_count);
  env_seed(env, &(EnvSeeds){.purpose = CORE_RANDOM_WORLD_EVALUATE});
  if (env->levels) env->levels->reset_to(env, level, probed->rollout.raw);
  else env->reset(env, probed->rollout.raw);
  eval_rollout_begin(&probed->rollout, NULL);
  return env_check(env);
}

/* Plays the policy, for about an episode, and keeps observations at equal distances. */
static int collect_states(Probed *probed, uint64_t seed) {
  const Player *player = &probed->player;
  const EvalPlayer policy = {&probed->probe.agent, &player->pipeline, probed->probe.ops};
  const int states = probed->probe.options.states, worlds = probed->rollout.worlds;
  const size_t features = (size_t)probed->probe.agent.inputs;
  memcpy(probed->probe.agent.actor.theta, player->agent.actor.theta, player->agent.actor.n * sizeof(float));
  TRY(create_worlds(probed, worlds, seed));

  const int horizon = probed->env->max_steps < STEPS_MAX ? probed->env->max_steps : STEPS_MAX;
  const int per_world = (states - 1) / worlds + 1, stride = per_world < horizon ? horizon / per_world : 1;
  for (int t = 0, kept = 0; kept < states; t++) {
    eval_rollout_step(&probed->rollout, probed->env, &policy,
                      &(EvalKey){.seed = seed, .purpose = CORE_RANDOM_EVALUATE, .step = (uint32_t)t});
    TRY(env_check(probed->env));
    if (t % stride != 0) continue;
    const int some = states - kept < worlds ? states - kept : worlds;
    memcpy(probed->probe.states + (size_t)kept * features, probed->rollout.observations,
           (size_t)some * features * sizeof(float));
    kept += some;
  }
  return CORE_OK;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static const double *curve_of(const PlasticityCurve *curve, bool is_critic) {
  return is_critic ? curve->critic : curve->actor;
}
static double final_of(const PlasticityCurve *curve, bool is_critic) {
  return curve_of(curve, is_critic)[curve->points - 1];
}

/* Returns the geometric mean over the seeds of the final error's ratio to that of fresh weights. */
static double relative_error(const Fit *fits, int64_t seeds, bool is_critic) {
  double sum = 0;
  for (int64_t i = 0; i < seeds; i++)
    sum += log(final_of(&fits[i].trained, is_critic) / final_of(&fits[i].fresh, is_critic));
  return exp(sum / (double)seeds);
}

static json_t *curve_json(const PlasticityCurve *curve, bool is_critic) {
  json_t *list = json_array();
  for (int i = 0; i < curve->points; i++) json_array_append_new(list, core_json_real(curve_of(curve, is_critic)[i]));
  return list;
}

static json_t *network_json(const Fit *fits, int64_t seeds, bool is_critic) {
  json_t *list = json_array();
  for (int64_t i = 0; i < seeds; i++)
    json_array_append_new(list, json_pack("{s:I, s:o, s:o}", "seed", (json_int_t)fits[i].seed, "error",
                                          curve_json(&fits[i].trained, is_critic), "error_fresh",
                                          curve_json(&fits[i].fresh, is_critic)));
  return json_pack("{s:s, s:f, s:o}", "network", is_critic ? "critic" : "actor", "relative_error",
                   relative_error(fits, seeds, is_critic), "fits", list);
}

static json_t *checkpoint_json(const Probed *probed, const Given *given, const Fit *fits) {
  json_t *networks = json_array(), *steps = json_array();
  for (int is_critic = 0; is_critic <= (probed->probe.critic.of != NULL); is_critic++)
    json_array_append_new(networks, network_json(fits, given->seeds, is_critic));
  for (int i = 0; i < fits[0].trained.points; i++)
    json_array_append_new(steps, json_integer(fits[0].trained.step[i]));
  return json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:f, s:o, s:o}", "file", probed->player.checkpoint, "run",
                   probed->player.run_id, "iteration", (json_int_t)probed->player.iteration, "targets", given->targets,
                   "around", given->around, "states", (json_int_t)given->states, "batch", (json_int_t)given->batch,
                   "learning_rate", given->learning_rate, "steps", steps, "networks", networks);
}

static void print_row(const Probed *probed, const Given *given, const Fit *fits, bool is_critic) {
  double lowest = INFINITY, highest = 0, start = 0, end = 0, fresh = 0;
  for (int64_t i = 0; i < given->seeds; i++) {
    const double ratio = final_of(&fits[i].trained, is_critic) / final_of(&fits[i].fresh, is_critic);
    lowest = fmin(lowest, ratio);
    highest = fmax(highest, ratio);
    start += curve_of(&fits[i].trained, is_critic)[0] / (double)given->seeds;
    end += final_of(&fits[i].trained, is_critic) / (double)given->seeds;
    fresh += final_of(&fits[i].fresh, is_critic) / (double)given->seeds;
  }
  printf("%-16s %10" PRId64 "  %-7s %10.4g %10.4g %10.4g %10.3f  %.3f to %.3f\n", probed->player.run_id,
         probed->player.iteration, is_critic ? "critic" : "actor", start, end, fresh,
         relative_error(fits, given->seeds, is_critic), lowest, highest);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int create_probe(const Given *given, const char *name, Probed *probed) {
  const PlasticityOptions options = {.states = (int)given->states, .batch = (int)given->batch, .steps = given->steps,
                                     .learning_rate = given->learning_rate,
                                     .sines = strcmp(given->targets, "sine") == 0,
                                     .around_output = strcmp(given->around, "output") == 0};
  Player *player = &probed->player;
  TRY(player_create(&(PlayerOptions){name, given->root, given->best, true}, player));
  CoreConfig config = player->config;
  if (agent_is_recurrent(&player->agent))
    return core_error(CORE_USAGE, "%s: net.memory = lstm: the probe supports networks without memory only",
                      player->checkpoint);
  TRY(player_read_critic(player));
  snprintf(config.train.precision, sizeof config.train.precision, "float32");
  const int wanted = given->states < WORLDS ? (int)given->states : WORLDS;
  const int worlds = env_concurrent_worlds(player->env, wanted, (int)config.env.num);

  probed->arena = core_arena_create("plasticity");
  plasticity_register(&probed->probe, &options, &config, player->env, probed->arena);
  eval_rollout_register(&probed->rollout, &config, player->env, worlds, probed->arena);
  TRY(core_arena_commit(probed->arena));
  return plasticity_start(&probed->probe, &config, machine_threads(0));
}

static void fit_all(Probed *probed, const Given *given, Fit *fits) {
  const Agent *agent = &probed->player.agent;
  for (int64_t i = 0; i < given->seeds; i++) {
    fits[i].seed = (uint64_t)(given->seed + i);
    plasticity_fit(&probed->probe, agent->actor.theta, agent->critic.theta, fits[i].seed, &fits[i].trained);
    plasticity_fit(&probed->probe, NULL, NULL, fits[i].seed, &fits[i].fresh);
  }
}

static int probe_checkpoint(const Given *given, const char *name, json_t *list) {
  Probed probed = {.arena = NULL};
  Fit *fits = core_memory_zero_allocate((size_t)given->seeds, sizeof *fits);
  int code = create_probe(given, name, &probed);
  if (code == CORE_OK) code = collect_states(&probed, (uint64_t)given->seed);
  if (code == CORE_OK) {
    fit_all(&probed, given, fits);
    if (list) {
      json_array_append_new(list, checkpoint_json(&probed, given, fits));
    } else {
      for (int is_critic = 0; is_critic <= (probed.probe.critic.of != NULL); is_critic++)
        print_row(&probed, given, fits, is_critic);
    }
  }
  env_destroy(&probed.env);
  plasticity_destroy(&probed.probe);
  core_arena_destroy(&probed.arena);
  player_destroy(&probed.player);
  free(fits);
  return code;
}

static int check_range(const char *option, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return CORE_OK;
  return core_error(CORE_USAGE, "--%s %" PRId64 ": expected 1 to %" PRId64, option, value, most);
}

static int check_choice(const char *option, const char *value, const char *first, const char *second) {
  if (strcmp(value, first) == 0 || strcmp(value, second) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "--%s %.40s: expected %s or %s", option, value, first, second);
}

static int check_given(const Given *given) {
  TRY(check_range("states", given->states, STATES_MAX));
  TRY(check_range("batch", given->batch, given->states));
  TRY(check_range("steps", given->steps, INT32_MAX));
  TRY(check_range("seeds", given->seeds, SEEDS_MAX));
  TRY(check_choice("targets", given->targets, "network", "sine"));
  TRY(check_choice("around", given->around, "mean", "output"));
  if (given->seed < 0 || given->seed > UINT32_MAX)
    return core_error(CORE_USAGE, "--seed %" PRId64 ": expected 0 to %u", given->seed, UINT32_MAX);
  if (!(given->learning_rate > 0) || !isfinite(given->learning_rate))
    return core_error(CORE_USAGE, "--learning-rate %g: expected a positive number", given->learning_rate);
  return CORE_OK;
}

static int probe_all(void *opts, const char **names, size_t count) {
  const Given *given = opts;
  json_t *list = given->json ? json_array() : NULL;
  int code = check_given(given);
  omp_set_num_threads(machine_threads(0));
  if (code == CORE_OK && !list)
    printf("%-16s %10s  %-7s %10s %10s %10s %10s  %s\n", "run", "iteration", "network", "start", "end", "fresh",
           "relative", "range over seeds");
  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    code = probe_checkpoint(given, names[i], list);
  }
  if (list && code == CORE_OK) core_json_print(list);
  else json_decref(list);
  return code;
}

int trainer_plasticity(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer plasticity RUN|FILE... [options]",
    .about =
      "Measures the plasticity of trained networks: how far actor and critic fit random targets in a fixed number of "
      "Adam steps, from their weights in the checkpoint and from fresh ones (Lyle et al. 2022, 2023). Relative: "
      "final error / that of fresh weights, geometric mean over the seeds; above 1, plasticity has been lost. An "
      "error of 1 is that of the targets' mean. States are those that the checkpoint's policy "
      "visits.\n\n" STORE_RUN_NAME_HELP " Uses its newest checkpoint, or its best.",
    .operands_min = 1, .operands = {"RUN|FILE"}, .operands_max = SIZE_MAX,
    .hint = "name a run or a checkpoint file (runs/ab/<id>/ckpt/iteration-*.ckpt)"};
  Given given = {.targets = "network", .around = "mean", .states = 4096, .batch = 512, .steps = 1000, .seeds = 5,
                 .learning_rate = 1e-3};
  const CoreOption table[] = {
    {"targets", 't', CORE_OPTION_TEXT, &given.targets, "network|sine",
     "outputs of a network with random weights (default), or the sine of 1e5 times these; both standardized"},
    {"around", 'a', CORE_OPTION_TEXT, &given.around, "mean|output",
     "targets are added to the mean of the network's output (default), or to its output in each state"},
    {"states", 'n', CORE_OPTION_INT, &given.states, "N", "states to fit; default 4096"},
    {"steps", 0, CORE_OPTION_INT, &given.steps, "N", "Adam steps of a fit; default 1000"},
    {"batch", 0, CORE_OPTION_INT, &given.batch, "N", "states of a step; default 512"},
    {"learning-rate", 'l', CORE_OPTION_REAL, &given.learning_rate, "RATE", "Adam's learning rate; default 0.001"},
    {"seeds", 0, CORE_OPTION_INT, &given.seeds, "N",
     "number of targets, each with fresh weights and minibatches of its own; default 5"},
    {"seed", 0, CORE_OPTION_INT, &given.seed, "N", "first seed; default 0"},
    {"best", 'b', CORE_OPTION_FLAG, &given.best, NULL, "the best checkpoint of each run (checkpoint.best)"},
    {"root", 'r', CORE_OPTION_TEXT, &given.root, "DIR", "workspace; default $SWEEP_ROOT, else the current directory"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "print JSON with the errors after 0, 1, 2, 4, ... steps"},
    {0}};
  return core_options_run(&manual, table, argc, argv, probe_all, &given);
}
