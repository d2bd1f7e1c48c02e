/* The runs that claims test, with hashes of their settings, by which runs are compared. */
#ifndef ANALYSIS_TABLE_H
#define ANALYSIS_TABLE_H
#include <stddef.h>
#include <stdint.h>

#include "analysis/runs/measures.h"
#include "analysis/runs/membership.h"
#include "analysis/runs/select.h"

/* Hashes of every setting of every run, computed once for fast comparisons. */
typedef struct AnalysisTable {
  const AnalysisSelection *selection;
  const AnalysisRunMetrics *metrics;
  const AnalysisMembership *membership; /* NULL: every run belongs to every sweep */
  size_t rows;             /* number of settings */
  size_t *configuration;   /* [runs] configuration of each run */
  uint64_t *configuration_hash; /* [configuration][rows] of settings but the seed (analysis_table_hash) */
  uint64_t *seed_hash;     /* [runs] */
  size_t seed_row;
  uint64_t *name, *default_hash; /* [rows] */
} AnalysisTable;

AnalysisTable analysis_table_create(const AnalysisSelection *selection, const AnalysisRunMetrics *metrics,
                                    const AnalysisMembership *membership);
/* Returns the hash of a run's value of a setting. */
uint64_t analysis_table_hash(const AnalysisTable *table, size_t run, size_t row);
void analysis_table_free(AnalysisTable *table);
/* Returns the hash of a setting's canonical text. */
uint64_t analysis_table_hash_text(const char *text);

#endif
