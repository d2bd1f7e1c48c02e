/* Parts that script.c, script_read.c and script_text.c share: tables of keys, and drafts of programs. */
#ifndef CORE_SCRIPT_INTERNAL_H
#define CORE_SCRIPT_INTERNAL_H
#include "core/config/config_internal.h"
#include "core/config/script.h"

extern const char *const core_script_keys[CORE_SCRIPT_KEYS];     /* "command" */
extern const char *const core_script_defaults[CORE_SCRIPT_KEYS];
extern const bool core_script_identity[CORE_SCRIPT_KEYS];

/* A definition that is being put together, and its values. */
typedef struct CoreScriptDraft {
  CoreText text[CORE_SCRIPT_KEYS];
  struct { char *name, *choices, *value; CoreConfigKind kind; } settings[CORE_SCRIPT_SETTINGS_MAX];
  struct { char *ours, *theirs; } metrics[CORE_SCRIPT_METRICS_MAX];
  size_t setting_count, metric_count;
  bool widens;                  /* rows that other programs have take both kinds: numbers reals, all else text */
} CoreScriptDraft;
CoreScriptDraft *core_script_draft(void); /* all keys at their defaults */
void core_script_draft_free(CoreScriptDraft **draft);
/* Adds a setting whose value is canonical, with a copy of each text. CORE_USAGE: the name is taken, or not possible. */
int core_script_draft_add(CoreScriptDraft *draft, const char *name, CoreConfigKind kind, const char *choices,
                           const char *value);
/* The one program that the draft describes. CORE_USAGE: too many settings in this process. */
int core_script_intern(const CoreScriptDraft *draft, const CoreScript **program);

/* Puts the canonical text of a value into `canonical`. CORE_USAGE: it is none of that kind. */
int core_script_canonical_value(const char *name, CoreConfigKind kind, const char *choices, const char *value,
                                 CoreText *canonical);
#endif
