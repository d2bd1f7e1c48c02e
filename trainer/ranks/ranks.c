/* Ranks over MPI (ranks.h): start and stop, sums, and one common message when one of them fails. rank_monitor.c detects
 * ranks that died. MPI is loaded only where a launcher started several tasks. A build without its header has one rank,
 * and every exchange is trivial. */
#include "trainer/ranks/ranks.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/signals.h"
#include "trainer/ranks/mpi_library.h"
#include "trainer/ranks/rank_monitor.h"

typedef struct RankProcess {
  char host[64];
  int64_t pid;
} RankProcess;

static struct Ranks {
  int rank, size;
  int on_machine;
  int threads;          /* share of this machine; 0 = unknown: alone */
  RankProcess *process; /* [size] */
  int planned;          /* size of a run that is planned; 0 or 1: none is */
} self = {.size = 1, .on_machine = 1};

bool ranks_available(void) { return mpi_library_open() == CORE_OK; }
int ranks_rank(void) { return self.rank; }
int ranks_size(void) { return self.planned > 1 ? self.planned : self.size; }
void ranks_plan_as(int size) { self.planned = size; }
bool ranks_are_planned(void) { return self.planned > 1; }
bool ranks_is_first(void) { return self.rank == 0; }
int ranks_on_machine(void) { return self.on_machine; }
int ranks_threads(void) { return self.threads > 0 ? self.threads : omp_get_max_threads(); }

const char *ranks_describe(int rank, char text[160]) {
  const RankProcess *process = self.process ? &self.process[rank] : NULL;
  snprintf(text, 160, "rank %d of %d on %s (process %lld)", rank, self.size, process ? process->host : "this machine",
           process ? (long long)process->pid : (long long)getpid());
  return text;
}

/* SLURM_NTASKS is ignored: it is also set in a batch script, where a program is one task whatever the job has. */
int ranks_launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  long max_tasks = 1;
  /* A shell of `srun --pty` passes its step's variables to its children, which are not ranks: MPI_Init would wait for
   * the others, and end the step when it fails. */
  if (getenv("SLURM_PTY_PORT")) return 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    long tasks = value ? strtol(value, NULL, 10) : 1;
    if (tasks > max_tasks && tasks <= 1 << 20) max_tasks = tasks;
  }
  return (int)max_tasks;
}

bool ranks_stop_requested(void) {
  const bool own = core_signals_stop() != 0;
  return CORE_HAS_MPI ? rank_monitor_share_stop(own) : own;
}

int ranks_check_stop(void) {
  return ranks_stop_requested() ? core_error(CORE_REQUEUE, "stopped by a signal") : CORE_OK;
}

#if CORE_HAS_MPI

enum { MESSAGE = 1024, CHUNK = 1 << 26 }; /* elements per call: MPI counts in int */

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

/* Computes this rank's threads: each processor counts as its share among all ranks of this machine that may use it. */
static void share_threads(void) {
  MPI_Comm machine;
  cpu_set_t own, *all;
  int size;
  double share = 0;

  mpi.Comm_split_type(mpi.world, MPI_COMM_TYPE_SHARED, self.rank, mpi.info_null, &machine);
  mpi.Comm_size(machine, &size);
  self.on_machine = size;
  all = core_memory_zero_allocate((size_t)size, sizeof *all);

  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof own, &own);
  mpi.Allgather(&own, sizeof own, mpi.byte, all, sizeof own, mpi.byte, machine);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    int users = 0;
    if (!CPU_ISSET(cpu, &own)) continue;
    for (int i = 0; i < size; i++) users += CPU_ISSET(cpu, &all[i]) != 0;
    share += 1.0 / users;
  }

  free(all);
  mpi.Comm_free(&machine);
  const int own_threads = share > 1 ? (int)(share + 1e-9) : 1;
  self.threads = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : own_threads;
}

static void exchange_places(void) {
  RankProcess process = {.pid = getpid()};
  gethostname(process.host, sizeof process.host - 1);
  self.process = core_memory_zero_allocate((size_t)self.size, sizeof *self.process);
  mpi.Allgather(&process, sizeof process, mpi.byte, self.process, sizeof process, mpi.byte, mpi.world);
}

/* Joins the tasks of the launcher; MPI is loaded. */
static int join(int launched) {
  int level;
  mpi.Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  mpi.Comm_rank(mpi.world, &self.rank);
  mpi.Comm_size(mpi.world, &self.size);

  if (self.size != launched) {
    int seen = self.size;
    mpi.Finalize();
    self = (struct Ranks){.size = 1, .on_machine = 1};
    return core_error(CORE_USAGE, "%d tasks were started but MPI sees %d, so each would train the whole run; start it "
                      "with the mpirun of the Open MPI that it loads, or with srun --mpi=pmix", launched, seen);
  }

  exchange_places();
  share_threads();
  rank_monitor_start();
  return CORE_OK;
}

