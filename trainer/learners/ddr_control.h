/* Controls the data-to-divergence ratio (DDR; docs/experiments.md#ddr-target): after each iteration one setting moves
 * so that the DDR approaches its target.
 *
 *   PPO-EWMA  COM     <- COM     (target / DDR)^gain
 *   PPO       epsilon <- epsilon (DDR / target)^(gain / 2)
 *
 * DDR is roughly proportional to COM and to 1 / epsilon^2, so both rules close the same share of the gap. */
#ifndef TRAINER_DDR_CONTROL_H
#define TRAINER_DDR_CONTROL_H
#include <stdbool.h>

#include "core/config/config.h"

/* Checkpoint section that holds `value`. */
#define DDR_CONTROL_SECTION "ddr control"

typedef enum DdrControlKind { DDR_CONTROL_NONE, DDR_CONTROL_COM, DDR_CONTROL_EPSILON } DdrControlKind;

typedef struct DdrControl {
  const CoreConfig *config;
  DdrControlKind kind;
  double value;        /* COM or epsilon of the next update: the whole state, saved in checkpoints */
} DdrControl;

/* Returns which setting is controlled. */
DdrControlKind ddr_control_kind(const CoreConfig *config);
/* Reads ppo.ddr_target and its companions; config must outlive the control. CORE_USAGE: settings that exclude each
 * other. */
int ddr_control_create(const CoreConfig *config, DdrControl *control);
static inline bool ddr_control_is_on(const DdrControl *control) { return control->kind != DDR_CONTROL_NONE; }
/* Resets the value to ppo.com or ppo.epsilon, clamped to its limits. */
void ddr_control_start(DdrControl *control);
/* Clamps a value restored from another run to this run's limits. */
void ddr_control_bound(DdrControl *control);
/* Returns the target after `transitions` transitions: ppo.ddr_target, scaled by ppo.ddr_schedule. */
double ddr_control_target(const CoreConfig *config, double transitions);
/* Updates the value for the next iteration from this iteration's DDR. A target / DDR beyond 10 or 1/10 is clamped; a
 * DDR that is NaN or 0 changes nothing. */
void ddr_control_update(DdrControl *control, double transitions, double ddr);
/* Return the value in use: the controlled one, or the setting. */
double ddr_control_com(const DdrControl *control);
double ddr_control_epsilon(const DdrControl *control);

#endif
