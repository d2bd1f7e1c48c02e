/* Sums of the numbers that environments report (info.h). */
#include "trainer/envs/info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"

static const char *const successes[] = {"is_success", "success"};
enum { SUCCESSES = sizeof successes / sizeof *successes };

static bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool env_info_is_name(const char *name) {
  size_t length = 0;
  if (!is_alphanumeric(name[0])) return false;
  for (; name[length]; length++)
    if (length + 1 >= ENV_INFO_NAME || (!is_alphanumeric(name[length]) && !strchr("-./", name[length]))) return false;
  return strstr(name, "..") == NULL;
}

void env_info_ignore(EnvInfoTable *table, const char *name) {
  if (*table->ignored) return;
  for (size_t i = 0; i + 1 < sizeof table->ignored && name[i]; i++)
    table->ignored[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
}

/* Finds a name, or the place where it belongs. */
static int64_t find_place(const EnvInfoTable *table, const char *name, bool *found) {
  int64_t low = 0, high = table->count;
  *found = false;
  while (low < high && !*found) {
    const int64_t middle = (low + high) / 2;
    const int order = strcmp(name, table->item[middle].name);
    *found = order == 0;
    if (order > 0) low = middle + 1;
    else high = middle;
  }
  return high;
}

/* Whether there is room for another number. Successes, which are reported last, have places of their own. */
static bool has_room(const EnvInfoTable *table, const char *name) {
  int64_t reserved = 0;
  for (size_t i = 0; i < SUCCESSES; i++) {
    bool found;
    if (strcmp(name, successes[i]) == 0) return table->count < ENV_INFO_NAMES;
    find_place(table, successes[i], &found);
    reserved += !found;
  }
  return table->count < ENV_INFO_NAMES - reserved;
}

void env_info_add(EnvInfoTable *table, const char *name, double sum, double count) {
  bool found;
  if (!env_info_is_name(name)) {
    env_info_ignore(table, name);
    return;
  }

  const int64_t slot = find_place(table, name, &found);
  EnvInfoSum *item = &table->item[slot];
  if (!found && !has_room(table, name)) {
    env_info_ignore(table, name);
    return;
  }

  if (!found) {
    memmove(item + 1, item, (size_t)(table->count - slot) * sizeof *item);
    *item = (EnvInfoSum){0};
    memcpy(item->name, name, strlen(name));
    table->count++;
  }
  item->sum += sum;
  item->count += count;
}

int env_info_check(const EnvInfoTable *table) {
  bool is_valid = table->count >= 0 && table->count <= ENV_INFO_NAMES && memchr(table->ignored, 0, ENV_INFO_NAME);
  for (int64_t i = 0; i < table->count && is_valid; i++) {
    const char *name = table->item[i].name;
    is_valid = memchr(name, 0, ENV_INFO_NAME) && env_info_is_name(name) &&
               (i == 0 || strcmp(table->item[i - 1].name, name) < 0);
  }
  if (is_valid) return CORE_OK;
  return core_error(CORE_FAIL, "the checkpoint's sums of info are invalid; start over with --force");
}

void env_info_merge(EnvInfoTable *table, const EnvInfoTable *other) {
  for (int64_t i = 0; i < other->count; i++)
    env_info_add(table, other->item[i].name, other->item[i].sum, other->item[i].count);
  if (*other->ignored) env_info_ignore(table, other->ignored);
}

void env_info_reduce(EnvInfoTable *table) {
  const size_t ranks = (size_t)ranks_size();
  if (ranks == 1) return;
  EnvInfoTable *tables = core_memory_allocate(ranks * sizeof *tables);
  ranks_gather_all(table, sizeof *table, tables);
  *table = (EnvInfoTable){0};
  for (size_t rank = 0; rank < ranks; rank++) env_info_merge(table, &tables[rank]);
  free(tables);
}

double env_info_solve_rate(const EnvInfoTable *table, double *episodes) {
  *episodes = 0;
  for (size_t i = 0; i < SUCCESSES; i++) {
    bool found;
    const EnvInfoSum *item = &table->item[find_place(table, successes[i], &found)];
    if (!found || !(item->count > 0)) continue;
    *episodes = item->count;
    return item->sum / item->count;
  }
  return NAN;
}
