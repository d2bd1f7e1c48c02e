/* Finds cells of a grid with different ids and the same core_config_cell_id, or that differ in what has no effect. */
#include "sweep/plan/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "sweep/spec/id_set.h"

typedef struct Duplicates {
  size_t cells;       /* number of cells that repeat an earlier one */
  size_t first, twin; /* runs: the first duplicate, and the run that it repeats */
} Duplicates;

/* Whether the proximal policy of PPO-EWMA has no effect: only a clip or a KL penalty compares with it, so that w r_p is
 * the plain importance ratio. A DDR controller may set epsilon. */
static bool ignores_proximal(const CoreConfig *config) {
  return !config->program && strcmp(config->algo.name, "ppo_ewma") == 0 && isinf(config->ppo.epsilon) &&
         config->ppo.kl_penalty == 0 && config->ppo.ddr_target == 0;
}

/* Computes the cell of a run, without what has no effect in it. */
static void make_cell_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreConfig reduced = *config;
  const CoreConfig defaults = core_config_default();
  if (ignores_proximal(config)) {
    reduced.ppo.com = defaults.ppo.com;
    memcpy(reduced.ppo.ewma_rule, defaults.ppo.ewma_rule, sizeof reduced.ppo.ewma_rule);
  }
  core_config_cell_id(&reduced, id);
}

/* Compares the runs of the first seed; those of other seeds have the same cells. */
static void find(const SweepGrid *grid, Duplicates *found) {
  SweepIdSet cells = {0};
  char id[CORE_RUN_ID];
  CoreConfig config;
  size_t known, *run_of = core_memory_allocate((grid->cells + 1) * sizeof *run_of);
  *found = (Duplicates){0};

  for (size_t run = 0; run < grid->runs && grid->places[run] < grid->cells; run++) {
    sweep_grid_config(grid, run, &config);
    make_cell_id(&config, id);
    if (sweep_id_set_add(&cells, id, &known)) run_of[known] = run;
    else if (found->cells++ == 0) {
      found->first = run;
      found->twin = run_of[known];
    }
  }

  free(run_of);
  sweep_id_set_free(&cells);
}

/* Returns the first setting in which the configurations differ and which one of them does not read; NULL: both read all
 * (e.g. a scale.scheme with factor 1, and none). */
static const CoreConfigRow *find_unread(const CoreConfig *a, const CoreConfig *b) {
  size_t count;
  const CoreConfigRow *row = core_config_rows(&count);
  for (const CoreConfigRow *end = row + count; row < end; row++)
    if (row->identity && !core_config_value_equals(a, b, row) && !core_config_is_read(a, row)) return row;
  return NULL;
}

static const SweepValueList *find_list(const SweepPart *part, const CoreConfigRow *row) {
  for (size_t a = 0; a < part->axis_count; a++)
    for (size_t i = 0; i < part->axes[a].list_count; i++)
      if (part->axes[a].lists[i].row == row) return &part->axes[a].lists[i];
  return NULL;
}

/* Appends "FILE:LINE: [grid com] gives values to ppo.com, which nothing reads: ...". */
static void append_unread(const SweepGrid *grid, const Duplicates *found, const CoreConfig *config,
                          const CoreConfigRow *row, CoreText *text) {
  const SweepValueList *list = find_list(sweep_grid_part(grid, found->first), row);
  if (!list) list = find_list(sweep_grid_part(grid, found->twin), row);
  if (list)
    core_text_appendf(text, "%s:%d:%d: [%s] gives values to %s, which nothing reads: ", grid->spec->ini.file,
                      list->entry->line, list->entry->key_column, list->entry->section, row->name);
  else core_text_appendf(text, "%s: %s differs where nothing reads it: ", grid->spec->ini.file, row->name);
  core_config_append_unread_reason(config, row, text);
}

static void append_without_clip(const SweepGrid *grid, const Duplicates *found, const CoreConfig *config,
                                CoreText *text) {
  CoreConfig twin;
  sweep_grid_config(grid, found->twin, &twin);
  const char *setting = config->ppo.com == twin.ppo.com ? "ppo.ewma_rule" : "ppo.com";
  core_text_appendf(text, "%s: %s has no effect without a clip (ppo.epsilon = inf) or KL penalty: ",
                    grid->spec->ini.file, setting);
  sweep_grid_describe(grid, found->twin, text);
  core_text_append(text, " and ");
  sweep_grid_describe(grid, found->first, text);
}

static void append_remedy(const SweepGrid *grid, const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  const SweepPart *part = sweep_grid_part(grid, 0);
  if (row) {
    core_text_append(text, "; ");
    core_config_append_remedy(config, row, text);
    if (part->block) core_text_append(text, " in that grid");
    core_text_append(text, ", or remove the values");
  } else {
    core_text_append(text, "; remove one of them");
  }
  core_text_append(text, "; to allow duplicates, write unread = allow in [sweep]");
}

int sweep_duplicates_check(const SweepGrid *grid) {
  Duplicates found;
  CoreConfig config, twin;
  CoreText text = {0};
  if (grid->spec->unread_allowed) return CORE_OK;
  find(grid, &found);
  if (found.cells == 0) return CORE_OK;

  sweep_grid_config(grid, found.first, &config);
  sweep_grid_config(grid, found.twin, &twin);
  const CoreConfigRow *row = find_unread(&config, &twin);
  if (row) append_unread(grid, &found, &config, row, &text);
  else if (ignores_proximal(&config)) append_without_clip(grid, &found, &config, &text);
  else {
    core_text_appendf(&text, "%s: two cells have the same settings: ", grid->spec->ini.file);
    sweep_grid_describe(grid, found.twin, &text);
    core_text_append(&text, " and ");
    sweep_grid_describe(grid, found.first, &text);
  }
  core_text_appendf(&text, "; %zu of the %zu runs would be bit-identical duplicates of others",
                    found.cells * grid->spec->seed_count, grid->runs);
  append_remedy(grid, &config, row, &text);

  int code = CORE_OK;
  if (grid->spec->frozen) core_warn("%s", core_text_string(&text));
  else code = core_error(CORE_USAGE, "%s", core_text_string(&text));
  core_text_free(&text);
  return code;
}
