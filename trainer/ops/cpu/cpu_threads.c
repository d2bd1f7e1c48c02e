/* Thread count under contention (cpu_threads.h). */
#include "trainer/ops/cpu/cpu_threads.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"

static const double LOOK_SECONDS = 0.25;
static const double WAITS = 0.15, CALM = 0.03; /* shares of waiting above which, and below which, a thread counts as
                                                * waiting and as not waiting */
static const double AWAKE = 0.1;               /* share of the time: threads that want a processor less often do not
                                                * count */
enum { LEAST_PATIENCE = 8, MOST_PATIENCE = 240 }; /* looks: 2 seconds, a minute */

int cpu_threads_next(CpuThreadsRule *rule, CpuThreadsSeen seen) {
  if (rule->patience == 0) rule->patience = LEAST_PATIENCE;

  if (seen.waited > WAITS) {
    rule->calm = 0;
    if (rule->now == 1) return 1;
    if (rule->tried && rule->patience < MOST_PATIENCE) rule->patience *= 2;
    rule->tried = false;
    const int had = (int)lround(seen.ran / seen.seconds); /* processors */
    rule->now = had < 1 ? 1 : had < rule->now ? had : rule->now - 1;
    return rule->now;
  }

  rule->calm = seen.waited < CALM ? rule->calm + 1 : 0;
  if (rule->calm < rule->patience) return rule->now;
  rule->calm = 0;
  if (rule->tried) rule->patience = LEAST_PATIENCE; /* the last increase succeeded */
  rule->tried = rule->now < rule->most;
  if (rule->tried) rule->now++;
  return rule->now;
}

/* Reads a thread's seconds of running and of waiting for a processor (Linux's sched-stats). */
static bool read_thread(const char *id, CpuThread *thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", id);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const int read = fscanf(file, "%" SCNu64 " %" SCNu64, &thread->ran, &thread->waited);
  fclose(file);
  thread->id = strtoll(id, NULL, 10);
  return read == 2;
}

/* Finds the same thread in the last look; NULL: it is new, perhaps with the id of one that ended. */
static const CpuThread *find(const CpuThreads *look, const CpuThread *now) {
  for (int i = 0; i < look->known; i++) {
    const CpuThread *before = &look->thread[i];
    if (before->id == now->id) return before->ran <= now->ran && before->waited <= now->waited ? before : NULL;
  }
  return NULL;
}

/* Measures the threads; those started since the last look count from the next one on. */
static CpuThreadsSeen see(CpuThreads *look, double seconds) {
  CpuThreadsSeen seen = {.seconds = seconds};
  DIR *directory = opendir("/proc/self/task");
  CpuThread *now = look->next;
  int count = 0;

  while (directory && count < CPU_THREADS_KNOWN) {
    const struct dirent *entry = readdir(directory);
    if (!entry) break;
    if (entry->d_name[0] == '.' || !read_thread(entry->d_name, &now[count])) continue;
    const CpuThread *before = find(look, &now[count]);
    const double ran = before ? 1e-9 * (double)(now[count].ran - before->ran) : 0;
    const double waited = before ? 1e-9 * (double)(now[count].waited - before->waited) : 0;
    seen.ran += ran;
    if (ran + waited > AWAKE * seconds) seen.waited = fmax(seen.waited, waited / (ran + waited));
    count++;
  }

  if (directory) closedir(directory);
  memcpy(look->thread, now, (size_t)count * sizeof *now);
  look->known = count;
  look->is_blind = count == 0;
  return seen;
}

/* Whether this process has children: environments' workers (bridge_process.c), which the main thread starts. */
static bool has_children(void) {
  char path[64];
  int child;
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const bool found = fscanf(file, "%d", &child) == 1;
  fclose(file);
  return found;
}

static void begin(CpuThreads *look, int threads) {
  const char *asked = getenv("TRAINER_THREADS");
  look->rule = (CpuThreadsRule){.most = threads, .now = threads};
  look->is_blind = threads == 1 || (asked && strcmp(asked, "fixed") == 0);
  if (!look->is_blind) see(look, 1);
}

void cpu_threads_poll(CpuThreads *look, CpuThreadsPhase phase, int *threads) {
  if (look->is_blind) return;
  if (phase == CPU_THREADS_ACT) look->has_acted = true;

  const double now = core_clock_s(), seconds = now - look->looked;
  if (look->looked > 0 && seconds < LOOK_SECONDS) return;
  const bool first = look->looked == 0;
  look->looked = now;
  if (first) {
    begin(look, *threads);
    return;
  }

  const CpuThreadsSeen seen = see(look, seconds);
  const bool counts = !look->has_acted || !has_children();
  look->has_acted = phase == CPU_THREADS_ACT;

  if (look->is_blind || !counts || cpu_threads_next(&look->rule, seen) == *threads) return;
  *threads = look->rule.now;
  omp_set_num_threads(*threads);
  if (look->has_shared) return;
  look->has_shared = true;
  core_info("other programs use the processors: reduced to %d of %d threads until they are free", *threads,
            look->rule.most);
}
