/* Parses the scalars of a TensorFlow event (tensorflow/core/util/event.proto). */
#ifndef SWEEP_PROGRAM_EVENT_SCALARS_H
#define SWEEP_PROGRAM_EVENT_SCALARS_H
#include <stdbool.h>
#include <stddef.h>

/* Called with each scalar; the tag is not terminated. */
typedef void (*ProgramOnScalar)(void *context, double step, const char *tag, size_t length, double value);

/* Passes the scalars of an event on, simple values and tensors of one element. False: the event is damaged. */
bool program_event_scalars(const unsigned char *data, size_t size, ProgramOnScalar on_scalar, void *context);

#endif
