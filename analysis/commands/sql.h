/* `analyze sql`: a question of the user's own to results.db. */
#ifndef ANALYSIS_SQL_H
#define ANALYSIS_SQL_H

/* One read-only statement; rows as a table, as CSV on --csv, as JSON on --json. */
int analysis_sql(int argc, char **argv);

#endif
