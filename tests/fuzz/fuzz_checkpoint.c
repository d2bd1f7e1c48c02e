/* A checkpoint file's bytes -> every reader of checkpoints, twice: unchanged, and with corrected checksums, so that
 * the code behind them is reached, too. Format: trainer/checkpoint/checkpoint.h. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "fuzz/fuzz.h"
#include "trainer/checkpoint/checkpoint.h"

enum { HEADER = 56, ROW = 64, CHECKSUM = 32, SECTIONS_AT = 16, BYTES_AT = CHECKPOINT_NAME, SUM_AT = 32 };

static void read_checkpoint(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(data, size);
  char run_id[CORE_RUN_ID];
  int64_t iteration;
  bool there;
  unsigned char section[64];
  CoreText text = {0};
  CheckpointContents contents;
  if (checkpoint_identify(path, run_id, &iteration) == CORE_OK)
    FUZZ_CHECK(memchr(run_id, '\0', sizeof run_id));
  checkpoint_has_section(path, "weights", &there);
  checkpoint_read_section(path, NULL, "weights", section, sizeof section, &iteration);
  checkpoint_read_section(path, "0123456789abcdef", "weights", section, sizeof section, &iteration);
  if (checkpoint_inspect(path, &contents) == CORE_OK) checkpoint_describe(&contents, &text);
  core_text_free(&text);
}

/* Puts the right checksums wherever the file has room for them. */
static void correct(uint8_t *data, size_t size) {
  uint32_t sections = 0;
  if (size < HEADER + CHECKSUM) return;
  memcpy(&sections, data + SECTIONS_AT, sizeof sections);
  if (sections > CHECKPOINT_SECTIONS_MAX || size < HEADER + sections * ROW + CHECKSUM) return;
  size_t front = HEADER + sections * ROW, at = front + CHECKSUM;
  for (uint32_t i = 0; i < sections; i++) {
    uint8_t *row = data + HEADER + i * ROW;
    uint64_t bytes;
    memcpy(&bytes, row + BYTES_AT, sizeof bytes);
    if (bytes > size - at) break;
    crypto_generichash(row + SUM_AT, CHECKSUM, data + at, bytes, NULL, 0);
    at += bytes;
  }
  crypto_generichash(data + front, CHECKSUM, data, front, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FUZZ_CHECK(sodium_init() >= 0);
  uint8_t *copy = core_memory_allocate(size + 1);
  memcpy(copy, data, size);
  read_checkpoint(data, size);
  correct(copy, size);
  read_checkpoint(copy, size);
  free(copy);
  return 0;
}
