/* `sweep bundle` and `sweep unbundle`: packs sweeps into one file, e.g. as an attachment of a paper. It is a separate
 * workspace:
 *
 *   SHA256SUMS              checksums of all other members, as sha256sum prints them
 *   results.db              rows of these sweeps only
 *   sweeps/<name>/...       sweep.ini, manifest.tsv, and the trials that searches have proposed
 *   checkpoints.tsv         list of the checkpoints and their SHA-256, without the checkpoints themselves
 *
 * Equal results give equal bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/memory.h"
#include "core/sha256.h"
#include "core/unicode.h"
#include "store/care/maintain.h"
#include "store/workspace/paths.h"
#include "sweep/bundle/archive.h"
#include "sweep/commands.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

static const char SUMS[] = "SHA256SUMS", DATABASE[] = "results.db", CHECKPOINTS[] = "checkpoints.tsv";

typedef struct BundleOptions { SweepCommon common; const char *output; bool json; } BundleOptions;

/* A bundle under construction. */
typedef struct Bundle {
  const BundleOptions *options;
  char output[CORE_PATH_MAX], database[CORE_PATH_MAX]; /* the archive; the extracted database in its directory */
  char (*names)[SWEEP_NAME];                           /* [count] sweeps, sorted and unique */
  size_t count;
  CoreText sums, checkpoints;
  int64_t runs, checkpoint_count;
  BundleArchive *archive;
} Bundle;

/* ---- the database ------------------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static int read_names(Bundle *bundle, const char **operands, size_t count) {
  bundle->names = core_memory_zero_allocate(count, sizeof *bundle->names);
  for (size_t i = 0; i < count; i++) TRY(sweep_common_name(&bundle->options->common, operands[i], bundle->names[i]));
  qsort(bundle->names, count, sizeof *bundle->names, compare_names);
  for (size_t i = 0; i < count; i++)
    if (bundle->count == 0 || strcmp(bundle->names[bundle->count - 1], bundle->names[i]) != 0)
      memmove(bundle->names[bundle->count++], bundle->names[i], sizeof *bundle->names);
  return CORE_OK;
}

/* Sets the archive's path: --output, otherwise NAME.tar.zst in the current directory. */
static int name_output(Bundle *bundle) {
  if (bundle->options->output) TRY(core_files_path(bundle->output, "%s", bundle->options->output));
  else TRY(core_files_path(bundle->output, "%s.tar.zst", bundle->names[0]));
  return bundle_archive_name_temporary(bundle->output, "db", bundle->database);
}

/* Deletes the extracted database and SQLite's files next to it, also those of a killed process. Returns -1 with errno
 * after an error. */
static int unlink_database(const Bundle *bundle) {
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  char path[CORE_PATH_MAX + 16];
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    snprintf(path, sizeof path, "%s%s", bundle->database, suffixes[i]);
    if (unlink(path) != 0 && errno != ENOENT) return -1;
  }
  return 0;
}

static int remove_database(const Bundle *bundle) {
  return unlink_database(bundle) == 0 ? CORE_OK : core_error_errno(CORE_FAIL, "cannot remove %s", bundle->database);
}

static int extract(const Bundle *bundle) {
  char path[CORE_PATH_MAX];
  StoreDatabase *source;
  const char **names = core_memory_zero_allocate(bundle->count, sizeof *names);
  for (size_t i = 0; i < bundle->count; i++) names[i] = bundle->names[i];
  int code = store_path_database(bundle->options->common.root, path);
  if (code == CORE_OK) code = store_database_open(path, true, &source);
  if (code == CORE_OK) {
    code = store_extract(source, names, bundle->count, bundle->database);
    store_database_close(&source);
  }
  free(names);
  return code;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

/* Appends the checksum of a file. */
static int add_file_sum(Bundle *bundle, const char *name, const char *path) {
  char sum[CORE_SHA256];
  TRY(core_sha256_file(path, sum, NULL));
  core_text_appendf(&bundle->sums, "%s  %s\n", sum, name);
  return CORE_OK;
}

/* Whether a file of a sweep's directory belongs to the bundle. */
static bool is_member(const char *file) {
  static const char prefix[] = "search.", extension[] = ".tsv";
  const size_t length = strlen(file);
  return strcmp(file, "sweep.ini") == 0 || strcmp(file, "manifest.tsv") == 0 ||
         (strncmp(file, prefix, sizeof prefix - 1) == 0 && length > sizeof extension &&
          strcmp(file + length - (sizeof extension - 1), extension) == 0);
}

/* Calls `visit` with each file of a sweep that belongs to the bundle: its member name and its path. */
static int visit_files(Bundle *bundle, const char *name, int (*visit)(Bundle *, const char *, const char *)) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], member[CORE_PATH_MAX], **files;
  size_t count;
  TRY(store_path_sweep(bundle->options->common.root, name, NULL, directory));
  TRY(core_files_list(directory, &files, &count));

  int code = CORE_OK;
  for (size_t i = 0; i < count; i++) {
    if (code == CORE_OK && is_member(files[i])) {
      code = core_files_path(path, "%s/%s", directory, files[i]);
      if (code == CORE_OK) code = core_files_path(member, "sweeps/%s/%s", name, files[i]);
      if (code == CORE_OK) code = visit(bundle, member, path);
    }
    free(files[i]);
  }

  free(files);
  return code;
}

