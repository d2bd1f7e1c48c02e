/* Numbers that environments report by name in addition to rewards, as Gymnasium's `info` does. Their means over an
 * iteration or an evaluation are rows of the table `metric`. */
#ifndef TRAINER_ENV_INFO_H
#define TRAINER_ENV_INFO_H
#include <stdbool.h>
#include <stdint.h>

enum {
  ENV_INFO_NAMES = 64,    /* numbers per run, two of them successes (env_info_solve_rate); further ones are ignored */
  ENV_INFO_NAME = 64,     /* bytes of a name with its NUL */
};

/* Sum of a number over the steps that reported it. */
typedef struct EnvInfoSum {
  char name[ENV_INFO_NAME];
  double sum, count;
} EnvInfoSum;

/* Sums of all numbers, sorted by name. Plain memory, stored in checkpoints as it is. Zero-initialize. */
typedef struct EnvInfoTable {
  int64_t count;
  EnvInfoSum item[ENV_INFO_NAMES];
  char ignored[ENV_INFO_NAME]; /* a name that is invalid or exceeds the limit; "": none */
} EnvInfoTable;

/* Whether a number may have this name: letters, digits, '_', '-', '.' and '/', at most 63, not beginning with one of
 * the last three, and without "..". */
bool env_info_is_name(const char *name);
/* Adds a sum over `count` steps. Invalid names and names beyond the limit are recorded in `ignored`. */
void env_info_add(EnvInfoTable *table, const char *name, double sum, double count);
/* Checks a table that was read from a file. CORE_FAIL: this program did not write it. */
int env_info_check(const EnvInfoTable *table);
/* Records a name that was ignored, with '?' for unprintable characters. */
void env_info_ignore(EnvInfoTable *table, const char *name);
/* Adds the sums of another table. */
void env_info_merge(EnvInfoTable *table, const EnvInfoTable *other);
/* Merges the tables of all ranks, in rank order; called by all ranks. */
void env_info_reduce(EnvInfoTable *table);
/* Returns the share of episodes whose last step reported success: the mean of `is_success`, else of `success`. NaN: no
 * episode reported it. *episodes: their number. */
double env_info_solve_rate(const EnvInfoTable *table, double *episodes);

#endif
