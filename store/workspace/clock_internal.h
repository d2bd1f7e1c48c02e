/* The clock by which the ages of files are judged. */
#ifndef STORE_CLOCK_INTERNAL_H
#define STORE_CLOCK_INTERNAL_H

/* The time, in seconds since 1970, that files made in `folder` now are stamped with: on a shared filesystem mostly its
 * server's clock, whatever this machine's says. A file's st_mtim subtracted from it is the file's age, also where a
 * machine's clock is wrong. Costs one temporary file a minute; where none can be made (a workspace that one may only
 * read) it is this machine's clock. */
double store_clock_unix_s(const char *folder);

#endif
