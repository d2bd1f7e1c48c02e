/* The values of one column in up to 256 consecutive iterations, as one value of SQLite.
 *
 * Run logs carry decimal numbers of 9 digits, so a column is kept as whole numbers over a power of ten, in as few
 * hexadecimal digits as its range needs. A value takes 4 to 4.5 bytes, where a REAL takes 8, and is exactly the number
 * that was logged. Plain SQL can undo all of it: the view `iteration` (schema.h) reads the same values without a line
 * of ours.
 *
 *   NULL      nothing was measured
 *   number    the value of all rows of the chunk
 *   text      a JSON array by place, null = not measured: values that are infinite or too far apart for the form below
 *   blob      a header in decimal digits, two a byte, and codes in hexadecimal ones
 *
 * docs/architecture.md ("Packed columns") has the bytes, with an example. */
#ifndef STORE_PACK_INTERNAL_H
#define STORE_PACK_INTERNAL_H
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"
#include "store/database/sqlite_internal.h"

enum {
  STORE_PACK_PLACES = 256,
  STORE_PACK_BYTES_MAX = 22 + STORE_PACK_PLACES * 12 / 2,
  STORE_PACK_TEXT_MAX = STORE_PACK_PLACES * 26 + 3,
};

typedef enum StorePackKind { STORE_PACK_NONE, STORE_PACK_NUMBER, STORE_PACK_BLOB, STORE_PACK_TEXT } StorePackKind;

typedef struct StorePack {
  StorePackKind kind;
  double number;
  int length;                       /* bytes of a blob or text */
  uint8_t data[STORE_PACK_TEXT_MAX];
} StorePack;

/* values: by place, NaN = not measured; present: which places are rows, NULL: as many as there are values (the form
 * "number" is not used). */
void store_pack(const double values[STORE_PACK_PLACES], const bool *present, StorePack *pack);
/* The same back, NaN where nothing was measured; a "number" fills all places. False: these bytes are none of ours. */
bool store_unpack(sqlite3_value *value, double values[STORE_PACK_PLACES]);
void store_pack_bind(sqlite3_stmt *statement, int index, const StorePack *pack); /* until the statement runs */
/* The SQL expression for a packed column at iteration_place.place. */
void store_pack_sql(CoreText *sql, const char *column);

#endif
