/* Arenas: register shapes, then commit one block on the host and one on a device. Nothing is allocated in a training or
 * simulation step. */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H
#include <stddef.h>

#include "core/device/device.h"
#include "core/error.h"

enum { CORE_MEMORY_ALIGNMENT = 64 };

typedef struct CoreArena CoreArena;

CoreArena *core_arena_create(const char *name);
/* Registers `count` elements of `bytes` each; *pointer is set by core_arena_commit (64-byte aligned, zeroed).
 * `label` ("rollout observations [steps][worlds][features]") is kept for the report and the out-of-memory message. */
void core_arena_register(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label);
#define CORE_ARENA(arena, pointer, count, label) \
  core_arena_register((arena), (void **)&(pointer), (count), sizeof *(pointer), (label))
/* The same for what lives on the device: to be touched through it only (device.h). Without a device it
 * is no different. */
void core_arena_register_device(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label);
#define CORE_ARENA_DEVICE(arena, pointer, count, label) \
  core_arena_register_device((arena), (void **)&(pointer), (count), sizeof *(pointer), (label))
/* Before the commit; the device must outlive the arena. NULL: none, as after core_arena_create. */
void core_arena_set_device(CoreArena *arena, CoreDevice *device);
CoreDevice *core_arena_device(const CoreArena *arena);
/* After the commit: is this in the arena's device memory? */
bool core_arena_holds_on_device(const CoreArena *arena, const void *memory);
/* Bytes of what is registered for the device; 0 without one. */
size_t core_arena_device_bytes(const CoreArena *arena);
/* The `most` largest of what is registered for the device, or for the host, largest first; their number. Labels are the
 * arena's. */
typedef struct CoreArenaEntry { const char *label; size_t bytes; } CoreArenaEntry;
int core_arena_largest(const CoreArena *arena, bool on_device, int most, CoreArenaEntry *entries);
/* Allocates everything in one block, and one on the device. CORE_FAIL names the arena, the total and its largest
 * entries. */
int core_arena_commit(CoreArena *arena);
/* Bytes that the commit takes, or took, on the host for what is registered; SIZE_MAX when that overflows. */
size_t core_arena_bytes(const CoreArena *arena);
void core_arena_destroy(CoreArena **arena);

#endif
