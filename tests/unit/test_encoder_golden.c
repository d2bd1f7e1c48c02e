/* The entity encoders against the public ones: embeddings and gradients that Kinetix' and Stoix' own networks gave
 * for the same observations and parameters (tests/golden/encoder_kinetix.gold). Lines there: row NAME numbers, count
 * KIND n, embedding KIND NAME numbers, gradient KIND TENSOR norm moment. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/nets/encoder.h"

enum { ROWS = 3, LINE = 1 << 16 };

/* ---- formulas that the public networks were given, too ----------------------------------------------------------- */

/* Returns element k; `t` distinguishes sequences. */
static double fraction(int t, size_t k) {
  const double x = (double)k * 0.6180339887498949 + t * 0.37;
  return x - floor(x) - 0.5;
}

static void fill_parameters(const EncoderShape *shape, float *theta) {
  for (int i = 0; i < shape->tensors; i++) {
    const EncoderTensor *t = &shape->tensor[i];
    const double scale = t->rows == 1 ? 0.2 : 3 / sqrt(t->rows), shift = t->init == ENCODER_ONES ? 1 : 0;
    for (size_t k = 0; k < (size_t)t->rows * (size_t)t->columns; k++)
      theta[t->offset + k] = (float)(fraction(i + 1, k) * scale + shift);
  }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Reads the next `n` numbers of the line, which may continue after them. */
static void read_numbers(char **at, double *x, int n) {
  for (int i = 0; i < n; i++) {
    char *end;
    x[i] = strtod(*at, &end);
    assert_true(end > *at);
    *at = end;
  }
}

/* Skips the words of `format` and returns the rest; NULL if the line differs. */
static char *after(char *line, const char *words) {
  const size_t length = strlen(words);
  return strncmp(line, words, length) == 0 && line[length] == ' ' ? line + length : NULL;
}

typedef struct Golden {
  EncoderShape shape;
  Encoder encoder;
  Ops *ops;
  CoreArena *arena;
  float *x, *theta, *gradient, *weight, *embedding;
  char name[ROWS][64];
  int rows, embeddings, gradients, counts;
  double worst_embedding, worst_gradient;
} Golden;

static void make_golden(Golden *g, EncoderKind kind) {
  *g = (Golden){.shape = encoder_shape(kind, sim_entity_layout(SIM_SIZE_M)), .arena = core_arena_create("golden")};
  encoder_register(&g->encoder, &g->shape, ROWS, g->arena);
  CORE_ARENA(g->arena, g->x, (size_t)(ROWS * g->shape.layout.length), "rows");
  CORE_ARENA(g->arena, g->theta, g->shape.parameters, "theta");
  CORE_ARENA(g->arena, g->gradient, g->shape.parameters, "gradient");
  CORE_ARENA(g->arena, g->weight, (size_t)(ROWS * g->shape.width), "weight");
  CORE_ARENA(g->arena, g->embedding, (size_t)(ROWS * g->shape.width), "embedding");
  assert_int_equal(core_arena_commit(g->arena), CORE_OK);
  const int rows = encoder_ops_rows(&g->encoder), width = encoder_ops_width(&g->shape, false);
  assert_int_equal(ops_cpu_create(1, rows, width, &g->ops), CORE_OK);
  fill_parameters(&g->shape, g->theta);
  for (int k = 0; k < ROWS * g->shape.width; k++) g->weight[k] = (float)fraction(0, (size_t)k);
}

static void take_row(Golden *g, char *at) {
  double x[1024];
  int used;
  assert_true(g->rows < ROWS);
  assert_int_equal(sscanf(at, "%63s%n", g->name[g->rows], &used), 1);
  at += used;
  read_numbers(&at, x, g->shape.layout.length);
  for (int i = 0; i < g->shape.layout.length; i++) g->x[g->rows * g->shape.layout.length + i] = (float)x[i];
  if (++g->rows < ROWS) return;
  encoder_forward(&g->encoder, g->ops, g->theta, g->x, ROWS, g->embedding);
  encoder_backward(&g->encoder, g->ops, g->theta, g->x, ROWS, g->embedding, g->weight, g->gradient);
}

static void check_embedding(Golden *g, char *at) {
  double expected[256];
  char name[64];
  int used, row = g->embeddings++;
  assert_int_equal(sscanf(at, "%63s%n", name, &used), 1);
  assert_string_equal(name, g->name[row]);
  at += used;
  read_numbers(&at, expected, g->shape.width);
  for (int c = 0; c < g->shape.width; c++) {
    const double off = fabs((double)g->embedding[row * g->shape.width + c] - expected[c]) / (1 + fabs(expected[c]));
    g->worst_embedding = fmax(g->worst_embedding, off);
  }
}

/* A tensor's gradient by its norm and by its product with a sequence, which sees where its elements are. */
static void check_gradient(Golden *g, char *at) {
  double expected[3], norm = 0, moment = 0;
  read_numbers(&at, expected, 3);
  const EncoderTensor *t = &g->shape.tensor[g->gradients];
  assert_int_equal((int)expected[0], g->gradients++);
  for (size_t k = 0; k < (size_t)t->rows * (size_t)t->columns; k++) {
    const double value = (double)g->gradient[t->offset + k];
    norm += value * value;
    moment += value * fraction(g->gradients + 1, k);
  }
  assert_true(expected[1] > 0);
  g->worst_gradient = fmax(g->worst_gradient, fabs(sqrt(norm) - expected[1]) / expected[1]);
  g->worst_gradient = fmax(g->worst_gradient, fabs(moment - expected[2]) / expected[1]);
}

static void check_line(Golden *g, const char *kind, char *line) {
  char words[64], *at;
  if ((at = after(line, "row"))) take_row(g, at);
  snprintf(words, sizeof words, "count %s", kind);
  if ((at = after(line, words))) {
    assert_int_equal(atol(at), g->shape.parameters);
    g->counts++;
  }
  snprintf(words, sizeof words, "embedding %s", kind);
  if ((at = after(line, words))) check_embedding(g, at);
  snprintf(words, sizeof words, "gradient %s", kind);
  if ((at = after(line, words))) check_gradient(g, at);
}

static void check_kind(const char *name) {
  static char line[LINE];
  Golden g;
  FILE *file = fopen("tests/golden/encoder_kinetix.gold", "r");
  assert_non_null(file);
  make_golden(&g, encoder_kind(name));
  while (fgets(line, sizeof line, file)) check_line(&g, name, line);
  fclose(file);
  print_message("# %s: embedding off by %.1e, gradient by %.1e\n", name, g.worst_embedding, g.worst_gradient);
  assert_true(g.counts == 1 && g.embeddings == ROWS && g.gradients == g.shape.tensors);
  assert_true(g.worst_embedding < 1e-5 && g.worst_gradient < 1e-4);
  ops_destroy(&g.ops);
  core_arena_destroy(&g.arena);
}

static void set_is_kinetix(void **state) { (void)state, check_kind("set"); }
static void stoix_set_is_stoix(void **state) { (void)state, check_kind("stoix_set"); }
static void transformer_is_kinetix(void **state) { (void)state, check_kind("transformer"); }

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(set_is_kinetix),
    cmocka_unit_test(stoix_set_is_stoix),
    cmocka_unit_test(transformer_is_kinetix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
