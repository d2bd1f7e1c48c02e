/* Readable names of runs: the settings in which the runs of a sweep differ, and the seed: "epsilon=0.1,seed=2". They
 * may be parts of file names. */
#ifndef CORE_CONFIG_LABEL_H
#define CORE_CONFIG_LABEL_H
#include "core/config/config.h"

enum { CORE_LABEL_MAX = 128 /* bytes of a name with its NUL; longer ones end with "..." */ };

/* Settings of runs that are being compared. Zero-initialize. */
typedef struct CoreLabels {
  json_t *first;   /* settings of the first run */
  json_t *differs; /* keys: names of settings that differ */
} CoreLabels;

/* Compares a run, given by its settings as JSON (core_config_to_json), with the first one. Invalid JSON is ignored. */
void core_labels_add(CoreLabels *labels, const char *config);
/* Formats the name of a run that was added. Characters other than letters, digits and ._+- become '_'. "run": nothing
 * is known. */
void core_labels_format(const CoreLabels *labels, const char *config, char label[CORE_LABEL_MAX]);
void core_labels_free(CoreLabels *labels);

#endif
