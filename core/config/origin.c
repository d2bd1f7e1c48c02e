/* Parsing of init.from (origin.h). */
#include "core/config/origin.h"

#include <string.h>

#include "core/error.h"

enum { ID_DIGITS = CORE_RUN_ID - 1 };

int core_origin_parse(const char *text, CoreOrigin *origin) {
  static const char prefix[] = "run:";
  *origin = (CoreOrigin){.iteration = -1};
  if (strncmp(text, prefix, strlen(prefix)) != 0) return CORE_OK;
  const char *id = text + strlen(prefix), *end = id + strspn(id, "0123456789abcdef");
  if (end - id != ID_DIGITS || (*end && *end != '@'))
    return core_error(CORE_USAGE, "init.from = %.80s: expected run:<id> or run:<id>@<iteration>, where <id> has %d "
                      "hexadecimal digits", text, ID_DIGITS);
  origin->is_run = true;
  memcpy(origin->run, id, ID_DIGITS);
  if (*end && (!core_text_to_int(end + 1, &origin->iteration) || origin->iteration < 0))
    return core_error(CORE_USAGE, "init.from = %.80s: '%.40s' is not an iteration", text, end + 1);
  return CORE_OK;
}
