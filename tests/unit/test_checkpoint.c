/* Checkpoint files: contents are restored, damage of any byte is detected, older files are used instead. */
#include "test.h"

#include <sys/stat.h>

#include "core/log.h"
#include "trainer/checkpoint/best.h"

static const char RUN[] = "0123456789abcdef";

typedef struct Fixture {
  char directory[CORE_PATH_MAX], parent[CORE_PATH_MAX];
  Checkpoint checkpoint;
  float weights[1000];
  uint8_t state[77];
  int64_t position;
} Fixture;

static void open_checkpoint(Fixture *f, const char *run) {
  assert_int_equal(checkpoint_open(f->directory, run, 2, &f->checkpoint), CORE_OK);
  checkpoint_add(&f->checkpoint, "position", &f->position, sizeof f->position);
  checkpoint_add(&f->checkpoint, "weights", f->weights, sizeof f->weights);
  checkpoint_add(&f->checkpoint, "state", f->state, sizeof f->state);
}

static void fill(Fixture *f, int seed) {
  f->position = seed;
  for (int i = 0; i < 1000; i++) f->weights[i] = (float)(i * seed) * 0.25f;
  for (int i = 0; i < 77; i++) f->state[i] = (uint8_t)(i + seed);
}

static void assert_filled(const Fixture *f, int seed) {
  Fixture expected;
  fill(&expected, seed);
  assert_int_equal(f->position, seed);
  assert_memory_equal(f->weights, expected.weights, sizeof f->weights);
  assert_memory_equal(f->state, expected.state, sizeof f->state);
}

static int setup(void **state) {
  Fixture *f = calloc(1, sizeof *f);
  const char *tmp = getenv("TMPDIR");
  snprintf(f->parent, sizeof f->parent, "%s/checkpoint.XXXXXX", tmp ? tmp : "/tmp");
  if (mkdtemp(f->parent) == NULL || core_files_path(f->directory, "%s/ckpt", f->parent) != CORE_OK) return 1;
  open_checkpoint(f, RUN);
  core_log_open(stderr, CORE_LOG_ERROR); /* the warnings about damage are wanted here */
  *state = f;
  return 0;
}

static int teardown(void **state) {
  Fixture *f = *state;
  core_files_remove_tree(f->parent);
  free(f);
  return 0;
}

static void write_at(Fixture *f, int iteration) {
  fill(f, iteration);
  assert_int_equal(checkpoint_write(&f->checkpoint, iteration), CORE_OK);
}

static void path_at(const Fixture *f, int iteration, char path[CORE_PATH_MAX]) {
  assert_int_equal(core_files_path(path, "%s/iteration-%012d.ckpt", f->directory, iteration), CORE_OK);
}

static void change_byte(const char *path, long offset) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  fseek(file, offset, SEEK_SET);
  int byte = fgetc(file);
  assert_int_not_equal(byte, EOF);
  fseek(file, offset, SEEK_SET);
  fputc(byte ^ 0x10, file);
  fclose(file);
}

static long size_of(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (long)status.st_size;
}

static void test_round_trip(void **state) {
  Fixture *f = *state;
  int64_t iteration;
  write_at(f, 12);
  fill(f, 99);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 12);
  assert_filled(f, 12);
}

static void test_empty_directory(void **state) {
  Fixture *f = *state;
  int64_t iteration = 5;
  assert_int_equal(checkpoint_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, -1);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, -1);
}

static void test_keeps_the_newest(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX], other[CORE_PATH_MAX];
  int64_t iteration;
  core_files_path(other, "%s/notes.txt", f->directory);
  assert_int_equal(core_files_write_atomic(other, "mine", 4), CORE_OK);
  for (int i = 1; i <= 11; i++) write_at(f, i);
  path_at(f, 9, path);
  assert_false(core_files_exists(path));
  path_at(f, 10, path);
  assert_true(core_files_exists(path));
  assert_true(core_files_exists(other)); /* files that are not checkpoints stay */
  assert_int_equal(checkpoint_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 11);
  assert_int_equal(checkpoint_remove_all(&f->checkpoint), CORE_OK);
  assert_int_equal(checkpoint_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, -1);
}

