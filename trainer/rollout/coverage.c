/* Projection plane, its box, and cell counts (coverage.h). */
#include "trainer/rollout/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/math/sample.h"
#include "trainer/ranks/ranks.h"
#include "trainer/wrappers/action.h"

/* Size of the random play that determines the box. */
enum { PLAY_STATES = 4096, PLAY_WORLDS = 64, PLAY_WORLDS_REMOTE = 8 };
static const double QUANTILE = 0.005, MARGIN = 0.5;

void coverage_register(Coverage *coverage, const Env *levels, const Shards *shards, int64_t states, int64_t total,
                       CoreArena *arena) {
  *coverage = (Coverage){.features = env_pixels_value_count(levels->pixels, levels->observation_length),
                         .row = levels->observation_length, .pixels = levels->pixels,
                         .states = (int)(states < total ? states : total),
                         .shards = *shards, .total = total};
  CORE_ARENA(arena, coverage->omega, 2 * (size_t)coverage->features, "coverage projection [features][2]");
  CORE_ARENA(arena, coverage->record, 1, "coverage record");
  CORE_ARENA(arena, coverage->fresh, COVERAGE_CELLS, "coverage of an iteration [cells]");
}

void coverage_project(const Coverage *coverage, const float *x, double point[2]) {
  point[0] = point[1] = 0;
  for (int i = 0; i < coverage->features; i++) {
    const double number = (double)env_pixels_value(coverage->pixels, x, i);
    if (number == 0) continue; /* absent entities: most features of most levels */
    point[0] += number * coverage->omega[2 * i];
    point[1] += number * coverage->omega[2 * i + 1];
  }
}

/* ---- the box ---------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void fix_side(CoverageRecord *record, int axis, double *sorted, size_t n) {
  qsort(sorted, n, sizeof *sorted, ascending);
  const double low = sorted[(size_t)(QUANTILE * (double)n)], high = sorted[n - 1 - (size_t)(QUANTILE * (double)n)];
  const double margin = high > low ? MARGIN * (high - low) : 0.5;
  record->low[axis] = low - margin;
  record->high[axis] = high + margin;
}

/* Buffers of the random play, for the environment's worlds. */
typedef struct Play {
  Env *env;
  const OpsHead *head;
  float *shown, *rewards, *bounded;
  uint8_t *actions, *flags;
  int32_t *counts;
  int worlds, steps;   /* worlds of all turns; steps per world */
  double *side;        /* [2][worlds x steps] coordinates of the states */
} Play;

static Play allocate_play(const Coverage *coverage, Env *env, const OpsHead *head, int worlds) {
  const size_t n = (size_t)env->worlds;
  return (Play){.env = env, .head = head, .worlds = worlds, .steps = PLAY_STATES / worlds,
                .shown = core_memory_zero_allocate(n * (size_t)coverage->row, sizeof(float)),
                .rewards = core_memory_zero_allocate(n, sizeof(float)),
                .bounded = core_memory_zero_allocate(n * (size_t)head->factors, sizeof(float)),
                .actions = core_memory_zero_allocate(n, ops_head_action_bytes(head)),
                .flags = core_memory_zero_allocate(n, 2), .counts = core_memory_zero_allocate(n, 2 * sizeof(int32_t)),
                .side = core_memory_zero_allocate(2 * (size_t)PLAY_STATES, sizeof(double))};
}

static void free_play(Play *play) {
  free(play->side);
  free(play->counts);
  free(play->flags);
  free(play->actions);
  free(play->bounded);
  free(play->rewards);
  free(play->shown);
}

