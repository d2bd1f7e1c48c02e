/* `sweep collect` and `sweep rebuild`: run logs into results.db. The work is store's; this says what it did. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "core/terminal.h"
#include "store/database.h"
#include "sweep/commands.h"
#include "sweep/sweep.h"

enum { FOLLOW_DEFAULT_S = 10 };

/* ---- reporting ------------------------------------------------------------------------------------------------- */

/* What could not be read: damaged lines are counted, other faults (a manifest that can not be opened) only told. */
static void report_damage(const StoreImport *import) {
  if (import->damaged_lines > 0)
    printf("%lld damaged line%s skipped, the first: %s\n", (long long)import->damaged_lines,
           import->damaged_lines == 1 ? "" : "s", import->first_damage);
  else if (import->first_damage[0])
    printf("not all could be read: %s\n", import->first_damage);
}

static void report_import(const StoreImport *import) {
  printf("%lld new row%s from %lld run%s\n", (long long)import->rows, import->rows == 1 ? "" : "s",
         (long long)import->runs, import->runs == 1 ? "" : "s");
  report_damage(import);
  fflush(stdout);
}

/* ---- collect --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_asked_to_end;
static void ask_to_end(int signal_number) {
  (void)signal_number;
  is_asked_to_end = 1;
}

static void wait_seconds(double seconds) {
  struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * fmod(seconds, 1))};
  nanosleep(&time, NULL); /* a signal ends it early: that is wanted */
}

/* Imports again and again until Ctrl-C or SIGTERM. A failure (a lock, a full disk) is told and tried again: whoever
 * watches overnight does not want to find that nothing was watched. */
static int follow(StoreDatabase *database, const char *root, const char *name, double every_s) {
  struct sigaction action = {.sa_handler = ask_to_end};
  bool is_first = true, other_was_told = false;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  while (!is_asked_to_end) {
    StoreImport import;
    if (store_import(database, root, name, false, &import) != CORE_OK) {
      core_warn("%s; trying again in %.0f s", core_error_message(), every_s);
    } else if (import.rows < 0) {
      if (!other_was_told) printf("another process is importing; waiting for what it leaves\n");
      other_was_told = true;
    } else if (import.rows > 0 || is_first) {
      report_import(&import);
      is_first = false;
    }
    fflush(stdout);
    if (!is_asked_to_end) wait_seconds(every_s);
  }
  return CORE_OK;
}

static int collect_once(StoreDatabase *database, const char *root, const char *name) {
  StoreImport import;
  TRY(store_import(database, root, name, true, &import));
  report_import(&import);
  return CORE_OK;
}

static int collect(const SweepCommon *common, const char *operand, bool is_following, double every_s) {
  char path[CORE_PATH_MAX], name[SWEEP_NAME];
  StoreDatabase *database;
  if (operand) TRY(sweep_common_name(common, operand, name));
  const char *sweep = operand ? name : NULL;
  TRY(store_path_database(common->root, path));
  TRY(store_database_open(path, false, &database));
  int code = is_following ? follow(database, common->root, sweep, every_s) : collect_once(database, common->root,
                                                                                          sweep);
  store_database_close(&database);
  return code;
}

int sweep_collect(int argc, char **argv) {
  static const char usage[] = "sweep collect [FILE|NAME] [options]";
  static const char about[] =
      "Imports what is new in the run logs into results.db, each row once, while the runs go on. Without NAME: all "
      "runs of the workspace. sweep status and analyze do the same before they answer.";
  SweepCommon common = {0};
  bool help, is_following = false;
  double every_s = FOLLOW_DEFAULT_S;
  const CoreOption options[] = {
    {"follow", 'f', CORE_OPTION_FLAG, &is_following, NULL, "keep importing until Ctrl-C"},
    {"every", 'e', CORE_OPTION_REAL, &every_s, "SECONDS", "with --follow: pause between imports (default: 10)"},
    SWEEP_OPTION_ROOT(common),
    {0}};
  const char **operands = NULL;
  size_t count;
  int code;
  TRY_GOTO(code, out, core_options_parse(options, argc, argv, &operands, &count, &help));
  if (help) {
    core_options_help(usage, about, options);
    goto out;
  }
  TRY_GOTO(code, out, sweep_common_operands(usage, count, 0, 1));
  if (!(every_s >= 0.1 && every_s <= 86400)) {
    code = core_error(CORE_USAGE, "--every %g: give 0.1 to 86400 seconds", every_s);
    goto out;
  }
  TRY_GOTO(code, out, sweep_common_open(&common));
  code = collect(&common, count ? operands[0] : NULL, is_following, every_s);
out:
  sweep_common_close(&common);
  free(operands);
  return code;
}

/* ---- rebuild --------------------------------------------------------------------------------------------------- */

int sweep_rebuild(int argc, char **argv) {
  static const char usage[] = "sweep rebuild [options]";
  static const char about[] =
      "Makes results.db anew from the run logs and manifests alone. The old file is kept as results.db.old.";
  SweepCommon common = {0};
  bool help;
  const CoreOption options[] = {SWEEP_OPTION_ROOT(common), {0}};
  const char **operands = NULL;
  size_t count;
  StoreImport import;
  int code;
  TRY_GOTO(code, out, core_options_parse(options, argc, argv, &operands, &count, &help));
  if (help) {
    core_options_help(usage, about, options);
    goto out;
  }
  TRY_GOTO(code, out, sweep_common_operands(usage, count, 0, 0));
  TRY_GOTO(code, out, sweep_common_open(&common));
  TRY_GOTO(code, out, store_rebuild(common.root, &import));
  report_import(&import);
out:
  sweep_common_close(&common);
  free(operands);
  return code;
}
