/* Output of commands with --json: text goes to one stream, and results are collected in one JSON object that is printed
 * at the end. */
#ifndef SWEEP_OUTPUT_H
#define SWEEP_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/json.h"

typedef struct SweepOutput {
  FILE *out;      /* human-readable text: stdout, or stderr with --json */
  json_t *json;   /* results; NULL without --json */
} SweepOutput;

/* Opens the output. The caller calls sweep_output_close or sweep_output_discard. */
SweepOutput sweep_output_open(bool json);
/* Prints the results if there are any, and frees them. */
void sweep_output_close(SweepOutput *output);
/* Frees the results without printing them. */
void sweep_output_discard(SweepOutput *output);

/* Sets a result; takes over `value`. Without --json the value is dropped. */
void sweep_output_set(const SweepOutput *output, const char *key, json_t *value);
void sweep_output_set_count(const SweepOutput *output, const char *key, size_t count);

#endif
