/* TFRecord framing, which TensorBoard's event files have (tensorflow.org/tutorials/load_data/tfrecord): length (8
 * bytes), masked CRC-32C of the length, the data, masked CRC-32C of the data; little-endian. */
#ifndef CORE_TFRECORD_H
#define CORE_TFRECORD_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_TFRECORD_BYTES_MAX = 64 << 20 /* data of one record */ };

typedef enum CoreTfrecordState {
  CORE_TFRECORD_WHOLE,
  CORE_TFRECORD_TORN,     /* its end is not there yet */
  CORE_TFRECORD_DAMAGED,  /* the data are not what was written; the next record can be found */
  CORE_TFRECORD_LOST      /* the length is not what was written, or too large: nothing behind it can be found */
} CoreTfrecordState;

/* CRC-32C (Castagnoli), as iSCSI and TensorFlow have it. */
uint32_t core_crc32c(const void *bytes, size_t size);

/* Looks at the record that `bytes` begin with. *data, *data_size: of a whole one. *size: bytes of the record with its
 * frame, if it is whole or damaged. */
CoreTfrecordState core_tfrecord_next(const unsigned char *bytes, size_t count, const unsigned char **data,
                                     size_t *data_size, size_t *size);

#endif
