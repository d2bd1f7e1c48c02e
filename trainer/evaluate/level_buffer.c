/* Best K of many: a binary heap with the worst entry at its root, so that a rejected offer, the usual case, costs one
 * comparison. */
#include "trainer/evaluate/level_buffer.h"

#include <stdlib.h>

#include "core/device/arena.h"

void level_buffer_register(LevelBuffer *buffer, int capacity, CoreArena *arena) {
  *buffer = (LevelBuffer){.capacity = capacity};
  CORE_ARENA(arena, buffer->entry, (size_t)capacity, "level buffer [levels]");
}

void level_buffer_clear(LevelBuffer *buffer) { buffer->count = 0; }

static int compare(const void *a, const void *b) {
  const LevelBufferEntry *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static void swap(LevelBufferEntry *a, LevelBufferEntry *b) {
  LevelBufferEntry kept = *a;
  *a = *b;
  *b = kept;
}

static void sift_up(LevelBufferEntry *entry, int i) {
  for (int parent = (i - 1) / 2; i > 0 && compare(&entry[i], &entry[parent]) < 0; i = parent, parent = (i - 1) / 2)
    swap(&entry[i], &entry[parent]);
}

static void sift_down(LevelBufferEntry *entry, int count) {
  for (int i = 0, child = 1; child < count; child = 2 * i + 1) {
    if (child + 1 < count && compare(&entry[child + 1], &entry[child]) < 0) child++;
    if (compare(&entry[i], &entry[child]) <= 0) return;
    swap(&entry[i], &entry[child]);
    i = child;
  }
}

void level_buffer_offer(LevelBuffer *buffer, LevelBufferEntry entry) {
  if (buffer->count < buffer->capacity) {
    buffer->entry[buffer->count] = entry;
    sift_up(buffer->entry, buffer->count++);
  } else if (compare(&entry, &buffer->entry[0]) > 0) {
    buffer->entry[0] = entry;
    sift_down(buffer->entry, buffer->count);
  }
}

void level_buffer_close(LevelBuffer *buffer) {
  qsort(buffer->entry, (size_t)buffer->count, sizeof *buffer->entry, compare);
}
