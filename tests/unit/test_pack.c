/* store/pack: what goes in comes out, bit for bit, by our own code and by plain SQL; and what is no packed column is
 * refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/pack_internal.h"

enum { PLACES = STORE_PACK_PLACES };

typedef struct Sql { sqlite3 *handle; sqlite3_stmt *echo, *plain; } Sql;

static int open_sql(void **state) {
  static Sql sql;
  CoreText text = {0};
  bool good = sqlite3_open(":memory:", &sql.handle) == SQLITE_OK &&
              sqlite3_exec(sql.handle,
                           "CREATE TABLE iteration_place(place INTEGER PRIMARY KEY); INSERT INTO iteration_place WITH"
                           " RECURSIVE a(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM a WHERE i < 255) SELECT i FROM a;"
                           "CREATE TABLE t(c); INSERT INTO t VALUES(NULL)",
                           NULL, NULL, NULL) == SQLITE_OK;
  core_text_append(&text, "SELECT p.place, ");
  store_pack_sql(&text, "t.c");
  core_text_append(&text, " FROM t CROSS JOIN iteration_place AS p ORDER BY 1");
  good = good && sqlite3_prepare_v2(sql.handle, "UPDATE t SET c = ?1 RETURNING c", -1, &sql.echo, NULL) == SQLITE_OK;
  good = good && sqlite3_prepare_v2(sql.handle, text.data, -1, &sql.plain, NULL) == SQLITE_OK;
  core_text_free(&text);
  *state = &sql;
  return good ? 0 : -1;
}

static int close_sql(void **state) {
  Sql *sql = *state;
  sqlite3_finalize(sql->echo);
  sqlite3_finalize(sql->plain);
  return sqlite3_close(sql->handle) == SQLITE_OK ? 0 : -1;
}

/* Equal, NaN to NaN; `bits`: to the last one. */
static void assert_equal(int place, double expected, double found, bool bits, const char *by) {
  if (isnan(expected) && isnan(found)) return;
  double slack = bits ? 0 : 4e-16 * fabs(expected);
  if (expected == found || fabs(expected - found) <= slack) return;
  fail_msg("place %d by %s: %.17g became %.17g", place, by, expected, found);
}

/* Bytes of the packed values. */
static int check(Sql *sql, const double *values, StorePackKind kind) {
  static StorePack pack;
  bool present[PLACES];
  double back[PLACES];
  for (int i = 0; i < PLACES; i++) present[i] = true;
  store_pack(values, present, &pack);
  assert_int_equal(pack.kind, kind);
  store_pack_bind(sql->echo, 1, &pack);
  assert_int_equal(sqlite3_step(sql->echo), SQLITE_ROW);
  assert_true(store_unpack(sqlite3_column_value(sql->echo, 0), back));
  sqlite3_step(sql->echo);
  sqlite3_reset(sql->echo);
  for (int i = 0; i < PLACES; i++) assert_equal(i, values[i], back[i], true, "store_unpack");
  for (int i = 0; i < PLACES; i++) {
    assert_int_equal(sqlite3_step(sql->plain), SQLITE_ROW);
    bool null = sqlite3_column_type(sql->plain, 1) == SQLITE_NULL;
    if (!null) assert_int_equal(sqlite3_column_type(sql->plain, 1), SQLITE_FLOAT);
    assert_equal(i, values[i], null ? NAN : sqlite3_column_double(sql->plain, 1), kind != STORE_PACK_TEXT, "SQL");
  }
  sqlite3_reset(sql->plain);
  return pack.length;
}

/* As a run log has it: nine digits. */
static double logged(double value) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", value);
  return strtod(text, NULL);
}

static double uniform(void) { return (double)rand() / RAND_MAX; }

static void test_decimals(void **state) {
  double values[PLACES];
  srand(1);
  for (int round = 0; round < 40; round++) {
    double size = pow(10, rand() % 14 - 8), decades = 0.01 + rand() % 5;
    for (int i = 0; i < PLACES; i++)
      values[i] = logged(size * pow(10, decades * uniform()) * (round % 3 ? 1 : uniform() - 0.5));
    check(*state, values, STORE_PACK_BLOB);
  }
}

