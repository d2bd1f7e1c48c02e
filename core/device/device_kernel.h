/* What a kernel's body is written with, in C for the host and in CUDA for the GPU (both read the same text). A body is
 *
 *   CORE_KERNEL_FN void name(const CoreDeviceThread *at, const NameArguments *arguments)
 *
 * and a thread's work; it may wait for the other threads of its group (device.h). Kernels of a folder are listed in its
 * kernels.def, from which device_entries.inc makes the GPU's entries and kernels.c the table for the host. */
#ifndef CORE_DEVICE_KERNEL_H
#define CORE_DEVICE_KERNEL_H
#include <stddef.h>
#include <stdint.h>

/* Device code compiles these as they stand; the host's compiler, as ordinary functions. CORE_DEVICE_FN: for both. */
#if defined(__CUDACC__)
#define CORE_KERNEL_FN static __device__ inline
#define CORE_DEVICE_FN static __host__ __device__ inline
#else
#define CORE_KERNEL_FN static inline
#define CORE_DEVICE_FN static inline
#endif

/* Before a loop whose counter indexes an array of the thread's own: unrolled, the array stands in registers. */
#if defined(__CUDACC__)
#define CORE_DEVICE_UNROLL _Pragma("unroll")
#else
#define CORE_DEVICE_UNROLL
#endif

/* Who a thread is. */
typedef struct CoreDeviceThread {
  uint32_t block, thread, blocks, threads;
  void *shared;               /* the block's, of the size that the launch gave */
#if !defined(__CUDACC__)
  struct CoreEmulatedGroup *group;
#endif
} CoreDeviceThread;

/* The first element that a thread takes, and from one to the next: for (i = first; i < n; i += stride). */
CORE_DEVICE_FN size_t core_device_first(const CoreDeviceThread *at) {
  return (size_t)at->block * at->threads + at->thread;
}
CORE_DEVICE_FN size_t core_device_stride(const CoreDeviceThread *at) { return (size_t)at->blocks * at->threads; }

/* Waits until all threads of the block, or of the thread's group of `group` neighbours, have come here; what each wrote
 * to shared and device memory before is then seen by the others. */
#if defined(__CUDACC__)
CORE_KERNEL_FN void core_device_barrier(const CoreDeviceThread *at) {
  (void)at;
  __syncthreads();
}
/* A group within its warp: the bits of its threads, and which of them is the lowest. */
CORE_KERNEL_FN uint32_t core_device_group_lanes(unsigned group) {
  return group == 32 ? 0xffffffffu : (1u << group) - 1;
}
CORE_KERNEL_FN unsigned core_device_group_first(const CoreDeviceThread *at, unsigned group) {
  return at->thread % 32 / group * group;
}
CORE_KERNEL_FN void core_device_group_barrier(const CoreDeviceThread *at, unsigned group) {
  __syncwarp(core_device_group_lanes(group) << core_device_group_first(at, group));
}
#else
void core_device_barrier(const CoreDeviceThread *at);
void core_device_group_barrier(const CoreDeviceThread *at, unsigned group);
#endif

/* Which threads of the group give a true `vote`, as bits from its first thread up. All of them must come here. No
 * barrier: what they wrote before is not yet seen by the others. */
#if defined(__CUDACC__)
CORE_KERNEL_FN uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote) {
  const unsigned first = core_device_group_first(at, group);
  const uint32_t lanes = core_device_group_lanes(group);
  return __ballot_sync(lanes << first, vote) >> first & lanes;
}
#else
uint32_t core_device_ballot(const CoreDeviceThread *at, unsigned group, int vote);
#endif

/* What tensor cores do: c[i stride] += a[i] b for i < count <= CORE_TILES_MOST, by the 32 threads of a warp. All
 * threads of the block come here, in a kernel whose group is the block. a: 16 x 16 and b: 16 x 8 numbers of bf16, c: 16
 * x 8 floats. Thread 4 g + t of the warp has of an a columns 2t, 2t+1 of row g, of row g+8, then columns 2t+8, 2t+9 of
 * both; of b rows 2t, 2t+1, then 2t+8, 2t+9 of column g; of a c columns 2t, 2t+1 of row g, then of row g+8 (PTX:
 * mma.m16n8k16). A GPU adds the 16 terms in an order and with roundings of its own; the emulator, one after the
 * other. */
enum { CORE_TILES_MOST = 4 };
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

CORE_DEVICE_FN unsigned core_device_count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return (unsigned)__popc(bits);
#else
  return (unsigned)__builtin_popcount(bits);
#endif
}

/* Adds to a number that other threads add to as well. Whole numbers only: their sum does not depend on the order. */
CORE_KERNEL_FN void core_device_count(int64_t *counter, int64_t by) {
#if defined(__CUDACC__)
  atomicAdd((unsigned long long *)counter, (unsigned long long)by);
#else
  *counter += by;
#endif
}

/* Puts x in a place that other threads exchange too, and gives what stood there. */
CORE_KERNEL_FN uint32_t core_device_exchange(uint32_t *place, uint32_t x) {
#if defined(__CUDACC__)
  return atomicExch(place, x);
#else
  const uint32_t before = *place;
  *place = x;
  return before;
#endif
}

/* Adds 1 to a counter and gives what it was: places in a list, whose order nothing may depend on. */
CORE_KERNEL_FN int64_t core_device_take(int64_t *counter) {
#if defined(__CUDACC__)
  return (int64_t)atomicAdd((unsigned long long *)counter, 1ull);
#else
  return (*counter)++;
#endif
}

/* Lowers *least to x where that is smaller. */
CORE_KERNEL_FN void core_device_least(uint64_t *least, uint64_t x) {
#if defined(__CUDACC__)
  atomicMin((unsigned long long *)least, (unsigned long long)x);
#else
  if (x < *least) *least = x;
#endif
}

#endif
