/* trainer/ops: chains of dense layers give the bits of the same layers one after the other, for any number of threads;
 * and kernels too large for copies of their gradients are right too. Single layers against the definition: test_ops.c;
 * gradients of whole networks: test_network.c. */
#include "test.h"

#include "tests/unit/ops_tools.h"

enum { LAYERS = 4, WIDEST = 96 };

/* A chain with its numbers, and everything that a pass computes. */
typedef struct Chain {
  int rows, count;
  OpsLayer layer[LAYERS];
  float *x, *dy, *dx, *scratch;
} Chain;

static Chain make_chain(int rows, const int *width, int count, OpsActivation activation) {
  Chain chain = {.rows = rows, .count = count};
  const size_t n = (size_t)rows;
  for (int l = 0; l < count; l++) {
    const size_t in = (size_t)width[l], out = (size_t)width[l + 1];
    chain.layer[l] = (OpsLayer){.in = width[l],
                                .out = width[l + 1],
                                .activation = l + 1 < count ? activation : OPS_LINEAR,
                                .w = normals(10 + (uint32_t)l, in * out, 1 / sqrt(width[l])),
                                .b = normals(20 + (uint32_t)l, out, 0.3),
                                .y = normals(30, n * out, 1),
                                .dw = normals(30, in * out, 1),
                                .db = normals(30, out, 1)};
  }
  chain.x = normals(1, n * (size_t)width[0], 1);
  chain.dx = normals(30, n * (size_t)width[0], 1);
  chain.dy = normals(2, n * (size_t)width[count], 1);
  chain.scratch = normals(30, 2 * n * WIDEST, 1);
  return chain;
}

static void free_chain(Chain *chain) {
  for (int l = 0; l < chain->count; l++) {
    OpsLayer *layer = &chain->layer[l];
    free((float *)layer->w), free((float *)layer->b), free(layer->y), free(layer->dw), free(layer->db);
  }
  free(chain->x), free(chain->dx), free(chain->dy), free(chain->scratch);
}

static void run_together(Ops *ops, Chain *chain) {
  ops->chain_forward(ops, chain->x, chain->layer, chain->count, chain->rows);
  ops->chain_backward(ops, chain->x, chain->layer, chain->count, chain->dy, chain->dx, chain->scratch, chain->rows,
                      NULL);
}

static void run_one_by_one(Ops *ops, Chain *chain) {
  const int rows = chain->rows;
  for (int l = 0; l < chain->count; l++) {
    const OpsLayer *layer = &chain->layer[l];
    ops->dense_forward(ops, l > 0 ? layer[-1].y : chain->x, layer->w, layer->b, layer->y, rows, layer->in, layer->out,
                       layer->activation);
  }
  float *dy = chain->dy;
  for (int l = chain->count - 1; l >= 0; l--) {
    const OpsLayer *layer = &chain->layer[l];
    float *dx = l > 0 ? chain->scratch + (size_t)(l % 2) * (size_t)rows * WIDEST : chain->dx;
    ops->dense_backward(ops, l > 0 ? layer[-1].y : chain->x, layer->w, layer->b, layer->y, dy, dx, layer->dw, layer->db,
                        rows, layer->in, layer->out, layer->activation);
    dy = dx;
  }
}

static void assert_same_bits(const float *a, const float *b, size_t n, const char *what, int layer) {
  for (size_t i = 0; i < n; i++)
    if (memcmp(a + i, b + i, sizeof *a) != 0)
      fail_msg("%s of layer %d, element %zu: %.9g and %.9g", what, layer, i, (double)a[i], (double)b[i]);
}

static void assert_same_results(const Chain *a, const Chain *b) {
  const size_t rows = (size_t)a->rows;
  for (int l = 0; l < a->count; l++) {
    const size_t in = (size_t)a->layer[l].in, out = (size_t)a->layer[l].out;
    assert_same_bits(a->layer[l].y, b->layer[l].y, rows * out, "output", l);
    assert_same_bits(a->layer[l].dw, b->layer[l].dw, in * out, "kernel's gradient", l);
    assert_same_bits(a->layer[l].db, b->layer[l].db, out, "bias's gradient", l);
  }
  assert_same_bits(a->dx, b->dx, rows * (size_t)a->layer[0].in, "input's gradient", 0);
}

/* Rows that fill no block, one, several, and more than one block a part. */
static void test_a_chain_is_its_layers_one_after_the_other(void **unused) {
  const int rows[] = {1, 128, 300, 3000}, width[] = {33, 64, WIDEST, 20, 7};
  for (int r = 0; r < 4; r++)
    for (int activation = OPS_LINEAR; activation <= OPS_ELU; activation++) {
      Ops *several = make_ops(3), *one = make_ops(1);
      Chain together = make_chain(rows[r], width, LAYERS, (OpsActivation)activation);
      Chain apart = make_chain(rows[r], width, LAYERS, (OpsActivation)activation);
      run_together(several, &together);
      run_one_by_one(one, &apart);
      assert_same_results(&together, &apart);
      assert_true(several->flops == one->flops);
      free_chain(&together), free_chain(&apart);
      ops_destroy(&several), ops_destroy(&one);
    }
}

