/* Optimization steps shared by the learners: learning-rate schedule, clipped optimizer step, gradient statistics,
 * checkpoint sections, and diagnosis of values that are not finite. */
#ifndef TRAINER_LEARNERS_OPTIM_H
#define TRAINER_LEARNERS_OPTIM_H
#include "trainer/learners/learner.h"
#include "trainer/update/optimizer.h"

/* Returns the learning rate of an iteration (from 1): constant, or linear (docs/algorithms.md#optimizers) or by half a
 * cosine (SGDR) to 0 over the budget. It first rises linearly over the share `warmup` of the budget's iterations, and
 * the schedule covers the others: PyTorch's LinearLR followed by the schedule. */
double optim_lr(const CoreConfig *config, const char *schedule, double lr, double warmup, int64_t iteration);

/* Returns an Adam optimizer with the clipping settings of ppo.*. The caller registers its moments. */
Optimizer optim_create(const CoreConfig *config);
/* Resets the optimizer: zero steps, zero moments. */
void optim_reset(CoreDevice *device, Optimizer *optimizer, size_t n);

/* Computes the norm of a network's gradient. CORE_FAIL names the element that is not finite. */
int optim_gradient_norm(Ops *ops, const AgentNetwork *network, const float *gradient, double *norm);
/* Steps one network. The gradient is clipped by `clip_norm`: its own norm, or that of all parameters of a joint loss.
 * Adds to the statistics, which optim_average_stats() later turns into means. */
void optim_step(const UpdateContext *context, const AgentNetwork *network, Optimizer *optimizer, const float *gradient,
                double lr, double norm, double clip_norm, GradientStats *gradients);
/* Steps both networks of an agent. With a joint loss (net.sharing) the gradients are clipped together. */
int optim_step_both(const UpdateContext *context, const Agent *agent, const AgentGradient *gradient, Optimizer *actor,
                    Optimizer *critic, double lr, UpdateStats *stats);
/* Sums over all ranks what each rank summed over its rows. Gradient statistics are already the same on all ranks. */
void optim_reduce_stats(UpdateStats *stats);
/* Turns sums over `steps` minibatches into means, including losses, entropy and fractions. Sets unmeasured statistics
 * to NaN. */
void optim_average_stats(UpdateStats *stats, double steps, bool measured);

/* Counts the rows whose policy gradient is zero because the ratio exp(logp - ref_logp) is clipped. */
double optim_count_zero_grad(Ops *ops, const float *logp, const float *ref_logp, const float *advantages, int rows,
                             double epsilon);

/* Adds the sections of a network's weights and moments: "actor", "actor m", "actor v". */
void optim_add_sections(Checkpoint *checkpoint, const AgentNetwork *network, Optimizer *optimizer);

/* Returns `code`, the result of a check of the policy's outputs. If it is an error and an observation is not finite,
 * the message names this observation instead, since it is the cause. */
int optim_blame_observations(Ops *ops, const Rollout *rollout, int code);
/* Returns CORE_FAIL naming the first element of x [rows][columns] that is NaN or infinite, else CORE_OK. */
int optim_check_matrix(Ops *ops, const char *what, const float *x, size_t rows, size_t columns);
/* Checks a vector of a network's parameters in the same way: "gradient of actor.W1[3,17] is nan". */
int optim_check_parameters(Ops *ops, const AgentNetwork *network, const char *what, const float *x);
/* Diagnoses a loss that is not finite: returns CORE_FAIL naming a weight that is not finite, else an output of the last
 * pass that is not, else the largest output, whose loss overflowed. */
int optim_diagnose_loss(Ops *ops, const AgentNetwork *network, size_t rows, const char *loss_name, double loss);

#endif
