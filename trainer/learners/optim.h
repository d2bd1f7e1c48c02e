/* Shared by learners that descend a gradient of the agent's networks: learning rate, clipped step, statistics of
 * gradients, checkpoint sections, and messages about values that are not finite. */
#ifndef TRAINER_LEARNERS_OPTIM_H
#define TRAINER_LEARNERS_OPTIM_H
#include "trainer/learners/learner.h"
#include "trainer/update/optimizer.h"

/* The step size of an iteration (from 1): constant, or linear to 0 over the budget (spec ppo.md 1.6). */
double optim_lr(const CoreConfig *config, const char *apply_schedule, double lr, int64_t iteration);

/* Adam and clipping by the settings of ppo.*; moments are the caller's to register. */
Optimizer optim_create(const CoreConfig *config);
/* No steps done, moments 0. */
void optim_reset(CoreDevice *device, Optimizer *optimizer, size_t n);

/* The norm of a network's gradient. CORE_FAIL naming the element that is not finite. */
int optim_gradient_norm(Ops *ops, const AgentNetwork *network, const float *gradient, double *norm);
/* One step on one network, its gradient clipped by `clip_norm`: its own norm, or that of all parameters of a common
 * loss. Adds to the statistics; optim_average_stats makes means of them. */
void optim_step(const UpdateContext *step, const AgentNetwork *network, Optimizer *optimizer, const float *gradient,
                  double lr, double norm, double clip_norm, GradientStats *gradients);
/* A step on both networks of an agent: with a common loss the gradients are clipped together (net.sharing). */
int optim_step_both(const UpdateContext *step, const Agent *agent, const AgentGradient *gradient, Optimizer *actor,
                      Optimizer *critic, double lr, UpdateStats *update);
/* What each rank summed over its rows, over all ranks; gradients are the same at all of them already. */
void optim_reduce_stats(UpdateStats *update);
/* Sums over `steps` minibatches to means, also of update's losses, entropy and fractions; what was not
 * measured to NaN. */
void optim_average_stats(UpdateStats *update, double steps, bool measured);

/* The number of rows that the clip leaves without gradient, by their ratio exp(logp - around). */
double optim_count_zero_grad(Ops *ops, const float *logp, const float *ref_logp, const float *advantages, int rows,
                            double epsilon);

/* The network's weights and moments: "actor", "actor m", "actor v". */
void optim_add_sections(Checkpoint *checkpoint, const AgentNetwork *network, Optimizer *optimizer);

/* CORE_FAIL naming the first element of x [rows][columns] that is NaN or infinite, or CORE_OK. */
int optim_check_matrix(Ops *ops, const char *what, const float *x, size_t rows, size_t columns);
/* The same for a vector of a network's parameters: "gradient of actor.W1[3,17] is nan". */
int optim_check_parameters(Ops *ops, const AgentNetwork *network, const char *what, const float *x);
/* CORE_FAIL for a loss that is not finite: its cause is a weight, else an output (of the pass that was last), else an
 * output so large that the loss overflows. */
int optim_diagnose_loss(Ops *ops, const AgentNetwork *network, size_t rows, const char *loss_name, double loss);

#endif
