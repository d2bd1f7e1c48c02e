/* A process of its own: what proposes lies above this folder, and whatever it meets cannot harm the executor. */
#include "sweep/local/next_wave.h"

#include "core/files.h"
#include "core/log.h"
#include "core/process.h"
#include "core/program.h"

/* Its words, without the line's end, into the executor's log. */
static void say(const CoreText *text) {
  size_t length = text->length;
  while (length > 0 && text->data[length - 1] == '\n') length--;
  if (length > 0) core_info("%.*s", (int)length, text->data);
}

int sweep_next_wave_propose(const char *root, const char *name, bool same_environment) {
  enum { LONGEST_S = 2 * 3600 };
  char program[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  TRY(core_program_path(program));
  const char *const arguments[] = {program, "submit", name, "--root", root, "--no-start", "--no-check",
                                   same_environment ? "--same-environment" : NULL, NULL};
  TRY(core_process_run(arguments, NULL, NULL, LONGEST_S, &output));
  say(&output.out);
  say(&output.error);
  const int exit_code = output.exit_code;
  core_process_output_free(&output);
  if (exit_code == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s: the search's next trials could not be proposed; sweep submit %s tries again", name,
                    name);
}
