/* Random levels on the host: checks, names, and the draw itself (generate_draw.h). */
#include "sim/levels/generate.h"

#include <stdio.h>
#include <string.h>

#include "sim/levels/generate_draw.h"

void sim_generate_permute(SimLevel *level, uint64_t seed, uint32_t number) {
  sim_generate_shuffle(level, seed, number);
}

static const char *size_name(SimSize size) {
  if (memcmp(&size, &SIM_SIZE_S, sizeof size) == 0) return "s";
  if (memcmp(&size, &SIM_SIZE_M, sizeof size) == 0) return "m";
  return memcmp(&size, &SIM_SIZE_L, sizeof size) == 0 ? "l" : "x";
}

static int check_size(SimSize size) {
  const SimLevel probe = {.name = "random", .size = size}; /* nothing active: only the size can fail the check */
  TRY(sim_level_check(&probe));
  if (size.polygons + size.circles < SIM_STATIC_POLYGONS + 2)
    return core_error(CORE_USAGE,
                      "random level: needs 2 slots for shapes in addition to the %d statics; this size has %d",
                      SIM_STATIC_POLYGONS, size.polygons + size.circles - SIM_STATIC_POLYGONS);
  return CORE_OK;
}

int sim_generate_level(SimSize size, uint64_t seed, uint32_t number, SimLevel *level) {
  TRY(check_size(size));
  sim_generate_draw(size, seed, number, level);
  snprintf(level->name, sizeof level->name, "random_%s-%llu-%u", size_name(size), (unsigned long long)seed, number);
  return CORE_OK;
}
