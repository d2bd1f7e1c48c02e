/* Run logs: append-only, tab-separated, one line a record, each line checked by itself.
 *
 *   line 1:  "#runlog 1 <kind> <run id> <attempt> <checksum of line 2>"
 *   line 2:  column names, "name" or "name[unit]", the last is "crc32"
 *   then:    value <tab> value ... <tab> checksum     (8 hex digits: CRC-32 of the line before the last tab)
 * Numbers carry 9 significant digits (a float32 exactly), whole numbers all of theirs. An empty field is a value that
 * was not measured. A torn or damaged line is skipped and reported by number; a new writer starts on a fresh line, so
 * what follows is still read. Columns are found by their names, so logs of other versions are read too. Plain enough
 * for awk, pandas and gnuplot. */
#ifndef STORE_RUNLOG_H
#define STORE_RUNLOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Kinds: "stats" (one record an iteration), "eval" (one record an evaluation and level set), "layers" (one record a
 * measured iteration, network and layer) and "metrics" (one record a number that none of these has a column for). The
 * lists below make the records, the log's columns and the database's columns alike; a new column goes to the end of its
 * list, where databases that exist already get it too. */
typedef enum StoreLogKind {
  STORE_LOG_STATS, STORE_LOG_EVAL, STORE_LOG_LAYERS, STORE_LOG_METRICS, STORE_LOG_KINDS
} StoreLogKind;

/* One iteration, after the key `iteration`. NaN = not measured (an empty field, NULL in the database). X(name, unit,
 * comment) */
