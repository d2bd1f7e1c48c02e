/* CRC-32 (IEEE 802.3): the checksum of run log lines, by zlib. */
#ifndef STORE_CRC32_INTERNAL_H
#define STORE_CRC32_INTERNAL_H
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

static inline uint32_t store_crc32(const void *bytes, size_t count) { return (uint32_t)crc32_z(0, bytes, count); }

#endif
