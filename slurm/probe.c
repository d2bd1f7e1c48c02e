#include "slurm/probe.h"

#include <string.h>

#include "slurm/process_internal.h"

int slurm_probe(const char *const *arguments, int timeout_s, CoreText *output) {
  CoreProcessOutput got;
  TRY(slurm_process_run(arguments, NULL, timeout_s, &got));
  core_text_append(output, core_text_string(&got.out));
  core_text_append(output, core_text_string(&got.error));
  int code = CORE_OK;
  if (got.timed_out) code = core_error(CORE_FAIL, "%s did not end within %d s", arguments[0], timeout_s);
  else if (got.exit_code != 0) code = core_error(CORE_FAIL, "%s ended with exit code %d", arguments[0], got.exit_code);
  core_process_output_free(&got);
  return code;
}

/* The output is "MPI plugin types are...", then one name per line ("pmix"), or several after "specific pmix plugin
 * versions available:". */
int slurm_probe_mpi(const char *kind, bool *known, CoreText *kinds) {
  static const char *const arguments[] = {"srun", "--mpi=list", NULL};
  CoreText output = {0};
  *known = false;

  const int code = slurm_probe(arguments, 20, &output);
  char *save = NULL, *word = code == CORE_OK && output.data ? strtok_r(output.data, " ,\t\n", &save) : NULL;
  for (; word; word = strtok_r(NULL, " ,\t\n", &save)) {
    const size_t length = strlen(word);
    const bool is_kind = strncmp(word, "pmi", 3) == 0 || strcmp(word, "none") == 0 || strncmp(word, "cray", 4) == 0;
    if (!is_kind || word[length - 1] == ':') continue;
    core_text_appendf(kinds, "%s%s", kinds->length ? ", " : "", word);
    *known |= strcmp(word, kind) == 0;
  }

  core_text_free(&output);
  return code;
}
