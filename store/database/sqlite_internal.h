/* SQLite, for what is compiled twice: into our programs, which call the library that they are linked with, and into the
 * loadable extension (extension.c, STORE_AS_EXTENSION), which calls the one that has loaded it, through a table of
 * functions. SQLITE_CORE is that header's own word for the first. */
#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#if !defined(STORE_AS_EXTENSION) && !defined(SQLITE_CORE)
#define SQLITE_CORE 1
#endif
#include <sqlite3ext.h>
#ifdef STORE_AS_EXTENSION
SQLITE_EXTENSION_INIT3
#endif

#endif
