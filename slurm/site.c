/* Reads site files. Errors name the line; values pass through slurm_settings_set like those of an experiment. */
#include "slurm/site.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/http.h"
#include "core/ini.h"
#include "core/process.h"

enum { DEPTH_MAX = 4 /* nesting of site.base */ };

/* ---- location ---------------------------------------------------------------------------------------------------- */

/* Finds share/sweep/sites of the installation, or slurm/sites of the build tree. */
static int installed_directory(char directory[CORE_PATH_MAX]) {
  static const char *const places[] = {"../share/sweep/sites", "../../slurm/sites"};
  char program[CORE_PATH_MAX];
  TRY(core_program_directory(program));
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    TRY(core_files_path(directory, "%s/%s", program, places[i]));
    if (core_files_exists(directory)) return CORE_OK;
  }
  return core_error(CORE_FAIL, "no site files are installed next to %s", program);
}

void slurm_site_list(CoreText *text) {
  char directory[CORE_PATH_MAX], **names;
  size_t count;
  if (installed_directory(directory) != CORE_OK || core_files_list(directory, &names, &count) != CORE_OK) return;
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(names[i]);
    if (length > 4 && strcmp(names[i] + length - 4, ".ini") == 0)
      core_text_appendf(text, "%s%.*s", text->length ? ", " : "", (int)length - 4, names[i]);
    free(names[i]);
  }
  free(names);
}

static int installed_path(const char *name, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  TRY(core_text_check_name(name, "site"));
  TRY(installed_directory(directory));
  TRY(core_files_path(path, "%s/%s.ini", directory, name));
  if (core_files_exists(path)) return CORE_OK;
  CoreText known = {0};
  slurm_site_list(&known);
  const int code = core_error(CORE_USAGE, "unknown site '%s'; installed sites: %s", name, core_text_string(&known));
  core_text_free(&known);
  return code;
}

