/* Hashes settings of runs (table.h): those of each configuration once, since its seeds share them. */
#include "analysis/claims/table.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

/* FNV-1a, 64 bits. */
uint64_t analysis_table_hash_text(const char *text) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return hash;
}

static int by_configuration(const void *left, const void *right) {
  const AnalysisRun *a = *(const AnalysisRun *const *)left, *b = *(const AnalysisRun *const *)right;
  const uintptr_t x = (uintptr_t)a->config.shared, y = (uintptr_t)b->config.shared;
  return (x > y) - (x < y);
}

/* Hashes the settings of each configuration once, and the seed of each run. */
static void hash_configurations(AnalysisTable *table, const CoreConfigRow *rows) {
  const AnalysisSelection *selection = table->selection;
  const AnalysisRun **order = core_memory_allocate((selection->count + 1) * sizeof *order);
  CoreText text = {0};

  table->configuration = core_memory_allocate((selection->count + 1) * sizeof *table->configuration);
  table->seed_hash = core_memory_allocate((selection->count + 1) * sizeof *table->seed_hash);
  table->seed_row = (size_t)(core_config_find("train.seed") - rows);

  for (size_t r = 0; r < selection->count; r++) order[r] = &selection->runs[r];
  qsort(order, selection->count, sizeof *order, by_configuration);

  size_t count = 0;
  for (size_t i = 0; i < selection->count; i++) {
    const size_t r = (size_t)(order[i] - selection->runs);
    const AnalysisConfig *config = &order[i]->config;
    table->seed_hash[r] = analysis_table_hash_text(analysis_key_own_value(config, &rows[table->seed_row], &text));
    if (i == 0 || config->shared != order[i - 1]->config.shared) {
      const size_t bytes = (count + 1) * table->rows * sizeof *table->configuration_hash;
      table->configuration_hash = core_memory_resize(table->configuration_hash, bytes);
      for (size_t k = 0; k < table->rows; k++) {
        const char *value = analysis_key_own_value(config, &rows[k], &text);
        table->configuration_hash[count * table->rows + k] = analysis_table_hash_text(value);
      }
      count++;
    }
    table->configuration[r] = count - 1;
  }

  core_text_free(&text);
  free(order);
}

uint64_t analysis_table_hash(const AnalysisTable *table, size_t run, size_t row) {
  if (row == table->seed_row) return table->seed_hash[run];
  return table->configuration_hash[table->configuration[run] * table->rows + row];
}

AnalysisTable analysis_table_create(const AnalysisSelection *selection, const AnalysisRunMetrics *metrics,
                                    const AnalysisMembership *membership) {
  AnalysisTable table = {.selection = selection, .metrics = metrics, .membership = membership};
  const CoreConfigRow *rows = core_config_rows(&table.rows);
  const CoreConfig defaults = core_config_default();
  const AnalysisConfig unset = {&defaults, defaults.train.seed};
  CoreText text = {0};
  table.name = core_memory_allocate(2 * table.rows * sizeof *table.name);
  table.default_hash = table.name + table.rows;
  for (size_t i = 0; i < table.rows; i++) {
    table.name[i] = analysis_table_hash_text(rows[i].name);
    table.default_hash[i] = analysis_table_hash_text(analysis_key_own_value(&unset, &rows[i], &text));
  }
  core_text_free(&text);

  hash_configurations(&table, rows);
  return table;
}

void analysis_table_free(AnalysisTable *table) {
  free(table->configuration_hash);
  free(table->seed_hash);
  free(table->configuration);
  free(table->name);
  memset(table, 0, sizeof *table);
}
