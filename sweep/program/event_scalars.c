/* Reads protocol buffers of events (events.h). */
#include "sweep/program/events.h"

#include <stdint.h>
#include <string.h>

#include "core/protobuf.h"

enum { /* field numbers of TensorFlow's protocol buffers */
  EVENT_STEP = 2, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_TENSOR = 8,
  TENSOR_TYPE = 1, TENSOR_CONTENT = 4, TENSOR_FLOAT = 5, TENSOR_DOUBLE = 6, TENSOR_INT = 7, TENSOR_INT64 = 10,
  TYPE_FLOAT = 1, TYPE_DOUBLE = 2, TYPE_INT32 = 3, TYPE_INT64 = 9
};

/* Parses the bytes of a scalar tensor. */
static bool parse_content(uint64_t type, const CoreProtobufField *content, double *value) {
  float single;
  int32_t int32;
  int64_t int64;

  if (type == TYPE_FLOAT && content->size == sizeof single) {
    memcpy(&single, content->bytes, sizeof single);
    *value = single;
  } else if (type == TYPE_DOUBLE && content->size == sizeof *value) {
    memcpy(value, content->bytes, sizeof *value);
  } else if (type == TYPE_INT32 && content->size == sizeof int32) {
    memcpy(&int32, content->bytes, sizeof int32);
    *value = int32;
  } else if (type == TYPE_INT64 && content->size == sizeof int64) {
    memcpy(&int64, content->bytes, sizeof int64);
    *value = (double)int64;
  } else {
    return false;
  }
  return true;
}

/* Parses a tensor with one element. Elements are packed, or a field each. */
static bool parse_tensor(const unsigned char *next, const unsigned char *end, double *value) {
  CoreProtobufField field, content = {0};
  uint64_t type = 0, varint;
  size_t elements = 0;

  while (core_protobuf_next(&next, end, &field)) {
    if (field.number == TENSOR_TYPE) type = field.integer;
    if (field.number == TENSOR_CONTENT) content = field;

    const bool is_real = field.number == TENSOR_FLOAT || field.number == TENSOR_DOUBLE;
    const bool is_integer = field.number == TENSOR_INT || field.number == TENSOR_INT64;
    const size_t width = field.number == TENSOR_FLOAT ? 4 : 8;

    if (is_real && field.wire == CORE_PROTOBUF_LENGTH && field.size == width) {
      CoreProtobufField element = {.wire = width == 4 ? CORE_PROTOBUF_FIXED_32 : CORE_PROTOBUF_FIXED_64};
      memcpy(&element.integer, field.bytes, width);
      *value = core_protobuf_real(&element);
      elements++;
    } else if (is_real && field.wire != CORE_PROTOBUF_LENGTH) {
      *value = core_protobuf_real(&field);
      elements++;
    } else if (is_integer) {
      const unsigned char *packed = field.bytes, *packed_end = packed + field.size;
      varint = field.integer;
      if (field.wire == CORE_PROTOBUF_LENGTH &&
          (!core_protobuf_next_varint(&packed, packed_end, &varint) || packed != packed_end))
        return false; /* damaged, or several elements */
      *value = (double)(int64_t)varint;
      elements++;
    }
  }
  return elements == 1 || (elements == 0 && content.bytes && parse_content(type, &content, value));
}

/* Reads a value of a summary. */
static void read_value(double step, const CoreProtobufField *message, ProgramOnScalar on_scalar, void *context) {
  const unsigned char *next = message->bytes, *end = next + message->size;
  CoreProtobufField field, tag = {0};
  double value = 0;
  bool has_value = false;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number == VALUE_TAG && field.wire == CORE_PROTOBUF_LENGTH) tag = field;
    if (field.number == VALUE_SIMPLE && field.wire == CORE_PROTOBUF_FIXED_32) {
      value = core_protobuf_real(&field);
      has_value = true;
    } else if (field.number == VALUE_TENSOR && field.wire == CORE_PROTOBUF_LENGTH) {
      has_value = parse_tensor(field.bytes, field.bytes + field.size, &value);
    }
  }
  if (has_value && tag.size > 0) on_scalar(context, step, (const char *)tag.bytes, tag.size, value);
}

bool program_event_scalars(const unsigned char *data, size_t size, ProgramOnScalar on_scalar, void *context) {
  const unsigned char *next = data, *end = data + size;
  CoreProtobufField field, value;
  double step = 0;
  while (core_protobuf_next(&next, end, &field))
    if (field.number == EVENT_STEP) step = (double)(int64_t)field.integer;
  const bool is_whole = next == end;

  next = data;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number != EVENT_SUMMARY || field.wire != CORE_PROTOBUF_LENGTH) continue;
    const unsigned char *inner = field.bytes;
    while (core_protobuf_next(&inner, field.bytes + field.size, &value))
      if (value.number == SUMMARY_VALUE && value.wire == CORE_PROTOBUF_LENGTH)
        read_value(step, &value, on_scalar, context);
  }
  return is_whole;
}
