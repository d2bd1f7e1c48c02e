/* `analyze sql`: queries written by the user. */
#ifndef ANALYSIS_SQL_H
#define ANALYSIS_SQL_H

/* Runs one read-only statement; prints rows as a table, as CSV (--csv) or as JSON (--json). */
int analysis_sql(int argc, char **argv);

#endif
