/* Declarations shared by script.c, script_read.c and script_text.c: tables of keys, and drafts of programs. */
#ifndef CORE_SCRIPT_INTERNAL_H
#define CORE_SCRIPT_INTERNAL_H
#include "core/config/config_internal.h"
#include "core/config/script.h"

extern const char *const core_script_keys[CORE_SCRIPT_KEYS];     /* "command" */
extern const char *const core_script_defaults[CORE_SCRIPT_KEYS];
extern const bool core_script_identity[CORE_SCRIPT_KEYS];

/* Mutable definition of a program, and its values. */
typedef struct CoreScriptDraft {
  CoreText text[CORE_SCRIPT_KEYS];
  struct { char *name, *choices, *value, *written; CoreConfigKind kind; } settings[CORE_SCRIPT_SETTINGS_MAX];
  struct { char *column, *name; } metrics[CORE_SCRIPT_METRICS_MAX];
  size_t setting_count, metric_count;
  bool widens;                  /* whether shared rows get a common kind: REAL for numbers, else STRING */
} CoreScriptDraft;
CoreScriptDraft *core_script_draft_create(void); /* all keys have their defaults */
void core_script_draft_free(CoreScriptDraft **draft);
/* Adds a setting with a canonical value and its spelling; copies all texts. CORE_USAGE: the name is in use or
 * invalid. */
int core_script_draft_add(CoreScriptDraft *draft, const char *name, CoreConfigKind kind, const char *choices,
                           const char *value, const char *written);
/* Returns the program of the draft, interned. CORE_USAGE: too many settings in this process. */
int core_script_intern(const CoreScriptDraft *draft, const CoreScript **program);

/* Returns the text of step from the name of its metric on. *is_sum: whether it is "sum of NAME". */
const char *core_script_step_name(const char *text, bool *is_sum);
/* Computes the canonical text of a value, and the spelling that the command gets: that of `value` unless it is computed
 * (500k), with a decimal point in a real number. CORE_USAGE: the value is not of that kind. */
int core_script_canonical_value(const char *name, CoreConfigKind kind, const char *choices, const char *value,
                                 CoreText *canonical, CoreText *written);
/* Whether a number has zeros in front of it, which would be lost: "007", "00.5". */
bool core_script_has_leading_zero(const char *number);
/* Checks that a text can be a value: it is UTF-8 without controls, lookalikes, and letters that are written in two
 * characters. */
int core_script_check_characters(const char *name, const char *value);
#endif
