/* A few dozen entries, searched one by one. */
#include "sweep/serve/cache.h"

#include <stdlib.h>
#include <string.h>

static void clear_entry(ServeCache *cache, ServeCacheEntry *entry) {
  cache->bytes -= entry->body.length;
  free(entry->key);
  core_text_free(&entry->body);
  *entry = (ServeCacheEntry){0};
}

bool serve_cache_find(ServeCache *cache, const char *key, int64_t version, CoreText *body) {
  bool is_found = false;
  pthread_mutex_lock(&cache->lock);
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES && !is_found; i++) {
    ServeCacheEntry *entry = &cache->entry[i];
    if (!entry->key || entry->version != version || strcmp(entry->key, key) != 0) continue;
    entry->used = ++cache->uses;
    core_text_append_bytes(body, core_text_string(&entry->body), entry->body.length);
    is_found = true;
  }
  pthread_mutex_unlock(&cache->lock);
  return is_found;
}

/* Selects the entry of the key, or a free one, or the least recently used one. */
static ServeCacheEntry *select_entry(ServeCache *cache, const char *key) {
  ServeCacheEntry *selected = &cache->entry[0];
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++) {
    ServeCacheEntry *entry = &cache->entry[i];
    if (entry->key && strcmp(entry->key, key) == 0) return entry;
    if (entry->used < selected->used) selected = entry;
  }
  return selected;
}

void serve_cache_put(ServeCache *cache, const char *key, int64_t version, const CoreText *body) {
  if (body->length > SERVE_CACHE_BYTES) return;
  pthread_mutex_lock(&cache->lock);
  ServeCacheEntry *entry = select_entry(cache, key);
  clear_entry(cache, entry);
  while (cache->bytes + body->length > SERVE_CACHE_BYTES) {
    ServeCacheEntry *oldest = NULL;
    for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++)
      if (cache->entry[i].key && (!oldest || cache->entry[i].used < oldest->used)) oldest = &cache->entry[i];
    clear_entry(cache, oldest);
  }
  *entry = (ServeCacheEntry){.key = core_text_duplicate(key), .version = version, .used = ++cache->uses};
  core_text_append_bytes(&entry->body, core_text_string(body), body->length);
  cache->bytes += body->length;
  pthread_mutex_unlock(&cache->lock);
}

void serve_cache_free(ServeCache *cache) {
  for (size_t i = 0; i < SERVE_CACHE_ENTRIES; i++) clear_entry(cache, &cache->entry[i]);
  pthread_mutex_destroy(&cache->lock);
}
