/* Run logs: append-only, tab-separated files with one line per record, each with a checksum.
 *
 *   line 1:  "#runlog 1 <kind> <run id> <attempt> <checksum of line 2>"
 *   line 2:  column names, "name" or "name[unit]", the last is "crc32"
 *   then:    value <tab> value ... <tab> checksum     (8 hex digits: CRC-32 of the line up to the last tab)
 * Numbers have 9 significant digits (exact for float32), integers all of theirs. An empty field is a value that was not
 * measured. A later line replaces earlier ones of its key; a line without numbers removes them. A truncated or damaged
 * line is skipped and reported by number; a new writer starts on a new line, so that later lines can be read. Columns
 * are found by name, so that logs of other versions can be read. awk, pandas and gnuplot read the format. */
#ifndef STORE_RUNLOG_H
#define STORE_RUNLOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Kinds: "stats" (one record per iteration), "eval" (per evaluation and level set), "layers" (per measured iteration,
 * network and layer) and "metrics" (per value without a column in the others). The lists below generate the records and
 * the columns of logs and database. A new column goes to the end of its list, so that existing databases can get it. */
typedef enum StoreLogKind {
  STORE_LOG_STATS, STORE_LOG_EVAL, STORE_LOG_LAYERS, STORE_LOG_METRICS, STORE_LOG_KINDS
} StoreLogKind;

/* Columns of an iteration, after the key `iteration`. NaN: not measured (an empty field, NULL in the database).
 * X(name, unit, comment) */
