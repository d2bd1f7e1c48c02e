/* Test cases of the translator: short PTX fragments with the results that the PTX ISA defines.
 *   cases write FILE     writes a PTX kernel for each
 *   cases run            runs them on the emulator, with CORE_DEVICE_CODE naming the library built from that file
 *   cases fault NAME     runs a kernel of `faults` that must end the program with a message (test_ptx.sh)
 *   cases race NAME      runs a kernel of `races` with two blocks of 64 threads, for PTX_RACES
 *   cases tile NAME ORDER   runs a kernel of `tiles` with 64 threads in an order (core/device/device.h) and prints in
 *                        how many the result is wrong */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/error.h"

/* The kernel has the bits a, b, c of `in` in %rd0 to %rd2 and %fd0 to %fd2, their lower halves in %r0 to %r2 and %f0 to
 * %f2, their lowest 16 bits in %rs0 to %rs2; %p0 is a != 0. Its result is in register 3 of the kind `result`. */
typedef struct Case {
  const char *code;
  enum { H, R, RD, F, FD, P, NOTHING } result;
  uint64_t in[3], expected;
} Case;

#define NAN32 0x7fffffff          /* result of float32 arithmetic */
#define NAN64 0x7ff8000000000000
#define ONE 0x3ff0000000000000    /* float64: 1 */

