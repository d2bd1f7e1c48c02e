/* Endless sequences of filtered random levels, for training on ever new levels: many at a time, on all threads, without
 * allocation. Wraps the generator (generate.h) for the trainer's curricula.
 *
 * A sequence has a key; its level i is a function of (size, key, i). Levels are generated in groups: levels 64 g .. 64
 * g + 63 are those that sim_generate_filtered (filter.h) keeps of the numbers 128 g .. 128 g + 127 of seed `key`. The
 * fixed sets random_s, random_m and random_l are the first levels of key 0. */
#ifndef SIM_LEVEL_STREAM_H
#define SIM_LEVEL_STREAM_H
#include <stddef.h>

#include "sim/physics/level.h"

enum { SIM_STREAM_GROUP = 64 };
#define SIM_STREAM_LEVELS (INT64_C(1) << 31) /* length of a sequence: the generator's numbers have 32 bits */

typedef struct SimLevelStream SimLevelStream;

/* Creates a stream with memory for as many threads as OpenMP would use now (some 2 MB each). CORE_USAGE: an impossible
 * size. */
int sim_level_stream_create(SimSize size, SimLevelStream **stream);
void sim_level_stream_destroy(SimLevelStream **stream);
size_t sim_level_stream_bytes(const SimLevelStream *stream);

/* Generates levels first .. first + count - 1, all below SIM_STREAM_LEVELS, into levels[count]. numbers[count] (may be
 * NULL) gets the generator's number of each, which generates it again without the filter: sim_generate_level(size, key,
 * number). Groups are generated whole, so that ranges aligned to SIM_STREAM_GROUP cost least. */
void sim_level_stream_draw(SimLevelStream *stream, uint64_t key, int64_t first, int count, SimLevel *levels,
                           uint32_t *numbers);

#endif
