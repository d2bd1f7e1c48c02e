/* Resolves parents that are named by settings. */
#include "sweep/spec/parent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/text.h"

static const char prefix[] = "run:{";

/* Applies the settings between the braces to `parent`; modifies the text. */
static int apply_settings(char *settings, CoreConfig *parent) {
  size_t count = 0;
  for (char *pair; (pair = strsep(&settings, " "));) {
    if (!*pair) continue;
    if (strncmp(pair, "init.", 5) == 0)
      return core_error(CORE_USAGE, "%.80s: a parent cannot have an [init] itself", pair);
    TRY(core_config_set_pair(parent, pair));
    count++;
  }
  if (count == 0)
    return core_error(CORE_USAGE,
                      "the braces are empty; name the settings in which the parent differs: run:{ppo.com=8}");
  return CORE_OK;
}

static int resolve(const char *from, CoreConfig *config) {
  const char *open = from + sizeof prefix - 1, *close = strchr(open, '}');
  char id[CORE_RUN_ID], found[CORE_CONFIG_TEXT];
  if (!close || (close[1] && close[1] != '@'))
    return core_error(CORE_USAGE, "expected run:{key=value key=value} or run:{key=value}@<iteration>");
  CoreConfig parent = *config;
  parent.init = core_config_default().init;
  char *settings = core_text_duplicate(open);
  settings[close - open] = '\0';
  int code = apply_settings(settings, &parent);
  free(settings);
  if (code != CORE_OK) return code;
  core_config_id(&parent, id);
  snprintf(found, sizeof found, "run:%s%s", id, close + 1);
  memcpy(config->init.from, found, sizeof found);
  return CORE_OK;
}

int sweep_parent_resolve(CoreConfig *config) {
  char from[CORE_CONFIG_TEXT];
  if (strncmp(config->init.from, prefix, sizeof prefix - 1) != 0) return CORE_OK;
  memcpy(from, config->init.from, sizeof from);
  int code = resolve(from, config);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "init.from = %.120s", from);
}
