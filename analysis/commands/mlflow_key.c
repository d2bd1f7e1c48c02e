/* Makes keys that MLflow accepts: it refuses a whole batch for one that it does not (mlflow_key.h). */
#include "analysis/commands/mlflow_key.h"

#include <ctype.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/unicode.h"

/* MLflow allows what Python's \w matches. These ranges are letters in all versions of Unicode that Python has had;
 * combining marks, which it does not match, lie between others. */
static bool is_letter(uint32_t code) {
  static const struct { uint32_t first, last; } ranges[] = {
    {0xb5, 0xb5}, {0xc0, 0xd6}, {0xd8, 0xf6}, {0xf8, 0x24f},                       /* Latin */
    {0x388, 0x38a}, {0x38e, 0x3a1}, {0x3a3, 0x3ce}, {0x400, 0x481}, {0x48a, 0x52f}, /* Greek, Cyrillic */
    {0x5d0, 0x5ea}, {0x620, 0x64a}, {0x1e00, 0x1eff},                              /* Hebrew, Arabic, Latin */
    {0x3041, 0x3096}, {0x30a1, 0x30fa}, {0x4e00, 0x9fa5}, {0xac00, 0xd7a3}};       /* Japanese, Chinese, Korean */
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  return code < 0x80 && (isalnum((int)code) || code == '_');
}

/* Whether a part of a path is "", "." or "..", which MLflow refuses because it may store a metric as a file. */
static bool is_odd_part(const char *part) {
  const size_t length = strcspn(part, "/");
  return length == 0 || (length <= 2 && strspn(part, ".") >= length);
}

/* Whether the character at `at` may stay in the key. `part`: start of its part of the path. */
static bool is_allowed(uint32_t code, const char *name, const char *part, const char *at) {
  if (is_letter(code) || code == '-') return true;
  if (code == ' ') return at > name && at[1]; /* databases may ignore blanks at the end */
  if (code == '.') return !is_odd_part(part);
  return code == '/' && at > part && at[1] && at[1] != '/';
}

void mlflow_key(const char *name, char key[MLFLOW_KEY_MAX]) {
  enum { DIGITS = 4, HASH_MIN = crypto_generichash_BYTES_MIN };
  CoreText text = {0};
  unsigned char hash[HASH_MIN];
  char digits[2 * DIGITS + 1];
  bool same = true;
  const char *part = name, *at = name;
  while (*at && text.length < MLFLOW_KEY_MAX - 16) {
    const char *here = at;
    const uint32_t code = core_unicode_next(&at);
    const bool allowed = is_allowed(code, name, part, here);
    if (allowed) core_text_append_bytes(&text, here, (size_t)(at - here));
    else core_text_append(&text, "_");
    if (code == '/') part = at;
    same = same && allowed;
  }

  if (!same || *at) {
    crypto_generichash(hash, sizeof hash, (const unsigned char *)name, strlen(name), NULL, 0);
    core_text_appendf(&text, "_%s", sodium_bin2hex(digits, sizeof digits, hash, DIGITS));
  }
  snprintf(key, MLFLOW_KEY_MAX, "%s", core_text_string(&text));
  core_text_free(&text);
}
