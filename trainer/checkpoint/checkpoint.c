/* Reading and writing checkpoint files (format: checkpoint.h). Called by run.c between iterations, and by `trainer
 * checkpoint`. Never changes an existing file: new ones are renamed into place, old ones only removed. */
#include "trainer/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"

enum { VERSION = 1, ORDER_MARK = 0x01020304, CHECKSUM = 32, CHUNK = 1 << 20 };
static const char MAGIC[8] = {'S', 'W', 'E', 'E', 'P', 'C', 'K', '\n'};

typedef struct FileHeader {
  char magic[8];
  uint32_t version, order_mark;  /* reads differently on a machine of the other byte order */
  uint32_t sections, unused;
  int64_t iteration;
  char run_id[24];
} FileHeader;
_Static_assert(sizeof(FileHeader) == 56, "the header has no padding");

typedef struct FileSection {
  char name[CHECKPOINT_NAME];
  uint64_t bytes;
  unsigned char checksum[CHECKSUM];
} FileSection;
_Static_assert(sizeof(FileSection) == 64, "a table row has no padding");

/* Header and table, before the data. */
typedef struct FileFront {
  FileHeader header;
  FileSection table[CHECKPOINT_SECTIONS_MAX];
} FileFront;

static void hash(const void *data, size_t bytes, unsigned char checksum[CHECKSUM]) {
  crypto_generichash(checksum, CHECKSUM, data, bytes, NULL, 0);
}

static void hash_front(const FileFront *front, unsigned char checksum[CHECKSUM]) {
  hash(front, sizeof front->header + front->header.sections * sizeof front->table[0], checksum);
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* Returns the iteration in a checkpoint's name, -1 for any other name. */
static int64_t iteration_of(const char *name) {
  char again[64];
  long long iteration;
  if (sscanf(name, "iteration-%lld.ckpt", &iteration) != 1 || iteration < 0) return -1;
  snprintf(again, sizeof again, "iteration-%012lld.ckpt", iteration);
  return strcmp(again, name) == 0 ? iteration : -1;
}

static int path_of(const Checkpoint *checkpoint, int64_t iteration, char path[CORE_PATH_MAX]) {
  return core_files_path(path, "%s/iteration-%012" PRId64 ".ckpt", checkpoint->directory, iteration);
}

static int newest_first(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

/* Lists the directory's checkpoints, newest first; free(*iterations). */
static int list_iterations(const Checkpoint *checkpoint, int64_t **iterations, size_t *count) {
  char **names;
  size_t files;
  TRY(core_files_list(checkpoint->directory, &names, &files));
  *iterations = core_memory_zero_allocate(files + 1, sizeof **iterations);
  *count = 0;
  for (size_t i = 0; i < files; i++) {
    int64_t iteration = iteration_of(names[i]);
    if (iteration >= 0) (*iterations)[(*count)++] = iteration;
    free(names[i]);
  }
  free(names);
  qsort(*iterations, *count, sizeof **iterations, newest_first);
  return CORE_OK;
}

/* Removes all but the `keep` newest. */
static int remove_older(const Checkpoint *checkpoint, size_t keep) {
  int64_t *iterations;
  size_t count;
  TRY(list_iterations(checkpoint, &iterations, &count));
  int code = CORE_OK;
  for (size_t i = keep; i < count; i++) {
    if (code != CORE_OK) break;
    char path[CORE_PATH_MAX];
    code = path_of(checkpoint, iterations[i], path);
    if (code == CORE_OK) code = core_files_remove(path);
  }
  free(iterations);
  return code;
}

static int remove_leftovers(const char *directory) {
  char **names;
  size_t count;
  TRY(core_files_list(directory, &names, &count));
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(names[i]);
    char path[CORE_PATH_MAX];
    if (length > 4 && strcmp(names[i] + length - 4, ".tmp") == 0 &&
        core_files_path(path, "%s/%s", directory, names[i]) == CORE_OK && core_files_remove(path) != CORE_OK)
      core_error_clear();
    free(names[i]);
  }
  free(names);
  return CORE_OK;
}

int checkpoint_open(const char *directory, const char *run_id, int keep, Checkpoint *checkpoint) {
  memset(checkpoint, 0, sizeof *checkpoint);
  checkpoint->keep = keep;
  if (sodium_init() < 0) return core_error(CORE_FAIL, "libsodium: cannot be initialized");
  TRY(core_files_path(checkpoint->directory, "%s", directory));
  TRY(core_text_copy(checkpoint->run_id, sizeof checkpoint->run_id, run_id, "run id"));
  TRY(core_files_make_directories(directory));
  return remove_leftovers(directory);
}

void checkpoint_add(Checkpoint *checkpoint, const char *name, void *data, size_t bytes) {
  CORE_CHECK(checkpoint->sections < CHECKPOINT_SECTIONS_MAX && strlen(name) < CHECKPOINT_NAME);
  CheckpointSection *section = &checkpoint->section[checkpoint->sections++];
  snprintf(section->name, sizeof section->name, "%s", name);
  section->data = data;
  section->bytes = bytes;
  section->is_optional = false;
}

void checkpoint_add_optional(Checkpoint *checkpoint, const char *name, void *data, size_t bytes) {
  checkpoint_add(checkpoint, name, data, bytes);
  checkpoint->section[checkpoint->sections - 1].is_optional = true;
}

int checkpoint_newest(const Checkpoint *checkpoint, int64_t *iteration) {
  int64_t *iterations;
  size_t count;
  TRY(list_iterations(checkpoint, &iterations, &count));
  *iteration = count > 0 ? iterations[0] : -1;
  free(iterations);
  return CORE_OK;
}

int checkpoint_remove_all(const Checkpoint *checkpoint) { return remove_older(checkpoint, 0); }

/* ---- writing --------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t bytes, const char *path) {
  for (const char *cursor = data; bytes > 0;) {
    ssize_t written = write(fd, cursor, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return core_error_errno(CORE_FAIL, "%s: cannot be written", path);
    cursor += written;
    bytes -= (size_t)written;
  }
  return CORE_OK;
}

static int sync_directory(const char *directory) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return core_error_errno(CORE_FAIL, "%s: cannot be opened", directory);
  int failed = fsync(fd) != 0 && errno != EINVAL; /* some network filesystems cannot fsync directories */
  close(fd);
  return failed ? core_error_errno(CORE_FAIL, "%s: cannot be synchronized", directory) : CORE_OK;
}