#define STORE_ITERATION_COLUMNS(X) \
  X(transitions, "transitions", "environment steps of all environments since the start") \
  X(kl, "nat", "exact KL(behavior || updated), mean over the rollout's states") \
  X(kl_reverse, "nat", "exact KL(updated || behavior)") \
  X(kl_k1, "nat", "estimator k1 = -log ratio") \
  X(kl_k3, "nat", "estimator k3 = ratio - 1 - log ratio") \
  X(ddr, "transitions/nat", "transitions of the iteration / max(kl, 1e-12)") \
  X(grad_norm_actor, "", "gradient norm before clipping, mean over minibatches") \
  X(grad_norm_critic, "", "grad_norm_actor for the critic") \
  X(grad_norm_actor_max, "", "largest gradient norm of the iteration") \
  X(grad_norm_critic_max, "", "largest gradient norm of the iteration") \
  X(grad_clipped_actor, "", "fraction of minibatches whose gradient was clipped") \
  X(grad_clipped_critic, "", "grad_clipped_actor for the critic") \
  X(update_norm_actor, "", "L2 distance of the actor's weights over the iteration") \
  X(update_norm_critic, "", "update_norm_actor for the critic") \
  X(clip_fraction, "", "fraction of samples with the ratio outside 1 +- epsilon") \
  X(entropy, "nat", "policy entropy, mean over minibatches") \
  X(explained_variance, "", "1 - Var(target - value) / Var(target)") \
  X(policy_loss, "", "policy loss, mean over minibatches") \
  X(value_loss, "", "value loss, mean over minibatches") \
  X(advantage_mean, "", "mean of the advantages before normalization") \
  X(advantage_sd, "", "standard deviation of the advantages before normalization") \
  X(learning_rate, "", "learning rate of the iteration") \
  X(solve_rate, "", "share of finished training episodes that were solved, mean over levels") \
  X(episodes, "episodes", "episodes finished in the iteration") \
  X(episode_return, "", "mean return of finished episodes") \
  X(episode_length, "steps", "mean length of finished episodes") \
  X(steps_per_second, "transitions/s", "throughput of rollout and update") \
  X(seconds_rollout, "s", "time of the rollout: policy and simulator") \
  X(seconds_update, "s", "time of the minibatch updates") \
  X(seconds_other, "s", "time of metrics, advantages and bookkeeping") \
  X(wall_seconds, "s", "training time since the run's start, all attempts") \
  X(kl_k2, "nat", "estimator k2 = (log ratio)^2 / 2") \
  X(ess_percent, "%", "effective sample size of the ratios, relative to the number of states") \
  X(policy_variance, "", "variance of an action's probability over the states, mean over actions") \
  X(clip_fraction_silent, "", "fraction of samples with zero policy gradient after clipping") \
  X(weight_norm_actor, "", "L2 norm of all weights and biases") \
  X(weight_norm_critic, "", "weight_norm_actor for the critic") \
  X(grad_kurtosis_actor, "", "kurtosis of log(|gradient entry| + 1e-8), mean over minibatches") \
  X(grad_kurtosis_critic, "", "grad_kurtosis_actor for the critic") \
  X(grad_kurtosis_nonzero_actor, "", "grad_kurtosis_actor over nonzero entries") \
  X(grad_kurtosis_nonzero_critic, "", "grad_kurtosis_critic over nonzero entries") \
  X(grad_zero_actor, "", "share of gradient entries that are exactly 0") \
  X(grad_zero_critic, "", "grad_zero_actor for the critic") \
  X(feature_rank_actor, "", "last hidden layer: directions that hold 99 % of the sum of squares") \
  X(feature_rank_critic, "", "feature_rank_actor for the critic") \
  X(feature_srank_actor, "", "number of singular values that make up 99 % of their sum") \
  X(feature_srank_critic, "", "feature_srank_actor for the critic") \
  X(feature_rank_lyle_actor, "", "number of singular values / sqrt(states) above 0.01") \
  X(feature_rank_lyle_critic, "", "feature_rank_lyle_actor for the critic") \
  X(feature_rank_effective_actor, "", "exp(entropy of the singular values)") \
  X(feature_rank_effective_critic, "", "feature_rank_effective_actor for the critic") \
  X(dormant_actor, "", "fraction of units with mean |activation| at most 0.025 of their layer's") \
  X(dormant_critic, "", "dormant_actor for the critic") \
  X(inactive_actor, "", "fraction of units with mean |activation| below 1e-5") \
  X(inactive_critic, "", "inactive_actor for the critic") \
  X(dead_actor, "", "fraction of constant units (tanh, elu: sd < 1e-3; relu, silu: always 0)") \
  X(dead_critic, "", "dead_actor for the critic") \
  X(seconds_environment, "s", "part of seconds_rollout: simulator") \
  X(seconds_metrics, "s", "part of seconds_other: metrics") \
  X(distance, "", "noisy_sgd: distance of x from the minimum after the step") \
  X(kl_monotone, "", "share of an iteration's measured points after which KL(last policy || policy) did not rise") \
  X(kl_slope, "1/iteration", "slope of log KL(last policy || policy) by share of data (1/minibatch in old logs)") \
  X(solve_rate_new, "", "env.curriculum: solve_rate of newly generated levels only") \
  X(solve_rate_sampled, "", "env.curriculum: solve_rate of levels sampled from the buffer") \
  X(search_solve_rate, "", "mean solve rate of the levels searched before this iteration") \
  X(search_learnability, "", "mean p (1 - p) of the searched levels, with p their solve rate") \
  X(buffer_learnability, "", "mean p (1 - p) of the levels kept in the buffer") \
  X(seconds_levels, "s", "part of seconds_rollout: generating and searching levels") \
  X(grad_norm_joint, "", "joint gradient norm of both networks before clipping, mean over minibatches") \
  X(step_norm_actor, "", "L2 length of a minibatch's step, mean over minibatches") \
  X(step_norm_critic, "", "step_norm_actor for the critic") \
  X(kl_controller, "nat", "sapg, ppo.lr_schedule = kl: KL of the last epoch, which controls the learning rate") \
  X(feature_rank_centred_actor, "", "feature_rank_actor of mean-centered features") \
  X(feature_rank_centred_critic, "", "feature_rank_centred_actor for the critic") \
  X(dormant_strict_actor, "", "dormant_actor with threshold 0: units that are always 0") \
  X(dormant_strict_critic, "", "dormant_strict_actor for the critic") \
  X(dormant_loose_actor, "", "dormant_actor with threshold 0.1") \
  X(dormant_loose_critic, "", "dormant_loose_actor for the critic") \
  X(coverage_50, "", "cells of a 50 x 50 grid visited by the run's states so far, in a random projection") \
  X(coverage_100, "", "coverage_50 with a 100 x 100 grid") \
  X(coverage_entropy_50, "", "entropy of the 50 x 50 histogram / log 2500") \
  X(coverage_entropy_100, "", "entropy of the 100 x 100 histogram / log 10000") \
  X(coverage_states, "states", "number of states counted for coverage so far") \
  X(kl_consecutive, "nat", "KL(policy after a minibatch || policy before it), mean of an iteration's points") \
  X(com, "updates", "ppo_ewma: COM of the iteration; changes with ppo.ddr_target") \
  X(epsilon, "", "ppo, ppo_ewma: clip range of the iteration; changes with ppo.ddr_target") \
  X(goals, "", "mean goals reached per finished training episode: consecutive successes of the hands") \
  X(merged_iterations, "iterations", "number of iterations merged into this row (log.rows); NULL: one") \
  X(updates, "updates", "minibatch steps of the iteration; fewer than configured if ppo.target_kl stopped it") \
  X(kl_penalty, "", "coefficient of the KL penalty in the iteration; changes with ppo.kl_penalty_target") \
  X(limit_epochs, "epochs", "epochs on the batch from which on no doubling moves the policy; 0: the last one does") \
  X(limit_moved, "", "KL moved by the last doubling of the epochs / kl_limit") \
  X(kl_limit, "nat", "KL(policy after metrics.limit_epochs on the batch || policy before the first minibatch)") \
  X(kl_limit_last, "nat", "KL(policy after metrics.limit_epochs || policy after the iteration)") \
  X(kl_limit_monotone, "", "share of an iteration's measured points after which KL(limit || policy) did not rise") \
  X(kl_limit_slope, "1/iteration", "slope of log KL(limit || policy) by share of data") \
  X(noise_scale_actor, "transitions", "gradient noise scale: grad_variance_actor / grad_square_actor") \
  X(noise_scale_critic, "transitions", "noise_scale_actor for the critic") \
  X(grad_variance_actor, "", "trace of the covariance of a transition's gradient, unbiased") \
  X(grad_variance_critic, "", "grad_variance_actor for the critic") \
  X(grad_square_actor, "", "squared norm of the expected gradient, unbiased: may be negative") \
  X(grad_square_critic, "", "grad_square_actor for the critic")

