/* A level file's text -> read -> properties of every accepted level: it can be written and read back, permuted and
 * expanded, it steps in a batch to the same bits in every kernel, values that are not finite are counted, and it can
 * be drawn. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "fuzz/fuzz.h"
#include "sim/batch/batch.h"
#include "sim/draw/draw.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"

enum { WORLDS = 5, STEPS = 8 };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  omp_set_num_threads(1);
  return 0;
}

static void write_and_read(const SimLevel *level) {
  CoreText json = {0};
  SimLevel again;
  FUZZ_CHECK(sim_level_write(level, &json) == CORE_OK);
  FUZZ_CHECK(sim_level_parse("fuzz.json", json.data, json.length, &again) == CORE_OK);
  FUZZ_CHECK(memcmp(level, &again, sizeof again) == 0);
  core_text_free(&json);
}

static void draw(const SimLevel *level) {
  SimDrawCell cell = {.label = "level"};
  CoreText svg = {0};
  sim_draw_world(level, NULL, &cell.drawing);
  const SimDrawSheet sheet = {.columns = 1, .rows = 1, .pixels = 64, .labeled = true, .count = 1, .cell = &cell};
  FUZZ_CHECK(sim_draw_svg(&sheet, &svg) == CORE_OK);
  FUZZ_CHECK(!strstr(svg.data, "nan") && !strstr(svg.data, "inf"));
  core_text_free(&svg);
}

static bool is_finite(const SimLevel *level) {
  float sum = 0;
  for (int i = 0; i < level->size.polygons + level->size.circles; i++) {
    const SimShape *s = i < level->size.polygons ? &level->polygon[i] : &level->circle[i - level->size.polygons];
    if (s->active) sum += (s->x + s->y + s->rotation + s->vx + s->vy + s->angular_velocity) * 0.0f;
  }
  return !isnan(sum);
}

static void check_step(const SimBatch *batch, const SimStepOut *out, size_t features) {
  bool finite = true;
  SimLevel seen;
  for (int w = 0; w < WORLDS; w++) {
    FUZZ_CHECK(isfinite(out->reward[w]));
    sim_batch_get_world(batch, w, &seen);
    finite &= is_finite(&seen);
  }
  for (size_t i = 0; i < WORLDS * features; i++) FUZZ_CHECK(fabsf(out->observations[i]) <= 10);
  FUZZ_CHECK(finite || sim_batch_nonfinite(batch) > 0);
}

/* Steps worlds on the level under random actions, and gives their last state; free() it. */
static void *step(const SimLevelSet *set, const char *kernels, size_t *bytes, bool *finite) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch = NULL;
  float reward[WORLDS];
  uint8_t actions[WORLDS][SIM_ACTIONS];
  options.worlds = WORLDS;
  options.auto_reset = false;
  setenv("SIM_KERNELS", kernels, 1);
  FUZZ_CHECK(sim_batch_create(&options, set, &batch) == CORE_OK);
  size_t features = (size_t)sim_batch_observation_length(batch);
  float *observations = core_memory_zero_allocate(WORLDS * features, sizeof *observations);
  const SimStepOut out = {.observations = observations, .reward = reward};
  for (uint32_t t = 0; t < STEPS; t++) {
    CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, t, 0);
    for (int i = 0; i < WORLDS * SIM_ACTIONS; i++)
      actions[i / SIM_ACTIONS][i % SIM_ACTIONS] = (uint8_t)core_random_below(core_random_next(&random), 4);
    sim_batch_step(batch, actions[0], &out);
    check_step(batch, &out, features);
  }
  SimLevel seen;
  sim_batch_get_world(batch, 0, &seen);
  draw(&seen);
  *finite = sim_batch_nonfinite(batch) == 0;
  *bytes = sim_batch_state_bytes(batch);
  void *state = core_memory_allocate(*bytes);
  sim_batch_save(batch, state);
  free(observations);
  sim_batch_destroy(&batch);
  return state;
}

static void simulate(SimLevel *level) {
  const SimLevelSet set = {level, 1, level->size};
  size_t bytes;
  bool finite, finite_again;
  void *state = step(&set, "scalar", &bytes, &finite), *again = step(&set, "avx512", &bytes, &finite_again);
  FUZZ_CHECK(finite == finite_again);
  FUZZ_CHECK(!finite || memcmp(state, again, bytes) == 0); /* the bits of a NaN are unspecified */
  free(state);
  free(again);
}

static void edit(SimLevel *level, uint32_t number) {
  sim_generate_permute(level, 1, number);
  FUZZ_CHECK(sim_level_check(level) == CORE_OK);
  FUZZ_CHECK(sim_level_expand(level, SIM_SIZE_L) == CORE_OK);
  FUZZ_CHECK(sim_level_check(level) == CORE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SimLevel level;
  if (sim_level_parse("fuzz.json", (const char *)data, size, &level) != CORE_OK) {
    FUZZ_CHECK(strncmp(core_error_message(), "fuzz.json:", 10) == 0);
    return 0;
  }
  FUZZ_CHECK(sim_level_check(&level) == CORE_OK);
  write_and_read(&level);
  draw(&level);
  simulate(&level);
  edit(&level, (uint32_t)size);
  simulate(&level);
  return 0;
}