static int add_checkpoint_sums(Bundle *bundle, const char *id) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], sum[CORE_SHA256], **names;
  size_t count;
  int64_t bytes;
  int code = CORE_OK;
  TRY(store_path_run(bundle->options->common.root, id, "ckpt", directory));
  if (!core_files_exists(directory)) return CORE_OK;
  TRY(core_files_list(directory, &names, &count));

  for (size_t i = 0; i < count; i++) {
    const char *extension = strrchr(names[i], '.');
    if (code == CORE_OK && extension && strcmp(extension, ".ckpt") == 0) {
      code = core_files_path(path, "%s/%s", directory, names[i]);
      if (code == CORE_OK) code = core_sha256_file(path, sum, &bytes);
      core_text_appendf(&bundle->checkpoints, "%s\t%s\t%lld\t%s\n", id, names[i], (long long)bytes, sum);
      bundle->checkpoint_count++;
    }
    free(names[i]);
  }

  free(names);
  return code;
}

static int add_sweep_sums(Bundle *bundle, const char *name) {
  const char *root = bundle->options->common.root;
  SweepManifest manifest;
  TRY(visit_files(bundle, name, add_file_sum));
  TRY(sweep_manifest_read(root, name, &manifest));
  int code = CORE_OK;
  for (size_t i = 0; i < manifest.count; i++) {
    code = add_checkpoint_sums(bundle, manifest.ids[i]);
    if (code != CORE_OK) break;
  }
  bundle->runs += (int64_t)manifest.count;
  sweep_manifest_free(&manifest);
  return code;
}

static int add_file(Bundle *bundle, const char *name, const char *path) {
  return bundle_archive_add_file(bundle->archive, name, path);
}

static int add_all(Bundle *bundle) {
  BundleArchive *archive = bundle->archive;
  TRY(bundle_archive_add_bytes(archive, SUMS, core_text_string(&bundle->sums), bundle->sums.length));
  TRY(bundle_archive_add_bytes(archive, CHECKPOINTS, core_text_string(&bundle->checkpoints),
                               bundle->checkpoints.length));
  TRY(bundle_archive_add_file(archive, DATABASE, bundle->database));
  for (size_t i = 0; i < bundle->count; i++) TRY(visit_files(bundle, bundle->names[i], add_file));
  return CORE_OK;
}

/* Appends the checksum of a member that is in memory. */
static void add_text_sum(Bundle *bundle, const char *name, const CoreText *text) {
  char sum[CORE_SHA256];
  core_sha256(core_text_string(text), text->length, sum);
  core_text_appendf(&bundle->sums, "%s  %s\n", sum, name);
}

static int fill(Bundle *bundle) {
  core_text_append(&bundle->checkpoints, "run\tfile\tbytes\tsha256\n");
  TRY(remove_database(bundle));
  TRY(extract(bundle));
  for (size_t i = 0; i < bundle->count; i++) TRY(add_sweep_sums(bundle, bundle->names[i]));
  TRY(add_file_sum(bundle, DATABASE, bundle->database));
  add_text_sum(bundle, CHECKPOINTS, &bundle->checkpoints);
  return add_all(bundle);
}

