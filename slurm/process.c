/* Runs Slurm's commands, and others that describe this machine, as child processes (core/process.h) without variables
 * that would change their answers. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "slurm/cluster.h"
#include "slurm/command_internal.h"

extern char **environ;

/* Whether a variable is passed on: defaults of the site or user for account, partition and the like are; variables that
 * set our own options or change the format of an answer are not. */
static bool is_kept(const char *variable) {
  static const char *const kept[] = {"SBATCH_ACCOUNT=", "SBATCH_PARTITION=", "SBATCH_QOS=", "SBATCH_RESERVATION=",
                                     "SBATCH_DEBUG=", "SLURM_CONF=", "SLURM_JWT=", "SLURMRESTD="};
  /* Variables of the enclosing job or step, which a submitted job would mistake for its own. */
  static const char *const dropped[] = {"SBATCH_", "SQUEUE_", "SACCT_", "SINFO_",     "SCONTROL_", "SCANCEL_", "SRUN_",
                                        "SALLOC_", "SLURM_",  "PMI_",   "PMIX_",      "PMI2_",     "PMIX2_",   "PRTE_",
                                        "SLURMD_", "SPANK_",  "SLURM=", "OMPI_COMM_", "OMPI_UNIVERSE_",
                                        "OMPI_APP_CTX_", "OMPI_FIRST_RANKS", "OMPI_NUM_APP_CTX"};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (strncmp(variable, kept[i], strlen(kept[i])) == 0) return true;
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
    if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0) return false;
  return strncmp(variable, "LC_", 3) != 0 && strncmp(variable, "LANG=", 5) != 0;
}

static char **make_environment(void) {
  /* C locale; times as seconds since 1970; array expressions in full. */
  static const char *const fixed[] = {"LC_ALL=C", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"};
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  char **variables = core_memory_allocate((count + sizeof fixed / sizeof *fixed + 1) * sizeof *variables);
  for (size_t i = 0; i < count; i++)
    if (is_kept(environ[i])) variables[kept++] = environ[i];
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) variables[kept++] = (char *)fixed[i];
  variables[kept] = NULL;
  return variables;
}

int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, CoreProcessOutput *output) {
  char **environment = make_environment();
  const int code = core_process_run(arguments, environment, input, timeout_s, output);
  free(environment);
  return code;
}

int slurm_check_clusters(void) {
  static const char *const names[] = {"SLURM_CLUSTERS", "SBATCH_CLUSTERS", "SQUEUE_CLUSTERS", "SACCT_CLUSTERS",
                                      "SCANCEL_CLUSTERS", "SINFO_CLUSTERS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value)
      return core_error(CORE_USAGE, "%s=%.80s: sweep works with the cluster of slurm.conf alone; unset %s, and set "
                        "SLURM_CONF to the other cluster's file for another one", names[i], value, names[i]);
  }
  return CORE_OK;
}

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
