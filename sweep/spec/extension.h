/* Seeds that `sweep submit --seeds` has added to a sweep: sweeps/<name>/extended. They apply whenever the sweep is
 * planned or submitted again, also from its experiment file, until this file is removed.
 *
 *   ; Seeds that sweep submit --seeds has added. ...
 *   seeds = 3..9, 20..20
 *   ; Those of them whose runs are not submitted yet.
 *   unfinished = 20..20
 *
 * The record is written before anything else of an extension, and the second line is removed when the runs are
 * submitted. A later sweep submit that finds it completes the interrupted extension. */
#ifndef SWEEP_EXTENSION_H
#define SWEEP_EXTENSION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/text.h"

/* Appends those of `more` that are not in *seeds, in their order. *added: their number. */
void sweep_extension_join(int64_t **seeds, size_t *count, const int64_t *more, size_t more_count, size_t *added);

typedef struct SweepExtension {
  int64_t *seeds, *unfinished; /* [count]; [unfinished_count] the subset whose runs are not submitted yet */
  size_t count, unfinished_count;
} SweepExtension;

/* Reads the record; an absent file is an empty one. CORE_USAGE: it is invalid. Caller frees. */
int sweep_extension_read(const char *root, const char *name, SweepExtension *extension);
void sweep_extension_free(SweepExtension *extension);
/* Adds seeds to the record as unfinished, under the sweep's lock. */
int sweep_extension_begin(const char *root, const char *name, const int64_t *seeds, size_t count);
/* Records that the runs of these seeds are submitted, under the sweep's lock. */
int sweep_extension_end(const char *root, const char *name, const int64_t *seeds, size_t count);
/* Whether one of these seeds belongs to an extension that was interrupted. */
bool sweep_extension_is_unfinished(const SweepExtension *extension, const int64_t *seeds, size_t count);

/* Appends "0..4, 7..7", a valid value of seeds. A single seed is a range, since a lone number would be a count. */
void sweep_extension_print(const int64_t *seeds, size_t count, CoreText *text);

#endif
