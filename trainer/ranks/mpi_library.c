/* Loads Open MPI (mpi_library.h). */
#include "trainer/ranks/mpi_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "core/error.h"

#if CORE_HAS_MPI
MpiLibrary mpi;

/* Open MPI's ABI since version 2. Its plugins look for its symbols among those of the program. */
static const char name[] = "libmpi.so.40";

static int find_symbol(void *file, const char *symbol, void *place) {
  void *address = dlsym(file, symbol);
  if (!address) return core_error(CORE_FAIL, "%s has no %s", name, symbol);
  memcpy(place, &address, sizeof address);
  return CORE_OK;
}

int mpi_library_open(void) {
  static bool is_open;
  if (is_open) return CORE_OK;
  void *file = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!file) return core_error(CORE_FAIL, "Open MPI cannot be loaded (%s)", dlerror());

#define X(function) TRY(find_symbol(file, "MPI_" #function, &mpi.function));
  MPI_LIBRARY_FUNCTIONS(X)
#undef X
#define X(type, member, object) TRY(find_symbol(file, #object, &mpi.member));
  MPI_LIBRARY_HANDLES(X)
#undef X

  is_open = true;
  return CORE_OK;
}

#else

int mpi_library_open(void) { return core_error(CORE_FAIL, "this program was built without MPI"); }

#endif
