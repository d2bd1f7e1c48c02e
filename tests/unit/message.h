/* Assertions on the message of the last error. */
#ifndef TESTS_UNIT_MESSAGE_H
#define TESTS_UNIT_MESSAGE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/error.h"

static inline void assert_message(const char *part) {
  if (!strstr(core_error_message(), part)) fail_msg("'%s' is not in: %s", part, core_error_message());
}

#endif
