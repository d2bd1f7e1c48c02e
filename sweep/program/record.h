/* Record of metrics: names and values from one line of JSON or CSV, one match in the program's output, or one step of
 * an event file. All sources of metrics produce records (source.h), and logs.h turns them into rows. */
#ifndef SWEEP_PROGRAM_RECORD_H
#define SWEEP_PROGRAM_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

enum {
  PROGRAM_NAME_MAX = 128,       /* bytes of a metric's name with its NUL; longer ones end with a hash */
  PROGRAM_NAMES_MAX = 20000,    /* distinct metrics of a run */
  PROGRAM_LINE_MAX = 1 << 20    /* bytes of a line; longer ones are skipped and counted */
};

/* Set of the names of a run's metrics. Zero-initialize. */
typedef struct ProgramNames {
  char **items;                 /* [count] */
  size_t count, capacity;
  size_t *slots, slot_count;    /* hash table: index in items + 1; 0: free */
  int64_t dropped;              /* values of names beyond PROGRAM_NAMES_MAX */
  const char **reserved;        /* [reserved_count] names that are never dropped; owned, their texts borrowed */
  size_t reserved_count;
} ProgramNames;

/* Returns the index of a name, and adds it if it is new. Blanks around it do not count; control characters and invalid
 * UTF-8 become '?'. SIZE_MAX: the set is full, or the name is empty. */
size_t program_names_add(ProgramNames *names, const char *name, size_t length);
/* Lets a name be added even if the set is full. The text must outlive the set. */
void program_names_reserve(ProgramNames *names, const char *name);
/* Returns the index of a text that is no name of a program: without these changes and limits. */
size_t program_names_add_exact(ProgramNames *names, const char *text);
/* Returns the index of a name; SIZE_MAX: the set lacks it. */
size_t program_names_find(const ProgramNames *names, const char *name);
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
void program_record_free(ProgramRecord *record);

/* Parses a number that fills the text except for blanks around it: as strtod, but decimal only; true and false are 1
 * and 0. "10,000", "1.0M", "0,5" and "12 %" are not numbers. */
bool program_number_parse(const char *text, size_t length, double *value);

/* Values that are not numbers, which are ignored: examples for the log. Zero-initialize. */
typedef struct ProgramIgnored {
  struct ProgramIgnoredName { char name[PROGRAM_NAME_MAX], example[32]; int64_t count; } *items; /* [count] */
  size_t count;
  int64_t empty;                /* records without any number */
} ProgramIgnored;

/* Counts a value that is not a number. */
void program_ignored_add(ProgramIgnored *ignored, const char *name, size_t name_length, const char *value,
                         size_t length);
void program_ignored_free(ProgramIgnored *ignored);

/* Reads a record from the next JSON object of a line, and advances *line past it; objects may be separated by commas
 * and enclosed in a list. Numbers, also in quotes, true and false (1 and 0), NaN and infinities in any spelling, and
 * nested objects ("a/b") are values. Other strings are counted in `ignored`, which may be NULL; null and arrays are no
 * values. False: what follows is no object (*line is at `end`: nothing follows), and the record is empty. */
bool program_record_read_json(const char **line, const char *end, ProgramRecord *record, ProgramIgnored *ignored);

#endif
