/* Choice of each layer's method with train.precision = bf16 (bf16.h), by timing passes over layers of the same shape.
 * Threads divide a pass by blocks of rows, so a few blocks on one thread predict the time on all. The thread's
 * processor time is measured, so that other load on the machine does not influence the choice. cpu_chain.c and
 * cpu_dense.c compute with the chosen method. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/memory.h"
#include "trainer/ops/cpu/cpu_internal.h"

enum {
  TRIES = 5,              /* passes of each method, alternating, of which the fastest counts */
  BLOCKS = 2,             /* maximum blocks of rows that are timed */
  USUAL_WIDTH = 256,      /* width of the layer that `trainer info` times */
  USUAL_BLOCKS = 8,
};
/* Required speedup of bf16. A single layer promises slightly more than it gives in a network, where its gradient may
 * end and its inputs come from other layers' caches; and near a tie the choice should not be random. */
static const double GAIN = 1.3;

static const char *const WAY_NAMES[OPS_BF16_METHODS] = {
  [OPS_BF16_FLOAT32] = "float32", [OPS_BF16_ROUNDED] = "rounded factors", [OPS_BF16_LIBRARY] = "the library"};

/* ---- settings without measurement -------------------------------------------------------------------------------- */

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

void ops_bf16_add(OpsBf16 *choice, int in, int out) {
  for (int i = 0; i < choice->layers; i++)
    if (choice->layer[i].in == in && choice->layer[i].out == out) return;
  CORE_CHECK(choice->layers < OPS_BF16_LAYERS_MAX);
  choice->layer[choice->layers++] = (OpsBf16Layer){.in = in, .out = out};
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* A timed layer, with its buffers. */
typedef struct Timing {
  Ops *ops;
  int rows;
  OpsLayer layer;
  float *x, *dy, *dx, *all;
} Timing;

/* Fills x with normal values of both signs: the time of a product may depend on zeros and denormals. */
static void fill(float *x, size_t n) {
  uint32_t bits = 1;
  for (size_t i = 0; i < n; i++) {
    bits = bits * 1664525u + 1013904223u;
    x[i] = (float)(int32_t)bits * 0x1p-31f + 0x1p-20f;
  }
}

/* input: as in ops_cpu_bf16_select. A first layer needs no gradient at its input. */
static Timing begin_trial(Ops *ops, int rows, const OpsBf16Input *input, int in, int out) {
  const size_t x = (size_t)rows * (size_t)in, y = (size_t)rows * (size_t)out, w = (size_t)in * (size_t)out;
  const size_t n = 2 * x + 2 * y + 2 * w + 2 * (size_t)out;
  float *all = core_memory_allocate(n * sizeof *all);
  Timing trial = {.ops = ops, .rows = rows, .all = all, .x = all, .dx = all + x, .dy = all + 2 * x};
  float *weights = all + 2 * x + 2 * y;
  trial.layer = (OpsLayer){.in = in, .out = out, .activation = OPS_LINEAR, .y = all + 2 * x + y, .w = weights,
                           .dw = weights + w, .b = weights + 2 * w, .db = weights + 2 * w + out};
  fill(all, n);
  if (input == NULL || input->columns != in) return trial;
  for (int row = 0; row < rows; row++)
    memcpy(trial.x + (size_t)row * in, input->x + (size_t)(row % input->rows) * in, (size_t)in * sizeof *all);
  trial.dx = NULL;
  ops->gather_inputs(ops, trial.x, NULL, trial.x, rows, in);
  return trial;
}

static void end_trial(Timing *trial) {
  cpu_state(trial->ops)->inputs.x = NULL;
  free(trial->all);
}

static double processor_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Times a forward and a backward pass with the state's method for all layers. */
static double time_pass(const Timing *t) {
  const double start = processor_s();
  cpu_chain_forward(t->ops, t->x, &t->layer, 1, t->rows);
  cpu_chain_backward(t->ops, t->x, &t->layer, 1, t->dy, t->dx, NULL, t->rows, NULL);
  return processor_s() - start;
}

/* Chooses the faster of `plain` and the library, and stores both times. */
static void measure(Ops *ops, int rows, const OpsBf16Input *input, OpsBf16Method plain, OpsBf16Layer *layer) {
  const OpsBf16Method methods[] = {plain, OPS_BF16_LIBRARY};
  CpuState *state = cpu_state(ops);
  const OpsBf16Method way_before = state->method;
  const double flops_before = ops->flops;
  Timing trial = begin_trial(ops, rows, input, layer->in, layer->out);
  double best[] = {INFINITY, INFINITY};
  for (int i = 0; i < 2 * (TRIES + 1); i++) { /* the first pass of each initializes threads and the library's kernels */
    state->method = methods[i % 2];
    const double seconds = time_pass(&trial);
    if (i >= 2 && seconds < best[i % 2]) best[i % 2] = seconds;
  }
  end_trial(&trial);
  state->method = way_before;
  ops->flops = flops_before;
  layer->method = best[1] * GAIN < best[0] ? OPS_BF16_LIBRARY : plain;
  for (int i = 0; i < 2; i++) layer->seconds[methods[i]] = best[i];
}

/* Times the layers that were not float32, or all of a new choice. */
static void measure_all(Ops *ops, int rows, const OpsBf16Input *input, bool is_new, OpsBf16 *choice) {
  CpuState *state = cpu_state(ops);
  const OpsBf16 before = state->bf16;
  const int threads_before = state->threads;
  if (rows > BLOCKS * CPU_ROWS) rows = BLOCKS * CPU_ROWS;
  if (rows > state->max_rows) rows = state->max_rows;
  state->bf16.layers = 0; /* all layers use state->method */
  choice->rows = rows;
  choice->threads = state->threads = 1;
  for (int i = 0; i < choice->layers; i++) {
    OpsBf16Layer *layer = &choice->layer[i];
    if (is_new || layer->method != OPS_BF16_FLOAT32)
      measure(ops, rows, input, is_new ? OPS_BF16_FLOAT32 : OPS_BF16_ROUNDED, layer);
  }
  state->bf16 = before;
  state->threads = threads_before;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static void begin_choice(OpsBf16 *choice, OpsBf16Method method) {
  snprintf(choice->library, sizeof choice->library, "%s", ops_cpu_description());
  choice->rows = choice->threads = choice->forced = 0;
  for (int i = 0; i < choice->layers; i++) {
    OpsBf16Layer *layer = &choice->layer[i];
    *layer = (OpsBf16Layer){.in = layer->in, .out = layer->out, .method = (int32_t)method};
  }
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

void ops_cpu_bf16_select(Ops *ops, int rows, const OpsBf16Input *input, OpsBf16 *choice) {
  const CpuLibrary *library = cpu_state(ops)->library;
  if (choose_forced(library, choice)) return;
  begin_choice(choice, OPS_BF16_FLOAT32);
  if (library->product_bf16) measure_all(ops, rows, input, true, choice);
}

/* Keeps rounded layers rounded, with a method available here. */
static void adapt_methods(Ops *ops, int rows, OpsBf16 *choice) {
  const bool has_library = cpu_state(ops)->library->product_bf16 != NULL;
  snprintf(choice->library, sizeof choice->library, "%s", ops_cpu_description());
  choice->rows = choice->threads = choice->forced = 0;
  for (int i = 0; i < choice->layers; i++) {
    OpsBf16Layer *layer = &choice->layer[i];
    memset(layer->seconds, 0, sizeof layer->seconds);
    if (layer->method == OPS_BF16_LIBRARY) layer->method = OPS_BF16_ROUNDED;
  }
  if (has_library) measure_all(ops, rows, NULL, false, choice);
}

static bool same_methods(const OpsBf16 *a, const OpsBf16 *b) {
  bool same = a->layers == b->layers;
  for (int i = 0; i < a->layers && same; i++) same = a->layer[i].method == b->layer[i].method;
  return same;
}

bool ops_cpu_bf16_adapt(Ops *ops, int rows, const OpsBf16 *own, OpsBf16 *choice) {
  const CpuLibrary *library = cpu_state(ops)->library;
  if (choice->layers == 0) { /* trained on a GPU until now */
    *choice = *own;
    ops_cpu_bf16_select(ops, rows, NULL, choice);
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
  if (!same_library) adapt_methods(ops, rows, choice);
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
  bool is_time = true;
  if (restored->in != own->in || restored->out != own->out)
    return core_error(CORE_FAIL, "a layer is %dx%d, expected %dx%d", (int)restored->in,
                      (int)restored->out, (int)own->in, (int)own->out);
  for (int i = 0; i < OPS_BF16_METHODS; i++)
    is_time = is_time && isfinite(restored->seconds[i]) && restored->seconds[i] >= 0;
  if (restored->method >= 0 && restored->method < OPS_BF16_METHODS && is_time) return CORE_OK;
  return core_error(CORE_FAIL, "layer %dx%d: invalid method %d, or invalid time", (int)own->in, (int)own->out,
                    (int)restored->method);
}

int ops_bf16_check(const OpsBf16 *restored, const OpsBf16 *own) {
  if (restored->layers == OPS_BF16_EARLIER || restored->layers == 0) return CORE_OK;
  if (restored->layers != own->layers)
    return core_error(CORE_FAIL, "%d shapes of layers, expected %d", (int)restored->layers,
                      (int)own->layers);
  if (!is_text(restored->library, sizeof restored->library) || restored->rows < 0 || restored->threads < 0)
    return core_error(CORE_FAIL, "invalid library name, rows or threads");
  for (int i = 0; i < own->layers; i++) TRY(check_layer(&restored->layer[i], &own->layer[i]));
  return CORE_OK;
}

static void describe_layer(const OpsBf16Layer *layer, CoreText *text) {
  int times = 0;
  core_text_appendf(text, "%dx%d by %s", (int)layer->in, (int)layer->out, WAY_NAMES[layer->method]);
  for (int method = 0; method < OPS_BF16_METHODS; method++)
    if (layer->seconds[method] > 0)
      core_text_appendf(text, "%s%s %.3g ms", times++ > 0 ? ", " : " (", WAY_NAMES[method],
                        1e3 * layer->seconds[method]);
  if (times > 0) core_text_append(text, ")");
}

void ops_bf16_describe(const OpsBf16 *choice, CoreText *text) {
  for (int i = 0; i < choice->layers; i++) {
    if (i > 0) core_text_append(text, ", ");
    describe_layer(&choice->layer[i], text);
  }
  core_text_appendf(text, "; the library is %s", choice->library);
  if (choice->rows > 0)
    core_text_appendf(text, "; times are of %d rows on one thread", (int)choice->rows);
  else core_text_append(text, choice->forced ? "; TRAINER_BF16 chose" : "; nothing was timed");
}

const char *ops_cpu_bf16_description(void) {
  static char description[512];
  Ops *ops;
  OpsBf16 usual = {.layers = 0};
  CoreText text = {0};
  if (ops_cpu_create_bf16(0, USUAL_BLOCKS * CPU_ROWS, USUAL_WIDTH, &ops) != CORE_OK) return core_error_message();
  ops_bf16_add(&usual, USUAL_WIDTH, USUAL_WIDTH);
  ops_cpu_bf16_select(ops, USUAL_BLOCKS * CPU_ROWS, NULL, &usual);
  ops_destroy(&ops);
  ops_bf16_describe(&usual, &text);
  snprintf(description, sizeof description, "%s", core_text_string(&text));
  core_text_free(&text);
  return description;
}
