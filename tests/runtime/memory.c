/* Device memory: host memory that only operations may access. Each allocation ends at a page boundary, followed by an
 * inaccessible guard page; addresses are never reused. Contents are initially arbitrary and nonzero, as on a GPU. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/memory.h"
#include "tests/runtime/runtime.h"

enum { RUBBISH = 0xcb, RUBBISH_MAX = 1 << 16, ALIGNMENT = 256 };

typedef struct Allocation {
  char *pages, *start;
  size_t page_bytes, bytes;
  int device;
  bool live;
} Allocation;

static Allocation *allocations;
static size_t count, capacity, allocated[RUNTIME_GPUS_MAX];

static void protect(int device, int protection) {
  for (size_t i = 0; i < count; i++)
    if (allocations[i].live && allocations[i].device == device)
      CORE_CHECK(mprotect(allocations[i].pages, allocations[i].page_bytes, protection) == 0);
}

/* Protection key of each device's memory, as in core/device/emulated_memory.h; 0: not allocated yet, below 0: none. */
static int keys[RUNTIME_GPUS_MAX];
static int protection_key(int device) {
  if (keys[device] == 0) keys[device] = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return keys[device];
}

static int opened[RUNTIME_GPUS_MAX];

void runtime_memory_open(int device) {
  if (opened[device]++ > 0) return;
  if (protection_key(device) > 0) CORE_CHECK(pkey_set(protection_key(device), 0) == 0);
  else protect(device, PROT_READ | PROT_WRITE);
}

void runtime_memory_close(int device) {
  if (--opened[device] > 0) return;
  if (protection_key(device) > 0) CORE_CHECK(pkey_set(protection_key(device), PKEY_DISABLE_ACCESS) == 0);
  else protect(device, PROT_NONE);
}

/* Returns the allocation that contains [start, start + bytes); NULL: none. */
static Allocation *find(const void *start, size_t bytes) {
  const char *first = start;
  for (size_t i = 0; i < count; i++) {
    Allocation *a = &allocations[i];
    if (a->live && first >= a->start && first <= a->start + a->bytes && bytes <= a->bytes - (size_t)(first - a->start))
      return a;
  }
  return NULL;
}

int runtime_memory_find(uint64_t address, uint64_t *first, uint64_t *end) {
  const Allocation *a = find((const void *)(uintptr_t)address, 1);
  if (a == NULL) return 0;
  *first = (uint64_t)(uintptr_t)a->start;
  *end = *first + a->bytes;
  return 1;
}

static bool touches(const void *start, size_t bytes) {
  const char *first = start;
  for (size_t i = 0; i < count; i++)
    if (allocations[i].live && first < allocations[i].start + allocations[i].bytes &&
        allocations[i].start < first + bytes)
      return true;
  return false;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const size_t page_bytes = (rounded + page - 1) / page * page;
  const int device = runtime_device_current();
  *memory = NULL;
  if (runtime_stream_forbids_unsafe()) return runtime_fail(cudaErrorStreamCaptureUnsupported);
  if (bytes == 0) return cudaSuccess;
  if (bytes > runtime_device_bytes() - allocated[device]) return runtime_fail(cudaErrorMemoryAllocation);
  char *pages = mmap(NULL, page_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return runtime_fail(cudaErrorMemoryAllocation);
  if (count == capacity) {
    capacity = capacity ? 2 * capacity : 64;
    allocations = core_memory_resize(allocations, capacity * sizeof *allocations);
  }
  Allocation *a = &allocations[count++];
  *a = (Allocation){pages, pages + page_bytes - rounded, page_bytes, bytes, device, true};
  CORE_CHECK(mprotect(pages, page_bytes, PROT_READ | PROT_WRITE) == 0);
  memset(a->start, RUBBISH, bytes < RUBBISH_MAX ? bytes : RUBBISH_MAX);
  const int key = protection_key(device);
  if (key > 0) CORE_CHECK(pkey_mprotect(pages, page_bytes, PROT_READ | PROT_WRITE, key) == 0);
  else CORE_CHECK(mprotect(pages, page_bytes, PROT_NONE) == 0);
  allocated[device] += bytes;
  *memory = a->start;
  return cudaSuccess;
}

/* Waits for all operations that may still use the memory. */
cudaError_t cudaFree(void *memory) {
  if (memory == NULL) return cudaSuccess;
  if (runtime_stream_forbids_unsafe()) return runtime_fail(cudaErrorStreamCaptureUnsupported);
  Allocation *a = find(memory, 0);
  if (a == NULL || a->start != memory)
    return runtime_refuse(cudaErrorInvalidValue, "%p is freed, but is not the start of an allocation", memory);
  runtime_stream_finish_all();
  madvise(a->pages, a->page_bytes, MADV_DONTNEED);
  CORE_CHECK(mprotect(a->pages, a->page_bytes, PROT_NONE) == 0);
  a->live = false;
  allocated[a->device] -= a->bytes;
  return cudaSuccess;
}

/* Drops whole pages that are filled with zeros: they occupy no memory until written, and protecting them is fast. */
void runtime_memory_fill(void *target, int byte, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)target;
  const uintptr_t first = (start + page - 1) / page * page, end = (start + bytes) / page * page;
  if (byte != 0 || end <= first) {
    memset(target, byte, bytes);
    return;
  }
  memset(target, 0, first - start);
  memset((char *)target + (end - start), 0, start + bytes - end);
  CORE_CHECK(madvise((char *)target + (first - start), end - first, MADV_DONTNEED) == 0);
}

