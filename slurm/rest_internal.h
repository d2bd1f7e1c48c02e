/* slurmrestd's JSON, whose shapes differ between versions of its API: v0.0.36 to v0.0.38 have plain values, v0.0.39 and
 * later objects {set, infinite, number} and arrays of flags. rest_job.c writes the shape of a version; rest_read.c
 * reads either shape whatever the version, since versions between mix them. rest.c is who talks. */
#ifndef SLURM_REST_INTERNAL_H
#define SLURM_REST_INTERNAL_H
#include "core/json.h"

#include "slurm/cluster.h"

enum {
  REST_VERSION_LEAST = 36,
  REST_VERSION_MOST = 45,
  REST_VERSION_OBJECTS = 39,      /* the first with objects */
  REST_VERSION_WHOLE_ARRAYS = 40, /* the first that changes no single task of an array (rest_update.c) */
  REST_VERSION_LISTS = 40,        /* the first with DELETE jobs/, for any number of jobs and tasks */
  REST_VERSION_DEFAULT = 45,      /* the first since 39 that says which partition is the default */
};

/* slurm_errno.h: a job is not there (any more). */
enum { REST_ERROR_JOB_ID = 2017, REST_ERROR_ALREADY_DONE = 2021 };

/* ---- rest_job.c: what is sent ------------------------------------------------------------------------------------ */

/* The body of POST job/submit, as text; caller frees. CORE_USAGE: an option of slurm.extra that slurmrestd can not be
 * told. */
int rest_job_write(const SlurmJob *job, int version, char **body);

/* ---- rest_read.c: what comes back -------------------------------------------------------------------------------- */

/* The highest API version v0.0.N of an OpenAPI document's paths that this program knows; 0 when there is none. */
int rest_read_version(const json_t *document);
/* "22.05.8"; "" when it is not said. */
void rest_read_release(const json_t *answer, char *release, size_t size);

/* A whole number in any of its shapes: 5, "5", {"set": true, "infinite": false, "number": 5}. false: none, infinite,
 * not set, too large. */
bool rest_read_number(const json_t *value, int64_t *number);

/* The first error that is one (number not 0; for answers that give none: with words): number and words, printable, at
 * most size-1 bytes. Those of DELETE job stand in a list "status" of their own, beside an empty "errors" and HTTP
 * status 200 (24.11 and later). false: there is none. */
bool rest_read_error(const json_t *answer, int64_t *number, char *words, size_t size);

/* Appends the tasks of one job record; `names`: only those of these names, count 0: only
 * `user`'s. CORE_FAIL: garbled. */
int rest_read_job(const json_t *record, const char *const *names, size_t count, const char *user, SlurmTasks *tasks);

/* Appends the tasks of a job record that waits, as rows with nothing but array and indices, and gives the record's own
 * number. One that does not wait appends nothing. CORE_FAIL: garbled. */
int rest_read_waiting(const json_t *record, int64_t *own, SlurmTasks *tasks);

/* One partition's record; then each node's adds to the partitions it is in. false: no such record. */
bool rest_read_partition(const json_t *record, SlurmPartition *partition);
bool rest_read_node(const json_t *record, SlurmPartition *partitions, size_t count);

/* ---- rest_update.c: which jobs stand for which tasks ------------------------------------------------------------- */

/* From v0.0.40 on a change (a hold) goes to a job's own number, and an array's number means all of its tasks that wait.
 * Appends to numbers[size of `jobs`] the ones that together are what waits of ids[0..count), which are sorted by job
 * and task; `jobs` is the answer's list. CORE_USAGE: they are some of an array's tasks but not all, and have no numbers
 * of their own. */
int rest_update_numbers(const json_t *jobs, const SlurmId *ids, size_t count, int64_t *numbers, size_t *number_count);

#endif
