/* Runtime of the translator's C: PTX instructions as C functions, memory with the checks of a GPU or of
 * compute-sanitizer, and the emulator's services. Included by generated C only, which is linked with machine.c into one
 * library.
 *
 * Addresses. Global, generic and local addresses are host addresses. An address of shared memory is an offset in bytes
 * from the start of the block's, as on a GPU. Parameters are stored in the emulator's copy of a launch's arguments.
 * Each access is checked for alignment, as on a GPU, and for bounds: an allocation of device memory, the block's shared
 * memory, the thread's local memory, or the parameters. Accesses to memory shared by threads can be checked for races
 * (races.c). */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/device/emulated_code.h"

typedef bool PTX_PRED;
typedef uint8_t PTX_U8;
typedef int8_t PTX_S8;
typedef uint16_t PTX_U16;
typedef int16_t PTX_S16;
typedef uint32_t PTX_U32;
typedef int32_t PTX_S32;
typedef uint64_t PTX_U64;
typedef int64_t PTX_S64;
typedef float PTX_F32;
typedef double PTX_F64;

/* Content of uninitialized registers and local memory. */
#define PTX_RUBBISH 0xa5a5a5a5a5a5a5a5u

/* ---- the instructions -------------------------------------------------------------------------------------------- */

static inline uint32_t ptx_bits_f32(float x) { uint32_t bits; memcpy(&bits, &x, sizeof bits); return bits; }
static inline uint64_t ptx_bits_f64(double x) { uint64_t bits; memcpy(&bits, &x, sizeof bits); return bits; }
static inline float ptx_f32_of(uint32_t bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static inline double ptx_f64_of(uint64_t bits) { double x; memcpy(&x, &bits, sizeof x); return x; }

static inline float ptx_number(float x) { return x == x ? x : ptx_f32_of(0x7fffffffu); }

/* Rounds to the nearest bf16, ties to even; every NaN becomes 0x7fff. ptx_bf16_pair puts `low` in the lower half. */
static inline uint32_t ptx_bf16(float x) {
  const uint32_t bits = ptx_bits_f32(x);
  return x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff;
}
static inline uint32_t ptx_bf16_pair(float high, float low) { return ptx_bf16(high) << 16 | ptx_bf16(low); }

static inline int32_t ptx_clamp_s32(double x, int32_t nan) {
  return x != x ? nan : x <= INT32_MIN ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int32_t)x;
}
static inline uint32_t ptx_clamp_u32(double x, uint32_t nan) {
  return x != x ? nan : x <= 0 ? 0 : x >= UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}
