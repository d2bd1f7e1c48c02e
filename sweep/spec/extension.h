/* sweeps/<name>/extended: the seeds that `sweep extend` has added to a sweep. They count whenever the sweep is planned
 * or submitted again, from its own file too, until this one is removed.
 *
 *   ; Seeds that sweep extend has added. ...
 *   seeds = 3..9, 20..20
 *   ; Of them those whose runs are not submitted yet.
 *   unfinished = 20..20
 *
 * The record is written before anything else of an extension, and the second line is removed when the runs are
 * submitted: a sweep extend or sweep submit that finds it there completes what was interrupted. */
#ifndef SWEEP_EXTENSION_H
#define SWEEP_EXTENSION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/text.h"

/* Puts those of `more` that are not among *seeds behind them, in their order; *added of them. */
void sweep_extension_join(int64_t **seeds, size_t *count, const int64_t *more, size_t more_count, size_t *added);

typedef struct SweepExtension {
  int64_t *seeds, *unfinished; /* [count], [unfinished_count]; unfinished ones are among the seeds, too */
  size_t count, unfinished_count;
} SweepExtension;

/* Reads the record; an empty one when there is no file. CORE_USAGE: it cannot be understood. Free it. */
int sweep_extension_read(const char *root, const char *name, SweepExtension *extension);
void sweep_extension_free(SweepExtension *extension);
/* Adds to the recorded and to the unfinished seeds, under the sweep's lock; none: does nothing. */
int sweep_extension_begin(const char *root, const char *name, const int64_t *seeds, size_t count);
/* Records that the runs of these seeds are submitted, under the sweep's lock. */
int sweep_extension_end(const char *root, const char *name, const int64_t *seeds, size_t count);
/* Whether one of these seeds belongs to an extension that was interrupted. */
bool sweep_extension_is_unfinished(const SweepExtension *extension, const int64_t *seeds, size_t count);

/* "0..4, 7..7": what seeds = may say, a lone number being a count. Appends. */
void sweep_extension_print(const int64_t *seeds, size_t count, CoreText *text);

#endif
