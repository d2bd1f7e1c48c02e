/* Assignment of runs to sweeps: experiments share runs, and a figure names each run under one sweep. */
#ifndef ANALYSIS_SWEEP_COVER_H
#define ANALYSIS_SWEEP_COVER_H
#include "analysis/runs/select.h"

/* Sets `sweep` of the selection and of its runs: few sweeps that contain all runs, the one with the most
 * configurations first. All runs of a configuration get the same sweep. sweeps: comma-separated candidates; NULL:
 * all. Call it once, before keeping pointers to runs. */
int analysis_selection_cover(StoreDatabase *database, const char *sweeps, AnalysisSelection *selection);

#endif
