/* Choice of how the CPU computes the matrix products of each dense layer with train.precision = bf16. A run chooses
 * once, by timing its own layers, and saves the choice in its checkpoints. Plain memory, in the layout of the
 * checkpoint section. */
#ifndef TRAINER_OPS_BF16_H
#define TRAINER_OPS_BF16_H
#include <assert.h>

#include "core/text.h"
#include "trainer/ops/ops.h"

typedef enum OpsBf16Method {
  OPS_BF16_FLOAT32,       /* float32 factors: the layer is too small for bf16, or the processor too slow at it */
  OPS_BF16_ROUNDED,       /* both factors rounded to bf16, multiplied by sgemm */
  OPS_BF16_LIBRARY,       /* both factors rounded to bf16, multiplied by the library's bf16 kernels */
  OPS_BF16_METHODS
} OpsBf16Method;

enum { OPS_BF16_LAYERS_MAX = 64, OPS_BF16_NAME = 128 };
enum { OPS_BF16_EARLIER = -1 /* value of `layers` in checkpoints of versions that saved no choice */ };

typedef struct OpsBf16Layer {
  int32_t in, out, method, unused;
  double seconds[OPS_BF16_METHODS]; /* seconds of a forward and a backward pass; 0: not measured */
} OpsBf16Layer;

typedef struct OpsBf16 {
  char library[OPS_BF16_NAME];   /* ops_cpu_description() of the machine that chose */
  int32_t layers;                /* 0: nothing is chosen yet */
  int32_t rows, threads;         /* rows and threads of the timed passes; 0: none was timed */
  int32_t forced;                /* whether TRAINER_BF16 made the choice */
  OpsBf16Layer layer[OPS_BF16_LAYERS_MAX];
} OpsBf16;
static_assert(sizeof(OpsBf16Layer) == 40 && sizeof(OpsBf16) == OPS_BF16_NAME + 16 + 40 * OPS_BF16_LAYERS_MAX,
              "no padding stands in a checkpoint");

/* Adds a layer of this shape, unless it is present. */
void ops_bf16_add(OpsBf16 *choice, int in, int out);
/* Checks a restored choice. CORE_FAIL, naming the problem: it is not a valid choice for the layers of `own`. */
int ops_bf16_check(const OpsBf16 *restored, const OpsBf16 *own);
/* Appends "256x256 by oneDNN (0.31 ms, float32 0.80 ms), 256x1 in float32 (...)" to text. */
void ops_bf16_describe(const OpsBf16 *choice, CoreText *text);

/* Rows x [rows][columns] as the first layer reads them. Their zeros matter: float32 skips them (cpu_zeros.c). */
typedef struct OpsBf16Input { const float *x; int rows, columns; } OpsBf16Input;

/* Chooses a method for each added layer by timing passes over at most `rows` rows, which takes a few milliseconds: the
 * library's kernels where they are at least 1.3 times as fast as float32, else float32. ops: made by
 * ops_cpu_create_bf16(). Layers with as many inputs as `input` has columns (NULL: none) are timed with its rows, others
 * with nonzero values. TRAINER_BF16, where set, decides for all layers. */
void ops_cpu_bf16_select(Ops *ops, int rows, const OpsBf16Input *input, OpsBf16 *choice);
/* Adapts a restored choice to this processor. With the library and processor that made it nothing changes, and results
 * keep their bits. With others, a rounded layer stays rounded, by the faster of both methods here, and a float32 layer
 * stays in float32. layers = OPS_BF16_EARLIER becomes what earlier versions did here, for the layers of `own`.
 * TRAINER_BF16, where set, decides. Returns whether bits may differ from now on. */
bool ops_cpu_bf16_adapt(Ops *ops, int rows, const OpsBf16 *own, OpsBf16 *choice);
/* Whether this processor supports all methods of the choice. */
bool ops_cpu_bf16_has(const Ops *ops, const OpsBf16 *choice);
/* Makes every later call multiply as chosen. Layers of other shapes: as before any choice (ops_cpu_create_bf16). */
void ops_cpu_bf16_use(Ops *ops, const OpsBf16 *choice);
/* Returns "256x256 by oneDNN (...)": a typical layer, timed now; or the value of TRAINER_BF16. */
const char *ops_cpu_bf16_description(void);

#endif
