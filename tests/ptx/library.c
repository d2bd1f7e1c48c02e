/* Writes C functions to the files of a library (core/device/emulated_code.h, with machine.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "ptx.h"

/* Orders by length, longest first. */
static int by_lines(const void *a, const void *b) {
  const PtxFunction *const *x = a, *const *y = b;
  return ((*x)->lines < (*y)->lines) - ((*x)->lines > (*y)->lines);
}

static void write_head(const PtxModule *module, CoreText *c) {
  core_text_append(c, "/* Written by tests/ptx: PTX as C. */\n#include \"tests/ptx/machine.h\"\n\n");
  core_text_append(c, core_text_string(&module->declarations));
  for (size_t i = 0; i < module->functions; i++)
    core_text_appendf(c, "%s;\n", core_text_string(&module->function[i].prototype));
}

/* Writes the module's arrays, and the two tables that machine.c reads. */
static void write_tables(const PtxModule *module, CoreText *c) {
  core_text_appendf(c, "\n%s\n", core_text_string(&module->arrays));
  core_text_append(c, "#define HIDDEN __attribute__((visibility(\"hidden\")))\n");
  core_text_appendf(c, "HIDDEN const PtxArray ptx_arrays[] = {\n%s  {0},\n};\n", core_text_string(&module->ranges));
  core_text_append(c, "HIDDEN const CoreEmulatedBody ptx_bodies[] = {\n");
  for (size_t i = 0; i < module->functions; i++) {
    const PtxFunction *function = &module->function[i];
    const char *name = function->name;
    if (function->is_kernel) core_text_appendf(c, "  {\"%s\", %s, %zu},\n", name, name, function->argument_bytes);
  }
  core_text_append(c, "  {0},\n};\n");
}

int ptx_write_library(const PtxModule *module, const char *prefix, int parts) {
  const PtxFunction **order = core_memory_allocate(module->functions * sizeof *order);
  CoreText *text = core_memory_zero_allocate((size_t)parts, sizeof *text);
  size_t *lines = core_memory_zero_allocate((size_t)parts, sizeof *lines);
  int code = CORE_OK;
  for (int part = 0; part < parts; part++) write_head(module, &text[part]);
  write_tables(module, &text[0]);
  for (size_t i = 0; i < module->functions; i++) order[i] = &module->function[i];
  qsort(order, module->functions, sizeof *order, by_lines);
  for (size_t i = 0; i < module->functions; i++) {
    int shortest = 0;
    for (int part = 1; part < parts; part++) if (lines[part] < lines[shortest]) shortest = part;
    core_text_appendf(&text[shortest], "\n%s {\n%s\n", core_text_string(&order[i]->prototype),
                      core_text_string(&order[i]->body));
    lines[shortest] += order[i]->lines;
  }
  for (int part = 0; part < parts; part++) {
    char path[CORE_PATH_MAX];
    if (code == CORE_OK) code = core_files_path(path, "%s.%d.c", prefix, part);
    if (code == CORE_OK) code = core_files_write_unsynced(path, text[part].data, text[part].length);
    core_text_free(&text[part]);
  }
  free(lines);
  free(text);
  free(order);
  return code;
}
