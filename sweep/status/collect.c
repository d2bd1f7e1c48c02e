/* Implements `sweep collect`: import run logs into results.db (store/database) and report it; --rebuild recreates the
 * file. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"
#include "sweep/stop/decide.h"

enum { FOLLOW_DEFAULT_S = 10 };

/* ---- reporting ------------------------------------------------------------------------------------------------- */

/* Prints what could not be read: the number of damaged lines, or another error such as an unreadable manifest. */
static void report_damage(const StoreImport *import) {
  if (import->damaged_lines > 0)
    printf("%lld damaged line%s skipped, the first: %s\n", (long long)import->damaged_lines,
           import->damaged_lines == 1 ? "" : "s", import->first_damage);
  else if (import->first_damage[0]) printf("not everything could be read: %s\n", import->first_damage);
}

static void report_json(const StoreImport *import) {
  CoreText text = {0};
  json_t *object =
    json_pack("{s:I, s:I, s:I, s:o}", "rows", (json_int_t)import->rows, "runs", (json_int_t)import->runs,
              "damaged_lines", (json_int_t)import->damaged_lines, "first_damage",
              import->first_damage[0] ? core_json_text(import->first_damage) : json_null());
  core_json_append(object, 0, &text); /* on one line, since --follow prints many */
  printf("%s\n", core_text_string(&text));
  core_text_free(&text);
  json_decref(object);
}

static void report_import(const StoreImport *import, bool json) {
  if (json) {
    report_json(import);
  } else {
    printf("%lld new row%s from %lld run%s\n", (long long)import->rows, import->rows == 1 ? "" : "s",
           (long long)import->runs, import->runs == 1 ? "" : "s");
    report_damage(import);
  }
  fflush(stdout);
}

/* ---- collect --------------------------------------------------------------------------------------------------- */

/* Applies the [stop] rules of these sweeps to the imported rows. A failure of one does not hold up the others. */
static void apply_stop_rules(StoreDatabase *database, const char *root, const char *name, bool json) {
  char **names = NULL;
  size_t count = 0;
  if (!name && sweep_common_list(root, &names, &count) != CORE_OK) core_warn("%s", core_error_message());

  for (size_t i = 0; i < (name ? 1 : count); i++) {
    const char *sweep = name ? name : names[i];
    SweepStopOutcome outcome;
    SweepPromoteResult promoted;
    if (sweep_stop_decide(root, sweep, database, false, &outcome) != CORE_OK)
      core_warn("%s: cannot apply the rule of [stop]: %s", sweep, core_error_message());
    else if (outcome.stopped + outcome.promoted > 0)
      fprintf(json ? stderr : stdout, "%s: the rule of [stop] has stopped %zu runs and promoted %zu\n", sweep,
              outcome.stopped, outcome.promoted);
    if (sweep_promote(root, sweep, &promoted) != CORE_OK)
      core_warn("%s: cannot submit promoted runs: %s", sweep, core_error_message());
  }

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  core_error_clear();
}

static volatile sig_atomic_t stop_requested;
static void request_stop(int signal_number) {
  (void)signal_number;
  stop_requested = 1;
  store_database_stop_queries();
}

/* Imports new rows into the file that has the name now, which a rebuild replaces. */
static int import_new(const char *path, StoreDatabase **database, const char *root, const char *name,
                      StoreImport *import) {
  if (*database && store_database_is_replaced(*database)) store_database_close(database);
  if (!*database) TRY(store_database_open(path, false, database));
  return store_import(*database, root, name, false, import);
}

/* Imports repeatedly until SIGINT or SIGTERM. Errors (a lock, a full disk) are warnings, and the import is retried, so
 * that nothing ends an overnight collection. */
static int follow(const char *path, StoreDatabase **database, const char *root, const char *name, double every_s,
                  bool json) {
  struct sigaction action = {.sa_handler = request_stop};
  bool is_first = true, is_other_reported = false;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);

  while (!stop_requested) {
    StoreImport import;
    if (import_new(path, database, root, name, &import) != CORE_OK) {
      if (!stop_requested) core_warn("%s; trying again in %.0f s", core_error_message(), every_s);
    } else if (import.rows < 0) {
      if (!is_other_reported) fprintf(json ? stderr : stdout, "another process is importing; waiting\n");
      is_other_reported = true;
    } else if (import.rows > 0 || import.runs > 0 || import.lost_bytes > 0 || is_first) {
      apply_stop_rules(*database, root, name, json);
      if (import.lost_bytes > 0) core_warn("%s", import.first_lost);
      report_import(&import, json);
      is_first = false;
    }

    fflush(stdout);
    if (!stop_requested) {
      struct timespec time = {.tv_sec = (time_t)every_s, .tv_nsec = (long)(1e9 * fmod(every_s, 1))};
      nanosleep(&time, NULL); /* a signal ends it early, as intended */
    }
  }
  return CORE_OK;
}

static bool is_known(StoreDatabase *database, const char *name) {
  StoreQuery *query;
  bool row = true; /* errors count as known */
  if (store_query_open(database, "SELECT 1 FROM sweep WHERE name = ?1", &query) != CORE_OK) return true;
  store_query_bind_text(query, 1, name);
  if (store_query_step(query, &row) != CORE_OK) row = true;
  store_query_close(&query);
  return row;
}

