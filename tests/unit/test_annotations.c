/* Tags, notes and pins: valid text, files written by other programs, and results.db, which is built from the files. */
#include "test.h"

#include "store_workspace.h"

#include "store/care/maintain.h"
#include "store/database/query.h"
#include "store/workspace/annotations.h"

static const char id[] = "0123456789abcdef";

static int set_note(void *context, StoreAnnotations *said) { return store_annotations_set_note(said, context); }
static int add_tag(void *context, StoreAnnotations *said) { return store_annotations_add_tag(said, context); }
static int take_tag(void *context, StoreAnnotations *said) { return store_annotations_remove_tag(said, context); }
static int pin(void *context, StoreAnnotations *said) {
  snprintf(said->pinned, sizeof said->pinned, "%s", (const char *)context);
  return CORE_OK;
}

static int change(StoreSubject subject, const char *name, StoreAnnotate how, const char *what) {
  return store_annotations_change(root, subject, name, how, (void *)what);
}

static void write_annotation(const char *name, const char *text) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/annotations", root));
  assert_ok(core_files_make_directories(path));
  assert_ok(core_files_path(path, "%s/annotations/%s", root, name));
  write_text(path, text);
}

static void what_is_said_stays(void **state) {
  StoreAnnotations said;
  static const char any[] = "<script>alert('x')</script> $(rm -rf /) `id` '; DROP TABLE run; -- %s \"\\ \n\xc3\xa9 "
                            "\xf0\x9f\x98\x80";
  assert_ok(store_annotations_read(root, STORE_SUBJECT_RUN, id, &said));
  assert_true(store_annotations_are_empty(&said));
  assert_ok(change(STORE_SUBJECT_RUN, id, add_tag, "paper"));
  assert_ok(change(STORE_SUBJECT_RUN, id, add_tag, "good"));
  assert_ok(change(STORE_SUBJECT_RUN, id, add_tag, "paper"));
  assert_ok(change(STORE_SUBJECT_RUN, id, set_note, any));
  assert_ok(store_annotations_read(root, STORE_SUBJECT_RUN, id, &said));
  assert_int_equal(said.tag_count, 2);
  assert_string_equal(said.tags[0], "good");
  assert_string_equal(said.note, any);
  CoreText line = {0};
  assert_null(strchr(store_annotations_line(&said, &line), '\n'));
  core_text_free(&line);
  assert_ok(change(STORE_SUBJECT_RUN, id, take_tag, "good"));
  assert_ok(change(STORE_SUBJECT_RUN, id, take_tag, "paper"));
  assert_ok(change(STORE_SUBJECT_RUN, id, set_note, ""));
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/annotations/run-%s.json", root, id));
  assert_false(core_files_exists(path)); /* all annotations are removed */
}