static inline int64_t ptx_clamp_s64(double x) {
  return x != x || x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

/* Selects four of eight bytes, each by four bits of `selector`, whose highest bit replicates the byte's sign. */
static inline uint32_t ptx_permute(uint64_t bytes, uint32_t selector) {
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned choice = selector >> 4 * i & 15;
    uint32_t byte = bytes >> 8 * (choice & 7) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/* Replaces the bits of `base` from `first` up by the lowest `bits` bits of `field`, truncated at `width`. */
static inline uint64_t ptx_insert(uint64_t field, uint64_t base, unsigned first, unsigned bits, unsigned width) {
  if (first >= width || bits == 0) return base;
  const uint64_t mask = (bits > 63 ? UINT64_MAX : ((uint64_t)1 << bits) - 1) << first;
  return (base & ~mask) | (field << first & mask);
}

/* ex2.approx.ftz.f32 has a relative error of 2^-22.5 (PTX ISA); here it is rounded correctly; denormals flush. */
static inline float ptx_approximate_power(float x) {
  if (fabsf(x) < 0x1p-126f) x = 0;
  const float power = (float)exp2((double)x);
  return power < 0x1p-126f ? 0.0f : ptx_number(power);
}

/* tanh.approx.f32 has a relative error of 2^-11: here it is rounded to 10 bits of fraction. rcp.approx.ftz.f32 has an
 * error of 1 ulp: here it is rounded correctly; denormals flush. */
static inline float ptx_approximate_tanh(float x) {
  const float exact = tanhf(x);
  return fabsf(exact) >= 0x1p-126f ? ptx_f32_of((ptx_bits_f32(exact) + 0x1000) & 0xffffe000) : ptx_number(exact);
}

static inline float ptx_approximate_inverse_f32(float x) {
  const float inverse = 1.0f / (fabsf(x) < 0x1p-126f ? copysignf(0, x) : x);
  return ptx_number(fabsf(inverse) < 0x1p-126f ? copysignf(0, inverse) : inverse);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read the upper 32 bits only and return as many; denormals are zero. Here
 * these are the upper bits of the exact value. PTX_APPROXIMATE is added to the last of them, to find dependences. */
#ifndef PTX_APPROXIMATE
#define PTX_APPROXIMATE 0
#endif
static inline double ptx_upper_half(double x) { return ptx_f64_of(ptx_bits_f64(x) & 0xffffffff00000000u); }
static inline double ptx_approximated(double exact) {
  if (!(fabs(exact) < INFINITY)) return exact;
  if (fabs(exact) < 0x1p-1022) return copysign(0.0, exact);
  return ptx_f64_of((ptx_bits_f64(exact) & 0xffffffff00000000u) + ((uint64_t)PTX_APPROXIMATE << 32));
}
static inline double ptx_flushed(double x) { return fabs(x) < 0x1p-1022 ? copysign(0.0, x) : ptx_upper_half(x); }
static inline double ptx_approximate_inverse(double x) { return ptx_approximated(1.0 / ptx_flushed(x)); }
static inline double ptx_approximate_inverse_root(double x) { return ptx_approximated(1.0 / sqrt(ptx_flushed(x))); }

#define PTX1(name, R, A, value) static inline PTX_##R ptx_##name(PTX_##A a) { return (PTX_##R)(value); }
#define PTX2(name, R, A, B, value) static inline PTX_##R ptx_##name(PTX_##A a, PTX_##B b) { return (PTX_##R)(value); }
#define PTX3(name, R, A, B, C, value)                                          \
  static inline PTX_##R ptx_##name(PTX_##A a, PTX_##B b, PTX_##C c) { return (PTX_##R)(value); }
#define PTX4(name, R, A, B, C, D, value)                                       \
  static inline PTX_##R ptx_##name(PTX_##A a, PTX_##B b, PTX_##C c, PTX_##D d) { return (PTX_##R)(value); }
/* With two sources c is unused. */
#define PTX_WITH_CARRY(name, sources, writes, sum)                                              \
  static inline uint32_t ptx_##name(uint32_t a, uint32_t b, uint32_t c, uint32_t *flag) {       \
    const uint32_t carry = *flag;                                                               \
    const uint64_t wide = (sum);                                                                \
    if (writes) *flag = (uint32_t)(wide >> 32 & 1);                                             \
    return (void)carry, (void)c, (uint32_t)wide;                                                \
  }
#define PTX_ATOM(name, T, after)                                               \
  static inline PTX_##T ptx_##name(uint64_t address, PTX_##T b) {              \
    PTX_##T a, changed;                                                        \
    memcpy(&a, (const void *)(uintptr_t)address, sizeof a);                    \
    changed = (PTX_##T)(after);                                                \
    memcpy((void *)(uintptr_t)address, &changed, sizeof changed);              \
    return a;                                                                  \
  }
#include "tests/ptx/instructions.def"
#undef PTX1
#undef PTX2
#undef PTX3
#undef PTX4
#undef PTX_WITH_CARRY
#undef PTX_ATOM

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* An array of the module. */
typedef struct PtxArray { const unsigned char *first, *end; } PtxArray;
/* Allocation of the last access to global memory. */
typedef struct PtxRange { uint64_t first, end; } PtxRange;
extern PtxRange ptx_recent __attribute__((visibility("hidden")));
/* Arguments of the running kernel, which it may also read through generic addresses. */
extern PtxRange ptx_arguments __attribute__((visibility("hidden")));
extern const CoreEmulatedServices *ptx_services __attribute__((visibility("hidden")));

/* Prints the instruction's function, its line in the PTX file and the error, and aborts. */
__attribute__((visibility("hidden"), noreturn, cold))
void ptx_fail(const char *function, const char *file, int line, const char *what, uint64_t address, unsigned bytes);
/* Appends the name of a kernel that runs for the first time to the file named by PTX_RAN, if set. */
__attribute__((visibility("hidden"), cold)) void ptx_note(const char *kernel);
/* Makes the allocation that contains `bytes` bytes at `address` the recent one; aborts if there is none. */
__attribute__((visibility("hidden"), noinline, cold))
void ptx_find(const char *function, const char *file, int line, uint64_t address, unsigned bytes, bool is_generic);
/* Aborts unless the address is in a stack, above the calling function's local memory. */
__attribute__((visibility("hidden"), noinline, cold))
void ptx_check_stack(const char *function, const char *file, int line, uint64_t address, unsigned bytes);
/* Returns the number of threads in the group with this mask; aborts unless it is the thread's own group. */
__attribute__((visibility("hidden")))
unsigned ptx_team(const CoreDeviceThread *at, uint32_t mask, const char *function, const char *file, int line);

#define PTX_HERE const char *function, const char *file, int line
#define PTX_NOW __func__, __FILE__, __LINE__

/* Each returns the host address of `bytes` bytes at an address of its space. */
static inline uint64_t ptx_global(uint64_t address, unsigned bytes, PTX_HERE) {
  if (address & (bytes - 1)) ptx_fail(function, file, line, "a misaligned access to global memory", address, bytes);
  if (address < ptx_recent.first || address + bytes > ptx_recent.end)
    ptx_find(function, file, line, address, bytes, false);
  return address;
}
static inline uint64_t ptx_generic(uint64_t address, unsigned bytes, PTX_HERE) {
  if (address & (bytes - 1)) ptx_fail(function, file, line, "a misaligned access", address, bytes);
  if (address < ptx_recent.first || address + bytes > ptx_recent.end)
    ptx_find(function, file, line, address, bytes, true);
  return address;
}
static inline uint64_t ptx_shared(const CoreDeviceThread *at, uint64_t address, unsigned bytes, PTX_HERE) {
  if (address & (bytes - 1)) ptx_fail(function, file, line, "a misaligned access to shared memory", address, bytes);
  if (address + bytes > *ptx_services->shared_bytes)
    ptx_fail(function, file, line, "an access beyond the block's shared memory", address, bytes);
  return (uint64_t)(uintptr_t)at->shared + address;
}
/* Checks an access to local memory: the function's own at `start`, or a caller's. */
static inline uint64_t ptx_local(const void *start, size_t size, uint64_t address, unsigned bytes, PTX_HERE) {
  const uint64_t offset = address - (uint64_t)(uintptr_t)start;
  if (address & (bytes - 1)) ptx_fail(function, file, line, "a misaligned access to local memory", address, bytes);
  if (offset > size || bytes > size - offset) ptx_check_stack(function, file, line, address, bytes);
  return address;
}
/* Checks an access to a function's parameters. Alignment is relative to `start`, which is aligned as PTX requires. */
static inline uint64_t ptx_within(const void *start, size_t size, uint64_t address, unsigned bytes, PTX_HERE) {
  const uint64_t offset = address - (uint64_t)(uintptr_t)start;
  if (offset & (bytes - 1)) ptx_fail(function, file, line, "a misaligned access to a parameter", offset, bytes);
  if (offset > size || bytes > size - offset)
    ptx_fail(function, file, line, "an access beyond a parameter", offset, bytes);
  return address;
}

/* ---- races (races.c) --------------------------------------------------------------------------------------------- */

typedef enum PtxAccess { PTX_READ, PTX_WRITE, PTX_ATOMIC } PtxAccess;
extern bool ptx_watches __attribute__((visibility("hidden")));
/* Starts watching if PTX_RACES is set. */
__attribute__((visibility("hidden"))) void ptx_watch_open(void);
/* Records that a thread starts the kernel. */
__attribute__((visibility("hidden"))) void ptx_watch_begin(const CoreDeviceThread *at, const char *kernel);
/* Records that a thread has passed a barrier of its group of `group` threads; 0: of its block. */
__attribute__((visibility("hidden"))) void ptx_watch_barrier(const CoreDeviceThread *at, unsigned group, int line);
__attribute__((visibility("hidden"), cold))
void ptx_watch(const CoreDeviceThread *at, uint64_t address, unsigned bytes, PtxAccess kind, PTX_HERE);

static inline uint64_t ptx_shared_by(const CoreDeviceThread *at, uint64_t address, unsigned bytes, PtxAccess kind,
                                     PTX_HERE) {
  if (ptx_watches) ptx_watch(at, address, bytes, kind, function, file, line);
  return address;
}
/* Ignores a write that changes nothing when looking for races. */
#define PTX_STORE_SHARED(T, address, value)                                             \
  do {                                                                                  \
    const PTX_##T stored = (value);                                                     \
    if (ptx_watches && memcmp((const void *)(uintptr_t)(address), &stored, sizeof stored) != 0) \
      ptx_watch(at, (address), sizeof stored, PTX_WRITE, PTX_NOW);                      \
    ptx_store_##T((address), stored);                                                   \
  } while (0)

#define PTX_MEMORY(T, CT)                                                     \
  static inline CT ptx_load_##T(uint64_t address) {                           \
    CT x;                                                                     \
    memcpy(&x, (const void *)(uintptr_t)address, sizeof x);                   \
    return x;                                                                 \
  }                                                                           \
  static inline void ptx_store_##T(uint64_t address, CT x) { memcpy((void *)(uintptr_t)address, &x, sizeof x); }
PTX_MEMORY(U8, uint8_t) PTX_MEMORY(S8, int8_t) PTX_MEMORY(U16, uint16_t) PTX_MEMORY(S16, int16_t)
PTX_MEMORY(U32, uint32_t) PTX_MEMORY(S32, int32_t) PTX_MEMORY(U64, uint64_t) PTX_MEMORY(S64, int64_t)
PTX_MEMORY(F32, float) PTX_MEMORY(F64, double)
#undef PTX_MEMORY

/* ---- the other threads ------------------------------------------------------------------------------------------- */

static inline void ptx_bar_sync(const CoreDeviceThread *at) {
  ptx_services->barrier(at);
  if (ptx_watches) ptx_watch_barrier(at, 0, 0);
}
static inline void ptx_bar_warp_sync(const CoreDeviceThread *at, uint32_t mask, PTX_HERE) {
  const unsigned group = ptx_team(at, mask, function, file, line);
  ptx_services->group_barrier(at, group);
  if (ptx_watches) ptx_watch_barrier(at, group, line);
}
/* Returns bits indexed by lane of the warp; the emulator's are indexed from the group's first thread. */
static inline uint32_t ptx_ballot(const CoreDeviceThread *at, bool vote, uint32_t mask, PTX_HERE) {
  const unsigned group = ptx_team(at, mask, function, file, line);
  return ptx_services->ballot(at, group, vote) << (at->thread % 32 / group * group);
}

/* ---- tensor cores and asynchronous copies ------------------------------------------------------------------------ */

/* ldmatrix.m8n8.x4: a lane's address is that of row lane % 8 of matrix lane / 8. Lane 4 g + t loads elements 2 t and
 * 2 t + 1 of row g of each matrix; transposed, element g of rows 2 t and 2 t + 1. */
static inline void ptx_load_matrices(const CoreDeviceThread *at, uint64_t own, bool is_transposed, uint32_t loaded[4],
                                     PTX_HERE) {
  const unsigned g = at->thread % 32 / 4, t = at->thread % 4;
  const char *all = ptx_services->exchange(at, &own, sizeof own);
  for (unsigned i = 0; i < 4; i++) {
    uint16_t element[2];
    for (unsigned k = 0; k < 2; k++) {
      uint64_t row;
      memcpy(&row, all + (8 * i + (is_transposed ? 2 * t + k : g)) * CORE_EMULATED_EXCHANGE, sizeof row);
      const uint64_t address = row + 2 * (is_transposed ? g : 2 * t + k);
      if (ptx_watches) ptx_watch(at, address & ~(uint64_t)3, 4, PTX_READ, function, file, line);
      memcpy(&element[k], (const void *)(uintptr_t)address, sizeof element[k]);
    }
    loaded[i] = element[0] | (uint32_t)element[1] << 16;
  }
}

/* cp.async: the copy writes its 16 bytes at any time until it is waited for; races.c compares both ends. */
static inline void ptx_copy_async(const CoreDeviceThread *at, uint64_t to, uint64_t from, uint32_t bytes, PTX_HERE) {
  if (bytes != 0 && bytes != 16) ptx_fail(function, file, line, "a copy of a part of 16 bytes", from, bytes);
  if (bytes) from = ptx_shared_by(at, ptx_global(from, 16, function, file, line), 16, PTX_READ, function, file, line);
  ptx_shared_by(at, to, 16, PTX_WRITE, function, file, line);
  ptx_services->copy_async(at, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes != 0);
}
/* Waits for copies and records that they have been written. */
__attribute__((visibility("hidden")))
void ptx_copy_wait(const CoreDeviceThread *at, int pending, PTX_HERE);

#endif
