/* Recorded code of attempts (run.h). */
#include "trainer/run/run.h"

#include <string.h>

#include "core/log.h"
#include "store/code/code.h"
#include "store/workspace/paths.h"

int run_code_check_option(const char *if_changed) {
  static const char *const words[] = {"refuse", "keep", "restart"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!if_changed || strcmp(if_changed, words[i]) == 0) return CORE_OK;
  if (*if_changed && strspn(if_changed, "0123456789abcdef,") == strlen(if_changed)) return CORE_OK;
  return core_error(CORE_USAGE, "--if-changed %.80s: expected refuse, keep, restart or hashes of code", if_changed);
}

/* Returns the code of the latest attempt. */
static const char *latest(const StoreState *state) {
  const char *plus = strrchr(state->code, '+');
  return plus ? plus + 1 : state->code;
}

int run_code_may_resume(const CoreConfig *config, const StoreState *before, const char *if_changed, bool *restart) {
  const StoreCode *code;
  CoreText text = {0};
  *restart = false;
  TRY(store_code_find(config, &code));
  if (!*before->code || !*code->hash || strcmp(latest(before), code->hash) == 0) return CORE_OK;
  *restart = if_changed && strcmp(if_changed, "restart") == 0;
  if (*restart || (if_changed && (strcmp(if_changed, "keep") == 0 || strstr(if_changed, code->hash)))) return CORE_OK;
  store_code_compare(before->code_files, code->summary, &text);
  const int result = core_error(CORE_FAIL, "its checkpoint was made by different code (%.300s); sweep submit --force "
                                "starts it over, --keep continues it (trainer: --force, --if-changed keep)",
                                core_text_string(&text));
  core_text_free(&text);
  return result;
}

int run_code_begin(const CoreConfig *config, bool goes_on, StoreState *state) {
  const StoreCode *code;
  char before[sizeof state->code], files[sizeof state->code_files];
  TRY(store_code_find(config, &code));
  const bool changed = goes_on && *state->code && strcmp(latest(state), code->hash) != 0;
  if (goes_on && *state->code && (!changed || !*code->hash)) return CORE_OK;
  memcpy(before, state->code, sizeof before);
  memcpy(files, state->code_files, sizeof files);
  if (changed && strlen(before) + 1 + strlen(code->hash) >= sizeof before) before[STORE_CODE_HASH - 1] = '\0';
  snprintf(state->code, sizeof state->code, "%.*s%s%s", (int)(sizeof before - STORE_CODE_HASH), changed ? before : "",
           changed ? "+" : "", code->hash);
  snprintf(state->code_files, sizeof state->code_files, "%.*s%s%.*s", (int)(sizeof files / 2), code->summary,
           changed ? "; before: " : "", changed ? (int)(sizeof files / 2 - 16) : 0, files);
  if (!changed) memcpy(state->code_files, code->summary, sizeof state->code_files);
  return CORE_OK;
}

void run_code_record(const CoreConfig *config, const char *root, const char *id, const StoreState *state) {
  const StoreCode *code;
  char path[CORE_PATH_MAX], name[48];
  if (store_code_find(config, &code) != CORE_OK || !*code->hash) return;
  core_info("code %s: %s", state->code, state->code_files);
  snprintf(name, sizeof name, "code.%d.tsv", state->attempt);
  if (store_path_run(root, id, name, path) != CORE_OK ||
      core_files_write_atomic(path, code->lines, strlen(code->lines)) != CORE_OK)
    core_warn("%s", core_error_message()); /* the state has its hash */
}
