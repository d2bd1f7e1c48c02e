/* Version of this build. Only this file gets the Makefile's macros, so that a new commit recompiles nothing else. */
#include "core/version.h"

#if !defined(CORE_VERSION)
#define CORE_VERSION "unknown"
#endif
#if !defined(CORE_COMMIT)
#define CORE_COMMIT "unknown"
#endif
#if !defined(CORE_DATE)
#define CORE_DATE "unknown"
#endif
#if !defined(CORE_FEATURES)
#define CORE_FEATURES "unknown"
#endif

const char *core_version(void) { return CORE_VERSION; }

const char *core_commit(void) { return CORE_COMMIT; }

const char *core_date(void) { return CORE_DATE; }

const char *core_features(void) { return CORE_FEATURES; }
