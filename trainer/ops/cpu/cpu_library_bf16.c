/* oneDNN's product of bf16 matrices for cpu_library.c, through its matmul primitive (there is no gemm call for bf16). A
 * primitive belongs to one shape and is expensive to create, so all are kept until the process ends: as many as
 * networks have shapes of layers, times the last, shorter blocks. Calls come from many threads at once; a primitive is
 * shared, its working memory is per thread. */
#include "trainer/ops/cpu/cpu_internal.h"

#if CORE_HAS_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

#if CORE_HAS_DNNL && DNNL_VERSION_MAJOR == 2 /* version 3 creates primitives differently */
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

typedef struct Shape { int transpose_a, transpose_b, m, n, k, lda, ldb, accumulate, ldc; } Shape;

typedef struct Product {
  Shape shape;
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t a, b, c, scratch;
  struct Product *_Atomic next;
} Product;

static Product *_Atomic products;      /* head of the list: entries are appended and never removed */
static _Atomic(dnnl_engine_t) engine;
static _Thread_local dnnl_stream_t stream;
/* Memory of a thread that grows to the largest request. */
typedef struct Buffer { void *memory; size_t bytes; } Buffer;
static _Thread_local Buffer scratch, rows_of_a, rows_of_c;

#define DNNL_CHECK(call) CORE_CHECK((call) == dnnl_success)

/* Describes a matrix [rows][columns], or its transpose if stored transposed, `stride` elements between stored rows. */
static void describe(dnnl_memory_desc_t *desc, int rows, int columns, int transposed, int stride,
                     dnnl_data_type_t type) {
  const dnnl_dims_t dims = {rows, columns}, strides = {transposed ? 1 : stride, transposed ? stride : 1};
  DNNL_CHECK(dnnl_memory_desc_init_by_strides(desc, 2, dims, type, strides));
}

static Product *make(const Shape *s) {
  Product *product = core_memory_zero_allocate(1, sizeof *product);
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_attr_t attributes;
  dnnl_post_ops_t sum;
  dnnl_primitive_desc_t desc;

  product->shape = *s;
  describe(&product->a, s->m, s->k, s->transpose_a, s->lda, dnnl_bf16);
  describe(&product->b, s->k, s->n, s->transpose_b, s->ldb, dnnl_bf16);
  describe(&product->c, s->m, s->n, 0, s->ldc, dnnl_f32);

  DNNL_CHECK(dnnl_matmul_desc_init(&matmul, &product->a, &product->b, NULL, &product->c));
  DNNL_CHECK(dnnl_primitive_attr_create(&attributes));
  DNNL_CHECK(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  DNNL_CHECK(dnnl_post_ops_create(&sum));
  if (s->accumulate) DNNL_CHECK(dnnl_post_ops_append_sum(sum, 1));
  DNNL_CHECK(dnnl_primitive_attr_set_post_ops(attributes, sum));
  DNNL_CHECK(dnnl_primitive_desc_create(&desc, &matmul, attributes, engine, NULL));
  product->scratch = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  DNNL_CHECK(dnnl_primitive_create(&product->primitive, desc));

  dnnl_primitive_desc_destroy(desc);
  dnnl_post_ops_destroy(sum);
  dnnl_primitive_attr_destroy(attributes);
  return product;
}

/* Searches the list from `*link` on; returns NULL with `*link` at its end. */
static Product *find(const Shape *shape, Product *_Atomic **link) {
  for (Product *product; (product = **link) != NULL; *link = &product->next)
    if (memcmp(&product->shape, shape, sizeof *shape) == 0) return product;
  return NULL;
}

static Product *find_or_make(const Shape *shape) {
  Product *_Atomic *link = &products;
  Product *product = find(shape, &link);
  if (product) return product;
#pragma omp critical(cpu_library_bf16)
  {
    dnnl_engine_t created = engine;
    if (created == NULL) {
      DNNL_CHECK(dnnl_engine_create(&created, dnnl_cpu, 0));
      engine = created;
    }
    product = find(shape, &link); /* another thread may have added it */
    if (product == NULL) *link = product = make(shape);
  }
  return product;
}

static void *take(Buffer *buffer, size_t bytes) {
  if (bytes > buffer->bytes) {
    buffer->memory = core_memory_resize(buffer->memory, bytes);
    buffer->bytes = bytes;
  }
  return buffer->memory;
}

static void execute(const Shape *shape, const uint16_t *a, const uint16_t *b, float *c) {
  const Product *product = find_or_make(shape);
  const dnnl_memory_desc_t *const descs[] = {&product->a, &product->b, &product->c, &product->scratch};
  void *const data[] = {(void *)a, (void *)b, c, take(&scratch, dnnl_memory_desc_get_size(&product->scratch))};
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_WEIGHTS, NULL}, {DNNL_ARG_DST, NULL},
                                 {DNNL_ARG_SCRATCHPAD, NULL}};
  if (stream == NULL) DNNL_CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  for (int i = 0; i < 4; i++) DNNL_CHECK(dnnl_memory_create(&arguments[i].memory, descs[i], engine, data[i]));
  DNNL_CHECK(dnnl_primitive_execute(product->primitive, stream, 4, arguments));
  for (int i = 0; i < 4; i++) dnnl_memory_destroy(arguments[i].memory);
}

/* Pads a block with fewer rows to a whole one. With fewer rows oneDNN sums in another order (seen on AMX tiles), and a
 * row's values must not depend on the number of rows. */
static void execute_padded(const Shape *shape, const uint16_t *a, const uint16_t *b, float *c) {
  const size_t k = (size_t)shape->k, n = (size_t)shape->n, m = (size_t)shape->m;
  uint16_t *padded = take(&rows_of_a, CPU_ROWS * k * sizeof *padded);
  float *result = take(&rows_of_c, CPU_ROWS * n * sizeof *result);
  Shape whole = *shape;
  whole.m = CPU_ROWS;
  whole.lda = shape->k;
  whole.ldc = shape->n;
  for (size_t r = 0; r < m; r++) memcpy(padded + r * k, a + r * (size_t)shape->lda, k * sizeof *padded);
  memset(padded + m * k, 0, (CPU_ROWS - m) * k * sizeof *padded);
  execute(&whole, padded, b, result);
  for (size_t r = 0; r < m; r++) memcpy(c + r * (size_t)shape->ldc, result + r * n, n * sizeof *c);
}

static void dnnl_product_bf16(int transpose_a, int transpose_b, int m, int n, int k, const uint16_t *a, int lda,
                              const uint16_t *b, int ldb, int accumulate, float *c, int ldc) {
  const Shape shape = {transpose_a, transpose_b, m, n, k, lda, ldb, accumulate, ldc};
  if (m < CPU_ROWS && !transpose_a && !accumulate) execute_padded(&shape, a, b, c);
  else execute(&shape, a, b, c);
}

/* Below AVX-512 oneDNN's product is plain C. */
CpuProductBf16 *cpu_library_dnnl_bf16_product(void) {
  const unsigned isa = (unsigned)dnnl_get_effective_cpu_isa(), needed = (unsigned)dnnl_cpu_isa_avx512_core;
  return (isa & needed) == needed ? dnnl_product_bf16 : NULL;
}
#else
CpuProductBf16 *cpu_library_dnnl_bf16_product(void) { return NULL; }
#endif