void ranks_stop(void) {
  if (self.size == 1) return;
  mpi.Barrier(mpi.world);
  rank_monitor_stop();
  mpi.Finalize();
  free(self.process);
  self.process = NULL;
  self.size = 1; /* the rank stays, so that only the first one prints */
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

int ranks_agree(int code) {
  struct { int failed, rank; } own = {code != CORE_OK, self.rank}, first;
  struct { int code; char text[MESSAGE]; } message = {.code = code};
  char who[160];
  if (self.size == 1) return code;
  mpi.Allreduce(&own, &first, 1, mpi.two_ints, mpi.max_place, mpi.world); /* the lowest rank among equal codes */
  if (!first.failed) return CORE_OK;
  snprintf(message.text, sizeof message.text, "%s", core_error_message());
  mpi.Bcast(&message, sizeof message, mpi.byte, first.rank, mpi.world);
  if (first.rank == 0) return core_error(message.code, "%s", message.text);
  return core_error(message.code, "%s: %s", ranks_describe(first.rank, who), message.text);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static int chunk_of(size_t left) { return left < CHUNK ? (int)left : CHUNK; }

void ranks_broadcast(void *data, size_t bytes) {
  if (self.size == 1) return;
  for (size_t done = 0; done < bytes; done += CHUNK)
    mpi.Bcast((char *)data + done, chunk_of(bytes - done), mpi.byte, 0, mpi.world);
}

enum { TAG = 1 };

void ranks_gather(const void *sent, size_t bytes, void *gathered) {
  if (self.rank == 0) memcpy(gathered, sent, bytes);
  for (int rank = 1; rank < self.size; rank++)
    for (size_t done = 0; done < bytes; done += CHUNK) {
      if (self.rank == 0)
        mpi.Recv((char *)gathered + (size_t)rank * bytes + done, chunk_of(bytes - done), mpi.byte, rank, TAG,
                 mpi.world, MPI_STATUS_IGNORE);
      if (self.rank == rank)
        mpi.Send((const char *)sent + done, chunk_of(bytes - done), mpi.byte, 0, TAG, mpi.world);
    }
}

void ranks_scatter(const void *scattered, size_t bytes, void *received) {
  if (self.rank == 0) memcpy(received, scattered, bytes);
  for (int rank = 1; rank < self.size; rank++)
    for (size_t done = 0; done < bytes; done += CHUNK) {
      if (self.rank == 0)
        mpi.Send((const char *)scattered + (size_t)rank * bytes + done, chunk_of(bytes - done), mpi.byte, rank, TAG,
                 mpi.world);
      if (self.rank == rank)
        mpi.Recv((char *)received + done, chunk_of(bytes - done), mpi.byte, 0, TAG, mpi.world, MPI_STATUS_IGNORE);
    }
}

void ranks_gather_all(const void *sent, size_t bytes, void *gathered) {
  if (self.size == 1) {
    memcpy(gathered, sent, bytes);
    return;
  }
  if (bytes <= CHUNK) {
    mpi.Allgather(sent, (int)bytes, mpi.byte, gathered, (int)bytes, mpi.byte, mpi.world);
    return;
  }
  memcpy((char *)gathered + (size_t)self.rank * bytes, sent, bytes);
  for (int rank = 0; rank < self.size; rank++)
    for (size_t done = 0; done < bytes; done += CHUNK)
      mpi.Bcast((char *)gathered + (size_t)rank * bytes + done, chunk_of(bytes - done), mpi.byte, rank, mpi.world);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void reduce(void *x, size_t n, size_t size, MPI_Datatype type, MPI_Op op) {
  if (self.size == 1) return;
  for (size_t done = 0; done < n; done += CHUNK)
    mpi.Allreduce(MPI_IN_PLACE, (char *)x + done * size, chunk_of(n - done), type, op, mpi.world);
}

void ranks_sum(double *x, size_t n) { reduce(x, n, sizeof *x, mpi.float64, mpi.sum); }
void ranks_sum_counts(int64_t *x, size_t n) { reduce(x, n, sizeof *x, mpi.int64, mpi.sum); }
void ranks_sum_floats(float *x, size_t n) { reduce(x, n, sizeof *x, mpi.float32, mpi.sum); }
void ranks_max(double *x, size_t n) { reduce(x, n, sizeof *x, mpi.float64, mpi.max); }

#else /* one rank: mpi_library_open fails */

static int join(int launched) { return CORE_OK; }
void ranks_stop(void) {}
int ranks_agree(int code) { return code; }
void ranks_broadcast(void *data, size_t bytes) {}
void ranks_gather(const void *sent, size_t bytes, void *gathered) { memcpy(gathered, sent, bytes); }
void ranks_scatter(const void *scattered, size_t bytes, void *received) { memcpy(received, scattered, bytes); }
void ranks_gather_all(const void *sent, size_t bytes, void *gathered) { memcpy(gathered, sent, bytes); }
void ranks_sum(double *x, size_t n) {}
void ranks_sum_counts(int64_t *x, size_t n) {}
void ranks_sum_floats(float *x, size_t n) {}
void ranks_max(double *x, size_t n) {}

#endif

int ranks_start(void) {
  const int launched = ranks_launched();
  if (launched == 1) return CORE_OK;
  if (mpi_library_open() == CORE_OK) return join(launched);
  char reason[512];
  snprintf(reason, sizeof reason, "%s", core_error_message());
  return core_error(CORE_USAGE, "%d tasks were started, but %s, so each would train the whole run; start one task, or "
                    "install Open MPI or load its module", launched, reason);
}