/* Creates the archive first, since its lock also protects the temporary database. */
static int write_bundle(Bundle *bundle) {
  BundleArchive *archive;
  TRY(bundle_archive_create(bundle->output, &archive));
  bundle->archive = archive;
  int code = fill(bundle);
  if (code == CORE_OK) code = remove_database(bundle);
  else (void)unlink_database(bundle); /* keeps the error message */
  const int finished = bundle_archive_finish(&bundle->archive, code == CORE_OK);
  return code != CORE_OK ? code : finished;
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

static int report(const Bundle *bundle) {
  char sum[CORE_SHA256], bytes_text[32];
  int64_t bytes;
  TRY(core_sha256_file(bundle->output, sum, &bytes));
  if (bundle->options->json)
    core_json_print(json_pack("{s:s, s:I, s:s, s:I, s:I}", "file", bundle->output, "bytes", (json_int_t)bytes, "sha256",
                              sum, "runs", (json_int_t)bundle->runs, "checkpoints",
                              (json_int_t)bundle->checkpoint_count));
  else
    core_unicode_print(stdout, "%s: %lld runs, %sB\nsha256 %s\n", bundle->output, (long long)bundle->runs,
                       core_text_count((double)bytes, bytes_text), sum);
  return CORE_OK;
}

static int bundle_sweeps(void *context, const char **operands, size_t count) {
  BundleOptions *options = context;
  Bundle bundle = {.options = options};
  TRY(sweep_common_open(&options->common));
  int code = read_names(&bundle, operands, count);
  if (code == CORE_OK) code = name_output(&bundle);
  if (code == CORE_OK) code = write_bundle(&bundle);
  if (code == CORE_OK) code = report(&bundle);
  core_text_free(&bundle.sums);
  core_text_free(&bundle.checkpoints);
  free(bundle.names);
  return code;
}

int sweep_bundle(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep bundle NAME... [options]",
    .about = "Packs sweeps into one file, NAME.tar.zst, that others can verify and analyze: their experiment files, a "
             "results.db with only their rows, and the checksums of their checkpoints. Equal results give equal bytes. "
             "Unpack it with sweep unbundle, or with tar and sha256sum -c.",
    .operands_min = 1, .operands = {"NAME"}, .operands_max = SIZE_MAX};
  BundleOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"output", 'o', CORE_OPTION_TEXT, &parsed.output, "FILE", "write this file (default: NAME.tar.zst)"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print size and checksum as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, bundle_sweeps, &parsed);
}

/* ---- unbundle ---------------------------------------------------------------------------------------------------- */

/* Checks the member of a line "<sha256>  <name>", and counts it. */
static int check_line(const char *directory, char *line, size_t *checked) {
  char path[CORE_PATH_MAX], sum[CORE_SHA256];
  const size_t digits = CORE_SHA256 - 1;
  if (strlen(line) < digits + 3 || strncmp(line + digits, "  ", 2) != 0 ||
      !bundle_archive_is_safe_name(line + digits + 2))
    return core_error(CORE_FAIL, "%s: '%.100s' is not a checksum and a name", SUMS, line);
  TRY(core_files_path(path, "%s/%s", directory, line + digits + 2));
  TRY(core_sha256_file(path, sum, NULL));
  if (strncmp(sum, line, digits) != 0)
    return core_error(CORE_FAIL, "%s differs from the bundled file: its SHA-256 is %s", line + digits + 2, sum);
  (*checked)++;
  return CORE_OK;
}

static int check_sums(const char *directory, size_t *checked) {
  char path[CORE_PATH_MAX], *text, *save;
  size_t size;
  TRY(core_files_path(path, "%s/%s", directory, SUMS));
  TRY(core_files_read(path, 0, &text, &size));
  int code = CORE_OK;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    code = check_line(directory, line, checked);
    if (code != CORE_OK) break;
  }
  free(text);
  if (code == CORE_OK && *checked == 0) code = core_error(CORE_FAIL, "%s lists no files", SUMS);
  return code;
}

/* Whether write_bundle writes a member of this name. Any other file could change the meaning of the workspace, e.g.
 * results.db-wal, or code next to an experiment. */
static bool is_known(const char *name) {
  static const char sweeps[] = "sweeps/";
  char sweep[SWEEP_NAME];
  if (strcmp(name, SUMS) == 0 || strcmp(name, DATABASE) == 0 || strcmp(name, CHECKPOINTS) == 0) return true;
  if (strncmp(name, sweeps, sizeof sweeps - 1) != 0) return false;
  const char *start = name + sizeof sweeps - 1, *slash = strchr(start, '/');
  if (!slash || (size_t)(slash - start) >= sizeof sweep || strchr(slash + 1, '/')) return false;
  snprintf(sweep, sizeof sweep, "%.*s", (int)(slash - start), start);
  const bool is_valid_name = core_text_check_name(sweep, "sweep") == CORE_OK;
  core_error_clear();
  return is_valid_name && is_member(slash + 1);
}

/* Checks that every member has a checksum. */
static int check_listed(const char *directory, char *names) {
  char path[CORE_PATH_MAX], *sums, *save;
  size_t size;
  CoreText line = {0};
  TRY(core_files_path(path, "%s/%s", directory, SUMS));
  TRY(core_files_read(path, 0, &sums, &size));

  int code = CORE_OK;
  for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
    core_text_clear(&line);
    core_text_appendf(&line, "  %s\n", name);
    if (strcmp(name, SUMS) != 0 && !strstr(sums, line.data))
      code = core_error(CORE_FAIL, "%s does not list %.200s; do not trust the archive", SUMS, name);
    if (code != CORE_OK) break;
  }

  core_text_free(&line);
  free(sums);
  return code;
}

