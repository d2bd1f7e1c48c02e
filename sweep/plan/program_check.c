/* Checks the words of the command, and the files of metrics of all runs (check.h). */
#include "sweep/plan/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "store/workspace/paths.h"

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* Checks that the first word of the command is executable. */
static int check_executable(const char *directory, const char *word, CoreText *problem) {
  char path[CORE_PATH_MAX];
  const bool is_path = strchr(word, '/') != NULL;
  TRY(core_files_path_in(directory, word, path));
  if (is_path ? access(path, X_OK) == 0 : core_process_exists(word)) return CORE_OK;
  core_text_appendf(problem, "program.command: there is no program %.200s%s; correct its name, PATH or setup",
                    is_path ? path : word, is_path ? "" : " in PATH");
  return CORE_OK;
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

static const char *base_name(const char *word) {
  const char *slash = strrchr(word, '/');
  return slash ? slash + 1 : word;
}

static bool is_listed(const char *word, const char *const *list) {
  for (; *list; list++)
    if (strcmp(word, *list) == 0) return true;
  return false;
}

/* Whether the word is an interpreter, whose first argument that is no option is a script. */
static bool is_interpreter(const char *word) {
  static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "Rscript", "julia", "perl", "ruby", "node",
                                      "lua", NULL};
  const char *name = base_name(word);
  return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0 || is_listed(name, names);
}

/* Whether the word is a program that starts scripts of Python. */
static bool is_launcher(const char *word) {
  static const char *const names[] = {"accelerate", "torchrun", "deepspeed", "uv", "coverage", NULL};
  return is_listed(base_name(word), names);
}

/* Whether the word is a program that starts another one here. */
static bool is_starter(const char *word) {
  static const char *const names[] = {
    "poetry", "conda", "mamba", "micromamba", "pipenv", "pdm", "rye", "pixi", "xvfb-run", "env", "nice", "ionice",
    "timeout", "time", "stdbuf", "taskset", "numactl", "setsid", "nohup", "mpirun", "mpiexec", NULL};
  return is_launcher(word) || is_listed(base_name(word), names);
}

/* Whether the option changes the directory, or has the code itself. */
static bool hides_script(const char *word) {
  static const char *const options[] = {"--module", "--chdir", "--directory", "--project", "--cwd", "-C", "-D",
                                        "--wdir", "-wdir", NULL};
  const size_t length = strcspn(word, "=");
  if (strncmp(word, "-m", 2) == 0) return true;
  for (size_t i = 0; options[i]; i++)
    if (strlen(options[i]) == length && strncmp(word, options[i], length) == 0) return true;
  const bool is_cluster = *word == '-' && word[1] != '-' && length > 1 && length < 6;
  return is_cluster && strchr("cme", word[length - 1]);
}

static bool has_suffix(const char *word, const char *suffix) {
  const size_t length = strlen(word), end = strlen(suffix);
  return length > end && strcmp(word + length - end, suffix) == 0;
}

static bool has_script_suffix(const char *word) {
  static const char *const suffixes[] = {".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js", ".lua", ".bash"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (has_suffix(word, suffixes[i])) return true;
  return false;
}

/* Returns the script that the command starts; NULL: none, or one that cannot be told from other words. */
static const char *find_script(char **words) {
  bool is_after_interpreter = false, is_after_launcher = false;
  if (!is_interpreter(words[0]) && !is_starter(words[0])) return NULL;
  for (char **word = words; *word; word++) {
    const bool is_script = is_after_interpreter || (is_after_launcher && has_suffix(*word, ".py"));
    if (is_interpreter(*word)) is_after_interpreter = true;
    else if (is_launcher(*word)) is_after_launcher = true;
    else if (is_starter(*word)) continue;
    else if (**word == '-' && (*word)[1] && hides_script(*word)) return NULL;
    else if (**word == '-' || strpbrk(*word, " \t=$~*")) continue;
    else if (is_script && has_script_suffix(*word)) return *word;
    else if (is_after_interpreter && is_interpreter(word[-1])) return *word; /* a script without a suffix */
  }
  return NULL;
}

static int check_script(const char *directory, char **words, CoreText *problem) {
  char path[CORE_PATH_MAX];
  const char *script = find_script(words);
  if (!script || !core_files_exists(directory)) return CORE_OK;
  TRY(core_files_path_in(directory, script, path));
  if (!core_files_exists(path))
    core_text_appendf(problem, "program.command: there is no file %.500s; correct its name, or cwd", path);
  return CORE_OK;
}

/* Checks the command of one run. With `setup`, which may change PATH and the directory, nothing is known. */
static int check_command(const CoreScript *program, bool is_remote, CoreText *problem) {
  char directory[CORE_PATH_MAX], **words;
  size_t count;
  const char *setup = core_script_text(program, CORE_SCRIPT_setup);
  const bool moves = strstr(setup, "cd ") || strstr(setup, "pushd ");
  TRY(core_script_directory(program, directory));
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_command), NULL, &words, &count));

  if (count == 0)
    core_text_append(problem, "program.command: it is empty in some runs; correct its conditions");
  else if (!is_remote && !core_files_exists(directory))
    core_text_appendf(problem, "program.cwd: there is no directory %.500s; correct cwd", directory);

  const bool knows_path = !is_remote && !*setup && problem->length == 0;
  int code = knows_path ? check_executable(directory, words[0], problem) : CORE_OK;
  if (code == CORE_OK && problem->length == 0 && !moves) code = check_script(directory, words, problem);
  core_script_argv_free(&words);
  return code;
}

