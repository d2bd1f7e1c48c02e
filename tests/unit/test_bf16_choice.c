/* trainer/ops/bf16.h and trainer/run/training_bf16.c: selection of bf16 products by rule, results of the selection, and
 * resumed trainings, which keep it. */
#include "test.h"

#include "core/files.h"
#include "core/memory.h"
#include "tests/unit/ops_tools.h"
#include "tests/training_tools.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/run/training_internal.h"

enum { ROWS = 300, IN = 40, HIDDEN = 33, OUT = 5 };

static void force(const char *method) { assert_int_equal(setenv("TRAINER_BF16", method, 1), 0); }

static Ops *make_bf16_ops(void) {
  Ops *ops;
  if (ops_cpu_create_bf16(2, OPS_ROWS_MAX, OPS_WIDTH_MAX, &ops) != CORE_OK) fail_msg("%s", core_error_message());
  return ops;
}

static bool has_library(const Ops *ops) { return ((const CpuState *)ops->state)->library->product_bf16 != NULL; }

static OpsBf16 two_layers(void) {
  OpsBf16 choice = {.layers = 0};
  ops_bf16_add(&choice, IN, HIDDEN);
  ops_bf16_add(&choice, HIDDEN, OUT);
  ops_bf16_add(&choice, IN, HIDDEN);
  assert_int_equal(choice.layers, 2);
  return choice;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* On processors that multiply bf16 faster, layers of the papers' networks are in bf16, heads and small layers are not,
 * and neither is a shape next to the bound. On other processors none is. */
static void test_the_rule(void **unused) {
  static const struct { int in, out; bool gains; } layers[] = {
    {256, 256, true},  {140, 256, true},  {98, 256, true},   {567, 256, true},  {512, 256, true},  {3136, 512, true},
    {128, 128, true},  {140, 64, false},  {64, 64, false},   {256, 16, false},  {256, 1, false},   {17, 64, false},
    {64, 256, false},  {127, 128, false}, {128, 127, false}, {16, 4096, false}, {1 << 20, 64, false},
    {1 << 20, 1 << 20, true},
  };
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    const OpsBf16Method method = cpu_bf16_rule(true, layers[i].in, layers[i].out);
    if (method != (layers[i].gains ? OPS_BF16_LIBRARY : OPS_BF16_FLOAT32))
      fail_msg("%d x %d: method %d", layers[i].in, layers[i].out, (int)method);
    assert_int_equal(cpu_bf16_rule(false, layers[i].in, layers[i].out), OPS_BF16_FLOAT32);
  }
}

/* The rule is that of this processor, and a choice is complete. */
static void test_a_choice_follows_the_rule(void **unused) {
  force("");
  Ops *ops = make_bf16_ops();
  const CpuLibrary *library = cpu_state(ops)->library;
  OpsBf16 choice = two_layers(), again = two_layers();
  ops_bf16_add(&choice, 256, 256);
  ops_bf16_add(&again, 256, 256);
  ops->flops = 7;
  ops_cpu_bf16_select(ops, &choice);
  ops_cpu_bf16_select(ops, &again);
  assert_true(ops->flops == 7); /* nothing is computed */
  assert_memory_equal(&choice, &again, sizeof choice);
  assert_int_equal(ops_bf16_check(&choice, &choice), CORE_OK);
  assert_int_equal(choice.forced, 0);
  assert_string_equal(choice.library, ops_cpu_description());
  if (cpu_library_is_faster_in_bf16(library)) assert_true(has_library(ops));
  for (int i = 0; i < 2; i++) assert_int_equal(choice.layer[i].method, OPS_BF16_FLOAT32);
  assert_int_equal(choice.layer[2].method,
                   cpu_library_is_faster_in_bf16(library) ? OPS_BF16_LIBRARY : OPS_BF16_FLOAT32);
  ops_destroy(&ops);
}

