/* Expands a spec to runs: every combination of every block's axes with every seed, each once.
 *
 * Order: by seed, then by block (file order), with the last axis varying fastest, so that a sweep that is cut short has
 * every configuration. Runs with equal ids (blocks may overlap) are merged into the first. Only ids and indices are
 * stored (21 bytes per run); configurations are made on demand. */
#ifndef SWEEP_GRID_H
#define SWEEP_GRID_H
#include <stddef.h>
#include <stdint.h>

#include "sweep/spec/spec.h"

enum { SWEEP_RUNS_MAX = 10000000 };

/* One axis: one list of a grid block, or all lists of a zip or of a search's trials. */
typedef struct SweepAxis {
  const SweepValueList *lists;
  size_t list_count, length;
  const char *zip;           /* name of the zip; NULL: list of a grid */
  const SweepSearch *search; /* NULL: not of a search */
} SweepAxis;

/* A grid block with its axes: zips first, then a search, then its lists in file order. */
typedef struct SweepPart {
  const SweepBlock *block;   /* NULL: the file has no grid */
  const SweepSearch *search; /* NULL: none */
  SweepAxis *axes;
  size_t axis_count, cells, first_cell;
} SweepPart;

typedef struct SweepGrid {
  const SweepSpec *spec;         /* borrowed: must outlive the grid */
  SweepPart *parts;
  size_t part_count;
  size_t cells;                  /* sum over parts */
  size_t runs;                   /* after merging */
  size_t duplicates;             /* cells * seeds - runs */
  char (*ids)[CORE_RUN_ID];      /* [runs] */
  uint32_t *places;              /* [runs] seed index * cells + cell */
  bool is_part;                  /* whether runs were left out (where.h) */
} SweepGrid;

/* Expands the spec and validates every configuration (core_config_check). CORE_USAGE: the message has file, line and
 * cell. */
int sweep_grid_expand(const SweepSpec *spec, SweepGrid *grid);
void sweep_grid_free(SweepGrid *grid);
/* Validates one trial of a search in every cell that it would have. */
int sweep_grid_check_trial(const SweepSpec *spec, const SweepSearch *search, size_t trial);

/* Makes the configuration of run 0..runs-1, in microseconds. */
void sweep_grid_config(const SweepGrid *grid, size_t run, CoreConfig *config);
/* Returns the part that a run comes from; the first if several overlap. */
const SweepPart *sweep_grid_part(const SweepGrid *grid, size_t run);
/* Make the configuration of a cell, and return its trial (*search NULL: it has none). Cells of merged runs count,
 * too. */
void sweep_grid_cell_config(const SweepGrid *grid, size_t cell, size_t seed, CoreConfig *config);
size_t sweep_grid_cell_trial(const SweepGrid *grid, size_t cell, const SweepSearch **search);
/* Appends the settings of a run that vary in the sweep: "ppo.com=8 env.num=512 seed=3". */
void sweep_grid_describe(const SweepGrid *grid, size_t run, CoreText *text);

#endif
