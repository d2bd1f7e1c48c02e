/* Primitives of kernel bodies. One source is compiled as C for the emulator and as CUDA for the GPU. A body does the
 * work of one thread:
 *
 *   CORE_KERNEL_FN void name(const CoreDeviceThread *at, const NameArguments *arguments)
 *
 * It may wait at barriers for the other threads of its group (CoreKernel.group, device.h). A directory lists its
 * kernels in kernels.def; device_entries.inc generates the GPU entries from the list, and kernels.c the host's
 * table. */
#ifndef CORE_DEVICE_KERNEL_H
#define CORE_DEVICE_KERNEL_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* CORE_KERNEL_FN: a function of device code (an ordinary one for the emulator). CORE_DEVICE_FN: a function of host and
 * device. */
#if defined(__CUDACC__)
#define CORE_KERNEL_FN static __device__ inline
#define CORE_DEVICE_FN static __host__ __device__ inline
#else
#define CORE_KERNEL_FN static inline
#define CORE_DEVICE_FN static inline
#endif

/* Unrolls the following loop, so that a local array indexed by its counter can stay in registers. */
#if defined(__CUDACC__)
#define CORE_DEVICE_UNROLL _Pragma("unroll")
#else
#define CORE_DEVICE_UNROLL
#endif

/* A thread of a launch: its block, and its index there, of `blocks` blocks of `threads` threads. */
typedef struct CoreDeviceThread {
  uint32_t block, thread, blocks, threads;
  void *shared;               /* the block's shared memory, of the size given at the launch */
#if !defined(__CUDACC__)
  struct CoreEmulatedGroup *group;
#endif
} CoreDeviceThread;

/* Return the bounds of a grid-stride loop: for (i = first; i < n; i += stride). */
CORE_DEVICE_FN size_t core_device_first(const CoreDeviceThread *at) {
  return (size_t)at->block * at->threads + at->thread;
}
CORE_DEVICE_FN size_t core_device_stride(const CoreDeviceThread *at) { return (size_t)at->blocks * at->threads; }

/* Returns the upper half of a 64-bit product. */
CORE_DEVICE_FN uint64_t core_device_multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ typedef unsigned __int128 Wide;
  return (uint64_t)((Wide)a * b >> 64);
#endif
}

/* Divisor of indices in kernels, prepared on the host: a GPU takes some 20 instructions to divide by a number unknown
 * at compile time, and 60 more where 32 bits may not suffice. An index is multiplied by 2^(63 + shift) / number,
 * rounded up (Granlund and Montgomery, PLDI 1994): exact below 2^63. */
typedef struct CoreDivisor {
  uint64_t factor;
  uint32_t number, shift;
} CoreDivisor;

/* Prepares a divisor. number: 1 to 2^32 - 1; 0, for empty arrays, counts as 1. */
static inline CoreDivisor core_divisor(size_t number) {
  __extension__ typedef unsigned __int128 Wide;
  CoreDivisor by = {0, number < 1 ? 1 : (uint32_t)number, 0};
  if (number >> 32) abort();
  while ((uint64_t)1 << by.shift < by.number) by.shift++;
  by.factor = (uint64_t)((((Wide)1 << (63 + by.shift)) + by.number - 1) / by.number);
  return by;
}

/* Computes i / number and the remainder. */
typedef struct CoreDivided { size_t whole; uint32_t rest; } CoreDivided;
CORE_DEVICE_FN CoreDivided core_divide(size_t i, CoreDivisor by) {
  const size_t whole = core_device_multiply_high(2 * (uint64_t)i, by.factor) >> by.shift;
  const CoreDivided divided = {whole, (uint32_t)i - (uint32_t)whole * by.number};
  return divided;
}

/* Divides indices below 2^32, in a third of the instructions (the paper's Figure 4.1). */
typedef struct CoreDivisor32 { uint32_t number, factor, first, then; } CoreDivisor32;
static inline CoreDivisor32 core_divisor_32(size_t number) {
  const CoreDivisor by = core_divisor(number); /* shift: log2 of the least power of two that is not below the number */
  const uint64_t over = ((uint64_t)1 << by.shift) - by.number;
  const uint32_t first = by.shift < 1 ? by.shift : 1;
  const CoreDivisor32 result = {by.number, (uint32_t)((over << 32) / by.number + 1), first, by.shift - first};
  return result;
}
typedef struct CoreDivided32 { uint32_t whole, rest; } CoreDivided32;
CORE_DEVICE_FN CoreDivided32 core_divide_32(uint32_t i, CoreDivisor32 by) {
  const uint32_t high = (uint32_t)((uint64_t)i * by.factor >> 32), whole = (high + ((i - high) >> by.first)) >> by.then;
  const CoreDivided32 divided = {whole, i - whole * by.number};
  return divided;
}

/* Waits until all threads of the block, or of the thread's group of `group` neighbors, have arrived. Their earlier
 * writes to shared and device memory are then visible to each other. A kernel whose group is the block may also wait
 * for a warp (32); all threads of the block must call that, since the emulator waits for them. */
