/* A hash table per metric (series_cache.h). Run ids are hashes, so their digits are. */
#include "sweep/serve/series_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

static void copy_curve(const AnalysisCurve *from, AnalysisCurve *to) {
  *to = (AnalysisCurve){.n = from->n};
  if (from->n == 0) return;
  to->x = core_memory_allocate(from->n * sizeof *to->x);
  to->y = core_memory_allocate(from->n * sizeof *to->y);
  memcpy(to->x, from->x, from->n * sizeof *to->x);
  memcpy(to->y, from->y, from->n * sizeof *to->y);
}

static void clear_metric(ServeSeriesCache *cache, ServeSeriesCacheMetric *metric) {
  for (size_t i = 0; i < metric->capacity; i++) {
    cache->points -= metric->entries[i].curve.n;
    analysis_curve_free(&metric->entries[i].curve);
  }
  free(metric->entries);
  free(metric->name);
  *metric = (ServeSeriesCacheMetric){0};
}

/* The curves of a metric; the one that was used least recently makes room for a new one. Under the lock. */
static ServeSeriesCacheMetric *select_metric(ServeSeriesCache *cache, const char *name) {
  ServeSeriesCacheMetric *oldest = &cache->metrics[0];
  for (size_t i = 0; i < SERVE_SERIES_CACHE_METRICS; i++) {
    ServeSeriesCacheMetric *metric = &cache->metrics[i];
    if (metric->used < oldest->used) oldest = metric;
    if (!metric->name || strcmp(metric->name, name) != 0) continue;
    metric->used = ++cache->uses;
    return metric;
  }
  clear_metric(cache, oldest);
  oldest->name = core_text_duplicate(name);
  oldest->used = ++cache->uses;
  return oldest;
}

/* The entry of a run, or the free one where it belongs; NULL: the table is empty. */
static ServeSeriesCacheEntry *find_entry(const ServeSeriesCacheMetric *metric, uint64_t run) {
  if (metric->capacity == 0) return NULL;
  size_t i = run & (metric->capacity - 1);
  while (metric->entries[i].version != 0 && metric->entries[i].run != run) i = (i + 1) & (metric->capacity - 1);
  return &metric->entries[i];
}

static uint64_t run_number(const char *run) { return strtoull(run, NULL, 16); }

bool serve_series_cache_find(ServeSeriesCache *cache, const char *metric, const char *run, uint64_t version,
                             AnalysisCurve *curve) {
  pthread_mutex_lock(&cache->lock);
  const ServeSeriesCacheEntry *entry = find_entry(select_metric(cache, metric), run_number(run));
  const bool is_found = entry && version != 0 && entry->version == version;
  if (is_found) copy_curve(&entry->curve, curve);
  pthread_mutex_unlock(&cache->lock);
  return is_found;
}

static void grow(ServeSeriesCacheMetric *metric) {
  const ServeSeriesCacheMetric before = *metric;
  metric->capacity = before.capacity ? 2 * before.capacity : 64;
  metric->entries = core_memory_zero_allocate(metric->capacity, sizeof *metric->entries);
  for (size_t i = 0; i < before.capacity; i++)
    if (before.entries[i].version != 0) *find_entry(metric, before.entries[i].run) = before.entries[i];
  free(before.entries);
}

/* Frees the curves of the other metric that was used least recently. false: there is none. */
static bool make_room(ServeSeriesCache *cache, const ServeSeriesCacheMetric *metric) {
  ServeSeriesCacheMetric *oldest = NULL;
  for (size_t i = 0; i < SERVE_SERIES_CACHE_METRICS; i++) {
    ServeSeriesCacheMetric *other = &cache->metrics[i];
    if (other != metric && other->count > 0 && (!oldest || other->used < oldest->used)) oldest = other;
  }
  if (oldest) clear_metric(cache, oldest);
  return oldest != NULL;
}

/* Under the lock. */
static void keep(ServeSeriesCache *cache, ServeSeriesCacheMetric *metric, const char *run, uint64_t version,
                 const AnalysisCurve *curve) {
  bool has_room = version != 0;
  while (has_room && cache->points + curve->n > SERVE_SERIES_CACHE_POINTS) has_room = make_room(cache, metric);
  if (!has_room) return;
  if (2 * (metric->count + 1) > metric->capacity) grow(metric);
  ServeSeriesCacheEntry *entry = find_entry(metric, run_number(run));
  if (entry->version == 0) metric->count++;
  cache->points -= entry->curve.n;
  analysis_curve_free(&entry->curve);
  *entry = (ServeSeriesCacheEntry){.run = run_number(run), .version = version};
  copy_curve(curve, &entry->curve);
  cache->points += curve->n;
}

void serve_series_cache_keep(ServeSeriesCache *cache, const char *metric, const char *run, uint64_t version,
                             const AnalysisCurve *curve) {
  pthread_mutex_lock(&cache->lock);
  keep(cache, select_metric(cache, metric), run, version, curve);
  pthread_mutex_unlock(&cache->lock);
}

void serve_series_cache_free(ServeSeriesCache *cache) {
  for (size_t i = 0; i < SERVE_SERIES_CACHE_METRICS; i++) clear_metric(cache, &cache->metrics[i]);
  pthread_mutex_destroy(&cache->lock);
}
