/* Stacked frames that a rollout stores once (trainer/rollout/frames.h): gathered rows are the rows that were shown,
 * byte by byte, over episodes that begin in every way; in about a quarter of the memory. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "training_tools.h"
#include "trainer/rollout/frames.h"

enum { WORLDS = 3, STEPS = 40 };

/* Padding of frames before an episode's first. */
typedef enum Before { BLANK, COPIES, OTHERS } Before;

typedef struct Shown {
  EnvPixels pixels;
  Env env;
  int length;          /* numbers of a row */
  uint8_t *rows;       /* [STEPS + 1][WORLDS][4 length], kept whole */
  uint32_t drawn;
} Shown;

static void draw(Shown *s, uint8_t *frame) {
  const size_t bytes = env_pixels_frame(&s->pixels);
  for (size_t i = 0; i < bytes; i++) {
    CoreRandomStream stream = core_random_stream(3, CORE_RANDOM_RESET, s->drawn, (uint32_t)i);
    frame[i] = (uint8_t)core_random_next(&stream);
  }
  s->drawn++;
}

static uint8_t *row_of(const Shown *s, int t, int w) {
  return s->rows + ((size_t)t * WORLDS + (size_t)w) * (size_t)s->length * sizeof(float);
}

/* Row (t, w): the row before, moved by a frame, or a new episode's first. */
static void show(Shown *s, int t, int w, bool begins, Before before) {
  const size_t bytes = env_pixels_frame(&s->pixels), last = (size_t)s->pixels.frames - 1;
  uint8_t *row = row_of(s, t, w);
  draw(s, row + last * bytes);
  for (size_t f = 0; f < last; f++) {
    if (!begins) memcpy(row + f * bytes, row_of(s, t - 1, w) + (f + 1) * bytes, bytes);
    else if (before == COPIES) memcpy(row + f * bytes, row + last * bytes, bytes);
    else if (before == OTHERS) draw(s, row + f * bytes);
  }
}

static Shown make_shown(EnvPixels pixels) {
  Shown s = {.pixels = pixels, .length = env_pixels_length(&pixels)};
  s.rows = core_memory_zero_allocate((STEPS + 1) * WORLDS * (size_t)s.length, sizeof(float));
  s.env = (Env){.observation_length = s.length};
  return s;
}

/* Two rollouts, one after the other, with an episode that begins at one row in `period` on average. */
static void compare(EnvPixels pixels, Before before, int period, bool in_parts) {
  Shown s = make_shown(pixels);
  Frames frames;
  CoreArena *arena = core_arena_create("test");

  s.env.pixels = &s.pixels;
  assert_true(frames_apply(&s.env, NULL));
  frames_register(&frames, &s.env, STEPS, WORLDS, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  const size_t row_bytes = (size_t)s.length * sizeof(float);
  uint8_t *got = core_memory_allocate((STEPS + 1) * WORLDS * row_bytes);
  uint32_t index[(STEPS + 1) * WORLDS];

  for (int rollout = 0; rollout < 2; rollout++) {
    if (rollout > 0) memcpy(s.rows, row_of(&s, STEPS, 0), WORLDS * row_bytes);
    for (int t = 0; t <= STEPS; t++) {
      for (int w = 0; w < WORLDS; w++) {
        CoreRandomStream stream = core_random_stream(9, CORE_RANDOM_RESET, (uint32_t)(rollout * 999 + t), (uint32_t)w);
        const bool begins = core_random_next(&stream) % (uint32_t)period == 0;
        if (t > 0 || rollout == 0) memset(row_of(&s, t, w), 0, row_bytes), show(&s, t, w, t == 0 || begins, before);
      }
      const float *block = (const float *)(const void *)row_of(&s, t, 0);
      if (in_parts) frames_store(&frames, t, 0, 1, block), frames_store(&frames, t, 1, WORLDS - 1, block);
      else frames_store(&frames, t, 0, WORLDS, block);
    }

    const uint32_t rows = (STEPS + 1) * WORLDS;
    for (uint32_t i = 0; i < rows; i++) index[i] = (i * 7 + 5) % rows; /* any order */
    memset(got, 77, rows * row_bytes);
    frames_gather(&frames, index, (int)rows, (float *)(void *)got);
    for (uint32_t i = 0; i < rows; i++)
      if (memcmp(got + i * row_bytes, s.rows + index[i] * row_bytes, row_bytes) != 0)
        fail_msg("rollout %d: row %u is another", rollout, index[i]);
  }

  if (before != OTHERS) assert_null(frames.more); /* the pool is enough */
  if (period == 2) assert_non_null(frames.more);
  frames_destroy(&frames);
  core_arena_destroy(&arena);
  free(got), free(s.rows);
}

static void test_rows(void **state) {
  static const EnvPixels pixels[] = {{5, 7, 1, 4, false}, {3, 3, 3, 2, true}, {2, 2, 1, 3, false}};
  (void)state;
  for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
    for (int before = BLANK; before <= OTHERS; before++) {
      compare(pixels[i], (Before)before, 20, false);
      compare(pixels[i], (Before)before, 20, true);
      compare(pixels[i], OTHERS, 2, false);
    }
}

static void test_who_applies(void **state) {
  (void)state;
  const EnvPixels one = {64, 64, 3, 1, true};
  Env env = {.pixels = NULL};
  assert_false(frames_apply(&env, NULL));
  env.pixels = &one;
  assert_false(frames_apply(&env, NULL));
}

/* Atari, 8 worlds for 128 steps. */
static void test_memory(void **state) {
  (void)state;
  const EnvPixels pixels = {84, 84, 1, 4, false};
  Env env = {.pixels = &pixels, .observation_length = env_pixels_length(&pixels)};
  Frames frames;
  CoreArena *arena = core_arena_create("test");
  frames_register(&frames, &env, 128, 8, arena);
  const double whole = 129.0 * 8 * 4 * 84 * 84, stored = (double)core_arena_bytes(arena);
  print_message("# 128 x 8 rows of Atari: %.1f MB, whole %.1f MB, as float32 %.1f MB\n", stored / 1e6, whole / 1e6,
                4 * whole / 1e6);
  assert_true(stored < 0.28 * whole);
  core_arena_destroy(&arena);
}

static void test_refusal(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED("net.encoder=nature", "train.observation_storage=float16", "ppo.num_steps=1024");
  const EnvPixels pixels = {.height = 84, .width = 84, .channels = 1, .frames = 4};
  const Env env = {.pixels = &pixels};
  assert_int_equal(frames_check(&config, &env, 8), CORE_USAGE);
  assert_message("set train.observation_storage to float32");
  set(&config, "train.observation_storage=float32");
  assert_int_equal(frames_check(&config, &env, 8), CORE_OK);
  assert_int_equal(frames_check(&config, &env, 1 << 22), CORE_USAGE); /* more frames than 32-bit indices */
  assert_message("use more ranks");
  assert_int_equal(frames_check(&config, &env, 1 << 18), CORE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows), cmocka_unit_test(test_who_applies), cmocka_unit_test(test_memory),
    cmocka_unit_test(test_refusal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
