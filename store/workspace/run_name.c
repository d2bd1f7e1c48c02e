/* Resolves a run named on the command line to its id. Only ids are returned: no text of the command line becomes a
 * path; directories are reduced to their digits. */
#include "store/workspace/run_name.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/paths.h"

enum { LISTED_MAX = 6 };
static const char digits[] = "0123456789abcdef";

/* ---- prefixes -------------------------------------------------------------------------------------------------- */

static bool is_prefix(const char *text) {
  const size_t length = strlen(text);
  return length >= STORE_PREFIX_MIN && length < CORE_RUN_ID && strspn(text, digits) == length;
}

static int ambiguous(const char (*ids)[CORE_RUN_ID], size_t count, const char *prefix, const char *where) {
  CoreText list = {0};
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (strncmp(ids[i], prefix, strlen(prefix)) != 0) continue;
    if (found++ < LISTED_MAX) core_text_appendf(&list, "%s%s", found > 1 ? ", " : "", ids[i]);
  }
  core_error(CORE_USAGE, "%zu runs of %s begin with '%s': %s%s; give more digits", found, where, prefix,
             core_text_string(&list), found > LISTED_MAX ? " ..." : "");
  core_text_free(&list);
  return CORE_USAGE;
}

int store_run_pick(const char (*ids)[CORE_RUN_ID], size_t count, const char *prefix, const char *where, size_t *index) {
  const size_t length = strlen(prefix);
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (strncmp(ids[i], prefix, length) != 0) continue;
    *index = i;
    found++;
  }
  if (found == 1) return CORE_OK;
  if (found > 1) return ambiguous(ids, count, prefix, where);
  return core_error(CORE_USAGE, "no run of %s has an id that begins with '%.40s', of %zu", where, prefix, count);
}

/* ---- manifests -------------------------------------------------------------------------------------------------- */

typedef struct Members { char (*ids)[CORE_RUN_ID]; size_t count, capacity; } Members;

bool store_manifest_line(char *line, int64_t *index, const char **id) {
  char *tab = strchr(line, '\t');
  if (!tab) return false;
  *tab = '\0';
  *id = tab + 1;
  return core_text_to_int(line, index) && *index >= 0 && store_is_run_id(*id);
}

int store_manifest_write(const char *root, const char *name, const char (*ids)[CORE_RUN_ID], size_t count) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(store_path_sweep(root, name, "manifest.tsv", path));
  core_text_appendf(&text, "# manifest %d %s\n" STORE_MANIFEST_COLUMNS "\n", STORE_MANIFEST_VERSION, name);
  for (size_t i = 0; i < count; i++) core_text_appendf(&text, "%zu\t%s\n", i, ids[i]);
  const int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

bool store_sweep_is_imported(const char *root, const char *name) {
  char path[CORE_PATH_MAX], *text;
  size_t size;
  bool is_imported = false;
  const bool is_read = store_path_sweep(root, name, "sweep.ini", path) == CORE_OK &&
                       core_files_read(path, 0, &text, &size) == CORE_OK;
  if (is_read) {
    is_imported = strstr(text, "\n[import]\n") != NULL;
    free(text);
  }
  core_error_clear();
  return is_imported;
}

/* Appends a sweep's runs that begin with `prefix`, or the one at index `wanted` if it is not negative, and sets *top to
 * the highest index. Ignores invalid lines. */
static int read_members(const char *root, const char *name, const char *prefix, int64_t wanted, int64_t *top,
                        Members *members) {
  char path[CORE_PATH_MAX], *data, *save = NULL;
  size_t size;
  int64_t index;
  const char *id;

  TRY(store_path_sweep(root, name, "manifest.tsv", path));
  TRY(core_files_read(path, 0, &data, &size));

  for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (!store_manifest_line(line, &index, &id)) continue;
    if (index > *top) *top = index;
    if (wanted >= 0 ? index != wanted : strncmp(id, prefix, strlen(prefix)) != 0) continue;
    if (members->count == members->capacity) {
      members->capacity = members->capacity ? 2 * members->capacity : 16;
      members->ids = core_memory_resize(members->ids, members->capacity * sizeof *members->ids);
    }
    memcpy(members->ids[members->count++], id, CORE_RUN_ID);
  }

  free(data);
  return CORE_OK;
}

static bool is_sweep(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  const bool is = core_text_check_name(name, "sweep") == CORE_OK &&
                  store_path_sweep(root, name, "manifest.tsv", path) == CORE_OK && core_files_exists(path);
  core_error_clear();
  return is;
}

