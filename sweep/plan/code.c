/* Each kind of code in a grid is looked at once (code.h). */
#include "sweep/plan/code.h"

#include <string.h>

#include "store/code/trust.h"

static bool has_same_code(const CoreConfig *a, const CoreConfig *b) {
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.python, b->env.python) == 0 &&
         strcmp(a->env.code, b->env.code) == 0 && strcmp(a->env.folder, b->env.folder) == 0;
}

/* Is it that of the run before? */
static bool is_repeated(const SweepGrid *grid, size_t run, CoreConfig *config, CoreConfig *last) {
  sweep_grid_config(grid, run, config);
  const bool repeated = run > 0 && has_same_code(config, last);
  *last = *config;
  return repeated;
}

int sweep_code_look_at_trust(const SweepGrid *grid, bool grant, CoreText *message) {
  CoreConfig config, last;
  char words[STORE_TRUST_MESSAGE];
  for (size_t run = 0; run < grid->runs && message->length == 0; run++) {
    if (is_repeated(grid, run, &config, &last)) continue;
    TRY(store_trust_look(&config, grant, words));
    core_text_append(message, words);
  }
  return CORE_OK;
}

int sweep_code_check_trust(const SweepGrid *grid, bool grant) {
  CoreText message = {0};
  int code = sweep_code_look_at_trust(grid, grant, &message);
  if (code == CORE_OK && message.length > 0)
    code = core_error(CORE_USAGE, "%s: %s", grid->spec->ini.file, core_text_string(&message));
  core_text_free(&message);
  return code;
}
