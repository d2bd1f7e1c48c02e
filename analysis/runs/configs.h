/* Configurations of runs. The runs of a configuration differ in train.seed only, so they share one CoreConfig, which
 * has 14 KB. */
#ifndef ANALYSIS_CONFIGS_H
#define ANALYSIS_CONFIGS_H
#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/text.h"

typedef struct AnalysisConfig {
  const CoreConfig *shared; /* all settings, with train.seed 0 */
  int64_t seed;
} AnalysisConfig;

/* Whether all runs of a configuration have the same value of the setting: it is neither train.seed nor a program's
 * setting of this meaning. */
bool analysis_config_is_shared(const CoreConfigRow *row);
/* Returns the configuration with its seed. */
CoreConfig analysis_config_whole(const AnalysisConfig *config);
/* These do what core_config_field, core_config_get, core_config_setting_json and core_config_value_equals do. */
const void *analysis_config_field(const AnalysisConfig *config, const CoreConfigRow *row);
const char *analysis_config_get(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text);
json_t *analysis_config_setting_json(const AnalysisConfig *config, const CoreConfigRow *row);
bool analysis_config_value_equals(const AnalysisConfig *a, const AnalysisConfig *b, const CoreConfigRow *row);

/* Set of configurations. */
typedef struct AnalysisConfigs AnalysisConfigs;

/* Configuration and facts that follow from it. */
typedef struct AnalysisConfigFacts {
  CoreConfig config;       /* effective configuration, with scale.scheme applied */
  char cell[CORE_RUN_ID];  /* core_config_cell_id of the configuration as written */
  bool scaled;
  int64_t transitions_per_iteration, iterations;
} AnalysisConfigFacts;

AnalysisConfigs *analysis_configs_create(void);
void analysis_configs_destroy(AnalysisConfigs **configs);
/* Parses run.config; texts that differ only in the seed are parsed once. *facts: owned by the set; train.seed is 0. */
int analysis_configs_parse(AnalysisConfigs *configs, const char *json, const AnalysisConfigFacts **facts,
                           int64_t *seed);
/* Returns the set's copy of a configuration, without its seed. */
const CoreConfig *analysis_configs_share(AnalysisConfigs *configs, const CoreConfig *config);

#endif
