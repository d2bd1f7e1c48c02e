/* The wire format of protocol buffers (protobuf.h). Numbers are little-endian, as on all machines that we build for. */
#include "core/protobuf.h"

#include <string.h>

enum { VARINT = 0, FIXED_64 = 1, LENGTH = 2, FIXED_32 = 5, VARINT_BYTES = 10 };

static void varint(CoreText *text, uint64_t value) {
  unsigned char bytes[VARINT_BYTES];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = (unsigned char)(value | 0x80);
  bytes[count++] = (unsigned char)value;
  core_text_append_bytes(text, bytes, count);
}

static void tag(CoreText *message, int field, int type) { varint(message, (uint64_t)field << 3 | (uint64_t)type); }

void core_protobuf_int(CoreText *message, int field, int64_t value) {
  tag(message, field, VARINT);
  varint(message, (uint64_t)value);
}

void core_protobuf_float(CoreText *message, int field, float value) {
  tag(message, field, FIXED_32);
  core_text_append_bytes(message, &value, sizeof value);
}

void core_protobuf_double(CoreText *message, int field, double value) {
  tag(message, field, FIXED_64);
  core_text_append_bytes(message, &value, sizeof value);
}

void core_protobuf_bytes(CoreText *message, int field, const void *bytes, size_t count) {
  tag(message, field, LENGTH);
  varint(message, count);
  core_text_append_bytes(message, bytes, count);
}

void core_protobuf_text(CoreText *message, int field, const char *text) {
  core_protobuf_bytes(message, field, text, strlen(text));
}

void core_protobuf_message(CoreText *message, int field, CoreText *inner) {
  core_protobuf_bytes(message, field, core_text_string(inner), inner->length);
  core_text_free(inner);
}

void core_protobuf_ints(CoreText *message, int field, const int64_t *values, size_t count) {
  CoreText packed = {0};
  for (size_t i = 0; i < count; i++) varint(&packed, (uint64_t)values[i]);
  core_protobuf_message(message, field, &packed);
}

void core_protobuf_doubles(CoreText *message, int field, const double *values, size_t count) {
  core_protobuf_bytes(message, field, values, count * sizeof *values);
}
