/* Threads that take the next index from a counter (parallel.h). */
#include "core/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

typedef struct Visits {
  size_t count;
  int (*visit)(void *context, size_t index);
  void *context;
  atomic_size_t next;
  atomic_bool has_failed;
  pthread_mutex_t lock; /* protects all below */
  int code;             /* result of the first failure */
  char message[1024];   /* messages belong to their threads */
} Visits;

static void note_failure(Visits *visits, int code) {
  pthread_mutex_lock(&visits->lock);
  if (visits->code == CORE_OK) {
    visits->code = code;
    snprintf(visits->message, sizeof visits->message, "%s", core_error_message());
  }
  pthread_mutex_unlock(&visits->lock);
  atomic_store(&visits->has_failed, true);
}

static void *visit_in_turn(void *context) {
  Visits *visits = context;
  while (!atomic_load(&visits->has_failed)) {
    const size_t index = atomic_fetch_add(&visits->next, 1);
    if (index >= visits->count) break;
    const int code = visits->visit(visits->context, index);
    if (code != CORE_OK) note_failure(visits, code);
  }
  return NULL;
}

int core_parallel_visit(size_t count, int (*visit)(void *context, size_t index), void *context) {
  Visits visits = {.count = count, .visit = visit, .context = context, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t threads[CORE_PARALLEL_THREADS - 1];
  size_t started = 0;
  while (started + 1 < count && started < CORE_PARALLEL_THREADS - 1 &&
         pthread_create(&threads[started], NULL, visit_in_turn, &visits) == 0)
    started++;
  visit_in_turn(&visits);
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&visits.lock);
  return visits.code == CORE_OK ? CORE_OK : core_error(visits.code, "%s", visits.message);
}
