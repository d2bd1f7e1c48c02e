/* A mutator for JSON: half of the time one number of the text becomes an odd one, for a mutation of bytes nearly always
 * ends the text's being JSON. Only in libFuzzer's own programs (`make fuzz`). */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/random.h"
#include "fuzz/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static bool in_number(uint8_t c) { return isdigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

/* Returns the offset of the next number that is a value, at or after `at`; size if there is none. */
static size_t find_number(const uint8_t *data, size_t size, size_t at) {
  for (size_t i = at > 0 ? at : 1; i < size; i++)
    if ((isdigit(data[i]) || data[i] == '-') && (data[i - 1] == ' ' || data[i - 1] == ':')) return i;
  return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static const char *const odd[] = {
    "0", "1", "2", "3", "4", "5", "-1", "7", "10", "11", "12", "0.5", "-0.5", "2.5", "0.1", "-0.1", "1e-3", "0.0010001",
    "1e-9", "1e-38", "1e-45", "-0.0", "3.1415927", "100", "-100", "1e5", "1e8", "1e9", "-1e9", "1e38", "2147483647",
    "true", "false",
  };
  CoreRandomStream random = core_random_stream(seed, CORE_RANDOM_TEST, 0, 0);
  if (size < 4 || core_random_next(&random) % 2) return LLVMFuzzerMutate(data, size, max_size);
  size_t begin = find_number(data, size, core_random_below(core_random_next(&random), (uint32_t)size)), end = begin;
  if (begin == size) return LLVMFuzzerMutate(data, size, max_size);
  while (end < size && in_number(data[end])) end++;
  const char *number = odd[core_random_next(&random) % (sizeof odd / sizeof odd[0])];
  size_t length = strlen(number);
  if (size - (end - begin) + length > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memmove(data + begin + length, data + end, size - end);
  memcpy(data + begin, number, length);
  return size - (end - begin) + length;
}
