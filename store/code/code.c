/* Hashes files and versions (code.h). */
#include "store/code/code.h"

#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/process.h"

enum { FOUND_MAX = 16, FILES_SHOWN = 6, SHORT_HASH = 12, FINDER_S = 120 };
static const char library_prefix[] = "library:", gym_prefix[] = "gym/";

/* Cached result for a configuration. */
typedef struct Found {
  char *key;
  StoreCode code;
} Found;

static Found found[FOUND_MAX];
static size_t found_count;

/* Code being collected. */
typedef struct Draft {
  CoreText lines, brought, files, modules, summary;
  size_t file_count, cut;
  bool runs;          /* whether its files would be executed */
} Draft;

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

void store_code_hash_bytes(const void *bytes, size_t size, char hash[STORE_CODE_HASH]) {
  unsigned char sum[(STORE_CODE_HASH - 1) / 2];
  crypto_generichash(sum, sizeof sum, bytes, size, NULL, 0);
  sodium_bin2hex(hash, STORE_CODE_HASH, sum, sizeof sum);
}

/* Hashes a file, and writes its bytes to `copy`; -1: nowhere. */
static int hash_file(const char *path, int copy, char hash[STORE_CODE_HASH]) {
  unsigned char sum[(STORE_CODE_HASH - 1) / 2], piece[1 << 16];
  crypto_generichash_state state;
  FILE *file;
  int code = CORE_OK;

  TRY(core_files_open_plain(path, &file));
  crypto_generichash_init(&state, NULL, 0, sizeof sum);
  for (size_t got; code == CORE_OK && (got = fread(piece, 1, sizeof piece, file)) > 0;) {
    crypto_generichash_update(&state, piece, (unsigned long long)got);
    if (copy >= 0 && write(copy, piece, got) != (ssize_t)got)
      code = core_error_errno(CORE_FAIL, "cannot copy %s", path);
  }

  if (code == CORE_OK && ferror(file)) code = core_error_errno(CORE_FAIL, "%s", path);
  fclose(file);
  crypto_generichash_final(&state, sum, sizeof sum);
  sodium_bin2hex(hash, STORE_CODE_HASH, sum, sizeof sum);
  return code;
}

int store_code_hash_file(const char *path, char hash[STORE_CODE_HASH]) { return hash_file(path, -1, hash); }

int store_code_open(const StoreCode *code, const char *path, int *fd) {
  char hash[STORE_CODE_HASH];
  CoreText line = {0};
  const int copy = memfd_create("code", MFD_CLOEXEC);
  if (copy < 0) return core_error_errno(CORE_FAIL, "cannot copy %s to memory", path);
  int result = hash_file(path, copy, hash);
  core_text_appendf(&line, "file\t%s\t%s\n", path, hash);
  if (result == CORE_OK && !strstr(code->modules, core_text_string(&line)))
    result = core_error(CORE_FAIL, "%s: changed after it was hashed; start the run again", path);
  core_text_free(&line);
  if (result == CORE_OK) *fd = copy;
  else close(copy);
  return result;
}

/* ---- collection -------------------------------------------------------------------------------------------------- */

/* Appends a name; counts those that do not fit. */
static void summarize(Draft *draft, const char *name, const char *value, int digits) {
  const size_t room = STORE_CODE_SUMMARY - 32;
  if (draft->cut > 0 || draft->summary.length + strlen(name) + (size_t)digits + 3 > room) draft->cut++;
  else core_text_appendf(&draft->summary, "%s%s %.*s", draft->summary.length ? ", " : "", name, digits, value);
}

static int add_file(Draft *draft, const char *name, const char *path) {
  char hash[STORE_CODE_HASH];
  TRY(store_code_hash_file(path, hash));
  core_text_appendf(&draft->lines, "file\t%s\t%s\n", name, hash);
  core_text_appendf(&draft->brought, "%s\t%s\n", name, hash);
  core_text_appendf(&draft->modules, "file\t%s\t%s\n", path, hash);
  if (draft->file_count++ < FILES_SHOWN)
    core_text_appendf(&draft->files, "%s%s (BLAKE2b %s)", draft->files.length ? ", " : "", path, hash);
  summarize(draft, name, hash, SHORT_HASH);
  return CORE_OK;
}