/* ---- copies and fills -------------------------------------------------------------------------------------------- */

static cudaError_t check_device(const void *start, size_t bytes, int device, const char *what) {
  const Allocation *a = find(start, bytes);
  if (a != NULL && a->device == device) return cudaSuccess;
  return runtime_refuse(cudaErrorInvalidValue, "%s [%p, +%zu), which is %s", what, start, bytes,
                        a ? "another GPU's" : "not within an allocation");
}

static cudaError_t check_host(const void *start, size_t bytes, const char *what) {
  if (!touches(start, bytes)) return cudaSuccess;
  return runtime_refuse(cudaErrorInvalidValue, "%s [%p, +%zu), which is a device's", what, start, bytes);
}

/* ---- page-locked host memory ------------------------------------------------------------------------------------- */

typedef struct Pinned {
  struct Pinned *next;
  char *start;
  size_t bytes;
} Pinned;
static Pinned *pinned;

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
  *memory = NULL;
  if (flags != cudaHostAllocDefault) return runtime_refuse(cudaErrorInvalidValue, "page-locked memory %x", flags);
  if (runtime_stream_forbids_unsafe()) return runtime_fail(cudaErrorStreamCaptureUnsupported);
  Pinned *made = core_memory_allocate(sizeof *made);
  *made = (Pinned){pinned, core_memory_allocate(bytes), bytes};
  memset(made->start, RUBBISH, bytes);
  pinned = made;
  *memory = made->start;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
  Pinned **link = &pinned;
  if (memory == NULL) return cudaSuccess;
  if (runtime_stream_forbids_unsafe()) return runtime_fail(cudaErrorStreamCaptureUnsupported);
  while (*link && (*link)->start != memory) link = &(*link)->next;
  if (*link == NULL) return runtime_refuse(cudaErrorInvalidValue, "%p is not page-locked memory", memory);
  Pinned *freed = *link;
  runtime_stream_finish_all();
  *link = freed->next;
  free(freed->start);
  free(freed);
  return cudaSuccess;
}

static bool is_pinned(const void *start, size_t bytes) {
  const char *first = start;
  for (const Pinned *p = pinned; p; p = p->next)
    if (first >= p->start && first + bytes <= p->start + p->bytes) return true;
  return false;
}

/* Copies from pageable memory cannot be captured, and return when the source may be reused. Page-locked memory is read
 * when the copy is executed. */
static cudaError_t to_device(void *target, const void *source, size_t bytes, cudaStream_t stream) {
  cudaError_t code = check_device(target, bytes, runtime_stream(stream)->device, "a copy to");
  if (code == cudaSuccess) code = check_host(source, bytes, "a copy to the device, from");
  if (code == cudaSuccess && is_pinned(source, bytes))
    return runtime_stream_enqueue(
        stream, (RuntimeOperation){.kind = RUNTIME_COPY, .target = target, .source = source, .bytes = bytes});
  if (code == cudaSuccess) code = runtime_stream_may_wait(stream);
  if (code != cudaSuccess) return code;
  void *contents = core_memory_allocate(bytes);
  memcpy(contents, source, bytes);
  return runtime_stream_enqueue(
      stream, (RuntimeOperation){
                  .kind = RUNTIME_COPY, .target = target, .source = contents, .arguments = contents, .bytes = bytes});
}

/* Copies to pageable memory return when the copy is complete. */
static cudaError_t to_host(void *target, const void *source, size_t bytes, cudaStream_t stream) {
  cudaError_t code = check_device(source, bytes, runtime_stream(stream)->device, "a copy from");
  if (code == cudaSuccess) code = check_host(target, bytes, "a copy to the host, to");
  const bool waits = !is_pinned(target, bytes);
  if (code == cudaSuccess && waits) code = runtime_stream_may_wait(stream);
  if (code != cudaSuccess) return code;
  code = runtime_stream_enqueue(
      stream, (RuntimeOperation){.kind = RUNTIME_COPY, .target = target, .source = source, .bytes = bytes});
  if (waits) runtime_stream_finish(runtime_stream(stream));
  return code;
}

static cudaError_t within(void *target, const void *source, size_t bytes, cudaStream_t stream) {
  const int device = runtime_stream(stream)->device;
  cudaError_t code = check_device(target, bytes, device, "a copy to");
  if (code == cudaSuccess) code = check_device(source, bytes, device, "a copy from");
  if (code != cudaSuccess) return code;
  return runtime_stream_enqueue(
      stream, (RuntimeOperation){.kind = RUNTIME_COPY, .target = target, .source = source, .bytes = bytes});
}

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice: return to_device(target, source, bytes, stream);
    case cudaMemcpyDeviceToHost: return to_host(target, source, bytes, stream);
    case cudaMemcpyDeviceToDevice: return within(target, source, bytes, stream);
    default: return runtime_refuse(cudaErrorInvalidMemcpyDirection, "a copy of kind %d", (int)kind);
  }
}

cudaError_t cudaMemsetAsync(void *target, int byte, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const cudaError_t code = check_device(target, bytes, runtime_stream(stream)->device, "a fill of");
  if (code != cudaSuccess) return code;
  return runtime_stream_enqueue(stream,
                             (RuntimeOperation){.kind = RUNTIME_FILL, .target = target, .byte = byte, .bytes = bytes});
}
