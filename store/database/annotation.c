/* Imports annotation files (store/workspace/annotations.h) into results.db. They are few, so all of them are read into
 * a temporary table, and the table `annotation` is only written if the two differ. */
#include "store/database/ingest_internal.h"
#include "store/database/known_runs_internal.h"
#include "store/workspace/annotations.h"

typedef struct AnnotationImport {
  StoreDatabase *database;
  StoreImport *result;
  sqlite3_stmt *insert;
} AnnotationImport;

static int insert_row(AnnotationImport *import, StoreSubject subject, const char *name, const char *key,
                      const char *value) {
  const char *const fields[] = {store_subject_name(subject), name, key, value};
  for (int i = 0; i < 4; i++) sqlite3_bind_text(import->insert, i + 1, fields[i], -1, SQLITE_STATIC);
  return store_database_run(import->database, import->insert);
}

static int insert_file(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations) {
  if (*annotations->note) TRY(insert_row(context, subject, name, "note", annotations->note));
  if (*annotations->pinned) TRY(insert_row(context, subject, name, "pinned", annotations->pinned));
  for (size_t i = 0; i < annotations->tag_count; i++)
    TRY(insert_row(context, subject, name, "tag", annotations->tags[i]));
  return CORE_OK;
}

static void add_warning(void *context, const char *message) {
  const AnnotationImport *import = context;
  store_import_add_warning(import->result, message);
}

/* Reads all files into temp.wanted_annotation. */
static int read_files(AnnotationImport *import, const char *root) {
  StoreDatabase *database = import->database;
  TRY(store_database_execute(database, "CREATE TEMP TABLE IF NOT EXISTS wanted_annotation(subject, name, key, value);"
                                       "DELETE FROM temp.wanted_annotation"));
  TRY(store_database_prepare(database, "INSERT INTO temp.wanted_annotation VALUES(?1, ?2, ?3, ?4)", &import->insert));
  const int code = store_annotations_each(root, &(StoreAnnotationsVisit){insert_file, add_warning, import});
  sqlite3_finalize(import->insert);
  return code;
}

static int replace_rows(StoreDatabase *database) {
  TRY(store_database_begin(database));
  int code = store_database_execute(database, "DELETE FROM main.annotation; INSERT INTO main.annotation "
                                              "SELECT subject, name, key, value FROM temp.wanted_annotation");
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
  return code;
}

int store_import_annotations(StoreDatabase *database, const char *root, StoreImport *result) {
  AnnotationImport import = {.database = database, .result = result};
  int64_t differ;
  TRY(read_files(&import, root));
  TRY(store_database_int(database,
                         "SELECT EXISTS(SELECT * FROM main.annotation EXCEPT SELECT * FROM temp.wanted_annotation) OR "
                         "EXISTS(SELECT * FROM temp.wanted_annotation EXCEPT SELECT * FROM main.annotation)",
                         &differ));
  return differ ? replace_rows(database) : CORE_OK;
}