/* Adds an installed library: it is recorded, but needs no trust. */
static int add_library(Draft *draft, const char *path) {
  char hash[STORE_CODE_HASH];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  TRY(store_code_hash_file(path, hash));
  core_text_appendf(&draft->lines, "library\t%s\t%s\n", name, hash);
  summarize(draft, name, hash, SHORT_HASH);
  return CORE_OK;
}

static void finish(Draft *draft, StoreCode *code) {
  *code = (StoreCode){.lines = core_text_duplicate(core_text_string(&draft->lines)),
                      .modules = core_text_duplicate(core_text_string(&draft->modules))};
  if (draft->lines.length > 0) store_code_hash_bytes(draft->lines.data, draft->lines.length, code->hash);
  if (draft->runs && draft->file_count > 0)
    store_code_hash_bytes(draft->brought.data, draft->brought.length, code->brought);
  if (draft->file_count > FILES_SHOWN)
    core_text_appendf(&draft->files, " and %zu more files (BLAKE2b %s of all)", draft->file_count - FILES_SHOWN,
                      code->brought);
  code->files = core_text_duplicate(core_text_string(&draft->files));
  if (draft->cut > 0) core_text_appendf(&draft->summary, " and %zu more", draft->cut);
  snprintf(code->summary, sizeof code->summary, "%s", core_text_string(&draft->summary));
}

static void free_draft(Draft *draft) {
  core_text_free(&draft->lines);
  core_text_free(&draft->brought);
  core_text_free(&draft->files);
  core_text_free(&draft->modules);
  core_text_free(&draft->summary);
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */

/* $HOME, else the user's home directory; NULL: there is none. */
static const char *find_home(void) {
  const char *home = getenv("HOME");
  if (home && *home) return home;
  const struct passwd *user = getpwuid(geteuid());
  return user && user->pw_dir && *user->pw_dir ? user->pw_dir : NULL;
}

const char *store_code_python(const char *setting, char path[CORE_PATH_MAX]) {
  const char *wanted = *setting ? setting : getenv("SWEEP_PYTHON"), *home = find_home();
  if (!wanted || !*wanted) wanted = "python3";
  const bool is_at_home = wanted[0] == '~' && (wanted[1] == '/' || wanted[1] == '\0');
  if (is_at_home && home && core_files_path(path, "%s%s", home, wanted + 1) == CORE_OK) return path;
  return wanted;
}

static bool is_program(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool store_code_find_program(const char *name, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];

  if (strchr(name, '/')) {
    if (*name == '/') return core_files_path(path, "%s", name) == CORE_OK && is_program(path);
    if (!getcwd(directory, sizeof directory)) return false;
    return core_files_path(path, "%s/%s", directory, name) == CORE_OK && is_program(path);
  }

  const char *at = getenv("PATH");
  for (; at && *name; at = *at ? at + 1 : NULL) {
    const size_t length = strcspn(at, ":");
    if (core_files_path(path, "%.*s%s%s", (int)length, at, length ? "/" : "", name) == CORE_OK &&
        is_program(path))
      return true;
    at += length;
  }
  return false;
}

bool store_code_needs_python(const char *task) {
  return strncmp(task, gym_prefix, strlen(gym_prefix)) == 0 || strncmp(task, "atari/", 6) == 0 ||
         strncmp(task, "envpool/", 8) == 0;
}

/* Packages whose versions affect a task, by task id, since nothing may be imported. */
static void list_packages(const char *task, CoreText *packages) {
  static const struct { const char *word, *package; } kinds[] = {
    {"atari/", "ale-py"}, {"gym/ALE/", "ale-py"}, {"envpool/", "envpool"}, {"gym/HalfCheetah-", "mujoco"},
    {"gym/Ant-", "mujoco"}, {"gym/Hopper-", "mujoco"}, {"gym/Walker2d-", "mujoco"}, {"gym/Humanoid-", "mujoco"},
    {"gym/HumanoidStandup-", "mujoco"}, {"gym/Swimmer-", "mujoco"}, {"gym/Reacher-", "mujoco"},
    {"gym/Pusher-", "mujoco"}, {"gym/InvertedPendulum-", "mujoco"}, {"gym/InvertedDoublePendulum-", "mujoco"},
    {"gym/LunarLander", "box2d box2d-py"}, {"gym/BipedalWalker", "box2d box2d-py"},
    {"gym/CarRacing", "box2d box2d-py"}};
  core_text_append(packages, "gymnasium numpy");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strncmp(task, kinds[i].word, strlen(kinds[i].word)) == 0)
      core_text_appendf(packages, " %s", kinds[i].package);
}

