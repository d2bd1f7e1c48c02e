/* Groups of filtered levels, one group per thread at a time. The filter keeps the levels with the earliest times
 * (filter_key.h), and solving itself only delays a level. Levels are therefore played in the order of their undelayed
 * times, and only until enough are certain: any further level is later still. */
#include "sim/batch/level_stream.h"

#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/filter_key.h"
#include "sim/levels/generate.h"

/* PLAYED_FIRST: levels played together, usually enough; the rest is played one by one. */
enum { DRAWN = SIM_FILTER_RATIO * SIM_STREAM_GROUP, PLAYED_FIRST = SIM_STREAM_GROUP + 16 };

typedef struct Candidate {
  double time;               /* time in the filter's order */
  uint32_t number;
  int played;                /* index of its level in Worker.played */
} Candidate;

/* Working memory of a thread. */
typedef struct Worker {
  SimBatch *batch;           /* PLAYED_FIRST worlds */
  SimLevel *played;          /* [DRAWN] in the order of undelayed times */
  Candidate candidate[DRAWN];
} Worker;

struct SimLevelStream {
  SimSize size;
  int threads;
  Worker *worker;            /* [thread] */
};

static int create_worker(SimSize size, Worker *worker) {
  SimBatchOptions options = sim_batch_options_default();
  options.worlds = PLAYED_FIRST;
  options.auto_reset = false;
  worker->played = core_memory_zero_allocate(DRAWN, sizeof *worker->played);
  for (int i = 0; i < PLAYED_FIRST; i++) TRY(sim_generate_level(size, 0, (uint32_t)i, &worker->played[i]));
  return sim_batch_create(&options, &(SimLevelSet){worker->played, PLAYED_FIRST, size}, &worker->batch);
}

int sim_level_stream_create(SimSize size, SimLevelStream **stream) {
  SimLevelStream *created = core_memory_zero_allocate(1, sizeof *created);
  int code = CORE_OK;
  created->size = size;
  created->threads = omp_get_max_threads();
  created->worker = core_memory_zero_allocate((size_t)created->threads, sizeof *created->worker);
  for (int i = 0; i < created->threads; i++) {
    code = create_worker(size, &created->worker[i]);
    if (code != CORE_OK) break;
  }
  if (code != CORE_OK) sim_level_stream_destroy(&created);
  *stream = created;
  return code;
}

void sim_level_stream_destroy(SimLevelStream **stream) {
  SimLevelStream *owned = *stream;
  if (owned == NULL) return;
  for (int i = 0; i < owned->threads; i++) {
    sim_batch_destroy(&owned->worker[i].batch);
    free(owned->worker[i].played);
  }
  free(owned->worker);
  free(owned);
  *stream = NULL;
}

size_t sim_level_stream_bytes(const SimLevelStream *stream) {
  size_t a_worker = sizeof(Worker) + DRAWN * sizeof(SimLevel) + sim_batch_bytes(stream->worker[0].batch);
  return sizeof *stream + (size_t)stream->threads * a_worker;
}

/* ---- a group --------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

/* Generates and plays the PLAYED_FIRST earliest levels; returns how many do not solve themselves. */
static int play_first(const SimLevelStream *stream, Worker *worker, uint64_t key) {
  uint8_t solved[PLAYED_FIRST];
  int32_t place[PLAYED_FIRST];
  int good = 0;

  for (int i = 0; i < PLAYED_FIRST; i++) {
    place[i] = i;
    CORE_CHECK(sim_generate_level(stream->size, key, worker->candidate[i].number, &worker->played[i]) == CORE_OK);
  }

  CORE_CHECK(sim_batch_replace_levels(worker->batch, &(SimLevelSet){worker->played, PLAYED_FIRST, stream->size}) ==
             CORE_OK);
  sim_batch_reset_to(worker->batch, place, NULL);
  sim_filter_play_noop(worker->batch, solved);

  for (int i = 0; i < PLAYED_FIRST; i++) {
    Candidate *candidate = &worker->candidate[i];
    good += !solved[i];
    if (solved[i]) candidate->time = sim_filter_key(key, candidate->number, true);
  }
  return good;
}

/* Writes the group's members to candidate[0 .. SIM_STREAM_GROUP - 1], ordered by number. */
static void make_group(const SimLevelStream *stream, Worker *worker, uint64_t key, int64_t group) {
  for (int i = 0; i < DRAWN; i++) {
    uint32_t number = (uint32_t)(group * DRAWN + i);
    worker->candidate[i] = (Candidate){.time = sim_filter_key(key, number, false), .number = number};
  }

  qsort(worker->candidate, DRAWN, sizeof *worker->candidate, by_time);
  for (int i = 0; i < DRAWN; i++) worker->candidate[i].played = i;

  /* Plays further levels one by one, until enough of them do not solve themselves. */
  int played = PLAYED_FIRST;
  for (int good = play_first(stream, worker, key); good < SIM_STREAM_GROUP && played < DRAWN; played++) {
    Candidate *candidate = &worker->candidate[played];
    SimLevel *level = &worker->played[played];
    CORE_CHECK(sim_generate_level(stream->size, key, candidate->number, level) == CORE_OK);
    bool solved = sim_filter_solves_itself(level);
    good += !solved;
    if (solved) candidate->time = sim_filter_key(key, candidate->number, true);
  }

  qsort(worker->candidate, (size_t)played, sizeof *worker->candidate, by_time);
  qsort(worker->candidate, SIM_STREAM_GROUP, sizeof *worker->candidate, by_number);
}

/* ---- many groups ----------------------------------------------------------------------------------------------- */

/* Copies the members of a group that lie within first .. first + count - 1. */
static void take(const Worker *worker, int64_t group, int64_t first, int count, SimLevel *levels, uint32_t *numbers) {
  for (int i = 0; i < SIM_STREAM_GROUP; i++) {
    int64_t index = group * SIM_STREAM_GROUP + i - first;
    if (index < 0 || index >= count) continue;
    levels[index] = worker->played[worker->candidate[i].played];
    if (numbers) numbers[index] = worker->candidate[i].number;
  }
}

void sim_level_stream_draw(SimLevelStream *stream, uint64_t key, int64_t first, int count, SimLevel *levels,
                           uint32_t *numbers) {
  CORE_CHECK(first >= 0 && first + count <= SIM_STREAM_LEVELS);
  const int64_t begin = first / SIM_STREAM_GROUP, end = (first + count + SIM_STREAM_GROUP - 1) / SIM_STREAM_GROUP;
#pragma omp parallel num_threads(stream->threads)
  {
    Worker *worker = &stream->worker[omp_get_thread_num()];
    omp_set_num_threads(1); /* for this thread only: its batch must not start further threads */
#pragma omp for schedule(dynamic)
    for (int64_t group = begin; group < end; group++) {
      make_group(stream, worker, key, group);
      take(worker, group, first, count, levels, numbers);
    }
  }
}
