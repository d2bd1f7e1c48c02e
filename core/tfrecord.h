/* TFRecord framing of TensorBoard's event files (tensorflow.org/tutorials/load_data/tfrecord): length (8
 * bytes), masked CRC-32C of the length, the data, masked CRC-32C of the data; little-endian. */
#ifndef CORE_TFRECORD_H
#define CORE_TFRECORD_H
#include <stddef.h>
#include <stdint.h>

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
