/* Expands axes to runs. Called by plan and submit after spec.c; manifest.c writes the ids. */
#include "sweep/spec/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/spec/id_set.h"

/* ---- axes ------------------------------------------------------------------------------------------------------ */

/* Returns a * b, at most SWEEP_RUNS_MAX + 1. */
static size_t bounded_product(size_t a, size_t b) {
  return b && a > SWEEP_RUNS_MAX / b ? SWEEP_RUNS_MAX + 1 : a * b;
}

static void make_part(const SweepSpec *spec, const SweepBlock *block, const SweepSearch *search, SweepPart *part) {
  size_t lists = block ? block->count : 0;
  *part = (SweepPart){.block = block, .search = search, .cells = 1};
  part->axes = core_memory_allocate((spec->zip_count + lists + 2) * sizeof *part->axes);

  for (size_t i = 0; i < spec->zip_count; i++) {
    const SweepBlock *zip = &spec->zips[i];
    part->axes[part->axis_count++] =
        (SweepAxis){.lists = zip->lists, .list_count = zip->count, .length = zip->lists[0].count, .zip = zip->name};
  }
  if (search)
    part->axes[part->axis_count++] = (SweepAxis){.lists = search->block.lists, .list_count = search->block.count,
                                                 .length = search->trials, .search = search};
  for (size_t i = 0; i < lists; i++)
    part->axes[part->axis_count++] =
        (SweepAxis){.lists = &block->lists[i], .list_count = 1, .length = block->lists[i].count};

  for (size_t i = 0; i < part->axis_count; i++) part->cells = bounded_product(part->cells, part->axes[i].length);
}

static int make_parts(const SweepSpec *spec, SweepGrid *grid) {
  const size_t searches = spec->search_count ? spec->search_count : 1;
  grid->part_count = (spec->grid_count ? spec->grid_count : 1) * searches;
  grid->parts = core_memory_zero_allocate(grid->part_count, sizeof *grid->parts);

  for (size_t i = 0; i < grid->part_count; i++) {
    SweepPart *part = &grid->parts[i];
    make_part(spec, spec->grid_count ? &spec->grids[i / searches] : NULL,
              spec->search_count ? &spec->searches[i % searches] : NULL, part);

    part->first_cell = grid->cells;
    grid->cells += part->cells;
    if (bounded_product(grid->cells, spec->seed_count) > SWEEP_RUNS_MAX)
      return core_error(CORE_USAGE, "%s:%d: more than %d runs (%zu seeds); make the lists shorter", spec->ini.file,
                        part->block ? part->block->entry->line : part->search ? part->search->entry->line : 1,
                        SWEEP_RUNS_MAX, spec->seed_count);
  }
  return CORE_OK;
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

/* Parents named by settings, "init.from = run:{ppo.com=8}@954": the run with this run's seed and settings except those
 * in the braces. Only the grid knows seeds, so it replaces the braces by an id; trainers see "run:<id>@954". */
static const char parent_prefix[] = "run:{";

/* Applies the settings between the braces to `parent`; modifies the text. */
static int apply_parent_settings(char *settings, CoreConfig *parent) {
  size_t count = 0;
  for (char *pair; (pair = strsep(&settings, " "));) {
    if (!*pair) continue;
    if (strncmp(pair, "init.", 5) == 0)
      return core_error(CORE_USAGE, "%.80s: a parent cannot have an [init] itself", pair);
    TRY(core_config_set_pair(parent, pair));
    count++;
  }
  if (count == 0)
    return core_error(CORE_USAGE,
                      "the braces are empty; name the settings in which the parent differs: run:{ppo.com=8}");
  return CORE_OK;
}

static int replace_braces(const char *from, CoreConfig *config) {
  const char *open = from + sizeof parent_prefix - 1, *close = strchr(open, '}');
  char id[CORE_RUN_ID], found[CORE_CONFIG_TEXT];
  if (!close || (close[1] && close[1] != '@'))
    return core_error(CORE_USAGE, "expected run:{key=value key=value} or run:{key=value}@<iteration>");

  CoreConfig parent = *config;
  parent.init = core_config_default().init;
  char *settings = core_text_duplicate(open);
  settings[close - open] = '\0';
  int code = apply_parent_settings(settings, &parent);
  free(settings);
  if (code != CORE_OK) return code;

  core_config_id(&parent, id);
  snprintf(found, sizeof found, "run:%s%s", id, close + 1);
  memcpy(config->init.from, found, sizeof found);
  return CORE_OK;
}

/* Replaces the braces in config->init.from, if there are any. The parent has no parent itself. CORE_USAGE: no closing
 * brace, no settings between the braces, an unknown setting or value. */
static int resolve_parent(CoreConfig *config) {
  char from[CORE_CONFIG_TEXT];
  if (strncmp(config->init.from, parent_prefix, sizeof parent_prefix - 1) != 0) return CORE_OK;
  memcpy(from, config->init.from, sizeof from);
  int code = replace_braces(from, config);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "init.from = %.120s", from);
}

