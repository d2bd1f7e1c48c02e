/* Kernels: registration by nvcc's code at program start, and launches by the rules of an H200. Only the names of the
 * compiled kernels are used: NAME_kernel (core/device/device_entries.inc) runs through the emulated device's body for
 * NAME. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/device/emulated_code.h"
#include "core/device/emulated_threads.h"
#include "core/memory.h"
#include "sim/device/kernels.h"
#include "tests/runtime/runtime.h"
#include "trainer/ops/kernels/kernels.h"

enum { FUNCTIONS_MAX = 512, REGISTER_UNIT = 8, WARP = 32, ARGUMENT_BYTES = 32764 };

static RuntimeFunction functions[FUNCTIONS_MAX];
static size_t count;

#define KERNEL(name, arguments, group) &name##_launch,
static const CoreKernel *const kernels[] = {
#include "sim/device/kernels.def"
#include "trainer/ops/kernels/kernels.def"
};
#undef KERNEL

/* Returns the kernel of an entry such as "_Z15ops_adam_kernel7OpsAdam"; NULL: none. */
static const CoreKernel *find_kernel(const char *name) {
  if (strncmp(name, "_Z", 2) == 0) name += 2;
  while (isdigit((unsigned char)*name)) name++;
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    const size_t n = strlen(kernels[i]->name);
    if (strncmp(name, kernels[i]->name, n) == 0 && strncmp(name + n, "_kernel", 7) == 0) return kernels[i];
  }
  return NULL;
}

/* ---- functions called by nvcc's code before main (crt/host_runtime.h of the toolkit) ----------------------------- */

void **__cudaRegisterFatBinary(void *code);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, uint3 *thread,
                            uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);

void **__cudaRegisterFatBinary(void *code) {
  static void *handle;
  handle = code;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, uint3 *thread,
                            uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp) {
  (void)handle, (void)device, (void)threads, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
  CORE_CHECK(count < FUNCTIONS_MAX);
  functions[count++] =
      (RuntimeFunction){.entry = host, .name = name, .kernel = find_kernel(name), .shared_max = RUNTIME_SHARED_DEFAULT};
}

/* Functions of launches written <<<...>>>, which the program does not use. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry) {
  *kernel = NULL;
  return runtime_refuse(cudaErrorNotSupported, "a launch by <<<...>>> of %p", entry);
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  (void)grid, (void)block, (void)shared, (void)stream;
  return runtime_fail(cudaErrorNotSupported);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) {
  (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
  return runtime_fail(cudaErrorNotSupported);
}

/* ---- resources of kernels ---------------------------------------------------------------------------------------- */

/* Reads a file of RUNTIME_PTXAS=FILE:FILE, the output of ptxas -v (kept by the Makefile): a GPU rejects blocks whose
 * threads need more registers than a multiprocessor has. Uses the entries of the H200's architecture. */
static void read_ptxas(const char *path) {
  char line[1024];
  RuntimeFunction *f = NULL;
  FILE *file = fopen(path, "r");
  CORE_CHECK(file != NULL);
  while (fgets(line, sizeof line, file)) {
    const char *entry = strstr(line, "Compiling entry function '"), *stack = strstr(line, "bytes stack frame"),
               *used = strstr(line, "Used ");
    if (entry) {
      entry += strlen("Compiling entry function '");
      f = NULL;
      for (size_t i = 0; i < count && strstr(line, "'sm_90'"); i++)
        if (strncmp(functions[i].name, entry, strcspn(entry, "'")) == 0) f = &functions[i];
    }
    if (f && stack) f->stack_bytes = (int)strtol(line, NULL, 10);
    if (f == NULL || used == NULL) continue;
    f->registers = (int)strtol(used + strlen("Used "), NULL, 10);
    f = NULL; /* later lines describe called functions, whose stacks are included in its own */
  }
  fclose(file);
}

static void read_figures(void) {
  static bool done;
  const char *paths = done ? NULL : getenv("RUNTIME_PTXAS");
  done = true;
  while (paths && *paths) {
    char path[512];
    const int n = (int)strcspn(paths, ":");
    snprintf(path, sizeof path, "%.*s", n, paths);
    read_ptxas(path);
    paths += n + (paths[n] == ':');
  }
}

