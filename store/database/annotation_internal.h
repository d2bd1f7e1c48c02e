/* The import of tags, notes and pinned runs. */
#ifndef STORE_ANNOTATION_INTERNAL_H
#define STORE_ANNOTATION_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/database/ingest_internal.h"

/* Makes the table `annotation` say what the workspace's files say. A file that cannot be read is a fault of `result`,
 * and what it said before is forgotten. */
int store_import_annotations(StoreDatabase *database, const char *root, StoreImport *result);

#endif
