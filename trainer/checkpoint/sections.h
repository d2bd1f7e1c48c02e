/* Checkpoint sections when ranks divide the worlds. Some sections are the same at all ranks; of sections of worlds each
 * rank has its part. Only the first rank reads and writes files. A file does not depend on the number of ranks, so any
 * number of them can resume from it. Called by training.c; uses checkpoint.c. */
#ifndef TRAINER_SECTIONS_H
#define TRAINER_SECTIONS_H
#include "trainer/checkpoint/checkpoint.h"

enum { SECTIONS_WORLDS_MAX = 8 };

typedef struct SectionsWorlds {
  const char *name;
  void *own;              /* this rank's part, the caller's */
  size_t bytes;           /* bytes of the part; the same at every rank */
  void *all;              /* records of all worlds, at the first rank; `own` itself when it is the only one */
} SectionsWorlds;

typedef struct Sections {
  Checkpoint *checkpoint; /* the caller's */
  int count;
  SectionsWorlds worlds[SECTIONS_WORLDS_MAX];
} Sections;

/* Adds a section of `worlds` records to the checkpoint; sections that are the same everywhere are added with
 * checkpoint_add. */
void sections_add_worlds(Sections *sections, const char *name, void *own, size_t bytes);
/* Returns the bytes that the first rank needs in addition to its own parts, for `bytes` bytes of a rank's worlds. */
double sections_estimate_bytes(double bytes);
void sections_destroy(Sections *sections);

/* Gather the parts before checkpoint_write; share them after the first rank has restored the sections. Called by all
 * ranks. */
void sections_gather(Sections *sections);
void sections_share(Sections *sections);

#endif