static void make_front(const Checkpoint *checkpoint, int64_t iteration, FileFront *front) {
  memset(front, 0, sizeof *front);
  memcpy(front->header.magic, MAGIC, sizeof MAGIC);
  front->header.version = VERSION;
  front->header.order_mark = ORDER_MARK;
  front->header.sections = (uint32_t)checkpoint->sections;
  front->header.iteration = iteration;
  snprintf(front->header.run_id, sizeof front->header.run_id, "%s", checkpoint->run_id);
  for (int i = 0; i < checkpoint->sections; i++) {
    const CheckpointSection *section = &checkpoint->section[i];
    snprintf(front->table[i].name, sizeof front->table[i].name, "%s", section->name);
    front->table[i].bytes = section->bytes;
    hash(section->data, section->bytes, front->table[i].checksum);
  }
}

static int write_sections(const Checkpoint *checkpoint, int64_t iteration, int fd, const char *path) {
  FileFront front;
  unsigned char checksum[CHECKSUM];
  make_front(checkpoint, iteration, &front);
  hash_front(&front, checksum);
  TRY(write_all(fd, &front.header, sizeof front.header, path));
  TRY(write_all(fd, front.table, front.header.sections * sizeof front.table[0], path));
  TRY(write_all(fd, checksum, sizeof checksum, path));
  for (int i = 0; i < checkpoint->sections; i++)
    TRY(write_all(fd, checkpoint->section[i].data, checkpoint->section[i].bytes, path));
  if (fsync(fd) != 0) return core_error_errno(CORE_FAIL, "%s: cannot be synchronized", path);
  return CORE_OK;
}

int checkpoint_write_file(const Checkpoint *checkpoint, int64_t iteration, const char *path) {
  char temporary[CORE_PATH_MAX];
  TRY(core_files_path(temporary, "%s.tmp", path));
  int fd;
  TRY(core_files_open(temporary, CORE_FILES_NEW, &fd));
  int code = write_sections(checkpoint, iteration, fd, temporary);
  if (close(fd) != 0 && code == CORE_OK) code = core_error_errno(CORE_FAIL, "%s: cannot be written", temporary);
  if (code == CORE_OK) code = core_files_rename(temporary, path);
  if (code != CORE_OK) {
    unlink(temporary);
    return code;
  }
  return sync_directory(checkpoint->directory);
}

