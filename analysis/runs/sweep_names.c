/* Checks names of sweeps given by the user (sweep_names.h). */
#include "analysis/runs/sweep_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/database/query.h"

/* Returns CORE_USAGE if the sweep is not one of `names`. */
static int check_sweep(const char *sweep, const char **names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], sweep) == 0) return CORE_OK;
  const char *near = core_text_nearest(sweep, names, count);
  if (near) return core_error(CORE_USAGE, "no sweep %s here; did you mean %s?", sweep, near);
  CoreText known = {0};
  for (size_t i = 0; i < count; i++) core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
  const int code = core_error(CORE_USAGE, "no sweep %s here; there %s: %.400s", sweep, count == 1 ? "is" : "are",
                              count ? core_text_string(&known) : "none");
  core_text_free(&known);
  return code;
}

int analysis_sweeps_check(StoreDatabase *database, const char *sweeps) {
  const char **names = NULL;
  size_t count = 0;
  StoreQuery *query = NULL;
  bool row = true;

  TRY(store_query_open(database, "SELECT name FROM sweep ORDER BY name", &query));
  int code = CORE_OK;

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    names = core_memory_resize(names, (count + 1) * sizeof *names);
    names[count++] = core_text_duplicate(store_query_text(query, 0) ? store_query_text(query, 0) : "");
  }
  store_query_close(&query);

  char *asked = core_text_duplicate(sweeps), *next_name = asked;
  for (char *name = asked; next_name; name = next_name) {
    if (code != CORE_OK) break;
    next_name = strchr(name, ',');
    if (next_name) *next_name++ = '\0';
    code = check_sweep(name, names, count);
  }

  for (size_t i = 0; i < count; i++) free((char *)names[i]);
  free(names);
  free(asked);
  return code;
}
