/* Prints how far two checkpoints' networks are apart: ||a - b|| / ||a|| over actor and critic, in double. Not a test by
 * itself: tests/mpi compares runs of different numbers of ranks with it. Usage: ranks_difference A.ckpt B.ckpt */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/checkpoint/checkpoint.h"

static size_t section_bytes(const char *path, const char *name) {
  CheckpointContents contents;
  if (checkpoint_inspect(path, &contents) != CORE_OK) return 0;
  for (int i = 0; i < contents.sections; i++)
    if (strcmp(contents.section[i].name, name) == 0) return contents.section[i].bytes;
  return 0;
}

static float *read_network(const char *path, const char *name, size_t bytes) {
  float *weights = core_memory_allocate(bytes);
  int64_t iteration;
  if (checkpoint_read_section(path, NULL, name, weights, bytes, &iteration) == CORE_OK) return weights;
  fprintf(stderr, "%s\n", core_error_message());
  exit(1);
}

int main(int argc, char **argv) {
  static const char *const networks[] = {"actor", "critic"};
  double difference = 0, norm = 0;
  if (argc != 3) return 2;
  for (int i = 0; i < 2; i++) {
    const size_t bytes = section_bytes(argv[1], networks[i]);
    if (bytes == 0) {
      fprintf(stderr, "%s: no section %s\n", argv[1], networks[i]);
      return 1;
    }
    float *a = read_network(argv[1], networks[i], bytes), *b = read_network(argv[2], networks[i], bytes);
    for (size_t k = 0; k < bytes / sizeof *a; k++) {
      difference += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
      norm += (double)a[k] * (double)a[k];
    }
    free(a);
    free(b);
  }
  printf("%.3g\n", sqrt(difference / norm));
  return 0;
}