static void bad_words_are_refused(void **state) {
  char many[STORE_NOTE_MAX + 2], tag[8];
  memset(many, 'a', sizeof many - 1);
  many[sizeof many - 1] = '\0';

  assert_int_equal(change(STORE_SUBJECT_RUN, id, set_note, many), CORE_USAGE);
  assert_message("more than 4000");
  many[STORE_NOTE_MAX] = '\0';
  assert_ok(change(STORE_SUBJECT_RUN, id, set_note, many));

  assert_int_equal(change(STORE_SUBJECT_RUN, id, set_note, "a\x1b[2Jb"), CORE_USAGE);
  assert_message("control character (byte 2)");
  assert_int_equal(change(STORE_SUBJECT_RUN, id, set_note, "a\xc2\x9b""2J"), CORE_USAGE);
  assert_int_equal(change(STORE_SUBJECT_RUN, id, set_note, "a\tb"), CORE_USAGE);
  assert_int_equal(change(STORE_SUBJECT_RUN, id, set_note, "\xff"), CORE_USAGE);
  assert_message("not UTF-8");

  static const char *const bad[] = {"", "two words", "../x", "a/b", "-x", ".x", "a'b", "a;b", "<b>", "\xc3\xa9"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(change(STORE_SUBJECT_RUN, id, add_tag, bad[i]), CORE_USAGE);

  assert_int_equal(change(STORE_SUBJECT_RUN, id, take_tag, "never"), CORE_USAGE);
  assert_int_equal(change(STORE_SUBJECT_RUN, "../../etc", add_tag, "x"), CORE_USAGE);
  assert_int_equal(change(STORE_SUBJECT_SWEEP, "../x", add_tag, "x"), CORE_USAGE);

  for (int i = 0; i < STORE_TAGS_MAX; i++) {
    snprintf(tag, sizeof tag, "t%d", i);
    assert_ok(change(STORE_SUBJECT_SWEEP, "fig8", add_tag, tag));
  }
  assert_int_equal(change(STORE_SUBJECT_SWEEP, "fig8", add_tag, "more"), CORE_USAGE);
  assert_message("too many tags: 64 is the maximum");
}

static void files_of_other_hands(void **state) {
  StoreAnnotations said;
  write_annotation("sweep-a.json", "{\"tags\": [\"x\"], \"note\": \"a\\u001b[31m\\u009bb\\r\", \"later\": 3}");
  assert_ok(store_annotations_read(root, STORE_SUBJECT_SWEEP, "a", &said));
  assert_string_equal(said.note, "a?[31m?b?");
  write_annotation("sweep-b.json", "[1, 2");
  assert_int_equal(store_annotations_read(root, STORE_SUBJECT_SWEEP, "b", &said), CORE_FAIL);
  assert_message("sweep-b.json: not a JSON object");
  write_annotation("sweep-c.json", "{\"tags\": [\"../x\"]}");
  assert_int_equal(store_annotations_read(root, STORE_SUBJECT_SWEEP, "c", &said), CORE_FAIL);
  assert_int_equal(said.tag_count, 0);
  write_annotation("sweep-d.json", "{\"pinned\": \"x'; DROP TABLE run\"}");
  assert_int_equal(store_annotations_read(root, STORE_SUBJECT_SWEEP, "d", &said), CORE_FAIL);
}

/* Lists the database's annotations, one "subject name key value" per line. */
static void assert_rows(const char *expected) {
  StoreDatabase *database;
  StoreQuery *query;
  CoreText text = {0};
  bool row;
  assert_ok(store_database_open(database_path, true, &database));
  assert_ok(store_query_open(database, "SELECT * FROM annotation", &query));
  while (store_query_step(query, &row) == CORE_OK && row)
    core_text_appendf(&text, "%s %s %s %s\n", store_query_text(query, 0), store_query_text(query, 1),
                      store_query_text(query, 2), store_query_text(query, 3));
  store_query_close(&query);
  store_database_close(&database);
  assert_string_equal(core_text_string(&text), expected);
  core_text_free(&text);
}

static StoreImport import(void) {
  StoreDatabase *database;
  StoreImport result;
  assert_ok(store_database_open(database_path, false, &database));
  assert_ok(store_import(database, root, NULL, true, &result));
  store_database_close(&database);
  return result;
}

static void the_database_follows_the_files(void **state) {
  StoreImport result;
  assert_ok(change(STORE_SUBJECT_SWEEP, "fig8", pin, id));
  assert_ok(change(STORE_SUBJECT_SWEEP, "fig8", set_note, "'; DELETE FROM run; --"));
  assert_ok(change(STORE_SUBJECT_RUN, id, add_tag, "a-b"));
  assert_ok(change(STORE_SUBJECT_RUN, id, add_tag, "a"));
  import();
  static const char all[] = "run 0123456789abcdef tag a\nrun 0123456789abcdef tag a-b\n"
                            "sweep fig8 note '; DELETE FROM run; --\nsweep fig8 pinned 0123456789abcdef\n";
  assert_rows(all);
  write_annotation("sweep-bad.json", "{");
  write_annotation("notes.txt", "of another user");
  result = import();
  assert_non_null(strstr(result.first_damage, "sweep-bad.json"));
  assert_rows(all);
  assert_int_equal(unlink(database_path), 0);
  assert_ok(store_rebuild(root, &result));
  assert_rows(all);
  assert_ok(store_annotations_remove(root, STORE_SUBJECT_SWEEP, "fig8"));
  import();
  assert_rows("run 0123456789abcdef tag a\nrun 0123456789abcdef tag a-b\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(what_is_said_stays),
    WORKSPACE_TEST(bad_words_are_refused),
    WORKSPACE_TEST(files_of_other_hands),
    WORKSPACE_TEST(the_database_follows_the_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
