/* Runs Slurm's commands as child processes (core/process.h) without variables that would change their answers. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "slurm/process_internal.h"

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
