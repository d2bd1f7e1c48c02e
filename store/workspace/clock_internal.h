/* Clock for the ages of files. */
#ifndef STORE_CLOCK_INTERNAL_H
#define STORE_CLOCK_INTERNAL_H

/* Returns the time, in seconds since 1970, with which files created in `directory` are stamped now: on a shared file
 * system usually its server's clock. Its difference to st_mtim is a file's age, even if this machine's clock is wrong.
 * Creates one temporary file per minute; in a read-only workspace it is this machine's clock. */
double store_clock_unix_s(const char *directory);

#endif
