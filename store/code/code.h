/* Which code a run is trained on, beside this program's own: the files of a Gymnasium module (find_code.py), a library
 * in C, the files of env.code, the libraries of MuJoCo and Procgen, and versions of Python packages. Nothing of it is
 * run in order to find it. trust.h asks whether it may run; runs record it (run.h: StoreState), since runs of one
 * configuration and other code are not comparable. */
#ifndef STORE_CODE_H
#define STORE_CODE_H
#include <stdbool.h>

#include "core/config/config.h"
#include "core/files.h"

enum {
  STORE_CODE_HASH = 33,      /* 32 hex digits and NUL: BLAKE2b-128 */
  STORE_CODE_SUMMARY = 1024, /* bytes of a line that names files and versions */
};

typedef struct StoreCode {
  char hash[STORE_CODE_HASH];       /* of `lines`; "": the program's own code alone, or packages that are not here */
  char brought[STORE_CODE_HASH];    /* of the files that an experiment brings along and that would run; "": none */
  char summary[STORE_CODE_SUMMARY]; /* "pendulous.py 842d005bb5e3, gymnasium 1.2.0"; 12 digits of a file's hash */
  char *lines;                      /* "file NAME HASH", "library NAME HASH", "package NAME VERSION", tabs between */
  char *files;                      /* "PATH (BLAKE2b HASH), ..." of what is brought along, cut after a few */
  char *modules;                    /* for worker.py: "root NAME FOLDER" and "file PATH HASH", tabs between */
} StoreCode;

/* Finds the code of a configuration. CORE_USAGE: a module or file is not there; CORE_FAIL: it cannot be read. The
 * result belongs to this module; it stays until store_code_forget. It starts the configuration's Python, so
 * env.python must be trusted before (trust.h). */
int store_code_find(const CoreConfig *config, const StoreCode **code);
/* Forgets what was found: files may have changed since. */
void store_code_forget(void);

/* Says what differs between two summaries: "pendulous.py changed, numpy 2.3.1 -> 2.4.0". */
void store_code_compare(const char *before, const char *now, CoreText *text);

/* Returns the Python that a setting env.python names; "": $SWEEP_PYTHON, else python3. path: room for one that begins
 * with "~/", the user's home. */
const char *store_code_python(const char *setting, char path[CORE_PATH_MAX]);
/* Do environments of this task run in Python? */
bool store_code_needs_python(const char *task);

/* The file of env.task = library:FILE/NAME: below env.folder if it is there, else from the current folder.
 * CORE_USAGE: the task names none. */
int store_code_library(const CoreConfig *config, char path[CORE_PATH_MAX]);
/* Puts the hash of a file's bytes into `hash`. */
int store_code_hash_file(const char *path, char hash[STORE_CODE_HASH]);
/* Puts the hash of bytes into `hash`. */
void store_code_hash_bytes(const void *bytes, size_t size, char hash[STORE_CODE_HASH]);

/* The folder that MUJOCO_HOME names, else that of the build, and its lib/libmujoco.so*, the last one by name. False:
 * there is none. */
bool store_code_mujoco(const char **home, char path[CORE_PATH_MAX]);
/* The folder that PROCGEN_HOME names, else that of the build, and its library's path. */
int store_code_procgen(const char **home, char path[CORE_PATH_MAX]);

#endif
