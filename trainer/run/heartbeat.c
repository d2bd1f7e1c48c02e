/* One thread, one mutex, one copy of the state. Only this module writes the state file while the trainer runs. */
#include "trainer/run/heartbeat.h"

#include <errno.h>
#include <pthread.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"

struct Heartbeat {
  char root[CORE_PATH_MAX], id[CORE_RUN_ID];
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  bool ending;
  StoreState state;
};

static int write_state(Heartbeat *heartbeat) {
  heartbeat->state.heartbeat_unix_s = core_clock_unix_s();
  return store_run_state_write(heartbeat->root, heartbeat->id, &heartbeat->state);
}

static void *beat(void *context) {
  Heartbeat *heartbeat = context;
  bool failing = false;

  pthread_mutex_lock(&heartbeat->mutex);
  while (!heartbeat->ending) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STORE_HEARTBEAT_S;
    while (!heartbeat->ending && pthread_cond_timedwait(&heartbeat->wake, &heartbeat->mutex, &until) != ETIMEDOUT) {}
    if (heartbeat->ending) break;

    bool failed = write_state(heartbeat) != CORE_OK; /* a full disk: warn once, keep trying */
    if (failed && !failing) core_warn("the state file cannot be written: %s", core_error_message());
    failing = failed;
  }
  pthread_mutex_unlock(&heartbeat->mutex);
  return NULL;
}

int heartbeat_start(const char *root, const char *id, const StoreState *state, Heartbeat **heartbeat) {
  Heartbeat *created = core_memory_zero_allocate(1, sizeof *created);
  pthread_condattr_t monotonic;
  snprintf(created->root, sizeof created->root, "%s", root);
  snprintf(created->id, sizeof created->id, "%s", id);
  created->state = *state;

  pthread_mutex_init(&created->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&created->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);

  int code = write_state(created);
  if (code == CORE_OK && pthread_create(&created->thread, NULL, beat, created) != 0)
    code = core_error(CORE_FAIL, "the heartbeat's thread cannot be started");
  if (code != CORE_OK) {
    free(created);
    return code;
  }
  *heartbeat = created;
  return CORE_OK;
}

void heartbeat_update(Heartbeat *heartbeat, const StoreState *state) {
  pthread_mutex_lock(&heartbeat->mutex);
  heartbeat->state = *state;
  pthread_mutex_unlock(&heartbeat->mutex);
}

void heartbeat_abandon(Heartbeat *heartbeat, const char *message) {
  if (heartbeat == NULL) return;
  pthread_mutex_lock(&heartbeat->mutex); /* stays locked: no thread may write after this */
  heartbeat->state.status = STORE_FAILED;
  heartbeat->state.finished_unix_s = core_clock_unix_s();
  snprintf(heartbeat->state.message, sizeof heartbeat->state.message, "%s", message);
  if (write_state(heartbeat) != CORE_OK) core_warn("the state file cannot be written: %s", core_error_message());
}

int heartbeat_stop(Heartbeat **heartbeat, const StoreState *final) {
  Heartbeat *owned = *heartbeat;
  if (owned == NULL) return CORE_OK;
  pthread_mutex_lock(&owned->mutex);
  owned->ending = true;
  pthread_cond_signal(&owned->wake);
  pthread_mutex_unlock(&owned->mutex);
  pthread_join(owned->thread, NULL);
  owned->state = *final;
  int code = write_state(owned);
  pthread_cond_destroy(&owned->wake);
  pthread_mutex_destroy(&owned->mutex);
  free(owned);
  *heartbeat = NULL;
  return code;
}
