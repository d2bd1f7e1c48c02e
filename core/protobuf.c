/* Encodes and decodes the wire format of protocol buffers, and parses TFRecord frames. Assumes a little-endian
 * machine. */
#include "core/protobuf.h"

#include <pthread.h>
#include <string.h>

enum { VARINT = 0, FIXED_64 = 1, LENGTH = 2, FIXED_32 = 5, VARINT_BYTES = 10 };

static void append_varint(CoreText *text, uint64_t value) {
  unsigned char bytes[VARINT_BYTES];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = (unsigned char)(value | 0x80);
  bytes[count++] = (unsigned char)value;
  core_text_append_bytes(text, bytes, count);
}

static void append_tag(CoreText *message, int field, int type) {
  append_varint(message, (uint64_t)field << 3 | (uint64_t)type);
}

void core_protobuf_int(CoreText *message, int field, int64_t value) {
  append_tag(message, field, VARINT);
  append_varint(message, (uint64_t)value);
}

void core_protobuf_float(CoreText *message, int field, float value) {
  append_tag(message, field, FIXED_32);
  core_text_append_bytes(message, &value, sizeof value);
}

void core_protobuf_double(CoreText *message, int field, double value) {
  append_tag(message, field, FIXED_64);
  core_text_append_bytes(message, &value, sizeof value);
}

void core_protobuf_bytes(CoreText *message, int field, const void *bytes, size_t count) {
  append_tag(message, field, LENGTH);
  append_varint(message, count);
  core_text_append_bytes(message, bytes, count);
}

void core_protobuf_text(CoreText *message, int field, const char *text) {
  core_protobuf_bytes(message, field, text, strlen(text));
}

void core_protobuf_message(CoreText *message, int field, CoreText *inner) {
  core_protobuf_bytes(message, field, core_text_string(inner), inner->length);
  core_text_free(inner);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool core_protobuf_next_varint(const unsigned char **cursor, const unsigned char *end, uint64_t *value) {
  const unsigned char *c = *cursor;
  *value = 0;
  for (int shift = 0; c < end && shift < 64; shift += 7) {
    *value |= (uint64_t)(*c & 0x7f) << shift;
    if (*c++ & 0x80) continue;
    *cursor = c;
    return true;
  }
  return false;
}

/* Reads a little-endian integer of fixed size. */
static bool read_fixed(const unsigned char **cursor, const unsigned char *end, size_t size, uint64_t *value) {
  *value = 0;
  if ((size_t)(end - *cursor) < size) return false;
  memcpy(value, *cursor, size);
  *cursor += size;
  return true;
}

bool core_protobuf_next(const unsigned char **cursor, const unsigned char *end, CoreProtobufField *field) {
  const unsigned char *c = *cursor;
  uint64_t tag_value, size;
  *field = (CoreProtobufField){0};

  if (!core_protobuf_next_varint(&c, end, &tag_value)) return false;
  field->number = tag_value >> 3;
  field->wire = (CoreProtobufWire)(tag_value & 7);
  if (field->wire == CORE_PROTOBUF_VARINT) {
    if (!core_protobuf_next_varint(&c, end, &field->integer)) return false;
  } else if (field->wire == CORE_PROTOBUF_FIXED_64 || field->wire == CORE_PROTOBUF_FIXED_32) {
    if (!read_fixed(&c, end, field->wire == CORE_PROTOBUF_FIXED_64 ? 8 : 4, &field->integer)) return false;
  } else if (field->wire == CORE_PROTOBUF_LENGTH) {
    if (!core_protobuf_next_varint(&c, end, &size) || size > (size_t)(end - c)) return false;
    field->bytes = c;
    field->size = (size_t)size;
    c += size;
  } else {
    return false; /* groups, which are obsolete */
  }

  *cursor = c;
  return true;
}

double core_protobuf_real(const CoreProtobufField *field) {
  float single;
  double real;
  if (field->wire == CORE_PROTOBUF_FIXED_32) {
    const uint32_t bits = (uint32_t)field->integer;
    memcpy(&single, &bits, sizeof single);
    return single;
  }
  memcpy(&real, &field->integer, sizeof real);
  return real;
}

/* ---- TFRecord -------------------------------------------------------------------------------------------------- */

enum { HEAD_BYTES = 12, TAIL_BYTES = 4 };

static uint32_t table[256];
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* Fills the table of the reflected polynomial 0x1edc6f41. */
static void fill_table(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
}

uint32_t core_crc32c(const void *bytes, size_t size) {
  uint32_t crc = 0xffffffffu;
  pthread_once(&prepared, fill_table);
  for (const unsigned char *c = bytes, *end = c + size; c < end; c++) crc = crc >> 8 ^ table[(crc ^ *c) & 0xff];
  return ~crc;
}

/* Masks a checksum as TensorFlow does, so that data which contain checksums can be checksummed. */
static uint32_t mask(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

static uint32_t read_32(const unsigned char *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

CoreTfrecordState core_tfrecord_next(const unsigned char *bytes, size_t count, const unsigned char **data,
                                     size_t *data_size, size_t *size) {
  uint64_t length;
  if (count < HEAD_BYTES) return CORE_TFRECORD_TORN;
  memcpy(&length, bytes, sizeof length);
  if (mask(core_crc32c(bytes, sizeof length)) != read_32(bytes + 8) || length > CORE_TFRECORD_BYTES_MAX)
    return CORE_TFRECORD_LOST;
  *size = HEAD_BYTES + (size_t)length + TAIL_BYTES;
  if (count < *size) return CORE_TFRECORD_TORN;
  *data = bytes + HEAD_BYTES;
  *data_size = (size_t)length;
  return mask(core_crc32c(*data, (size_t)length)) == read_32(*data + length) ? CORE_TFRECORD_WHOLE
                                                                             : CORE_TFRECORD_DAMAGED;
}
