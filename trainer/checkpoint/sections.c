/* Joining and dividing sections over ranks (sections.h). */
#include "trainer/checkpoint/sections.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ranks/ranks.h"

void sections_add_worlds(Sections *sections, const char *name, void *own, size_t bytes) {
  const size_t total = bytes * (size_t)ranks_size();
  CORE_CHECK(sections->count < SECTIONS_WORLDS_MAX);
  SectionsWorlds *worlds = &sections->worlds[sections->count++];
  *worlds = (SectionsWorlds){.name = name, .own = own, .bytes = bytes, .all = own};
  if (ranks_size() > 1) worlds->all = ranks_is_first() ? core_memory_zero_allocate(1, total) : NULL;
  checkpoint_add(sections->checkpoint, name, worlds->all, total);
}

double sections_estimate_bytes(double bytes) {
  return ranks_size() > 1 && ranks_is_first() ? bytes * ranks_size() : 0;
}

void sections_destroy(Sections *sections) {
  for (int i = 0; i < sections->count; i++)
    if (sections->worlds[i].all != sections->worlds[i].own) free(sections->worlds[i].all);
  sections->count = 0;
}

void sections_gather(Sections *sections) {
  if (ranks_size() == 1) return;
  for (int i = 0; i < sections->count; i++)
    ranks_gather(sections->worlds[i].own, sections->worlds[i].bytes, sections->worlds[i].all);
}

static bool is_of_worlds(const Sections *sections, const char *name) {
  for (int i = 0; i < sections->count; i++)
    if (strcmp(sections->worlds[i].name, name) == 0) return true;
  return false;
}

void sections_share(Sections *sections) {
  const Checkpoint *checkpoint = sections->checkpoint;
  if (ranks_size() == 1) return;
  for (int i = 0; i < checkpoint->sections; i++)
    if (!is_of_worlds(sections, checkpoint->section[i].name))
      ranks_broadcast(checkpoint->section[i].data, checkpoint->section[i].bytes);
  for (int i = 0; i < sections->count; i++)
    ranks_scatter(sections->worlds[i].all, sections->worlds[i].bytes, sections->worlds[i].own);
}