/* ---- configurations -------------------------------------------------------------------------------------------- */

static const SweepPart *find_part(const SweepGrid *grid, size_t cell) {
  const SweepPart *part = &grid->parts[grid->part_count - 1];
  while (cell < part->first_cell) part--;
  return part;
}

/* Calls `visit` with each list of a cell's block and the index of the cell's value; the last axis varies fastest. */
typedef void (*VisitValue)(void *context, const SweepValueList *list, size_t value);
static void visit_cell(const SweepPart *part, size_t cell, VisitValue visit, void *context) {
  size_t remainder = cell - part->first_cell, cells = part->cells;
  for (size_t a = 0; a < part->axis_count; a++) {
    const SweepAxis *axis = &part->axes[a];
    cells /= axis->length;
    size_t value = remainder / cells;
    remainder %= cells;
    for (size_t i = 0; i < axis->list_count; i++) visit(context, &axis->lists[i], value);
  }
}

static void apply_value(void *context, const SweepValueList *list, size_t value) {
  sweep_value_list_apply(list, value, context);
}

static size_t seed_index(const SweepGrid *grid, size_t run) { return grid->places[run] / grid->cells; }
static size_t cell_index(const SweepGrid *grid, size_t run) { return grid->places[run] % grid->cells; }

/* Returns the settings without the block's. */
static const CoreConfig *base_config(const SweepSpec *spec, const SweepPart *part) {
  return part->block && part->block->is_trainer ? &spec->trainer : &spec->base;
}

void sweep_grid_cell_config(const SweepGrid *grid, size_t cell, size_t seed, CoreConfig *config) {
  *config = *base_config(grid->spec, find_part(grid, cell));
  config->train.seed = grid->spec->seeds[seed];
  visit_cell(find_part(grid, cell), cell, apply_value, config);
  CORE_CHECK(resolve_parent(config) == CORE_OK); /* checked when the grid was expanded */
}

void sweep_grid_config(const SweepGrid *grid, size_t run, CoreConfig *config) {
  sweep_grid_cell_config(grid, cell_index(grid, run), seed_index(grid, run), config);
}

const SweepPart *sweep_grid_part(const SweepGrid *grid, size_t run) { return find_part(grid, cell_index(grid, run)); }

size_t sweep_grid_cell_trial(const SweepGrid *grid, size_t cell, const SweepSearch **search) {
  const SweepPart *part = find_part(grid, cell);
  size_t remainder = cell - part->first_cell, cells = part->cells;
  *search = part->search;
  if (!part->search) return 0;
  for (size_t a = 0; a < part->axis_count; a++) {
    cells /= part->axes[a].length;
    if (part->axes[a].search) return remainder / cells;
    remainder %= cells;
  }
  return 0;
}

/* ---- description ----------------------------------------------------------------------------------------------- */

typedef struct Description {
  const SweepGrid *grid;
  const SweepPart *part;
  CoreText *text;
} Description;

/* Whether the setting varies: it has several values, or another block has another value or none. */
static bool is_varying(const SweepGrid *grid, const SweepPart *part, const SweepValueList *list) {
  if (list->count > 1) return true;
  for (size_t p = 0; p < grid->part_count; p++) {
    const SweepPart *other = &grid->parts[p];
    bool is_same = other == part;
    for (size_t a = 0; a < other->axis_count && !is_same; a++)
      for (size_t i = 0; i < other->axes[a].list_count && !is_same; i++) {
        const SweepValueList *twin = &other->axes[a].lists[i];
        is_same = twin->row == list->row && twin->count == 1 && strcmp(twin->values[0].text, list->values[0].text) == 0;
      }
    if (!is_same) return true;
  }
  return false;
}

static void describe_value(void *context, const SweepValueList *list, size_t value) {
  const Description *d = context;
  if (!list->values[value].absent && is_varying(d->grid, d->part, list))
    core_text_appendf(d->text, "%s=%s ", list->row->name, list->values[value].text);
}

