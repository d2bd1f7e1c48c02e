/* slurmrestd's JSON, whose format differs between API versions: v0.0.36 to v0.0.38 have plain values, later versions
 * objects {set, infinite, number} and arrays of flags. rest_job.c writes the format of a version; rest_read.c accepts
 * either format in any version, since some versions mix them. rest.c sends the requests. */
#ifndef SLURM_REST_INTERNAL_H
#define SLURM_REST_INTERNAL_H
#include "core/json.h"

#include "slurm/cluster.h"

enum {
  REST_VERSION_MIN = 36,
  REST_VERSION_MAX = 45,
  REST_VERSION_OBJECTS = 39,      /* first version with objects */
  REST_VERSION_WHOLE_ARRAYS = 40, /* first version that cannot change a single task of an array (rest_update.c) */
  REST_VERSION_LISTS = 40,        /* first version with DELETE jobs/, for any number of jobs and tasks */
  REST_VERSION_DEFAULT = 45,      /* first version since 39 that reports the default partition */
};

/* Error numbers of slurm_errno.h for a job that does not exist or has ended. */
enum { REST_ERROR_JOB_ID = 2017, REST_ERROR_ALREADY_DONE = 2021 };

/* ---- rest_job.c: requests ---------------------------------------------------------------------------------------- */

/* Writes the body of POST job/submit; the caller frees it. CORE_USAGE: an option of slurm.extra has no equivalent. */
int rest_job_write(const SlurmJob *job, int version, char **body);

/* ---- rest_read.c: answers ---------------------------------------------------------------------------------------- */

/* Returns the highest supported API version v0.0.N of an OpenAPI document's paths; 0: none. */
int rest_read_version(const json_t *document);
/* Copies Slurm's release, "22.05.8"; "": not given. */
void rest_read_release(const json_t *answer, char *release, size_t size);

/* Reads an integer in any format: 5, "5", {"set": true, "infinite": false, "number": 5}. Returns false if it is absent,
 * infinite, not set or too large. */
bool rest_read_number(const json_t *value, int64_t *number);

/* Reads the first real error (nonzero number, or a text if the answer has no numbers): its number and its text,
 * printable, at most size-1 bytes. DELETE job reports errors in a list "status", next to an empty "errors" and HTTP
 * status 200 (24.11 and later). Returns false if there is no error. */
bool rest_read_error(const json_t *answer, int64_t *number, char *message, size_t size);

/* Appends the tasks of one job record if it is selected; `user`: this user. CORE_FAIL: invalid record. */
int rest_read_job(const json_t *record, const SlurmSelection *selection, const char *user, SlurmTasks *tasks);

/* Appends the tasks of a pending job record as rows with array and indices only, and sets *job to the record's job id.
 * A record that is not pending appends nothing. CORE_FAIL: invalid record. */
int rest_read_waiting(const json_t *record, int64_t *job, SlurmTasks *tasks);

/* Read a partition's record, and add a node's record to its partitions. Return false for an invalid record. */
bool rest_read_partition(const json_t *record, SlurmPartition *partition);
bool rest_read_node(const json_t *record, SlurmPartition *partitions, size_t count);

/* ---- rest_update.c: job ids of tasks ----------------------------------------------------------------------------- */

/* From v0.0.40 on, a change (a hold) applies to a job id, and an array's id means all of its pending tasks. Appends to
 * numbers[size of `jobs`] the job ids that cover the pending tasks of ids[0..count), which are sorted by job and task;
 * `jobs` is the answer's list. CORE_USAGE: a proper subset of an array's tasks is selected that have no job ids of
 * their own. */
int rest_update_numbers(const json_t *jobs, const SlurmId *ids, size_t count, int64_t *numbers, size_t *number_count);

#endif
