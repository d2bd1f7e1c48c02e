/* Parser and printer of the table settings.def. Mistakes are found when the experiment is read, not in the queue. */
#include "slurm/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_MAX = 1000000, TIME_MAX_S = 365 * 86400 };
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool has_only(const char *value, const char *others) {
  for (const char *c = value; *c; c++)
    if (!strchr(letters, *c) && !strchr(others, *c)) return false;
  return true;
}

/* Values become arguments: only plain characters, and not an option. */
static bool is_words(const char *value) { return *value != '-' && has_only(value, "._-,"); }
static bool is_constraint(const char *value) { return *value != '-' && has_only(value, "._-,&|*()[]"); }
static bool is_modules(const char *value) { return *value != '-' && has_only(value, "._-/+ ") && !strstr(value, " -"); }

/* Whether a path has only plain characters and variables that Slurm or the site sets on the node. */
static bool is_path(const char *value) {
  static const char *const variables[] = {"$USER", "$HOME", "$SLURM_JOB_ID", "$SLURM_TMPDIR", "$TMPDIR",
                                          "$SLURM_ARRAY_JOB_ID", "$SLURM_ARRAY_TASK_ID", "$LOCAL_SCRATCH", "$SCRATCH"};

  if (!*value) return true;
  if (*value != '/' && *value != '$') return false;

  for (const char *c = value; *c;) {
    size_t length = strspn(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/+");
    if (*c == '$') {
      length = 1 + strspn(c + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
      bool known = false;
      for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        known = known || (strlen(variables[i]) == length && strncmp(c, variables[i], length) == 0);
      if (!known) return false;
    }
    if (length == 0) return false;
    c += length;
  }
  return true;
}

/* Whether a text is one printable line; a shell interprets it. */
static bool is_shell(const char *value) {
  for (const unsigned char *c = (const unsigned char *)value; *c; c++)
    if (*c < ' ' || *c == 0x7f) return false;
  return core_text_is_utf8(value);
}

static bool is_image(const char *value) { return *value != '-' && has_only(value, "._-/+:@#"); }

static bool is_names(const char *value) {
  char copy[SLURM_TEXT], *tail = copy;
  if (!is_words(value)) return false;
  if (!*value) return true;
  snprintf(copy, sizeof copy, "%s", value);
  for (char *name; (name = strsep(&tail, ","));)
    if (core_text_check_name(name, "sweep") != CORE_OK) return false;
  return true;
}

/* Options that restrict nodes or set notifications; all others are set by the toolkit itself. */
static const char *const known_options[] = {"--exclude", "--nodelist", "--exclusive", "--licenses", "--mail-type",
                                            "--mail-user", "--nice", "--switches", "--hint", "--gpu-bind",
                                            "--gpu-freq", "--cpu-freq", "--mem-bind", "--threads-per-core",
                                            "--contiguous", "--prefer", "--tmp", "--gres-flags",
                                            "--core-spec", "--distribution", "--priority", "--time-min", "--wckey"};

static bool is_options(const char *value) {
  char copy[SLURM_TEXT], *tail = copy;
  if (!has_only(value, " =-_.,:[]@/+")) return false;
  if (!*value) return true;
  snprintf(copy, sizeof copy, "%s", value);
  for (char *option; (option = strsep(&tail, " "));) {
    bool known = !*option;
    option[strcspn(option, "=")] = '\0';
    for (size_t i = 0; i < sizeof known_options / sizeof *known_options && !known; i++)
      known = strcmp(option, known_options[i]) == 0;
    if (!known) return false;
  }
  return true;
}

static const char *expected_text(bool (*check)(const char *)) {
  if (check == is_constraint) return "features joined by & or |, of letters, digits and ._-&|*()[]";
  if (check == is_modules) return "names of modules, separated by blanks";
  if (check == is_path)
    return "an absolute path of letters, digits and ._-+/, in which $USER, $HOME, $SCRATCH, $LOCAL_SCRATCH, $TMPDIR, "
           "$SLURM_TMPDIR, $SLURM_JOB_ID, $SLURM_ARRAY_JOB_ID and $SLURM_ARRAY_TASK_ID may stand";
  if (check == is_shell) return "one line of shell, up to 255 bytes";
  if (check == is_image) return "a path or an image's name, of letters, digits and ._-/+:@#";
  if (check == is_names) return "names of sweeps, joined by commas";
  if (check == is_options) return "options of the form --name or --name=value that docs/cluster.md lists";
  return "a name, or several joined by commas, of letters, digits and ._-";
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Accepts at most three fields of digits after optional days. */
int64_t slurm_time_parse(const char *text) {
  int64_t field[4] = {0}, days = -1;
  int count = 0;

  for (const char *c = text;; c++) {
    if (*c < '0' || *c > '9') return -1;
    for (; *c >= '0' && *c <= '9'; c++)
      if ((field[count] = 10 * field[count] + (*c - '0')) > 100000000) return -1;
    count++;
    if (!*c) break;
    if (*c == '-' && days < 0 && count == 1) {
      days = field[0];
      field[0] = 0;
      count = 0;
    } else if (*c != ':' || count == 3) {
      return -1;
    }
  }

  if (days >= 0) return ((days * 24 + field[0]) * 60 + field[1]) * 60 + field[2]; /* d-h, d-h:m, d-h:m:s */
  if (count == 1) return field[0] * 60;
  if (count == 2) return field[0] * 60 + field[1];
  return (field[0] * 60 + field[1]) * 60 + field[2];
}

const char *slurm_time_format(int64_t seconds, char *buffer) {
  const long long days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
  if (days > 0) snprintf(buffer, 32, "%lld-%02lld:%02lld:%02lld", days, hours, minutes, (long long)seconds % 60);
  else snprintf(buffer, 32, "%02lld:%02lld:%02lld", hours, minutes, (long long)seconds % 60);
  return buffer;
}

static bool read_time(const char *value, int64_t *seconds) {
  const int64_t parsed = slurm_time_parse(value);
  if (parsed < 0 || parsed > TIME_MAX_S) return false;
  *seconds = parsed;
  return true;
}

static bool read_size(const char *value, int64_t *megabytes) {
  char digits[16];
  const size_t length = strspn(value, "0123456789");
  int64_t number;

  if (length == 0 || length > 12 || (value[length] && (!strchr("KMGT", value[length]) || value[length + 1])))
    return false;
  memcpy(digits, value, length);
  digits[length] = '\0';
  if (!core_text_to_int(digits, &number)) return false;

  switch (value[length]) {
    case 'K': number = (number + 1023) / 1024; break;
    case 'G': number *= 1024; break;
    case 'T': number *= 1024 * 1024; break;
    default: break;
  }

  if (number > (int64_t)1 << 40) return false;
  *megabytes = number;
  return true;
}

static bool read_share(const char *value, double *share) {
  double number;
  if (!core_text_to_real(value, &number) || !(number >= 0) || number > 4096) return false;
  const double inverse = number > 0 ? 1 / number : 1;
  if (number != floor(number) && (number > 1 || fabs(inverse - round(inverse)) > 1e-2)) return false;
  *share = number > 0 && number < 1 ? 1 / round(inverse) : number;
  return true;
}

static bool is_choice(const char *value, const char *choices) {
  const size_t length = strlen(value);
  for (const char *c = choices; *c; c += *c == '|') {
    const size_t choice_length = strcspn(c, "|");
    if (choice_length == length && strncmp(c, value, choice_length) == 0) return true;
    c += choice_length;
  }
  return false;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

SlurmSettings slurm_settings_default(void) {
  return (SlurmSettings){
#define COUNT(key, def, min, help) .key = def,
#define TIME(key, def, help) .key = def,
#define SIZE(key, def, help) .key = def,
#define SHARE(key, def, help) .key = def,
#define FLAG(key, def, help) .key = def,
#define ENUM(key, def, choices, help) .key = def,
#define WORD(key, check, help) .key = "",
#include "slurm/settings.def"
  };
}

static const char *const names[] = {
#define NAME(key) "slurm." #key,
#define COUNT(key, def, min, help) NAME(key)
#define TIME(key, def, help) NAME(key)
#define SIZE(key, def, help) NAME(key)
#define SHARE(key, def, help) NAME(key)
#define FLAG(key, def, help) NAME(key)
#define ENUM(key, def, choices, help) NAME(key)
#define WORD(key, check, help) NAME(key)
#include "slurm/settings.def"
};
#undef NAME
enum { NAME_COUNT = sizeof names / sizeof *names };

const char *const *slurm_settings_names(size_t *count) {
  *count = NAME_COUNT;
  return names;
}

static int value_error(const char *name, const char *value, const char *expected) {
  return core_error(CORE_USAGE, "slurm.%s = %.80s: expected %s", name, *value ? value : "(empty)", expected);
}

static int set_count(int64_t *field, const char *key, const char *value, int64_t min) {
  int64_t number;
  if (!core_text_to_int_scaled(value, &number) || number < min || number > COUNT_MAX)
    return value_error(key, value, min > 0 ? "a whole number from 1" : "a whole number from 0");
  *field = number;
  return CORE_OK;
}

static int set_text(char *field, const char *key, const char *value, bool good, const char *expected) {
  if (!good || strlen(value) >= SLURM_TEXT) return value_error(key, value, expected);
  return core_text_copy(field, SLURM_TEXT, value, key);
}

static int unknown_key_error(const char *key) {
  char name[64];
  snprintf(name, sizeof name, "slurm.%.50s", key);
  const char *nearest = core_text_nearest(name, names, NAME_COUNT);
  if (nearest) return core_error(CORE_USAGE, "%s is not a setting; did you mean %s?", name, nearest);
  return core_error(CORE_USAGE, "%s is not a setting; docs/cluster.md lists those of [slurm]", name);
}

int slurm_settings_set(SlurmSettings *settings, const char *name, const char *value) {
  const char *key = strncmp(name, "slurm.", 6) == 0 ? name + 6 : name;
#define IS(k) (strcmp(key, #k) == 0)
#define COUNT(k, def, min, help) \
  if (IS(k)) return set_count(&settings->k, key, value, min);
#define TIME(k, def, help) \
  if (IS(k)) \
    return read_time(value, &settings->k) ? CORE_OK \
      : value_error(key, value, "a Slurm time such as 02:00:00, 1-12 (days-hours) or 90 (minutes)");
#define SIZE(k, def, help) \
  if (IS(k)) return read_size(value, &settings->k) ? CORE_OK : value_error(key, value, "a size such as 8G or 500M");
#define SHARE(k, def, help) \
  if (IS(k)) \
    return read_share(value, &settings->k) ? CORE_OK \
      : value_error(key, value, "a whole number from 0, or 1/n of one: 0.5, 0.25");
#define FLAG(k, def, help) \
  if (IS(k)) return core_text_to_bool(value, &settings->k) ? CORE_OK : value_error(key, value, "yes or no");
#define ENUM(k, def, choices, help) \
  if (IS(k)) return set_text(settings->k, key, value, is_choice(value, choices), "one of " choices);
#define WORD(k, check, help) \
  if (IS(k)) return set_text(settings->k, key, value, check(value), expected_text(check));
#include "slurm/settings.def"
#undef IS
  return unknown_key_error(key);
}

int64_t slurm_settings_run_mem(const SlurmSettings *s) {
  return s->mem > 0 ? s->mem : s->mem_per_cpu * s->cpus_per_run * s->ranks_per_run / s->nodes;
}

int slurm_settings_check(const SlurmSettings *s) {
  if (s->mem > 0 && s->mem_per_cpu > 0)
    return core_error(CORE_USAGE, "slurm.mem and slurm.mem_per_cpu: Slurm takes one of them; leave out the other");
  const double gpus = s->gpus_per_run * (double)s->runs_per_task;

  if (s->nodes > 1 && s->runs_per_task > 1)
    return core_error(CORE_USAGE,
                      "slurm.runs_per_task = %lld and slurm.nodes = %lld: runs share a task on one node only",
                      (long long)s->runs_per_task, (long long)s->nodes);
  if (s->ranks_per_run < s->nodes)
    return core_error(CORE_USAGE, "slurm.nodes = %lld needs slurm.ranks_per_run = %lld or more: a rank a node",
                      (long long)s->nodes, (long long)s->nodes);
  if (s->ranks_per_run % s->nodes != 0)
    return core_error(CORE_USAGE, "slurm.ranks_per_run = %lld is not a multiple of slurm.nodes = %lld",
                      (long long)s->ranks_per_run, (long long)s->nodes);

  if (gpus != floor(gpus) || (int64_t)gpus % s->nodes != 0)
    return core_error(CORE_USAGE,
                      "slurm.gpus_per_run = %g makes no whole number of GPUs a node with slurm.runs_per_task "
                      "= %lld on slurm.nodes = %lld",
                      s->gpus_per_run, (long long)s->runs_per_task, (long long)s->nodes);

  if (s->time > 0 && s->signal_lead >= s->time)
    return core_error(CORE_USAGE, "slurm.signal_lead (%lld s) is not shorter than slurm.time (%lld s)",
                      (long long)s->signal_lead, (long long)s->time);
  return CORE_OK;
}

int64_t slurm_settings_task_cpus(const SlurmSettings *s) {
  return s->cpus_per_run * s->ranks_per_run * s->runs_per_task;
}

int64_t slurm_settings_task_gpus(const SlurmSettings *s) {
  return (int64_t)llround(s->gpus_per_run * (double)s->runs_per_task);
}

void slurm_settings_print(const SlurmSettings *s, const char *separator, const char *end, CoreText *text) {
  const SlurmSettings d = slurm_settings_default();
  char number[32];
#define PRINT(key, value) core_text_appendf(text, "slurm.%s%s%s%s", #key, separator, value, end)
#define WHOLE(key, unit) \
  if (s->key != d.key) core_text_appendf(text, "slurm.%s%s%lld%s%s", #key, separator, (long long)s->key, unit, end);
#define COUNT(key, def, min, help) WHOLE(key, "")
#define TIME(key, def, help) if (s->key != d.key) PRINT(key, slurm_time_format(s->key, number));
#define SIZE(key, def, help) WHOLE(key, "M")
#define SHARE(key, def, help) if (s->key != d.key) PRINT(key, core_text_from_real(s->key, number));
#define FLAG(key, def, help) if (s->key != d.key) PRINT(key, s->key ? "yes" : "no");
#define ENUM(key, def, choices, help) if (strcmp(s->key, d.key) != 0) PRINT(key, s->key);
#define WORD(key, check, help) if (*s->key) PRINT(key, s->key);
#include "slurm/settings.def"
#undef WHOLE
#undef PRINT
}