/* Parses a line of find_code.py. */
static int take_line(Draft *draft, char *line) {
  const char *kind = strsep(&line, "\t"), *name = line ? strsep(&line, "\t") : NULL;
  if (!line) return core_error(CORE_FAIL, "find_code.py is from another version; reinstall sweep");
  if (strcmp(kind, "file") == 0) return add_file(draft, name, line);
  if (strcmp(kind, "package") == 0) {
    core_text_appendf(&draft->lines, "package\t%s\t%s\n", name, line);
    summarize(draft, name, line, (int)strlen(line));
  }
  if (strcmp(kind, "root") == 0) core_text_appendf(&draft->modules, "root\t%s\t%s\n", name, line);
  return CORE_OK;
}

static int take_lines(Draft *draft, char *text) {
  char *rest;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) TRY(take_line(draft, line));
  return CORE_OK;
}

/* Splits "a.py b.py" into lines. */
static void append_words(CoreText *lines, const char *words) {
  for (const char *word = words + strspn(words, " \t"); *word; word += strspn(word, " \t")) {
    const size_t length = strcspn(word, " \t");
    core_text_append_bytes(lines, word, length);
    core_text_append(lines, "\n");
    word += length;
  }
}

static int run_finder(const CoreConfig *config, const char *module, CoreProcessOutput *output) {
  char program[CORE_PATH_MAX], path[CORE_PATH_MAX];
  CoreText packages = {0}, files = {0};
  const char *python = store_code_python(config->env.python, path);
  int code = core_program_library_file("find_code.py", program);
  list_packages(config->env.task, &packages);
  append_words(&files, config->env.code);
  const char *const arguments[] = {python, "-E", program, module, config->env.folder, core_text_string(&files),
                                   core_text_string(&packages), NULL};
  if (code == CORE_OK) code = core_process_run(arguments, NULL, NULL, FINDER_S, output);
  core_text_free(&packages);
  core_text_free(&files);
  return code;
}

static int find_in_python(const CoreConfig *config, Draft *draft) {
  const char *name = config->env.task + strlen(gym_prefix), *colon = strchr(config->env.task, ':');
  char module[CORE_CONFIG_TEXT] = "";
  CoreProcessOutput output = {0};
  const bool has_module = strncmp(config->env.task, gym_prefix, strlen(gym_prefix)) == 0 && colon;
  if (has_module) snprintf(module, sizeof module, "%.*s", (int)(colon - name), name);

  int code = run_finder(config, module, &output);
  const bool needed = has_module || *config->env.code;

  if (code == CORE_OK && output.exit_code != 0) {
    const size_t length = strcspn(core_text_string(&output.error), "\n");
    code = core_error(CORE_USAGE, "env.task = %.200s: %.*s", config->env.task, (int)(length < 600 ? length : 600),
                      output.error.length ? output.error.data : "Python failed without a message");
  }
  if (code == CORE_OK && output.out.data) code = take_lines(draft, output.out.data);

  core_process_output_free(&output);
  draft->runs = needed;
  if (code == CORE_OK || needed) return code;
  core_error_clear(); /* no suitable Python: the trainer reports that if it needs one */
  return CORE_OK;
}

/* ---- other tasks ------------------------------------------------------------------------------------------------- */

int store_code_library(const CoreConfig *config, char path[CORE_PATH_MAX]) {
  const char *task = config->env.task, *whole = task + strlen(library_prefix), *slash = strrchr(whole, '/');
  if (slash == NULL || slash == whole || slash[1] == '\0')
    return core_error(CORE_USAGE, "env.task = %.200s: must be library:FILE/NAME, a shared library and the name of an "
                      "environment in it", task);
  const int length = (int)(slash - whole);
  if (*whole != '/' && *config->env.folder) {
    TRY(core_files_path(path, "%s/%.*s", config->env.folder, length, whole));
    if (core_files_exists(path)) return CORE_OK;
  }
  return core_files_path(path, "%s%.*s", strchr(whole, '/') == slash ? "./" : "", length, whole);
}