void sweep_grid_describe(const SweepGrid *grid, size_t run, CoreText *text) {
  size_t cell = cell_index(grid, run);
  Description description = {grid, find_part(grid, cell), text};
  visit_cell(description.part, cell, describe_value, &description);
  core_text_appendf(text, "seed=%lld", (long long)grid->spec->seeds[seed_index(grid, run)]);
}

/* ---- expansion ------------------------------------------------------------------------------------------------- */

/* Appends every key of a cell's block with its value, since any may have caused the error. */
static void append_value(void *context, const SweepValueList *list, size_t value) {
  core_text_appendf(context, " %s=%s", list->row->name, list->values[value].text);
}

static int check_cell(const SweepGrid *grid, const SweepPart *part, size_t cell, CoreConfig *config) {
  int code = resolve_parent(config);
  if (code == CORE_OK) code = core_config_check(config);
  if (code == CORE_OK) return sweep_stop_check_config(&grid->spec->stop, &grid->spec->ini, config);
  const CoreIni *ini = &grid->spec->ini;
  if (part->axis_count == 0) return core_error_context(code, "%s", ini->file);
  CoreText values = {0};
  const CoreIniEntry *entry = part->block    ? part->block->entry
                              : part->search ? part->search->entry : grid->spec->zips[0].entry;
  visit_cell(part, cell, append_value, &values);
  code = core_error(code, "%s:%d:%d: [%s], the cell%.2000s: %s", ini->file, entry->line, entry->column, entry->section,
                    core_text_string(&values), core_error_message());
  core_text_free(&values);
  return code;
}

/* Expands one seed of one block. Every cell of a block sets the same keys, so `values` need not be reset. */
static int expand_part(SweepGrid *grid, const SweepPart *part, size_t seed, SweepIdSet *ids) {
  CoreConfig values = *base_config(grid->spec, part);
  values.train.seed = grid->spec->seeds[seed];
  for (size_t cell = part->first_cell; cell < part->first_cell + part->cells; cell++) {
    char id[CORE_RUN_ID];
    visit_cell(part, cell, apply_value, &values);
    CoreConfig config = values;
    if (seed == 0) TRY(check_cell(grid, part, cell, &config)); /* checks do not depend on the seed */
    else TRY(resolve_parent(&config));
    core_config_id(&config, id);
    if (sweep_id_set_add(ids, id, NULL)) grid->places[grid->runs++] = (uint32_t)(seed * grid->cells + cell);
    else grid->duplicates++;
  }
  return CORE_OK;
}

int sweep_grid_expand(const SweepSpec *spec, SweepGrid *grid) {
  SweepIdSet ids = {0};
  int code;
  *grid = (SweepGrid){.spec = spec};
  TRY_GOTO(code, out, make_parts(spec, grid));
  grid->places = core_memory_allocate(grid->cells * spec->seed_count * sizeof *grid->places);
  for (size_t seed = 0; seed < spec->seed_count; seed++)
    for (size_t p = 0; p < grid->part_count; p++) TRY_GOTO(code, out, expand_part(grid, &grid->parts[p], seed, &ids));
  grid->ids = sweep_id_set_detach(&ids);
out:
  sweep_id_set_free(&ids);
  if (code != CORE_OK) sweep_grid_free(grid);
  return code;
}

static int check_trial(const SweepGrid *grid, const SweepPart *part, size_t trial) {
  const size_t end = part->first_cell + part->cells;
  size_t inner = part->cells, axis = 0; /* number of consecutive cells of one trial */
  do inner /= part->axes[axis].length;
  while (!part->axes[axis++].search);
  for (size_t cell = part->first_cell + trial * inner; cell < end; cell += part->search->trials * inner)
    for (size_t i = 0; i < inner; i++) {
      CoreConfig config = grid->spec->base;
      config.train.seed = grid->spec->seeds[0];
      visit_cell(part, cell + i, apply_value, &config);
      TRY(check_cell(grid, part, cell + i, &config));
    }
  return CORE_OK;
}

int sweep_grid_check_trial(const SweepSpec *spec, const SweepSearch *search, size_t trial) {
  SweepGrid grid = {.spec = spec};
  int code = make_parts(spec, &grid);
  for (size_t p = 0; p < grid.part_count; p++) {
    if (code != CORE_OK) break;
    if (grid.parts[p].search == search) code = check_trial(&grid, &grid.parts[p], trial);
  }
  sweep_grid_free(&grid);
  return code;
}

void sweep_grid_free(SweepGrid *grid) {
  for (size_t i = 0; i < grid->part_count; i++) free(grid->parts[i].axes);
  free(grid->parts);
  free(grid->ids);
  free(grid->places);
  *grid = (SweepGrid){0};
}
