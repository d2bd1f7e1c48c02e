/* Annotations (store/workspace/annotations.h) into results.db. They are few: what the files say goes into a temporary
 * table, and the file's own is only written where the two differ. */
#include "store/database/annotation_internal.h"

#include "core/terminal.h"
#include "store/database/known_runs_internal.h"
#include "store/workspace/annotations.h"

typedef struct Files {
  StoreDatabase *database;
  StoreImport *result;
  sqlite3_stmt *insert;
} Files;

static int put(Files *files, StoreSubject subject, const char *name, const char *key, const char *value) {
  const char *const fields[] = {store_subject_name(subject), name, key, value};
  for (int i = 0; i < 4; i++) sqlite3_bind_text(files->insert, i + 1, fields[i], -1, SQLITE_STATIC);
  return store_database_run(files->database, files->insert);
}

static int take_file(void *context, StoreSubject subject, const char *name, const StoreAnnotations *said) {
  if (*said->note) TRY(put(context, subject, name, "note", said->note));
  if (*said->pinned) TRY(put(context, subject, name, "pinned", said->pinned));
  for (size_t i = 0; i < said->tag_count; i++) TRY(put(context, subject, name, "tag", said->tags[i]));
  return CORE_OK;
}

static void take_fault(void *context, const char *message) {
  const Files *files = context;
  store_import_note_fault(files->result, message);
}

/* What the files say -> temp.wanted_annotation. */
static int read_files(Files *files, const char *root) {
  StoreDatabase *database = files->database;
  TRY(store_database_execute(database, "CREATE TEMP TABLE IF NOT EXISTS wanted_annotation(subject, name, key, value);"
                                       "DELETE FROM temp.wanted_annotation"));
  TRY(store_database_prepare(database, "INSERT INTO temp.wanted_annotation VALUES(?1, ?2, ?3, ?4)", &files->insert));
  const int code = store_annotations_each(root, &(StoreAnnotationsVisit){take_file, take_fault, files});
  sqlite3_finalize(files->insert);
  return code;
}

static int write_rows(StoreDatabase *database) {
  TRY(store_database_begin(database));
  int code = store_database_execute(database, "DELETE FROM main.annotation; INSERT INTO main.annotation "
                                              "SELECT subject, name, key, value FROM temp.wanted_annotation");
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
  return code;
}

int store_import_annotations(StoreDatabase *database, const char *root, StoreImport *result) {
  Files files = {database, result, NULL};
  int64_t differ;
  TRY(read_files(&files, root));
  TRY(store_database_int(database,
                         "SELECT EXISTS(SELECT * FROM main.annotation EXCEPT SELECT * FROM temp.wanted_annotation) OR "
                         "EXISTS(SELECT * FROM temp.wanted_annotation EXCEPT SELECT * FROM main.annotation)",
                         &differ));
  return differ ? write_rows(database) : CORE_OK;
}

/* ---- experiments' files ------------------------------------------------------------------------------------------ */

int store_database_put_sweep(StoreDatabase *database, const char *name, const char *ini_text) {
  sqlite3_stmt *statement = NULL;
  TRY(core_text_check_name(name, "the sweep's name"));
  TRY(store_database_prepare(database,
                             "INSERT INTO sweep(name, ini, created) VALUES(?1, ?2, ?3)"
                             " ON CONFLICT(name) DO UPDATE SET ini = excluded.ini WHERE ini IS NOT excluded.ini",
                             &statement));
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  CoreText text = {0}; /* a file that an older version took may hold bytes of another encoding */
  core_text_append_utf8(&text, ini_text);
  sqlite3_bind_text(statement, 2, core_text_string(&text), -1, SQLITE_STATIC);
  sqlite3_bind_double(statement, 3, core_clock_unix_s());
  int code = store_database_run(database, statement);
  core_text_free(&text);
  sqlite3_finalize(statement);
  return code;
}
