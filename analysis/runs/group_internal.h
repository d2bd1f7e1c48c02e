/* The comparison that group.c and group_merge.c share. */
#ifndef ANALYSIS_GROUP_INTERNAL_H
#define ANALYSIS_GROUP_INTERNAL_H
#include "analysis/runs/group.h"

/* Numbers as numbers, choices in the order of their list, all else as text; a run that does not use the key comes
 * before those that do. */
int analysis_group_compare(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row);

#endif