/* Checks the commands of the first and the last run, in which placeholders may name other scripts. */
static int check_commands(const SweepGrid *grid, bool is_remote, CoreText *problem) {
  CoreConfig config;
  const size_t runs[] = {0, grid->runs - 1};
  for (size_t i = 0; i < 2 && grid->runs > 0 && problem->length == 0; i++) {
    sweep_grid_config(grid, runs[i], &config);
    if (config.program) TRY(check_command(config.program, is_remote, problem));
  }
  return CORE_OK;
}

/* ---- files of metrics -------------------------------------------------------------------------------------------- */

/* File of a run. */
typedef struct Metrics {
  char *path;
  size_t run;
} Metrics;

static int by_path(const void *a, const void *b) {
  const Metrics *x = a, *y = b;
  const int order = strcmp(x->path, y->path);
  return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Removes "." and ".." and repeated slashes of an absolute path. */
static void normalize(char *path) {
  char *out = path, *tail = path, *component;
  char *copy = core_text_duplicate(path);
  tail = copy;

  while ((component = strsep(&tail, "/"))) {
    if (!*component || strcmp(component, ".") == 0) continue;
    if (strcmp(component, "..") == 0) {
      while (out > path && *--out != '/') continue;
      continue;
    }
    *out++ = '/';
    memcpy(out, component, strlen(component));
    out += strlen(component);
  }

  *out = '\0';
  free(copy);
}

/* Finds the file that a run's metrics are read from. *path NULL: it is not a run of the program. */
static int find_metrics(const char *root, const SweepGrid *grid, const char *location, size_t run, char **path) {
  char dir[CORE_PATH_MAX], directory[CORE_PATH_MAX], whole[CORE_PATH_MAX];
  CoreConfig config;
  *path = NULL;
  sweep_grid_config(grid, run, &config);
  if (!config.program) return CORE_OK;
  TRY(store_path_run(root, grid->ids[run], "files", dir));
  TRY(core_script_directory(config.program, directory));

  const CoreScriptRun values = {.id = grid->ids[run], .dir = dir, .config = "", .seed = config.train.seed};
  TRY(core_script_metrics_path(config.program, &values, directory, location, whole));
  normalize(whole);
  *path = core_text_duplicate(whole);
  return CORE_OK;
}

static void describe_shared(const SweepGrid *grid, const Metrics *files, CoreText *problem) {
  CoreConfig config;
  sweep_grid_config(grid, files[0].run, &config);
  core_text_appendf(problem, "program.metrics = %.200s: runs ", core_script_text(config.program, CORE_SCRIPT_metrics));
  for (size_t i = 0; i < 2; i++) {
    core_text_appendf(problem, "%s%s (", i ? " and " : "", grid->ids[files[i].run]);
    sweep_grid_describe(grid, files[i].run, problem);
    core_text_append(problem, ")");
  }
  core_text_appendf(problem, " share %.500s and would read each other's rows; put {dir} or {run} into the path of "
                    "metrics and of the program's output", files[0].path);
}

/* Checks that no two runs read their metrics from one file. A directory of event files may be shared. */
static int check_metrics(const char *root, const SweepGrid *grid, CoreText *problem) {
  CoreScriptSource source;
  const char *location;
  TRY(core_script_source(core_script_text(grid->spec->base.program, CORE_SCRIPT_metrics), &source, &location));
  if (source == CORE_SCRIPT_STDOUT || source == CORE_SCRIPT_TENSORBOARD || !*location) return CORE_OK;

  Metrics *files = core_memory_allocate((grid->runs + 1) * sizeof *files);
  size_t count = 0;
  int code = CORE_OK;
  for (size_t run = 0; run < grid->runs; run++) {
    if (code != CORE_OK) break;
    files[count].run = run;
    code = find_metrics(root, grid, location, run, &files[count].path);
    if (code == CORE_OK && files[count].path) count++;
  }

  qsort(files, count, sizeof *files, by_path);
  for (size_t i = 1; i < count && problem->length == 0; i++)
    if (strcmp(files[i - 1].path, files[i].path) == 0) describe_shared(grid, &files[i - 1], problem);
  for (size_t i = 0; i < count; i++) free(files[i].path);
  free(files);
  return code;
}

int sweep_program_check(const char *root, const SweepGrid *grid, bool is_remote, CoreText *problem) {
  if (!grid->spec->base.program) return CORE_OK;
  TRY(check_commands(grid, is_remote, problem));
  return problem->length > 0 ? CORE_OK : check_metrics(root, grid, problem);
}
