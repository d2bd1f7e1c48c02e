/* SimModel for the host (model_build.h). */
#include "sim/physics/model.h"

#include "sim/physics/model_build.h"

void sim_model_build(const SimLevel *level, bool pad_writes_zero, SimModel *model) {
  sim_model_make(level, (SimPairRules){.pad_writes_zero = pad_writes_zero}, model);
}