static void test_a_forced_way_is_taken_for_all(void **unused) {
  force("rounded");
  Ops *ops = make_bf16_ops();
  OpsBf16 choice = two_layers();
  ops_cpu_bf16_select(ops, &choice);
  assert_int_equal(choice.forced, 1);
  for (int i = 0; i < choice.layers; i++) assert_int_equal(choice.layer[i].method, OPS_BF16_ROUNDED);
  ops_destroy(&ops);
  force("");
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

typedef struct Net { float *x, *w[2], *b[2], *y[2], *dw[2], *db[2], *dy, *dx, *scratch; } Net;

static Net make_net(void) {
  const int width[] = {IN, HIDDEN, OUT};
  Net net = {.x = normals(1, ROWS * IN, 1), .dy = normals(2, ROWS * OUT, 1), .dx = normals(3, ROWS * IN, 1),
             .scratch = normals(3, 2 * ROWS * HIDDEN, 1)};
  for (int l = 0; l < 2; l++) {
    const size_t in = (size_t)width[l], out = (size_t)width[l + 1];
    net.w[l] = normals(4 + (uint64_t)l, in * out, 0.2), net.b[l] = normals(6, out, 0.2);
    net.y[l] = normals(7, ROWS * out, 1), net.dw[l] = normals(8, in * out, 1), net.db[l] = normals(8, out, 1);
  }
  return net;
}

static void free_net(Net *net) {
  free(net->x), free(net->dy), free(net->dx), free(net->scratch);
  for (int l = 0; l < 2; l++) free(net->w[l]), free(net->b[l]), free(net->y[l]), free(net->dw[l]), free(net->db[l]);
}

static Net run_net(Ops *ops) {
  Net net = make_net();
  const OpsLayer layers[] = {
    {.in = IN, .out = HIDDEN, .activation = OPS_SILU, .w = net.w[0], .b = net.b[0], .y = net.y[0], .dw = net.dw[0],
     .db = net.db[0]},
    {.in = HIDDEN, .out = OUT, .activation = OPS_LINEAR, .w = net.w[1], .b = net.b[1], .y = net.y[1], .dw = net.dw[1],
     .db = net.db[1]}};
  ops->chain_forward(ops, net.x, layers, 2, ROWS);
  ops->chain_backward(ops, net.x, layers, 2, net.dy, net.dx, net.scratch, ROWS, NULL);
  return net;
}

static void assert_same_layer(const Net *a, const Net *b, int l, int in, int out) {
  assert_memory_equal(a->y[l], b->y[l], (size_t)(ROWS * out) * sizeof(float));
  assert_memory_equal(a->dw[l], b->dw[l], (size_t)(in * out) * sizeof(float));
}

/* All layers with one method give the results of the forced method or of float32 ops; methods are independent per
 * layer. */
static void test_every_layer_is_multiplied_as_chosen(void **unused) {
  force("rounded");
  Ops *float32 = make_ops(2), *rounded = make_bf16_ops();
  force("");

  Ops *ops = make_bf16_ops();
  Net by_float32 = run_net(float32), by_rounding = run_net(rounded);
  assert_memory_not_equal(by_float32.dw[1], by_rounding.dw[1], HIDDEN * OUT * sizeof(float));

  for (int methods = 0; methods < 4; methods++) {
    OpsBf16 choice = two_layers();
    for (int l = 0; l < 2; l++) choice.layer[l].method = methods >> l & 1 ? OPS_BF16_ROUNDED : OPS_BF16_FLOAT32;
    ops_cpu_bf16_use(ops, &choice);

    Net net = run_net(ops);
    if (methods == 0) assert_same_layer(&net, &by_float32, 1, HIDDEN, OUT);
    if (methods == 3) assert_same_layer(&net, &by_rounding, 1, HIDDEN, OUT);
    if (methods == 0) assert_same_layer(&net, &by_float32, 0, IN, HIDDEN);
    if (methods == 3) assert_same_layer(&net, &by_rounding, 0, IN, HIDDEN);

    /* the first layer's output depends on its own method only */
    const Net *first = methods & 1 ? &by_rounding : &by_float32;
    assert_memory_equal(net.y[0], first->y[0], ROWS * HIDDEN * sizeof(float));
    if (methods == 1 || methods == 2) {
      assert_memory_not_equal(net.y[1], by_float32.y[1], ROWS * OUT * sizeof(float));
      assert_memory_not_equal(net.y[1], by_rounding.y[1], ROWS * OUT * sizeof(float));
    }
    free_net(&net);
  }

  free_net(&by_float32), free_net(&by_rounding);
  ops_destroy(&float32), ops_destroy(&rounded), ops_destroy(&ops);
}

/* ---- out of a checkpoint ----------------------------------------------------------------------------------------- */

static void test_a_choice_moves_to_another_processor(void **unused) {
  force("");
  Ops *ops = make_bf16_ops();
  const OpsBf16 own = two_layers();
  OpsBf16 made = own, moved;

  ops_cpu_bf16_select(ops, &made);
  made.layer[0].method = OPS_BF16_ROUNDED;
  made.layer[1].method = OPS_BF16_FLOAT32;
  moved = made;
  assert_false(ops_cpu_bf16_adapt(ops, &own, &moved));
  assert_memory_equal(&moved, &made, sizeof made); /* same library: no value changes */

  snprintf(moved.library, sizeof moved.library, "another library");
  assert_true(ops_cpu_bf16_adapt(ops, &own, &moved));
  assert_string_equal(moved.library, ops_cpu_description());
  assert_int_equal(moved.layer[1].method, OPS_BF16_FLOAT32);
  assert_int_equal(moved.layer[0].method, OPS_BF16_ROUNDED); /* too small for the library's kernels */
  moved.layer[0].method = OPS_BF16_LIBRARY;
  snprintf(moved.library, sizeof moved.library, "another library");
  assert_true(ops_cpu_bf16_adapt(ops, &own, &moved));
  assert_int_equal(moved.layer[0].method, OPS_BF16_ROUNDED);

  moved = (OpsBf16){.layers = OPS_BF16_EARLIER};
  assert_false(ops_cpu_bf16_adapt(ops, &own, &moved));
  assert_int_equal(moved.layers, 2);
  for (int l = 0; l < 2; l++) assert_int_equal(moved.layer[l].method, cpu_bf16_earlier(cpu_state(ops)->library));

  moved = (OpsBf16){.layers = 0}; /* trained on a GPU */
  ops_cpu_bf16_adapt(ops, &own, &moved);
  assert_int_equal(moved.layers, 2);
  ops_destroy(&ops);

  force("rounded");
  ops = make_bf16_ops();
  moved = made;
  assert_true(ops_cpu_bf16_adapt(ops, &own, &moved)); /* the second layer was in float32 */
  for (int l = 0; l < 2; l++) assert_int_equal(moved.layer[l].method, OPS_BF16_ROUNDED);
  ops_destroy(&ops);
  force("");
}

static void assert_refused(OpsBf16 choice, const char *because) {
  const OpsBf16 own = two_layers();
  assert_int_equal(ops_bf16_check(&choice, &own), CORE_FAIL);
  assert_message(because);
}

static void test_a_damaged_choice_is_refused(void **unused) {
  OpsBf16 good = two_layers(), bad;
  const OpsBf16 own = good;
  snprintf(good.library, sizeof good.library, "some library");
  assert_int_equal(ops_bf16_check(&good, &own), CORE_OK);
#define REFUSED(change, because) bad = good, change, assert_refused(bad, because)
  REFUSED(bad.layers = 1, "1 shapes of layers, expected 2");
  REFUSED(bad.layers = -2, "-2 shapes");
  REFUSED(bad.layers = 1 << 30, "shapes");
  REFUSED(bad.layer[1].method = OPS_BF16_METHODS, "method 3");
  REFUSED(bad.layer[1].method = -1, "method -1");
  REFUSED(bad.layer[0].in = 41, "41x33, expected 40x33");
  REFUSED(bad.library[0] = '\0', "invalid library name");
  REFUSED(bad.library[3] = '\033', "invalid library name");
  REFUSED(memset(bad.library, 'x', sizeof bad.library), "invalid library name");
}

/* ---- a training -------------------------------------------------------------------------------------------------- */

typedef struct Folder { char path[CORE_PATH_MAX]; Checkpoint checkpoint; } Folder;

static void add_sections(Training *training, Folder *directory) {
  char ckpt[CORE_PATH_MAX];
  assert_int_equal(core_files_path(ckpt, "%s/ckpt", directory->path), CORE_OK);
  assert_int_equal(checkpoint_open(ckpt, "0123456789abcdef", 2, &directory->checkpoint), CORE_OK);
  const OpsBf16 choice = training->bf16;
  training_add_sections(training, &directory->checkpoint);
  training->bf16 = choice; /* as in a run, which adds sections before it starts */
}

static void save(Training *training, Folder *directory) {
  add_sections(training, directory);
  training_before_save(training);
  if (checkpoint_write(&directory->checkpoint, training->position.iteration) != CORE_OK)
    fail_msg("%s", core_error_message());
}

static Training *restore(const CoreConfig *config, Folder *directory, int *code) {
  Training *training = make(config);
  int64_t iteration;
  add_sections(training, directory);
  training->bf16 = (OpsBf16){.layers = OPS_BF16_EARLIER};
  assert_int_equal(checkpoint_read_newest(&directory->checkpoint, &iteration), CORE_OK);
  *code = training_after_load(training);
  return training;
}

static void assert_all(const Training *training, OpsBf16Method method) {
  const OpsBf16 *used = &cpu_state(training->ops)->bf16;
  assert_int_equal(training->bf16.layers, 3); /* inputs x 16, 16 x 16 as 16 logits, 16 x 1 */
  assert_memory_equal(used, &training->bf16, sizeof *used);
  for (int i = 0; i < used->layers; i++) assert_int_equal(used->layer[i].method, method);
}

/* The rule never selects "rounded": it can only come from the checkpoint. */
static void test_a_resumed_training_keeps_its_choice(void **unused) {
  const CoreConfig config = CONFIGURED_SMALL("train.precision=bf16");
  Folder directory;

  int code;
  const char *tmp = getenv("TMPDIR");
  snprintf(directory.path, sizeof directory.path, "%s/bf16.XXXXXX", tmp ? tmp : "/tmp");
  assert_non_null(mkdtemp(directory.path));

  force("rounded");
  Training *whole = make(&config), *part = make(&config);
  assert_all(whole, OPS_BF16_ROUNDED);
  iterate(whole, 4);
  iterate(part, 2);
  save(part, &directory);
  training_destroy(&part);

  force("");
  Training *resumed = restore(&config, &directory, &code);
  assert_int_equal(code, CORE_OK);
  assert_all(resumed, OPS_BF16_ROUNDED);
  iterate(resumed, 2);
  assert_true(same_weights(whole, resumed));
  training_destroy(&resumed);

  force("library");
  Ops *ops;
  if (ops_cpu_create_bf16(1, 1, 1, &ops) == CORE_OK) { /* TRAINER_BF16 overrides the checkpoint */
    resumed = restore(&config, &directory, &code);
    assert_int_equal(code, CORE_OK);
    assert_all(resumed, OPS_BF16_LIBRARY);
    training_destroy(&resumed);
    ops_destroy(&ops);
  }
  force("");

  whole->bf16.layer[1].method = 9;
  save(whole, &directory);
  resumed = restore(&config, &directory, &code);
  assert_int_equal(code, CORE_FAIL);
  assert_message("choice of bf16 methods is damaged");
  assert_message("method 9");
  training_destroy(&resumed);
  training_destroy(&whole);
  core_files_remove_tree(directory.path);
}

/* Two equal runs have the same choice and the same weights, to the bit; a wide layer, which has a method of its own on
 * processors that are faster in bf16. */
static void test_equal_runs_are_equal(void **unused) {
  CoreConfig config = CONFIGURED_SMALL("train.precision=bf16");
  assert_int_equal(core_config_set_pair(&config, "net.width=144"), CORE_OK);
  force("");
  Training *one = make(&config), *other = make(&config);
  assert_memory_equal(&one->bf16, &other->bf16, sizeof one->bf16);
  iterate(one, 2);
  iterate(other, 2);
  assert_true(same_weights(one, other));
  training_destroy(&one);
  training_destroy(&other);
}

static void test_float32_has_no_choice(void **unused) {
  const CoreConfig config = CONFIGURED_SMALL("train.precision=float32");
  Training *training = make(&config);
  Checkpoint checkpoint = {.sections = 0};
  training_bf16_add_section(training, &checkpoint);
  assert_int_equal(checkpoint.sections, 0);
  assert_int_equal(cpu_state(training->ops)->bf16.layers, 0);
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_rule),
    cmocka_unit_test(test_a_choice_follows_the_rule),
    cmocka_unit_test(test_a_forced_way_is_taken_for_all),
    cmocka_unit_test(test_every_layer_is_multiplied_as_chosen),
    cmocka_unit_test(test_a_choice_moves_to_another_processor),
    cmocka_unit_test(test_a_damaged_choice_is_refused),
    cmocka_unit_test(test_a_resumed_training_keeps_its_choice),
    cmocka_unit_test(test_equal_runs_are_equal),
    cmocka_unit_test(test_float32_has_no_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
