/* Shared declarations of cpu.c, cpu_entity.c and cpu_attention.c: the CPU's sub-table of entity.h. */
#ifndef TRAINER_OPS_CPU_ENTITY_INTERNAL_H
#define TRAINER_OPS_CPU_ENTITY_INTERNAL_H
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/entity.h"

extern const OpsEntity CPU_ENTITY;

/* cpu_attention.c */
void cpu_attend(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, float *out);
void cpu_attend_backward(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, const float *dout,
                         float *dqkv);

#endif
