/* An ONNX model under construction (onnx.ai, onnx.proto): a graph of operators over named tensors, with its constants,
 * inputs and outputs. Knows no network; onnx_policy.c and onnx_encoder.c put them in.
 *
 *   Onnx onnx = {0};
 *   OnnxValue x = onnx_input(&onnx, "x", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, 4}, 2);
 *   onnx_output(&onnx, onnx_1(&onnx, "Relu", x), "y", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, 4}, 2);
 *   int code = onnx_finish(&onnx, &file);        frees the rest */
#ifndef TRAINER_ONNX_H
#define TRAINER_ONNX_H
#include "core/text.h"

/* TensorProto.DataType. */
typedef enum OnnxType {
  ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_UINT16 = 4, ONNX_INT16 = 5, ONNX_INT32 = 6, ONNX_INT64 = 7,
  ONNX_BOOL = 9, ONNX_FLOAT16 = 10, ONNX_DOUBLE = 11, ONNX_UINT32 = 12, ONNX_UINT64 = 13
} OnnxType;

enum { ONNX_NAME = 64, ONNX_RANK_MAX = 8, ONNX_ROWS = -1 /* as a dimension: as many as the caller gives */ };

typedef struct OnnxValue { char name[ONNX_NAME]; } OnnxValue; /* a tensor of the graph */

/* Zero-initialise; the strings are protocol buffers. */
typedef struct Onnx {
  CoreText nodes, constants, inputs, outputs, properties;
  int values;               /* made so far: their names' numbers */
} Onnx;

typedef struct OnnxAttribute {
  const char *name;         /* NULL ends a list */
  const int64_t *ints;      /* [count]; NULL: it is `number`, or where `is_real`, `real` */
  size_t count;
  int64_t number;
  bool is_real;
  float real;
} OnnxAttribute;

/* Names are the caller's to keep apart; dims [rank]. */
OnnxValue onnx_input(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank);
void onnx_output(Onnx *onnx, OnnxValue value, const char *name, OnnxType type, const int64_t *dims, int rank);
/* Copies data: as many elements as dims say, of the type's size. */
OnnxValue onnx_constant(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank, const void *data);
/* A list of whole numbers, as shapes and axes are given. */
OnnxValue onnx_ints(Onnx *onnx, const int64_t *values, size_t count);
OnnxValue onnx_real(Onnx *onnx, OnnxType type, double value); /* one number; FLOAT or DOUBLE */

/* An operator of opset 17 with one output; attributes may be NULL. */
OnnxValue onnx_node(Onnx *onnx, const char *operator, const OnnxValue *inputs, size_t count,
                    const OnnxAttribute *attributes);
OnnxValue onnx_1(Onnx *onnx, const char *operator, OnnxValue x);
OnnxValue onnx_2(Onnx *onnx, const char *operator, OnnxValue x, OnnxValue y);
OnnxValue onnx_cast(Onnx *onnx, OnnxValue x, OnnxType type);
OnnxValue onnx_clip(Onnx *onnx, OnnxValue x, OnnxType type, double low, double high);
OnnxValue onnx_reshape(Onnx *onnx, OnnxValue x, const int64_t *dims, size_t rank); /* 0: as it is; -1: what is left */
OnnxValue onnx_transpose(Onnx *onnx, OnnxValue x, const int64_t *order, size_t rank);
OnnxValue onnx_concat(Onnx *onnx, const OnnxValue *parts, size_t count, int64_t axis);
/* x[:, first:end] */
OnnxValue onnx_columns(Onnx *onnx, OnnxValue x, int64_t first, int64_t end);

/* Metadata for readers of the file; texts that are no UTF-8 lose their other bytes ('?'). */
void onnx_property(Onnx *onnx, const char *key, const char *value);

/* Appends the model to `file` and frees the graph. CORE_FAIL: over the 2 GB that one such file may have. */
int onnx_finish(Onnx *onnx, const char *graph_name, CoreText *file);
void onnx_free(Onnx *onnx);

#endif