static const Case cases[] = {
  /* whole numbers wrap around */
  {"add.s32 %r3, %r0, %r1;", R, {0x7fffffff, 1}, 0x80000000},
  {"sub.s64 %rd3, %rd0, %rd1;", RD, {0, 1}, UINT64_MAX},
  {"add.s16 %rs3, %rs0, %rs1;", H, {0xffff, 2}, 1},
  {"mul.lo.s32 %r3, %r0, %r1;", R, {0x10001, 0x10001}, 0x20001},
  {"mul.lo.s64 %rd3, %rd0, 3528531795;", RD, {0x100000001}, 0xd2511f53d2511f53},
  {"mul.wide.u32 %rd3, %r0, -766435501;", RD, {2}, 0x1a4a23ea6},
  {"mul.wide.s32 %rd3, %r0, %r1;", RD, {0xffffffff, 5}, (uint64_t)-5},
  {"mul.wide.u16 %r3, %rs0, %rs1;", R, {0xffff, 0xffff}, 0xfffe0001},
  {"mul.hi.u32 %r3, %r0, %r1;", R, {0xffffffff, 0xffffffff}, 0xfffffffe},
  {"mul.hi.s64 %rd3, %rd0, %rd1;", RD, {UINT64_MAX, 1}, UINT64_MAX},
  {"mad.lo.s32 %r3, %r0, %r1, %r2;", R, {0xffffffff, 3, 4}, 1},
  {"div.s32 %r3, %r0, %r1;", R, {0x80000000, 0xffffffff}, 0x80000000},
  {"rem.s32 %r3, %r0, %r1;", R, {(uint32_t)-7, 3}, (uint32_t)-1},
  {"div.s32 %r3, %r0, %r1;", R, {(uint32_t)-7, 3}, (uint32_t)-2},
  {"min.s64 %rd3, %rd0, %rd1;", RD, {UINT64_MAX, 0}, UINT64_MAX},
  {"min.u64 %rd3, %rd0, %rd1;", RD, {UINT64_MAX, 0}, 0},
  {"abs.s32 %r3, %r0;", R, {0x80000000}, 0x80000000},
  {"neg.s64 %rd3, %rd0;", RD, {1}, UINT64_MAX},
  /* carries: 64 bits of 32, borrows, and a product of 64 bits as __umul64hi's inner step has it */
  {"add.cc.u32 %r2, %r0, %r1;\naddc.u32 %r3, 5, 0;", R, {0xffffffff, 1}, 6},
  {"add.cc.u32 %r2, %r0, %r1;\naddc.u32 %r3, 5, 0;", R, {0xfffffffe, 1}, 5},
  {"add.cc.u32 %r2, %r0, %r1;\naddc.cc.u32 %r2, -1, 0;\naddc.u32 %r3, 0, 0;", R, {0xffffffff, 1}, 1},
  {"add.cc.u32 %r2, %r0, %r1;\nadd.s32 %r2, -1, 1;\naddc.u32 %r3, 0, 0;", R, {0xffffffff, 1},
   1}, /* plain instructions keep the flag */
  {"sub.cc.u32 %r2, %r0, %r1;\nsubc.u32 %r3, 7, 0;", R, {0, 1}, 6},
  {"sub.cc.u32 %r2, %r0, %r1;\nsubc.cc.u32 %r2, 0, 0;\nsubc.u32 %r3, 7, 0;", R, {1, 1}, 7},
  {"mad.lo.cc.u32 %r2, %r0, %r1, %r2;\nmadc.hi.u32 %r3, %r0, %r1, 0;", R,
   {0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff},
  {"mad.lo.cc.u32 %r3, %r0, %r1, %r2;", R, {0xffffffff, 0xffffffff, 2}, 3},
  {"mad.lo.cc.u32 %r2, -1, 1, 1;\nmadc.hi.cc.u32 %r2, %r0, %r1, %r0;\naddc.u32 %r3, 0, 0;", R,
   {0xffffffff, 0xffffffff}, 1},
  {"mad.lo.cc.u32 %r2, -1, 1, 1;\nmadc.lo.cc.u32 %r3, %r0, %r1, 0;", R, {3, 5}, 16},
  /* shifts by the width or more, undefined in C and modulo the width on CPUs */
  {"shl.b32 %r3, %r0, %r1;", R, {1, 31}, 0x80000000},
  {"shl.b32 %r3, %r0, %r1;", R, {1, 32}, 0},
  {"shl.b32 %r3, %r0, %r1;", R, {1, 0xffffffff}, 0},
  {"shr.u32 %r3, %r0, %r1;", R, {0x80000000, 32}, 0},
  {"shr.s32 %r3, %r0, %r1;", R, {0x80000000, 40}, 0xffffffff},
  {"shr.s32 %r3, %r0, %r1;", R, {0x40000000, 40}, 0},
  {"shl.b64 %rd3, %rd0, %r1;", RD, {1, 64}, 0},
  {"shr.s64 %rd3, %rd0, %r1;", RD, {UINT64_MAX << 63, 99}, UINT64_MAX},
  {"shl.b16 %rs3, %rs0, %r1;", H, {0xffff, 15}, 0x8000},
  {"shl.b16 %rs3, %rs0, %r1;", H, {0xffff, 16}, 0},
  {"shr.u16 %rs3, %rs0, %r1;", H, {0x8000, 15}, 1},
  /* bits */
  {"prmt.b32 %r3, %r0, %r1, 30212;", R, {0x33221100, 0x77665544}, 0x77660044},  /* 0x7604 */
  {"prmt.b32 %r3, %r0, %r1, 12816;", R, {0x33221100, 0x77665544}, 0x33221100},  /* 0x3210 */
  {"prmt.b32 %r3, %r0, %r1, %r2;", R, {0x00008000, 0, 0x0091}, 0x0000ff80},
  {"prmt.b32 %r3, %r0, %r1, %r2;", R, {0x7f008000, 0xff, 0x8bc9}, 0x0000ffff},  /* signs of 7f, ff, 80 */
  {"shf.l.wrap.b32 %r3, %r0, %r1, 4;", R, {0xa0000000, 0x12345678}, 0x2345678a},
  {"shf.l.wrap.b32 %r3, %r0, %r1, %r2;", R, {0xa0000000, 0x12345678, 32}, 0x12345678}, /* 32 counts as 0 */
  {"bfi.b32 %r3, %r0, %r1, 1, 31;", R, {0xffffffff, 1}, 0xffffffff},
  {"bfi.b32 %r3, %r0, %r1, 8, 4;", R, {0xff, 0}, 0xf00},
  {"bfi.b32 %r3, %r0, %r1, 28, 8;", R, {0xff, 5}, 0xf0000005},
  {"bfi.b32 %r3, %r0, %r1, 8, 0;", R, {0xff, 5}, 5},
  {"bfi.b32 %r3, %r0, %r1, 32, 4;", R, {0xff, 5}, 5},
  {"bfi.b64 %rd3, %rd0, %rd1, 32, 32;", RD, {0xdeadbeef, 0x12345678}, 0xdeadbeef12345678},
  {"clz.b64 %r3, %rd0;", R, {0}, 64},
  {"clz.b64 %r3, %rd0;", R, {1}, 63},
  {"clz.b32 %r3, %r0;", R, {0}, 32},
  {"popc.b32 %r3, %r0;", R, {0xf0f0f0f1}, 17},
  {"not.b16 %rs3, %rs0;", H, {1}, 0xfffe},
  {"xor.pred %p3, %p0, -1;", P, {1}, 0},
  {"mov.pred %p3, -1;", P, {0}, 1},
  {"setp.eq.s32 %p1, %r1, 4;\nnot.pred %p2, %p0;\nand.pred %p3, %p1, %p2;", P, {0, 4}, 1},
  {"mov.b64 %rd3, {%r0, %r1};", RD, {0x11111111, 0x22222222}, 0x2222222211111111},
  {"mov.b64 {%r2, %r3}, %rd0;", R, {0x2222222211111111}, 0x22222222},
  {"mov.b64 {%r3, %r2}, %fd0;", R, {ONE + 7}, 7},
  {"{ .reg .b32 %temp;\nmov.b64 {%temp, %r3}, %fd0; }", R, {ONE + 7}, 0x3ff00000},
  {"mov.b32 %r3, {%rs0, %rs1};", R, {0x1111, 0x2222}, 0x22221111},
  {"mov.b32 {%rs2, %rs3}, %r0;", H, {0x22221111}, 0x2222},
  {"mov.b32 %r3, %f0;", R, {0x7fa00001}, 0x7fa00001},     /* a signaling NaN is moved unchanged */
  {"mov.f64 %fd3, 0d3DF0000000000000;", FD, {0}, 0x3df0000000000000},
  {"selp.b16 %rs3, %rs1, -1, %p0;", H, {0, 5}, 0xffff},
  {"selp.f32 %f3, %f1, 0f3F800000, %p0;", F, {1, 0x40000000}, 0x40000000},
  /* real numbers: rounded once, denormals kept, every NaN of float32 one */
  {"add.rn.f32 %f3, %f0, %f1;", F, {0x3f800000, 0x33800000}, 0x3f800000},       /* 1 + 2^-24: to even */
  {"add.rn.f32 %f3, %f0, %f1;", F, {0x3f800001, 0x33800000}, 0x3f800002},
  {"mul.rn.f32 %f3, %f0, %f1;", F, {0x00800000, 0x3f000000}, 0x00400000},
  {"mul.rn.f32 %f2, %f0, %f0;\nadd.rn.f32 %f3, %f2, %f1;", F, {0x3f800001, 0xbf800002}, 0}, /* not contracted */
  {"fma.rn.f32 %f3, %f0, %f0, %f1;", F, {0x3f800001, 0xbf800002}, 0x28800000},
  {"fma.rn.f64 %fd3, %fd0, %fd0, %fd1;", FD, {ONE + 1, 0xbff0000000000002}, 0x3970000000000000},
  {"mul.rn.f64 %fd2, %fd0, %fd0;\nadd.rn.f64 %fd3, %fd2, %fd1;", FD, {ONE + 1, 0xbff0000000000002}, 0},
  {"div.rn.f32 %f3, %f0, %f1;", F, {0x3f800000, 0x40400000}, 0x3eaaaaab},
  {"div.rn.f32 %f3, %f0, %f1;", F, {0, 0}, NAN32},
  {"div.rn.f32 %f3, %f0, %f1;", F, {0x3f800000, 0x80000000}, 0xff800000},
  {"rcp.rn.f32 %f3, %f0;", F, {0x40400000}, 0x3eaaaaab},
  {"sqrt.rn.f32 %f3, %f0;", F, {0x40000000}, 0x3fb504f3},
  {"sqrt.rn.f32 %f3, %f0;", F, {0x80000000}, 0x80000000},
  {"sqrt.rn.f32 %f3, %f0;", F, {0xbf800000}, NAN32},
  {"add.rn.f32 %f3, %f0, %f1;", F, {0xffc12345, 0x3f800000}, NAN32},
  {"neg.f32 %f3, %f0;", F, {0}, 0x80000000},
  {"copysign.f64 %fd3, %fd0, %fd1;", FD, {0x8000000000000000, ONE}, 0xbff0000000000000},
  {"min.f32 %f3, %f0, %f1;", F, {0x7fc00000, 0x3f800000}, 0x3f800000},
  {"max.f32 %f3, %f0, %f1;", F, {0x3f800000, 0xffc00000}, 0x3f800000},
  {"max.f32 %f3, %f0, %f1;", F, {0x7fc00000, 0xffc00000}, NAN32},
  {"min.f32 %f3, %f0, %f1;", F, {0, 0x80000000}, 0x80000000},
  {"max.f32 %f3, %f0, %f1;", F, {0x80000000, 0}, 0},
  {"max.f64 %fd3, %fd0, %fd1;", FD, {NAN64, 0x8000000000000000}, 0x8000000000000000},
  {"min.f64 %fd3, %fd0, %fd1;", FD, {ONE, 0xbff0000000000000}, 0xbff0000000000000},
  /* comparisons with NaN: ordered ones false, unordered (u) ones true */
  {"setp.eq.f32 %p3, %f0, %f1;", P, {0x7fc00000, 0x7fc00000}, 0},
  {"setp.ne.f32 %p3, %f0, %f1;", P, {0x7fc00000, 0}, 0},
  {"setp.neu.f32 %p3, %f0, %f1;", P, {0x7fc00000, 0}, 1},
  {"setp.equ.f32 %p3, %f0, %f1;", P, {0x7fc00000, 0}, 1},
  {"setp.lt.f32 %p3, %f0, %f1;", P, {0x7fc00000, 0}, 0},
  {"setp.ltu.f64 %p3, %fd0, %fd1;", P, {NAN64, 0}, 1},
  {"setp.geu.f32 %p3, %f0, %f1;", P, {0, 0x7fc00000}, 1},
  {"setp.geu.f32 %p3, %f0, %f1;", P, {0, 0x3f800000}, 0},
  {"setp.leu.f64 %p3, %fd0, %fd1;", P, {ONE, 0}, 0},
  {"setp.gtu.f32 %p3, %f0, %f1;", P, {0x80000000, 0}, 0},
  {"setp.num.f32 %p3, %f0, %f0;", P, {0x7fc00000}, 0},
  {"setp.nan.f32 %p3, %f0, %f1;", P, {0, 0x7fc00000}, 1},
  {"setp.lt.s32 %p3, %r0, %r1;", P, {0xffffffff, 0}, 1},
  {"setp.lt.u32 %p3, %r0, %r1;", P, {0xffffffff, 0}, 0},
  {"setp.gt.u16 %p3, %rs0, %rs1;", P, {0xffff, 1}, 1},
  {"setp.lt.s16 %p3, %rs0, %rs1;", P, {0xffff, 1}, 1},
  {"setp.ge.s64 %p3, %rd0, %rd1;", P, {UINT64_MAX, 0}, 0},
  /* conversions */
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {0x4004000000000000}, 2},                    /* 2.5 */
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {0x400c000000000000}, 4},                    /* 3.5 */
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {0xc004000000000000}, (uint32_t)-2},
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {0x41e0000000000000}, 0x7fffffff},           /* 2^31 */
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {0xfff0000000000000}, 0x80000000},
  {"cvt.rni.s32.f64 %r3, %fd0;", R, {NAN64}, 0x80000000},
  {"cvt.rzi.s32.f32 %r3, %f0;", R, {0x7fc00000}, 0},
  {"cvt.rzi.s32.f32 %r3, %f0;", R, {0xbfffffff}, (uint32_t)-1},
  {"cvt.rzi.s32.f32 %r3, %f0;", R, {0x4f000000}, 0x7fffffff},                    /* 2^31 */
  {"cvt.rzi.u32.f32 %r3, %f0;", R, {0xbf800000}, 0},
  {"cvt.rzi.u32.f32 %r3, %f0;", R, {0x4f7fffff}, 0xffffff00},
  {"cvt.rzi.u32.f32 %r3, %f0;", R, {0x50000000}, 0xffffffff},
  {"cvt.rni.f32.f32 %f3, %f0;", F, {0x40200000}, 0x40000000},                    /* 2.5 */
  {"cvt.rni.f32.f32 %f3, %f0;", F, {0xbe800000}, 0x80000000},                    /* -0.25 to -0 */
  {"cvt.rn.f32.f64 %f3, %fd0;", F, {ONE + 0x10000000}, 0x3f800000},              /* half way, to even */
  {"cvt.rn.f32.f64 %f3, %fd0;", F, {ONE + 0x10000001}, 0x3f800001},
  {"cvt.rn.f32.f64 %f3, %fd0;", F, {0x47f0000000000000}, 0x7f800000},
  {"cvt.rn.f32.f64 %f3, %fd0;", F, {0x36b8000000000000}, 3},                      /* a denormal */
  {"cvt.f64.f32 %fd3, %f0;", FD, {0x00000001}, 0x36a0000000000000},
  {"cvt.rn.bf16x2.f32 %r3, %f0, %f1;", R, {0x3f808000, 0x3f818000}, 0x3f803f82}, /* half way, to even */
  {"cvt.rn.bf16x2.f32 %r3, %f0, %f1;", R, {0x7f7fffff, 0xff800001}, 0x7f807fff},
  {"cvt.rn.bf16x2.f32 %r3, %f0, %f1;", R, {0x00008001, 0x80000001}, 0x00018000}, /* denormals */
  {"cvt.rn.f32.u64 %f3, %rd0;", F, {UINT64_MAX}, 0x5f800000},
  {"cvt.rn.f32.u32 %f3, %r0;", F, {0x1000001}, 0x4b800000},
  {"cvt.rn.f32.u32 %f3, %r0;", F, {0x1000003}, 0x4b800002},
  {"cvt.rn.f32.s32 %f3, %r0;", F, {0x80000000}, 0xcf000000},
  {"cvt.rn.f64.s32 %fd3, %r0;", FD, {0xffffffff}, 0xbff0000000000000},
  {"cvt.rn.f64.u64 %fd3, %rd0;", FD, {(1ull << 53) + 1}, 0x4340000000000000},
  {"cvt.rn.f32.s16 %f3, %rs0;", F, {0xffff}, 0xbf800000},
  {"cvt.s32.s8 %r3, %rs0;", R, {0x180}, (uint32_t)-128},
  {"cvt.s32.s16 %r3, %rs0;", R, {0x8000}, 0xffff8000},
  {"cvt.u32.u16 %r3, %rs0;", R, {0x8000}, 0x8000},
  {"cvt.s64.s32 %rd3, %r0;", RD, {0x80000000}, 0xffffffff80000000},
  {"cvt.s64.s32 %rd3, %rd0;", RD, {0x580000000}, 0xffffffff80000000}, /* the lower half of a wider register */
  {"cvt.u16.u64 %rs3, %rd0;", H, {0x123456789}, 0x6789},
  {"cvt.u64.u32 %rd3, %r0;", RD, {0xffffffff}, 0xffffffff},
  /* approximations: edge cases and input bits as the ISA defines them */
  {"rcp.approx.ftz.f64 %fd3, %fd0;", FD, {ONE + 0x7fffffff}, ONE},
  {"rcp.approx.ftz.f64 %fd3, %fd0;", FD, {0x4008000000000000}, 0x3fd5555500000000},
  {"rcp.approx.ftz.f64 %fd3, %fd0;", FD, {0x8000000000000001}, 0xfff0000000000000},
  {"rcp.approx.ftz.f64 %fd3, %fd0;", FD, {0x7ff0000000000000}, 0},
  {"rsqrt.approx.ftz.f64 %fd3, %fd0;", FD, {0x4010000000000000}, 0x3fe0000000000000},
  {"ex2.approx.ftz.f32 %f3, %f0;", F, {0x40400000}, 0x41000000},
  {"ex2.approx.ftz.f32 %f3, %f0;", F, {0xc2fe0000}, 0},                          /* 2^-127 is flushed */
  {"ex2.approx.ftz.f32 %f3, %f0;", F, {0x7f800000}, 0x7f800000},
  {"tanh.approx.f32 %f3, %f0;", F, {0x42c80000}, 0x3f800000},
  {"tanh.approx.f32 %f3, %f0;", F, {0x80000001}, 0x80000001},                      /* denormals are kept */
  {"tanh.approx.f32 %f3, %f0;", F, {0x7fc00000}, NAN32},
  {"rcp.approx.ftz.f32 %f3, %f0;", F, {0x7f800000}, 0},
  {"rcp.approx.ftz.f32 %f3, %f0;", F, {0x80000001}, 0xff800000},
  {"rcp.approx.ftz.f32 %f3, %f0;", F, {0x40800000}, 0x3e800000},
  /* memory: %rd8 is global memory with a and b, %rd9 eight bytes of a5 there, local memory */
  {"ld.global.s8 %r3, [%rd8];", R, {0x80}, 0xffffff80},
  {"ld.global.u8 %rd3, [%rd8+1];", RD, {0x8000}, 0x80},
  {"ld.global.s32 %rd3, [%rd8+4];", RD, {0x8000000000000000}, 0xffffffff80000000},
  {"ld.global.nc.v2.u32 {%r2, %r3}, [%rd8];", R, {0x200000001}, 2},
  {"ld.global.v4.u8 {%rs0, %rs1, %rs2, %rs3}, [%rd8+4];", H, {0xf0e0d0c000000000}, 0xf0},
  {"ld.global.v2.f64 {%fd2, %fd3}, [%rd8];", FD, {1, ONE}, ONE},
  {"st.global.u8 [%rd9+1], %r0;\nld.global.u64 %rd3, [%rd9];", RD, {0x12345678}, 0xa5a5a5a5a5a578a5},
  {"st.global.u32 [%rd9+4], %rd0;\nld.global.u64 %rd3, [%rd9];", RD, {0x9912345678}, 0x12345678a5a5a5a5},
  {"st.global.v2.f32 [%rd9], {%f0, %f1};\nld.u64 %rd3, [%rd9];", RD, {1, 2}, 0x200000001},
  {"atom.global.add.u64 %rd2, [%rd8], %rd1;\nld.global.u64 %rd3, [%rd8];\nadd.s64 %rd3, %rd3, %rd2;", RD, {5, 7}, 17},
  {"atom.global.exch.b32 %r3, [%rd8+4], 9;", R, {0x700000000}, 7},
  {"atom.global.min.u64 %rd2, [%rd8], 3;\nld.global.u64 %rd3, [%rd8];", RD, {UINT64_MAX}, 3},
  {"st.local.v2.u32 [%rd10+8], {%r0, %r1};\nld.local.u64 %rd3, [%rd10+8];", RD, {1, 2}, 0x200000001},
  {"cvta.local.u64 %rd2, %rd10;\nst.u16 [%rd2], %rs0;\nld.local.s16 %r3, [%rd10];", R, {0x8001}, 0xffff8001},
  {"mov.u32 %r2, core_device_shared;\nst.shared.f32 [%r2+8], %f0;\nld.shared.u32 %r3, [%r2+8];", R, {77}, 77},
  {"mov.u64 %rd2, core_device_shared;\ncvta.shared.u64 %rd2, %rd2;\nst.u8 [%rd2+3], %r0;\n"
   "ld.shared.u8 %r3, [core_device_shared+3];", R, {0x1ff}, 0xff},
  {"mov.b64 %rd2, case_@_parameter;\ncvta.param.u64 %rd2, %rd2;\nld.u64 %rd3, [%rd2];\n"
   "sub.s64 %rd3, %rd3, %rd8;", RD, {0}, 0},
  {"ld.global.v2.u8 {%rs2, %rs3}, [table+2];", H, {0}, 40},
  /* control flow: guards, loops, calls */
  {"mov.u32 %r3, 1;\n@%p0 mov.u32 %r3, 2;", R, {0}, 1},
  {"mov.u32 %r3, 1;\n@!%p0 mov.u32 %r3, 2;", R, {0}, 2},
  {"mov.u32 %r3, 0;\n$L_loop@:\nadd.s32 %r3, %r3, %r0;\nadd.s32 %r0, %r0, -1;\nsetp.ne.s32 %p1, %r0, 0;\n"
   "@%p1 bra $L_loop@;",
   R, {10}, 55},
  {"{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd0;\n.param .align 4 .b8 param1[8];\n"
   "st.param.v2.b32 [param1+0], {%r1, %r2};\n.param .b32 retval0;\n"
   "call.uni (retval0), sum, (param0, param1);\nld.param.b32 %r3, [retval0+0];\n}", R,
   {1, 20, 300}, 321},
  {"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.x;\nadd.s32 %r3, %r3, %r2;\nmov.u32 %r2, %ctaid.x;\n"
   "add.s32 %r3, %r3, %r2;\nmov.u32 %r2, %nctaid.x;\nadd.s32 %r3, %r3, %r2;", R, {0}, 2},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Kernels that must abort. */
