/* Collects and prints results (output.h). */
#include "sweep/control/output.h"

SweepOutput sweep_output_open(bool json) {
  return (SweepOutput){.out = json ? stderr : stdout, .json = json ? json_object() : NULL};
}

void sweep_output_close(SweepOutput *output) {
  if (output->json) core_json_print(output->json);
  output->json = NULL;
}

void sweep_output_discard(SweepOutput *output) {
  json_decref(output->json);
  output->json = NULL;
}

void sweep_output_set(const SweepOutput *output, const char *key, json_t *value) {
  if (output->json) json_object_set_new(output->json, key, value);
  else json_decref(value);
}

void sweep_output_set_count(const SweepOutput *output, const char *key, size_t count) {
  sweep_output_set(output, key, json_integer((json_int_t)count));
}