#define STORE_ITERATION_COLUMNS(X) \
  X(transitions, "transitions", "environment steps of all worlds since the start") \
  X(kl, "nat", "exact KL(behaviour || updated), mean over the rollout's states") \
  X(kl_reverse, "nat", "exact KL(updated || behaviour)") \
  X(kl_k1, "nat", "estimator k1 = -log ratio") \
  X(kl_k3, "nat", "estimator k3 = ratio - 1 - log ratio") \
  X(ddr, "transitions/nat", "transitions of the iteration / max(kl, 1e-12)") \
  X(grad_norm_actor, "", "gradient norm before clipping, mean over minibatches") \
  X(grad_norm_critic, "", "the same of the critic") \
  X(grad_norm_actor_max, "", "largest of the iteration") \
  X(grad_norm_critic_max, "", "largest of the iteration") \
  X(grad_clipped_actor, "", "fraction of minibatches whose gradient was clipped") \
  X(grad_clipped_critic, "", "the same of the critic") \
  X(update_norm_actor, "", "L2 distance of the actor's weights over the iteration") \
  X(update_norm_critic, "", "the same of the critic") \
  X(clip_fraction, "", "samples with the ratio outside 1 +- epsilon") \
  X(entropy, "nat", "policy entropy, mean over minibatches") \
  X(explained_variance, "", "1 - Var(target - value) / Var(target)") \
  X(policy_loss, "", "mean over minibatches") \
  X(value_loss, "", "mean over minibatches") \
  X(advantage_mean, "", "before standardisation") \
  X(advantage_sd, "", "before standardisation") \
  X(learning_rate, "", "of the iteration") \
  X(solve_rate, "", "finished training episodes that were solved, mean over levels") \
  X(episodes, "episodes", "finished in the iteration") \
  X(episode_return, "", "mean of finished episodes") \
  X(episode_length, "steps", "mean of finished episodes") \
  X(steps_per_second, "transitions/s", "rollout and update") \
  X(seconds_rollout, "s", "policy and simulator") \
  X(seconds_update, "s", "minibatches") \
  X(seconds_other, "s", "metrics, advantages, bookkeeping") \
  X(wall_seconds, "s", "training time since the run's start, all attempts") \
  X(kl_k2, "nat", "estimator k2 = (log ratio)^2 / 2") \
  X(ess_percent, "%", "effective sample size of the ratios, of the states") \
  X(policy_variance, "", "variance of an action's probability over the states, mean over actions") \
  X(clip_fraction_silent, "", "samples that the clip leaves without a policy gradient") \
  X(weight_norm_actor, "", "L2 norm of all weights and biases") \
  X(weight_norm_critic, "", "the same of the critic") \
  X(grad_kurtosis_actor, "", "kurtosis of log(|gradient entry| + 1e-8), mean over minibatches") \
  X(grad_kurtosis_critic, "", "the same of the critic") \
  X(grad_kurtosis_nonzero_actor, "", "the same of the entries that are not 0") \
  X(grad_kurtosis_nonzero_critic, "", "the same of the critic") \
  X(grad_zero_actor, "", "share of gradient entries that are exactly 0") \
  X(grad_zero_critic, "", "the same of the critic") \
  X(feature_rank_actor, "", "of the last hidden layer: directions that hold 99 % of the squares") \
  X(feature_rank_critic, "", "the same of the critic") \
  X(feature_srank_actor, "", "singular values that make up 99 % of their sum") \
  X(feature_srank_critic, "", "the same of the critic") \
  X(feature_rank_lyle_actor, "", "singular values / sqrt(states) above 0.01") \
  X(feature_rank_lyle_critic, "", "the same of the critic") \
  X(feature_rank_effective_actor, "", "exp(entropy of the singular values)") \
  X(feature_rank_effective_critic, "", "the same of the critic") \
  X(dormant_actor, "", "units with mean |activation| at most 0.025 of their layer's") \
  X(dormant_critic, "", "the same of the critic") \
  X(inactive_actor, "", "units with mean |activation| below 1e-5") \
  X(inactive_critic, "", "the same of the critic") \
  X(dead_actor, "", "units that do not move (tanh, elu: sd < 1e-3; relu, silu: always 0)") \
  X(dead_critic, "", "the same of the critic") \
  X(seconds_environment, "s", "of seconds_rollout: the simulator") \
  X(seconds_metrics, "s", "of seconds_other: measuring") \
  X(distance, "", "noisy_sgd: length of x after the step, its distance from the minimum") \
  X(kl_monotone, "", "share of an iteration's measured points after which KL(last policy || policy) did not rise") \
  X(kl_slope, "1/iteration", "slope of log KL(last policy || policy) by share of data (1/minibatch in old logs)") \
  X(solve_rate_new, "", "env.curriculum: solve_rate of newly generated levels only") \
  X(solve_rate_sampled, "", "the same of levels drawn from the buffer") \
  X(search_solve_rate, "", "mean over the levels of the search before this iteration") \
  X(search_learnability, "", "mean p (1 - p) of them, p their solve rate") \
  X(buffer_learnability, "", "the same of those that were kept") \
  X(seconds_levels, "s", "of seconds_rollout: generating and searching levels") \
  X(grad_norm_joint, "", "norm of both networks' gradients together before clipping, mean over minibatches") \
  X(step_norm_actor, "", "L2 length of a minibatch's step, mean over minibatches") \
  X(step_norm_critic, "", "the same of the critic") \
  X(kl_controller, "nat", "sapg, ppo.lr_schedule = kl: KL of the last epoch, which the learning rate follows") \
  X(feature_rank_centred_actor, "", "as feature_rank_actor, of the features less their means") \
  X(feature_rank_centred_critic, "", "the same of the critic") \
  X(dormant_strict_actor, "", "as dormant_actor with a share of 0: units that are always 0") \
  X(dormant_strict_critic, "", "the same of the critic") \
  X(dormant_loose_actor, "", "as dormant_actor with a share of 0.1") \
  X(dormant_loose_critic, "", "the same of the critic") \
  X(coverage_50, "", "cells of a 50 x 50 grid that the run's states so far have reached, in a random projection") \
  X(coverage_100, "", "the same of 100 x 100") \
  X(coverage_entropy_50, "", "entropy of the 50 x 50 histogram / log 2500") \
  X(coverage_entropy_100, "", "entropy of the 100 x 100 histogram / log 10000") \
  X(coverage_states, "states", "that coverage has looked at so far") \
  X(kl_consecutive, "nat", "KL(policy after a minibatch || policy before it), mean of an iteration's points") \
  X(com, "updates", "ppo_ewma: COM of the iteration; it moves with ppo.ddr_target") \
  X(epsilon, "", "ppo, ppo_ewma: clip range of the iteration; it moves with ppo.ddr_target") \
  X(goals, "", "goals reached in a finished training episode, mean: consecutive successes of the hands") \
  X(merged_iterations, "iterations", "that this row stands for, up to `iteration` (log.rows); NULL: one") \
  X(updates, "updates", "minibatch steps of the iteration; fewer than configured where ppo.target_kl stopped it") \
  X(kl_penalty, "", "coefficient of the KL penalty in the iteration; it moves with ppo.kl_penalty_target")

/* One evaluation, after the keys `iteration` and `level_set` (which levels). */
#define STORE_EVALUATION_COLUMNS(X) \
  X(transitions, "transitions", "environment steps trained so far") \
  X(solve_rate, "", "mean over levels of solved / attempts") \
  X(solve_rate_se, "", "its standard error (NaN with one attempt a level)") \
  X(episodes, "episodes", "attempts that ended: what the means are over") \
  X(episode_return, "", "mean") \
  X(episode_length, "steps", "mean") \
  X(goals, "", "goals reached in an episode, mean")

