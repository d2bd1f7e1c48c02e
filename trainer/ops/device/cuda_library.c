/* Matrix products on a GPU: cuBLASLt, opened on first use, so that the program starts where there is none. cuBLAS
 * stores matrices by columns; a row-major c[m][n] = a b is its c' = b' a', so the operands are swapped. */
#include "core/device/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"

#if CORE_HAS_CUDA
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS_MAX = 128, ALIGNMENT_MAX = 16, EPILOGUE_ALIGNMENT = 16, REFUSALS_NAMED = 8 };
enum { CHOICES = 8, TIMINGS = 4 }; /* TRAINER_PRODUCTS=timed: candidate algorithms; runs of each */

/* Used functions, with cuBLASLt's own types. */
#define FUNCTIONS(F) \
  F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtMatmul) F(cublasLtMatmulDescCreate) F(cublasLtMatmulDescDestroy) \
  F(cublasLtMatmulDescSetAttribute) F(cublasLtMatrixLayoutCreate) F(cublasLtMatrixLayoutDestroy) \
  F(cublasLtMatmulPreferenceCreate) F(cublasLtMatmulPreferenceDestroy) F(cublasLtMatmulPreferenceSetAttribute) \
  F(cublasLtMatmulAlgoGetHeuristic) F(cublasLtMatmulAlgoConfigGetAttribute) \
  F(cublasLtGetVersion) F(cublasLtGetStatusString)

/* A product of one shape, ready to run: querying the best algorithm is slow. */
typedef struct Plan {
  DeviceProduct key;           /* shape and epilogue: of pointers only the alignment counts */
  bool refused;                /* whether no algorithm supports it */
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t choice[CHOICES];
  int choices, chosen;
  bool is_timed;               /* whether the chosen algorithm is the fastest; else the library's first */
} Plan;

struct DeviceLibrary {
  void *handle_of_file;
#define F(name) __typeof__(&name) name;
  struct { FUNCTIONS(F) } call;
#undef F
  CoreDevice *device;
  cublasLtHandle_t handle;
  cublasComputeType_t compute;
  Plan plan[PLANS_MAX];
  unsigned plans;              /* plans made so far; the newest PLANS_MAX are kept */
  unsigned refusals;           /* plans without an algorithm */
  bool times;                  /* TRAINER_PRODUCTS=timed */
};

static void check(cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "cuBLASLt: %s failed with status %d\n", what, (int)status);
  core_error_abort(__FILE__, __LINE__, what);
}
#define CHECK(library, function, ...) check((library)->call.function(__VA_ARGS__), #function)

enum { REASON = 256 };

