/* Choice of how the CPU computes the matrix products of each dense layer with train.precision = bf16. A run chooses
 * once, by its processor and the shapes of its layers, and saves the choice in its checkpoints. Plain memory, in the
 * layout of the checkpoint section. */
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
  int32_t in, out, method;
} OpsBf16Layer;

typedef struct OpsBf16 {
  char library[OPS_BF16_NAME];   /* ops_cpu_description() of the machine that chose */
  int32_t layers;                /* 0: nothing is chosen yet */
  int32_t forced;                /* whether TRAINER_BF16 made the choice */
  OpsBf16Layer layer[OPS_BF16_LAYERS_MAX];
} OpsBf16;
static_assert(sizeof(OpsBf16Layer) == 12 && sizeof(OpsBf16) == OPS_BF16_NAME + 8 + 12 * OPS_BF16_LAYERS_MAX,
              "no padding stands in a checkpoint");

/* Adds a layer of this shape, unless it is present. */
void ops_bf16_add(OpsBf16 *choice, int in, int out);
/* Checks a restored choice. CORE_FAIL, naming the problem: it is not a valid choice for the layers of `own`. */
int ops_bf16_check(const OpsBf16 *restored, const OpsBf16 *own);
/* Appends "256x256 by the library, 256x1 by float32; the library is ..." to text. */
void ops_bf16_describe(const OpsBf16 *choice, CoreText *text);

/* Chooses a method for each added layer: the library's kernels for layers that are large enough, on processors that
 * multiply bf16 faster than float32; else float32. Equal processors choose alike. ops: made by ops_cpu_create_bf16().
 * TRAINER_BF16, where set, decides for all layers. */
void ops_cpu_bf16_select(const Ops *ops, OpsBf16 *choice);
/* Adapts a restored choice to this processor. With the library and instructions that made it nothing changes, and
 * results keep their bits. With others, a rounded layer stays rounded, by the library where it is the faster here, and
 * a float32 layer stays in float32. layers = OPS_BF16_EARLIER becomes what earlier versions did here, for the layers of
 * `own`. TRAINER_BF16, where set, decides. Returns whether bits may differ from now on. */
bool ops_cpu_bf16_adapt(const Ops *ops, const OpsBf16 *own, OpsBf16 *choice);
/* Whether this processor supports all methods of the choice. */
bool ops_cpu_bf16_has(const Ops *ops, const OpsBf16 *choice);
/* Makes every later call multiply as chosen. Layers of other shapes: as before any choice (ops_cpu_create_bf16). */
void ops_cpu_bf16_use(Ops *ops, const OpsBf16 *choice);
/* Returns "256x256 by the library; ...": the method of a typical layer here. */
const char *ops_cpu_bf16_description(void);

#endif