int checkpoint_write(const Checkpoint *checkpoint, int64_t iteration) {
  char path[CORE_PATH_MAX];
  TRY(path_of(checkpoint, iteration, path));
  TRY(checkpoint_write_file(checkpoint, iteration, path));
  return remove_older(checkpoint, (size_t)checkpoint->keep);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int read_exactly(FILE *file, void *data, size_t bytes, const char *path) {
  if (fread(data, 1, bytes, file) == bytes) return CORE_OK;
  return core_error(CORE_FAIL, "%s: damaged: the file ends too early", path);
}

/* Reads and checks everything before the data, and the file's length against its table. */
static int read_front(FILE *file, const char *path, FileFront *front) {
  FileHeader *header = &front->header;
  unsigned char stored[CHECKSUM], computed[CHECKSUM];
  TRY(read_exactly(file, header, sizeof *header, path));
  if (memcmp(header->magic, MAGIC, sizeof MAGIC) != 0)
    return core_error(CORE_FAIL, "%s: damaged, or not a checkpoint: its first bytes are wrong", path);
  if (header->sections > CHECKPOINT_SECTIONS_MAX)
    return core_error(CORE_FAIL, "%s: damaged: %" PRIu32 " sections", path, header->sections);

  TRY(read_exactly(file, front->table, header->sections * sizeof front->table[0], path));
  TRY(read_exactly(file, stored, sizeof stored, path));
  hash_front(front, computed);
  if (memcmp(stored, computed, CHECKSUM) != 0)
    return core_error(CORE_FAIL, "%s: damaged: the header's checksum is wrong", path);

  if (header->order_mark != ORDER_MARK)
    return core_error(CORE_USAGE, "%s: written on a machine of the other byte order", path);
  if (header->version != VERSION)
    return core_error(CORE_USAGE, "%s: format version %" PRIu32 "; this program reads version %d", path,
                      header->version, VERSION);

  struct stat status;
  uint64_t expected = (uint64_t)ftello(file);
  for (uint32_t i = 0; i < header->sections; i++) expected += front->table[i].bytes;
  if (fstat(fileno(file), &status) != 0) return core_error_errno(CORE_FAIL, "%s: cannot be read", path);
  if ((uint64_t)status.st_size != expected)
    return core_error(CORE_FAIL, "%s: damaged: %lld bytes instead of %" PRIu64, path, (long long)status.st_size,
                      expected);
  return CORE_OK;
}

/* Reads one section (into `target`, or only to check it when NULL) and compares its checksum. */
static int read_section(FILE *file, const char *path, const FileSection *row, void *target) {
  crypto_generichash_state state;
  unsigned char computed[CHECKSUM];
  unsigned char *chunk = core_memory_allocate(CHUNK);
  int code = CORE_OK;

  crypto_generichash_init(&state, NULL, 0, CHECKSUM);
  for (uint64_t done = 0; done < row->bytes;) {
    if (code != CORE_OK) break;
    size_t bytes = row->bytes - done < CHUNK ? (size_t)(row->bytes - done) : CHUNK;
    code = read_exactly(file, chunk, bytes, path);
    if (code != CORE_OK) break;
    crypto_generichash_update(&state, chunk, bytes);
    if (target != NULL) memcpy((char *)target + done, chunk, bytes);
    done += bytes;
  }

  free(chunk);
  crypto_generichash_final(&state, computed, CHECKSUM);
  if (code == CORE_OK && memcmp(computed, row->checksum, CHECKSUM) != 0)
    code = core_error(CORE_FAIL, "%s: damaged: the checksum of \"%.*s\" is wrong", path, CHECKPOINT_NAME - 1,
                      row->name);
  return code;
}

static int check_run(const char *run_id, const FileFront *front, const char *path, const char *way_out) {
  if (strncmp(front->header.run_id, run_id, sizeof front->header.run_id) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "%s: belongs to run %.*s, not to %s%s", path, (int)sizeof front->header.run_id - 1,
                    front->header.run_id, run_id, way_out);
}

static bool has_section(const FileFront *front, const char *name) {
  for (uint32_t i = 0; i < front->header.sections; i++)
    if (strncmp(front->table[i].name, name, CHECKPOINT_NAME) == 0) return true;
  return false;
}

/* Lists the sections to read from this file; returns their number. */
static int sections_of(const Checkpoint *checkpoint, const FileFront *front,
                       const CheckpointSection *expected[CHECKPOINT_SECTIONS_MAX]) {
  int count = 0;
  for (const CheckpointSection *s = checkpoint->section; s < checkpoint->section + checkpoint->sections; s++)
    if (!s->is_optional || has_section(front, s->name)) expected[count++] = s;
  return count;
}

/* Checks that this undamaged front belongs to the checkpoint: the same run, the same sections. */
static int check_front(const Checkpoint *checkpoint, const FileFront *front, const char *path) {
  const CheckpointSection *expected[CHECKPOINT_SECTIONS_MAX];
  const int count = sections_of(checkpoint, front, expected);
  TRY(check_run(checkpoint->run_id, front, path, "; remove it or start over with --force"));
  if (front->header.sections != (uint32_t)count)
    return core_error(CORE_USAGE, "%s: %" PRIu32 " sections instead of %d: written by another version; start over with "
                      "--force", path, front->header.sections, count);
  for (int i = 0; i < count; i++) {
    const CheckpointSection *section = expected[i];
    if (strncmp(front->table[i].name, section->name, CHECKPOINT_NAME) != 0 || front->table[i].bytes != section->bytes)
      return core_error(CORE_USAGE, "%s: section \"%.*s\" of %" PRIu64 " bytes where \"%s\" of %zu was expected: "
                        "written by another version; start over with --force", path, CHECKPOINT_NAME - 1,
                        front->table[i].name, front->table[i].bytes, section->name, section->bytes);
  }
  return CORE_OK;
}

static int read_file(const Checkpoint *checkpoint, FILE *file, const char *path, int64_t iteration) {
  FileFront front;
  const CheckpointSection *expected[CHECKPOINT_SECTIONS_MAX];
  TRY(read_front(file, path, &front));
  TRY(check_front(checkpoint, &front, path));
  if (front.header.iteration != iteration)
    return core_error(CORE_FAIL, "%s: damaged: it holds iteration %" PRId64, path, front.header.iteration);
  const int count = sections_of(checkpoint, &front, expected);
  for (int i = 0; i < count; i++) TRY(read_section(file, path, &front.table[i], expected[i]->data));
  return CORE_OK;
}

int checkpoint_read_newest(const Checkpoint *checkpoint, int64_t *iteration) {
  int64_t *iterations;
  size_t count;
  TRY(list_iterations(checkpoint, &iterations, &count));

  int code = CORE_OK;
  *iteration = -1;
  for (size_t i = 0; i < count && *iteration < 0 && code != CORE_USAGE; i++) {
    char path[CORE_PATH_MAX];
    code = path_of(checkpoint, iterations[i], path);
    FILE *file = NULL;
    if (code == CORE_OK) code = core_files_open_plain(path, &file);
    if (file != NULL) {
      code = read_file(checkpoint, file, path, iterations[i]);
      fclose(file);
    }
    if (code == CORE_OK) *iteration = iterations[i];
    if (code == CORE_FAIL) core_warn("%s; trying the checkpoint before it", core_error_message());
  }

  free(iterations);
  return code == CORE_USAGE ? CORE_USAGE : CORE_OK;
}

int checkpoint_newest_path(const char *directory, char path[CORE_PATH_MAX]) {
  Checkpoint checkpoint = {0};
  int64_t iteration = -1;
  TRY(core_files_path(checkpoint.directory, "%s", directory));
  if (core_files_exists(directory)) TRY(checkpoint_newest(&checkpoint, &iteration));
  if (iteration < 0)
    return core_error(CORE_USAGE,
                      "%s: no checkpoint in this directory: none was written yet, or sweep rm --checkpoints removed "
                      "them",
                      directory);
  return path_of(&checkpoint, iteration, path);
}

/* Skips the sections before the one of this name. */
static int find_section(FILE *file, const char *path, const FileFront *front, const char *name, size_t bytes,
                        const FileSection **row) {
  uint64_t before = 0;
  *row = NULL;
  for (uint32_t i = 0; i < front->header.sections && *row == NULL; i++) {
    if (strncmp(front->table[i].name, name, CHECKPOINT_NAME) == 0) *row = &front->table[i];
    else before += front->table[i].bytes;
  }
  if (*row == NULL) return core_error(CORE_USAGE, "%s: no section \"%s\": written by another version", path, name);
  if ((*row)->bytes != bytes)
    return core_error(CORE_USAGE, "%s: \"%s\" has %" PRIu64 " bytes where %zu are expected: made with other settings",
                      path, name, (*row)->bytes, bytes);
  if (fseeko(file, (off_t)before, SEEK_CUR) != 0) return core_error_errno(CORE_FAIL, "%s: cannot be read", path);
  return CORE_OK;
}

static int read_one(FILE *file, const char *path, const char *run_id, const char *name, void *data, size_t bytes,
                    int64_t *iteration) {
  FileFront front;
  const FileSection *row;
  TRY(read_front(file, path, &front));
  if (run_id) TRY(check_run(run_id, &front, path, ""));
  TRY(find_section(file, path, &front, name, bytes, &row));
  *iteration = front.header.iteration;
  return read_section(file, path, row, data);
}

int checkpoint_read_section(const char *path, const char *run_id, const char *name, void *data, size_t bytes,
                            int64_t *iteration) {
  if (sodium_init() < 0) return core_error(CORE_FAIL, "libsodium: cannot be initialized");
  FILE *file;
  TRY(core_files_open_plain(path, &file));
  int code = read_one(file, path, run_id, name, data, bytes, iteration);
  fclose(file);
  return code;
}

int checkpoint_path(const char *directory, int64_t iteration, char path[CORE_PATH_MAX]) {
  Checkpoint checkpoint = {0};
  TRY(core_files_path(checkpoint.directory, "%s", directory));
  return path_of(&checkpoint, iteration, path);
}

/* Reads everything before the data of a file. */
static int read_front_of(const char *path, FileFront *front) {
  if (sodium_init() < 0) return core_error(CORE_FAIL, "libsodium: cannot be initialized");
  FILE *file;
  TRY(core_files_open_plain(path, &file));
  int code = read_front(file, path, front);
  fclose(file);
  return code;
}

int checkpoint_identify(const char *path, char run_id[CORE_RUN_ID], int64_t *iteration) {
  FileFront front;
  TRY(read_front_of(path, &front));
  snprintf(run_id, CORE_RUN_ID, "%.*s", (int)CORE_RUN_ID - 1, front.header.run_id);
  *iteration = front.header.iteration;
  return CORE_OK;
}

int checkpoint_has_section(const char *path, const char *name, bool *there) {
  FileFront front;
  *there = false;
  TRY(read_front_of(path, &front));
  *there = has_section(&front, name);
  return CORE_OK;
}

/* Copies a stored name, sanitized: a damaged file may hold any bytes, and names are printed on terminals. */
static void take_text(const char *stored, char *text, size_t size) {
  snprintf(text, size, "%.*s", (int)size - 1, stored);
  for (char *c = text; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
}

static int inspect(FILE *file, const char *path, CheckpointContents *contents) {
  FileFront front;
  TRY(read_front(file, path, &front));
  *contents = (CheckpointContents){.iteration = front.header.iteration};
  take_text(front.header.run_id, contents->run_id, sizeof contents->run_id);
  for (uint32_t i = 0; i < front.header.sections; i++) {
    const FileSection *row = &front.table[i];
    CheckpointPart *part = &contents->section[contents->sections++];
    TRY(read_section(file, path, row, NULL));
    take_text(row->name, part->name, sizeof part->name);
    part->bytes = row->bytes;
    memcpy(part->checksum, row->checksum, sizeof part->checksum);
  }
  return CORE_OK;
}

int checkpoint_inspect(const char *path, CheckpointContents *contents) {
  if (sodium_init() < 0) return core_error(CORE_FAIL, "libsodium: cannot be initialized");
  FILE *file;
  TRY(core_files_open_plain(path, &file));
  int code = inspect(file, path, contents);
  fclose(file);
  return code;
}

void checkpoint_checksum_text(const CheckpointPart *part, char text[2 * CHECKPOINT_SHOWN + 1]) {
  for (int b = 0; b < CHECKPOINT_SHOWN; b++) snprintf(text + 2 * b, 3, "%02x", part->checksum[b]);
}

void checkpoint_describe(const CheckpointContents *contents, CoreText *text) {
  core_text_appendf(text, "run        %s\n", contents->run_id);
  core_text_appendf(text, "iteration  %" PRId64 "\n", contents->iteration);
  for (int i = 0; i < contents->sections; i++) {
    const CheckpointPart *part = &contents->section[i];
    char checksum[2 * CHECKPOINT_SHOWN + 1];
    checkpoint_checksum_text(part, checksum);
    core_text_appendf(text, "section    %-20s %12" PRIu64 " bytes  %s\n", part->name, part->bytes, checksum);
  }
}
