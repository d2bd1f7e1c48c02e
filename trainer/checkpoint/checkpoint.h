/* Checkpoints, in runs/<id>/ckpt: all state that a run needs to resume bit for bit.
 *
 *   iteration-000000000012.ckpt = header | table of sections | BLAKE2b of both | the sections' bytes
 *   best.ckpt: the same, of the best evaluation (best.h)
 *
 * Each section (weights, moments, simulator, ...) has its name, size and BLAKE2b-256 in the table, so a damaged file is
 * detected before it is used. Files are written under a temporary name, fsynced and renamed. Only the holder of the
 * run's lease may write. Sections are opaque bytes here. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/files.h"

enum { CHECKPOINT_SECTIONS_MAX = 32, CHECKPOINT_NAME = 24 };

typedef struct CheckpointSection {
  char name[CHECKPOINT_NAME];
  void *data;            /* the caller's memory; read from and restored into */
  size_t bytes;
  bool is_optional;      /* files of earlier versions lack it, and leave `data` unchanged */
} CheckpointSection;

typedef struct Checkpoint {
  char directory[CORE_PATH_MAX];
  char run_id[CORE_RUN_ID];
  int keep;              /* number of files kept after a write */
  int sections;
  CheckpointSection section[CHECKPOINT_SECTIONS_MAX];
} Checkpoint;

/* Creates the directory and removes leftovers of a crashed write. */
int checkpoint_open(const char *directory, const char *run_id, int keep, Checkpoint *checkpoint);
/* Adds a section of the caller's memory. Writers and readers must add the same sections in the same order. */
void checkpoint_add(Checkpoint *checkpoint, const char *name, void *data, size_t bytes);
/* Adds a section that files may lack. */
void checkpoint_add_optional(Checkpoint *checkpoint, const char *name, void *data, size_t bytes);

/* Writes all sections as of `iteration`, then removes all but the `keep` newest files. CORE_FAIL (e.g. a full disk)
 * leaves the older files unchanged. */
int checkpoint_write(const Checkpoint *checkpoint, int64_t iteration);

/* Writes one file atomically. Errors as checkpoint_write. */
int checkpoint_write_file(const Checkpoint *checkpoint, int64_t iteration, const char *path);

/* Finds the newest file's iteration by its name alone, -1 when there is none. */
int checkpoint_newest(const Checkpoint *checkpoint, int64_t *iteration);

/* Restores all sections from the newest undamaged file. *iteration: its iteration, -1 if none is valid (the sections
 * are then undefined). Damaged files are skipped with a warning in the log; CORE_USAGE for a file of another
 * configuration or program version, which must not be skipped. */
int checkpoint_read_newest(const Checkpoint *checkpoint, int64_t *iteration);

/* Removes every checkpoint of the directory (`--force`). */
int checkpoint_remove_all(const Checkpoint *checkpoint);

/* Finds the directory's newest checkpoint, for tools that use a policy without resuming its run. CORE_USAGE: there is
 * none. */
int checkpoint_newest_path(const char *directory, char path[CORE_PATH_MAX]);
/* Formats the path of an iteration's file, whether or not it exists. */
int checkpoint_path(const char *directory, int64_t iteration, char path[CORE_PATH_MAX]);
/* Reads the run and iteration of a file. CORE_FAIL: its header or table is damaged. */
int checkpoint_identify(const char *path, char run_id[CORE_RUN_ID], int64_t *iteration);
int checkpoint_has_section(const char *path, const char *name, bool *there);
/* Reads one section of one file into data, and checks it. CORE_FAIL: damaged; CORE_USAGE: it belongs to another run
 * than run_id (NULL: any), or has no such section of `bytes` bytes. */
int checkpoint_read_section(const char *path, const char *run_id, const char *name, void *data, size_t bytes,
                            int64_t *iteration);

/* Contents of a file. */
enum { CHECKPOINT_SHOWN = 8 /* bytes of a checksum that are shown */ };
typedef struct CheckpointPart {
  char name[CHECKPOINT_NAME];
  uint64_t bytes;
  unsigned char checksum[CHECKPOINT_SHOWN];
} CheckpointPart;
typedef struct CheckpointContents {
  char run_id[CORE_RUN_ID];
  int64_t iteration;
  int sections;
  CheckpointPart section[CHECKPOINT_SECTIONS_MAX];
} CheckpointContents;

/* Reads and checks the whole file. CORE_FAIL when it is damaged. */
int checkpoint_inspect(const char *path, CheckpointContents *contents);
/* Formats readable lines: run, iteration, sections with sizes and checksums. */
void checkpoint_describe(const CheckpointContents *contents, CoreText *text);
void checkpoint_checksum_text(const CheckpointPart *part, char text[2 * CHECKPOINT_SHOWN + 1]); /* in hex digits */

#endif
