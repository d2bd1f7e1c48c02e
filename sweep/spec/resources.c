/* Collects the distinct Slurm settings of a sweep and its blocks. */
#include "sweep/spec/resources.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "slurm/site.h"
#include "sweep/spec/id_set.h"

static int apply(const SweepResource *list, size_t count, SlurmSettings *settings) {
  for (size_t i = 0; i < count; i++) TRY(slurm_settings_set(settings, list[i].key, list[i].value));
  return CORE_OK;
}

int sweep_spec_slurm(const SweepSpec *spec, SlurmSettings *settings) {
  SlurmSite site;
  TRY(slurm_site_apply(settings, &site));
  TRY(apply(spec->resources, spec->resource_count, settings));
  const int code = slurm_settings_check(settings);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "%s", spec->ini.file);
}

static bool blocks_have_resources(const SweepSpec *spec) {
  bool has = false;
  for (size_t i = 0; i < spec->grid_count; i++) has = has || spec->grids[i].resource_count > 0;
  for (size_t i = 0; i < spec->search_count; i++) has = has || spec->searches[i].block.resource_count > 0;
  return has;
}

bool sweep_spec_has_resources(const SweepSpec *spec) { return spec->resource_count > 0 || blocks_have_resources(spec); }

/* Gets the settings of the sweep without blocks, unchecked, since a block may resolve conflicts. */
static int base_settings(const SweepSpec *spec, SlurmSettings *settings) {
  SlurmSite site;
  *settings = slurm_settings_default();
  TRY(slurm_site_apply(settings, &site));
  return apply(spec->resources, spec->resource_count, settings);
}

static int part_settings(const SweepSpec *spec, const SweepPart *part, SlurmSettings *settings) {
  if (part->block) TRY(apply(part->block->resources, part->block->resource_count, settings));
  if (part->search) TRY(apply(part->search->block.resources, part->search->block.resource_count, settings));
  const int code = slurm_settings_check(settings);
  if (code == CORE_OK) return CORE_OK;
  const CoreIniEntry *entry = part->block && part->block->resource_count ? part->block->entry
                              : part->search                            ? part->search->entry : NULL;
  if (!entry) return core_error_context(code, "%s", spec->ini.file);
  return core_ini_error(&spec->ini, entry, "[%s]: %s", entry->section, core_error_message());
}

/* Compares as text, since a struct has padding. */
static bool is_same(const SlurmSettings *a, const SlurmSettings *b) {
  CoreText first = {0}, second = {0};
  slurm_settings_print(a, "=", "\n", &first);
  slurm_settings_print(b, "=", "\n", &second);
  const bool is_equal = strcmp(core_text_string(&first), core_text_string(&second)) == 0;
  core_text_free(&first);
  core_text_free(&second);
  return is_equal;
}

/* Adds the settings unless they exist. Returns their index. */
static size_t add_set(SweepResources *resources, const SlurmSettings *settings) {
  for (size_t i = 0; i < resources->count; i++)
    if (is_same(&resources->sets[i], settings)) return i;
  resources->sets = core_memory_resize(resources->sets, (resources->count + 1) * sizeof *resources->sets);
  resources->labels = core_memory_resize(resources->labels, (resources->count + 1) * sizeof *resources->labels);
  resources->sets[resources->count] = *settings;
  resources->labels[resources->count][0] = '\0';
  return resources->count++;
}

/* Whether the label contains the block's name. */
static bool is_listed(const char *label, const char *name) {
  const size_t length = strlen(name);
  for (const char *match = strstr(label, name); match; match = strstr(match + 1, name)) {
    const bool begins = match == label || match[-1] == ' ', ends = !match[length] || match[length] == ',';
    if (begins && ends) return true;
  }
  return false;
}

static void add_label(char label[256], const char *name) {
  const size_t length = strlen(label);
  if (is_listed(label, name) || length + strlen(name) + 3 > 256) return;
  snprintf(label + length, 256 - length, "%s%s", length ? ", " : "", name);
}

/* Whether the part has runs, which --where may leave out. */
static bool has_runs(const SweepGrid *grid, size_t part) {
  if (!grid->is_part) return true;
  for (size_t run = 0; run < grid->runs; run++)
    if (sweep_grid_part(grid, run) == &grid->parts[part]) return true;
  return false;
}

int sweep_resources_make(const SweepGrid *grid, SweepResources *resources) {
  const SweepSpec *spec = grid->spec;
  SlurmSettings base;
  int code;
  *resources = (SweepResources){.of_part = core_memory_zero_allocate(grid->part_count + 1, sizeof(size_t))};
  TRY_GOTO(code, out, base_settings(spec, &base));

  for (size_t p = 0; p < grid->part_count; p++) {
    const SweepPart *part = &grid->parts[p];
    SlurmSettings settings = base;
    if (!has_runs(grid, p)) continue;
    TRY_GOTO(code, out, part_settings(spec, part, &settings));
    resources->of_part[p] = add_set(resources, &settings);
    char *label = resources->labels[resources->of_part[p]];
    if (part->block) add_label(label, part->block->name);
    else if (part->search) add_label(label, part->search->name);
  }

  if (resources->count == 1) resources->labels[0][0] = '\0';
out:
  if (code != CORE_OK) sweep_resources_free(resources);
  return code;
}

void sweep_resources_free(SweepResources *resources) {
  free(resources->sets);
  free(resources->labels);
  free(resources->of_part);
  *resources = (SweepResources){0};
}

size_t sweep_resources_of_run(const SweepResources *resources, const SweepGrid *grid, size_t run) {
  return resources->of_part[sweep_grid_part(grid, run) - grid->parts];
}

int sweep_resources_of_indices(const SweepSpec *spec, const SweepManifest *manifest, const int64_t *indices,
                               size_t count, SweepResources *resources, size_t **run_sets) {
  SweepGrid grid;
  SweepIdSet runs = {0};
  SlurmSettings base = slurm_settings_default();
  *resources = (SweepResources){0};
  *run_sets = core_memory_zero_allocate(count + 1, sizeof **run_sets);

  int code = blocks_have_resources(spec) ? base_settings(spec, &base) : sweep_spec_slurm(spec, &base);
  if (code == CORE_OK && !blocks_have_resources(spec)) {
    add_set(resources, &base);
    return CORE_OK;
  }

  if (code == CORE_OK) code = sweep_grid_expand(spec, &grid);
  if (code == CORE_OK) {
    code = sweep_resources_make(&grid, resources);
    sweep_id_set_add_all(&runs, (const char(*)[CORE_RUN_ID])grid.ids, grid.runs);
    if (code == CORE_OK) {
      for (size_t i = 0; i < count; i++) {
        size_t run;
        if (sweep_id_set_find(&runs, manifest->ids[indices[i]], &run))
          (*run_sets)[i] = sweep_resources_of_run(resources, &grid, run);
        else (*run_sets)[i] = add_set(resources, &base);
      }
    }
    sweep_id_set_free(&runs);
    sweep_grid_free(&grid);
  }

  if (code != CORE_OK) free(*run_sets);
  if (code != CORE_OK) *run_sets = NULL;
  return code;
}
