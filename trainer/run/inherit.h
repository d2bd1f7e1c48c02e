/* Starting from another run's checkpoint with other settings (docs/experiments.md#initfrom). Called once, when a run
 * has no checkpoint of its own; reads the parent's directory and never writes there. */
#ifndef TRAINER_INHERIT_H
#define TRAINER_INHERIT_H
#include "trainer/run/training.h"

enum { INHERIT_PARENT = 48 };

/* Overwrites the sections made by training_start, after training_before_save; training_after_load completes the
 * restored state. First rank only. `sections`: of the starting run, by training_add_sections.
 *   init.restore = all      everything: weights, Adam's moments, proximal weights (the weights, if the parent has
 *                           none), worlds, iteration; the run continues the parent's count
 *   init.restore = weights  the networks, the statistics that normalize their inputs and the units of the critic's
 *                           values (ppo.normalize_value); all else starts afresh, from iteration 0
 * parent: "<id>@<iteration>". CORE_USAGE: no such checkpoint, other shapes, or an exhausted budget. CORE_FAIL: a
 * damaged file. Training is undefined then. */
int inherit_restore(Training *training, const Checkpoint *sections, const char *root, char parent[INHERIT_PARENT]);

/* Checks that inherit_restore would find the parent, with networks like these, for a planned training. CORE_OK without
 * init.from, and where the parent is a run that has not reached the checkpoint yet: that is the launcher's concern. */
int inherit_check(const Training *training, const char *root);

#endif
