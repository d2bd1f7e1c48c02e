#include "core/device/emulated_code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const char *path(void) {
  const char *named = getenv("CORE_DEVICE_CODE");
  return named && named[0] != '\0' ? named : NULL;
}

/* Ends the program on a user's mistake, found where no error can be returned. */
static _Noreturn void refuse(const char *what) {
  fprintf(stderr, "CORE_DEVICE_CODE = %s: %s\n", path(), what);
  fflush(stderr);
  exit(CORE_USAGE);
}

const CoreEmulatedBody *core_emulated_code(const CoreEmulatedServices *services) {
  static const CoreEmulatedBody *bodies;
  if (path() == NULL) return NULL;
  if (bodies) return bodies;
  void *library = dlopen(path(), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) refuse(dlerror());
  CoreEmulatedLibrary *open;
  void *symbol = dlsym(library, "core_emulated_library");
  if (symbol == NULL) refuse("not a library of kernel bodies (core/device/emulated_code.h); tests/ptx builds one");
  memcpy(&open, &symbol, sizeof open);
  return bodies = open(services);
}

CoreKernelBody *core_emulated_code_of(const CoreEmulatedBody *bodies, const CoreKernel *kernel) {
  char what[256];
  if (bodies == NULL) return kernel->body;
  for (; bodies->name; bodies++) {
    if (strcmp(bodies->name, kernel->name) != 0) continue;
    if (bodies->argument_bytes == kernel->argument_bytes) return bodies->body ? bodies->body : kernel->body;
    snprintf(what, sizeof what, "%s takes %zu bytes of arguments there and %zu here: another version of it, or two "
             "compilers that lay them out differently", kernel->name, bodies->argument_bytes, kernel->argument_bytes);
    refuse(what);
  }
  if (CORE_HAS_CUDA && kernel->entry == NULL) return kernel->body;
  snprintf(what, sizeof what, "no kernel '%s' there: another version, or a kernel that this library was not made for",
           kernel->name);
  refuse(what);
}
