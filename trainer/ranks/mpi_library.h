/* Open MPI, loaded when ranks start: a program without ranks does not need it, and one that was built elsewhere takes
 * the MPI of the cluster. Names are those of MPI; only ranks.c uses them. */
#ifndef TRAINER_RANKS_MPI_LIBRARY_H
#define TRAINER_RANKS_MPI_LIBRARY_H

#if CORE_HAS_MPI
#include <mpi.h>

#define MPI_LIBRARY_FUNCTIONS(X) \
  X(Init_thread) X(Finalize) X(Comm_rank) X(Comm_size) X(Comm_split_type) X(Comm_free) X(Barrier) X(Bcast) X(Send) \
  X(Recv) X(Allgather) X(Allreduce)

/* Type, member, and the object of the library whose address is the handle. */
#define MPI_LIBRARY_HANDLES(X) \
  X(MPI_Comm, world, ompi_mpi_comm_world) X(MPI_Info, info_null, ompi_mpi_info_null) \
  X(MPI_Datatype, byte, ompi_mpi_byte) X(MPI_Datatype, two_ints, ompi_mpi_2int) \
  X(MPI_Datatype, int64, ompi_mpi_int64_t) X(MPI_Datatype, float32, ompi_mpi_float) \
  X(MPI_Datatype, float64, ompi_mpi_double) X(MPI_Op, sum, ompi_mpi_op_sum) X(MPI_Op, max, ompi_mpi_op_max) \
  X(MPI_Op, max_place, ompi_mpi_op_maxloc)

typedef struct MpiLibrary {
#define X(name) __typeof__(&MPI_##name) name;
  MPI_LIBRARY_FUNCTIONS(X)
#undef X
#define X(type, member, object) type member;
  MPI_LIBRARY_HANDLES(X)
#undef X
} MpiLibrary;

/* Filled by mpi_library_open. */
extern MpiLibrary mpi;
#endif

/* Loads the library, once. Fails with CORE_FAIL and the linker's message where there is none, or where the build has no
 * MPI. */
int mpi_library_open(void);

#endif
