/* SHA-256 sums in hex digits, as sha256sum prints them. */
#ifndef CORE_SHA256_H
#define CORE_SHA256_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_SHA256 = 65 }; /* hex digits and NUL */

/* Computes the sum of a file. *bytes: its size; may be NULL. CORE_FAIL: it cannot be read, or is not a regular file. */
int core_sha256_file(const char *path, char sum[CORE_SHA256], int64_t *bytes);

/* Computes the sum of bytes in memory. */
void core_sha256(const void *data, size_t size, char sum[CORE_SHA256]);

/* Marks the sum in a setting "FILE sha256:HEX". */
#define CORE_SHA256_MARK " sha256:"
/* Finds the sum that such a text ends with; NULL: it has none. *file_length: bytes of FILE. */
const char *core_sha256_recorded(const char *text, size_t *file_length);

#endif
