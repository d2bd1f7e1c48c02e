/* Files of a run's folder, opened as if a stranger had prepared the folder. Names are ours: no text of a request gets
 * here but a run's id, which is known to be one. */
#ifndef SWEEP_SERVE_FILE_H
#define SWEEP_SERVE_FILE_H
#include <sys/types.h>

#include "core/error.h"

/* Opens `name` of run `id` for reading. No folder below runs/, and not the file itself, may be a link; the file must be
 * a plain one. 3 (SERVE_ABSENT): there is none. CORE_FAIL: it is something else, and not read. */
int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size);

#endif
