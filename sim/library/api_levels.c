/* Level sets of libsim: sim.h on top of level_set.h and the generators. */
#include "core/memory.h"
#include "sim/batch/filter.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/library/api_internal.h"
#include "sim/physics/model.h"

int sim_api_null(const char *argument) { return core_error(CORE_USAGE, "%s is NULL", argument); }

const SimSize *sim_api_size(int letter) {
  switch (letter) {
    case 's': return &SIM_SIZE_S;
    case 'm': return &SIM_SIZE_M;
    case 'l': return &SIM_SIZE_L;
    default: return NULL;
  }
}

/* Moves a set into a new handle; returns `code` unchanged if it is an error. */
static int hand_over(int code, SimLevelSet *set, LibsimLevels **levels) {
  if (code != CORE_OK) return code;
  *levels = core_memory_zero_allocate(1, sizeof **levels);
  (*levels)->set = *set;
  return CORE_OK;
}

int libsim_levels_read(const char *paths, LibsimLevels **levels) {
  SimLevelSet set;
  if (!levels) return sim_api_null("levels");
  *levels = NULL;
  if (!paths || !paths[0]) return core_error(CORE_USAGE, "name a directory of level files, or files joined by '+'");
  return hand_over(sim_level_set_read(paths, "", &set), &set, levels);
}

int libsim_levels_parse(const char *name, const char *json, size_t bytes, LibsimLevels **levels) {
  if (!levels) return sim_api_null("levels");
  *levels = NULL;
  if (!name || !json) return sim_api_null(name ? "json" : "name");
  SimLevelSet set = {.level = core_memory_zero_allocate(1, sizeof(SimLevel)), .count = 1};
  int code = sim_level_parse(name, json, bytes, &set.level[0]);
  set.size = set.level[0].size;
  if (code != CORE_OK) sim_level_set_free(&set);
  return hand_over(code, &set, levels);
}

int libsim_levels_loco512(const char *morphologies, const char *difficulty, int32_t count, LibsimLevels **levels) {
  SimLevelSet set;
  if (!levels) return sim_api_null("levels");
  *levels = NULL;
  if (!morphologies || !difficulty) return sim_api_null(morphologies ? "difficulty" : "morphologies");
  int code = sim_morphology_set(morphologies, difficulty, count, &set);
  if (code == CORE_OK && set.count == 0) {
    sim_level_set_free(&set);
    return core_error(CORE_USAGE, "no morphology has families %s and difficulty %s", morphologies, difficulty);
  }
  return hand_over(code, &set, levels);
}

static int generate(SimSize size, uint64_t seed, uint32_t first, int32_t count, SimLevelSet *set) {
  int code = CORE_OK;
  *set = (SimLevelSet){.level = calloc((size_t)count, sizeof *set->level), .count = count, .size = size};
  if (!set->level) return core_error(CORE_FAIL, "out of memory: %d levels need %zu bytes", count,
                                     (size_t)count * sizeof *set->level);
  for (int32_t i = 0; i < count; i++) {
    code = sim_generate_level(size, seed, first + (uint32_t)i, &set->level[i]);
    if (code != CORE_OK) break;
  }
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}

int libsim_levels_random(char size, uint64_t seed, uint32_t first, int32_t count, int filtered,
                         LibsimLevels **levels) {
  SimLevelSet set;
  if (!levels) return sim_api_null("levels");
  *levels = NULL;
  const SimSize *slots = sim_api_size(size);
  if (!slots)
    return core_error(CORE_USAGE, "random levels: size must be 's', 'm' or 'l', not character %d", size);
  if (count < 1 || first > UINT32_MAX - (uint32_t)count)
    return core_error(CORE_USAGE, "random levels: %d from number %u on; at least 1, and numbers have 32 bits", count,
                      first);
  int code = filtered ? sim_generate_filtered(*slots, seed, first, count, &set)
                      : generate(*slots, seed, first, count, &set);
  return hand_over(code, &set, levels);
}

void libsim_levels_destroy(LibsimLevels **levels) {
  if (!levels || !*levels) return;
  sim_level_set_free(&(*levels)->set);
  free(*levels);
  *levels = NULL;
}

int32_t libsim_levels_count(const LibsimLevels *levels) { return levels ? levels->set.count : 0; }

const char *libsim_levels_name(const LibsimLevels *levels, int32_t level) {
  return levels && level >= 0 && level < levels->set.count ? levels->set.level[level].name : NULL;
}

int libsim_levels_size(const LibsimLevels *levels, LibsimSize *size) {
  if (!levels || !size) return sim_api_null(levels ? "size" : "levels");
  SimSize slots = levels->set.size;
  *size = (LibsimSize){slots.polygons, slots.circles, slots.joints, slots.thrusters, sim_model_contacts(slots)};
  return CORE_OK;
}

int libsim_levels_write(const LibsimLevels *levels, int32_t level, char **json) {
  CoreText text = {0};
  if (!json) return sim_api_null("json");
  *json = NULL;
  if (!levels) return sim_api_null("levels");
  if (level < 0 || level >= levels->set.count)
    return core_error(CORE_USAGE, "level %d: the set has levels 0 to %d", level, levels->set.count - 1);
  TRY(sim_level_write(&levels->set.level[level], &text));
  *json = text.data;
  return CORE_OK;
}
