/* Assembly of the parts, and one iteration of them. run.c calls, in this order:
 *
 *   training_plan           opens the device, creates the levels and the learner, and registers all buffers
 *   training_check_memory   refuses what does not fit
 *   training_allocate       commits the arena; creates ops and worlds
 *   training_connect        connects the ranks' devices
 *   training_add_sections   names what a checkpoint holds
 *   training_after_load     continues from a checkpoint; without one, training_start
 *   training_iterate        again and again, with training_before_save before each checkpoint
 *   training_destroy        after any of them
 *
 * With algo.name = noisy_sgd there is neither agent nor environment (Training.sgd). */
#include "trainer/run/training.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/math/estimators.h"
#include "trainer/nets/agent_init.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/machine.h"
#include "trainer/run/run_evaluate.h"
#include "trainer/run/training_internal.h"
#include "trainer/update/minibatch.h"

/* Rows of a forward pass while acting: large enough for fast matrix products, small enough for little memory. */
enum { ACTING_ROWS = 4096, PLANNING_WORLDS = 1 };

/* ---- planning -------------------------------------------------------------------------------------------------- */

static int register_buffers(Training *training, int max_rows) {
  const CoreConfig *config = &training->config;
  CoreArena *arena = training->arena;
  const Env *levels = training->levels;

  agent_register(&training->agent, config, levels, max_rows, arena);
  Env trained_on = *levels; /* identical except for the number of levels in rollout statistics */
  if (training->curriculum) {
    curriculum_register(training->curriculum, config, levels, &training->shards, arena);
    trained_on.level_count = curriculum_levels(training->curriculum);
  }

  rollout_register(&training->rollout, config, &trained_on, &training->shards, (int)config->ppo.num_steps,
                   arena);
  const bool is_controlled = config->ppo.ddr_target > 0 || config->ppo.kl_penalty_target > 0;
  const bool follows_kl = config->comm.deterministic && is_controlled; /* in the same chunks as learning */
  metrics_register(&training->metrics, &training->agent, &training->rollout, config->metrics.states,
                   follows_kl ? minibatch_capacity(config, &training->shards, training->device != NULL) : 0, arena);
  coverage_register(&training->coverage, levels, &training->shards, config->metrics.states,
                    core_config_transitions_per_iteration(config), arena);
  if (config->metrics.visited_states > 0)
    visited_register(&training->visited, levels, &training->shards, config->metrics.visited_states,
                     core_config_iterations(config), core_config_transitions_per_iteration(config), arena);

  TRY(evaluation_video_check(config, levels));
  if (config->eval.count > 0) evaluate_register(&training->evaluator, config, levels, training->shards.worlds, arena);
  return evaluation_sets_register(&training->others, config, levels, training->shards.worlds, arena);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Returns the rows that the activations must hold: a micro-batch, or as many acting worlds as are worth one pass. */
static int activation_rows(const CoreConfig *config, const Shards *shards, bool on_device) {
  int64_t acting = larger(shards->worlds, config->eval.count > 0 ? config->eval.episodes : 0);
  const bool is_sapg = strcmp(config->algo.name, "sapg") == 0; /* whose minibatches are whole without shards */
  int64_t minibatch = shards->global_shards == 1 && is_sapg ? learner_size(config).rows
                                                            : minibatch_capacity(config, shards, on_device);
  return (int)larger(minibatch, acting < ACTING_ROWS ? acting : ACTING_ROWS);
}

static int estimate_memory(Training *training) {
  TrainingPlan *plan = &training->plan;
  const OpsCpuLimits limits = agent_ops_limits(&training->agent);
  double training_worlds, evaluation_worlds, other_worlds, search_worlds = 0;
  TRY(env_estimate_bytes(training->levels, training->evaluator.worlds, &evaluation_worlds));
  TRY(evaluation_sets_estimate_bytes(&training->others, &other_worlds));
  evaluation_worlds += other_worlds;

  if (training->curriculum) {
    TRY(curriculum_estimate_bytes(training->curriculum, training->levels, &training_worlds, &search_worlds));
    plan->environment_bytes = training_worlds + search_worlds + evaluation_worlds;
  } else {
    TRY(env_estimate_bytes(training->levels, training->shards.worlds, &training_worlds));
    /* A checkpoint copies the training worlds' state, which is most of their memory; the first rank copies all
     * ranks'. */
    plan->environment_bytes = 2 * training_worlds + sections_estimate_bytes(training_worlds) + evaluation_worlds;
  }

  plan->buffer_bytes = (double)core_arena_bytes(training->arena) + ops_cpu_bytes(plan->threads, &limits);
  plan->machine_bytes = machine_memory_bytes() / ranks_on_machine();

  if (training->device == NULL) return CORE_OK;
  const bool hosted = env_is_hosted(training->levels);
  plan->device_worlds_bytes = hosted ? 0 : training_worlds + search_worlds + evaluation_worlds;
  plan->device_bytes = training_memory_estimate(training, plan->device_worlds_bytes);
  return CORE_OK;
}

static int plan_sgd(Training *training) {
  const CoreConfig *config = &training->config;
  if (strcmp(config->train.precision, "float32") != 0)
    return core_error(CORE_USAGE, "train.precision = %s: algo.name = %s has no matrix products; set it to float32",
                      config->train.precision, config->algo.name);
  if (ranks_size() > 1)
    return core_error(CORE_USAGE, "algo.name = noisy_sgd: no environments to divide over %d ranks; start one "
                      "process", ranks_size());
  training->sgd = core_memory_zero_allocate(1, sizeof *training->sgd);
  TRY(noisy_sgd_register(training->sgd, config, training->arena));
  training->plan = (TrainingPlan){.iterations = core_config_iterations(config), .transitions_per_iteration = 1,
                                  .updates_per_iteration = 1, .ranks = 1, .threads = 1,
                                  .buffer_bytes = (double)core_arena_bytes(training->arena),
                                  .machine_bytes = machine_memory_bytes()};
  return CORE_OK;
}

/* Creates what the sizes depend on, registers all buffers, and fills the plan. */
static int plan(Training *training) {
  const CoreConfig *config = &training->config;
  const bool has_curriculum = core_config_has_curriculum(config);
  TRY(core_config_check(config));
  TRY(agent_check(config));
  TRY(training_device_open(training));
  if (core_config_has_no_envs(config)) return plan_sgd(training);

  TRY(shards_plan(config, &training->shards));
  TRY(env_create(config, PLANNING_WORLDS, (uint64_t)config->train.seed, &training->levels));
  TRY(training_device_check_env(training));
  TRY(agent_check_env(config, training->levels));
  TRY(limits_check(config, training->levels));
  if (has_curriculum) TRY(curriculum_check(config, training->levels));
  if (training->levels->pixels) TRY(frames_check(config, training->levels, training->shards.worlds));
  if (strcmp(config->train.observation_storage, "state") == 0) TRY(compact_check(config, training->levels));

  if (has_curriculum) training->curriculum = core_memory_zero_allocate(1, sizeof *training->curriculum);
  TRY(register_buffers(training, activation_rows(config, &training->shards, training->device != NULL)));
  TRY(learner_create(config, &training->agent, &training->rollout, training->arena, &training->learner));

  if (config->metrics.profile_every > 0) {
    profile_register(&training->profile, &training->agent, &training->rollout,
                     learner_size(config).updates, training->arena);
    limit_register(&training->limit, &training->learner, config->metrics.limit_epochs, config->ppo.epochs,
                   training->arena);
  }
  if (config->metrics.noise_every > 0) noise_scale_register(&training->noise, &training->agent, training->arena);

  training->plan = (TrainingPlan){
    .iterations = core_config_iterations(config),
    .transitions_per_iteration = core_config_transitions_per_iteration(config),
    .updates_per_iteration = learner_size(config).updates,
    .minibatch_rows = (int)(core_config_transitions_per_iteration(config) / config->ppo.num_minibatches),
    .levels = training->levels->level_count,
    .observation_length = training->levels->observation_length,
    .attempts = training->evaluator.global_attempts,
    .actor_parameters = training->agent.actor.n,
    .critic_parameters = training->agent.critic.n,
    .ranks = ranks_size(),
    .threads = machine_threads((int)config->train.threads),
    .generated = training->curriculum ? training->curriculum->generated : 0,
  };

  training_memory_count_worlds(training);
  return estimate_memory(training);
}

int training_plan(const CoreConfig *config, Training **training) {
  Training *created = core_memory_zero_allocate(1, sizeof *created);
  created->episode_return = NAN;
  created->arena = core_arena_create("training");
  int code = core_config_resolve(config, &created->config);
  if (code == CORE_OK) code = plan(created);
  if (code != CORE_OK) training_destroy(&created);
  *training = created;
  return code;
}

void training_destroy(Training **training) {
  Training *owned = *training;
  if (owned == NULL) return;

  rollout_destroy(&owned->rollout);
  learner_destroy(&owned->learner); /* before the communicator, which NCCL keeps as long as a graph has its calls */
  communicator_destroy(&owned->communicator); /* before the arena: freeing it waits for sums that other ranks may never
                                               * join */
  evaluation_sets_destroy(&owned->others);
  evaluate_destroy(&owned->evaluator);
  if (owned->curriculum) curriculum_destroy(owned->curriculum);
  ops_destroy(&owned->ops);

  env_destroy(&owned->env);
  env_destroy(&owned->levels);
  core_arena_destroy(&owned->arena);
  training_device_close(owned);
  sections_destroy(&owned->sections);

  free(owned->env_state);
  free(owned->curriculum);
  free(owned->sgd);
  free(owned);
  *training = NULL;
}

/* ---- allocation and start -------------------------------------------------------------------------------------- */

int training_check_memory(const Training *training) {
  const TrainingPlan *plan = &training->plan;
  char needed[32], buffers[32], worlds[32], present[32];
  double total = plan->buffer_bytes + plan->environment_bytes;
  TRY(training_memory_check(training));
  if (total <= plan->machine_bytes) return CORE_OK;
  return core_error(CORE_FAIL, "training needs about %sB (buffers %sB, worlds %sB) but this process may use %sB; lower "
                    "env.num or ppo.num_steps%s%s%s", core_text_count(total, needed),
                    core_text_count(plan->buffer_bytes, buffers), core_text_count(plan->environment_bytes, worlds),
                    core_text_count(plan->machine_bytes, present),
                    training->rollout.pipeline.is_half || training->rollout.is_compact || training->levels->pixels ? ""
                    : ", or set train.observation_storage to float16 or state",
                    plan->attempts > 4096 ? ", or eval.episodes" : "",
                    training->curriculum ? ", or sfl.batch_size" : "");
}

static int allocate(Training *training) {
  const CoreConfig *config = &training->config;
  const Env *levels = training->levels;
  CoreDevice *device = training->device;
  uint64_t seed = (uint64_t)config->train.seed;

  TRY(core_arena_commit(training->arena));
  if (training->sgd) return CORE_OK;
  agent_bind_activations(&training->agent);
  omp_set_num_threads(training->plan.threads);
  TRY(training_device_create_ops(training));

  const EnvBatch batch = {training->shards.worlds, (uint32_t)training->shards.first_world, seed, device};
  if (training->curriculum) TRY(curriculum_create(training->curriculum, levels, seed, device, &training->env));
  else TRY(levels->clone(levels, &batch, &training->env));
  if (config->eval.count > 0) TRY(evaluate_create(&training->evaluator, levels, seed, device));
  TRY(evaluation_sets_create(&training->others, seed, device));
  TRY(coverage_create(&training->coverage, levels, &training->rollout.head));

  if (training->curriculum) return CORE_OK; /* every rollout starts new episodes: no state of the worlds is saved */
  training->env_state_bytes = training->env->state_bytes(training->env);
  training->env_state = core_memory_zero_allocate(1, training->env_state_bytes);
  return CORE_OK;
}

int training_allocate(Training *training) { return training_memory_suggest(training, allocate(training)); }

int training_connect(Training *training) { return training_device_connect(training); }

int training_start(Training *training) {
  training->position = (TrainingPosition){.count.proximal_weight = 1, .solve_rate = NAN};
  if (training->sgd) {
    noisy_sgd_start(training->sgd);
    return CORE_OK;
  }
  agent_init_weights(&training->agent, (uint64_t)training->config.train.seed);
  training->learner.kind->start(training->learner.state);
  coverage_reset(&training->coverage); /* a damaged checkpoint may have left a record */
  TRY(rollout_start(&training->rollout, training->env, (uint64_t)training->config.train.seed));
  training_bf16_start(training); /* on the worlds' current observations */
  return CORE_OK;
}

/* ---- checkpoints ----------------------------------------------------------------------------------------------- */

void training_add_sections(Training *training, Checkpoint *checkpoint) {
  Sections *sections = &training->sections;
  sections->checkpoint = checkpoint;

  training->evaluation_due = -1; /* value where a file lacks the section */
  checkpoint_add_optional(checkpoint, TRAINING_EVALUATION_SECTION, &training->evaluation_due,
                          sizeof training->evaluation_due);
  checkpoint_add(checkpoint, "position", &training->position, sizeof training->position);
  if (training->sgd) {
    checkpoint_add(checkpoint, "x", training->sgd->x, (size_t)training->sgd->dimensions * sizeof(double));
    training_device_mirror(training, checkpoint);
    return;
  }

  training->learner.kind->add_sections(training->learner.state, checkpoint);
  training_bf16_add_section(training, checkpoint);
  checkpoint_add(checkpoint, COVERAGE_SECTION, training->coverage.record, sizeof *training->coverage.record);
  rollout_add_sections(&training->rollout, sections);
  if (training->curriculum) {
    curriculum_add_sections(training->curriculum, checkpoint);
  } else {
    const size_t records = (size_t)training->shards.worlds * training->env->world_bytes;
    const size_t head = training->env_state_bytes - records;
    checkpoint_add(checkpoint, "environment head", training->env_state, head);
    sections_add_worlds(sections, "environment", (char *)training->env_state + head, records);
  }

  training_device_mirror(training, checkpoint);
}

void training_before_save(Training *training) {
  if (training->sgd) {
    training_device_download(training);
    return;
  }
  training->learner.kind->get_count(training->learner.state, &training->position.count);
  obs_pool_statistics(&training->rollout.pipeline);
  if (!training->curriculum) training->env->save(training->env, training->env_state);
  training_device_download(training);
  sections_gather(&training->sections);
}

/* Checks the position. A checkpoint's checksums prove that it is undamaged, not that this program wrote it. */
static int check_position(const Training *training) {
  const TrainingPosition *position = &training->position;
  const int64_t last = INT64_MAX / 2 / training->plan.transitions_per_iteration, updates = INT64_MAX / 2;
  if (position->iteration >= 0 && position->iteration < last && position->count.actor_updates >= 0 &&
      position->count.actor_updates < updates && position->count.critic_updates >= 0 &&
      position->count.critic_updates < updates)
    return CORE_OK;
  return core_error(CORE_FAIL, "the checkpoint is at iteration %" PRId64 " after %" PRId64 " and %" PRId64
                    " updates, which is impossible; remove it, or start over with --force", position->iteration,
                    position->count.actor_updates, position->count.critic_updates);
}

int training_after_load(Training *training) {
  TRY(ranks_agree(ranks_is_first() ? check_position(training) : CORE_OK));
  if (training->sgd) {
    training_device_upload(training);
    return CORE_OK;
  }

  sections_share(&training->sections);
  TRY(training_bf16_restored(training));
  training_device_upload(training);
  training->learner.kind->set_count(training->learner.state, &training->position.count);
  rollout_restored(&training->rollout);

  if (training->curriculum)
    return ranks_agree(curriculum_after_load(training->curriculum, training->env, training->position.iteration));
  TRY(ranks_agree(training->env->load(training->env, training->env_state, training->env_state_bytes)));
  if (training->env->remote) rollout_begin_again(&training->rollout, training->env);
  return CORE_OK;
}

/* ---- iterations ------------------------------------------------------------------------------------------------ */

bool training_finished(const Training *training) {
  return training->position.iteration >= training->plan.iterations;
}

int64_t training_transitions(const Training *training) {
  return training->position.iteration * training->plan.transitions_per_iteration;
}

static void fill_networks(const UpdateStats *stats, const MetricsPolicyChange *change, StoreIteration *row) {
#define FILL(network) \
  row->grad_norm_##network = stats->network.norm_mean; \
  row->grad_norm_##network##_max = stats->network.norm_max; \
  row->grad_clipped_##network = stats->network.clipped_fraction; \
  row->grad_kurtosis_##network = stats->network.kurtosis.all; \
  row->grad_kurtosis_nonzero_##network = stats->network.kurtosis.nonzero; \
  row->grad_zero_##network = stats->network.kurtosis.zero_fraction; \
  row->update_norm_##network = change->update_norm_##network; \
  row->weight_norm_##network = change->network.weight_norm; \
  row->feature_rank_##network = change->network.rank.pca; \
  row->feature_srank_##network = change->network.rank.srank; \
  row->feature_rank_lyle_##network = change->network.rank.lyle; \
  row->feature_rank_effective_##network = change->network.rank.effective; \
  row->dormant_##network = change->network.units.dormant; \
  row->inactive_##network = change->network.units.inactive; \
  row->dead_##network = change->network.units.dead; \
  row->step_norm_##network = stats->network.step_norm; \
  row->feature_rank_centred_##network = change->network.rank.centered; \
  row->dormant_strict_##network = change->network.dormant_strict; \
  row->dormant_loose_##network = change->network.dormant_loose
  FILL(actor);
  FILL(critic);
#undef FILL
}

static void fill_row(const Training *training, const RolloutEpisodes *episodes, const UpdateStats *stats,
                     const MetricsPolicyChange *change, StoreIteration *row) {
  double transitions = (double)training->plan.transitions_per_iteration;

  row->transitions = (double)training_transitions(training);
  row->kl = change->kl;
  row->kl_reverse = change->kl_reverse;
  row->kl_k1 = change->k1;
  row->kl_k2 = change->k2;
  row->kl_k3 = change->k3;
  row->ddr = estimators_ddr(transitions, change->kl);
  row->ess_percent = change->ess_percent;
  row->policy_variance = change->policy_variance;
  fill_networks(stats, change, row);

  row->grad_norm_joint = stats->joint_norm;
  row->kl_controller = stats->controller_kl;
  row->com = stats->com;
  row->epsilon = stats->epsilon;
  row->kl_penalty = stats->kl_penalty;
  row->updates = stats->updates;

  row->clip_fraction = stats->clip_fraction;
  row->clip_fraction_silent = stats->zero_grad_fraction;
  row->entropy = stats->entropy;
  row->explained_variance = stats->explained_variance;
  row->policy_loss = stats->policy_loss;
  row->value_loss = stats->value_loss;
  row->advantage_mean = stats->advantage_mean;
  row->advantage_sd = stats->advantage_sd;
  row->learning_rate = stats->learning_rate;

  row->solve_rate = training_solve_rate(training, episodes);
  row->episodes = (double)episodes->count;
  row->episode_return = episodes->return_mean;
  row->episode_length = episodes->length_mean;
  row->goals = episodes->goals;
}

static int iterate_sgd(Training *training, StoreIteration *row) {
  int64_t iteration = training->position.iteration + 1;
  double start = core_clock_s();
  int code = noisy_sgd_step(training->sgd, iteration, row);
  if (code != CORE_OK) return core_error_context(code, "diverged in iteration %" PRId64, iteration);
  training->position.iteration = iteration;
  row->seconds_update = core_clock_s() - start;
  return CORE_OK;
}

/* Chooses the levels of the next rollout. */
static int search_levels(Training *training, uint64_t seed, int64_t iteration) {
  core_device_begin_phase(training->device, CORE_PHASE_SEARCH);
  if (training->curriculum == NULL) return CORE_OK;
  return curriculum_begin(training->curriculum, training->env, training->ops, &training->agent, &training->rollout,
                          seed, iteration);
}

/* Plays the rollout. Worlds that failed in it are found when their numbers are read. */
static int collect(Training *training, uint64_t seed, int64_t iteration, RolloutEpisodes *episodes) {
  core_device_begin_phase(training->device, CORE_PHASE_ROLLOUT);
  int code = training_env_result(training, training_prepare_metrics(training, seed, iteration));
  if (code != CORE_OK) return core_error_context(code, "iteration %" PRId64 ", states seen", iteration);

  rollout_collect(&training->rollout, training->env, training->ops, &training->agent, seed, iteration, episodes);
  code = training_env_result(training, training_read_info(training));
  if (code == CORE_REQUEUE) rollout_undo(&training->rollout);
  if (code != CORE_OK) return core_error_context(code, "iteration %" PRId64, iteration);
  return CORE_OK;
}

static int update(Training *training, uint64_t seed, int64_t iteration, UpdateStats *stats) {
  core_device_begin_phase(training->device, CORE_PHASE_MEASURE);
  training_begin_metrics(training, seed, iteration);

  core_device_begin_phase(training->device, CORE_PHASE_UPDATE);
  const UpdateContext context = {.ops = training->ops, .rollout = &training->rollout, .iteration = iteration,
                                 .measure = training->metrics.depth >= METRICS_REPRESENTATION,
                                 .before = training->metrics.step_before,
                                 .profile = training->profiled ? &training->profile : NULL,
                                 .noise = training->measures_noise ? &training->noise : NULL};
  const int code = training->learner.kind->update(training->learner.state, &context, stats);
  if (code != CORE_OK) return core_error_context(code, "diverged in iteration %" PRId64, iteration);
  return CORE_OK;
}

static void measure(Training *training, uint64_t seed, int64_t iteration, MetricsPolicyChange *change,
                    StoreIteration *row) {
  core_device_begin_phase(training->device, CORE_PHASE_MEASURE);
  training_finish_metrics(training, seed, iteration, change, row);
  core_device_begin_phase(training->device, CORE_PHASE_OTHER);
}

/* Times at which the phases of an iteration began. */
typedef struct PhaseTimes { double search, rollout, update, measure, other; } PhaseTimes;

/* Fills in the seconds of the slowest rank. Those of the rollout include the search, those of other work the metrics.
 * The noise scale counts as metrics, though it is measured within the update. */
static void fill_seconds(const Training *training, const PhaseTimes *begin, double environment_s, StoreIteration *row) {
  const double end = core_clock_s(), noise_s = training->measures_noise ? training->noise.seconds : 0;
  if (training->curriculum) row->seconds_levels = begin->rollout - begin->search; /* this rank's */

  double seconds[] = {begin->update - begin->search,
                      begin->measure - begin->update - noise_s,
                      end - begin->measure + noise_s,
                      environment_s,
                      begin->other - begin->measure + noise_s,
                      end - begin->search};
  ranks_max(seconds, sizeof seconds / sizeof *seconds);
  row->seconds_rollout = seconds[0];
  row->seconds_update = seconds[1];
  row->seconds_other = seconds[2];
  row->seconds_environment = seconds[3];
  row->seconds_metrics = seconds[4];
  row->steps_per_second = (double)training->plan.transitions_per_iteration / seconds[5];
}

int training_iterate(Training *training, StoreIteration *row) {
  if (training->sgd) return iterate_sgd(training, row);
  const uint64_t seed = (uint64_t)training->config.train.seed;
  const int64_t iteration = training->position.iteration + 1;
  const LearnerVTable *learner = training->learner.kind;
  RolloutEpisodes episodes;
  UpdateStats stats;
  MetricsPolicyChange change;
  PhaseTimes begin;

  begin.search = core_clock_s();
  TRY(search_levels(training, seed, iteration));
  begin.rollout = core_clock_s();
  TRY(collect(training, seed, iteration, &episodes));
  begin.update = core_clock_s();
  TRY(update(training, seed, iteration, &stats));
  begin.measure = core_clock_s();
  *row = store_iteration_unmeasured(iteration);
  measure(training, seed, iteration, &change, row);
  begin.other = core_clock_s();

  obs_advance(&training->rollout.pipeline); /* the iteration used the rollout's statistics up to here */
  training->position.iteration = iteration;
  fill_row(training, &episodes, &stats, &change, row);
  if (training->curriculum) curriculum_fill_row(training->curriculum, &training->rollout, row);
  if (learner->on_iteration_end)
    learner->on_iteration_end(training->learner.state, row->transitions, row->kl, row->ddr);
  training_record_results(training, row);
  fill_seconds(training, &begin, episodes.environment_s, row);
  return CORE_OK;
}

int training_check_weights(const Training *training) {
  const Agent *agent = &training->agent;
  if (ranks_size() == 1) return CORE_OK;
  double norm = training->ops->norm_squared(training->ops, agent->actor.theta, agent->actor.n) +
                training->ops->norm_squared(training->ops, agent->critic.theta, agent->critic.n);
  double first = norm;
  ranks_broadcast(&first, sizeof first);
  int code = CORE_OK;
  if (memcmp(&first, &norm, sizeof norm) != 0)
    code = core_error(CORE_FAIL, "the weights differ from those of the first rank after iteration %" PRId64 "; all "
                      "ranks need the same program, libraries and kind of processor", training->position.iteration);
  return ranks_agree(code);
}
