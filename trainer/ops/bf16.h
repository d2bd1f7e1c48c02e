/* How the CPU makes the products of each dense layer with train.precision = bf16. A run chooses once, by measuring its
 * own layers, and remembers it in its checkpoints. Plain memory, as it stands in a checkpoint. */
#ifndef TRAINER_OPS_BF16_H
#define TRAINER_OPS_BF16_H
#include <assert.h>

#include "core/text.h"
#include "trainer/ops/ops.h"

typedef enum OpsBf16Way {
  OPS_BF16_FLOAT32,       /* factors as they are: the layer is too small for bf16, or the processor too slow at it */
  OPS_BF16_ROUNDED,       /* both factors rounded to bf16, multiplied by sgemm */
  OPS_BF16_LIBRARY,       /* both factors rounded to bf16, multiplied by the library's bf16 kernels */
  OPS_BF16_WAYS
} OpsBf16Way;

enum { OPS_BF16_LAYERS_MAX = 64, OPS_BF16_NAME = 128 };
enum { OPS_BF16_EARLIER = -1 /* layers: by a version that remembered nothing */ };

typedef struct OpsBf16Layer {
  int32_t in, out, way, unused;
  double seconds[OPS_BF16_WAYS]; /* of a forward and a backward pass; 0: not measured */
} OpsBf16Layer;

typedef struct OpsBf16 {
  char library[OPS_BF16_NAME];   /* ops_cpu_description() where it was chosen */
  int32_t layers;                /* 0: nothing is chosen yet */
  int32_t rows, threads;         /* of the passes that were measured; 0: none was */
  int32_t forced;                /* TRAINER_BF16 chose */
  OpsBf16Layer layer[OPS_BF16_LAYERS_MAX];
} OpsBf16;
static_assert(sizeof(OpsBf16Layer) == 40 && sizeof(OpsBf16) == OPS_BF16_NAME + 16 + 40 * OPS_BF16_LAYERS_MAX,
              "no padding stands in a checkpoint");

/* Adds layers of this shape, unless they are there. */
void ops_bf16_add(OpsBf16 *choice, int in, int out);
/* CORE_FAIL, with what is wrong: `restored` is no choice that a program made for the layers of `own`. */
int ops_bf16_check(const OpsBf16 *restored, const OpsBf16 *own);
/* "256x256 by oneDNN (0.31 ms, float32 0.80 ms), 256x1 in float32 (...)" joins text. */
void ops_bf16_describe(const OpsBf16 *choice, CoreText *text);

/* Rows x [rows][columns] such as the first layer reads. Their zeros count: float32 skips them (cpu_zeros.c). */
typedef struct OpsBf16Input { const float *x; int rows, columns; } OpsBf16Input;

/* ops: of ops_cpu_create_bf16. Chooses for each added layer, by passes over some of `rows` rows that take a few
 * milliseconds: the library's kernels where they are at least 1.3 times as fast as float32, else float32. Layers with
 * as many inputs as `input` has columns (NULL: none) are measured with its rows, others with numbers that are not zero.
 * TRAINER_BF16 decides for all layers where it is set. */
void ops_cpu_bf16_choose(Ops *ops, int rows, const OpsBf16Input *input, OpsBf16 *choice);
/* A choice out of a checkpoint for this processor. With the library and processor that made it nothing changes, and
 * results keep their bits. With others, a layer that was rounded stays so, by the faster of both ways here; one in
 * float32 stays in float32. layers = OPS_BF16_EARLIER becomes what earlier versions took here, for the layers of `own`.
 * TRAINER_BF16 decides where it is set. Returns whether bits may differ from now on. */
bool ops_cpu_bf16_adapt(Ops *ops, int rows, const OpsBf16 *own, OpsBf16 *choice);
/* Has this processor all ways of the choice? */
bool ops_cpu_bf16_has(const Ops *ops, const OpsBf16 *choice);
/* Every later call multiplies as chosen. Layers of other shapes: as before any choice (ops_cpu_create_bf16). */
void ops_cpu_bf16_use(Ops *ops, const OpsBf16 *choice);
/* "256x256 by oneDNN (...)": a usual layer, measured here and now; or what TRAINER_BF16 says. */
const char *ops_cpu_bf16_description(void);

#endif
