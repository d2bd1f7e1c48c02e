/* Shares configurations of runs (configs.h). A hash table finds a configuration by the BLAKE2b hash of its text in
 * results.db, without the seed, and by that of its settings. */
#include "analysis/runs/configs.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/select.h"
#include "core/error.h"
#include "core/memory.h"

enum { HASH_BYTES = 16 };

typedef struct Slot {
  unsigned char hash[HASH_BYTES];
  AnalysisConfigFacts *facts; /* NULL: free */
} Slot;

struct AnalysisConfigs {
  Slot *slots;                 /* [capacity], a power of 2 */
  size_t capacity, used;
  AnalysisConfigFacts **facts; /* [count] */
  size_t count;
};

/* ---- one configuration ------------------------------------------------------------------------------------------- */

CoreConfig analysis_config_whole(const AnalysisConfig *config) {
  CoreConfig whole = *config->shared;
  whole.train.seed = config->seed;
  return whole;
}

static bool is_seed(const CoreConfigRow *row) {
  return !row->is_program && row->offset == offsetof(CoreConfig, train.seed);
}

bool analysis_config_is_shared(const CoreConfigRow *row) {
  return !is_seed(row) && !(row->is_program && row->equivalent && is_seed(row->equivalent));
}

const void *analysis_config_field(const AnalysisConfig *config, const CoreConfigRow *row) {
  return is_seed(row) ? &config->seed : core_config_field(config->shared, row);
}

const char *analysis_config_get(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (!is_seed(row)) return core_config_get(config->shared, row, text);
  core_text_clear(text);
  core_text_appendf(text, "%lld", (long long)config->seed);
  return text->data;
}

json_t *analysis_config_setting_json(const AnalysisConfig *config, const CoreConfigRow *row) {
  const CoreConfig whole = analysis_config_whole(config);
  return core_config_setting_json(&whole, row);
}