#if defined(__CUDACC__)
CORE_KERNEL_FN void core_device_barrier(const CoreDeviceThread *at) {
  (void)at;
  __syncthreads();
}
/* Return the mask of `group` lanes, and the lane of the group's first thread in its warp. */
CORE_KERNEL_FN uint32_t core_device_group_mask(unsigned group) {
  return group == 32 ? 0xffffffffu : (1u << group) - 1;
}
CORE_KERNEL_FN unsigned core_device_group_first(const CoreDeviceThread *at, unsigned group) {
  return at->thread % 32 / group * group;
}
CORE_KERNEL_FN void core_device_group_barrier(const CoreDeviceThread *at, unsigned group) {
  __syncwarp(core_device_group_mask(group) << core_device_group_first(at, group));
}
#else
void core_device_barrier(const CoreDeviceThread *at);
void core_device_group_barrier(const CoreDeviceThread *at, unsigned group);
#endif

/* Returns the threads of the group with a true `vote`: bit i is its i-th thread. All of the group must call it. Not a
 * barrier: earlier writes are not yet visible to the others. */
#if defined(__CUDACC__)
CORE_KERNEL_FN uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote) {
  const unsigned first = core_device_group_first(at, group);
  const uint32_t mask = core_device_group_mask(group);
  return __ballot_sync(mask << first, vote) >> first & mask;
}
#else
uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote);
#endif

/* Multiplies tiles on tensor cores (PTX: mma.m16n8k16): c[i stride] += a[i] b for i < count <= CORE_TILES_MAX. Each
 * warp computes its own tiles. All threads of the block must call it, in a kernel whose group is the block. a: 16 x 16
 * bf16, b: 16 x 8 bf16, c: 16 x 8 floats. Thread 4 g + t of the warp holds
 * - of a: columns 2t, 2t+1 of row g, the same of row g+8, then columns 2t+8, 2t+9 of both;
 * - of b: rows 2t, 2t+1, then 2t+8, 2t+9, of column g;
 * - of c: columns 2t, 2t+1 of row g, then of row g+8.
 * A GPU sums the 16 terms in an unspecified order and rounding; the emulator one after the other. */
enum { CORE_TILES_MAX = 4 };
#if defined(__CUDACC__)
CORE_KERNEL_FN void core_device_multiply_tiles(const CoreDeviceThread *at, int count, float (*c)[4], int stride,
                                               uint32_t (*a)[4], const uint32_t *b) {
  (void)at;
#pragma unroll
  for (int i = 0; i < count; i++) {
    float *to = c[i * stride];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[0]), "r"(b[1]));
  }
}
#else
void core_device_multiply_tiles(const CoreDeviceThread *at, int count, float (*c)[4], int stride, uint32_t (*a)[4],
                                const uint32_t *b);
#endif

/* Loads a 16 x 16 tile of bf16 from shared memory (PTX: ldmatrix) in the layout of core_device_multiply_tiles: as a,
 * or, where its rows are columns of b, as b of the first 8 and then of the others. Its rows start at multiples of 16
 * bytes, `row` elements apart. The whole warp must call it. */
CORE_KERNEL_FN void core_device_load_tile(const CoreDeviceThread *at, const uint16_t *tile, size_t row, const int as_b,
                                          uint32_t *loaded) {
  const unsigned lane = at->thread % 32;
#if defined(__CUDACC__)
  const unsigned down = as_b ? lane % 8 + lane / 16 * 8 : lane % 16, right = as_b ? lane / 8 % 2 * 8 : lane / 16 * 8;
  const uint32_t from = (uint32_t)__cvta_generic_to_shared(tile + down * row + right);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3]) : "r"(from) : "memory");
#else
  const uint32_t *upper = (const uint32_t *)(const void *)(tile + lane / 4 * row) + lane % 4, *lower = upper + 4 * row;
  loaded[0] = upper[0];
  loaded[as_b ? 1 : 2] = upper[4];
  loaded[as_b ? 2 : 1] = lower[0];
  loaded[3] = lower[4];
#endif
}

CORE_DEVICE_FN unsigned core_device_count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return (unsigned)__popc(bits);
#else
  return (unsigned)__builtin_popcount(bits);
#endif
}

/* Adds atomically. Integers only: their sum does not depend on the order of threads. */
CORE_KERNEL_FN void core_device_atomic_add(int64_t *counter, int64_t by) {
#if defined(__CUDACC__)
  atomicAdd((unsigned long long *)counter, (unsigned long long)by);
#else
  *counter += by;
#endif
}

/* Exchanges atomically: writes x to *target and returns the old value. */
CORE_KERNEL_FN uint32_t core_device_atomic_exchange(uint32_t *target, uint32_t x) {
#if defined(__CUDACC__)
  return atomicExch(target, x);
#else
  const uint32_t before = *target;
  *target = x;
  return before;
#endif
}

/* Increments atomically and returns the old value. For positions in a list whose order does not matter. */
CORE_KERNEL_FN int64_t core_device_atomic_increment(int64_t *counter) {
#if defined(__CUDACC__)
  return (int64_t)atomicAdd((unsigned long long *)counter, 1ull);
#else
  return (*counter)++;
#endif
}

/* Lowers *minimum to x atomically if x is smaller. */
CORE_KERNEL_FN void core_device_atomic_min(uint64_t *minimum, uint64_t x) {
#if defined(__CUDACC__)
  atomicMin((unsigned long long *)minimum, (unsigned long long)x);
#else
  if (x < *minimum) *minimum = x;
#endif
}

#endif
