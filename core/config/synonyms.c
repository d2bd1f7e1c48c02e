/* Finds settings and metrics by the names that other PPO implementations give them (synonyms.def). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"

typedef struct Synonym { const char *synonym, *name; bool is_related; } Synonym;

#define SETTING(synonym, setting) {#synonym, #setting, false},
#define RELATED(synonym, setting) {#synonym, #setting, true},
#define METRIC(synonym, column)
static const Synonym settings[] = {
#include "core/config/synonyms.def"
};
#undef SETTING
#undef RELATED
#undef METRIC
#define SETTING(synonym, setting)
#define RELATED(synonym, setting)
#define METRIC(synonym, column) {#synonym, #column, false},
static const Synonym metrics[] = {
#include "core/config/synonyms.def"
};
#undef SETTING
#undef RELATED
#undef METRIC

/* Whether `word` equals the synonym, ignoring case and reading '-' as '_'. */
static bool matches(const char *word, const char *synonym) {
  for (; *word && *synonym; word++, synonym++) {
    int letter = *word == '-' ? '_' : tolower((unsigned char)*word);
    if (letter != *synonym) return false;
  }
  return !*word && !*synonym;
}

/* Returns the synonym that the last component of `word` is: the part after the last '.' or '/', without
 * leading dashes ("losses/approx_kl", "--clip-coef"). NULL: none. */
static const Synonym *find(const Synonym *synonyms, size_t count, const char *word) {
  for (const char *c = word; *c; c++)
    if (*c == '.' || *c == '/') word = c + 1;
  word += strspn(word, "-");
  for (size_t i = 0; i < count; i++)
    if (matches(word, synonyms[i].synonym)) return &synonyms[i];
  return NULL;
}

static const Synonym *find_setting(const char *word) {
  return find(settings, sizeof settings / sizeof *settings, word);
}

const char *core_config_find_synonym(const char *word) {
  const Synonym *synonym = find_setting(word);
  return synonym ? synonym->name : NULL;
}

const char *core_config_suggest(const char *word, const char *const *candidates, size_t count) {
  const char *synonym = core_config_find_synonym(word);
  return synonym ? synonym : core_text_nearest(word, candidates, count);
}

const char *core_config_find_metric_synonym(const char *word) {
  const Synonym *synonym = find(metrics, sizeof metrics / sizeof *metrics, word);
  return synonym ? synonym->name : NULL;
}

const CoreConfigRow *core_config_find_equivalent(const char *name) {
  static const char *const prefixes[] = {"ppo.", "algo.", "agent."};
  char full[CORE_CONFIG_TEXT];
  const Synonym *synonym = find_setting(name);
  if (synonym) return synonym->is_related ? NULL : core_config_find(synonym->name);
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) name += strlen(prefixes[i]);
  snprintf(full, sizeof full, "ppo.%s", name);
  for (char *c = full; *c; c++) *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
  return core_config_find(full);
}
