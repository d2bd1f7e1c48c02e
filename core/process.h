/* Child processes without a shell, and the location of the running program, from which installed files are found. */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H
#include <stdbool.h>
#include <sys/types.h>

#include "core/files.h"
#include "core/text.h"

typedef struct CoreProcessOutput {
  CoreText out, error;   /* captured stdout and stderr, at most 256 MB each */
  int exit_code;         /* exit code, or 128 + n if killed by signal n */
  bool timed_out;        /* whether it was killed after timeout_s */
} CoreProcessOutput;

/* Runs arguments[0] from PATH with `input` (may be NULL) as its stdin. `environment` is terminated by NULL; NULL:
 * inherited. The child has its own process group, which is killed with it. CORE_FAIL only if it cannot be started. The
 * caller frees `output` with core_process_output_free. */
int core_process_run(const char *const *arguments, char *const *environment, const char *input, int timeout_s,
                     CoreProcessOutput *output);
void core_process_output_free(CoreProcessOutput *output);

/* Whether a program of that name is in PATH. */
bool core_process_exists(const char *name);

/* Reads /proc/<process>/<file> up to its end or the buffer's, and terminates it by NUL. Returns its size; 0: the
 * process has ended, or the file cannot be read. */
size_t core_process_read_proc(pid_t process, const char *file, char *buffer, size_t capacity);
/* Gets the parent and the group of a process, and its state: 'R', 'S', ... ('Z': it, or its main thread, has ended).
 * False: there is no such process. */
bool core_process_find_parent(pid_t process, pid_t *parent, pid_t *group, char *state);

/* ---- this program ------------------------------------------------------------------------------------------------ */

/* Copies the path of the executable. CORE_FAIL: the system does not report it. */
int core_program_path(char path[CORE_PATH_MAX]);
/* Copies the directory of the executable. */
int core_program_directory(char directory[CORE_PATH_MAX]);
/* Finds lib/sweep/NAME below a parent directory of the program, where `make` and `make install` put it. */
int core_program_library_file(const char *name, char path[CORE_PATH_MAX]);

#endif