/* Finds the site file; *path is "" if there is none. */
static int find_site_file(char path[CORE_PATH_MAX]) {
  const char *override = getenv("SWEEP_SITE"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  path[0] = '\0';
  if (override && strcmp(override, "none") == 0) return CORE_OK;
  if (override && *override && strchr(override, '/')) return core_files_path(path, "%s", override);
  if (override && *override) return installed_path(override, path);
  if (config && *config) TRY(core_files_path(path, "%s/sweep/site.ini", config));
  else if (home && *home) TRY(core_files_path(path, "%s/.config/sweep/site.ini", home));
  if (*path && !core_files_exists(path)) path[0] = '\0';
  return CORE_OK;
}

/* ---- content ----------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *value, const char *const *choices, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(choices[i], value) == 0) return true;
  return false;
}

bool slurm_site_notifies(const SlurmSite *site) {
  return (*site->notify_url || *site->notify_command || *site->notify_mail) && strcmp(site->notify_on, "never") != 0;
}

/* Whether a text is one mail address that is safe as an argument of sendmail and in a header. */
static bool is_address(const char *text) {
  const char *at_sign = strchr(text, '@');
  if (!at_sign || at_sign == text || !at_sign[1] || strchr(at_sign + 1, '@') || *text == '-') return false;
  for (const char *c = text; *c; c++)
    if (*c <= ' ' || *c > '~' || strchr("<>()[]\\,;:\"'`|&$", *c)) return false;
  return true;
}

static int read_notify(const CoreIni *ini, const CoreIniEntry *entry, SlurmSite *site) {
  static const char *const keys[] = {"url", "style", "on", "command", "mail"},
                    *const styles[] = {"slack", "ntfy", "plain"},
                    *const events[] = {"end", "failure", "both", "never"};
  enum { KEYS = sizeof keys / sizeof *keys };

  if (strcmp(entry->key, "command") == 0) {
    if (entry->value[strspn(entry->value, " \t")] == '\0')
      return core_ini_error(ini, entry, "notify.command is empty; remove the line to run no command");
    if (core_text_copy(site->notify_command, sizeof site->notify_command, entry->value, "notify.command") != CORE_OK)
      return core_ini_error(ini, entry, "%s", core_error_message());
    return CORE_OK;
  }
  if (strcmp(entry->key, "mail") == 0) {
    if (!is_address(entry->value) || strlen(entry->value) >= sizeof site->notify_mail)
      return core_ini_error(ini, entry, "notify.mail is not an address; expected one such as me@example.org");
    return core_text_copy(site->notify_mail, sizeof site->notify_mail, entry->value, "notify.mail");
  }

  if (strcmp(entry->key, "url") == 0) {
    if (core_http_check_url(entry->value, "notify.url") != CORE_OK)
      return core_ini_error(ini, entry, "%s", core_error_message());
    if (core_text_copy(site->notify_url, sizeof site->notify_url, entry->value, "notify.url") != CORE_OK)
      return core_ini_error(ini, entry, "notify.url is longer than %zu characters", sizeof site->notify_url - 1);
    return CORE_OK;
  }

  if (strcmp(entry->key, "style") == 0) {
    if (!is_one_of(entry->value, styles, 3))
      return core_ini_error(ini, entry, "notify.style is one of slack, ntfy, plain");
    return core_text_copy(site->notify_style, sizeof site->notify_style, entry->value, "notify.style");
  }
  if (strcmp(entry->key, "on") == 0) {
    if (!is_one_of(entry->value, events, 4))
      return core_ini_error(ini, entry, "notify.on is one of end, failure, both, never");
    return core_text_copy(site->notify_on, sizeof site->notify_on, entry->value, "notify.on");
  }

  const char *nearest = core_text_nearest(entry->key, keys, KEYS);
  return core_ini_error_key(ini, entry, "notify.%s is not a setting; %s%s%s", entry->key,
                            nearest ? "did you mean notify." : "expected url, style, command, mail or on",
                            nearest ? nearest : "", nearest ? "?" : "");
}

static int read_file(const char *path, int depth, SlurmSettings *settings, SlurmSite *site);

static int read_base(const CoreIni *ini, const CoreIniEntry *entry, int depth, SlurmSettings *settings,
                     SlurmSite *site) {
  char path[CORE_PATH_MAX];
  if (strcmp(entry->key, "base") != 0)
    return core_ini_error_key(ini, entry, "site.%s is not a setting; the only one is base", entry->key);
  if (depth == DEPTH_MAX) return core_ini_error(ini, entry, "site.base: sites refer to one another");
  if (installed_path(entry->value, path) != CORE_OK) return core_ini_error(ini, entry, "%s", core_error_message());
  if (depth == 0) TRY(core_text_copy(site->base, sizeof site->base, entry->value, "site.base"));
  return read_file(path, depth + 1, settings, site);
}

static int read_slurm(const CoreIni *ini, const CoreIniEntry *entry, SlurmSettings *settings) {
  char name[256];
  snprintf(name, sizeof name, "slurm.%.200s", entry->key);
  size_t count;
  const char *const *known = slurm_settings_names(&count);
  if (slurm_settings_set(settings, name, entry->value) == CORE_OK) return CORE_OK;
  return is_one_of(name, known, count) ? core_ini_error(ini, entry, "%s", core_error_message())
                                       : core_ini_error_key(ini, entry, "%s", core_error_message());
}

/* Applies `base` first, wherever it is in the file, so that other keys override it. */
static int read_entries(const CoreIni *ini, int depth, SlurmSettings *settings, SlurmSite *site) {
  static const char *const sections[] = {"site", "slurm", "notify"};

  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < ini->count; i++) {
      const CoreIniEntry *entry = &ini->entries[i];
      if (!is_one_of(entry->section, sections, 3)) {
        const char *nearest = core_text_nearest(entry->section, sections, 3);
        return core_ini_error(ini, entry, "[%s] is not a section of a site file; %s%s%s", entry->section,
                              nearest ? "did you mean [" : "expected [site], [slurm] or [notify]",
                              nearest ? nearest : "", nearest ? "]?" : "");
      }

      if (!entry->key) continue;
      const bool is_site = strcmp(entry->section, "site") == 0;
      if (is_site != (pass == 0)) continue;
      if (is_site) TRY(read_base(ini, entry, depth, settings, site));
      else if (strcmp(entry->section, "slurm") == 0) TRY(read_slurm(ini, entry, settings));
      else TRY(read_notify(ini, entry, site));
    }
  }
  return CORE_OK;
}

static int read_file(const char *path, int depth, SlurmSettings *settings, SlurmSite *site) {
  CoreIni ini;
  TRY(core_ini_read(path, &ini));
  const int code = read_entries(&ini, depth, settings, site);
  core_ini_free(&ini);
  return code;
}

int slurm_site_apply(SlurmSettings *settings, SlurmSite *site) {
  *site = (SlurmSite){.notify_style = "plain", .notify_on = "both"};
  TRY(find_site_file(site->path));
  return *site->path ? read_file(site->path, 0, settings, site) : CORE_OK;
}
