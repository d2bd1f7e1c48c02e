/* Finds settings and metrics by the names that other PPO implementations give them (synonyms.def). */
#include <ctype.h>
#include <string.h>

#include "core/config/config.h"

typedef struct Synonym { const char *synonym, *name; } Synonym;

#define SETTING(synonym, setting) {#synonym, #setting},
#define METRIC(synonym, column)
static const Synonym settings[] = {
#include "core/config/synonyms.def"
};
#undef SETTING
#undef METRIC
#define SETTING(synonym, setting)
#define METRIC(synonym, column) {#synonym, #column},
static const Synonym metrics[] = {
#include "core/config/synonyms.def"
};
#undef SETTING
#undef METRIC

/* Whether `word` equals the synonym, ignoring case and reading '-' as '_'. */
static bool matches(const char *word, const char *synonym) {
  for (; *word && *synonym; word++, synonym++) {
    int letter = *word == '-' ? '_' : tolower((unsigned char)*word);
    if (letter != *synonym) return false;
  }
  return !*word && !*synonym;
}

/* Returns the name that has the last component of `word` as a synonym: the part after the last '.' or '/', without
 * leading dashes ("losses/approx_kl", "--clip-coef"). NULL: none. */
static const char *find(const Synonym *synonyms, size_t count, const char *word) {
  for (const char *c = word; *c; c++)
    if (*c == '.' || *c == '/') word = c + 1;
  word += strspn(word, "-");
  for (size_t i = 0; i < count; i++)
    if (matches(word, synonyms[i].synonym)) return synonyms[i].name;
  return NULL;
}

const char *core_config_find_synonym(const char *word) {
  return find(settings, sizeof settings / sizeof *settings, word);
}

const char *core_config_find_metric_synonym(const char *word) {
  return find(metrics, sizeof metrics / sizeof *metrics, word);
}
