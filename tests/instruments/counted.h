/* Kernel bodies that count their loads and stores (core/device/access_counts.h), each table ended by a NULL name. They
 * are compiled a second time, with calls at every load and store (COUNTED_FLAGS of the Makefile). */
#ifndef TESTS_COUNTED_H
#define TESTS_COUNTED_H
#include "core/device/emulated_code.h"

extern const CoreEmulatedBody ops_counted_bodies[], sim_counted_bodies[];

#endif
