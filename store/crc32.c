/* CRC-32 with sixteen tables, sixteen bytes a step ("slicing", Kounavis and Berry 2008): an import checks some 300 bytes
 * a row, so a bytewise loop would cost as much as everything else together. */
#include "store/crc32_internal.h"

#include <pthread.h>

enum { SLICES = 16 };
static const uint32_t polynomial = 0xedb88320u; /* bit-reversed */
static uint32_t tables[SLICES][256];

static void make_tables(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  /* tables[k]: the byte followed by k zero bytes. */
  for (int k = 1; k < SLICES; k++)
    for (int byte = 0; byte < 256; byte++)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
}

uint32_t store_crc32(const void *bytes, size_t count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_tables);
  const unsigned char *b = bytes;
  uint32_t crc = 0xffffffffu;
  for (; count >= SLICES; b += SLICES, count -= SLICES) {
    unsigned char first[4] = {(unsigned char)(b[0] ^ crc), (unsigned char)(b[1] ^ crc >> 8),
                              (unsigned char)(b[2] ^ crc >> 16), (unsigned char)(b[3] ^ crc >> 24)};
    crc = tables[15][first[0]] ^ tables[14][first[1]] ^ tables[13][first[2]] ^ tables[12][first[3]] ^
          tables[11][b[4]] ^ tables[10][b[5]] ^ tables[9][b[6]] ^ tables[8][b[7]] ^
          tables[7][b[8]] ^ tables[6][b[9]] ^ tables[5][b[10]] ^ tables[4][b[11]] ^
          tables[3][b[12]] ^ tables[2][b[13]] ^ tables[1][b[14]] ^ tables[0][b[15]];
  }
  for (; count; count--) crc = crc >> 8 ^ tables[0][(crc ^ *b++) & 0xff];
  return ~crc;
}
