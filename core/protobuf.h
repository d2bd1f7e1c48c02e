/* Protocol buffers (protobuf.dev/programming-guides/encoding). A message is a CoreText of its consecutive
 * fields; a nested message is made first and then appended.
 *
 *   CoreText inner = {0}, outer = {0};
 *   core_protobuf_text(&inner, 1, "key");
 *   core_protobuf_message(&outer, 14, &inner);   frees inner
 *
 * `field` is the field's number in the .proto file, 1 or more. The files of TensorBoard frame messages as TFRecords. */
#ifndef CORE_PROTOBUF_H
#define CORE_PROTOBUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

void core_protobuf_int(CoreText *message, int field, int64_t value); /* int32, int64, uint64, enum, bool */
void core_protobuf_float(CoreText *message, int field, float value);
void core_protobuf_double(CoreText *message, int field, double value);
void core_protobuf_bytes(CoreText *message, int field, const void *bytes, size_t count);
void core_protobuf_text(CoreText *message, int field, const char *text); /* string; must be UTF-8 */
void core_protobuf_message(CoreText *message, int field, CoreText *inner);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef enum CoreProtobufWire {
  CORE_PROTOBUF_VARINT = 0, CORE_PROTOBUF_FIXED_64 = 1, CORE_PROTOBUF_LENGTH = 2, CORE_PROTOBUF_FIXED_32 = 5
} CoreProtobufWire;

typedef struct CoreProtobufField {
  uint64_t number;
  CoreProtobufWire wire;
  uint64_t integer;             /* value of a varint, or the bits of a fixed number */
  const unsigned char *bytes;   /* contents of a text, message or packed list: `size` bytes of the message */
  size_t size;
} CoreProtobufField;

/* Reads the next field of a message in [*cursor, end) and advances *cursor. false: at the end (*cursor == end), or
 * damaged (*cursor < end). */
bool core_protobuf_next(const unsigned char **cursor, const unsigned char *end, CoreProtobufField *field);
/* Reads a varint of a packed list. false: at the end, or damaged. */
bool core_protobuf_next_varint(const unsigned char **cursor, const unsigned char *end, uint64_t *value);
/* Returns the value of a fixed field: a float of 32 bits, or a double of 64. */
double core_protobuf_real(const CoreProtobufField *field);

/* ---- TFRecord (tensorflow.org/tutorials/load_data/tfrecord) ------------------------------------------------------
 * A frame: length of the data (8 bytes), masked CRC-32C of the length, the data, masked CRC-32C of the data;
 * little-endian. */

enum { CORE_TFRECORD_BYTES_MAX = 64 << 20 /* maximum data of one record */ };

typedef enum CoreTfrecordState {
  CORE_TFRECORD_WHOLE,
  CORE_TFRECORD_TORN,    /* incomplete: its end is not written yet */
  CORE_TFRECORD_DAMAGED, /* wrong checksum of the data; the next record can be found */
  CORE_TFRECORD_LOST     /* wrong checksum of the length, or too large: no later record can be found */
} CoreTfrecordState;

/* Computes CRC-32C (Castagnoli), as in iSCSI and TensorFlow. */
uint32_t core_crc32c(const void *bytes, size_t size);

/* Parses the record at the beginning of `bytes`. *data, *data_size: set if it is complete. *size: bytes of the record
 * with its frame, set if it is complete or damaged. */
CoreTfrecordState core_tfrecord_next(const unsigned char *bytes, size_t count, const unsigned char **data,
                                     size_t *data_size, size_t *size);

#endif
