/* Choice of each layer's method with train.precision = bf16 (bf16.h), by a rule on the processor and the layer's shape.
 * cpu_chain.c and cpu_dense.c compute with the chosen method. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ops/cpu/cpu_internal.h"

enum {
  USUAL_WIDTH = 256,      /* width of the layer that `trainer info` describes */
  /* Least half of the harmonic mean of a layer's inputs and outputs: the multiplications of its product per number of
   * its factors. Below it, rounding and packing them takes longer than bf16 saves. Measured with AMX: layers of 140 x
   * 256 and 256 x 256 gain, 140 x 64, 64 x 64 and heads lose. */
  LEAST_DEPTH = 64,
};

static const char *const WAY_NAMES[OPS_BF16_METHODS] = {
  [OPS_BF16_FLOAT32] = "float32", [OPS_BF16_ROUNDED] = "rounded factors", [OPS_BF16_LIBRARY] = "the library"};

/* ---- the rule -------------------------------------------------------------------------------- */

int cpu_bf16_forced(const CpuLibrary *library, bool *forced, OpsBf16Method *method) {
  const char *wanted = getenv("TRAINER_BF16");
  *forced = wanted != NULL && *wanted != '\0';
  if (!*forced) return CORE_OK;
  if (strcmp(wanted, "rounded") != 0 && strcmp(wanted, "library") != 0)
    return core_error(CORE_USAGE, "TRAINER_BF16=%s: expected rounded or library", wanted);
  if (strcmp(wanted, "library") == 0 && library->product_bf16 == NULL)
    return core_error(CORE_USAGE,
                      "TRAINER_BF16=library: %s does not support bf16 on this processor; leave it unset",
                      library->name);
  *method = strcmp(wanted, "library") == 0 ? OPS_BF16_LIBRARY : OPS_BF16_ROUNDED;
  return CORE_OK;
}

OpsBf16Method cpu_bf16_earlier(const CpuLibrary *library) {
  return cpu_library_has_tiles(library) ? OPS_BF16_LIBRARY : OPS_BF16_ROUNDED;
}

OpsBf16Method cpu_bf16_rule(bool is_faster, int in, int out) {
  return is_faster && (int64_t)in * out >= LEAST_DEPTH * ((int64_t)in + out) ? OPS_BF16_LIBRARY : OPS_BF16_FLOAT32;
}

