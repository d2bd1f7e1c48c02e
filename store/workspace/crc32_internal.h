/* CRC-32 (IEEE 802.3, as in zlib and gzip): the checksum of run log lines. */
#ifndef STORE_CRC32_INTERNAL_H
#define STORE_CRC32_INTERNAL_H
#include <stddef.h>
#include <stdint.h>

uint32_t store_crc32(const void *bytes, size_t count);

#endif