/* Columns of an evaluation, after the keys `iteration` and `level_set`. */
#define STORE_EVALUATION_COLUMNS(X) \
  X(transitions, "transitions", "environment steps trained so far") \
  X(solve_rate, "", "mean over levels of solved / attempts") \
  X(solve_rate_se, "", "standard error of solve_rate (NaN with one attempt per level)") \
  X(episodes, "episodes", "number of finished attempts, over which the means are taken") \
  X(episode_return, "", "mean return") \
  X(episode_length, "steps", "mean episode length") \
  X(goals, "", "mean goals reached per episode")

/* Columns of a network layer, after the keys `iteration`, `network` ("actor", "critic") and `layer` (from 1; the last
 * is the head, which has no units). */
#define STORE_LAYER_COLUMNS(X) \
  X(transitions, "transitions", "environment steps trained so far") \
  X(weight_norm, "", "L2 norm of the layer's weights and biases; squares add up to the network's") \
  X(dormant, "", "fraction of units with mean |activation| at most 0.025 of the layer's") \
  X(dormant_strict, "", "dormant with threshold 0: units that are always 0") \
  X(dormant_loose, "", "dormant with threshold 0.1") \
  X(inactive, "", "fraction of units with mean |activation| below 1e-5") \
  X(dead, "", "fraction of constant units (tanh, elu: sd < 1e-3; relu, silu: always 0)")

