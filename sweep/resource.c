/* One table of the [slurm] keys. Checking them where the experiment is read finds a slip on the laptop instead of in a
 * queue. */
#include "sweep/resource.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Slurm's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]]. */
static bool is_time(const char *value) {
  int colons = 0, dashes = 0, digits = 0;
  for (const char *c = value; *c; c++) {
    if (is_digit(*c)) {
      digits++;
      continue;
    }
    if (digits == 0 || (*c != ':' && *c != '-') || (*c == '-' && (dashes || colons))) return false;
    if (*c == ':') colons++;
    else dashes++;
    digits = 0;
  }
  return digits > 0 && colons <= 2;
}

static bool is_memory(const char *value) {
  size_t digits = strspn(value, "0123456789");
  return digits > 0 && digits < 16 && (!value[digits] || (strchr("KMGT", value[digits]) && !value[digits + 1]));
}

static bool is_count(const char *value) {
  int64_t number;
  return core_text_to_int(value, &number) && number >= 0 && number <= 1000000;
}

static bool is_positive(const char *value) { return is_count(value) && strspn(value, "0") != strlen(value); }

/* It becomes an argument of a program later: a plain word that can not be taken for an option. Several partitions may
 * be joined by commas. */
static bool is_word(const char *value) {
  return *value && *value != '-' && strlen(value) <= 128 &&
         strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-,") == strlen(value);
}

static const char *const names[] = {"slurm.time", "slurm.partition", "slurm.account", "slurm.gpus_per_run",
                                    "slurm.cpus_per_run", "slurm.mem", "slurm.max_running", "slurm.runs_per_task"};
enum { RESOURCE_COUNT = sizeof names / sizeof *names };

static const struct {
  bool (*is_valid)(const char *value);
  const char *expected;
} kinds[RESOURCE_COUNT] = {
  {is_time, "a Slurm time such as 02:00:00, 1-12 (days-hours) or 90 (minutes)"},
  {is_word, "a partition's name, or several joined by commas"},
  {is_word, "an account's name"},
  {is_count, "a whole number from 0"},
  {is_positive, "a whole number from 1"},
  {is_memory, "a size such as 8G or 500M"},
  {is_positive, "a whole number from 1"},
  {is_positive, "a whole number from 1"},
};

const char *const *sweep_resource_names(size_t *count) {
  *count = RESOURCE_COUNT;
  return names;
}

int sweep_resource_check(const char *name, const char *value) {
  for (size_t i = 0; i < RESOURCE_COUNT; i++)
    if (strcmp(names[i], name) == 0 && !kinds[i].is_valid(value))
      return core_error(CORE_USAGE, "%s = %.80s: expected %s", name, *value ? value : "(empty)", kinds[i].expected);
  return CORE_OK;
}