static const struct { const char *name, *code; } faults[] = {
  {"global", "ld.global.u32 %r3, [%rd8+64];"},
  {"misaligned", "ld.global.v2.u32 {%r2, %r3}, [%rd8+4];"},
  {"shared", "mov.u32 %r2, core_device_shared;\nld.shared.u32 %r3, [%r2+512];"},
  {"local", "ld.local.u32 %r3, [%rd10+-1048576];"},
  {"parameter", "mov.b64 %rd2, fault_parameter_parameter;\nld.param.u64 %rd3, [%rd2+16];"},
  {"generic", "mov.u64 %rd2, 4096;\nst.u8 [%rd2], %r0;"},
  {"mask", "mov.u32 %r2, 6;\nbar.warp.sync %r2;"},
};
enum { FAULTS = sizeof faults / sizeof *faults, SHARED_BYTES = 512 };

/* Kernels of several threads, with or without a race. %rd7 is the address of the thread's own word of global memory,
 * %r2 that of its word of shared memory; the words of a block's threads are consecutive. */
static const struct {
  const char *name, *code;
  int threads; /* threads of a block and of its groups; 0: RACE_THREADS, whose barriers are the block's */
} races[] = {
  {"none", "st.global.u32 [%rd7], %r1;\nld.global.u32 %r3, [%rd7];", 0},
  {"neighbor", "st.global.u32 [%rd7], %r1;\nld.global.u32 %r3, [%rd7+4];", 0},
  {"barrier", "st.global.u32 [%rd7], %r1;\nbar.sync 0;\nld.global.u32 %r3, [%rd7+4];", 0},
  {"warp_barrier", "st.global.u32 [%rd7], %r1;\nbar.warp.sync -1;\nld.global.u32 %r3, [%rd7+4];", 32},
  {"other_warp", "st.global.u32 [%rd7], %r1;\nbar.warp.sync -1;\nld.global.u32 %r3, [%rd7+4];", 0},
  {"later_write", "ld.global.u32 %r3, [%rd7+4];\nst.global.u32 [%rd7], %r1;", 0},
  {"one_word", "st.global.u32 [%rd8+24], %r1;", 0},
  {"one_byte", "st.global.u8 [%rd8+24], %r1;", 0},
  {"same_value", "mov.u32 %r3, 7;\nst.global.u32 [%rd8+24], %r3;", 0},
  {"atomics", "atom.global.add.u32 %r3, [%rd8+24], %r1;", 0},
  {"read_of_atomics", "atom.global.add.u32 %r3, [%rd8+24], %r1;\nld.global.u32 %r3, [%rd8+24];", 0},
  {"shared", "st.shared.u32 [%r2], %r1;\nld.shared.u32 %r3, [%r2+4];", 0},
  {"shared_barrier", "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r3, [%r2+4];", 0},
  {"ballot", "st.global.u32 [%rd7], %r1;\nvote.sync.ballot.b32 %r3, %p0, -1;\nld.global.u32 %r3, [%rd7+4];",
   32},
};
enum { RACES = sizeof races / sizeof *races, RACE_THREADS = 64, RACE_BLOCKS = 2 };

