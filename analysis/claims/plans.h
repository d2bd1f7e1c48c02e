/* Written plans of studies: files that experiments name in `plan` of [sweep], whose SHA-256 each run has recorded
 * (train.plan). They tell a reader that the predictions and the claims to be tested were fixed before the runs. */
#ifndef ANALYSIS_PLANS_H
#define ANALYSIS_PLANS_H
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "store/database/database.h"

typedef enum AnalysisPlanFile { ANALYSIS_PLAN_UNCHANGED, ANALYSIS_PLAN_CHANGED, ANALYSIS_PLAN_ABSENT } AnalysisPlanFile;

/* A plan and the sweeps that named it. */
typedef struct AnalysisPlan {
  char path[CORE_PATH_MAX], hash[CORE_SHA256]; /* place and SHA-256 at submission */
  CoreText sweeps;           /* "fig1, fig2" */
  size_t runs, recorded;     /* runs of these sweeps; those of them that have recorded this sum */
  size_t started;            /* runs that have started */
  double first;              /* Unix time when the first of them did; NaN: none */
  AnalysisPlanFile file;     /* the file at `path` now */
} AnalysisPlan;

typedef struct AnalysisPlans {
  AnalysisPlan *plan;        /* [count] */
  size_t count;
} AnalysisPlans;

/* Reads the plans of sweeps, comma-separated names; NULL: of all. Caller calls analysis_plans_free,
 * also after an error. */
int analysis_plans_read(StoreDatabase *database, const char *sweeps, AnalysisPlans *plans);
void analysis_plans_free(AnalysisPlans *plans);

/* Appends one sentence: name, sum, runs, date, and whether the file still is what it was. */
void analysis_plan_describe(const AnalysisPlan *plan, CoreText *text);
json_t *analysis_plans_json(const AnalysisPlans *plans);

#endif
