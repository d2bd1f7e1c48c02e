/* Slurm's programs as child processes (core/process.h), without what would change their answers. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "slurm/process_internal.h"

extern char **environ;

bool slurm_process_exists(const char *name) { return core_process_exists(name); }

/* A site's and a user's defaults for account, partition and the like stay; what is ours to say goes, and whatever
 * changes the form of an answer. */
static bool is_kept(const char *variable) {
  static const char *const kept[] = {"SBATCH_ACCOUNT=", "SBATCH_PARTITION=", "SBATCH_QOS=", "SBATCH_RESERVATION=",
                                     "SBATCH_DEBUG=", "SLURM_CONF=", "SLURM_JWT=", "SLURMRESTD="};
  /* SLURM_*, PMI*, OMPI_COMM_* and the like are of the job or step around us: jobs would take them for their own. */
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
  /* Numbers and dates as Slurm writes them; times in seconds since 1970, whatever the zone; array expressions whole. */
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

int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, SlurmOutput *output) {
  char **environment = make_environment();
  const int code = core_process_run(arguments, environment, input, timeout_s, output);
  free(environment);
  return code;
}

void slurm_output_free(SlurmOutput *output) { core_process_output_free(output); }

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
