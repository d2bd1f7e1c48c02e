/* A few dozen entries, looked through one by one (cache.h). */
#include "sweep/serve/cache.h"

#include <stdlib.h>
#include <string.h>

static void drop(ServeCache *cache, ServeCacheEntry *entry) {
  cache->bytes -= entry->body.length;
  free(entry->key);
  core_text_free(&entry->body);
  *entry = (ServeCacheEntry){0};
}

bool serve_cache_find(ServeCache *cache, const char *key, int64_t version, CoreText *body) {
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++) {
    ServeCacheEntry *entry = &cache->entry[i];
    if (!entry->key || entry->version != version || strcmp(entry->key, key) != 0) continue;
    entry->used = ++cache->uses;
    core_text_append_bytes(body, core_text_string(&entry->body), entry->body.length);
    return true;
  }
  return false;
}

/* The entry of this key, else a free one, else the one used least lately. */
static ServeCacheEntry *choose(ServeCache *cache, const char *key) {
  ServeCacheEntry *chosen = &cache->entry[0];
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++) {
    ServeCacheEntry *entry = &cache->entry[i];
    if (entry->key && strcmp(entry->key, key) == 0) return entry;
    if (entry->used < chosen->used) chosen = entry;
  }
  return chosen;
}

void serve_cache_keep(ServeCache *cache, const char *key, int64_t version, const CoreText *body) {
  if (body->length > SERVE_CACHE_BYTES) return;
  ServeCacheEntry *entry = choose(cache, key);
  drop(cache, entry);
  while (cache->bytes + body->length > SERVE_CACHE_BYTES) {
    ServeCacheEntry *oldest = NULL;
    for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++)
      if (cache->entry[i].key && (!oldest || cache->entry[i].used < oldest->used)) oldest = &cache->entry[i];
    drop(cache, oldest);
  }
  *entry = (ServeCacheEntry){.key = core_text_duplicate(key), .version = version, .used = ++cache->uses};
  core_text_append_bytes(&entry->body, core_text_string(body), body->length);
  cache->bytes += body->length;
}

void serve_cache_free(ServeCache *cache) {
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++) drop(cache, &cache->entry[i]);
}
