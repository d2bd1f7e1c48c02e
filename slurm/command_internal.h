/* Functions that the files of the commands' backend share (command.c). rest.c reads slurm.conf with limits.c. */
#ifndef SLURM_COMMAND_INTERNAL_H
#define SLURM_COMMAND_INTERNAL_H
#include <stdbool.h>

#include "core/process.h"
#include "slurm/cluster.h"

enum { COMMAND_FIELDS_MAX = 16 };

/* Runs a command; on failure sets message and fault and frees the output. */
int command_run(const char *const *arguments, const char *input, CoreProcessOutput *output, SlurmFault *fault);

/* Fails with SLURM_GARBLED: the program's answer cannot be parsed. */
int command_garbled(const char *program, const char *answer, SlurmFault *fault);

/* Whether a line belongs to an answer; sites also print greetings on standard output. */
bool command_is_answer(const char *line);

/* Splits a line at '|' into at most `wanted` fields, the last of which gets the rest. Returns their number. */
size_t command_split(char *line, char **fields, size_t wanted);

/* Parses "123" or "123;cluster". */
bool command_read_id(const char *text, int64_t *id);

/* ---- command_list.c ---------------------------------------------------------------------------------------------- */

/* list and history of SlurmApi (cluster.h). */
int command_list(void *backend, const SlurmSelection *selection, SlurmTasks *tasks, SlurmFault *fault);
int command_history(void *backend, const int64_t *jobs, size_t count, const char *directory, int64_t since_unix_s,
                    SlurmTasks *tasks, SlurmFault *fault);

/* ---- process.c --------------------------------------------------------------------------------------------------- */

/* Runs Slurm's commands with a clean environment, without a shell. */

/* Calls core_process_run without the environment variables that would change what the command prints or submits
 * (SQUEUE_FORMAT, SBATCH_ARRAY_INX ...). The caller frees `output` with core_process_output_free. */
int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, CoreProcessOutput *output);

/* Fails with CORE_USAGE if the environment selects another cluster (SLURM_CLUSTERS ...), which no call here uses. */
int slurm_check_clusters(void);

/* ---- limits.c ---------------------------------------------------------------------------------------------------- */

/* Parses lines "Key = value"; missing keys get Slurm's defaults. Returns false if the version or MaxArraySize is
 * missing, which scontrol always prints. */
bool slurm_limits_parse(const char *text, SlurmLimits *limits);

/* ---- allowance.c ------------------------------------------------------------------------------------------------- */

/* Remaining limits of an account from `scontrol show assoc_mgr`, which prints slurmctld's limits with their current use
 * and needs no database connection. */

/* Lowers the limits of `allowance` to those of its account ("": the user's default, whose name is then set) for the
 * user and for the account itself. Ignores records of others. */
void slurm_allowance_parse(const char *text, const char *user, SlurmAllowance *allowance);

/* Queries the limits through Slurm's commands; see slurm_allowance. */
int slurm_allowance_query(const char *account, const char *qos, SlurmAllowance *allowance);

#endif
