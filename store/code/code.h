/* External code of a run: source files of a Gymnasium module (found by find_code.py), a C library, the
 * files of env.code, the libraries of MuJoCo and Procgen, and versions of Python packages. It is found without
 * executing it. trust.h checks whether it may run; runs record it (run.h: StoreState), since runs of one configuration
 * with different code are not comparable. */
#ifndef STORE_CODE_H
#define STORE_CODE_H
#include <stdbool.h>

#include "core/config/config.h"
#include "core/files.h"

enum {
  STORE_CODE_HASH = 33,      /* 32 hex digits and NUL: BLAKE2b-128 */
  STORE_CODE_SUMMARY = 1024, /* bytes of a line with files and versions */
};

typedef struct StoreCode {
  char hash[STORE_CODE_HASH];       /* hash of `lines`; "": only the program's own code, or packages are missing */
  char brought[STORE_CODE_HASH];    /* hash of a trainer's own files that would be executed; "": none */
  char summary[STORE_CODE_SUMMARY]; /* "pendulous.py 842d005bb5e3, gymnasium 1.2.0", with 12 digits of a file's hash */
  char *lines;                      /* tab-separated "file NAME HASH", "library NAME HASH", "package NAME VERSION" */
  char *files;                      /* the first of the experiment's own files, "PATH (BLAKE2b HASH), ..." */
  char *modules;                    /* tab-separated "root NAME FOLDER" and "file PATH HASH" for worker.py */
} StoreCode;

/* Finds the code of a configuration. CORE_USAGE: a module or file is missing; CORE_FAIL: it cannot be read. The result
 * is owned by this module and valid until store_code_clear_cache. Starts the configuration's Python, so env.python must
 * be trusted first (trust.h). */
int store_code_find(const CoreConfig *config, const StoreCode **code);
/* Clears the cache, since files may have changed. */
void store_code_clear_cache(void);

/* Formats the differences between two summaries: "pendulous.py changed, numpy 2.3.1 -> 2.4.0". */
void store_code_compare(const char *before, const char *now, CoreText *text);

/* Returns the Python of a setting env.python; "": $SWEEP_PYTHON, or python3. `path`: buffer for an expanded "~/". */
const char *store_code_python(const char *setting, char path[CORE_PATH_MAX]);
/* Finds the file that a shell would execute as `name`. False: none. */
bool store_code_find_program(const char *name, char path[CORE_PATH_MAX]);
/* Whether environments of this task run in Python. */
bool store_code_needs_python(const char *task);

/* Finds the file of env.task = library:FILE/NAME in env.folder or else the current directory. CORE_USAGE: the task
 * names no file. */
int store_code_library(const CoreConfig *config, char path[CORE_PATH_MAX]);
/* Hashes names and contents of the files of [program] code as they are now; "": none. Appends all of them to `summary`:
 * "ppo.py 842d005bb5e3, env.py ...". CORE_USAGE: one is missing. */
int store_code_script_hash(const CoreScript *program, char hash[STORE_CODE_HASH], CoreText *summary);
/* Opens a copy in memory of a file of the code, which no one can change. CORE_FAIL: its bytes are not those that were
 * hashed. Caller closes *fd. */
int store_code_open(const StoreCode *code, const char *path, int *fd);
/* Hashes a file. */
int store_code_hash_file(const char *path, char hash[STORE_CODE_HASH]);
/* Hashes bytes. */
void store_code_hash_bytes(const void *bytes, size_t size, char hash[STORE_CODE_HASH]);

/* Finds the directory of $MUJOCO_HOME, of the build or, in a package, of the installation, and its
 * lib/libmujoco.so*, the last by name. False: none. */
bool store_code_mujoco(const char **home, char path[CORE_PATH_MAX]);
/* Finds the directory of $PROCGEN_HOME, of the build or of the installation, and its library. */
int store_code_procgen(const char **home, char path[CORE_PATH_MAX]);

#endif
