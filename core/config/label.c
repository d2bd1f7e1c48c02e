/* Readable names of runs (label.h). */
#include "core/config/label.h"

#include <stdlib.h>
#include <string.h>

static const char SEED[] = "train.seed";

/* Whether a setting may be part of a name: it affects results and belongs to the run, not to a program's start. */
static bool is_named(const char *section, const char *name) {
  const CoreConfigRow *row = core_config_find(name);
  if (strcmp(section, "program") == 0 || strcmp(section, "metric") == 0 || strcmp(name, SEED) == 0) return false;
  return !row || row->identity;
}

/* Flattens {"ppo": {"com": 8}} to {"ppo.com": 8}. NULL: not an object. */
static json_t *flatten(const char *config) {
  json_t *root = json_loads(config ? config : "", 0, NULL), *flat = NULL, *settings, *value;
  const char *section, *key;
  if (json_is_object(root)) flat = json_object();
  json_object_foreach(root, section, settings) {
    json_object_foreach(settings, key, value) {
      char name[2 * CORE_CONFIG_TEXT];
      snprintf(name, sizeof name, "%.200s.%.200s", section, key);
      if (is_named(section, name)) json_object_set(flat, name, value);
    }
  }
  json_decref(root);
  return flat;
}

static void note_differences(const json_t *a, const json_t *b, json_t *differs) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)a, name, value) {
    if (!json_equal(value, json_object_get(b, name))) json_object_set_new(differs, name, json_true());
  }
}

void core_labels_add(CoreLabels *labels, const char *config) {
  json_t *flat = flatten(config);
  if (!flat) return;
  if (!labels->first) {
    labels->first = flat;
    labels->differs = json_object();
    return;
  }
  note_differences(flat, labels->first, labels->differs);
  note_differences(labels->first, flat, labels->differs);
  json_decref(flat);
}

/* Whether another differing setting has the same last part: ppo.epochs, pqn.epochs. */
static bool is_ambiguous(const json_t *differs, const char *name) {
  const char *other, *key = strchr(name, '.') + 1;
  json_t *unused;
  json_object_foreach((json_t *)differs, other, unused) {
    if (strcmp(other, name) != 0 && strcmp(strchr(other, '.') + 1, key) == 0) return true;
  }
  return false;
}

/* Appends text with only characters that are safe in file names and not separators of a name. */
static void append_safe(CoreText *text, const char *component) {
  static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
  for (; *component; component++) core_text_append_bytes(text, strchr(safe, *component) ? component : "_", 1);
}

static void append_value(CoreText *text, const json_t *value) {
  char number[32];
  if (json_is_string(value)) append_safe(text, json_string_value(value));
  else if (json_is_boolean(value)) core_text_append(text, json_is_true(value) ? "yes" : "no");
  else if (json_is_integer(value)) core_text_appendf(text, "%lld", (long long)json_integer_value(value));
  else if (json_is_real(value)) core_text_append(text, core_text_from_real(json_real_value(value), number));
  else core_text_append(text, "none");
}

static void append_pair(CoreText *text, const char *key, const json_t *value) {
  if (text->length) core_text_append(text, ",");
  append_safe(text, key);
  core_text_append(text, "=");
  append_value(text, value);
}

void core_labels_format(const CoreLabels *labels, const char *config, char label[CORE_LABEL_MAX]) {
  static const char end[] = "...";
  json_t *flat = flatten(config), *all = json_loads(config ? config : "", 0, NULL), *unused;
  const json_t *seed = json_object_get(json_object_get(all, "train"), "seed");
  const char *name;
  CoreText text = {0}, tail = {0};

  json_object_foreach(labels->differs, name, unused) {
    const json_t *value = json_object_get(flat, name);
    if (value) append_pair(&text, is_ambiguous(labels->differs, name) ? name : strchr(name, '.') + 1, value);
  }
  if (seed) append_pair(&tail, "seed", seed);

  /* The seed is kept whole; a long list of settings is cut. */
  const size_t room = CORE_LABEL_MAX - tail.length - sizeof end - 1;
  const bool is_long = text.length > room;
  if (is_long) text.data[room] = '\0';
  snprintf(label, CORE_LABEL_MAX, "%s%s%s%s", core_text_string(&text), is_long ? end : "",
           text.length && tail.length ? "," : "", core_text_string(&tail));
  if (!*label) snprintf(label, CORE_LABEL_MAX, "run");

  core_text_free(&text);
  core_text_free(&tail);
  json_decref(flat);
  json_decref(all);
}

void core_labels_free(CoreLabels *labels) {
  json_decref(labels->first);
  json_decref(labels->differs);
  *labels = (CoreLabels){0};
}
