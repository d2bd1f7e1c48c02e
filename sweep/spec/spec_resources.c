/* Reads and checks slurm.* lines of [grid] and [search] blocks, with --set and profiles. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/spec/spec_internal.h"

/* Settings of a whole submission, which blocks cannot have. */
static const char *const sweep_only[] = {"slurm.api", "slurm.after", "slurm.max_running"};

int spec_resource_add(SpecFile *file, const CoreIniEntry *entry, SweepBlock *block) {
  const CoreIni *ini = &file->spec->ini;
  SlurmSettings scratch = slurm_settings_default();
  if (slurm_settings_set(&scratch, entry->key, entry->value) != CORE_OK)
    return core_ini_error(ini, entry, "%s", core_error_message());

  for (size_t i = 0; i < sizeof sweep_only / sizeof *sweep_only; i++)
    if (strcmp(sweep_only[i], entry->key) == 0)
      return core_ini_error_key(ini, entry, "%s applies to the whole sweep; move it into [slurm]", entry->key);
  for (size_t i = 0; i < block->resource_count; i++)
    if (strcmp(block->resources[i].entry->key, entry->key) == 0)
      return core_ini_error_key(ini, entry, "%s is set twice in [%s], first in line %d; remove one", entry->key,
                                entry->section, block->resources[i].entry->line);

  block->resources =
    core_memory_resize(block->resources, (block->resource_count + 1) * sizeof *block->resources);
  block->resources[block->resource_count++] =
    (SweepResource){.key = strchr(entry->key, '.') + 1, .value = entry->value, .entry = entry};
  return CORE_OK;
}

static SweepResource *find_resource(const SweepBlock *block, const char *name) {
  for (size_t i = 0; i < block->resource_count; i++)
    if (strcmp(block->resources[i].entry->key, name) == 0) return &block->resources[i];
  return NULL;
}

/* Counts the blocks that set it. *over: one of them. */
static size_t count_setting(const SweepSpec *spec, const char *name, bool in_searches, const SweepResource **over) {
  const size_t blocks = in_searches ? spec->search_count : spec->grid_count;
  size_t count = 0;
  for (size_t i = 0; i < blocks; i++) {
    const SweepBlock *block = in_searches ? &spec->searches[i].block : &spec->grids[i];
    const SweepResource *resource = find_resource(block, name);
    if (!resource) continue;
    count++;
    *over = resource;
  }
  return count;
}

/* Checks that a profile's values have an effect, i.e. that not every block overrides them. */
static int check_profile_effective(const SpecFile *file, int profile) {
  const SweepSpec *spec = file->spec;
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    const SweepResource *over = NULL;
    if (profile == SPEC_TOP || setting->pair || setting->profile != profile) continue;
    const size_t grids = count_setting(spec, setting->name, false, &over);
    const size_t searches = count_setting(spec, setting->name, true, &over);
    const bool is_over = (grids > 0 && grids == spec->grid_count) || (searches > 0 && searches == spec->search_count);
    if (!is_over) continue;
    core_error(CORE_USAGE, "%s has no effect here: [%s] (line %d) sets it; replace the whole block in the profile",
               setting->name, over->entry->section, over->entry->line);
    return spec_setting_error(file, setting, true);
  }
  return CORE_OK;
}

static int check_disjoint(const SweepSpec *spec) {
  for (size_t s = 0; s < spec->search_count; s++)
    for (size_t g = 0; g < spec->grid_count; g++)
      for (size_t i = 0; i < spec->grids[g].resource_count; i++) {
        const SweepResource *resource = &spec->grids[g].resources[i];
        const SweepResource *twin = find_resource(&spec->searches[s].block, resource->entry->key);
        if (twin)
          return core_ini_error_key(&spec->ini, twin->entry, "%s is set by [%s] and by [%s] (line %d); a search is "
                                    "multiplied into every grid, so keep one of the two", twin->entry->key,
                                    twin->entry->section, resource->entry->section, resource->entry->line);
      }
  return CORE_OK;
}

static void set_in_block(const SpecSetting *setting, SweepBlock *block) {
  SweepResource *resource = find_resource(block, setting->name);
  if (resource) resource->value = setting->entry.value;
}

int spec_resources_resolve(SpecFile *file, int profile) {
  SweepSpec *spec = file->spec;
  TRY(check_disjoint(spec));
  TRY(check_profile_effective(file, profile));
  for (size_t i = 0; i < file->setting_count; i++) {
    const SpecSetting *setting = &file->settings[i];
    if (!setting->pair || setting->row) continue;
    for (size_t g = 0; g < spec->grid_count; g++) set_in_block(setting, &spec->grids[g]);
    for (size_t s = 0; s < spec->search_count; s++) set_in_block(setting, &spec->searches[s].block);
  }
  return CORE_OK;
}