static int load(DeviceLibrary *library, char *reason) {
  char versioned[32];
  snprintf(versioned, sizeof versioned, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
  /* Stays in memory once loaded: loading its kernels is slow, and unloading them has crashed programs. */
  library->handle_of_file = dlopen(versioned, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library->handle_of_file == NULL) {
    snprintf(reason, REASON, "%.160s; load the CUDA module or set LD_LIBRARY_PATH to its lib64", dlerror());
    return CORE_USAGE;
  }

#define F(name)                                                                                \
  *(void **)&library->call.name = dlsym(library->handle_of_file, #name);                       \
  if (library->call.name == NULL) {                                                            \
    snprintf(reason, REASON, "%s has no %s", versioned, #name);                                \
    return CORE_USAGE;                                                                         \
  }
  FUNCTIONS(F)
#undef F

  return CORE_OK;
}

/* Returns the compute type of products with float factors. */
static cublasComputeType_t compute_of(OpsPrecision precision) {
  switch (precision) {
    case OPS_TF32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case OPS_BF16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    default: return CUBLAS_COMPUTE_32F;
  }
}

static void destroy_plan(DeviceLibrary *library, Plan *plan) {
  library->call.cublasLtMatrixLayoutDestroy(plan->a);
  library->call.cublasLtMatrixLayoutDestroy(plan->b);
  library->call.cublasLtMatrixLayoutDestroy(plan->c);
  library->call.cublasLtMatmulDescDestroy(plan->operation);
}

/* Makes the library's first call, which detects a driver that is too old, or memory taken by another process. */
static int begin(DeviceLibrary *library, char *reason) {
  const cublasStatus_t status = library->call.cublasLtCreate(&library->handle);
  const char *rounding = getenv("NVIDIA_TF32_OVERRIDE");
  if (rounding && *rounding)
    core_log(CORE_LOG_WARN, "NVIDIA_TF32_OVERRIDE=%.16s: cuBLASLt's float32 products follow it and not "
             "train.precision; unset it", rounding);
  if (status == CUBLAS_STATUS_SUCCESS) return CORE_OK;
  library->handle = NULL;
  snprintf(reason, REASON,
           "cuBLASLt %zu cannot be initialized on this GPU: %s; the driver may be too old (nvidia-smi), or the GPU's "
           "memory used up by another process; or set train.device = cpu",
           library->call.cublasLtGetVersion(), library->call.cublasLtGetStatusString(status));
  return CORE_FAIL;
}

/* Parses TRAINER_PRODUCTS: unset for the library's first choice, or "timed". */
static int read_wish(DeviceLibrary *library, char *reason) {
  const char *wanted = getenv("TRAINER_PRODUCTS");
  library->times = wanted && strcmp(wanted, "timed") == 0;
  if (library->times || !wanted || !*wanted) return CORE_OK;
  snprintf(reason, REASON, "TRAINER_PRODUCTS=%.64s: expected 'timed', or leave it unset", wanted);
  return CORE_USAGE;
}

DeviceLibrary *device_library_open(CoreDevice *device, OpsPrecision precision, char *reason) {
  DeviceLibrary *library = core_memory_zero_allocate(1, sizeof *library);
  library->device = device;
  library->compute = compute_of(precision);
  if (read_wish(library, reason) != CORE_OK || load(library, reason) != CORE_OK || begin(library, reason) != CORE_OK)
    device_library_close(&library);
  return library;
}

void device_library_close(DeviceLibrary **library) {
  DeviceLibrary *owned = *library;
  if (owned == NULL) return;
  for (unsigned i = 0; i < owned->plans && i < PLANS_MAX; i++) destroy_plan(owned, &owned->plan[i]);
  if (owned->handle) owned->call.cublasLtDestroy(owned->handle);
  if (owned->handle_of_file) dlclose(owned->handle_of_file);
  free(owned);
  *library = NULL;
}

static cudaDataType_t type_of(OpsNumbers numbers) { return numbers == OPS_NUMBERS_BF16 ? CUDA_R_16BF : CUDA_R_32F; }

/* Describes a row-major matrix [rows][columns], its rows `stride` elements apart. */
static cublasLtMatrixLayout_t layout(DeviceLibrary *library, OpsNumbers numbers, size_t rows, size_t columns,
                                     size_t stride) {
  cublasLtMatrixLayout_t created;
  CHECK(library, cublasLtMatrixLayoutCreate, &created, type_of(numbers), columns, rows, (int64_t)stride);
  return created;
}

static void set(DeviceLibrary *library, Plan *plan, cublasLtMatmulDescAttributes_t attribute, const void *value,
                size_t bytes) {
  CHECK(library, cublasLtMatmulDescSetAttribute, plan->operation, attribute, value, bytes);
}

static uint32_t alignment_of(const void *address) {
  uint32_t alignment = ALIGNMENT_MAX;
  while ((uintptr_t)address % alignment) alignment /= 2;
  return alignment;
}

static size_t row_of_a(const DeviceProduct *p) { return p->row_a ? p->row_a : p->transpose_a ? p->m : p->k; }

/* Returns the alignment in bytes, at most ALIGNMENT_MAX, that all rows of a matrix have. Not that of its first row: a
 * shard's rows begin elsewhere on another number of ranks, and would get another algorithm, and so other bits. */
static uint32_t alignment_of_rows(const void *address, size_t row, OpsNumbers numbers) {
  const size_t bytes = row * (numbers == OPS_NUMBERS_BF16 ? sizeof(uint16_t) : sizeof(float));
  const uint32_t first = alignment_of(address), others = alignment_of((const void *)bytes);
  return first < others ? first : others;
}

typedef struct Alignments { uint32_t a, b, c; } Alignments;

static Alignments alignments_of(const DeviceProduct *p) {
  return (Alignments){alignment_of_rows(p->a, row_of_a(p), p->factors),
                      alignment_of_rows(p->b, p->transpose_b ? p->k : p->n, p->factors),
                      alignment_of_rows(p->c, p->n, p->result)};
}

/* Formats a product: shape, transposed operands, types, epilogue. */
enum { PRODUCT_WORDS = 96 };
static void put_into_words(const DeviceProduct *p, char words[PRODUCT_WORDS]) {
  static const char *const AFTER[] = {
    [OPS_PRODUCT] = "", [OPS_PRODUCT_BIAS] = ", bias", [OPS_PRODUCT_RELU] = ", bias and ReLU",
    [OPS_PRODUCT_RELU_MASK] = ", bias, ReLU and mask", [OPS_PRODUCT_MASKED] = ", masked, with sums"};
  snprintf(words, PRODUCT_WORDS, "product of %zu x %zu%s x %zu%s (%s%s)", p->m, p->k, p->transpose_a ? "'" : "", p->n,
           p->transpose_b ? "'" : "", p->factors == OPS_NUMBERS_BF16 ? "bf16" : "float32", AFTER[p->epilogue]);
}

/* Logs products that the library leaves to this program's kernels: a plain one may be slow there. */
static void tell_refused(DeviceLibrary *library, const DeviceProduct *p) {
  if (library->refusals++ >= REFUSALS_NAMED) return;
  const Alignments aligned = alignments_of(p);
  char words[PRODUCT_WORDS];
  put_into_words(p, words);
  core_log(p->epilogue == OPS_PRODUCT ? CORE_LOG_WARN : CORE_LOG_INFO,
           "cuBLASLt has no algorithm for a %s, aligned to %u, %u, %u bytes; using this program's kernel%s", words,
           aligned.a, aligned.b, aligned.c,
           library->refusals == REFUSALS_NAMED ? "; later ones are not reported" : "");
}

static void find_algorithms(DeviceLibrary *library, Plan *plan) {
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found[CHOICES];
  const size_t workspace = DEVICE_WORKSPACE_BYTES;
  int count = 0;
  CHECK(library, cublasLtMatmulPreferenceCreate, &preference);
  CHECK(library, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof workspace);

  const Alignments aligned = alignments_of(&plan->key);
  const uint32_t alignment[] = {aligned.b, aligned.a, aligned.c, aligned.c};
  const cublasLtMatmulPreferenceAttributes_t attribute[] = {
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (int i = 0; i < 4; i++)
    CHECK(library, cublasLtMatmulPreferenceSetAttribute, preference, attribute[i], &alignment[i],
          sizeof alignment[i]);

  /* CUBLAS_STATUS_NOT_SUPPORTED, or no algorithm, means that there is no kernel; an epilogue or a shape that does not
   * fit the rest may be reported as an invalid value. All else is an error. */
  const cublasStatus_t status = library->call.cublasLtMatmulAlgoGetHeuristic(
    library->handle, plan->operation, plan->b, plan->a, plan->c, plan->c, preference, library->times ? CHOICES : 1,
    found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) count = 0;
  else check(status, "cublasLtMatmulAlgoGetHeuristic");
  CHECK(library, cublasLtMatmulPreferenceDestroy, preference);

  for (int i = 0; i < count; i++)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) plan->choice[plan->choices++] = found[i].algo;
  plan->refused = plan->choices < 1;
  if (plan->refused) tell_refused(library, &plan->key);
}

static cublasLtEpilogue_t epilogue_of(OpsEpilogue epilogue) {
  switch (epilogue) {
    case OPS_PRODUCT_BIAS: return CUBLASLT_EPILOGUE_BIAS;
    case OPS_PRODUCT_RELU: return CUBLASLT_EPILOGUE_RELU_BIAS;
    case OPS_PRODUCT_RELU_MASK: return CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    case OPS_PRODUCT_MASKED: return CUBLASLT_EPILOGUE_DRELU_BGRAD;
    default: return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

/* Sets the addresses of the epilogue's vectors, whose alignment the heuristic considers. */
static void point(DeviceLibrary *library, Plan *plan, const DeviceProduct *p) {
  if (p->epilogue == OPS_PRODUCT) return;
  set(library, plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias, sizeof p->bias);
  if (p->mask) set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->mask, sizeof p->mask);
}

static void make_plan(DeviceLibrary *library, const DeviceProduct *p, Plan *plan) {
  const cublasOperation_t transpose = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = epilogue_of(p->epilogue);
  const int64_t mask_bits = (int64_t)(ops_mask_words(p->n) * KERNEL_MASK_BITS);
  const size_t a_rows = p->transpose_a ? p->k : p->m;
  const size_t a_columns = p->transpose_a ? p->m : p->k;
  const size_t b_rows = p->transpose_b ? p->n : p->k;
  const size_t b_columns = p->transpose_b ? p->k : p->n;

  plan->key = *p;
  plan->choices = plan->chosen = 0;
  plan->is_timed = false;
  CHECK(library, cublasLtMatmulDescCreate, &plan->operation,
        p->factors == OPS_NUMBERS_BF16 ? CUBLAS_COMPUTE_32F : library->compute, CUDA_R_32F);
  if (p->transpose_b) set(library, plan, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose);
  if (p->transpose_a) set(library, plan, CUBLASLT_MATMUL_DESC_TRANSB, &transpose, sizeof transpose);
  set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  if (p->mask) set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &mask_bits, sizeof mask_bits);
  point(library, plan, p);

  plan->a = layout(library, p->factors, a_rows, a_columns, row_of_a(p));
  plan->b = layout(library, p->factors, b_rows, b_columns, b_columns);
  plan->c = layout(library, p->result, p->m, p->n, p->n);
  find_algorithms(library, plan);
}

static bool same_alignments(const DeviceProduct *p, const DeviceProduct *q) {
  const Alignments x = alignments_of(p), y = alignments_of(q);
  return x.a == y.a && x.b == y.b && x.c == y.c && alignment_of(p->bias) == alignment_of(q->bias) &&
         alignment_of(p->mask) == alignment_of(q->mask);
}

static bool same_shape(const DeviceProduct *p, const DeviceProduct *q) {
  return p->m == q->m && p->n == q->n && p->k == q->k && p->transpose_a == q->transpose_a &&
         p->transpose_b == q->transpose_b && p->row_a == q->row_a && p->factors == q->factors &&
         p->result == q->result && p->epilogue == q->epilogue && same_alignments(p, q);
}

/* Finds the plan of a known shape, else makes a new one, replacing the oldest if all are taken. */
static Plan *find_plan(DeviceLibrary *library, const DeviceProduct *p) {
  for (unsigned i = 0; i < library->plans && i < PLANS_MAX; i++)
    if (same_shape(&library->plan[i].key, p)) return &library->plan[i];
  Plan *plan = &library->plan[library->plans % PLANS_MAX];
  if (library->plans >= PLANS_MAX) destroy_plan(library, plan);
  library->plans++;
  make_plan(library, p, plan);
  return plan;
}

/* Whether the epilogue may be fused: some epilogues access 16 bytes at once, and fault where bias or mask are not
 * aligned. */
static bool may_fuse(const DeviceProduct *p) {
  return p->epilogue == OPS_PRODUCT ||
         (alignment_of(p->bias) >= EPILOGUE_ALIGNMENT && (!p->mask || alignment_of(p->mask) >= EPILOGUE_ALIGNMENT));
}

int device_library_takes(DeviceLibrary *library, const DeviceProduct *p) {
  return may_fuse(p) && !find_plan(library, p)->refused;
}

/* Runs the product with one of the plan's algorithms. */
static cublasStatus_t run(DeviceLibrary *library, const Plan *plan, int choice, void *workspace) {
  const float one = 1, zero = 0;
  const DeviceProduct *p = &plan->key;
  library->device->launches++;
  return library->call.cublasLtMatmul(library->handle, plan->operation, &one, p->b, plan->b, p->a, plan->a, &zero, p->c,
                                      plan->c, p->c, plan->c, &plan->choice[choice], workspace, DEVICE_WORKSPACE_BYTES,
                                      (cudaStream_t)library->device->stream);
}

/* ---- choice by measurement --------------------------------------------------------------------------------------- */

/* Returns the seconds of one run; HUGE_VAL where the library fails to run it. */
static double time_of(DeviceLibrary *library, const Plan *plan, int choice, void *workspace) {
  CoreDevice *device = library->device;
  if (run(library, plan, choice, workspace) != CUBLAS_STATUS_SUCCESS) return HUGE_VAL; /* and loads its kernels */
  device->begin_time(device);
  for (int i = 0; i < TIMINGS; i++) check(run(library, plan, choice, workspace), "cublasLtMatmul");
  return device->end_time(device) / TIMINGS;
}

static int attribute_of(const DeviceLibrary *library, const Plan *plan, cublasLtMatmulAlgoConfigAttributes_t which) {
  int value = -1;
  size_t written;
  library->call.cublasLtMatmulAlgoConfigGetAttribute(&plan->choice[plan->chosen], which, &value, sizeof value,
                                                     &written);
  return value;
}

/* Chooses the fastest algorithm. A product can be repeated, since none accumulates. During a capture there is no clock;
 * the first minibatch is not captured. */
static void choose_fastest(DeviceLibrary *library, Plan *plan, void *workspace) {
  double seconds[CHOICES];
  char words[PRODUCT_WORDS];
  if (!library->times || plan->is_timed || library->device->is_capturing) return;
  plan->is_timed = true;
  for (int i = 0; i < plan->choices; i++) {
    seconds[i] = time_of(library, plan, i, workspace);
    if (seconds[i] < seconds[plan->chosen]) plan->chosen = i;
  }
  put_into_words(&plan->key, words);
  core_info("%s: algorithm %d of %d, %.1f us; the library's first %.1f us; tile %d, stages %d, split %d", words,
            plan->chosen + 1, plan->choices, 1e6 * seconds[plan->chosen], 1e6 * seconds[0],
            attribute_of(library, plan, CUBLASLT_ALGO_CONFIG_TILE_ID),
            attribute_of(library, plan, CUBLASLT_ALGO_CONFIG_STAGES_ID),
            attribute_of(library, plan, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

static void multiply_timed(DeviceLibrary *library, const Plan *plan, void *workspace) {
  CoreDevice *device = library->device;
  char words[PRODUCT_WORDS];
  put_into_words(&plan->key, words);
  device->begin_time(device);
  check(run(library, plan, plan->chosen, workspace), "cublasLtMatmul");
  core_device_times_add(device->times, words, device->end_time(device));
}

int device_library_multiply(DeviceLibrary *library, const DeviceProduct *p, void *workspace) {
  if (!may_fuse(p)) return 0;
  CORE_CHECK((uintptr_t)workspace % CORE_DEVICE_ALIGNMENT == 0); /* required by cublasLtMatmul */
  Plan *plan = find_plan(library, p);
  if (plan->refused) return 0;
  plan->key = *p; /* equal except for addresses */
  point(library, plan, p);
  choose_fastest(library, plan, workspace);
  if (library->device->times && !library->device->is_capturing) multiply_timed(library, plan, workspace);
  else check(run(library, plan, plan->chosen, workspace), "cublasLtMatmul");
  return 1;
}
#else
DeviceLibrary *device_library_open(CoreDevice *device, OpsPrecision precision, char *reason) {
  (void)device;
  (void)precision;
  (void)reason;
  return NULL;
}
void device_library_close(DeviceLibrary **library) { (void)library; }
int device_library_takes(DeviceLibrary *library, const DeviceProduct *product) {
  return (void)library, (void)product, 0;
}
int device_library_multiply(DeviceLibrary *library, const DeviceProduct *product, void *workspace) {
  (void)workspace;
  return device_library_takes(library, product);
}
#endif