/* Plays worlds first, first + 1, ...: as many as the environment has and the play needs. */
static int play_turn(const Coverage *coverage, Play *play, int first) {
  Env *env = play->env;
  const size_t n = (size_t)env->worlds, row = (size_t)coverage->row, states = PLAY_STATES;
  const int worlds_left = play->worlds - first, worlds = worlds_left < env->worlds ? worlds_left : env->worlds;
  const EnvStep out = {.observations = play->shown, .rewards = play->rewards, .dones = play->flags,
                       .solved = play->flags + n, .levels = play->counts, .episode_steps = play->counts + n};

  env_seed(env, &(EnvSeeds){CORE_RANDOM_WORLD_COVERAGE, 0, (uint32_t)first});
  env->reset(env, play->shown);
  for (int t = 0; t < play->steps; t++) {
    TRY(ranks_check_stop());
    action_random(play->head, env->worlds, 0, CORE_RANDOM_COVERAGE, (uint32_t)first, (uint32_t)t, play->actions);
    env->step(env, action_for_env(NULL, play->head, play->actions, env->worlds, play->bounded), &out);
    TRY(env_check(env));

    for (int w = 0; w < worlds; w++) {
      const size_t state = (size_t)t * (size_t)play->worlds + (size_t)(first + w);
      double point[2];
      coverage_project(coverage, play->shown + (size_t)w * row, point);
      play->side[state] = point[0];
      play->side[states + state] = point[1];
    }
  }
  return CORE_OK;
}

static int worlds_of_play(const Env *levels) { return levels->remote ? PLAY_WORLDS_REMOTE : PLAY_WORLDS; }

int coverage_worlds(const Env *levels, const Shards *shards) {
  return env_concurrent_worlds(levels, worlds_of_play(levels), shards->worlds);
}

/* Computes the box by random play from seed 0, whatever the run's seed: all runs on the same levels have the same
 * box. */
static int fix_box(Coverage *coverage, const Env *levels, const OpsHead *head) {
  const int worlds = worlds_of_play(levels);
  const EnvBatch batch = {.worlds = coverage_worlds(levels, &coverage->shards)};
  Env *env = NULL;
  int code = CORE_OK;
  TRY(levels->clone(levels, &batch, &env));
  Play play = allocate_play(coverage, env, head, worlds);
  for (int first = 0; first < worlds; first += env->worlds) {
    code = play_turn(coverage, &play, first);
    if (code != CORE_OK) break;
  }
  if (code == CORE_OK) {
    fix_side(coverage->record, 0, play.side, PLAY_STATES);
    fix_side(coverage->record, 1, play.side + PLAY_STATES, PLAY_STATES);
  }
  free_play(&play);
  env_destroy(&env);
  return code;
}

int coverage_create(Coverage *coverage, const Env *levels, const OpsHead *head) {
  const double scale = 1 / sqrt(coverage->features);

  for (int i = 0; i < coverage->features; i++) { /* stream index counted down from all ones, which no world or step
                                                  * uses */
    const CoreRandom4 words = core_random_4(0, CORE_RANDOM_COVERAGE, (uint32_t)i, UINT32_MAX, 0);
    double *row = coverage->omega + 2 * i;
    core_random_normal_pair(words.v[0], words.v[1], &row[0], &row[1]);
    row[0] *= scale;
    row[1] *= scale;
  }
  memset(coverage->record, 0, sizeof *coverage->record);

  if (levels->remote == NULL) {
    TRY(fix_box(coverage, levels, head));
    memcpy(coverage->low, coverage->record->low, sizeof coverage->low);
    memcpy(coverage->high, coverage->record->high, sizeof coverage->high);
    return CORE_OK;
  }

  coverage->levels = levels;
  coverage->head = *head;
  return CORE_OK;
}

/* ---- counting --------------------------------------------------------------------------------------------------- */

static int along(double x, double low, double high) {
  const double cell = floor(COVERAGE_FINE * (x - low) / (high - low));
  if (cell >= COVERAGE_FINE) return COVERAGE_FINE - 1;
  return cell > 0 ? (int)cell : 0;
}

void coverage_reset(Coverage *coverage) {
  CoverageRecord *record = coverage->record;
  memset(record->count, 0, sizeof record->count);
  memcpy(record->low, coverage->low, sizeof record->low);
  memcpy(record->high, coverage->high, sizeof record->high);
}