static RuntimeFunction *find(const void *entry) {
  read_figures();
  for (size_t i = 0; i < count; i++)
    if (functions[i].entry == entry) return &functions[i];
  runtime_refuse(cudaErrorInvalidDeviceFunction, "%p is not a kernel's entry", entry);
  return NULL;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *entry) {
  const RuntimeFunction *f = find(entry);
  if (f == NULL) return cudaErrorInvalidDeviceFunction;
  if (runtime_setting("kernels")) return runtime_fail(cudaErrorNoKernelImageForDevice);
  *attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024,
                                            .numRegs = f->registers,
                                            .localSizeBytes = (size_t)f->stack_bytes,
                                            .ptxVersion = 90,
                                            .binaryVersion = 90,
                                            .maxDynamicSharedSizeBytes = (int)f->shared_max};
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *entry, enum cudaFuncAttribute attribute, int value) {
  RuntimeFunction *f = find(entry);
  if (f == NULL) return cudaErrorInvalidDeviceFunction;
  const bool is_size = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize;
  const bool is_share = attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
  if ((is_size && (value < 0 || value > RUNTIME_SHARED_MAX)) || (is_share && (value < -1 || value > 100)) ||
      is_size == is_share)
    return runtime_refuse(cudaErrorInvalidValue, "%s: attribute %d set to %d", f->name, (int)attribute, value);
  if (is_size) f->shared_max = (size_t)value;
  return cudaSuccess;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Returns the registers of a block: they are allocated to warps, 256 at a time. */
static size_t block_registers(const RuntimeFunction *f, unsigned threads) {
  const size_t thread = (size_t)(f->registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
  return thread * ((threads + WARP - 1) / WARP * WARP);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *entry, int threads, size_t shared) {
  enum { RESERVED = 1024, SHARED = 228 * 1024, BLOCKS = 32, THREADS = 2048, PARTS = 4 };
  const RuntimeFunction *f = find(entry);
  if (f == NULL) return cudaErrorInvalidDeviceFunction;
  if (shared > f->shared_max)
    return runtime_refuse(cudaErrorInvalidValue, "%s: %zu bytes of shared memory", f->name, shared);
  const size_t warps = ((size_t)threads + WARP - 1) / WARP;
  size_t blocks_max = THREADS / (warps * WARP) < BLOCKS ? THREADS / (warps * WARP) : BLOCKS;
  if (SHARED / (shared + RESERVED) < blocks_max) blocks_max = SHARED / (shared + RESERVED);
  if (f->registers > 0) { /* each of four partitions has a quarter of the registers, and whole warps */
    const size_t of_part = RUNTIME_REGISTERS / PARTS / block_registers(f, WARP), fit = PARTS * of_part / warps;
    if (fit < blocks_max) blocks_max = fit;
  }
  *blocks = (int)blocks_max;
  return cudaSuccess;
}

static cudaError_t check_launch(const RuntimeFunction *f, dim3 grid, dim3 block, size_t shared) {
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 || threads > 1024 || block.z > 64 ||
      grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    return runtime_refuse(cudaErrorInvalidConfiguration, "%s: %u x %u x %u blocks of %llu threads", f->name, grid.x,
                          grid.y, grid.z, threads);
  if (shared > f->shared_max)
    return runtime_refuse(cudaErrorInvalidValue, "%s: %zu bytes of shared memory, and %zu allowed for", f->name, shared,
                          f->shared_max);
  if (block_registers(f, (unsigned)threads) > RUNTIME_REGISTERS)
    return runtime_refuse(cudaErrorLaunchOutOfResources, "%s: %llu threads of %d registers", f->name, threads,
                          f->registers);
  if (f->kernel == NULL || grid.y * grid.z * block.y * block.z != 1)
    return runtime_refuse(cudaErrorNotSupported,
                          "%s: the stand-in has no body for it, or not for more than one dimension", f->name);
  if (f->kernel->argument_bytes > ARGUMENT_BYTES)
    return runtime_refuse(cudaErrorInvalidValue, "%s: %zu bytes of arguments", f->name, f->kernel->argument_bytes);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *entry, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
  const RuntimeFunction *f = find(entry);
  const cudaError_t code = f ? check_launch(f, grid, block, shared) : cudaErrorInvalidDeviceFunction;
  if (code != cudaSuccess) return code;
  void *kept = core_memory_allocate(f->kernel->argument_bytes);
  memcpy(kept, arguments[0], f->kernel->argument_bytes);
  return runtime_stream_enqueue(stream, (RuntimeOperation){.kind = RUNTIME_LAUNCH,
                                                        .function = f,
                                                        .blocks = grid.x,
                                                        .threads = block.x,
                                                        .shared = shared,
                                                        .arguments = kept,
                                                        .bytes = f->kernel->argument_bytes});
}

/* Runs a kernel, with the body of the library named by CORE_DEVICE_CODE, if any (core/device/emulated_code.h). */
void runtime_launch_run(const RuntimeOperation *launch) {
  static const CoreEmulatedServices services = CORE_EMULATED_SERVICES(runtime_memory_find);
  static CoreEmulatedThreads *threads;
  const CoreKernel *kernel = launch->function->kernel;
  const bool forward = runtime_order() == RUNTIME_FORWARD;
  if (threads == NULL) threads = core_emulated_threads_create(forward ? CORE_DEVICE_FORWARD : CORE_DEVICE_BACKWARD);
  core_emulated_threads_run(threads, kernel, core_emulated_code_of(core_emulated_code(&services), kernel),
                            launch->blocks, launch->threads, launch->shared, launch->arguments);
}
