/* Matrix product of the CPU implementation: oneDNN, OpenBLAS or plain C, each called for one block on the calling
 * thread. cpu_dense.c divides the work into blocks and distributes them over threads: blocks of fixed size give the
 * same bits for any number of threads, and measured faster than the libraries' own threading. Only this file and
 * cpu_library_bf16.c call the libraries. */
#include "trainer/ops/cpu/cpu_internal.h"
#if CORE_HAS_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif
#if CORE_HAS_OPENBLAS
#include <cblas.h>
#endif

#if CORE_HAS_DNNL
/* oneDNN runs on one thread inside a parallel region; outside it uses omp_get_max_threads(), which the callers set. */
static void dnnl_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda, const float *b,
                         int ldb, int accumulate, float *c, int ldc) {
  dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb,
                                    accumulate ? 1.0f : 0.0f, c, ldc);
  CORE_CHECK(status == dnnl_success);
}

static int dnnl_has(dnnl_cpu_isa_t isa) {
  return ((unsigned)dnnl_get_effective_cpu_isa() & (unsigned)isa) == (unsigned)isa;
}

static const char *dnnl_kernels(void) {
  if (dnnl_has(dnnl_cpu_isa_avx512_core_amx)) return "avx512, bf16, amx";
  if (dnnl_has(dnnl_cpu_isa_avx512_core_bf16)) return "avx512, bf16";
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "sse4.1";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx512_core: return "avx512";
    default: return dnnl_get_effective_cpu_isa() > dnnl_cpu_isa_avx512_core ? "avx512 or newer" : "portable kernels";
  }
}
#endif

#if CORE_HAS_OPENBLAS
static void openblas_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda,
                             const float *b, int ldb, int accumulate, float *c, int ldc) {
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, m, n, k,
              1.0f, a, lda, b, ldb, accumulate ? 1.0f : 0.0f, c, ldc);
}
#endif

/* Rows of C are sums of rows of B, so the inner loop is contiguous; a transposed B is read element by element. */
static void plain_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda,
                          const float *b, int ldb, int accumulate, float *c, int ldc) {
  for (int i = 0; i < m; i++) {
    float *row = c + (size_t)i * ldc;
    if (!accumulate)
      for (int j = 0; j < n; j++) row[j] = 0;
    for (int l = 0; l < k; l++) {
      float factor = transpose_a ? a[(size_t)l * lda + i] : a[(size_t)i * lda + l];
      if (transpose_b) {
        for (int j = 0; j < n; j++) row[j] += factor * b[(size_t)j * ldb + l];
      } else {
        for (int j = 0; j < n; j++) row[j] += factor * b[(size_t)l * ldb + j];
      }
    }
  }
}

static CpuLibrary libraries[] = {
#if CORE_HAS_DNNL
    {"oneDNN", dnnl_product, NULL, false},
#endif
#if CORE_HAS_OPENBLAS
    {"OpenBLAS", openblas_product, NULL, false},
#endif
    {"plain C", plain_product, NULL, false},
};

const CpuLibrary *cpu_libraries(size_t *count) {
#if CORE_HAS_OPENBLAS
  openblas_set_num_threads(1); /* its threads would compete with OpenMP's */
#endif
#if CORE_HAS_DNNL
  libraries[0].product_bf16 = cpu_library_dnnl_bf16_product();
  libraries[0].has_small = dnnl_has(dnnl_cpu_isa_avx512_core);
#endif
  *count = sizeof libraries / sizeof libraries[0];
  return libraries;
}

int cpu_library_has_tiles(const CpuLibrary *library) {
#if CORE_HAS_DNNL
  if (library->product == dnnl_product) return library->product_bf16 != NULL && dnnl_has(dnnl_cpu_isa_avx512_core_amx);
#endif
  return 0;
}

bool cpu_library_is_faster_in_bf16(const CpuLibrary *library) {
  if (cpu_library_has_tiles(library)) return true;
#if CORE_HAS_DNNL && defined __x86_64__
  if (library->product == dnnl_product)
    return library->product_bf16 != NULL && dnnl_has(dnnl_cpu_isa_avx512_core_bf16) && __builtin_cpu_is("amd");
#endif
  return false;
}

const char *cpu_library_describe(const CpuLibrary *library, char *buffer) {
  snprintf(buffer, 128, "%s", library->name);
#if CORE_HAS_DNNL
  if (library->product == dnnl_product) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(buffer, 128, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch, dnnl_kernels());
  }
#endif
#if CORE_HAS_OPENBLAS
  if (library->product == openblas_product) snprintf(buffer, 128, "OpenBLAS, %s", openblas_get_corename());
#endif
  return buffer;
}