int coverage_cell(const CoverageRecord *record, const double point[2]) {
  return along(point[1], record->low[1], record->high[1]) * COVERAGE_FINE +
         along(point[0], record->low[0], record->high[0]);
}

/* Whether a box is set: it has a width. */
static bool has_box(const CoverageRecord *record) { return record->low[0] != record->high[0]; }

int coverage_begin(Coverage *coverage, uint64_t seed, int64_t iteration) {
  if (coverage->levels && !has_box(coverage->record))
    TRY(ranks_agree(fix_box(coverage, coverage->levels, &coverage->head)));
  memset(coverage->fresh, 0, COVERAGE_CELLS * sizeof *coverage->fresh);
  coverage->seed = seed;
  coverage->iteration = iteration;
  coverage->next = 0;
  return CORE_OK;
}

int coverage_resume_from(Coverage *coverage, const CoverageRecord *before) {
  CoverageRecord *record = coverage->record;
  if (!has_box(before)) return CORE_OK; /* never counted anything */
  if (coverage->levels && !has_box(record)) TRY(fix_box(coverage, coverage->levels, &coverage->head));
  const bool is_same = memcmp(record->low, before->low, sizeof record->low) == 0 &&
                       memcmp(record->high, before->high, sizeof record->high) == 0;
  if (is_same) *record = *before;
  return CORE_OK;
}

void coverage_add_state(Coverage *coverage, const float *state) {
  double point[2];
  coverage_project(coverage, state, point);
  coverage->fresh[coverage_cell(coverage->record, point)]++;
}

void coverage_add_states(Coverage *coverage, int t, const float *shown) {
  const int64_t worlds = coverage->shards.global_worlds;
  for (; coverage->next < coverage->states; coverage->next++) {
    const int64_t row = sample_state(coverage->seed, coverage->iteration, coverage->next, coverage->states,
                                     coverage->total);
    const int64_t world = row - t * worlds - coverage->shards.first_world;
    if (row >= (t + 1) * worlds) return; /* belongs to a later step */
    if (world < 0 || world >= coverage->shards.worlds) continue;
    coverage_add_state(coverage, shown + (size_t)world * (size_t)coverage->row);
  }
}

void coverage_finish(Coverage *coverage) {
  ranks_sum_counts(coverage->fresh, COVERAGE_CELLS);
  for (int i = 0; i < COVERAGE_CELLS; i++) coverage->record->count[i] += coverage->fresh[i];
}

/* Occupied cells, and the sum of n log n over them, which determines the entropy: log N - (sum n log n) / N. */
typedef struct Occupied { double cells, n_log_n; } Occupied;

static void count_cell(Occupied *occupied, int64_t n) {
  if (n == 0) return;
  occupied->cells++;
  occupied->n_log_n += (double)n * log((double)n);
}

static double entropy(const Occupied *occupied, double states, int cells) {
  return (log(states) - occupied->n_log_n / states) / log(cells);
}

CoverageSummary coverage_summarize(const int64_t count[COVERAGE_CELLS]) {
  Occupied coarse = {0}, fine = {0};
  double states = 0;

  for (int y = 0; y < COVERAGE_FINE; y += 2)
    for (int x = 0; x < COVERAGE_FINE; x += 2) {
      const int64_t *first = count + y * COVERAGE_FINE + x, *second = first + COVERAGE_FINE;
      const int64_t four = first[0] + first[1] + second[0] + second[1];
      count_cell(&fine, first[0]);
      count_cell(&fine, first[1]);
      count_cell(&fine, second[0]);
      count_cell(&fine, second[1]);
      count_cell(&coarse, four);
      states += (double)four;
    }

  enum { COARSE_CELLS = COVERAGE_COARSE * COVERAGE_COARSE };
  if (states == 0) return (CoverageSummary){0, 0, 0, NAN, NAN};
  return (CoverageSummary){states, coarse.cells / COARSE_CELLS, fine.cells / COVERAGE_CELLS,
                           entropy(&coarse, states, COARSE_CELLS), entropy(&fine, states, COVERAGE_CELLS)};
}
