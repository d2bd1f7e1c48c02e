/* Where a run's first weights come from (init.from): "run:<id>", "run:<id>@<iteration>", or the path of a
 * checkpoint. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H
#include "core/config/config.h"

typedef struct CoreOrigin {
  bool is_run;             /* else `text` is a path */
  char run[CORE_RUN_ID];
  int64_t iteration;       /* -1: the newest that there is */
} CoreOrigin;

/* CORE_USAGE: begins with "run:" and is none. */
int core_origin_parse(const char *text, CoreOrigin *origin);

#endif
