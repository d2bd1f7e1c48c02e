/* Finds the new ones of the requested seeds (submit_internal.h). */
#include "sweep/control/submit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/spec/extension.h"

/* Removes the seeds that the sweep already has. */
static int keep_new(const SweepCommon *common, const char *operand, const char *text, int64_t *seeds, size_t *count) {
  SweepSpec spec;
  SweepExtension recorded = {0};
  CoreText present = {0};
  size_t added;

  TRY(sweep_common_spec(common, operand, &spec));
  int code = sweep_extension_read(common->root, spec.name, &recorded);
  const bool is_unfinished = sweep_extension_is_unfinished(&recorded, seeds, *count);
  sweep_extension_print(spec.seeds, spec.seed_count, &present);

  const int64_t last = spec.seeds[spec.seed_count - 1];
  sweep_extension_join(&spec.seeds, &spec.seed_count, seeds, *count, &added);
  memcpy(seeds, spec.seeds + spec.seed_count - added, added * sizeof *seeds);
  *count = added;

  if (code == CORE_OK && is_unfinished)
    fprintf(stderr, "%s: completing an interrupted sweep submit --seeds\n", spec.name);
  else if (code == CORE_OK && added == 0)
    code = core_error(CORE_USAGE, "%s already has the seeds %s, and --seeds %s adds none: seeds are never removed; "
                      "--seeds %lld would add one", spec.name, core_text_string(&present), text, (long long)last + 2);

  core_text_free(&present);
  sweep_extension_free(&recorded);
  sweep_spec_free(&spec);
  return code;
}

int sweep_seeds_add(SweepCommon *common, const char *operand, const char *text, int64_t **seeds) {
  const CoreIniEntry entry = {.value = (char *)text};
  size_t count;
  *seeds = NULL;
  for (size_t i = 0; i < common->sets.count; i++)
    if (strncmp(common->sets.items[i], "sweep.seeds=", 12) == 0)
      return core_error(CORE_USAGE, "--set %s and --seeds %s both set seeds", common->sets.items[i], text);
  TRY(sweep_value_list_seeds(NULL, &entry, seeds, &count));
  TRY(keep_new(common, operand, text, *seeds, &count));
  common->extra_seeds = *seeds;
  common->extra_seed_count = count;
  return CORE_OK;
}
