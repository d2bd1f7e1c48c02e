/* A stand-in for cuBLASLt (libcublasLt.so.13) on top of the stand-in for the CUDA runtime: the functions that
 * trainer/ops/device/cuda_library.c uses, by cuBLASLt's documentation (cublasLt.h; CUDA Toolkit, "cuBLAS", "Using
 * the cuBLASLt API"). Products are plain loops over column-major matrices, executed by the host in stream order: an
 * independent check of the trainer's operands, their order, strides and epilogues. The algorithms of the real library
 * are unknown. CUBLASLT_STAND_IN is a comma-separated list of words. Algorithms: "plain" has no fused epilogues, "none"
 * no algorithms at all, "some" rejects a third of all shapes and alignments, with and without epilogues, and "broken"
 * cannot be initialized. Order of summation over k, other than plain loops: "fma", "split", "tensor" and "shape" (see
 * summation_of). A request for several algorithms returns four, two of which fail. */
#include <cublasLt.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

enum { MASK_UNIT = 128, WORKSPACE_NEEDED = 1 << 16, WORKSPACE_ALIGNMENT = 256, EPILOGUE_ALIGNMENT = 16, OFFERED = 4 };

typedef struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t stride;
} Layout;

typedef struct Description {
  cublasComputeType_t compute;
  cudaDataType scale;
  cublasOperation_t transpose_a, transpose_b;
  cublasLtEpilogue_t epilogue;
  void *bias, *mask;
  int64_t mask_stride; /* stride in bits */
} Description;

typedef struct Preference {
  uint64_t workspace;
  uint32_t alignment[4];
} Preference;
typedef struct Algorithm {
  uint32_t alignment[4];
  cublasLtEpilogue_t epilogue;
  uint64_t m, n, k;
  int number; /* index among those offered; the second fails in the heuristic, the third only when launched */
} Algorithm;

_Static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "a layout fits");
_Static_assert(sizeof(Description) <= sizeof(cublasLtMatmulDescOpaque_t), "a description fits");
_Static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "a preference fits");
_Static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm fits");

/* A product with its operands at launch. */
typedef struct Product {
  Description description;
  Layout a, b, d;
  const void *a_at, *b_at;
  void *d_at;
  uint64_t m, n, k;
  uint32_t alignment[4]; /* alignments passed to the heuristic, in bytes */
  float alpha;
  const void **workspace;
} Product;

#define EXPORT __attribute__((visibility("default")))

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

/* Whether CUBLASLT_STAND_IN contains the word. */
static bool is_configured(const char *word) {
  const char *list = getenv("CUBLASLT_STAND_IN");
  while (list && *list) {
    const size_t length = strcspn(list, ",");
    if (length == strlen(word) && memcmp(list, word, length) == 0) return true;
    list += length + (list[length] == ',');
  }
  return false;
}

EXPORT size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }

EXPORT const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "another status";
  }
}

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || is_configured("broken")) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = core_memory_zero_allocate(1, 1);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return free(handle), CUBLAS_STATUS_SUCCESS; }

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t stride) {
  if (rows == 0 || columns == 0 || stride < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
  *made = core_memory_zero_allocate(1, sizeof **made);
  *(Layout *)*made = (Layout){type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return free(layout), CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  *made = core_memory_zero_allocate(1, sizeof **made);
  *(Description *)*made = (Description){.compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return free(description), CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                     cublasLtMatmulDescAttributes_t attribute, const void *value,
                                                     size_t bytes) {
  Description *d = (Description *)description;
  struct {
    void *place;
    size_t bytes;
  } to;
  switch (attribute) {
#define TO(member) to.place = &d->member, to.bytes = sizeof d->member
    case CUBLASLT_MATMUL_DESC_TRANSA: TO(transpose_a); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: TO(transpose_b); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: TO(epilogue); break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: TO(bias); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: TO(mask); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: TO(mask_stride); break;
#undef TO
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (bytes != to.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(to.place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) {
  *made = core_memory_zero_allocate(1, sizeof **made);
  *(Preference *)*made = (Preference){.alignment = {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  return free(p), CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                           cublasLtMatmulPreferenceAttributes_t attribute,
                                                           const void *value, size_t bytes) {
  Preference *p = (Preference *)preference;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof p->workspace) {
    memcpy(&p->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  const int i = (int)attribute - (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (i < 0 || i > 3 || bytes != sizeof p->alignment[0]) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&p->alignment[i], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static bool is_aligned(const void *at, uint32_t to) { return (uintptr_t)at % to == 0; }
static size_t bytes_of(cudaDataType type) { return type == CUDA_R_16BF ? 2 : 4; }
static bool has_mask(cublasLtEpilogue_t e) {
  return e == CUBLASLT_EPILOGUE_RELU_AUX_BIAS || e == CUBLASLT_EPILOGUE_DRELU_BGRAD;
}

/* op(A) is m by k, op(B) k by n, C and D m by n; the types are a row of cublasLtMatmul's table. */
static cublasStatus_t check(const Description *d, const Layout *a, const Layout *b, const Layout *c, Product *p) {
  const bool ta = d->transpose_a != CUBLAS_OP_N, tb = d->transpose_b != CUBLAS_OP_N;
  const bool is_fast = d->compute == CUBLAS_COMPUTE_32F_FAST_TF32 || d->compute == CUBLAS_COMPUTE_32F_FAST_16BF;
  *p = (Product){.description = *d,
                 .a = *a,
                 .b = *b,
                 .d = *c,
                 .m = ta ? a->columns : a->rows,
                 .k = ta ? a->rows : a->columns,
                 .n = tb ? b->rows : b->columns};
  if ((tb ? b->columns : b->rows) != p->k || c->rows != p->m || c->columns != p->n) return CUBLAS_STATUS_INVALID_VALUE;
  if (d->scale != CUDA_R_32F || a->type != b->type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_fast && d->compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (a->type == CUDA_R_32F && c->type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (a->type == CUDA_R_16BF && is_fast) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d->epilogue != CUBLASLT_EPILOGUE_DEFAULT && d->bias == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  if (has_mask(d->epilogue) && (d->mask == NULL || d->mask_stride % MASK_UNIT || d->mask_stride < (int64_t)p->m))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

/* Rejects products with "some": a third of all, by a hash of shape, types, epilogue and alignments; every second
 * of them as invalid. */
static cublasStatus_t reject_some(const Product *product, const Preference *p) {
  uint64_t hash = 0xcbf29ce484222325;
  const uint64_t of[] = {product->m, product->n, product->k, product->description.epilogue, product->a.type,
                         p->alignment[0], p->alignment[1], p->alignment[2]};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) hash = (hash ^ of[i]) * 0x100000001b3;
  hash ^= hash >> 29;
  if (!is_configured("some") || hash % 3 != 0) return CUBLAS_STATUS_SUCCESS;
  return hash / 3 % 2 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_SUPPORTED;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t preference, int wanted,
                                                     cublasLtMatmulHeuristicResult_t found[], int *count) {
  const Description *operation = (const Description *)description;
  const Preference *p = (const Preference *)preference;
  Product product;
  (void)handle;
  *count = 0;
  const cublasStatus_t status = check(operation, (const Layout *)a, (const Layout *)b, (const Layout *)d, &product);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (memcmp(c, d, sizeof(Layout)) != 0 || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_plain = operation->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (is_configured("none") || (is_configured("plain") && !is_plain)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (reject_some(&product, p) != CUBLAS_STATUS_SUCCESS) return reject_some(&product, p);
  for (*count = 0; *count < wanted && *count < OFFERED; ++*count) {
    cublasLtMatmulHeuristicResult_t *offer = &found[*count];
    *offer = (cublasLtMatmulHeuristicResult_t){
      .workspaceSize = p->workspace < WORKSPACE_NEEDED ? p->workspace : WORKSPACE_NEEDED,
      .state = *count == 1 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS};
    Algorithm *algorithm = (Algorithm *)&offer->algo;
    *algorithm = (Algorithm){
      .epilogue = operation->epilogue, .m = product.m, .n = product.n, .k = product.k, .number = *count};
    memcpy(algorithm->alignment, p->alignment, sizeof p->alignment);
  }
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                           cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,
                                                           size_t bytes, size_t *written) {
  if (bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  *(int32_t *)value =
    attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM ? 1 + ((const Algorithm *)algorithm)->number : (int32_t)attribute;
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static float round_to(float x, unsigned dropped_bits, bool ties_to_even) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t half = 1u << (dropped_bits - 1), odd = bits >> dropped_bits & 1;
  if (!isnan(x)) bits += half - (ties_to_even && !odd ? 1 : 0);
  bits &= ~((1u << dropped_bits) - 1);
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float load(const void *at, cudaDataType type, size_t i) {
  if (type == CUDA_R_32F) return ((const float *)at)[i];
  const uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void store(void *at, cudaDataType type, size_t i, float x) {
  if (type == CUDA_R_32F) {
    ((float *)at)[i] = x;
    return;
  }
  uint32_t bits;
  x = round_to(x, 16, true);
  memcpy(&bits, &x, sizeof bits);
  ((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
}

/* Returns a factor as rounded by the compute type. */
static float factor(const Product *p, const void *at, const Layout *layout, bool transposed, uint64_t row,
                    uint64_t column) {
  const uint64_t i = transposed ? column + row * (uint64_t)layout->stride : row + column * (uint64_t)layout->stride;
  const float x = load(at, layout->type, i);
  switch (p->description.compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32: return round_to(x, 13, false);
    case CUBLAS_COMPUTE_32F_FAST_16BF: return round_to(x, 16, true);
    default: return x;
  }
}

/* Applies the epilogue to an element of D; *sum accumulates a bias's gradient. */
static float finish(const Product *p, uint64_t row, uint64_t column, float x, float *sum) {
  const Description *d = &p->description;
  const uint64_t bit = row + column * (uint64_t)d->mask_stride;
  unsigned char *mask = d->mask ? (unsigned char *)d->mask + bit / 8 : NULL;
  switch (d->epilogue) {
    case CUBLASLT_EPILOGUE_BIAS: return x + load(d->bias, p->d.type, row);
    case CUBLASLT_EPILOGUE_RELU_BIAS: x += load(d->bias, p->d.type, row); return x > 0 ? x : 0;
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      x += load(d->bias, p->d.type, row);
      *mask = (unsigned char)((*mask & ~(1u << bit % 8)) | (unsigned)(x > 0) << bit % 8);
      return x > 0 ? x : 0;
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
      x = *mask >> bit % 8 & 1 ? x : 0;
      *sum += x;
      return x;
    default: return x;
  }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Summation over k: `slabs` parts of k, each in tiles of `tile` products. */
typedef struct Summation {
  uint64_t slabs, tile;
  enum { SEPARATE, FUSED, TENSOR } kind; /* rounding after each product and sum, once for both, or once per tile */
} Summation;

/* Selects one of eight by the product's shape and alignments, as a heuristic may. */
static Summation summation_by_shape(const Product *p) {
  const uint64_t of[] = {p->m, p->n, p->k, p->alignment[0], p->alignment[1], p->alignment[2]};
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) hash = (hash ^ of[i]) * 0x9e3779b97f4a7c15;
  hash >>= 61;
  return (Summation){(uint64_t)1 << (hash & 3), hash & 4 ? 16 : 32, FUSED};
}

/* Returns the summation selected by CUBLASLT_STAND_IN. Default: products and sums in order; fma: fused; split: 8 slabs,
 * as libraries use to fill a GPU; tensor: 4 slabs in groups of 16 that are summed exactly and rounded toward zero, as
 * in tensor cores, if the types use them; shape: one of eight by shape and alignment. */
static Summation summation_of(const Product *p) {
  if (is_configured("shape")) return summation_by_shape(p);
  if (is_configured("tensor")) return (Summation){4, 16, TENSOR};
  if (is_configured("split")) return (Summation){8, 16, FUSED};
  return (Summation){1, p->k, is_configured("fma") ? FUSED : SEPARATE};
}

static float round_towards_zero(double x) {
  const float nearest = (float)x;
  return fabs((double)nearest) > fabs(x) ? nextafterf(nearest, 0) : nearest;
}

/* Adds the products of a tile to the sum of its slab. */
static float add_tile(const Product *p, const Summation *s, const float *left, const float *right, uint64_t count,
                      float before) {
  const bool has_tensor_cores = p->a.type != CUDA_R_32F || p->description.compute != CUBLAS_COMPUTE_32F;
  if (s->kind == TENSOR) {
    double exact = before;
    for (uint64_t k = 0; k < count; k++) exact += (double)left[k] * (double)right[k];
    return has_tensor_cores ? round_towards_zero(exact) : (float)exact;
  }
  float sum = 0;
  for (uint64_t k = 0; k < count; k++)
    if (s->kind == FUSED) sum = fmaf(left[k], right[k], sum);
    else sum += left[k] * right[k];
  return before + sum;
}

static float sum_products(const Product *p, const Summation *s, const float *left, const float *right) {
  const uint64_t slab = (p->k + s->slabs - 1) / s->slabs;
  float sum = 0;
  for (uint64_t start = 0; start < p->k; start += slab) {
    const uint64_t end = start + slab < p->k ? start + slab : p->k;
    float part = 0;
    for (uint64_t k = start; k < end; k += s->tile)
      part = add_tile(p, s, left + k, right + k, k + s->tile < end ? s->tile : end - k, part);
    sum += part;
  }
  return sum;
}

/* Claims the workspace. A product is two operations in the stream, to check that nothing else uses it meanwhile. */
static void take_workspace(void *data) {
  const Product *p = data;
  *p->workspace = p;
}

static void multiply(void *data) {
  const Product *p = data;
  CORE_CHECK(*p->workspace == p); /* fails if two products share a workspace at the same time */
  const bool ta = p->description.transpose_a != CUBLAS_OP_N, tb = p->description.transpose_b != CUBLAS_OP_N;
  const Summation summation = summation_of(p);
  float *left = core_memory_allocate((p->m + p->n) * p->k * sizeof *left), *right = left + p->m * p->k;
  for (uint64_t k = 0; k < p->k; k++) { /* convert each factor once: conversion takes longer than the products */
    for (uint64_t i = 0; i < p->m; i++) left[i * p->k + k] = factor(p, p->a_at, &p->a, ta, i, k);
    for (uint64_t j = 0; j < p->n; j++) right[j * p->k + k] = factor(p, p->b_at, &p->b, tb, k, j);
  }
  for (uint64_t i = 0; i < p->m; i++) {
    float gradient = 0;
    for (uint64_t j = 0; j < p->n; j++) {
      const float sum = sum_products(p, &summation, left + i * p->k, right + j * p->k);
      store(p->d_at, p->d.type, i + j * (uint64_t)p->d.stride, finish(p, i, j, p->alpha * sum, &gradient));
    }
    if (p->description.epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD) store(p->description.bias, p->d.type, i, gradient);
  }
  free(left);
}

/* Launched products are never freed, because a graph may launch them again. */
EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                                     const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                                     cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                                     cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                                     const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                                     cudaStream_t stream) {
  const Algorithm *chosen = (const Algorithm *)algorithm;
  Product p;
  (void)handle, (void)c_layout;
  const cublasStatus_t status = check((const Description *)description, (const Layout *)a_layout,
                                      (const Layout *)b_layout, (const Layout *)d_layout, &p);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (chosen->number == 1 || chosen->number == 2) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool is_right =
      chosen->m == p.m && chosen->n == p.n && chosen->k == p.k && chosen->epilogue == p.description.epilogue;
  if (!is_right || !is_aligned(a, chosen->alignment[0]) || !is_aligned(b, chosen->alignment[1]) ||
      !is_aligned(c, chosen->alignment[2]) || !is_aligned(d, chosen->alignment[3]) || workspace == NULL ||
      !is_aligned(workspace, WORKSPACE_ALIGNMENT) || workspace_bytes < WORKSPACE_NEEDED)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (p.description.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
      (!is_aligned(p.description.bias, EPILOGUE_ALIGNMENT) || !is_aligned(p.description.mask, EPILOGUE_ALIGNMENT)))
    return CUBLAS_STATUS_INVALID_VALUE; /* the real library faults on some GPUs */
  if (*(const float *)beta != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  p.a_at = a, p.b_at = b, p.d_at = d;
  p.alpha = *(const float *)alpha, p.workspace = workspace;
  memcpy(p.alignment, chosen->alignment, sizeof p.alignment);
  Product *kept = core_memory_allocate(sizeof *kept);
  *kept = p;
  const bool good = cudaLaunchHostFunc(stream, take_workspace, kept) == cudaSuccess &&
                    cudaLaunchHostFunc(stream, multiply, kept) == cudaSuccess;
  return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