/* Warns of sweeps that results.db lacks: all of them if only imports have made the file (the old one was deleted, and a
 * rebuild killed), or one whose submission was killed or that was copied here. */
static void report_unknown_sweeps(StoreDatabase *database, const char *root) {
  enum { NAMES_MAX = 10 };
  char **names;
  size_t count, unknown = 0;
  CoreText list = {0};
  if (sweep_common_list(root, &names, &count) != CORE_OK) return core_error_clear();

  for (size_t i = 0; i < count; i++) {
    if (!is_known(database, names[i]) && unknown++ < NAMES_MAX)
      core_text_appendf(&list, "%s%s", unknown > 1 ? ", " : "", names[i]);
    free(names[i]);
  }
  free(names);

  if (unknown > NAMES_MAX) core_text_appendf(&list, " and %zu more", unknown - NAMES_MAX);
  if (unknown > 0 && unknown == count)
    core_warn("results.db knows none of the %zu sweeps of this workspace (%s); run sweep collect --rebuild to add them",
              count, core_text_string(&list));
  else if (unknown > 0)
    core_warn("results.db does not know %zu of the %zu sweeps of this workspace (%s); run sweep collect --rebuild to "
              "add them",
              unknown, count, core_text_string(&list));
  core_text_free(&list);
  core_error_clear();
}

static int collect_once(StoreDatabase *database, const char *root, const char *name, bool json) {
  StoreImport import;
  TRY(store_import(database, root, name, true, &import));
  report_import(&import, json);
  apply_stop_rules(database, root, name, json);
  report_unknown_sweeps(database, root);
  return import.lost_bytes > 0 ? core_error(CORE_FAIL, "%s", import.first_lost) : CORE_OK;
}

typedef struct CollectOptions { SweepCommon common; bool follow, rebuild, json; double every_s; } CollectOptions;

/* Removes temporary files that killed commands have left. Those of runs are removed when an attempt starts. */
static void remove_leftovers(const char *root) {
  char path[CORE_PATH_MAX], **names;
  size_t count;
  core_files_remove_leftovers(root);
  if (core_files_path(path, "%s/annotations", root) == CORE_OK) core_files_remove_leftovers(path);
  if (sweep_common_list(root, &names, &count) != CORE_OK) return core_error_clear();
  for (size_t i = 0; i < count; i++) {
    if (store_path_sweep(root, names[i], NULL, path) == CORE_OK) core_files_remove_leftovers(path);
    free(names[i]);
  }
  free(names);
  core_error_clear();
}

static int rebuild(const CollectOptions *options) {
  StoreImport import;
  TRY(store_rebuild(options->common.root, &import));
  report_import(&import, options->json);
  return CORE_OK;
}

static int collect(void *given, const char **operands, size_t count) {
  CollectOptions *options = given;
  const char *root = options->common.root, *sweep = NULL;
  char path[CORE_PATH_MAX], name[SWEEP_NAME];
  StoreDatabase *database;

  if (!(options->every_s >= 0.1 && options->every_s <= 86400))
    return core_error(CORE_USAGE, "--every %g: expected 0.1 to 86400 seconds", options->every_s);
  if (options->rebuild && (options->follow || count > 0))
    return core_error(CORE_USAGE, "--rebuild and %s exclude each other: it reads all runs of the workspace once",
                      options->follow ? "--follow" : "the name of a sweep");
  TRY(sweep_common_open(&options->common));
  if (options->rebuild) return rebuild(options);
  if (count > 0) {
    TRY(sweep_common_name(&options->common, operands[0], name));
    sweep = name;
  }

  TRY(store_path_database(root, path));
  remove_leftovers(root);
  TRY(store_database_open(path, false, &database));
  int code = options->follow ? follow(path, &database, root, sweep, options->every_s, options->json)
                             : collect_once(database, root, sweep, options->json);
  store_database_close(&database);
  return code;
}

int sweep_collect(int argc, char **argv) {
  static const CoreManual manual = {
      .usage = "sweep collect [FILE|NAME] [options]",
      .about =
          "Imports new rows of the run logs into results.db, also while runs are running. Without NAME: of all runs "
          "of the workspace. sweep status and analyze do the same first. Then the [stop] rules of the sweeps are "
          "applied.\n\n"
          "--rebuild recreates results.db from run logs and manifests alone, and keeps the old file as results.db.old. "
          "If it fails, e.g. on a full disk, results.db is unchanged.",
      .operands = {"FILE|NAME"},
      .operands_max = 1};

  CollectOptions given = {.every_s = FOLLOW_DEFAULT_S};
  const CoreOption options[] = {{"follow", 'f', CORE_OPTION_FLAG, &given.follow, NULL, "keep importing until Ctrl-C"},
                                {"every", 'e', CORE_OPTION_REAL, &given.every_s, "SECONDS",
                                 "with --follow: seconds between imports (default: 10)"},
                                {"rebuild", 0, CORE_OPTION_FLAG, &given.rebuild, NULL,
                                 "recreate results.db from the run directories"},
                                {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "print one line of JSON per import"},
                                SWEEP_OPTION_ROOT(given.common),
                                {0}};
  return core_options_run(&manual, options, argc, argv, collect, &given);
}
