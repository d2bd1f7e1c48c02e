/* Judges the schema of a database that others may have made. SQLite evaluates generated columns, CHECK, expressions of
 * indexes and defaults as soon as a row is read or written, a single call can take hours, and none of the protections
 * of connection.c forbids it. Files of sweep, of any version, have none of these: their tables are columns with types,
 * NOT NULL, literal defaults and keys, and their indexes are columns. So exactly that is accepted; views and triggers
 * are, since they never run (connection_internal.h).
 *
 * Until then a connection has narrow limits, because SQLite reads tables of its own (sqlite_stat1) together with the
 * schema. Their columns could be generated, too. */
#include "store/database/connection_internal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/error.h"

enum {
  SCHEMA_BYTES_MAX = 32 << 10, /* longest value; the statement that creates `iteration` has 11 KB */
  SCHEMA_OPERATIONS = 100,     /* operations of SQLite's virtual machine between two looks at the clock */
  SCHEMA_MS = 300              /* CPU time; the schema of sweep takes 1 ms */
};

/* ---- limits until the schema is known ---------------------------------------------------------------------------- */

/* Returns the milliseconds of CPU time that this thread has taken: waiting for a lock or a disk takes none. */
static int64_t cpu_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Ends a query once its time is over, which is passed in place of a pointer. */
static int is_over(void *end_ms) { return cpu_ms() >= (int64_t)(intptr_t)end_ms; }

void store_schema_limit(sqlite3 *handle) {
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, SCHEMA_BYTES_MAX);
  sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1); /* the time of LIKE is exponential in the pattern */
  sqlite3_progress_handler(handle, SCHEMA_OPERATIONS, is_over, (void *)(intptr_t)(cpu_ms() + SCHEMA_MS));
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* A token of SQL: a word (a keyword or a bare name), a quoted name or text, or one other character; `length` 0: the
 * end. */
typedef struct Token { const char *start; size_t length; bool is_word, is_quoted; } Token;

static const char *skip_comments(const char *c) {
  for (;;) {
    c += strspn(c, " \t\r\n\f");
    if (strncmp(c, "--", 2) == 0) {
      c += strcspn(c, "\n");
    } else if (strncmp(c, "/*", 2) == 0) {
      const char *end = strstr(c + 2, "*/");
      c = end ? end + 2 : c + strlen(c);
    } else {
      return c;
    }
  }
}

/* Whether a character belongs to a word; numbers are words, too. Bytes beyond ASCII are not: SQLite skips some. */
static bool is_word_character(char c) { return (isalnum((unsigned char)c) && !(c & 0x80)) || c == '_' || c == '$'; }

static Token next_token(const char **text) {
  const char *c = skip_comments(*text);
  Token token = {.start = c};
  if (*c && strchr("\"'`[", *c)) {
    const char close = *c == '[' ? ']' : *c;
    for (c++; *c && (*c != close || (close != ']' && c[1] == close)); c++) c += *c == close;
    c += *c != '\0';
    token.is_quoted = true;
  } else if (is_word_character(*c)) {
    while (is_word_character(*c)) c++;
    token.is_word = true;
  } else {
    c += *c != '\0';
  }
  token.length = (size_t)(c - token.start);
  *text = c;
  return token;
}

static bool is_keyword(const Token *token, const char *word) {
  return token->is_word && strlen(word) == token->length && strncasecmp(token->start, word, token->length) == 0;
}