void ops_bf16_add(OpsBf16 *choice, int in, int out) {
  for (int i = 0; i < choice->layers; i++)
    if (choice->layer[i].in == in && choice->layer[i].out == out) return;
  CORE_CHECK(choice->layers < OPS_BF16_LAYERS_MAX);
  choice->layer[choice->layers++] = (OpsBf16Layer){.in = in, .out = out};
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static void begin_choice(OpsBf16 *choice, OpsBf16Method method) {
  snprintf(choice->library, sizeof choice->library, "%s", ops_cpu_description());
  choice->forced = 0;
  for (int i = 0; i < choice->layers; i++) choice->layer[i].method = (int32_t)method;
}

/* Applies TRAINER_BF16, if set. */
static bool choose_forced(const CpuLibrary *library, OpsBf16 *choice) {
  OpsBf16Method method = OPS_BF16_FLOAT32;
  bool forced;
  CORE_CHECK(cpu_bf16_forced(library, &forced, &method) == CORE_OK); /* ops_cpu_create_bf16 has checked it */
  if (!forced) return false;
  begin_choice(choice, method);
  choice->forced = 1;
  return true;
}

static OpsBf16Method method_of(const CpuLibrary *library, const OpsBf16Layer *layer) {
  return cpu_bf16_rule(cpu_library_is_faster_in_bf16(library), layer->in, layer->out);
}

void ops_cpu_bf16_select(const Ops *ops, OpsBf16 *choice) {
  const CpuLibrary *library = ((const CpuState *)ops->state)->library;
  if (choose_forced(library, choice)) return;
  begin_choice(choice, OPS_BF16_FLOAT32);
  for (int i = 0; i < choice->layers; i++) choice->layer[i].method = (int32_t)method_of(library, &choice->layer[i]);
}

/* Keeps rounded layers rounded, with the method that the rule has for this processor. */
static void adapt_methods(const CpuLibrary *library, OpsBf16 *choice) {
  snprintf(choice->library, sizeof choice->library, "%s", ops_cpu_description());
  choice->forced = 0;
  for (int i = 0; i < choice->layers; i++) {
    OpsBf16Layer *layer = &choice->layer[i];
    if (layer->method == OPS_BF16_FLOAT32) continue;
    layer->method = method_of(library, layer) == OPS_BF16_LIBRARY ? OPS_BF16_LIBRARY : OPS_BF16_ROUNDED;
  }
}

static bool same_methods(const OpsBf16 *a, const OpsBf16 *b) {
  bool same = a->layers == b->layers;
  for (int i = 0; i < a->layers && same; i++) same = a->layer[i].method == b->layer[i].method;
  return same;
}

bool ops_cpu_bf16_adapt(const Ops *ops, const OpsBf16 *own, OpsBf16 *choice) {
  const CpuLibrary *library = ((const CpuState *)ops->state)->library;
  if (choice->layers == 0) { /* trained on a GPU until now */
    *choice = *own;
    ops_cpu_bf16_select(ops, choice);
    return true;
  }

  const bool is_earlier = choice->layers == OPS_BF16_EARLIER;
  if (is_earlier) {
    *choice = *own;
    begin_choice(choice, cpu_bf16_earlier(library));
  }

  const bool same_library = strcmp(choice->library, ops_cpu_description()) == 0;
  const OpsBf16 before = *choice;
  if (choose_forced(library, choice)) return !same_library || !same_methods(&before, choice);
  if (!same_library) adapt_methods(library, choice);
  return !same_library;
}

bool ops_cpu_bf16_has(const Ops *ops, const OpsBf16 *choice) {
  const CpuState *state = ops->state;
  for (int i = 0; i < choice->layers; i++)
    if (choice->layer[i].method == OPS_BF16_LIBRARY && state->library->product_bf16 == NULL) return false;
  return true;
}

void ops_cpu_bf16_use(Ops *ops, const OpsBf16 *choice) {
  CORE_CHECK(cpu_state(ops)->has_bf16 && ops_cpu_bf16_has(ops, choice));
  cpu_state(ops)->bf16 = *choice;
}

/* ---- checks and messages ----------------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t size) {
  const size_t length = strnlen(text, size);
  for (size_t i = 0; i < length; i++)
    if (text[i] < ' ' || text[i] > '~') return false;
  return length > 0 && length < size;
}

static int check_layer(const OpsBf16Layer *restored, const OpsBf16Layer *own) {
  if (restored->in != own->in || restored->out != own->out)
    return core_error(CORE_FAIL, "a layer is %dx%d, expected %dx%d", (int)restored->in,
                      (int)restored->out, (int)own->in, (int)own->out);
  if (restored->method >= 0 && restored->method < OPS_BF16_METHODS) return CORE_OK;
  return core_error(CORE_FAIL, "layer %dx%d: invalid method %d", (int)own->in, (int)own->out, (int)restored->method);
}

int ops_bf16_check(const OpsBf16 *restored, const OpsBf16 *own) {
  if (restored->layers == OPS_BF16_EARLIER || restored->layers == 0) return CORE_OK;
  if (restored->layers != own->layers)
    return core_error(CORE_FAIL, "%d shapes of layers, expected %d", (int)restored->layers,
                      (int)own->layers);
  if (!is_text(restored->library, sizeof restored->library)) return core_error(CORE_FAIL, "invalid library name");
  for (int i = 0; i < own->layers; i++) TRY(check_layer(&restored->layer[i], &own->layer[i]));
  return CORE_OK;
}

void ops_bf16_describe(const OpsBf16 *choice, CoreText *text) {
  for (int i = 0; i < choice->layers; i++) {
    const OpsBf16Layer *layer = &choice->layer[i];
    core_text_appendf(text, "%s%dx%d by %s", i > 0 ? ", " : "", (int)layer->in, (int)layer->out,
                      WAY_NAMES[layer->method]);
  }
  core_text_appendf(text, "; the library is %s%s", choice->library, choice->forced ? "; TRAINER_BF16 chose" : "");
}

const char *ops_cpu_bf16_description(void) {
  static char description[512];
  Ops *ops;
  OpsBf16 usual = {.layers = 0};
  CoreText text = {0};
  if (ops_cpu_create_bf16(0, CPU_ROWS, USUAL_WIDTH, &ops) != CORE_OK) return core_error_message();
  ops_bf16_add(&usual, USUAL_WIDTH, USUAL_WIDTH);
  ops_cpu_bf16_select(ops, &usual);
  ops_destroy(&ops);
  ops_bf16_describe(&usual, &text);
  snprintf(description, sizeof description, "%s", core_text_string(&text));
  core_text_free(&text);
  return description;
}
