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

static const char *const scales[] = {[CORE_SEARCH_LINEAR] = "", [CORE_SEARCH_LOG] = "log ",
                                     [CORE_SEARCH_LOGIT] = "logit ", [CORE_SEARCH_POW2] = "pow2 "};

void core_search_axis_print(const CoreSearch *search, size_t axis, CoreText *text) {
  const CoreSearchAxis *of = &search->axes[axis];
  char low[32], high[32];
  if (of->choices) core_text_append(text, "choice ");
  for (size_t c = 0; c < of->choice_count; c++) {
    if (c > 0) core_text_append(text, ", ");
    append_item(text, of->choices[c]);
  }
  if (!of->choices)
    core_text_appendf(text, "%s%s .. %s", scales[of->scale], core_text_from_real(of->low, low),
                      core_text_from_real(of->high, high));
  if (of->parent != CORE_SEARCH_NO_PARENT) append_condition(search, of, text);
}

const char *core_search_method_print(const CoreSearch *search, CoreText *text) {
  static const char *const words[] = {"random", "sobol", "tpe", "optuna:", "command:"};
  core_text_appendf(text, "%s%s", words[search->method], search->program ? search->program : "");
  return core_text_string(text);
}

const char *core_search_goals_print(const CoreSearch *search, CoreText *text) {
  for (size_t g = 0; g < search->goal_count; g++)
    core_text_appendf(text, "%s%s %s", g ? ", " : "", search->goals[g].minimize ? "min" : "max",
                      search->goals[g].measure);
  return core_text_string(text);
}

/* Appends the line of the method, with the hash of a program. */
static void append_method(const CoreSearch *search, CoreText *text) {
  CoreText method = {0};
  core_search_method_print(search, &method);
  if (*search->program_hash) core_text_appendf(&method, CORE_SHA256_MARK "%s", search->program_hash);
  core_text_append(text, "method = ");
  if (search->program) append_item(text, core_text_string(&method));
  else core_text_append(text, core_text_string(&method));
  core_text_append(text, "\n");
  core_text_free(&method);
}

void core_search_print(const CoreSearch *search, CoreText *text) {
  append_method(search, text);
  core_text_appendf(text, "trials = %lld\ngoal = ", (long long)search->trials);
  core_search_goals_print(search, text);
  core_text_append(text, "\n");
  if (core_search_is_adaptive(search))
    core_text_appendf(text, "startup = %lld\nwave = %lld\n", (long long)search->startup, (long long)search->wave);
  if (core_search_has_program(search)) core_text_appendf(text, "timeout = %lld\n", (long long)search->timeout_s);
  for (size_t i = 0; i < search->count; i++) {
    core_text_appendf(text, "%s = ", search->axes[i].row->name);
    core_search_axis_print(search, i, text);
    core_text_append(text, "\n");
  }
}