static bool is_character(const Token *token, char c) {
  return !token->is_word && !token->is_quoted && token->length == 1 && *token->start == c;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Whether the token begins something that SQLite would evaluate, or another table's or a collation's part. */
static bool is_evaluated(const Token *token) {
  static const char *const words[] = {"AS",         "CHECK",   "GENERATED", "COLLATE",
                                      "REFERENCES", "FOREIGN", "WHERE",     "SELECT"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (is_keyword(token, words[i])) return true;
  return false;
}

/* Reads a list in parentheses, after the first one: names of key columns, or the length of a type. Each has one word,
 * so that none is an expression ("a LIKE b"). */
static bool skip_names(const char **text) {
  for (;;) {
    Token token = next_token(text);
    if ((!token.is_word && !token.is_quoted) || is_evaluated(&token)) return false;
    token = next_token(text);
    if (is_keyword(&token, "ASC") || is_keyword(&token, "DESC")) token = next_token(text);
    if (is_character(&token, ')')) return true;
    if (!is_character(&token, ',')) return false;
  }
}

/* Whether the columns of a table, after the first parenthesis, are plain ones: lists of names in parentheses follow
 * KEY, UNIQUE and types; a default is a literal. */
static bool has_plain_columns(const char **text) {
  Token before = {0};
  for (;;) {
    const Token token = next_token(text);
    if (is_character(&token, ')')) return true;
    if (token.length == 0 || is_evaluated(&token)) return false;

    const bool is_list = is_character(&token, '(');
    if (is_list && (!before.is_word || is_keyword(&before, "DEFAULT") || !skip_names(text))) return false;
    if (!is_list && !token.is_word && !token.is_quoted && !strchr(",+-.", *token.start)) return false;
    before = token;
  }
}

/* Whether only words like WITHOUT ROWID are left. */
static bool ends(const char *text) {
  for (;;) {
    const Token token = next_token(&text);
    if (token.length == 0) return true;
    if (is_evaluated(&token) || (!token.is_word && !is_character(&token, ','))) return false;
  }
}

/* Whether a statement of the schema creates only what no query evaluates by itself. */
static bool is_harmless(const char *sql) {
  Token token = next_token(&sql);
  if (!is_keyword(&token, "CREATE")) return false;
  token = next_token(&sql);
  if (is_keyword(&token, "VIEW") || is_keyword(&token, "TRIGGER")) return true;
  if (is_keyword(&token, "UNIQUE")) token = next_token(&sql);

  const bool is_index = is_keyword(&token, "INDEX");
  if (!is_index && !is_keyword(&token, "TABLE")) return false;
  do {
    token = next_token(&sql);
    if (token.length == 0 || is_evaluated(&token)) return false;
  } while (!is_character(&token, '('));
  return (is_index ? skip_names(&sql) : has_plain_columns(&sql)) && ends(sql);
}

/* ---- the schema -------------------------------------------------------------------------------------------------- */

static int judge_object(const char *path, sqlite3_stmt *object) {
  const char *name = (const char *)sqlite3_column_text(object, 0), *sql = (const char *)sqlite3_column_text(object, 1);
  const bool has_sql = sqlite3_column_type(object, 1) != SQLITE_NULL;
  const bool is_whole = !has_sql || (sql && strlen(sql) == (size_t)sqlite3_column_bytes(object, 1));
  if (name && is_whole && (!has_sql || is_harmless(sql))) return CORE_OK;
  return core_error(CORE_USAGE, "%s was changed by another program: '%.60s' is not a table or index that sweep "
                    "creates, and reading it could take any time; rebuild it from the run logs "
                    "with: sweep collect --rebuild",
                    path, name ? name : "");
}

int store_schema_check(sqlite3 *handle, const char *path) {
  sqlite3_stmt *object = NULL;
  int code = CORE_OK, step = SQLITE_DONE;

  int status = sqlite3_prepare_v2(handle, "SELECT name, sql FROM main.sqlite_master", -1, &object, NULL);
  while (status == SQLITE_OK && code == CORE_OK && (step = sqlite3_step(object)) == SQLITE_ROW)
    code = judge_object(path, object);
  if (status == SQLITE_OK && step != SQLITE_ROW && step != SQLITE_DONE) status = step;
  sqlite3_finalize(object);

  if ((status & 0xff) == SQLITE_INTERRUPT || (status & 0xff) == SQLITE_TOOBIG)
    return core_error(CORE_USAGE, "%s was changed by another program: its schema is longer than any of sweep, or takes "
                      "too long to read; rebuild it from the run logs with: sweep collect --rebuild", path);
  return status == SQLITE_OK ? code : CORE_FAIL;
}
