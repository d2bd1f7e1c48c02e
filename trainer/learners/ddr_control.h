/* Holds the data-to-divergence ratio (DDR, spec metrics.md) of iterations near a target, by one factor an iteration:
 *
 *   PPO-EWMA  COM     <- COM     (target / DDR)^gain
 *   PPO       epsilon <- epsilon (DDR / target)^(gain / 2)
 *
 * DDR goes about as COM and as 1 / epsilon^2, so both close the same share of the gap. */
#ifndef TRAINER_DDR_CONTROL_H
#define TRAINER_DDR_CONTROL_H
#include <stdbool.h>

#include "core/config/config.h"

/* Of a checkpoint: `value`. */
#define DDR_CONTROL_SECTION "ddr control"

typedef enum DdrControlKind { DDR_CONTROL_NONE, DDR_CONTROL_COM, DDR_CONTROL_EPSILON } DdrControlKind;

typedef struct DdrControl {
  const CoreConfig *config;
  DdrControlKind kind;
  double value;        /* COM or epsilon of the next update; it is all of the state, and a checkpoint's */
} DdrControl;

/* What moves. */
DdrControlKind ddr_control_kind(const CoreConfig *config);
/* ppo.ddr_target and what belongs to it; config must outlive it. CORE_USAGE: settings that can not be together. */
int ddr_control_create(const CoreConfig *config, DdrControl *control);
static inline bool ddr_control_is_on(const DdrControl *control) { return control->kind != DDR_CONTROL_NONE; }
/* ppo.com or ppo.epsilon again, or the limit next to it. */
void ddr_control_start(DdrControl *control);
/* A value that another run has left: within this one's limits. */
void ddr_control_bound(DdrControl *control);
/* The target after so many transitions: ppo.ddr_target, or what ppo.ddr_schedule makes of it. */
double ddr_control_target(const CoreConfig *config, double transitions);
/* After an iteration, whose DDR is given: the value of the next one. A ratio to the target beyond 10 counts as 10;
 * a DDR that is NaN or 0 changes nothing. */
void ddr_control_follow(DdrControl *control, double transitions, double ddr);
/* In use: as controlled, or as configured. */
double ddr_control_com(const DdrControl *control);
double ddr_control_epsilon(const DdrControl *control);

#endif
