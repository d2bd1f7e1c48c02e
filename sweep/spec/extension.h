/* sweeps/<name>/extended: the seeds that `sweep extend` has added to a sweep. They count whenever the sweep is planned
 * or submitted again, from its own file too, until this one is removed.
 *
 *   ; Seeds that sweep extend has added. ...
 *   seeds = 3..9, 20..20 */
#ifndef SWEEP_EXTENSION_H
#define SWEEP_EXTENSION_H
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/text.h"

/* Puts those of `more` that are not among *seeds behind them, in their order; *added of them. */
void sweep_extension_join(int64_t **seeds, size_t *count, const int64_t *more, size_t more_count, size_t *added);

/* The recorded seeds: malloc'd, none when there is no file. CORE_USAGE: it can not be understood. */
int sweep_extension_read(const char *root, const char *name, int64_t **seeds, size_t *count);
/* Adds to the record, under the sweep's lock; none: does nothing. */
int sweep_extension_add(const char *root, const char *name, const int64_t *seeds, size_t count);

/* "0..4, 7..7": what seeds = may say, a lone number being a count. Appends. */
void sweep_extension_print(const int64_t *seeds, size_t count, CoreText *text);

#endif
