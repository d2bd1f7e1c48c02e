/* Writing the two observations that keep entities apart (observe_layout.h). As with the flat one, what is constant on a
 * level is written once into a template; what moves is put into a copy of it. */
#ifndef SIM_OBSERVE_ENTITY_H
#define SIM_OBSERVE_ENTITY_H
#include "sim/model.h"
#include "sim/observe_layout.h"

/* Fills `row` (layout length) with everything that is constant on the level. */
void sim_observe_entity_template(const SimLevel *level, float *row);
void sim_observe_padded_template(const SimLevel *level, float *row);

/* The world's row. For entity observations the model must list all pairs (sim_model_list_all_pairs). */
void sim_observe_entity(const SimModel *model, const SimWorld *world, const float *template_row, float *row);
void sim_observe_padded(const SimModel *model, const SimWorld *world, const float *template_row, float *row);

#endif
