/* Origin of a run's initial weights (init.from): "run:<id>", "run:<id>@<iteration>", or the path of a checkpoint. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H
#include "core/config/config.h"

typedef struct CoreOrigin {
  bool is_run;             /* whether the origin is a run; else it is the path of a file */
  char run[CORE_RUN_ID];
  int64_t iteration;       /* -1: the newest checkpoint */
} CoreOrigin;

/* Parses init.from. CORE_USAGE: it starts with "run:", but is not of the form above. */
int core_origin_parse(const char *text, CoreOrigin *origin);

#endif