/* The sizes that the format is made for: four bytes for nine digits, positive, of up to four decades; or less. */
static void test_sizes(void **state) {
  double values[PLACES];
  for (int i = 0; i < PLACES; i++) values[i] = logged(0.0012 * pow(10, 2.9 * uniform()));
  assert_in_range(check(*state, values, STORE_PACK_BLOB), 6 + 4 * PLACES, 6 + 4 * PLACES);
  for (int i = 0; i < PLACES; i++) values[i] = logged(2.5 + 0.01 * uniform());
  assert_in_range(check(*state, values, STORE_PACK_BLOB), 22 + 5 * PLACES / 2, 22 + 5 * PLACES / 2);
  for (int i = 0; i < PLACES; i++) values[i] = 524288.0 * (i + 77);
  assert_in_range(check(*state, values, STORE_PACK_BLOB), 22 + PLACES / 2, 22 + PLACES / 2);
  for (int i = 0; i < PLACES; i++) values[i] = i % 10 == 1 ? logged(uniform()) : NAN;
  assert_in_range(check(*state, values, STORE_PACK_BLOB), 20, 22 + 26 * 5);
  for (int i = 0; i < PLACES; i++) values[i] = 0.0003;
  assert_int_equal(check(*state, values, STORE_PACK_NUMBER), 0);
}

static void test_gaps(void **state) {
  double values[PLACES];
  srand(2);
  for (int round = 0; round < 40; round++) {
    int every = 1 + rand() % 40, first = rand() % PLACES;
    for (int i = 0; i < PLACES; i++) {
      bool measured = round % 2 ? rand() % every == 0 : i >= first && (i - first) % every == 0;
      values[i] = measured ? logged(100 * (uniform() - 0.2)) : NAN;
    }
    values[first] = -3.25;
    check(*state, values, STORE_PACK_BLOB);
  }
}

static void test_whole_numbers(void **state) {
  double values[PLACES];
  for (int i = 0; i < PLACES; i++) values[i] = (double)(i % 7) - 3;
  check(*state, values, STORE_PACK_BLOB);
  for (int i = 0; i < PLACES; i++) values[i] = 2048.0 * 256 * (i + 1) * 30000;
  check(*state, values, STORE_PACK_BLOB);
  for (int i = 0; i < PLACES; i++) values[i] = 9007199254740991.0 - i;
  check(*state, values, STORE_PACK_TEXT);
}

/* What no decimal form holds is kept all the same. */
static void test_extremes(void **state) {
  double values[PLACES];
  for (int i = 0; i < PLACES; i++) values[i] = i % 5 ? 0.25 * i : INFINITY;
  values[3] = -INFINITY;
  values[4] = NAN;
  check(*state, values, STORE_PACK_TEXT);
  for (int i = 0; i < PLACES; i++) values[i] = uniform() * pow(10, rand() % 600 - 300);
  check(*state, values, STORE_PACK_TEXT);
  for (int i = 0; i < PLACES; i++) values[i] = NAN;
  check(*state, values, STORE_PACK_NONE);
  values[255] = 1e-300;
  check(*state, values, STORE_PACK_TEXT);
  values[255] = 12.5;
  check(*state, values, STORE_PACK_BLOB);
  for (int i = 0; i < PLACES; i++) values[i] = INFINITY;
  check(*state, values, STORE_PACK_NUMBER);
}

/* Bytes of any kind: refused or read, never read beyond. The sanitizers see to it. */
static void test_noise(void **state) {
  Sql *sql = *state;
  double values[PLACES], back[PLACES];
  static StorePack pack;
  int refused = 0;
  srand(3);
  for (int i = 0; i < PLACES; i++) values[i] = logged(uniform());
  for (int round = 0; round < 4000; round++) {
    store_pack(values, NULL, &pack);
    if (round % 3 == 1) pack.length = rand() % pack.length;
    for (int i = 0; i < 4; i++) pack.data[rand() % (round % 2 ? 22 : pack.length + 1)] = (uint8_t)rand();
    if (round % 3 == 2) {
      pack.kind = STORE_PACK_TEXT;
      pack.length = snprintf((char *)pack.data, 400, "[%d,%d.5%s", round, rand(), round % 4 ? ",null,x]" : "");
    }
    store_pack_bind(sql->echo, 1, &pack);
    assert_int_equal(sqlite3_step(sql->echo), SQLITE_ROW);
    refused += !store_unpack(sqlite3_column_value(sql->echo, 0), back);
    sqlite3_step(sql->echo);
    sqlite3_reset(sql->echo);
  }
  assert_in_range(refused, 1500, 3999);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_decimals), cmocka_unit_test(test_sizes), cmocka_unit_test(test_gaps),
    cmocka_unit_test(test_whole_numbers), cmocka_unit_test(test_extremes), cmocka_unit_test(test_noise),
  };
  return cmocka_run_group_tests(tests, open_sql, close_sql);
}