/* Adds the runs of all sweeps, some of which have no directory yet. Ignores unreadable manifests. */
static int add_members(const char *root, const char *prefix, Members *members) {
  char directory[CORE_PATH_MAX], **names;
  size_t count;
  int64_t top = -1;
  TRY(core_files_path(directory, "%s/sweeps", root));
  if (!core_files_exists(directory)) return CORE_OK;
  TRY(core_files_list(directory, &names, &count));
  for (size_t i = 0; i < count; i++) {
    if (is_sweep(root, names[i]) && read_members(root, names[i], prefix, -1, &top, members) != CORE_OK)
      core_error_clear();
    free(names[i]);
  }
  free(names);
  return CORE_OK;
}

static int by_id(const void *a, const void *b) { return strcmp(a, b); }

static void drop_repeated(Members *members) {
  size_t kept = 0;
  if (members->count == 0) return;
  qsort(members->ids, members->count, sizeof *members->ids, by_id);
  for (size_t i = 0; i < members->count; i++)
    if (kept == 0 || strcmp(members->ids[kept - 1], members->ids[i]) != 0)
      memmove(members->ids[kept++], members->ids[i], CORE_RUN_ID);
  members->count = kept;
}

static int by_prefix(const char *root, const char *prefix, char id[CORE_RUN_ID]) {
  Members members = {0};
  size_t index = 0;
  int code;

  TRY_GOTO(code, out, store_path_list_runs(root, prefix, &members.ids, &members.count));
  members.capacity = members.count;
  if (members.count == 0 || !store_is_run_id(prefix)) TRY_GOTO(code, out, add_members(root, prefix, &members));
  drop_repeated(&members);

  if (members.count == 0 && store_is_run_id(prefix))
    code = core_error(CORE_USAGE, "run %s does not exist in %s; sweep status --runs lists all runs", prefix, root);
  else if (members.count == 0)
    code = core_error(CORE_USAGE, "no run of %s has an id that begins with '%s'; sweep status --runs lists all runs",
                      root, prefix);
  else code = store_run_pick((const char(*)[CORE_RUN_ID])members.ids, members.count, prefix, root, &index);

  if (code == CORE_OK) memcpy(id, members.ids[index], CORE_RUN_ID);
out:
  free(members.ids);
  return code;
}

/* ---- sweeps and indices ------------------------------------------------------------------------------------------ */

/* Parses "NAME/INDEX" of a sweep of the workspace; false: not of this form. */
static bool split_index(const char *root, const char *text, char *name, size_t size, int64_t *index) {
  const char *slash = strchr(text, '/');
  if (!slash || (size_t)(slash - text) >= size) return false;
  memcpy(name, text, (size_t)(slash - text));
  name[slash - text] = '\0';
  return strspn(slash + 1, "0123456789") == strlen(slash + 1) && core_text_to_int(slash + 1, index) &&
         is_sweep(root, name);
}

static int by_index(const char *root, const char *text, const char *name, int64_t index, char id[CORE_RUN_ID]) {
  Members members = {0};
  int64_t top = -1;
  int code = read_members(root, name, "", index, &top, &members);
  if (code == CORE_OK && members.count == 0)
    code = core_error(CORE_USAGE, "'%.80s' does not exist: %s has the indices 0 to %lld", text, name, (long long)top);
  if (code == CORE_OK) memcpy(id, members.ids[0], CORE_RUN_ID);
  free(members.ids);
  return code;
}

/* ---- directories ------------------------------------------------------------------------------------------------ */

/* Finds the digits at the end of .../runs/ab/<digits> or .../runs/<digits>; NULL: another path. Sets *workspace to the
 * length of the part before runs. */
static const char *digits_of(const char *path, size_t *workspace) {
  const char *last = strrchr(path, '/'), *before = last;
  if (!last || !is_prefix(last + 1)) return NULL;
  if (last - path >= 3 && last[-3] == '/' && strncmp(last - 2, last + 1, 2) == 0) before = last - 3;
  if (before - path < 4 || strncmp(before - 4, "runs", 4) != 0) return NULL;
  *workspace = (size_t)(before - 4 - path);
  return *workspace == 0 || path[*workspace - 1] == '/' ? last + 1 : NULL;
}