/* Adds env.code of a task that does not use Python. */
static int add_given_files(const CoreConfig *config, Draft *draft) {
  CoreText words = {0};
  char *rest, path[CORE_PATH_MAX];
  int code = CORE_OK;
  append_words(&words, config->env.code);
  for (char *word = words.data ? strtok_r(words.data, "\n", &rest) : NULL; word && code == CORE_OK;
       word = strtok_r(NULL, "\n", &rest)) {
    const bool whole = *word == '/' || !*config->env.folder;
    code = core_files_path(path, "%s%s%s", whole ? "" : config->env.folder, whole ? "" : "/", word);
    if (code == CORE_OK) code = add_file(draft, word, path);
    if (code != CORE_OK) code = core_error_context(CORE_USAGE, "env.code");
  }
  core_text_free(&words);
  return code;
}

static int find_in_library(const CoreConfig *config, Draft *draft) {
  char path[CORE_PATH_MAX];
  TRY(store_code_library(config, path));
  const char *slash = strrchr(path, '/');
  draft->runs = true;
  TRY(add_file(draft, slash ? slash + 1 : path, path));
  return add_given_files(config, draft);
}

/* The trainer reports a missing library. */
static int find_in_build(const CoreConfig *config, Draft *draft) {
  char path[CORE_PATH_MAX];
  const char *home;
  const bool mujoco = strncmp(config->env.task, "mujoco/", 7) == 0;
  if (mujoco && store_code_mujoco(&home, path)) TRY(add_library(draft, path));
  if (strncmp(config->env.task, "procgen/", 8) == 0) {
    TRY(store_code_procgen(&home, path));
    if (core_files_exists(path)) TRY(add_library(draft, path));
  }
  return add_given_files(config, draft);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The files of [program] code. */
static int add_script_files(const CoreScript *program, Draft *draft) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], *rest;
  TRY(core_script_directory(program, directory));
  char *names = core_text_duplicate(core_script_text(program, CORE_SCRIPT_code));
  int code = CORE_OK;
  for (char *name = strtok_r(names, " \t", &rest); name && code == CORE_OK; name = strtok_r(NULL, " \t", &rest)) {
    if (strcmp(name, "none") == 0) continue;
    code = core_files_path_in(directory, name, path);
    if (code == CORE_OK) code = add_file(draft, name, path);
    if (code != CORE_OK) code = core_error_context(CORE_USAGE, "[program] code");
  }
  free(names);
  return code;
}

/* Appends "ppo.py 842d005bb5e3, env.py ..." of lines "file <tab> NAME <tab> HASH". */
static void append_summary(const Draft *draft, CoreText *summary) {
  for (const char *line = core_text_string(&draft->lines); *line; line = strchr(line, '\n') + 1) {
    const char *name = strchr(line, '\t') + 1, *hash = strchr(name, '\t');
    core_text_appendf(summary, "%s%.*s %.*s", summary->length ? ", " : "", (int)(hash - name), name, (int)SHORT_HASH,
                      hash + 1);
  }
}

int store_code_script_hash(const CoreScript *program, char hash[STORE_CODE_HASH], CoreText *summary) {
  Draft draft = {0};
  *hash = '\0';
  const int code = add_script_files(program, &draft);
  if (code == CORE_OK && draft.lines.length > 0) store_code_hash_bytes(draft.lines.data, draft.lines.length, hash);
  if (code == CORE_OK) append_summary(&draft, summary);
  free_draft(&draft);
  return code;
}

/* Reports files that are no longer those of the run id, as its code_files records them. */
static int report_edited(const CoreScript *program, const Draft *draft) {
  CoreText now = {0}, difference = {0};
  append_summary(draft, &now);
  store_code_compare(core_script_text(program, CORE_SCRIPT_code_files), core_text_string(&now), &difference);
  const int code = core_error(CORE_USAGE, "the files of [program] code were edited since the sweep was submitted "
                              "(%.1000s); submit its experiment file again, which creates new runs, or restore them",
                              core_text_string(&difference));
  core_text_free(&now);
  core_text_free(&difference);
  return code;
}

