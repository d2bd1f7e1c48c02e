/* Common part of libraries of translated kernels: the entry point that core/device/emulated_code.h requires, and the
 * checks that abort the program. */
#include "tests/ptx/machine.h"

#include <stdio.h>
#include <stdlib.h>

/* Kernels and arrays of the module, written by translate.c. Each table ends with an entry of zeros. */
extern const CoreEmulatedBody ptx_bodies[] __attribute__((visibility("hidden")));
extern const PtxArray ptx_arrays[] __attribute__((visibility("hidden")));

PtxRange ptx_recent, ptx_arguments;
const CoreEmulatedServices *ptx_services;

void ptx_fail(const char *function, const char *file, int line, const char *what, uint64_t address, unsigned bytes) {
  fprintf(stderr, "%s:%d: %s: %s: %u bytes at %#llx\n", file, line, function, what, bytes, (unsigned long long)address);
  abort();
}

void ptx_note(const char *kernel) {
  const char *path = getenv("PTX_RAN");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s\n", kernel);
  fclose(file);
}

static bool holds(PtxRange range, uint64_t address, unsigned bytes) {
  return address >= range.first && address + bytes <= range.end;
}

/* Whether the address is local memory: in the thread's stack, above the caller's frame. */
static bool is_in_stack(uint64_t address, unsigned bytes) {
  enum { STACK_BYTES = 64 * 1024 }; /* stack size of an emulated thread */
  const uint64_t stack = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  return holds((PtxRange){stack, stack + STACK_BYTES}, address, bytes);
}

void ptx_check_stack(const char *function, const char *file, int line, uint64_t address, unsigned bytes) {
  if (!is_in_stack(address, bytes)) ptx_fail(function, file, line, "an access outside of local memory", address, bytes);
}

void ptx_find(const char *function, const char *file, int line, uint64_t address, unsigned bytes, bool is_generic) {
  const uint64_t shared = (uint64_t)(uintptr_t)*ptx_services->shared;
  if (is_generic && (is_in_stack(address, bytes) || holds(ptx_arguments, address, bytes) ||
                     holds((PtxRange){shared, shared + *ptx_services->shared_bytes}, address, bytes))) return;
  for (const PtxArray *array = ptx_arrays; array->end; array++)
    if (holds((PtxRange){(uint64_t)(uintptr_t)array->first, (uint64_t)(uintptr_t)array->end}, address, bytes)) return;
  PtxRange found = {0};
  if (!ptx_services->find_memory(address, &found.first, &found.end) || !holds(found, address, bytes))
    ptx_fail(function, file, line,
             is_generic ? "an access outside of all memory" : "an access outside of device memory", address, bytes);
  ptx_recent = found;
}

unsigned ptx_team(const CoreDeviceThread *at, uint32_t mask, const char *function, const char *file, int line) {
  const unsigned group = (unsigned)__builtin_popcount(mask);
  if (mask == 0 || (group & (group - 1)) != 0)
    ptx_fail(function, file, line, "a mask that is not a group's", mask, sizeof mask);
  const uint32_t lanes = group == 32 ? UINT32_MAX : ((uint32_t)1 << group) - 1;
  if (mask != lanes << (at->thread % 32 / group * group))
    ptx_fail(function, file, line, "a mask that is not that of the thread's own group", mask, sizeof mask);
  return group;
}

static struct { const char *function, *file; int line; } waiting;

static void note_landed(const CoreDeviceThread *at, void *to, size_t bytes) {
  ptx_watch(at, (uint64_t)(uintptr_t)to, (unsigned)bytes, PTX_WRITE, waiting.function, waiting.file, waiting.line);
}

void ptx_copy_wait(const CoreDeviceThread *at, int pending, const char *function, const char *file, int line) {
  waiting.function = function;
  waiting.file = file;
  waiting.line = line;
  ptx_services->copy_wait(at, pending, ptx_watches ? note_landed : NULL);
}

__attribute__((visibility("default")))
const CoreEmulatedBody *core_emulated_library(const CoreEmulatedServices *services) {
  ptx_services = services;
  ptx_watch_open();
  return ptx_bodies;
}
