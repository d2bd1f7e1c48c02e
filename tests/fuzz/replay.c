/* Replaces libFuzzer in the ordinary test run: feeds each file of the given directories to the target, which must
 * return. Prints one TAP line per directory; after a crash the last line is the file's name. */
#include <stdio.h>
#include <stdlib.h>

#include "core/files.h"
#include "fuzz/fuzz.h"

/* Optional in a target. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv) { return 0; }

static int replay_file(const char *path) {
  char *data = NULL;
  size_t size = 0;
  TRY(core_files_read(path, 0, &data, &size));
  printf("# %s\n", path);
  fflush(stdout);
  /* a copy of the exact size, so that a sanitizer sees a read past the end */
  uint8_t *exact = malloc(size + !size);
  FUZZ_CHECK(exact);
  memcpy(exact, data, size);
  free(data);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return CORE_OK;
}

static int replay_directory(const char *directory, size_t *count) {
  char **names = NULL, path[CORE_PATH_MAX];
  int code = CORE_OK;
  TRY(core_files_list(directory, &names, count));
  for (size_t i = 0; i < *count; i++) {
    if (code == CORE_OK) code = core_files_path(path, "%s/%s", directory, names[i]);
    if (code == CORE_OK) code = replay_file(path);
    free(names[i]);
  }
  free(names);
  return code;
}

int main(int argc, char **argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  for (int i = 1; i < argc; i++) {
    size_t count = 0;
    int code = replay_directory(argv[i], &count);
    if (code == CORE_OK && count > 0) printf("ok %d - %s: %zu inputs\n", i, argv[i], count);
    else printf("not ok %d - %s: %s\n", i, argv[i], code == CORE_OK ? "no inputs" : core_error_message());
  }
  printf("1..%d\n", argc - 1);
  return 0;
}
