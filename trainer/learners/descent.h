/* Shared by learners that descend a gradient of the agent's networks: learning rate, clipped step, statistics of
 * gradients, checkpoint sections, and messages about values that are not finite. */
#ifndef TRAINER_LEARNERS_DESCENT_H
#define TRAINER_LEARNERS_DESCENT_H
#include "trainer/learners/learner.h"
#include "trainer/update/optimizer.h"

/* The step size of an iteration (from 1): constant, or linear to 0 over the budget (spec ppo.md 1.6). */
double descent_rate(const CoreConfig *config, const char *schedule, double rate, int64_t iteration);

/* Adam and clipping by the settings of ppo.*; moments are the caller's to register. */
Optimizer descent_optimizer(const CoreConfig *config);
/* No steps done, moments 0. */
void descent_restart(CoreDevice *device, Optimizer *optimizer, size_t n);

/* The norm of a network's gradient. CORE_FAIL naming the element that is not finite. */
int descent_norm(Ops *ops, const AgentNetwork *network, const float *gradient, double *norm);
/* One step on one network, its gradient clipped by `clip_norm`: its own norm, or that of all parameters of a common
 * loss. Adds to the statistics; descent_average makes means of them. */
void descent_step(const LearnerStep *step, const AgentNetwork *network, Optimizer *optimizer, const float *gradient,
                  double rate, double norm, double clip_norm, LearnerGradients *gradients);
/* A step on both networks of an agent: with a common loss the gradients are clipped together (net.sharing). */
int descent_step_both(const LearnerStep *step, const Agent *agent, const AgentGradient *gradient, Optimizer *actor,
                      Optimizer *critic, double rate, LearnerUpdate *update);
/* What each rank summed over its rows, over all ranks; gradients are the same at all of them already. */
void descent_reduce(LearnerUpdate *update);
/* Sums over `steps` minibatches to means, also of update's losses, entropy and fractions; what was not
 * measured to NaN. */
void descent_average(LearnerUpdate *update, double steps, bool measured);

/* The number of rows that the clip leaves without gradient, by their ratio exp(logp - around). */
double descent_count_silent(Ops *ops, const float *logp, const float *around, const float *advantages, int rows,
                            double epsilon);

/* The network's weights and moments: "actor", "actor m", "actor v". */
void descent_add_sections(Checkpoint *checkpoint, const AgentNetwork *network, Optimizer *optimizer);

/* CORE_FAIL naming the first element of x [rows][columns] that is NaN or infinite, or CORE_OK. */
int descent_check_matrix(Ops *ops, const char *what, const float *x, size_t rows, size_t columns);
/* The same for a vector of a network's parameters: "gradient of actor.W1[3,17] is nan". */
int descent_check_parameters(Ops *ops, const AgentNetwork *network, const char *what, const float *x);
/* CORE_FAIL for a loss that is not finite: its cause is a weight, else an output (of the pass that was last), else an
 * output so large that the loss overflows. */
int descent_explain_loss(Ops *ops, const AgentNetwork *network, size_t rows, const char *loss_name, double loss);

#endif
