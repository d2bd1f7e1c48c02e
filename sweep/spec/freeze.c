/* Writes a resolved spec as an experiment file. manifest.c stores it next to the manifest, so that a sweep can be
 * submitted again by name on any machine, even if the original file has changed or is gone. */
#include "sweep/spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/unicode.h"

enum { WRAP_COLUMN = 100, COMMENT_MAX = 4000 };
static const char frozen_mark[] =
  "; The experiment as it was submitted, resolved. Made by sweep submit: edit the original.";

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void append_quoted(CoreText *text, const char *value) {
  core_text_append(text, "\"");
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') core_text_append(text, "\\");
    core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\"");
}

static bool is_plain(const char *value) {
  size_t length = strlen(value);
  return length > 0 && !strpbrk(value, ";#\"\\,") && !strchr(" \t'", value[0]) && !strchr(" \t", value[length - 1]);
}

static void append_value(CoreText *text, const char *value) {
  if (is_plain(value)) core_text_append(text, value);
  else append_quoted(text, value);
}

/* Writer of a comma list that continues on the next line when a line becomes too long. */
typedef struct Wrap {
  CoreText *text;
  size_t line_start;
  bool is_first;
} Wrap;

static void wrap_next(Wrap *wrap) {
  if (!wrap->is_first) core_text_append(wrap->text, ", ");
  wrap->is_first = false;
  if (wrap->text->length - wrap->line_start < WRAP_COLUMN) return;
  core_text_append(wrap->text, "\\\n  ");
  wrap->line_start = wrap->text->length;
}

static void append_list(CoreText *text, const SweepValueList *list) {
  core_text_appendf(text, "%s = ", list->row->name);
  if (list->count == 1 && !is_plain(list->values[0].text)) {
    /* The INI reader strips the quotes of a value that is one quoted string; the list parser needs another pair. */
    CoreText inner = {0};
    append_quoted(&inner, list->values[0].text);
    append_quoted(text, core_text_string(&inner));
    core_text_free(&inner);
  } else {
    Wrap wrap = {text, text->length, true};
    for (size_t i = 0; i < list->count; i++) {
      wrap_next(&wrap);
      append_value(text, list->values[i].text);
    }
  }
  core_text_append(text, "\n");
}

/* Appends seeds as ranges, "0..4, 7..7": a lone "5" would be a count. */
static void append_seeds(CoreText *text, const SweepSpec *spec) {
  Wrap wrap = {text, text->length, true};
  core_text_append(text, "seeds = ");
  for (size_t i = 0; i < spec->seed_count;) {
    size_t end = i + 1;
    while (end < spec->seed_count && spec->seeds[end] == spec->seeds[end - 1] + 1) end++;
    wrap_next(&wrap);
    core_text_appendf(text, "%lld..%lld", (long long)spec->seeds[i], (long long)spec->seeds[end - 1]);
    i = end;
  }
  core_text_append(text, "\n");
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

static void append_base(CoreText *text, const SweepSpec *spec) {
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);

  if (spec->base.program) {
    core_text_append(text, "\n");
    core_script_to_ini(spec->base.program, text);
    if (!spec->is_mixed) return;
  }

  const CoreConfig *base = spec->is_mixed ? &spec->trainer : &spec->base;
  const char *section = "";
  CoreText value = {0};
  for (size_t i = 0; i < count; i++) {
    const char *current = core_config_get(base, &rows[i], &value);
    if (strcmp(current, rows[i].def) == 0 || strcmp(rows[i].name, "train.seed") == 0) continue;
    if (strcmp(section, rows[i].section) != 0) core_text_appendf(text, "\n[%s]\n", rows[i].section);
    section = rows[i].section;
    core_text_appendf(text, "%s = ", rows[i].key);
    append_value(text, current);
    core_text_append(text, "\n");
  }

  core_text_free(&value);
}

static void append_block_resources(CoreText *text, const SweepBlock *block) {
  for (size_t i = 0; i < block->resource_count; i++) {
    core_text_appendf(text, "slurm.%s = ", block->resources[i].key);
    append_value(text, block->resources[i].value);
    core_text_append(text, "\n");
  }
}

