/* Uses a child process: the code that proposes is above this directory in the order of includes, and its errors cannot
 * harm the executor (next_wave.h). */
#include "sweep/local/next_wave.h"

#include "core/files.h"
#include "core/log.h"
#include "core/process.h"
#include "core/program.h"

/* Logs the child's output without its last newline. */
static void log_output(const CoreText *text) {
  size_t length = text->length;
  while (length > 0 && text->data[length - 1] == '\n') length--;
  if (length > 0) core_info("%.*s", (int)length, text->data);
}

int sweep_next_wave_propose(const char *root, const char *name, bool same_environment) {
  enum { TIMEOUT_S = 2 * 3600 };
  char program[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  TRY(core_program_path(program));
  const char *const arguments[] = {program, "submit", name, "--root", root, "--no-start", "--no-check",
                                   same_environment ? "--same-environment" : NULL, NULL};
  TRY(core_process_run(arguments, NULL, NULL, TIMEOUT_S, &output));
  log_output(&output.out);
  log_output(&output.error);
  const int exit_code = output.exit_code;
  core_process_output_free(&output);
  if (exit_code == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s: cannot propose the next trials of the search; retry: sweep submit %s", name, name);
}