/* Ops so narrow that their rooms hold a part of the chain at a time: it goes in several runs, with the same bits. */
static void test_a_chain_longer_than_the_rooms(void **unused) {
  enum { ROWS = 700, WIDTH = 12, MANY = 12 };
  Ops *narrow, *wide = make_ops(2);
  OpsLayer layers[2][MANY];
  float *x = normals(1, ROWS * WIDTH, 1), *scratch = normals(2, 2 * ROWS * WIDTH, 1);

  assert_int_equal(ops_cpu_create(2, ROWS, WIDTH, &narrow), CORE_OK);
  for (int which = 0; which < 2; which++) {
    Ops *ops = which ? wide : narrow;
    for (int l = 0; l < MANY; l++)
      layers[which][l] = (OpsLayer){.in = WIDTH, .out = WIDTH, .activation = OPS_TANH,
                                    .w = normals(3 + (uint32_t)l, WIDTH * WIDTH, 0.3), .b = normals(40, WIDTH, 0.3),
                                    .y = normals(5, ROWS * WIDTH, 1), .dw = normals(5, WIDTH * WIDTH, 1),
                                    .db = normals(5, WIDTH, 1)};
    float *dy = normals(41, ROWS * WIDTH, 1);
    ops->chain_forward(ops, x, layers[which], MANY, ROWS);
    ops->chain_backward(ops, x, layers[which], MANY, dy, NULL, scratch, ROWS, NULL);
    free(dy);
  }

  for (int l = 0; l < MANY; l++) {
    assert_same_bits(layers[0][l].dw, layers[1][l].dw, WIDTH * WIDTH, "kernel's gradient", l);
    assert_same_bits(layers[0][l].db, layers[1][l].db, WIDTH, "bias's gradient", l);
    for (int which = 0; which < 2; which++) {
      OpsLayer *layer = &layers[which][l];
      free((float *)layer->w), free((float *)layer->b), free(layer->y), free(layer->dw), free(layer->db);
    }
  }

  free(x), free(scratch);
  ops_destroy(&narrow), ops_destroy(&wide);
}

/* Too large for a copy in each of the parts: some elements against the definition. */
static void test_a_large_kernel(void **unused) {
  enum { ROWS = 512, WIDTH = 2049, SOME = 300 };
  Ops *ops;
  assert_int_equal(ops_cpu_create(2, ROWS, WIDTH, &ops), CORE_OK);
  float *x = normals(1, ROWS * WIDTH, 1), *w = normals(2, (size_t)WIDTH * WIDTH, 0.02), *b = normals(3, WIDTH, 0.3);
  float *y = normals(4, ROWS * WIDTH, 1), *dy = normals(5, ROWS * WIDTH, 1), *dx = normals(6, ROWS * WIDTH, 1);
  float *dw = normals(7, (size_t)WIDTH * WIDTH, 1), *db = normals(8, WIDTH, 1);
  ops->dense_backward(ops, x, w, b, y, dy, dx, dw, db, ROWS, WIDTH, WIDTH, OPS_LINEAR);
  for (int k = 0; k < SOME; k++) {
    const CoreRandom4 random = core_random_4(5, CORE_RANDOM_TEST, 1, (uint32_t)k, 0);
    const int i = (int)core_random_below(random.v[0], WIDTH), o = (int)core_random_below(random.v[1], WIDTH),
              r = (int)core_random_below(random.v[2], ROWS);
    double of_kernel = 0, of_bias = 0, of_input = 0;
    for (int row = 0; row < ROWS; row++) {
      of_kernel += (double)x[row * WIDTH + i] * (double)dy[row * WIDTH + o];
      of_bias += (double)dy[row * WIDTH + o];
    }
    for (int out = 0; out < WIDTH; out++) of_input += (double)dy[r * WIDTH + out] * (double)w[i * WIDTH + out];
    assert_near((double)dw[i * WIDTH + o], of_kernel, 1e-4);
    assert_near((double)db[o], of_bias, 1e-4);
    assert_near((double)dx[r * WIDTH + i], of_input, 1e-5);
  }
  free(x), free(w), free(b), free(y), free(dy), free(dx), free(dw), free(db);
  ops_destroy(&ops);
}

/* With parts of several blocks: the kernel's gradient by its definition. */
static void test_many_rows(void **unused) {
  enum { ROWS = 4000, IN = 21, OUT = 13 };
  static const int width[] = {IN, OUT};
  (void)unused;
  for (int threads = 1; threads <= 2; threads++) {
    Ops *ops = make_ops(threads);
    Chain chain = make_chain(ROWS, width, 1, OPS_LINEAR);
    run_together(ops, &chain);
    for (int i = 0; i < IN; i++)
      for (int o = 0; o < OUT; o++) {
        double sum = 0;
        for (int r = 0; r < ROWS; r++) sum += (double)chain.x[r * IN + i] * (double)chain.dy[r * OUT + o];
        assert_near((double)chain.layer[0].dw[i * OUT + o], sum, 1e-3);
      }
    free_chain(&chain);
    ops_destroy(&ops);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_chain_is_its_layers_one_after_the_other),
      cmocka_unit_test(test_a_chain_longer_than_the_rooms),
      cmocka_unit_test(test_a_large_kernel), cmocka_unit_test(test_many_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
