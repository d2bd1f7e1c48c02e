/* Endless sequences of filtered random levels, for training on ever new ones: many at a time, on all threads, without
 * allocating. Between the generator (generate.h), whose levels they are, and the trainer's curricula.
 *
 * A sequence has a key; its level i is a function of (size, key, i). They are made in groups: levels 64 g .. 64 g + 63
 * are those that sim_generate_filtered (filter.h) keeps of the numbers 128 g .. 128 g + 127 of seed `key`. The fixed
 * sets random_s, random_m and random_l are the beginnings of key 0. */
#ifndef SIM_LEVEL_STREAM_H
#define SIM_LEVEL_STREAM_H
#include <stddef.h>

#include "sim/physics/level.h"

enum { SIM_STREAM_GROUP = 64 };
#define SIM_STREAM_LEVELS (INT64_C(1) << 31) /* the length of a sequence: a generator's numbers have 32 bits */

typedef struct SimLevelStream SimLevelStream;

/* With memory for as many threads as OpenMP would use now (some 2 MB each). CORE_USAGE: no levels have this size. */
int sim_level_stream_create(SimSize size, SimLevelStream **stream);
void sim_level_stream_destroy(SimLevelStream **stream);
size_t sim_level_stream_bytes(const SimLevelStream *stream);

/* Levels first .. first + count - 1, all below SIM_STREAM_LEVELS, into levels[count]; numbers[count] (may be NULL) gets
 * the generator's number of each, which makes it again without the filter: sim_generate_level(size, key, number).
 * Groups are made whole, so ranges that begin and end at multiples of SIM_STREAM_GROUP cost least. */
void sim_level_stream_draw(SimLevelStream *stream, uint64_t key, int64_t first, int count, SimLevel *levels,
                           uint32_t *numbers);

#endif
