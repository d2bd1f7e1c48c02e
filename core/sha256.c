/* Computes SHA-256 sums with libsodium (sha256.h). */
#include "core/sha256.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/memory.h"

enum { SUM_BUFFER = 1 << 20 };

void core_sha256(const void *data, size_t size, char sum[CORE_SHA256]) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, data, (unsigned long long)size);
  sodium_bin2hex(sum, CORE_SHA256, digest, sizeof digest);
}

int core_sha256_file(const char *path, char sum[CORE_SHA256], int64_t *bytes) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256_state state;
  int64_t total = 0;
  ssize_t length;
  int fd;
  TRY(core_files_open_reading(path, &fd));
  char *buffer = core_memory_allocate(SUM_BUFFER);

  crypto_hash_sha256_init(&state);
  while ((length = read(fd, buffer, SUM_BUFFER)) > 0) {
    crypto_hash_sha256_update(&state, (unsigned char *)buffer, (unsigned long long)length);
    total += length;
  }
  const int code = length < 0 ? core_error_errno(CORE_FAIL, "cannot read %s", path) : CORE_OK;

  close(fd);
  free(buffer);
  crypto_hash_sha256_final(&state, digest);
  sodium_bin2hex(sum, CORE_SHA256, digest, sizeof digest);
  if (bytes) *bytes = total;
  return code;
}

const char *core_sha256_recorded(const char *text, size_t *file_length) {
  const size_t length = strlen(text), tail = sizeof CORE_SHA256_MARK - 1 + CORE_SHA256 - 1;
  if (length <= tail || strncmp(text + length - tail, CORE_SHA256_MARK, sizeof CORE_SHA256_MARK - 1) != 0) return NULL;
  const char *sum = text + length - (CORE_SHA256 - 1);
  if (strspn(sum, "0123456789abcdef") != CORE_SHA256 - 1) return NULL;
  *file_length = length - tail;
  return sum;
}
