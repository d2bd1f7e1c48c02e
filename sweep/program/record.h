/* Record of metrics: names and values from one line of JSON or CSV, one match in the program's output, or one step of
 * an event file. All sources of metrics produce records (source.h), and logs.h turns them into rows. */
#ifndef SWEEP_PROGRAM_RECORD_H
#define SWEEP_PROGRAM_RECORD_H
#include <stdbool.h>
#include <stddef.h>

enum {
  PROGRAM_NAME_MAX = 128,       /* bytes of a metric's name with its NUL; longer ones are truncated */
  PROGRAM_NAMES_MAX = 20000,    /* distinct metrics of a run */
  PROGRAM_LINE_MAX = 1 << 20    /* bytes of a line; longer ones are skipped and counted */
};

/* Set of the names of a run's metrics. Zero-initialize. */
typedef struct ProgramNames {
  char **items;                 /* [count] */
  size_t count, capacity;
  size_t *slots, slot_count;    /* hash table: index in items + 1; 0: free */
  bool is_full;                 /* PROGRAM_NAMES_MAX is reached, and further names are dropped */
} ProgramNames;

/* Returns the index of a name, and adds it if it is new. Control characters and invalid UTF-8 become '?'. SIZE_MAX: the
 * set is full. */
size_t program_names_add(ProgramNames *names, const char *name, size_t length);
void program_names_free(ProgramNames *names);

typedef struct ProgramValue {
  size_t name;                  /* index in ProgramNames */
  double value;
} ProgramValue;

typedef struct ProgramRecord {
  ProgramNames *names;
  ProgramValue *values;         /* [count]; NaN and infinities are valid */
  size_t count, capacity;
  char evaluation[64];          /* level set of an evaluation ("eval" of a JSON line); "": none */
} ProgramRecord;

void program_record_clear(ProgramRecord *record);
void program_record_add(ProgramRecord *record, const char *name, size_t length, double value);
/* Returns the last value of a name; NaN: none. */
double program_record_find(const ProgramRecord *record, const char *name);
void program_record_free(ProgramRecord *record);

/* Reads a record from a JSON object: numbers, true and false (1 and 0), NaN, Infinity, and nested objects ("a/b").
 * Strings other than "eval", null and arrays are ignored. False: it is not an object, and the record is empty. */
bool program_record_read_json(const char *line, size_t length, ProgramRecord *record);

#endif
