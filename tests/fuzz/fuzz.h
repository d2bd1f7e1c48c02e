/* Helpers of the fuzz targets. A target is one file, fuzz_<name>.c, with the entry of libFuzzer (`make fuzz`); linked
 * with replay.c instead of libFuzzer it runs once over files, as `make check` does with the corpus. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Asserts an invariant of every input; its violation is a finding. */
#define FUZZ_CHECK(condition) CORE_CHECK(condition)

/* The bytes as a file, for what only reads files: its path, valid until the next call. The file is in memory. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