/* Every byte of the front, and a sample of the data: a changed one must never be believed. */
static void test_changed_byte_falls_back(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX];
  int64_t iteration;
  write_at(f, 1);
  write_at(f, 2);
  path_at(f, 2, path);
  long size = size_of(path), front = 56 + 3 * 64 + 32;
  for (long offset = 0; offset < size; offset += offset < front ? 1 : 97) {
    change_byte(path, offset);
    fill(f, 99);
    assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
    assert_int_equal(iteration, 1);
    assert_filled(f, 1);
    change_byte(path, offset);
  }
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 2);
}

static void test_wrong_length_falls_back(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX];
  int64_t iteration;
  write_at(f, 1);
  write_at(f, 2);
  path_at(f, 2, path);
  long size = size_of(path);
  FILE *file = fopen(path, "ab");
  fputc(0, file);
  fclose(file);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 1);
  const long lengths[] = {size - 1, 300, 100, 8, 0};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_int_equal(truncate(path, lengths[i]), 0);
    assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
    assert_int_equal(iteration, 1);
    assert_filled(f, 1);
  }
}

static void test_all_damaged(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX];
  int64_t iteration;
  write_at(f, 3);
  path_at(f, 3, path);
  change_byte(path, size_of(path) - 1);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, -1);
}

static void test_another_run_is_refused(void **state) {
  Fixture *f = *state;
  int64_t iteration;
  write_at(f, 4);
  open_checkpoint(f, "fedcba9876543210");
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_USAGE);
  assert_message(RUN);
  assert_message("fedcba9876543210");
}

static void test_other_sections_are_refused(void **state) {
  Fixture *f = *state;
  int64_t iteration;
  write_at(f, 4);
  assert_int_equal(checkpoint_open(f->directory, RUN, 2, &f->checkpoint), CORE_OK);
  checkpoint_add(&f->checkpoint, "position", &f->position, sizeof f->position);
  checkpoint_add(&f->checkpoint, "weights", f->weights, sizeof f->weights / 2);
  checkpoint_add(&f->checkpoint, "state", f->state, sizeof f->state);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_USAGE);
  assert_message("weights");
}

/* A section that files of earlier versions lack stays unchanged, and is read if present. */
static void test_an_optional_section(void **state) {
  Fixture *f = *state;
  int64_t iteration, extra = 5;

  write_at(f, 4);
  assert_int_equal(checkpoint_open(f->directory, RUN, 2, &f->checkpoint), CORE_OK);
  checkpoint_add(&f->checkpoint, "position", &f->position, sizeof f->position);
  checkpoint_add_optional(&f->checkpoint, "extra", &extra, sizeof extra);
  checkpoint_add(&f->checkpoint, "weights", f->weights, sizeof f->weights);
  checkpoint_add(&f->checkpoint, "state", f->state, sizeof f->state);

  fill(f, 99);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 4);
  assert_int_equal(extra, 5);
  assert_filled(f, 4);

  extra = 6;
  write_at(f, 7);
  fill(f, 99);
  extra = 0;
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(extra, 6);
  assert_filled(f, 7);

  f->checkpoint.section[1].bytes--; /* there, but of another size */
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_USAGE);
  assert_message("extra");

  open_checkpoint(f, RUN); /* and no test expects it */
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_USAGE);
  assert_message("4 sections instead of 3");
}

/* A renamed file must not pass for a later iteration. */
static void test_renamed_file_falls_back(void **state) {
  Fixture *f = *state;
  char from[CORE_PATH_MAX], to[CORE_PATH_MAX];
  int64_t iteration;
  write_at(f, 1);
  write_at(f, 2);
  path_at(f, 2, from);
  path_at(f, 7, to);
  assert_int_equal(rename(from, to), 0);
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 1);
}

