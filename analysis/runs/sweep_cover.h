/* The sweep that a run is shown under: experiments share runs, and a figure names each run once. */
#ifndef ANALYSIS_SWEEP_COVER_H
#define ANALYSIS_SWEEP_COVER_H
#include "analysis/runs/select.h"

/* Sets `sweep` of the selection and of its runs: few sweeps that have all runs, the one with the most configurations
 * first. All runs of a configuration get one sweep. sweeps: those that may be named, with commas; NULL: all. Once,
 * before anything points at runs. The errors are the store's. */
int analysis_selection_cover(StoreDatabase *database, const char *sweeps, AnalysisSelection *selection);

#endif