static const char STAGING[] = ".unbundling"; /* directory for members until they are verified */

static bool is_top_member(const char *name) {
  return strcmp(name, SUMS) == 0 || strcmp(name, DATABASE) == 0 || strcmp(name, CHECKPOINTS) == 0 ||
         strcmp(name, "sweeps") == 0;
}

/* Deletes what an interrupted call has left in the directory. CORE_USAGE: it contains other files. */
static int clear_directory(const char *directory, char *const *names, size_t count) {
  char path[CORE_PATH_MAX];
  size_t others = 0;
  bool is_interrupted = false;
  for (size_t i = 0; i < count; i++) is_interrupted |= strcmp(names[i], STAGING) == 0;
  for (size_t i = 0; i < count; i++)
    others += strcmp(names[i], STAGING) != 0 && !(is_interrupted && is_top_member(names[i]));
  if (others > 0) return core_error(CORE_USAGE, "%s is not empty; use an empty or new directory", directory);
  for (size_t i = count; i-- > 0;) { /* the staging directory last, as names are sorted: this may be interrupted */
    TRY(core_files_path(path, "%s/%s", directory, names[i]));
    TRY(core_files_remove_tree(path));
  }
  return CORE_OK;
}

static int prepare(const char *directory) {
  char **names;
  size_t count;
  TRY(core_files_make_directories(directory));
  TRY(core_files_list(directory, &names, &count));
  const int code = clear_directory(directory, names, count);
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

/* Moves verified members to their final place. */
static int move_members(const char *staging, const char *directory) {
  char **names, from[CORE_PATH_MAX], to[CORE_PATH_MAX];
  size_t count;
  int code = CORE_OK;
  TRY(core_files_list(staging, &names, &count));
  for (size_t i = 0; i < count; i++) {
    if (code == CORE_OK) code = core_files_path(from, "%s/%s", staging, names[i]);
    if (code == CORE_OK) code = core_files_path(to, "%s/%s", directory, names[i]);
    if (code == CORE_OK && rename(from, to) != 0) code = core_error_errno(CORE_FAIL, "cannot write %s", to);
    free(names[i]);
  }
  free(names);
  return code;
}

/* Unpacks and verifies all members before moving any of them to its final place. */
static int unpack(const char *archive, const char *directory, int64_t bytes_max, size_t *checked) {
  char staging[CORE_PATH_MAX];
  CoreText names = {0};
  TRY(prepare(directory));
  TRY(core_files_path(staging, "%s/%s", directory, STAGING));
  int code = bundle_archive_unpack(archive, staging, is_known, bytes_max, &names);
  if (code == CORE_OK) code = check_sums(staging, checked);
  if (code == CORE_OK) code = check_listed(staging, names.data);
  if (code == CORE_OK) code = move_members(staging, directory);
  core_text_free(&names);
  if (code == CORE_OK) return core_files_remove_tree(staging);
  (void)prepare(directory); /* deletes members that were moved already, too */
  return code;
}

typedef struct UnbundleOptions { int64_t max_gib; bool json; } UnbundleOptions;

static int unbundle(void *context, const char **operands, size_t count) {
  const UnbundleOptions *options = context;
  const char *directory = operands[1];
  size_t checked = 0;
  (void)count;
  if (options->max_gib < 0 || options->max_gib > 1 << 30)
    return core_error(CORE_USAGE, "--max-size %lld: expected a number of GiB", (long long)options->max_gib);
  TRY(unpack(operands[0], directory, options->max_gib << 30, &checked));
  if (options->json)
    core_json_print(json_pack("{s:s, s:I, s:b}", "directory", directory, "files", (json_int_t)checked, "verified", 1));
  else
    core_unicode_print(stdout, "%s: %zu files verified; to see them: analyze report %s/%s\n", directory, checked,
                       directory, DATABASE);
  return CORE_OK;
}

int sweep_unbundle(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep unbundle FILE DIR [options]",
    .about = "Unpacks a file of sweep bundle into a new or empty directory and verifies each member by its checksum; "
             "members that sweep bundle does not write are rejected. The directory is a workspace for analyze and "
             "sweep status.",
    .operands_min = 2, .operands = {"FILE", "DIR"}, .operands_max = 2};
  UnbundleOptions parsed = {0};
  const CoreOption options[] = {
    {"max-size", 0, CORE_OPTION_INT, &parsed.max_gib, "N",
     "largest size of the contents in GiB (default: 1, and 100 times the size of FILE)"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, unbundle, &parsed);
}