/* Kernels of a block of two warps. %rd6 is the address of the thread's 16 bytes of input, %rd7 that of its 16 bytes of
 * results, %r2 that of its 16 bytes of shared memory, %r3 that of the next thread's, and those of %r4 are 1 KB further;
 * the registers %a0 to %a3 have the input, and are the results at the end. */
#define LOAD(form) \
  "st.shared.v4.u32 [%r2], {%a0, %a1, %a2, %a3};\n" form \
  ".shared.b16 {%a0, %a1, %a2, %a3}, [%r2];"
#define PLAIN_LOAD "ldmatrix.sync.aligned.m8n8.x4"
#define COPY "cp.async.cg.shared.global [%r2], [%rd6], 16;\n"
#define CLEAR "mov.u32 %r4, 0;\ncp.async.cg.shared.global [%r2], [%rd6], 16, %r4;\n"
#define COMMIT "cp.async.commit_group;\n"
#define WAIT(n) "cp.async.wait_group " #n ";\n"
#define BARRIER "bar.sync 0;\n"
#define READ "ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%r3];\n"
static const struct {
  const char *name, *code;
  enum { MATRICES, TRANSPOSED, PRODUCT, NEXT, ZEROS } expected; /* NEXT: the next thread's input */
} tiles[] = {
  {"ldmatrix", LOAD("bar.warp.sync -1;\n" PLAIN_LOAD), MATRICES},
  {"ldmatrix_trans", LOAD("bar.warp.sync -1;\n" PLAIN_LOAD ".trans"), TRANSPOSED},
  {"no_warp_barrier", LOAD(PLAIN_LOAD), MATRICES},
  {"mma", "mov.f32 %f1, 0f3F800000;\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
   "{%a0, %a1, %a2, %a3}, {%a1, %a2}, {%f1, %f1, %f1, %f1};\nmov.b32 %a0, %f0;\nmov.b32 %a1, %f1;\n"
   "mov.b32 %a2, %f2;\nmov.b32 %a3, %f3;", PRODUCT},
  {"copy", COPY COMMIT WAIT(0) BARRIER READ, NEXT},
  {"copy_of_zeros", CLEAR COMMIT WAIT(0) BARRIER READ, ZEROS},
  {"two_groups", COPY COMMIT "cp.async.cg.shared.global [%r4], [%rd6], 16;\n" COMMIT WAIT(1) BARRIER READ WAIT(0),
   NEXT},
  {"no_wait", COPY COMMIT BARRIER READ, NEXT},
  {"late_wait", COPY COMMIT BARRIER READ WAIT(0), NEXT},
  {"wait_for_too_few", COPY COMMIT WAIT(1) BARRIER READ WAIT(0), NEXT},
  {"no_barrier", COPY COMMIT WAIT(0) READ, NEXT},
  {"barrier_before_wait", COPY COMMIT BARRIER WAIT(0) READ, NEXT},
  {"no_commit", COPY WAIT(0) BARRIER READ COMMIT WAIT(0), NEXT},
  {"overwritten", COPY COMMIT WAIT(0) BARRIER READ CLEAR COMMIT WAIT(0), NEXT},
  {"overwritten_after_barrier", COPY COMMIT WAIT(0) BARRIER READ BARRIER CLEAR COMMIT WAIT(0), NEXT},
};
enum { TILES = sizeof tiles / sizeof *tiles, TILE_THREADS = 64, TILE_WORDS = 4, TILE_BYTES = 16 };