bool analysis_config_value_equals(const AnalysisConfig *a, const AnalysisConfig *b, const CoreConfigRow *row) {
  if (is_seed(row)) return a->seed == b->seed;
  return a->shared == b->shared || core_config_value_equals(a->shared, b->shared, row);
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

AnalysisConfigs *analysis_configs_create(void) { return core_memory_zero_allocate(1, sizeof(AnalysisConfigs)); }

void analysis_configs_destroy(AnalysisConfigs **configs) {
  if (!*configs) return;
  for (size_t i = 0; i < (*configs)->count; i++) free((*configs)->facts[i]);
  free((*configs)->facts);
  free((*configs)->slots);
  free(*configs);
  *configs = NULL;
}

/* Returns the slot with the hash, or the free one where it belongs. */
static Slot *find_slot(const AnalysisConfigs *configs, const unsigned char hash[HASH_BYTES]) {
  size_t at;
  memcpy(&at, hash, sizeof at);
  for (;; at++) {
    Slot *slot = &configs->slots[at & (configs->capacity - 1)];
    if (!slot->facts || memcmp(slot->hash, hash, HASH_BYTES) == 0) return slot;
  }
}

/* Makes room for two more hashes. Invalidates slots. */
static void reserve(AnalysisConfigs *configs) {
  if (2 * (configs->used + 2) <= configs->capacity) return;
  const AnalysisConfigs old = *configs;
  configs->capacity = old.capacity ? 2 * old.capacity : 64;
  configs->slots = core_memory_zero_allocate(configs->capacity, sizeof *configs->slots);
  for (size_t i = 0; i < old.capacity; i++)
    if (old.slots[i].facts) *find_slot(configs, old.slots[i].hash) = old.slots[i];
  free(old.slots);
}

static void fill(AnalysisConfigs *configs, Slot *slot, const unsigned char hash[HASH_BYTES],
                 AnalysisConfigFacts *facts) {
  memcpy(slot->hash, hash, HASH_BYTES);
  slot->facts = facts;
  configs->used++;
}

/* Returns the set's copy of the facts, whose padding is 0. */
static AnalysisConfigFacts *share_facts(AnalysisConfigs *configs, const AnalysisConfigFacts *facts) {
  unsigned char hash[HASH_BYTES];
  crypto_generichash(hash, sizeof hash, (const unsigned char *)facts, sizeof *facts, NULL, 0);
  reserve(configs);
  Slot *slot = find_slot(configs, hash);
  if (slot->facts) return slot->facts;

  AnalysisConfigFacts *added = core_memory_allocate(sizeof *added);
  memcpy(added, facts, sizeof *added);
  configs->facts = core_memory_resize(configs->facts, (configs->count + 1) * sizeof *configs->facts);
  configs->facts[configs->count++] = added;
  fill(configs, slot, hash, added);
  return added;
}

const CoreConfig *analysis_configs_share(AnalysisConfigs *configs, const CoreConfig *config) {
  AnalysisConfigFacts *facts = core_memory_zero_allocate(1, sizeof *facts);
  facts->config = *config;
  facts->config.train.seed = 0;
  const AnalysisConfigFacts *shared = share_facts(configs, facts);
  free(facts);
  return &shared->config;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

/* Finds the digits of train.seed in a JSON text, and their end. NULL: another key or text might be meant. */
static const char *find_seed(const char *json, const char **end, int64_t *seed) {
  static const char section[] = "\"train\":", key[] = "\"seed\":";
  const char *train = strstr(json, section), *at = train ? strstr(train, key) : NULL;
  if (!at || train[-1] == '\\' || at[-1] == '\\' || strstr(at + 1, key)) return NULL;
  const char *value = train + strlen(section) + strspn(train + strlen(section), " ");
  if (*value != '{' || memchr(value, '}', (size_t)(at - value))) return NULL;
  at += strlen(key);
  at += strspn(at, " ");

  const size_t digits = strspn(at, "0123456789");
  if (digits == 0 || digits > 18 || (digits > 1 && *at == '0') || !strchr(",} ", at[digits])) return NULL;
  *end = at + digits;
  *seed = 0;
  for (const char *digit = at; digit < *end; digit++) *seed = 10 * *seed + (*digit - '0');
  return *seed <= UINT32_MAX ? at : NULL; /* as the setting's range */
}

/* Applies the scheme to environments, minibatches and learning rate; scheme and factor are kept, since they
 * distinguish runs. */
static void apply_scale(AnalysisConfigFacts *facts) {
  CoreConfig resolved;
  facts->scaled = core_config_is_scaled(&facts->config) && core_config_resolve(&facts->config, &resolved) == CORE_OK;
  if (!facts->scaled) resolved = facts->config;
  facts->transitions_per_iteration = core_config_transitions_per_iteration(&resolved);
  facts->iterations = core_config_iterations(&resolved);
  if (!facts->scaled) return;
  resolved.scale = facts->config.scale;
  facts->config = resolved;
}

int analysis_configs_parse(AnalysisConfigs *configs, const char *json, const AnalysisConfigFacts **facts,
                           int64_t *seed) {
  unsigned char hash[HASH_BYTES];
  crypto_generichash_state state;
  int64_t written = 0;
  const char *end = NULL, *digits = find_seed(json, &end, &written);

  crypto_generichash_init(&state, NULL, 0, sizeof hash);
  crypto_generichash_update(&state, (const unsigned char *)json, digits ? (size_t)(digits - json) : strlen(json));
  if (digits) crypto_generichash_update(&state, (const unsigned char *)end, strlen(end));
  crypto_generichash_final(&state, hash, sizeof hash);

  reserve(configs);
  Slot *slot = find_slot(configs, hash);
  if (slot->facts && digits) {
    *facts = slot->facts;
    *seed = written;
    return CORE_OK;
  }

  AnalysisConfigFacts *parsed = core_memory_zero_allocate(1, sizeof *parsed);
  const int code = analysis_config_from_json(json, &parsed->config);
  if (code == CORE_OK) {
    *seed = parsed->config.train.seed;
    core_config_cell_id(&parsed->config, parsed->cell);
    apply_scale(parsed);
    parsed->config.train.seed = 0;
    AnalysisConfigFacts *shared = share_facts(configs, parsed);
    *facts = shared;
    slot = find_slot(configs, hash);
    if (digits && written == *seed && !slot->facts) fill(configs, slot, hash, shared);
  }
  free(parsed);
  return code;
}