/* One layer of a network, after the keys `iteration`, `network` ("actor", "critic") and `layer` (from 1; the last is
 * the head, which has no units). */
#define STORE_LAYER_COLUMNS(X) \
  X(transitions, "transitions", "environment steps trained so far") \
  X(weight_norm, "", "L2 norm of the layer's weights and biases; squares add up to the network's") \
  X(dormant, "", "units with mean |activation| at most 0.025 of the layer's") \
  X(dormant_strict, "", "the same with 0: units that are always 0") \
  X(dormant_loose, "", "the same with 0.1") \
  X(inactive, "", "units with mean |activation| below 1e-5") \
  X(dead, "", "units that do not move (tanh, elu: sd < 1e-3; relu, silu: always 0)")

/* A number of a program, a plug-in or an environment, after the keys `iteration` and `name`. Its kind, unlike the
 * others, has a record for each number, since the names are not known before. */
#define STORE_METRIC_NUMBERS(X) \
  X(step, "", "what who measured it counts, as an x axis: environment steps, updates, ...") \
  X(value, "", "the number; NULL: none (NaN)")

typedef struct StoreIteration {
  int64_t iteration;      /* 1, 2, ... */
#define X(name, unit, comment) double name;
  STORE_ITERATION_COLUMNS(X)
#undef X
} StoreIteration;

typedef struct StoreEvaluation {
  int64_t iteration;      /* after so many iterations; 0 = before training */
  char level_set[64];
#define X(name, unit, comment) double name;
  STORE_EVALUATION_COLUMNS(X)
#undef X
} StoreEvaluation;

typedef struct StoreLayer {
  int64_t iteration;
  char network[16];
  double layer;           /* a whole number */
#define X(name, unit, comment) double name;
  STORE_LAYER_COLUMNS(X)
#undef X
} StoreLayer;

typedef struct StoreMetric {
  int64_t iteration;      /* the row of stats that it belongs to, or what counts like it */
  char name[128];         /* as who measured it calls it */
#define X(name, unit, comment) double name;
  STORE_METRIC_NUMBERS(X)
#undef X
} StoreMetric;

StoreIteration store_iteration_unmeasured(int64_t iteration); /* every column NaN */
StoreLayer store_layer_unmeasured(int64_t iteration, const char *network, int layer);
StoreEvaluation store_evaluation_unmeasured(int64_t iteration, const char *level_set); /* cut to 63 bytes */

/* Writers buffer; a line costs microseconds. Flushed (write) every few seconds by store_runlog_flush, fsynced when
 * `durable`. A failed write (full disk) keeps the lines in memory (up to 64 MiB), returns CORE_FAIL, and is retried at
 * the next flush, so training may go on. */
typedef struct StoreRunlog StoreRunlog;
int store_runlog_open(const char *root, const char *id, int attempt, StoreLogKind kind, StoreRunlog **log);
void store_runlog_iteration(StoreRunlog *log, const StoreIteration *row);
void store_runlog_evaluation(StoreRunlog *log, const StoreEvaluation *row);
void store_runlog_layer(StoreRunlog *log, const StoreLayer *row);
/* Control characters of the name become '_', as do bytes beyond ASCII of one that is no UTF-8. A name without
 * characters is not written. */
void store_runlog_metric(StoreRunlog *log, const StoreMetric *row);
int store_runlog_flush(StoreRunlog *log, bool durable);
int store_runlog_close(StoreRunlog **log); /* flushes durably */

/* Reading, for the importer and tests: feeds complete good lines from byte `offset` on (0, or an earlier *end); *end
 * is the offset after the last complete line that was looked at. Damaged lines are counted, and the first's number in
 * the file kept. A last line without newline is left for the next time. Exactly one of the callback's rows is not
 * NULL, valid during the call. Returning non-zero from `row` stops with that code; *end is then right behind that
 * row's line. CORE_FAIL: the file cannot be read, or is shorter than `offset`. */
typedef struct StoreLogDamage { int64_t lines, first_line; } StoreLogDamage;
typedef int (*StoreLogRow)(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                           const StoreLayer *layer, const StoreMetric *metric);
int store_runlog_read(const char *path, int64_t offset, StoreLogRow row, void *context, int64_t *end,
                      StoreLogDamage *damage);

#endif
