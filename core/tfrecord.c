/* Parses TFRecord frames and checks their checksums. */
#include "core/tfrecord.h"

#include <pthread.h>
#include <string.h>

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
