/* ptx_translate: translates kernels that nvcc compiled to PTX to C, from which gcc builds a library for the emulator
 * (CORE_DEVICE_CODE, core/device/emulated_code.h). See tests/tests.mk.
 * Usage: ptx_translate [--target sm_90] --parts N PREFIX FILE.ptx...   writes PREFIX.0.c to PREFIX.N-1.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "ptx.h"

static int usage(void) {
  fprintf(stderr, "usage: ptx_translate [--target sm_90] --parts N PREFIX FILE.ptx...\n");
  return CORE_USAGE;
}

static int translate_files(const char *target, int parts, const char *prefix, char **paths,
                           int files) {
  PtxModule *module = core_memory_zero_allocate(1, sizeof *module);
  int code = CORE_OK;
  for (int i = 0; i < files && code == CORE_OK; i++) {
    PtxSource source;
    code = ptx_read(paths[i], target, &source);
    if (code == CORE_OK) code = ptx_translate(module, &source, i);
    if (code == CORE_OK) ptx_source_free(&source);
  }
  if (code == CORE_OK) code = ptx_write_library(module, prefix, parts);
  ptx_module_free(module);
  free(module);
  return code;
}

int main(int count, char **argv) {
  const char *target = NULL;
  int parts = 0, i = 1;
  for (; i + 1 < count && argv[i][0] == '-'; i += 2) {
    if (strcmp(argv[i], "--target") == 0) target = argv[i + 1];
    else if (strcmp(argv[i], "--parts") == 0) parts = atoi(argv[i + 1]);
    else return usage();
  }
  if (count - i < 2 || parts < 1 || parts > 64) return usage();
  const int code = translate_files(target, parts, argv[i], argv + i + 1, count - i - 1);
  if (code != CORE_OK) fprintf(stderr, "%s\n", core_error_message());
  return code;
}
