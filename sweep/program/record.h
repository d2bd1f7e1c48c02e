/* A program's report: names with numbers, one line of JSON or CSV, one match of its output, or the
 * scalars of one step of an event file. Every source of metrics makes these (source.h), and logs.h makes rows of
 * them. */
#ifndef SWEEP_PROGRAM_RECORD_H
#define SWEEP_PROGRAM_RECORD_H
#include <stdbool.h>
#include <stddef.h>

enum {
  PROGRAM_NAME_MAX = 128,       /* bytes of a metric's name with its NUL; longer ones are cut */
  PROGRAM_NAMES_MAX = 20000,    /* different metrics of a run */
  PROGRAM_LINE_MAX = 1 << 20    /* bytes of a line; longer ones are skipped and counted */
};

/* Names of a run's metrics, each once. Zero-initialize. */
typedef struct ProgramNames {
  char **items;
  size_t count, capacity;
  size_t *slots, slot_count;    /* place + 1 in items; 0: free */
  bool is_full;                 /* more than PROGRAM_NAMES_MAX: the others are dropped */
} ProgramNames;

/* Number of a name, which is added when it is new; control characters and bytes that are no UTF-8 become '?'. SIZE_MAX:
 * there is no room. */
size_t program_names_add(ProgramNames *names, const char *name, size_t length);
void program_names_free(ProgramNames *names);

typedef struct ProgramValue { size_t name; double value; } ProgramValue;

typedef struct ProgramRecord {
  ProgramNames *names;
  ProgramValue *values;         /* [count]; NaN and infinities are values like any other */
  size_t count, capacity;
  char evaluation[64];          /* level set of an evaluation ("eval" of a JSON line); "": none */
} ProgramRecord;

void program_record_clear(ProgramRecord *record);
void program_record_add(ProgramRecord *record, const char *name, size_t length, double value);
/* Last value of a name; NaN when the record lacks it. */
double program_record_find(const ProgramRecord *record, const char *name);
void program_record_free(ProgramRecord *record);

/* Fills in a record from one JSON object: numbers, true and false (1 and 0), NaN, Infinity, and objects inside ("a/b").
 * Texts (but "eval"), null and arrays are no metrics. False: it is no object; what was read by then is cleared. */
bool program_record_read_json(const char *line, size_t length, ProgramRecord *record);

#endif
