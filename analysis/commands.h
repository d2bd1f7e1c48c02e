/* The commands of `analyze` that are no figures. Each parses argv, explains itself on --help and returns
 * a CORE_ code. */
#ifndef ANALYSIS_COMMANDS_H
#define ANALYSIS_COMMANDS_H
#include "core/command/completion.h"

int analysis_check(int argc, char **argv);   /* care of results.db: maintain.c */
int analysis_merge(int argc, char **argv);
int analysis_export(int argc, char **argv);  /* export.c */
int analysis_measures(int argc, char **argv); /* what each run amounts to: measures.c */
int analysis_compare(int argc, char **argv); /* two groups of runs: compare.c */
int analysis_claims(int argc, char **argv);  /* the papers' claims: claims_print.c */
int analysis_report(int argc, char **argv);  /* one HTML page: report.c */
int analysis_advise(int argc, char **argv);  /* what to try next: advise.c */
int analysis_watch(int argc, char **argv);   /* curves while runs go on: watch.c */

extern const CoreCompletion analysis_completions[]; /* what Tab offers: complete.c */

#endif
