/* Compares texts of sweeps with the user's list (trust.h). */
#include "sweep/spec/trust.h"

#include <string.h>

#include "core/unicode.h"
#include "store/code/trust.h"
#include "sweep/spec/freeze.h"

static const char kind[] = "text";

/* Appends the text that sweep.ini has or gets. */
static void append_text(const SweepSpec *spec, CoreText *text) {
  if (spec->frozen) core_text_append(text, core_text_string(&spec->source));
  else sweep_freeze_print(spec, text);
}

static bool has_setup(const SweepResource *resources, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(resources[i].key, "setup") == 0) return true;
  return false;
}

/* Appends what the list has the hash of: the text, and the workspace if jobs run shell lines there (slurm.setup). All
 * other paths in the text are absolute, or their files are hashed, so copies and moves of a workspace stay trusted. */
static void append_record(const char *root, const SweepSpec *spec, const char *text, CoreText *bytes) {
  bool is_bound = has_setup(spec->resources, spec->resource_count);
  for (size_t i = 0; i < spec->grid_count; i++)
    is_bound |= has_setup(spec->grids[i].resources, spec->grids[i].resource_count);
  for (size_t i = 0; i < spec->search_count; i++)
    is_bound |= has_setup(spec->searches[i].block.resources, spec->searches[i].block.resource_count);
  core_text_appendf(bytes, "%s\n%s", is_bound ? root : "", text);
}

static int find(const char *root, const SweepSpec *spec, const char *text, bool *is_accepted) {
  CoreText bytes = {0};
  append_record(root, spec, text, &bytes);
  const int code = store_trust_find_record(kind, spec->name, bytes.data, bytes.length, is_accepted);
  core_text_free(&bytes);
  return code;
}

static int refuse(const SweepSpec *spec) {
  return core_error(CORE_USAGE, "%s: this is a sweep that you have not trusted: %s; review it, then pass --trust once",
                    spec->ini.file, spec->doubt.length ? spec->doubt.data : "it was not read from a file of yours");
}

int sweep_trust_check(const char *root, const SweepSpec *spec) {
  CoreText text = {0};
  bool is_accepted;
  if (spec->is_own_file) return CORE_OK;
  TRY(find(root, spec, core_text_string(&spec->source), &is_accepted)); /* also with --set, or more seeds */
  append_text(spec, &text);
  const int code = is_accepted ? CORE_OK : find(root, spec, core_text_string(&text), &is_accepted);
  core_text_free(&text);
  TRY(code);
  return is_accepted ? CORE_OK : refuse(spec);
}

int sweep_trust_accept(const char *root, const SweepSpec *spec) {
  CoreText text = {0}, bytes = {0};
  append_text(spec, &text);
  append_record(root, spec, core_text_string(&text), &bytes);
  const int code = store_trust_grant_record(kind, spec->name, bytes.data, bytes.length);
  core_text_free(&text);
  core_text_free(&bytes);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "cannot note that %s may run", spec->name);
}

void sweep_trust_print(const SweepSpec *spec, FILE *out) {
  CoreText text = {0};
  char *save;
  bool is_continued = false; /* a line that looks like a comment may be the rest of a quoted value */
  append_text(spec, &text);
  core_unicode_mask(text.data);
  for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if ((*line != ';' && *line != '#') || is_continued) fprintf(out, "  %s\n", line);
    is_continued = strchr(line, '\\') != NULL;
  }
  core_text_free(&text);
}
