/* Files of a run's directory, opened as if a stranger had prepared the directory. Names are constants of this program;
 * of a request only a valid run id gets here. */
#ifndef SWEEP_SERVE_FILE_H
#define SWEEP_SERVE_FILE_H
#include <sys/types.h>

#include "core/error.h"

/* Opens `name` of run `id` for reading. The file must be regular; neither it nor a directory below runs/ may be a link.
 * SERVE_NOT_FOUND: it does not exist. CORE_FAIL: it is something else, and was not read. */
int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size);

#endif