/* ---- write ------------------------------------------------------------------------------------------------------- */

/* Appends the code with each @ after a name replaced by the case's index. */
static void write_code(FILE *file, const char *code, int number) {
  for (; *code; code++) {
    if (*code == '@' && code[1] != '%' && code[1] != '!') fprintf(file, "%d", number);
    else fputc(*code, file);
  }
}

static void write_kernel(FILE *file, const char *name, const char *code, int result, int number) {
  static const char *const stores[] = {
    "cvt.u64.u16 %rd4, %rs3;", "cvt.u64.u32 %rd4, %r3;", "mov.u64 %rd4, %rd3;",
    "mov.b32 %r4, %f3;\ncvt.u64.u32 %rd4, %r4;",
    "mov.b64 %rd4, %fd3;", "selp.b64 %rd4, 1, 0, %p3;", ""};
  fprintf(file, "\n.visible .entry _Z%zu%s_kernel4Case(\n\t.param .align 8 .b8 %s_parameter[16]\n)\n{\n",
          strlen(name) + 7, name, name);
  fprintf(file, "\t.local .align 8 .b8 \t__local_depot%d[16];\n\t.reg .b64 \t%%SPL;\n\t.reg .pred \t%%p<4>;\n"
          "\t.reg .b16 \t%%rs<4>;\n\t.reg .b32 \t%%r<5>;\n\t.reg .b64 \t%%rd<11>;\n"
          "\t.reg .f32 \t%%f<4>;\n\t.reg .f64 \t%%fd<4>;\n\n", number);
  fprintf(file, "mov.u64 %%SPL, __local_depot%d;\nadd.u64 %%rd10, %%SPL, 0;\n", number);
  fprintf(file, "ld.param.u64 %%rd8, [%s_parameter];\ncvta.to.global.u64 %%rd8, %%rd8;\nadd.s64 %%rd9, %%rd8, 24;\n",
          name);
  for (int i = 0; i < 3; i++)
    fprintf(file, "ld.global.u64 %%rd%d, [%%rd8+%d];\nmov.b64 %%fd%d, %%rd%d;\ncvt.u32.u64 %%r%d, %%rd%d;\n"
            "mov.b32 %%f%d, %%r%d;\ncvt.u16.u32 %%rs%d, %%r%d;\n", i, 8 * i, i, i, i, i, i, i, i, i);
  fprintf(file, "setp.ne.s64 %%p0, %%rd0, 0;\n");
  write_code(file, code, number);
  fprintf(file, "\n%s\n%sret;\n}\n", stores[result], result == NOTHING ? "" : "st.global.u64 [%rd8+32], %rd4;\n");
}