/* Hashes the files, which must be those of the sweep's text. That text needs trust, not the files by themselves. */
static int find_in_script(const CoreScript *program, Draft *draft) {
  TRY(add_script_files(program, draft));
  const char *recorded = core_script_text(program, CORE_SCRIPT_code_hash);
  char hash[STORE_CODE_HASH] = "";
  if (draft->lines.length > 0) store_code_hash_bytes(draft->lines.data, draft->lines.length, hash);
  return !*recorded || strcmp(hash, recorded) == 0 ? CORE_OK : report_edited(program, draft);
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

static int find(const CoreConfig *config, StoreCode *code) {
  Draft draft = {0};
  int result;
  if (config->program) result = find_in_script(config->program, &draft);
  else if (store_code_needs_python(config->env.task)) result = find_in_python(config, &draft);
  else if (strncmp(config->env.task, library_prefix, strlen(library_prefix)) == 0)
    result = find_in_library(config, &draft);
  else result = find_in_build(config, &draft);
  if (result == CORE_OK) finish(&draft, code);
  free_draft(&draft);
  return result;
}

static void free_found(Found *item) {
  free(item->key);
  free(item->code.lines);
  free(item->code.files);
  free(item->code.modules);
  *item = (Found){0};
}

void store_code_clear_cache(void) {
  while (found_count > 0) free_found(&found[--found_count]);
}

int store_code_find(const CoreConfig *config, const StoreCode **code) {
  CoreText key = {0};

  core_text_appendf(&key, "%s\n%s\n%s\n%s", config->env.task, config->env.python, config->env.code,
                    config->env.folder);
  if (config->program) {
    for (int text = 0; text < CORE_SCRIPT_KEYS; text++)
      core_text_appendf(&key, "\n%s", core_script_text(config->program, (CoreScriptKey)text));
  }

  for (size_t i = 0; i < found_count; i++) {
    if (strcmp(found[i].key, key.data) != 0) continue;
    core_text_free(&key);
    *code = &found[i].code;
    return CORE_OK;
  }

  if (found_count == FOUND_MAX) store_code_clear_cache();
  Found fresh = {.key = key.data};
  const int result = find(config, &fresh.code);
  if (result != CORE_OK) {
    free_found(&fresh);
    return result;
  }

  found[found_count] = fresh;
  *code = &found[found_count++].code;
  return CORE_OK;
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* Finds the value of `name` in a summary and sets *length; NULL: absent. */
static const char *value_of(const char *summary, const char *name, size_t name_length, size_t *length) {
  for (const char *item = summary; item; item = strstr(item, ", ")) {
    if (*item == ',') item += 2;
    if (strncmp(item, name, name_length) != 0 || item[name_length] != ' ') continue;
    const char *value = item + name_length + 1;
    *length = strcspn(value, ",");
    if (strcspn(value, " ") < *length) *length = strcspn(value, " ");
    return value;
  }
  return NULL;
}

/* Appends the items of `from` that `other` lacks, marked as `gone`; with `gone` NULL, those that differ. */
static void compare_items(const char *from, const char *other, const char *gone, CoreText *text) {
  for (const char *item = from; item && *item; item = strstr(item, ", ")) {
    if (*item == ',') item += 2;
    const size_t name = strcspn(item, " ");
    size_t before = 0, now = 0;
    const char *mine = value_of(item, item, name, &before), *theirs = value_of(other, item, name, &now);
    if (!mine || strncmp(item, "and ", 4) == 0 || (gone != NULL) != (theirs == NULL)) continue;
    if (theirs && before == now && strncmp(mine, theirs, now) == 0) continue;
    core_text_appendf(text, "%s%.*s ", text->length ? ", " : "", (int)name, item);
    const bool is_file = before == SHORT_HASH && strspn(mine, "0123456789abcdef") == SHORT_HASH;
    if (gone) core_text_append(text, gone);
    else if (is_file) core_text_append(text, "changed");
    else core_text_appendf(text, "%.*s -> %.*s", (int)before, mine, (int)now, theirs);
  }
}

void store_code_compare(const char *before, const char *now, CoreText *text) {
  CoreText own = {0};
  compare_items(before, now, NULL, &own);
  compare_items(now, before, "added", &own);
  compare_items(before, now, "gone", &own);
  enum { SHOWN_MAX = 400 };
  size_t shown = own.length < SHOWN_MAX ? own.length : SHOWN_MAX;
  while (shown < own.length && own.data[shown] != ',') shown++; /* whole items */
  if (own.length == 0) core_text_append(text, "files that are not listed changed");
  else core_text_appendf(text, "%.*s%s", (int)shown, own.data, shown < own.length ? " ..." : "");
  core_text_free(&own);
}
