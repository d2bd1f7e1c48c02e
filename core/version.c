/* What this build is. The Makefile gives both macros to this file alone: a new commit recompiles nothing else. */
#include "core/options.h"

#if !defined(CORE_VERSION)
#define CORE_VERSION "unknown"
#endif
#if !defined(CORE_COMMIT)
#define CORE_COMMIT "unknown"
#endif

const char *core_version(void) { return CORE_VERSION; }

const char *core_commit(void) { return CORE_COMMIT; }
