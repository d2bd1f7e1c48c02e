/* Builder of ONNX models (onnx.ai, onnx.proto): a graph of operators over named tensors, with constants, inputs and
 * outputs. onnx_policy.c and onnx_encoder.c build networks with it.
 *
 *   Onnx onnx = {0};
 *   OnnxValue x = onnx_input(&onnx, "x", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, 4}, 2);
 *   onnx_output(&onnx, onnx_unary(&onnx, "Relu", x), "y", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, 4}, 2);
 *   int code = onnx_finish(&onnx, "graph", &file);   also frees the graph */
#ifndef TRAINER_ONNX_H
#define TRAINER_ONNX_H
#include "core/text.h"

/* TensorProto.DataType. */
typedef enum OnnxType {
  ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_UINT16 = 4, ONNX_INT16 = 5, ONNX_INT32 = 6, ONNX_INT64 = 7,
  ONNX_BOOL = 9, ONNX_FLOAT16 = 10, ONNX_DOUBLE = 11, ONNX_UINT32 = 12, ONNX_UINT64 = 13
} OnnxType;

enum { ONNX_NAME = 64, ONNX_RANK_MAX = 8, ONNX_ROWS = -1 /* dynamic batch dimension */ };

/* A tensor of the graph. */
typedef struct OnnxValue { char name[ONNX_NAME]; } OnnxValue;

/* Graph under construction, as protocol buffers. Zero-initialize it. */
typedef struct Onnx {
  CoreText nodes, constants, inputs, outputs, properties;
  int value_count;          /* number of values created, for unique names */
} Onnx;

typedef struct OnnxAttribute {
  const char *name;         /* NULL terminates a list */
  const int64_t *ints;      /* [count] value of type ints; NULL: the value is `integer` or, if is_real, `real` */
  size_t count;
  int64_t integer;
  bool is_real;
  float real;
} OnnxAttribute;

/* Add an input, and mark a value as an output. Names must be unique; dims [rank]. */
OnnxValue onnx_input(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank);
void onnx_output(Onnx *onnx, OnnxValue value, const char *name, OnnxType type, const int64_t *dims, int rank);
/* Adds a constant tensor; copies the data. */
OnnxValue onnx_constant(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank, const void *data);
/* Adds a constant vector of integers, for shapes and axes. */
OnnxValue onnx_ints(Onnx *onnx, const int64_t *values, size_t count);
/* Adds a constant scalar of type FLOAT or DOUBLE. */
OnnxValue onnx_real(Onnx *onnx, OnnxType type, double value);

/* Adds an operator of opset 17 with one output; attributes may be NULL. */
OnnxValue onnx_node(Onnx *onnx, const char *operator, const OnnxValue *inputs, size_t count,
                    const OnnxAttribute *attributes);
/* Add an operator with one (two) inputs and no attributes. */
OnnxValue onnx_unary(Onnx *onnx, const char *operator, OnnxValue x);
OnnxValue onnx_binary(Onnx *onnx, const char *operator, OnnxValue x, OnnxValue y);
OnnxValue onnx_cast(Onnx *onnx, OnnxValue x, OnnxType type);
OnnxValue onnx_clip(Onnx *onnx, OnnxValue x, OnnxType type, double low, double high);
OnnxValue onnx_reshape(Onnx *onnx, OnnxValue x, const int64_t *dims, size_t rank); /* 0: unchanged; -1: inferred */
OnnxValue onnx_transpose(Onnx *onnx, OnnxValue x, const int64_t *order, size_t rank);
OnnxValue onnx_concat(Onnx *onnx, const OnnxValue *parts, size_t count, int64_t axis);
/* Adds the slice x[:, first:end]. */
OnnxValue onnx_columns(Onnx *onnx, OnnxValue x, int64_t first, int64_t end);

/* Adds a metadata property. If the value is not UTF-8, replaces its non-ASCII bytes by '?'. */
void onnx_property(Onnx *onnx, const char *key, const char *value);

/* Appends the model to `file` and frees the graph. CORE_FAIL: the model exceeds the 2 GB limit of ONNX. */
int onnx_finish(Onnx *onnx, const char *graph_name, CoreText *file);
void onnx_free(Onnx *onnx);

#endif
