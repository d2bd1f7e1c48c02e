/* Going on from another run's checkpoint with other settings (init.from; spec ppo.md 5). Called once, when a run has no
 * checkpoint of its own; it reads the parent's folder and never writes there. */
#ifndef TRAINER_INHERIT_H
#define TRAINER_INHERIT_H
#include "trainer/run/training.h"

enum { INHERIT_PARENT = 48 };

/* Overwrites the sections of what training_start has made, after training_before_save; training_after_load makes it a
 * state to go on from. First rank only. `sections`: of the run that starts, by training_add_sections.
 *   init.restore = all      everything: weights, Adam's moments, proximal weights (the weights, where the parent had
 *                           none), worlds, iteration; the run goes on counting where its parent was
 *   init.restore = weights  the networks, the statistics that normalise their inputs and the units of the critic's
 *                           values (ppo.normalize_value); all else starts afresh, from iteration 0
 * parent: "<id>@<iteration>". CORE_USAGE: no such checkpoint, other shapes, or a budget that is used up. CORE_FAIL: a
 * damaged file. Training is undefined then. */
int inherit_restore(Training *training, const Checkpoint *sections, const char *root, char parent[INHERIT_PARENT]);

/* Would inherit_restore find the parent, with networks like these? For a training that is planned, not allocated.
 * CORE_OK without init.from, and where the parent is a run that has not got so far yet: that is for whoever starts runs
 * to know. */
int inherit_check(const Training *training, const char *root);

#endif
