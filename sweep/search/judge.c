/* Starts `analyze measures --csv` and reads its answer. */
#include "sweep/search/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/program.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"

/* ---- the question ------------------------------------------------------------------------------------------------ */

static int program_path(char path[CORE_PATH_MAX]) {
  const char *given = getenv("SWEEP_ANALYZE");
  if (given && *given) return core_files_path(path, "%s", given);
  char folder[CORE_PATH_MAX];
  if (core_program_folder(folder) != CORE_OK) return core_files_path(path, "analyze");
  return core_files_path(path, "%s/analyze", folder);
}

static int ask(const char *const *arguments, CoreProcessOutput *output) {
  enum { LONGEST_S = 3600 };
  TRY(core_process_run(arguments, NULL, NULL, LONGEST_S, output));
  if (output->exit_code == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s cannot judge the runs: %s", arguments[0],
                    output->timed_out        ? "it took more than an hour"
                    : output->error.length ? core_text_string(&output->error) : "it was killed");
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* "run,value" under a line of names; an empty value was not measured. */
static int parse(char *text, SweepJudged *judged) {
  size_t capacity = 0;
  char *line = strsep(&text, "\n");
  while ((line = text ? strsep(&text, "\n") : NULL) && *line) {
    char *comma = strchr(line, ',');
    if (!comma || comma - line != CORE_RUN_ID - 1)
      return core_error(CORE_FAIL, "analyze measures answered '%.80s', which is no run and its value: is it of another "
                        "version?", line);
    if (judged->count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      judged->ids = core_memory_resize(judged->ids, capacity * sizeof *judged->ids);
      judged->values = core_memory_resize(judged->values, capacity * sizeof *judged->values);
    }
    *comma = '\0';
    memcpy(judged->ids[judged->count], line, CORE_RUN_ID);
    if (!core_text_to_real(comma + 1, &judged->values[judged->count])) judged->values[judged->count] = NAN;
    judged->count++;
  }
  return CORE_OK;
}

static int import(const char *root, const char *sweep) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport result;
  TRY(store_path_database(root, path));
  TRY(store_database_open(path, false, &database));
  const int code = store_import(database, root, sweep, true, &result);
  store_database_close(&database);
  return code;
}

int sweep_judge(const char *root, const char *sweep, const char *measure, SweepJudged *judged) {
  char program[CORE_PATH_MAX], database[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  *judged = (SweepJudged){0};
  TRY(import(root, sweep));
  TRY(program_path(program));
  TRY(store_path_database(root, database));
  const char *const arguments[] = {program,     "measures", database, "--sweep", sweep,
                                   "--measure", measure,    "--csv",  NULL};
  int code = ask(arguments, &output);
  if (code == CORE_OK && output.out.length > 0) code = parse(output.out.data, judged);
  core_process_output_free(&output);
  if (code != CORE_OK) sweep_judged_free(judged);
  return code;
}

void sweep_judged_free(SweepJudged *judged) {
  free(judged->ids);
  free(judged->values);
  *judged = (SweepJudged){0};
}

double sweep_judged_value(const SweepJudged *judged, const char *id) {
  for (size_t i = 0; i < judged->count; i++)
    if (strcmp(judged->ids[i], id) == 0) return judged->values[i];
  return NAN;
}
