/* Bodies of answers, so that many who ask the same have it made once. Of one thread. */
#ifndef SWEEP_SERVE_CACHE_H
#define SWEEP_SERVE_CACHE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

enum { SERVE_CACHE_ENTRIES = 64, SERVE_CACHE_BYTES = 48 << 20 };

typedef struct ServeCacheEntry {
  char *key;                  /* NULL: free */
  int64_t version;            /* of what it was made of */
  int64_t used;               /* the larger, the later */
  CoreText body;
} ServeCacheEntry;

/* Zero-initialise. */
typedef struct ServeCache {
  ServeCacheEntry entry[SERVE_CACHE_ENTRIES];
  int64_t uses;
  size_t bytes;
} ServeCache;

/* Appends the body made for `key` of this version; false: there is none. */
bool serve_cache_find(ServeCache *cache, const char *key, int64_t version, CoreText *body);
/* Keeps a copy, in the place of what was used least lately where room is short. */
void serve_cache_keep(ServeCache *cache, const char *key, int64_t version, const CoreText *body);
void serve_cache_free(ServeCache *cache);

#endif
