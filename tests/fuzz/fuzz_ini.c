/* A text -> INI entries, a run's configuration, and an experiment file. An accepted configuration reads back the same
 * from its own canonical text. */
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"
#include "sweep/spec/spec.h"

static void read_config(const uint8_t *data, size_t size) {
  CoreConfig config = core_config_default(), again = core_config_default(), resolved;
  char id[CORE_RUN_ID], id_again[CORE_RUN_ID];
  CoreText ini = {0}, json = {0};
  if (core_config_read(fuzz_file(data, size), &config) != CORE_OK) return;
  core_config_to_ini(&config, &ini);
  FUZZ_CHECK(core_config_read(fuzz_file((const uint8_t *)ini.data, ini.length), &again) == CORE_OK);
  core_config_id(&config, id);
  core_config_id(&again, id_again);
  FUZZ_CHECK(strcmp(id, id_again) == 0);
  core_config_to_json(&config, &json);
  core_config_check(&config);
  core_config_resolve(&config, &resolved);
  core_text_free(&ini);
  core_text_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = core_memory_allocate(size + 1);
  CoreIni ini;
  SweepSpec spec;
  memcpy(text, data, size);
  text[size] = '\0';
  if (core_ini_parse("fuzz.ini", text, &ini) == CORE_OK) {
    for (size_t i = 0; i < ini.count; i++) FUZZ_CHECK(ini.entries[i].line > 0 && ini.entries[i].column > 0);
    core_ini_free(&ini);
  }
  read_config(data, size);
  if (sweep_spec_parse("fuzz.ini", text, NULL, NULL, 0, &spec) == CORE_OK) sweep_spec_free(&spec);
  if (sweep_spec_parse("fuzz.ini", text, "demo", NULL, 0, &spec) == CORE_OK) sweep_spec_free(&spec);
  free(text);
  return 0;
}
