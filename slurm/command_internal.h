/* Functions that the files of the commands' backend share: command.c, and command_list.c, which lists jobs. */
#ifndef SLURM_COMMAND_INTERNAL_H
#define SLURM_COMMAND_INTERNAL_H
#include "slurm/cluster.h"
#include "slurm/process_internal.h"

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

#endif
