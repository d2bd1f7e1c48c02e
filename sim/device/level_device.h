/* Random levels on a device: a batch's places are filled with levels of a sequence (level_stream.h), and worlds that
 * ended an episode get new ones, without the host seeing any. The levels are those that the host would draw. */
#ifndef SIM_LEVEL_DEVICE_H
#define SIM_LEVEL_DEVICE_H
#include "sim/batch/batch.h"

/* For batches with options.drawn_slots. Every world must be reset afterwards.
 *
 * draw: levels first .. first + count - 1 of the sequence `key` into places place, place + 1, ...; numbers[count] on
 * the host: of each, as sim_level_stream_draw gives it. Waits for the device a few times for every 8192 levels. */
void sim_level_device_draw(SimBatch *batch, uint64_t key, int64_t first, int count, int place, uint32_t *numbers);
/* Levels of known numbers (on the host) again. */
void sim_level_device_recall(SimBatch *batch, uint64_t key, const uint32_t *numbers, int count, int place);
/* What the device sets aside for the stacks of the kernels that draw levels, once, whatever the number of batches: some
 * 3 GB on an H100, since each thread has a level and its solids there. */
size_t sim_level_device_stack_bytes(CoreDevice *device);
/* What a batch that draws levels of this size through the filter takes to play them in, whatever the number of its
 * worlds: as many places as the device steps worlds at once. */
size_t sim_level_device_slot_bytes(SimSize drawn, const CoreDevice *device);

#endif
