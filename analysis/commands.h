/* Commands of `analyze` that are not figures. Each parses argv, prints help on --help, and returns a CORE_ code. */
#ifndef ANALYSIS_COMMANDS_H
#define ANALYSIS_COMMANDS_H
#include "core/command/completion.h"

int analysis_check(int argc, char **argv);   /* maintain.c */
int analysis_merge(int argc, char **argv);
int analysis_export(int argc, char **argv);  /* export.c */
int analysis_compare(int argc, char **argv); /* compare.c */
int analysis_claims(int argc, char **argv);  /* claims_print.c */
int analysis_import(int argc, char **argv); /* import/import.c */
int analysis_report(int argc, char **argv);  /* report.c */
int analysis_advise(int argc, char **argv);  /* advise.c */

extern const CoreCompletion analysis_completions[]; /* complete.c */

/* Runs one read-only statement; prints rows as a table, as CSV (--csv) or as JSON (--json). */
int analysis_sql(int argc, char **argv);

#endif