/* Columns of a metric of a program, a plug-in or an environment, after the keys `iteration` and `name`. Unlike the
 * other kinds, this one has a record per value, since the names are not known in advance. */
#define STORE_METRIC_NUMBERS(X) \
  X(step, "", "x value of the metric's own counter: environment steps, updates, ...") \
  X(value, "", "value of the metric; NULL: none (NaN)")

typedef struct StoreIteration {
  int64_t iteration;      /* 1, 2, ... */
#define X(name, unit, comment) double name;
  STORE_ITERATION_COLUMNS(X)
#undef X
} StoreIteration;

typedef struct StoreEvaluation {
  int64_t iteration;      /* iterations done before it; 0 = before training */
  char level_set[64];
#define X(name, unit, comment) double name;
  STORE_EVALUATION_COLUMNS(X)
#undef X
} StoreEvaluation;

typedef struct StoreLayer {
  int64_t iteration;
  char network[16];
  double layer;           /* index, an integer */
#define X(name, unit, comment) double name;
  STORE_LAYER_COLUMNS(X)
#undef X
} StoreLayer;

typedef struct StoreMetric {
  int64_t iteration;      /* iteration of the row of stats that it belongs to, or a comparable counter */
  char name[128];         /* name given by the program or plug-in */
#define X(name, unit, comment) double name;
  STORE_METRIC_NUMBERS(X)
#undef X
} StoreMetric;

/* Make records with NaN in all columns. level_set is truncated to 63 bytes. */
StoreIteration store_iteration_unmeasured(int64_t iteration);
StoreLayer store_layer_unmeasured(int64_t iteration, const char *network, int layer);
StoreEvaluation store_evaluation_unmeasured(int64_t iteration, const char *level_set);

/* Sets noise_scale_* to grad_variance_* / grad_square_*; NaN where the square is not positive. */
void store_iteration_set_noise_scale(StoreIteration *row);

/* Buffered writer; a line costs microseconds. store_runlog_flush writes the buffer, and syncs it if `durable`. If a
 * write fails (full disk), the flush returns CORE_FAIL; the lines stay in memory (up to 64 MiB) and the next flush
 * retries, so that training can continue. */
typedef struct StoreRunlog StoreRunlog;
int store_runlog_open(const char *root, const char *id, int attempt, StoreLogKind kind, StoreRunlog **log);
void store_runlog_iteration(StoreRunlog *log, const StoreIteration *row);
void store_runlog_evaluation(StoreRunlog *log, const StoreEvaluation *row);
void store_runlog_layer(StoreRunlog *log, const StoreLayer *row);
/* Writes a metric. Control characters in the name become '_', as do non-ASCII bytes if it is not UTF-8. Ignores a
 * metric with an empty name. */
void store_runlog_metric(StoreRunlog *log, const StoreMetric *row);
int store_runlog_flush(StoreRunlog *log, bool durable);
int store_runlog_close(StoreRunlog **log); /* flushes durably */

/* Reads a log for the importer and tests: calls `row` with each complete, undamaged line from byte `offset` on (0, or
 * an earlier *end). *end is the offset after the last complete line. Counts damaged lines and keeps the number of the
 * first. Leaves a last line without newline for the next call. Exactly one of the callback's records is not NULL; it is
 * valid during the call. A nonzero result of `row` stops with that code, and *end is then the end of that line.
 * CORE_FAIL: the file cannot be read, or is shorter than `offset`. */
typedef struct StoreLogDamage { int64_t lines, first_line; } StoreLogDamage;
typedef int (*StoreLogRow)(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                           const StoreLayer *layer, const StoreMetric *metric);
int store_runlog_read(const char *path, int64_t offset, StoreLogRow row, void *context, int64_t *end,
                      StoreLogDamage *damage);

#endif
