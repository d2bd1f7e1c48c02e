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

/* Returns the path of an in-memory file with the bytes, valid until the next call, for functions that read files. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
