/* Formats a search as text for sweep.ini, plans and captions. */
#include <string.h>

#include "core/search/search.h"

static void append_item(CoreText *text, const char *value) {
  const bool is_plain = *value && !strpbrk(value, ",;#\"\\ \t");
  if (is_plain) {
    core_text_append(text, value);
    return;
  }
  core_text_append(text, "\"");
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') core_text_append(text, "\\");
    core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\"");
}

static void append_condition(const CoreSearch *search, const CoreSearchAxis *axis, CoreText *text) {
  const CoreSearchAxis *parent = &search->axes[axis->parent];
  const char *separator = " = ";
  core_text_appendf(text, " when %s", parent->row->name);
  for (size_t c = 0; c < parent->choice_count; c++) {
    if (!(axis->when >> c & 1)) continue;
    core_text_append(text, separator);
    append_item(text, parent->choices[c]);
    separator = ", ";
  }
}

void core_search_axis_print(const CoreSearch *search, size_t axis, CoreText *text) {
  const CoreSearchAxis *of = &search->axes[axis];
  char low[32], high[32];
  if (of->choices) core_text_append(text, "choice ");
  for (size_t c = 0; c < of->choice_count; c++) {
    if (c > 0) core_text_append(text, ", ");
    append_item(text, of->choices[c]);
  }
  if (!of->choices)
    core_text_appendf(text, "%s%s .. %s", of->is_log ? "log " : "", core_text_from_real(of->low, low),
                      core_text_from_real(of->high, high));
  if (of->parent != CORE_SEARCH_NO_PARENT) append_condition(search, of, text);
}

void core_search_print(const CoreSearch *search, CoreText *text) {
  core_text_appendf(text, "method = %s\ntrials = %lld\ngoal = %s %s\n", core_search_method_name(search->method),
                    (long long)search->trials, search->minimize ? "min" : "max", search->measure);
  if (search->method == CORE_SEARCH_TPE)
    core_text_appendf(text, "startup = %lld\nwave = %lld\n", (long long)search->startup, (long long)search->wave);
  for (size_t i = 0; i < search->count; i++) {
    core_text_appendf(text, "%s = ", search->axes[i].row->name);
    core_search_axis_print(search, i, text);
    core_text_append(text, "\n");
  }
}
