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

/* Unrolls the following loop, so that a local array indexed by its counter can stay in registers; or leaves it rolled,
 * for fewer registers. */
#if defined(__CUDACC__)
#define CORE_DEVICE_UNROLL _Pragma("unroll")
#define CORE_DEVICE_ROLLED _Pragma("unroll 1")
#else
#define CORE_DEVICE_UNROLL
#define CORE_DEVICE_ROLLED
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

/* Layouts of a loaded tile, for core_device_multiply_tiles: its rows are rows of a, or columns of b (the first 8, then
 * the others); TRANSPOSED: its columns are rows of a, or columns of b. */
enum { CORE_TILE_A, CORE_TILE_B, CORE_TILE_A_TRANSPOSED, CORE_TILE_B_TRANSPOSED };

/* Returns the place of element (row, column) of a matrix in shared memory whose rows are swizzled: groups of eight
 * elements are permuted within 128 bytes by the row's index, so that eight rows of one column lie in 32 banks without
 * padding. width: elements of a row, 32 or a multiple of 64. */
CORE_DEVICE_FN uint32_t core_device_swizzled(uint32_t row, uint32_t column, const uint32_t width) {
  return (row * width + column) ^ row / (width < 64 ? 64 / width : 1) % 8 * 8;
}

/* Load a 16 x 16 tile of bf16 from shared memory (PTX: ldmatrix) in one of the layouts above. Its rows, or those of
 * the swizzled matrix whose tile starts at (row, column), both multiples of 8, start at multiples of 16 bytes. stride:
 * elements from one row of the tile to the next. The whole warp must call it. */
#if defined(__CUDACC__)
CORE_KERNEL_FN uint32_t core_device_row_of_lane(const CoreDeviceThread *at, const int layout, uint32_t *column) {
  const uint32_t lane = at->thread % 32;
  const int is_b = layout == CORE_TILE_B || layout == CORE_TILE_A_TRANSPOSED;
  *column = is_b ? lane / 8 % 2 * 8 : lane / 16 * 8;
  return is_b ? lane % 8 + lane / 16 * 8 : lane % 16;
}
CORE_KERNEL_FN void core_device_load_rows(const uint16_t *row, const int layout, uint32_t *loaded) {
  const uint32_t from = (uint32_t)__cvta_generic_to_shared(row);
  if (layout == CORE_TILE_A || layout == CORE_TILE_B)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3]) : "r"(from) : "memory");
}
CORE_KERNEL_FN void core_device_load_tile(const CoreDeviceThread *at, const uint16_t *tile, size_t stride,
                                          const int layout, uint32_t *loaded) {
  uint32_t column;
  const uint32_t row = core_device_row_of_lane(at, layout, &column);
  core_device_load_rows(tile + row * stride + column, layout, loaded);
}
CORE_KERNEL_FN void core_device_load_swizzled(const CoreDeviceThread *at, const uint16_t *matrix, const uint32_t width,
                                              uint32_t row, uint32_t column, const int layout, uint32_t *loaded) {
  uint32_t right;
  const uint32_t down = core_device_row_of_lane(at, layout, &right);
  core_device_load_rows(matrix + core_device_swizzled(row + down, column + right, width), layout, loaded);
}
#else
/* Returns a lane's element (row, column) of each of the four 8 x 8 matrices of a layout; its next element is `down`
 * rows below it and `right` columns to its right. */
typedef struct CoreDevicePairs { uint32_t row[4], column[4], down, right; } CoreDevicePairs;
CORE_KERNEL_FN CoreDevicePairs core_device_pairs_of_lane(const CoreDeviceThread *at, const int layout) {
  const int is_b = layout == CORE_TILE_B || layout == CORE_TILE_A_TRANSPOSED, is_transposed = layout > CORE_TILE_B;
  const uint32_t g = at->thread % 32 / 4, two = at->thread % 4 * 2;
  CoreDevicePairs pairs = {.down = (uint32_t)is_transposed, .right = (uint32_t)!is_transposed};
  for (uint32_t i = 0; i < 4; i++) {
    pairs.row[i] = (is_b ? i / 2 : i % 2) * 8 + (is_transposed ? two : g);
    pairs.column[i] = (is_b ? i % 2 : i / 2) * 8 + (is_transposed ? g : two);
  }
  return pairs;
}
CORE_KERNEL_FN void core_device_load_tile(const CoreDeviceThread *at, const uint16_t *tile, size_t stride,
                                          const int layout, uint32_t *loaded) {
  const CoreDevicePairs p = core_device_pairs_of_lane(at, layout);
  for (int i = 0; i < 4; i++)
    loaded[i] = tile[p.row[i] * stride + p.column[i]] |
                (uint32_t)tile[(p.row[i] + p.down) * stride + p.column[i] + p.right] << 16;
}
CORE_KERNEL_FN void core_device_load_swizzled(const CoreDeviceThread *at, const uint16_t *matrix, const uint32_t width,
                                              uint32_t row, uint32_t column, const int layout, uint32_t *loaded) {
  const CoreDevicePairs p = core_device_pairs_of_lane(at, layout);
  for (int i = 0; i < 4; i++) {
    const uint32_t r = row + p.row[i], c = column + p.column[i];
    loaded[i] = matrix[core_device_swizzled(r, c, width)] |
                (uint32_t)matrix[core_device_swizzled(r + p.down, c + p.right, width)] << 16;
  }
}
#endif

/* Copy 16 bytes from device memory to shared memory asynchronously (PTX: cp.async), both at multiples of 16 bytes.
 * is_present 0: the 16 bytes become 0, and `from` is not read. A commit closes a group of the thread's copies; a wait
 * returns when at most `pending` (0 to 2) of its latest groups are under way. Copies of the earlier groups are then
 * visible to the thread, and to the others after the next barrier. Until then the 16 bytes are undefined, so a barrier
 * must also precede the copy if other threads use them. Only in a kernel whose group is the block; all copies must be
 * waited for. */
#if defined(__CUDACC__)
CORE_KERNEL_FN void core_device_copy_async(const CoreDeviceThread *at, void *to, const void *from, int is_present) {
  (void)at;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
      :: "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)),
         "r"(is_present ? 16u : 0u) : "memory");
}
CORE_KERNEL_FN void core_device_copy_commit(const CoreDeviceThread *at) {
  (void)at;
  asm volatile("cp.async.commit_group;" ::: "memory");
}
CORE_KERNEL_FN void core_device_copy_wait(const CoreDeviceThread *at, const int pending) {
  (void)at;
  if (pending == 0) asm volatile("cp.async.wait_group 0;" ::: "memory");
  else if (pending == 1) asm volatile("cp.async.wait_group 1;" ::: "memory");
  else asm volatile("cp.async.wait_group 2;" ::: "memory");
}
#else
void core_device_copy_async(const CoreDeviceThread *at, void *to, const void *from, int is_present);
void core_device_copy_commit(const CoreDeviceThread *at);
void core_device_copy_wait(const CoreDeviceThread *at, const int pending);
#endif

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