static void append_blocks(CoreText *text, const char *kind, const SweepBlock *blocks, size_t count) {
  for (size_t b = 0; b < count; b++) {
    core_text_appendf(text, "\n[%s %s]\n", kind, blocks[b].name);
    if (blocks[b].is_trainer) core_text_append(text, "program = no\n");
    for (size_t i = 0; i < blocks[b].count; i++) append_list(text, &blocks[b].lists[i]);
    append_block_resources(text, &blocks[b]);
  }
}

static void append_searches(CoreText *text, const SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++) {
    core_text_appendf(text, "\n[search %s]\n", spec->searches[i].name);
    core_search_print(&spec->searches[i].space, text);
    append_block_resources(text, &spec->searches[i].block);
  }
}

static void append_resources(CoreText *text, const SweepSpec *spec) {
  if (spec->resource_count) core_text_append(text, "\n[slurm]\n");
  for (size_t i = 0; i < spec->resource_count; i++) {
    core_text_appendf(text, "%s = ", spec->resources[i].key);
    append_value(text, spec->resources[i].value);
    core_text_append(text, "\n");
  }
}

static void append_plan(CoreText *text, const SweepSpec *spec) {
  CoreText value = {0};
  core_text_appendf(&value, "%s" CORE_SHA256_MARK "%s", spec->plan, spec->plan_hash);
  core_text_append(text, "plan = ");
  append_value(text, core_text_string(&value));
  core_text_append(text, "\n");
  core_text_free(&value);
}

/* ---- comments -------------------------------------------------------------------------------------------------- */

/* Appends a comment for each line of `string`; splits very long lines, since the reader limits their length.
 * --set and file names may hold what no INI line may. */
static void append_comment(CoreText *text, const char *prefix, const char *string) {
  char *plain = core_text_duplicate(string);
  core_unicode_mask(plain);
  for (const char *tail = plain; *tail;) {
    const size_t length = strcspn(tail, "\n");
    size_t taken = length < COMMENT_MAX ? length : COMMENT_MAX;
    while (taken < length && ((unsigned char)tail[taken] & 0xc0) == 0x80) taken--; /* between characters */
    core_text_append(text, prefix);
    core_text_append_bytes(text, tail, taken);
    core_text_append(text, "\n");
    tail += taken + (taken == length && tail[length] == '\n');
  }
  free(plain);
}

/* Appends the original text. For a frozen file that is frozen again (sweep submit --seeds) that is the text inside it;
 * otherwise it would contain itself. */
static void append_original(CoreText *text, const char *source) {
  static const char headline[] = "\n; The original file:\n";
  const char *inside = strstr(source, headline);
  if (inside && strncmp(source, frozen_mark, sizeof frozen_mark - 1) == 0) {
    core_text_append(text, inside);
    return;
  }
  core_text_append(text, headline);
  append_comment(text, "; | ", source);
}

void sweep_freeze_print(const SweepSpec *spec, CoreText *text) {
  core_text_appendf(text, "%s\n", frozen_mark);
  append_comment(text, "; file: ", spec->ini.file);
  append_comment(text, "; profile: ", spec->profile[0] ? spec->profile : "none");
  for (size_t i = 0; i < spec->set_count; i++) append_comment(text, "; --set ", spec->sets[i]);

  core_text_appendf(text, "\n[sweep]\nname = %s\n", spec->name);
  append_seeds(text, spec);
  if (spec->unread_allowed) core_text_append(text, "unread = allow\n");
  if (*spec->plan) append_plan(text, spec);

  append_base(text, spec);
  append_blocks(text, "zip", spec->zips, spec->zip_count);
  append_blocks(text, "grid", spec->grids, spec->grid_count);
  append_searches(text, spec);
  append_resources(text, spec);
  sweep_stop_print(&spec->stop, text);
  append_original(text, core_text_string(&spec->source));
}
