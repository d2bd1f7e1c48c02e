/* An input of a fuzz target as a file without a disk: one memory file that every input overwrites. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

const char *fuzz_file(const uint8_t *data, size_t size) {
  static int fd = -1;
  static char path[64];
  if (fd < 0) {
    fd = memfd_create("input", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  FUZZ_CHECK(ftruncate(fd, 0) == 0);
  for (size_t at = 0; at < size;) {
    ssize_t put = pwrite(fd, data + at, size - at, (off_t)at);
    FUZZ_CHECK(put > 0);
    at += (size_t)put;
  }
  return path;
}
