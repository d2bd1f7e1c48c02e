/* Bodies of responses, so that clients with the same request share one. For any number of threads. */
#ifndef SWEEP_SERVE_CACHE_H
#define SWEEP_SERVE_CACHE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

enum { SERVE_CACHE_ENTRIES = 64, SERVE_CACHE_BYTES = 48 << 20 };

typedef struct ServeCacheEntry {
  char *key;                  /* NULL: free */
  int64_t version;            /* version of the data that the body was made from */
  int64_t used;               /* larger: used later */
  CoreText body;
} ServeCacheEntry;

/* Initialize with SERVE_CACHE_INITIALIZER. */
typedef struct ServeCache {
  pthread_mutex_t lock;       /* protects all below */
  ServeCacheEntry entry[SERVE_CACHE_ENTRIES];
  int64_t uses;
  size_t bytes;
} ServeCache;
#define SERVE_CACHE_INITIALIZER {.lock = PTHREAD_MUTEX_INITIALIZER}

/* Appends the body of `key` in this version. false: not cached. */
bool serve_cache_find(ServeCache *cache, const char *key, int64_t version, CoreText *body);
/* Stores a copy, if need be in place of the least recently used entries. */
void serve_cache_put(ServeCache *cache, const char *key, int64_t version, const CoreText *body);
void serve_cache_free(ServeCache *cache);

#endif
