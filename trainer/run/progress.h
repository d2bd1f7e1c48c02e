/* Progress of a run on stderr: one line, redrawn on a terminal, printed every ten seconds elsewhere. */
#ifndef TRAINER_PROGRESS_H
#define TRAINER_PROGRESS_H
#include "core/terminal.h"
#include "trainer/run/training.h"

typedef struct Progress {
  CoreLive live;
  bool quiet;                /* prints nothing at all */
  double started_s, drawn_s; /* core_clock_s */
  int64_t started_iteration; /* iterations that earlier attempts had done */
} Progress;

Progress progress_start(bool quiet, int64_t finished_iterations);
/* Draws the line after an iteration; `final` leaves it on the screen. */
void progress_draw(Progress *progress, const Training *training, const StoreIteration *row, bool final);
/* Prints a message on a separate line of stderr, and logs it. */
void progress_message(Progress *progress, const char *format, ...) CORE_PRINTF(2, 3);
/* Prints what may be wrong with the environment (env_append_warnings), as warnings; NULL: to the log only. */
void progress_env_warnings(Progress *progress, const CoreConfig *config);

/* Formats what scale.scheme resolves to, "more_minibatches, factor 4: env.num 8192, ...", into an empty text. */
const char *progress_scaling(const CoreConfig *config, CoreText *text);

/* Prints the sizes that a configuration resolves to (`--dry-run`), to stdout. */
void progress_print_plan(const CoreConfig *config, const TrainingPlan *plan);
void progress_print_plan_json(const CoreConfig *config, const TrainingPlan *plan);

#endif
