/* Arenas: code registers the shapes of its buffers, then commits them as one block on the host and one on a device. So
 * nothing is allocated in a training or simulation step. */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H
#include <stddef.h>

#include "core/device/device.h"
#include "core/error.h"

/* Alignment of buffers in bytes: on the host, for vector instructions; on a device, for its libraries. */
enum { CORE_MEMORY_ALIGNMENT = 64, CORE_DEVICE_ALIGNMENT = 256 };

typedef struct CoreArena CoreArena;

/* Creates an arena. name: for messages. The caller destroys it, which frees the buffers. */
CoreArena *core_arena_create(const char *name);
/* Registers `count` elements of `bytes` bytes each. core_arena_commit sets *pointer to them, aligned to 64 bytes. Their
 * values are undefined: they are 0, but with CORE_MEMORY_FILL=nan (core/memory.h) all bytes are 0xff, so that tests
 * find reads of what was never written. label: description and shape ("rollout observations [steps][worlds]
 * [features]"), copied, for reports and the out-of-memory message. */
void core_arena_register(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label);
#define CORE_ARENA(arena, pointer, count, label) \
  core_arena_register((arena), (void **)&(pointer), (count), sizeof *(pointer), (label))
/* Registers a buffer in device memory, aligned to 256 bytes, to be accessed through the device only (device.h). Without
 * a device: in host memory. */
void core_arena_register_device(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label);
#define CORE_ARENA_DEVICE(arena, pointer, count, label) \
  core_arena_register_device((arena), (void **)&(pointer), (count), sizeof *(pointer), (label))
/* Register a buffer that begins with zeros. */
#define CORE_ARENA_ZERO(arena, pointer, count, label) \
  (CORE_ARENA(arena, pointer, count, label), core_arena_keep_zero(arena))
#define CORE_ARENA_DEVICE_ZERO(arena, pointer, count, label) \
  (CORE_ARENA_DEVICE(arena, pointer, count, label), core_arena_keep_zero(arena))
/* Leaves the buffer registered last at 0, whatever the environment says. */
void core_arena_keep_zero(CoreArena *arena);
/* Sets the arena's device, before the commit. It must outlive the arena. NULL (the default): none. */
void core_arena_set_device(CoreArena *arena, CoreDevice *device);
CoreDevice *core_arena_device(const CoreArena *arena);
/* Whether `memory` is in the arena's device memory. After the commit. */
bool core_arena_holds_on_device(const CoreArena *arena, const void *memory);
/* Returns the bytes registered for the device; 0 without one. */
size_t core_arena_device_bytes(const CoreArena *arena);
/* Lists the `max_entries` largest buffers registered for the device or for the host, largest first, and returns their
 * number. The arena owns the labels. */
typedef struct CoreArenaEntry { const char *label; size_t bytes; } CoreArenaEntry;
int core_arena_largest(const CoreArena *arena, bool on_device, int max_entries, CoreArenaEntry *entries);
/* Allocates one block on the host and one on the device, and sets all pointers. With CORE_ARENA_GUARD=1 in the
 * environment each device buffer is a separate allocation, so that compute-sanitizer detects out-of-bounds accesses.
 * CORE_FAIL: out of memory; the message names the arena, the total and the largest buffers. */
int core_arena_commit(CoreArena *arena);
/* Returns the bytes of the host's block, before or after the commit; SIZE_MAX where the sum overflows. */
size_t core_arena_bytes(const CoreArena *arena);
void core_arena_destroy(CoreArena **arena);

#endif