/* Resolves a directory, which must be in this workspace if it exists. A missing or truncated one is searched in it. */
static int by_directory(const char *root, const char *text, char id[CORE_RUN_ID]) {
  char path[CORE_PATH_MAX], real[PATH_MAX], here[PATH_MAX];
  size_t length = strlen(text), workspace = 0;

  while (length > 1 && text[length - 1] == '/') length--;
  TRY(core_files_path(path, "%.*s", (int)length, text));
  const bool is_there = realpath(path, real) != NULL;
  const char *prefix = digits_of(is_there ? real : path, &workspace);

  if (!prefix)
    return core_error(CORE_USAGE, "'%.200s' is not a run of %s: expected SWEEP/INDEX of a sweep there, or a run's "
                      "directory (runs/ab/<id>)", text, root);

  if (is_there && workspace > 0 && realpath(root, here)) {
    if (workspace > 1) real[workspace - 1] = '\0';
    if (strcmp(real, here) != 0)
      return core_error(CORE_USAGE, "'%.200s' is a run of the workspace %s, and this one is %s; add --root %s", text,
                        real, here, real);
  }

  return by_prefix(root, prefix, id);
}

/* ---- interface------------------------------------------------------------------------------------------------- */

int store_run_find(const char *root, const char *text, char id[CORE_RUN_ID]) {
  char name[128];
  int64_t index;
  if (*text == '\'') text++; /* copied from a CSV (core_text_append_cell) */
  if (is_prefix(text)) return by_prefix(root, text, id);
  if (split_index(root, text, name, sizeof name, &index)) return by_index(root, text, name, index, id);
  if (strchr(text, '/')) return by_directory(root, text, id);
  return core_error(CORE_USAGE, "'%.80s' is not a run of %s; expected a run's id or at least %d of its first digits "
                    "(0-9, a-f), SWEEP/INDEX, or the directory runs/ab/<id>", text, root, STORE_PREFIX_MIN);
}

/* Reads the runs of the first sweep that has the run. */
static int find_siblings(const char *root, const char *id, Members *siblings) {
  char directory[CORE_PATH_MAX], **names;
  size_t count;
  int64_t top = -1;

  TRY(core_files_path(directory, "%s/sweeps", root));
  TRY(core_files_list(directory, &names, &count));

  for (size_t i = 0; i < count; i++) {
    Members found = {0};
    const bool has_run = siblings->count == 0 && is_sweep(root, names[i]) &&
                         read_members(root, names[i], id, -1, &top, &found) == CORE_OK && found.count > 0;
    if (has_run && read_members(root, names[i], "", -1, &top, siblings) != CORE_OK) siblings->count = 0;
    free(found.ids);
    free(names[i]);
  }

  free(names);
  return CORE_OK;
}

/* Adds the configuration of a run that has a directory. */
static void add_sibling(const char *root, const char *id, CoreLabels *labels) {
  char path[CORE_PATH_MAX];
  CoreConfig config = core_config_default();
  CoreText json = {0};
  if (store_path_run(root, id, "config.ini", path) == CORE_OK && core_files_exists(path) &&
      core_config_read(path, &config) == CORE_OK) {
    core_config_to_json(&config, &json);
    core_labels_add(labels, core_text_string(&json));
  }
  core_text_free(&json);
}

void store_run_label(const char *root, const char *id, const CoreConfig *config, char label[CORE_LABEL_MAX]) {
  Members siblings = {0};
  CoreLabels labels = {0};
  CoreText json = {0};
  find_siblings(root, id, &siblings);
  core_config_to_json(config, &json);
  core_labels_add(&labels, core_text_string(&json));
  for (size_t i = 0; i < siblings.count; i++) add_sibling(root, siblings.ids[i], &labels);
  core_error_clear();
  core_labels_format(&labels, core_text_string(&json), label);
  core_text_free(&json);
  core_labels_free(&labels);
  free(siblings.ids);
}

int store_run_check_origin(const char *root, const char *from) {
  static const char run[] = "run:";
  char prefix[CORE_RUN_ID], id[CORE_RUN_ID];
  if (strncmp(from, run, strlen(run)) != 0) return CORE_OK;
  const char *text = from + strlen(run);
  const size_t length = strspn(text, digits);
  if (length < STORE_PREFIX_MIN || length >= CORE_RUN_ID - 1 || (text[length] && text[length] != '@')) return CORE_OK;
  snprintf(prefix, sizeof prefix, "%.*s", (int)length, text);
  const int code = by_prefix(root, prefix, id);
  if (code != CORE_OK) return core_error_context(code, "init.from = %.80s", from);
  return core_error(CORE_USAGE, "init.from = %.80s: it becomes part of this run's own id, so the whole id has to stand "
                    "there: run:%s%.40s", from, id, text + length);
}
