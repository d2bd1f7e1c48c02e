/* From a spec to runs: every combination of every block's axes with every seed, each once.
 *
 * Order: seed by seed, inside a seed block by block (file order), the last axis fastest, so that a sweep that is cut
 * short has every configuration. Runs of equal id (blocks may overlap) are merged: the first stands.
 * Only ids and numbers are kept (21 bytes a run); a configuration is made when asked for. */
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
  const char *zip;        /* the zip's name, NULL for a grid's list */
  const SweepSearch *search; /* NULL: it is no search's */
} SweepAxis;

typedef struct SweepPart { /* a block with its axes: the zips first, then a search, then its lists in file order */
  const SweepBlock *block; /* NULL: no grid at all */
  const SweepSearch *search; /* NULL: none */
  SweepAxis *axes;
  size_t axis_count, cells, first_cell;
} SweepPart;

typedef struct SweepGrid {
  const SweepSpec *spec;         /* borrowed: must outlive the grid */
  SweepPart *parts;
  size_t part_count;
  size_t cells;                  /* over all parts */
  size_t runs;                   /* after merging */
  size_t duplicates;             /* cells * seeds - runs */
  char (*ids)[CORE_RUN_ID];      /* [runs] */
  uint32_t *places;              /* [runs]: seed number * cells + cell */
  bool is_part;                  /* some runs were left out (where.h) */
} SweepGrid;

/* Expands and validates every configuration (core_config_check). CORE_USAGE names file, line and cell. */
int sweep_grid_expand(const SweepSpec *spec, SweepGrid *grid);
void sweep_grid_free(SweepGrid *grid);
/* The same checks of one trial of a search, in every cell that it would have. */
int sweep_grid_check_trial(const SweepSpec *spec, const SweepSearch *search, size_t trial);

/* Iterator: the whole configuration of run 0..runs-1, microseconds a call. */
void sweep_grid_config(const SweepGrid *grid, size_t run, CoreConfig *config);
/* The block that a run comes from; where blocks overlap, the first. */
const SweepPart *sweep_grid_part(const SweepGrid *grid, size_t run);
/* Cells, whether or not another one has come to the same run: the configuration of one, and its trial (*search NULL:
 * its part has none). */
void sweep_grid_cell_config(const SweepGrid *grid, size_t cell, size_t seed, CoreConfig *config);
size_t sweep_grid_cell_trial(const SweepGrid *grid, size_t cell, const SweepSearch **search);
/* The cell of a run. */
size_t sweep_grid_cell(const SweepGrid *grid, size_t run);
/* What tells a run from its siblings: "ppo.com=8 env.num=512 seed=3" (settings that vary in the sweep). Appends. */
void sweep_grid_describe(const SweepGrid *grid, size_t run, CoreText *text);

#endif
