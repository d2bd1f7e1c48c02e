/* Encoding of the messages of onnx.proto (onnx.h): ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto,
 * ValueInfoProto. Field numbers are those of that file. */
#include "trainer/export/onnx.h"

#include <stdio.h>
#include <string.h>

#include "core/protobuf.h"
#include "core/version.h"

enum { IR_VERSION = 8, OPSET = 17 }; /* the first opset with layer norm (2022, onnxruntime 1.12) */
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };
static const size_t MODEL_BYTES_MAX = (size_t)2000 << 20; /* protocol buffers are limited to 2^31 - 1 bytes */

static size_t type_size(OnnxType type) {
  switch (type) {
    case ONNX_INT8:
    case ONNX_UINT8:
    case ONNX_BOOL: return 1;
    case ONNX_INT16:
    case ONNX_UINT16:
    case ONNX_FLOAT16: return 2;
    case ONNX_INT32:
    case ONNX_UINT32:
    case ONNX_FLOAT: return 4;
    case ONNX_INT64:
    case ONNX_UINT64:
    case ONNX_DOUBLE: break;
  }
  return 8;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Appends a ValueInfoProto to `list`. */
static void append_value_info(CoreText *list, int field, const char *name, OnnxType type, const int64_t *dims,
                              int rank) {
  CoreText shape = {0}, tensor = {0}, type_proto = {0}, info = {0};
  for (int i = 0; i < rank; i++) {
    CoreText dim = {0};
    if (dims[i] == ONNX_ROWS) core_protobuf_text(&dim, 2, "rows");
    else core_protobuf_int(&dim, 1, dims[i]);
    core_protobuf_message(&shape, 1, &dim);
  }
  core_protobuf_int(&tensor, 1, type);
  core_protobuf_message(&tensor, 2, &shape);
  core_protobuf_message(&type_proto, 1, &tensor);
  core_protobuf_text(&info, 1, name);
  core_protobuf_message(&info, 2, &type_proto);
  core_protobuf_message(list, field, &info);
}

static OnnxValue named_value(const char *name) {
  OnnxValue value;
  CORE_CHECK(strlen(name) < sizeof value.name);
  snprintf(value.name, sizeof value.name, "%s", name);
  return value;
}

OnnxValue onnx_input(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank) {
  append_value_info(&onnx->inputs, 11, name, type, dims, rank);
  return named_value(name);
}

OnnxValue onnx_constant(Onnx *onnx, const char *name, OnnxType type, const int64_t *dims, int rank, const void *data) {
  CoreText tensor = {0};
  size_t bytes = type_size(type);
  for (int i = 0; i < rank; i++) {
    core_protobuf_int(&tensor, 1, dims[i]);
    bytes *= (size_t)dims[i];
  }
  core_protobuf_int(&tensor, 2, type);
  core_protobuf_text(&tensor, 8, name);
  core_protobuf_bytes(&tensor, 9, data, bytes);
  core_protobuf_message(&onnx->constants, 5, &tensor);
  return named_value(name);
}

/* Creates a value with a unique name. */
static OnnxValue new_value(Onnx *onnx, const char *prefix) {
  OnnxValue value;
  snprintf(value.name, sizeof value.name, "%.40s_%d", prefix, onnx->value_count++);
  return value;
}

OnnxValue onnx_ints(Onnx *onnx, const int64_t *values, size_t count) {
  const int64_t dims = (int64_t)count;
  return onnx_constant(onnx, new_value(onnx, "ints").name, ONNX_INT64, &dims, 1, values);
}

OnnxValue onnx_real(Onnx *onnx, OnnxType type, double value) {
  const float value32 = (float)value;
  CORE_CHECK(type == ONNX_FLOAT || type == ONNX_DOUBLE);
  return onnx_constant(onnx, new_value(onnx, "number").name, type, NULL, 0,
                       type == ONNX_FLOAT ? (const void *)&value32 : (const void *)&value);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static void add_attribute(CoreText *node, const OnnxAttribute *source) {
  CoreText attribute = {0};
  core_protobuf_text(&attribute, 1, source->name);
  if (source->ints)
    for (size_t i = 0; i < source->count; i++) core_protobuf_int(&attribute, 8, source->ints[i]);
  else if (source->is_real) core_protobuf_float(&attribute, 2, source->real);
  else core_protobuf_int(&attribute, 3, source->integer);
  core_protobuf_int(&attribute, 20, source->ints ? ATTRIBUTE_INTS : source->is_real ? ATTRIBUTE_FLOAT : ATTRIBUTE_INT);
  core_protobuf_message(node, 5, &attribute);
}

static void add_node(Onnx *onnx, const char *operator, const OnnxValue *inputs, size_t count, const char *output,
                     const OnnxAttribute *attributes) {
  CoreText node = {0};
  for (size_t i = 0; i < count; i++) core_protobuf_text(&node, 1, inputs[i].name);
  core_protobuf_text(&node, 2, output);
  core_protobuf_text(&node, 4, operator);
  if (attributes)
    for (; attributes->name; attributes++) add_attribute(&node, attributes);
  core_protobuf_message(&onnx->nodes, 1, &node);
}

OnnxValue onnx_node(Onnx *onnx, const char *operator, const OnnxValue *inputs, size_t count,
                    const OnnxAttribute *attributes) {
  const OnnxValue output = new_value(onnx, operator);
  add_node(onnx, operator, inputs, count, output.name, attributes);
  return output;
}

OnnxValue onnx_unary(Onnx *onnx, const char *operator, OnnxValue x) { return onnx_node(onnx, operator, &x, 1, NULL); }

OnnxValue onnx_binary(Onnx *onnx, const char *operator, OnnxValue x, OnnxValue y) {
  return onnx_node(onnx, operator, (OnnxValue[]){x, y}, 2, NULL);
}

OnnxValue onnx_cast(Onnx *onnx, OnnxValue x, OnnxType type) {
  return onnx_node(onnx, "Cast", &x, 1, (OnnxAttribute[]){{.name = "to", .integer = type}, {0}});
}

OnnxValue onnx_clip(Onnx *onnx, OnnxValue x, OnnxType type, double low, double high) {
  const OnnxValue inputs[] = {x, onnx_real(onnx, type, low), onnx_real(onnx, type, high)};
  return onnx_node(onnx, "Clip", inputs, 3, NULL);
}

OnnxValue onnx_reshape(Onnx *onnx, OnnxValue x, const int64_t *dims, size_t rank) {
  return onnx_binary(onnx, "Reshape", x, onnx_ints(onnx, dims, rank));
}

OnnxValue onnx_transpose(Onnx *onnx, OnnxValue x, const int64_t *order, size_t rank) {
  return onnx_node(onnx, "Transpose", &x, 1, (OnnxAttribute[]){{.name = "perm", .ints = order, .count = rank}, {0}});
}

OnnxValue onnx_concat(Onnx *onnx, const OnnxValue *parts, size_t count, int64_t axis) {
  return onnx_node(onnx, "Concat", parts, count, (OnnxAttribute[]){{.name = "axis", .integer = axis}, {0}});
}

OnnxValue onnx_columns(Onnx *onnx, OnnxValue x, int64_t first, int64_t end) {
  const OnnxValue inputs[] = {x, onnx_ints(onnx, &first, 1), onnx_ints(onnx, &end, 1),
                              onnx_ints(onnx, &(int64_t){1}, 1)};
  return onnx_node(onnx, "Slice", inputs, 4, NULL);
}

void onnx_output(Onnx *onnx, OnnxValue value, const char *name, OnnxType type, const int64_t *dims, int rank) {
  add_node(onnx, "Identity", &value, 1, name, NULL);
  append_value_info(&onnx->outputs, 12, name, type, dims, rank);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void onnx_property(Onnx *onnx, const char *key, const char *value) {
  CoreText property = {0};
  char *text = core_text_duplicate(value);
  if (!core_text_is_utf8(text))
    for (char *c = text; *c; c++)
      if (*c & 0x80) *c = '?';
  core_protobuf_text(&property, 1, key);
  core_protobuf_text(&property, 2, text);
  core_protobuf_message(&onnx->properties, 14, &property);
  free(text);
}

void onnx_free(Onnx *onnx) {
  core_text_free(&onnx->nodes);
  core_text_free(&onnx->constants);
  core_text_free(&onnx->inputs);
  core_text_free(&onnx->outputs);
  core_text_free(&onnx->properties);
}

static void append(CoreText *to, const CoreText *from) { core_text_append_bytes(to, from->data, from->length); }

int onnx_finish(Onnx *onnx, const char *graph_name, CoreText *file) {
  CoreText graph = {0}, opset = {0};
  const size_t bytes = onnx->constants.length + onnx->nodes.length;
  if (bytes > MODEL_BYTES_MAX) {
    onnx_free(onnx);
    return core_error(CORE_FAIL, "an ONNX file is limited to 2 GB, but these weights take %.1f GB; use --safetensors",
                      (double)bytes / 1e9);
  }

  append(&graph, &onnx->nodes);
  core_protobuf_text(&graph, 2, graph_name);
  append(&graph, &onnx->constants);
  append(&graph, &onnx->inputs);
  append(&graph, &onnx->outputs);
  core_protobuf_text(&opset, 1, "");
  core_protobuf_int(&opset, 2, OPSET);

  core_protobuf_int(file, 1, IR_VERSION);
  core_protobuf_text(file, 2, "sweep");
  core_protobuf_text(file, 3, core_version());
  core_protobuf_message(file, 7, &graph);
  core_protobuf_message(file, 8, &opset);
  append(file, &onnx->properties);

  onnx_free(onnx);
  return CORE_OK;
}
