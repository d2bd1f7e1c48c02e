/* `sweep extend`: adds seeds to a sweep and submits their runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/commands.h"
#include "sweep/control/submit.h"
#include "sweep/spec/extension.h"

static const CoreManual extend_manual = {
  .usage = "sweep extend NAME seeds=N [options]",
  .about = "Adds seeds to a sweep and submits their runs: seeds=10 stands for 0 to 9, seeds=\"0..9, 20\" for a list. "
           "Seeds that the sweep already has stay. The sweep keeps the new ones (sweeps/NAME/extended), so sweep "
           "submit of its file includes them.",
  .operands_min = 2, .operands = {"NAME", "seeds=N"}, .operands_max = 2};

static bool is_seeds(const char *operand) { return strncmp(operand, "seeds=", 6) == 0; }

/* Removes the seeds that the sweep already has. None may remain only if an earlier extension by these seeds was
 * interrupted, which is then completed. CORE_USAGE: none remain otherwise; the message lists the existing seeds. */
static int keep_new(const SweepSubmitOptions *options, const char *operand, const char *requested, int64_t *seeds,
                    size_t *count) {
  SweepSpec spec;
  SweepExtension recorded = {0};
  CoreText present = {0};
  size_t added;

  TRY(sweep_common_spec(&options->common, operand, &spec));
  int code = sweep_extension_read(options->common.root, spec.name, &recorded);
  const bool is_unfinished = sweep_extension_is_unfinished(&recorded, seeds, *count);
  sweep_extension_print(spec.seeds, spec.seed_count, &present);

  const int64_t last = spec.seeds[spec.seed_count - 1];
  sweep_extension_join(&spec.seeds, &spec.seed_count, seeds, *count, &added);
  memcpy(seeds, spec.seeds + spec.seed_count - added, added * sizeof *seeds);
  *count = added;

  if (code == CORE_OK && is_unfinished)
    fprintf(stderr, "%s: completing an interrupted sweep extend\n", spec.name);
  else if (code == CORE_OK && added == 0)
    code = core_error(CORE_USAGE, "%s already has the seeds %s, and %s adds none: sweep extend never removes seeds; "
                      "seeds=%lld would add one", spec.name, core_text_string(&present), requested,
                      (long long)last + 2);

  core_text_free(&present);
  sweep_extension_free(&recorded);
  sweep_spec_free(&spec);
  return code;
}

/* Extends operands[0] by operands[1]; either order is accepted. */
static int extend(void *context, const char **operands, size_t count) {
  SweepSubmitOptions *options = context;
  const size_t seeds_index = is_seeds(operands[0]) ? 0 : 1;
  const char *requested = operands[seeds_index], *sweep = operands[1 - seeds_index];
  int64_t *seeds;
  size_t seed_count;

  if (!is_seeds(requested)) return core_options_usage_error(&extend_manual, "seeds=N is missing");
  for (size_t i = 0; i < options->common.sets.count; i++)
    if (strncmp(options->common.sets.items[i], "sweep.seeds=", 12) == 0)
      return core_options_usage_error(&extend_manual, "--set %s and %s both set seeds", options->common.sets.items[i],
                                 requested);

  const CoreIniEntry entry = {.value = (char *)requested + 6};
  TRY(sweep_common_open(&options->common));
  TRY(sweep_value_list_seeds(NULL, &entry, &seeds, &seed_count));
  int code = keep_new(options, sweep, requested, seeds, &seed_count);
  options->common.extra_seeds = seeds;
  options->common.extra_seed_count = seed_count;
  if (code == CORE_OK) code = sweep_submit_sweep(options, sweep);
  free(seeds);
  return code;
}

int sweep_extend(int argc, char **argv) { return sweep_submit_parse(&extend_manual, argc, argv, extend); }