static void test_leftovers_are_removed(void **state) {
  Fixture *f = *state;
  char leftover[CORE_PATH_MAX];
  core_files_path(leftover, "%s/iteration-000000000009.ckpt.tmp", f->directory);
  FILE *file = fopen(leftover, "wb");
  fputs("half", file);
  fclose(file);
  open_checkpoint(f, RUN);
  assert_false(core_files_exists(leftover));
}

/* A write that cannot be finished leaves the older file, and nothing half-written. */
static void test_failed_write(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX], blocker[CORE_PATH_MAX];
  int64_t iteration;
  write_at(f, 1);
  path_at(f, 2, path);
  core_files_path(blocker, "%s/inside", path);
  assert_int_equal(core_files_make_directories(blocker), CORE_OK); /* a directory where the file would go */
  assert_int_equal(checkpoint_write(&f->checkpoint, 2), CORE_FAIL);
  assert_message(path);
  core_files_path(blocker, "%s.tmp", path);
  assert_false(core_files_exists(blocker));
  assert_int_equal(checkpoint_read_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, 1);
}

static void test_describe(void **state) {
  Fixture *f = *state;
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  CheckpointContents contents;
  write_at(f, 5);
  path_at(f, 5, path);
  assert_int_equal(checkpoint_inspect(path, &contents), CORE_OK);
  checkpoint_describe(&contents, &text);
  assert_non_null(strstr(core_text_string(&text), "iteration  5\n"));
  assert_non_null(strstr(core_text_string(&text), "weights"));
  change_byte(path, size_of(path) - 10);
  assert_int_equal(checkpoint_inspect(path, &contents), CORE_FAIL);
  assert_message("state");
  assert_int_equal(checkpoint_inspect("/nowhere/at-all.ckpt", &contents), CORE_FAIL);
  core_text_free(&text);
}

/* best.ckpt does not count as a newest checkpoint, and is ignored once damaged or of another run. */
static void test_best(void **state) {
  Fixture *f = *state;
  const CheckpointBest score = {.score = 0.75, .is_solve_rate = 1, .iteration = 4};
  CheckpointBest best;
  char path[CORE_PATH_MAX];
  int64_t iteration;

  assert_int_equal(checkpoint_best_path(f->directory, path), CORE_USAGE);
  checkpoint_best_read(&f->checkpoint, &best);
  assert_true(isnan(best.score));

  assert_int_equal(checkpoint_best_write(&f->checkpoint, &score), CORE_OK);
  assert_int_equal(checkpoint_newest(&f->checkpoint, &iteration), CORE_OK);
  assert_int_equal(iteration, -1);
  for (int i = 5; i <= 9; i++) write_at(f, i);
  assert_int_equal(checkpoint_best_path(f->directory, path), CORE_OK);
  checkpoint_best_read(&f->checkpoint, &best);
  assert_memory_equal(&best, &score, sizeof best);

  Checkpoint other = f->checkpoint;
  snprintf(other.run_id, sizeof other.run_id, "%s", "fedcba9876543210");
  checkpoint_best_read(&other, &best);
  assert_true(isnan(best.score));
  change_byte(path, size_of(path) / 2);
  checkpoint_best_read(&f->checkpoint, &best);
  assert_true(isnan(best.score));

  assert_int_equal(checkpoint_best_remove(&f->checkpoint), CORE_OK);
  assert_int_equal(checkpoint_best_remove(&f->checkpoint), CORE_OK);
  assert_int_equal(checkpoint_best_path(f->directory, path), CORE_USAGE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST(test_round_trip), TEST(test_empty_directory), TEST(test_keeps_the_newest), TEST(test_changed_byte_falls_back),
    TEST(test_wrong_length_falls_back), TEST(test_all_damaged), TEST(test_another_run_is_refused),
    TEST(test_other_sections_are_refused), TEST(test_an_optional_section), TEST(test_renamed_file_falls_back),
    TEST(test_leftovers_are_removed), TEST(test_failed_write), TEST(test_describe), TEST(test_best),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