/* Sets the addresses of `races`, and %r1 to a nonzero value equal in all threads. */
static void write_race(FILE *file, const char *name, const char *code, int number) {
  char text[1024];
  snprintf(text, sizeof text,
           "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ctaid.x;\nmad.lo.s32 %%r2, %%r2, 68, %%r1;\n"
           "mul.wide.u32 %%rd7, %%r2, 4;\nadd.s64 %%rd7, %%rd8, %%rd7;\nadd.s64 %%rd7, %%rd7, 64;\n"
           "shl.b32 %%r2, %%r1, 2;\nmov.u32 %%r3, core_device_shared;\nadd.s32 %%r2, %%r2, %%r3;\n"
           "add.s32 %%r1, %%r1, 1;\n%s\nmov.u32 %%r3, 0;", code);
  write_kernel(file, name, text, R, number);
}

/* Sets the registers of `tiles`, and stores the results. */
static void write_tile(FILE *file, const char *name, const char *code, int number) {
  char text[2048];
  snprintf(text, sizeof text,
           "{\n.reg .b32 %%a<4>;\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd6, %%r1, 16;\n"
           "add.s64 %%rd6, %%rd8, %%rd6;\n"
           "add.s64 %%rd7, %%rd6, %d;\nshl.b32 %%r2, %%r1, 4;\nadd.s32 %%r3, %%r1, 1;\nand.b32 %%r3, %%r3, %d;\n"
           "shl.b32 %%r3, %%r3, 4;\nadd.s32 %%r4, %%r2, %d;\nld.global.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%rd6];\n"
           "%s\nst.global.v4.u32 [%%rd7], {%%a0, %%a1, %%a2, %%a3};\n}\n",
           TILE_THREADS * TILE_BYTES, TILE_THREADS - 1, TILE_THREADS * TILE_BYTES, code);
  write_kernel(file, name, text, NOTHING, number);
}

