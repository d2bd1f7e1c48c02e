/* Format of the journal. Makes no calls to Slurm: submission.c acts on its unconfirmed arrays.
 *
 * States of an array:
 *   (none)       not requested
 *   REQUESTED    unconfirmed: Slurm may have it
 *   ACCEPTED     Slurm has it, as `job`
 *   REJECTED     Slurm refused it
 *   LOST         Slurm did not get it; a task of it that starts nevertheless exits at once
 *
 *   state        line       written when                                                        next
 *   (none)       ask        before Slurm is called (launch.c)                                   REQUESTED
 *   REQUESTED    took       Slurm answers with a job; or the next submission finds the array    ACCEPTED
 *                           in Slurm's queue (submission.c)
 *                refused    Slurm answers with an error, or cannot be reached                   REJECTED
 *                gone       the next submission finds that the queue lacks it, after twice      LOST
 *                           Slurm's timeout (submission.c)
 *                (none)     no answer: a timeout, a garbled answer or a crash                   REQUESTED
 *
 * ACCEPTED, REJECTED and LOST are final. No array is requested while another one is REQUESTED: a submission resolves
 * these first, under the lock. A reader takes a REQUESTED array that is in Slurm's queue for ACCEPTED (job_map.c), and
 * writes nothing. */
#include "sweep/cluster/journal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "slurm/cluster.h"
#include "store/workspace/paths.h"
#include "sweep/spec/line_log.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int sweep_journal_append(const char *root, const char *name, const char *format, ...) {
  char path[CORE_PATH_MAX], fields[1024];
  va_list arguments;
  TRY(store_path_sweep(root, name, "submit.log", path));
  va_start(arguments, format);
  vsnprintf(fields, sizeof fields, format, arguments);
  va_end(arguments);
  return sweep_line_log_append(path, fields);
}

int sweep_journal_lock(const char *root, const char *name, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "submit.lock", path));
  const int code = core_files_lock(path, false, fd);
  if (code == CORE_OK) return CORE_OK;
  return core_error(code, "%s: another process is submitting or changing this sweep: %s", name, core_error_message());
}

const char *sweep_journal_comment(const char *name, int64_t batch, const char *hash, int64_t array, char *buffer) {
  snprintf(buffer, SLURM_NAME, "sweep=%s batch=%lld.%s:%lld", name, (long long)batch, hash, (long long)array);
  return buffer;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static SweepArray *find_array(SweepJournal *journal, int64_t batch, int64_t array) {
  for (size_t i = journal->count; i-- > 0;)
    if (journal->arrays[i].batch == batch && journal->arrays[i].array == array) return &journal->arrays[i];
  return NULL;
}

static bool read_request(SweepJournal *journal, double unix_s, char **field, size_t count) {
  SweepArray array = {.requested_unix_s = unix_s, .earlier_cancel_count = journal->cancel_count};
  if (count != 8 || !core_text_to_int(field[3], &array.batch) || strlen(field[4]) != SWEEP_HASH - 1 ||
      !core_text_to_int(field[5], &array.array) || !core_text_to_int(field[6], &array.first_task) ||
      !core_text_to_int(field[7], &array.tasks) || array.batch < 1 || array.first_task < 0 || array.tasks < 1)
    return false;
  memcpy(array.hash, field[4], SWEEP_HASH);
  snprintf(array.submitted_by, sizeof array.submitted_by, "%s", field[1]);
  journal->arrays = core_memory_resize(journal->arrays, (journal->count + 1) * sizeof *journal->arrays);
  journal->arrays[journal->count++] = array;
  if (array.batch > journal->batches) journal->batches = array.batch;
  return true;
}

static bool read_cancel(SweepJournal *journal, char **field, size_t count) {
  SweepCancel cancel = {0};
  if (count != 4 || (strcmp(field[3], "all") != 0 && !store_is_run_id(field[3]))) return false;
  if (strcmp(field[3], "all") != 0) memcpy(cancel.id, field[3], CORE_RUN_ID);
  snprintf(cancel.cancelled_by, sizeof cancel.cancelled_by, "%s", field[1]);
  journal->cancels = core_memory_resize(journal->cancels, (journal->cancel_count + 1) * sizeof *journal->cancels);
  journal->cancels[journal->cancel_count++] = cancel;
  return true;
}

/* Drops the last cancels. No array was requested in between, since their writer held the lock. */
static bool read_uncancel(SweepJournal *journal, char **field, size_t count) {
  int64_t dropped;
  if (count != 4 || !core_text_to_int(field[3], &dropped) || dropped < 0 || (uint64_t)dropped > journal->cancel_count)
    return false;
  journal->cancel_count -= (size_t)dropped;
  return true;
}

/* Reads "took", "refused" or "gone". */
static bool read_answer(SweepJournal *journal, char **field, size_t count) {
  int64_t batch, index, job;
  if (count < 5 || !core_text_to_int(field[3], &batch) || !core_text_to_int(field[4], &index)) return false;
  SweepArray *array = find_array(journal, batch, index);
  if (!array) return false;

  if (strcmp(field[2], "refused") == 0) {
    array->state = SWEEP_ARRAY_REJECTED;
    return true;
  }
  if (strcmp(field[2], "gone") == 0) {
    array->state = SWEEP_ARRAY_LOST;
    return true;
  }

  if (strcmp(field[2], "took") != 0 || count != 6 || !core_text_to_int(field[5], &job) || job < 1) return false;
  array->state = SWEEP_ARRAY_ACCEPTED;
  array->job = job;
  return true;
}

static bool read_line(void *context, char **field, size_t count) {
  SweepJournal *journal = context;
  double unix_s;
  if (!core_text_to_real(field[0], &unix_s)) return false;
  if (strcmp(field[2], "ask") == 0) return read_request(journal, unix_s, field, count);
  if (strcmp(field[2], "cancel") == 0) return read_cancel(journal, field, count);
  if (strcmp(field[2], "uncancel") == 0) return read_uncancel(journal, field, count);
  return read_answer(journal, field, count);
}

int sweep_journal_read(const char *root, const char *name, SweepJournal *journal) {
  char path[CORE_PATH_MAX];
  *journal = (SweepJournal){0};
  TRY(store_path_sweep(root, name, "submit.log", path));
  const int code = sweep_line_log_read(path, "delete it if it is not about a submission", read_line, journal);
  if (code != CORE_OK) sweep_journal_free(journal);
  return code;
}

void sweep_journal_free(SweepJournal *journal) {
  free(journal->arrays);
  free(journal->cancels);
  *journal = (SweepJournal){0};
}

const char *sweep_journal_cancelled_by(const SweepJournal *journal, const char *id, const SweepArray *array) {
  for (size_t i = journal->cancel_count; i-- > array->earlier_cancel_count;) {
    const SweepCancel *cancel = &journal->cancels[i];
    if (!*cancel->id || strcmp(cancel->id, id) == 0) return cancel->cancelled_by;
  }
  return NULL;
}

bool sweep_journal_exists(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  return store_path_sweep(root, name, "submit.log", path) == CORE_OK && core_files_exists(path);
}