static void name_case(char name[32], int i) { snprintf(name, 32, "case_%d", i); }
static void name_fault(char name[32], int i) { snprintf(name, 32, "fault_%s", faults[i].name); }
static void name_race(char name[32], int i) { snprintf(name, 32, "race_%s", races[i].name); }
static void name_tile(char name[32], int i) { snprintf(name, 32, "%s", tiles[i].name); }

static int write_all(const char *path) {
  FILE *file = fopen(path, "w");
  char name[32];
  if (file == NULL) return perror(path), 1;
  fprintf(file, "// Written by tests/ptx/cases.c\n.version 9.0\n.target sm_90\n.address_size 64\n\n"
          ".extern .shared .align 128 .b8 core_device_shared[];\n.global .align 4 .b8 table[4] = {10, 20, 30, 40};\n\n"
          ".func  (.param .b32 func_retval0) sum(\n\t.param .b64 sum_param_0,\n"
          "\t.param .align 4 .b8 sum_param_1[8]\n)\n{\n"
          "\t.reg .b32 \t%%r<5>;\n\tld.param.u32 %%r1, [sum_param_0];\n\tld.param.v2.u32 {%%r2, %%r3}, [sum_param_1];\n"
          "\tadd.s32 %%r4, %%r1, %%r2;\n\tadd.s32 %%r4, %%r4, %%r3;\n"
          "\tst.param.b32 [func_retval0+0], %%r4;\n\tret;\n}\n");
  for (int i = 0; i < CASES; i++) {
    name_case(name, i);
    write_kernel(file, name, cases[i].code, cases[i].result, i);
  }
  for (int i = 0; i < FAULTS; i++) {
    name_fault(name, i);
    write_kernel(file, name, faults[i].code, R, CASES + i);
  }
  for (int i = 0; i < RACES; i++) {
    name_race(name, i);
    write_race(file, name, races[i].code, CASES + FAULTS + i);
  }
  for (int i = 0; i < TILES; i++) {
    name_tile(name, i);
    write_tile(file, name, tiles[i].code, CASES + FAULTS + RACES + i);
  }
  return fclose(file) != 0;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct CaseArguments { void *memory; uint64_t unused; } CaseArguments;
typedef struct CaseMemory { uint64_t in[3], scratch, result; } CaseMemory;

/* Body that would run without CORE_DEVICE_CODE. */
static void no_body(const CoreDeviceThread *at, const void *arguments) {
  fprintf(stderr, "cases: CORE_DEVICE_CODE names no library\n");
  exit(2);
}

static uint64_t run_kernel(CoreDevice *device, const char *name, const uint64_t in[3]) {
  const CoreKernel kernel = {name, no_body, NULL, CORE_GROUP_NONE, sizeof(CaseArguments)};
  CaseMemory memory = {{in[0], in[1], in[2]}, 0xa5a5a5a5a5a5a5a5, 0};
  CaseArguments arguments = {NULL, 0};
  if (device->allocate(device, sizeof memory, &arguments.memory) != CORE_OK) abort();
  core_device_to_device(device, arguments.memory, &memory, sizeof memory);
  device->launch(device, &kernel, 1, 1, SHARED_BYTES, &arguments);
  core_device_to_host(device, &memory, arguments.memory, sizeof memory);
  device->release(device, arguments.memory);
  return memory.result;
}

static void run_race(CoreDevice *device, const char *name, int threads) {
  const CoreKernel kernel = {name, no_body, NULL, threads ? threads : CORE_GROUP_BLOCK, sizeof(CaseArguments)};
  CaseArguments arguments = {NULL, 0};
  const size_t bytes = sizeof(CaseMemory) + 1024;
  if (device->allocate(device, bytes, &arguments.memory) != CORE_OK) abort();
  device->launch(device, &kernel, RACE_BLOCKS, threads ? (unsigned)threads : RACE_THREADS, SHARED_BYTES, &arguments);
  uint64_t result;
  core_device_to_host(device, &result, arguments.memory, sizeof result);
  device->release(device, arguments.memory);
}

static float number_of(const uint32_t pairs[TILE_WORDS], int word, int half) {
  const uint32_t bits = half ? pairs[word] & 0xffff0000 : pairs[word] << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Returns element (i, j) of the product of a warp's tiles, plus 1: a 16 x 16, b 16 x 8 (PTX ISA, fragments of
 * mma.m16n8k16). */
static float product_of(uint32_t in[][TILE_WORDS], int i, int j) {
  float sum = 1;
  for (int k = 0; k < 16; k++)
    sum += number_of(in[i % 8 * 4 + k % 8 / 2], i / 8 + k / 8 * 2, k % 2) *
           number_of(in[j * 4 + k % 8 / 2], 1 + k / 8, k % 2);
  return sum;
}

static uint32_t expected_of(int expected, uint32_t in[TILE_THREADS][TILE_WORDS], int thread, int word) {
  const int g = thread % 32 / 4, t = thread % 4;
  uint32_t (*warp)[TILE_WORDS] = in + thread / 32 * 32, bits;
  if (expected == MATRICES) return warp[8 * word + g][t];
  if (expected == TRANSPOSED) {
    const uint32_t low = warp[8 * word + 2 * t][g / 2], high = warp[8 * word + 2 * t + 1][g / 2];
    return g % 2 ? low >> 16 | (high & 0xffff0000) : (low & 0xffff) | high << 16;
  }
  if (expected == NEXT) return in[(thread + 1) % TILE_THREADS][word];
  if (expected == ZEROS) return 0;
  const float product = product_of(warp, g + word / 2 * 8, 2 * t + word % 2);
  memcpy(&bits, &product, sizeof bits);
  return bits;
}

/* Runs a kernel of `tiles` on two bf16 integers of -8 to 8 per word, whose products are exact. */
static int run_tile(CoreDevice *device, int i) {
  char name[32];
  name_tile(name, i);
  const CoreKernel kernel = {name, no_body, NULL, CORE_GROUP_BLOCK, sizeof(CaseArguments)};
  static uint32_t in[TILE_THREADS][TILE_WORDS], out[TILE_THREADS][TILE_WORDS];
  CaseArguments arguments = {NULL, 0};
  uint32_t state = 1;
  for (int k = 0; k < TILE_THREADS * TILE_WORDS * 2; k++) {
    state = state * 1664525 + 1013904223;
    const float x = (float)(int)(state >> 16 & 15) - 8;
    uint16_t pair[2];
    memcpy(pair, &x, sizeof x);
    in[k / 2 / TILE_WORDS][k / 2 % TILE_WORDS] |= (uint32_t)pair[1] << k % 2 * 16;
  }

  if (device->allocate(device, 2 * sizeof in, &arguments.memory) != CORE_OK) abort();
  core_device_to_device(device, arguments.memory, in, sizeof in);
  device->launch(device, &kernel, 1, TILE_THREADS, 2 * sizeof in, &arguments);
  core_device_to_host(device, out, (char *)arguments.memory + sizeof in, sizeof out);
  device->release(device, arguments.memory);

  int wrong = 0;
  for (int thread = 0; thread < TILE_THREADS; thread++) {
    bool is_wrong = false;
    for (int word = 0; word < TILE_WORDS; word++)
      is_wrong |= out[thread][word] != expected_of(tiles[i].expected, in, thread, word);
    wrong += is_wrong;
  }
  printf("# %s: %d threads wrong\n", name, wrong);
  return 0;
}

static int run_all(CoreDevice *device) {
  int failed = 0;
  char name[32];
  for (int i = 0; i < CASES; i++) {
    name_case(name, i);
    const uint64_t result = run_kernel(device, name, cases[i].in);
    if (result == cases[i].expected) continue;
    failed++;
    printf("# %s of %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ": %#" PRIx64 " instead of %#" PRIx64 "\n", cases[i].code,
           cases[i].in[0], cases[i].in[1], cases[i].in[2], result, cases[i].expected);
  }
  printf("# %d instructions with operands, %d wrong\n", (int)CASES, failed);
  return failed > 0;
}

int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "write") == 0) return write_all(words[2]);
  const char *order = count == 4 ? words[3] : "";
  CoreDevice *device = core_device_emulated(strcmp(order, "isolated") == 0 ? CORE_DEVICE_ISOLATED
                                            : strcmp(order, "backward") == 0 ? CORE_DEVICE_BACKWARD
                                            : CORE_DEVICE_FORWARD);
  int code = 2;
  for (int i = 0; count == 4 && i < TILES; i++)
    if (strcmp(words[1], "tile") == 0 && strcmp(words[2], tiles[i].name) == 0) code = run_tile(device, i);
  if (count == 2 && strcmp(words[1], "run") == 0) code = run_all(device);
  for (int i = 0; count == 3 && i < FAULTS; i++) {
    char name[32];
    name_fault(name, i);
    if (strcmp(words[1], "fault") != 0 || strcmp(words[2], faults[i].name) != 0) continue;
    printf("%" PRIx64 "\n", run_kernel(device, name, (const uint64_t[3]){0}));
    code = 0;
  }
  for (int i = 0; count == 3 && i < RACES; i++) {
    char name[32];
    name_race(name, i);
    if (strcmp(words[1], "race") != 0 || strcmp(words[2], races[i].name) != 0) continue;
    run_race(device, name, races[i].threads);
    code = 0;
  }
  core_device_close(&device);
  return code;
}
