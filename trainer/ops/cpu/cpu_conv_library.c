/* Convolutions by oneDNN: images stay [height][width][channels], which measured as fast as its blocked formats; kernels
 * are converted to the format that it chooses for each shape. A primitive is created once per shape, for one thread and
 * CPU_CONV_PART images; smaller parts are padded, so that an image's values do not depend on them. */
#include "trainer/ops/cpu/cpu_image_internal.h"

#include <stdatomic.h>
#include <string.h>

#include "core/memory.h"

#if CORE_HAS_DNNL
#include <oneapi/dnnl/dnnl.h>

#define DNNL_CHECK(call) CORE_CHECK((call) == dnnl_success)

/* One of the three products, with its kernel's format. */
typedef struct Product {
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t kernel, scratch;
} Product;
enum { FORWARD, TO_INPUT, TO_KERNEL, PRODUCTS };

typedef struct Plan {
  OpsConv conv;
  dnnl_memory_desc_t input, output, plain; /* plain: [size][size][in][out] */
  Product product[PRODUCTS];
  dnnl_primitive_t pack, pack_for_input, unpack; /* NULL: the kernel has the plain format */
  struct Plan *_Atomic next;
} Plan;

static Plan *_Atomic plans;
static dnnl_engine_t engine;
static _Thread_local dnnl_stream_t stream;

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static void describe(Plan *plan) {
  const OpsConv *c = &plan->conv;
  const dnnl_dims_t input = {CPU_CONV_PART, c->in, c->height, c->width};
  const dnnl_dims_t output = {CPU_CONV_PART, c->out, ops_conv_height(c), ops_conv_width(c)};
  const dnnl_dims_t kernel = {c->out, c->in, c->size[0], c->size[1]};
  DNNL_CHECK(dnnl_memory_desc_init_by_tag(&plan->input, 4, input, dnnl_f32, dnnl_nhwc));
  DNNL_CHECK(dnnl_memory_desc_init_by_tag(&plan->output, 4, output, dnnl_f32, dnnl_nhwc));
  DNNL_CHECK(dnnl_memory_desc_init_by_tag(&plan->plain, 4, kernel, dnnl_f32, dnnl_hwio));
}

/* hint: primitive of the forward product, for the other two. */
static dnnl_primitive_desc_t make_product(Plan *plan, int which, dnnl_primitive_desc_t hint) {
  const OpsConv *c = &plan->conv;
  const dnnl_dims_t stride = {c->stride[0], c->stride[1]}, before = {c->pad[0], c->pad[1]};
  /* excludes padding after the last window, which no window reads */
  const dnnl_dims_t after = {(ops_conv_height(c) - 1) * c->stride[0] + c->size[0] - c->height - c->pad[0],
                             (ops_conv_width(c) - 1) * c->stride[1] + c->size[1] - c->width - c->pad[1]};
  dnnl_memory_desc_t any = plan->plain;
  dnnl_convolution_desc_t desc;
  dnnl_primitive_attr_t attributes;
  dnnl_primitive_desc_t created;
  Product *product = &plan->product[which];

  DNNL_CHECK(dnnl_memory_desc_init_by_tag(&any, 4, plan->plain.dims, dnnl_f32, dnnl_format_tag_any));
  if (which == FORWARD)
    DNNL_CHECK(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &plan->input,
                                                  &any, NULL, &plan->output, stride, before, after));
  else if (which == TO_INPUT)
    DNNL_CHECK(dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &plan->input, &any,
                                                        &plan->output, stride, before, after));
  else
    DNNL_CHECK(dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &plan->input, &any, NULL,
                                                           &plan->output, stride, before, after));

  DNNL_CHECK(dnnl_primitive_attr_create(&attributes));
  DNNL_CHECK(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  DNNL_CHECK(dnnl_primitive_desc_create(&created, &desc, attributes, engine, hint));
  dnnl_primitive_attr_destroy(attributes);

  product->kernel = *dnnl_primitive_desc_query_md(
    created, which == TO_KERNEL ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
  product->scratch = *dnnl_primitive_desc_query_md(created, dnnl_query_scratchpad_md, 0);
  DNNL_CHECK(dnnl_primitive_create(&product->primitive, created));
  CORE_CHECK(dnnl_memory_desc_get_size(&product->kernel) <= ops_conv_packed(c) * sizeof(float));
  return created;
}

static dnnl_primitive_t make_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to) {
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t reorder;
  DNNL_CHECK(dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, NULL));
  DNNL_CHECK(dnnl_primitive_create(&reorder, desc));
  dnnl_primitive_desc_destroy(desc);
  return reorder;
}

/* Creates the plan for one thread; with more, oneDNN would divide the images depending on their number. */
static Plan *make(const OpsConv *conv) {
  Plan *plan = core_memory_zero_allocate(1, sizeof *plan);
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);

  plan->conv = *conv;
  if (engine == NULL) DNNL_CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
  describe(plan);
  dnnl_primitive_desc_t forward = make_product(plan, FORWARD, NULL);
  dnnl_primitive_desc_destroy(make_product(plan, TO_INPUT, forward));
  dnnl_primitive_desc_destroy(make_product(plan, TO_KERNEL, forward));
  dnnl_primitive_desc_destroy(forward);
  plan->pack = make_reorder(&plan->plain, &plan->product[FORWARD].kernel);
  plan->pack_for_input = make_reorder(&plan->plain, &plan->product[TO_INPUT].kernel);
  plan->unpack = make_reorder(&plan->product[TO_KERNEL].kernel, &plan->plain);

  omp_set_num_threads(threads_before);
  return plan;
}

static Plan *find(const OpsConv *conv) {
  Plan *found;
  for (found = plans; found && memcmp(&found->conv, conv, sizeof *conv) != 0;) found = found->next;
  if (found) return found;
#pragma omp critical(cpu_conv_library)
  {
    for (found = plans; found && memcmp(&found->conv, conv, sizeof *conv) != 0;) found = found->next;
    if (found == NULL) {
      found = make(conv);
      found->next = plans;
      plans = found;
    }
  }
  return found;
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

typedef struct Argument { int name; const dnnl_memory_desc_t *desc; const void *data; } Argument;

static void execute(dnnl_primitive_t primitive, const Argument *given, int count) {
  dnnl_exec_arg_t arguments[4];
  CORE_CHECK(count <= (int)(sizeof arguments / sizeof *arguments));
  if (stream == NULL) DNNL_CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  for (int i = 0; i < count; i++) {
    arguments[i].arg = given[i].name;
    DNNL_CHECK(dnnl_memory_create(&arguments[i].memory, given[i].desc, engine, (void *)(uintptr_t)given[i].data));
  }
  DNNL_CHECK(dnnl_primitive_execute(primitive, stream, count, arguments));
  for (int i = 0; i < count; i++) dnnl_memory_destroy(arguments[i].memory);
}

static void reorder(dnnl_primitive_t primitive, const dnnl_memory_desc_t *from, const float *x,
                    const dnnl_memory_desc_t *to, float *y) {
  execute(primitive, (const Argument[]){{DNNL_ARG_FROM, from, x}, {DNNL_ARG_TO, to, y}}, 2);
}

static size_t floats(const dnnl_memory_desc_t *desc) { return (dnnl_memory_desc_get_size(desc) + 63) / 64 * 16; }

/* A packed kernel is that of the forward product, followed by that of the gradient at the input. */
static void pack(const OpsConv *conv, const float *w, float *packed) {
  const Plan *plan = find(conv);
  reorder(plan->pack, &plan->plain, w, &plan->product[FORWARD].kernel, packed);
  reorder(plan->pack_for_input, &plan->plain, w, &plan->product[TO_INPUT].kernel, packed + ops_conv_packed(conv));
}

static void unpack(const OpsConv *conv, const float *dpacked, float *dw) {
  const Plan *plan = find(conv);
  reorder(plan->unpack, &plan->product[TO_KERNEL].kernel, dpacked, &plan->plain, dw);
}

static float *scratch_of(const Product *product) { return cpu_conv_scratch(CPU_CONV_WORK, floats(&product->scratch)); }

/* Returns `rows` images as a whole part: in place, or as a copy padded with zeros. */
static const float *whole(const float *x, size_t image, int rows, int buffer) {
  if (rows == CPU_CONV_PART) return x;
  float *copy = cpu_conv_scratch(buffer, CPU_CONV_PART * image);
  const size_t given = (size_t)rows * image;
  memcpy(copy, x, given * sizeof *copy);
  memset(copy + given, 0, (CPU_CONV_PART * image - given) * sizeof *copy);
  return copy;
}

/* Runs a product whose result is images, of which `rows` are wanted. */
static void to_images(const Product *product, const Argument *given, Argument result, size_t image, float *y,
                      int rows) {
  const bool is_whole = rows == CPU_CONV_PART;
  result.data = is_whole ? y : cpu_conv_scratch(CPU_CONV_Y, CPU_CONV_PART * image);
  const Argument all[] = {given[0], given[1], result, {DNNL_ARG_SCRATCHPAD, &product->scratch, scratch_of(product)}};
  execute(product->primitive, all, 4);
  if (!is_whole) memcpy(y, result.data, (size_t)rows * image * sizeof *y);
}

static void forward(const OpsConv *conv, const float *x, const float *packed, float *y, int rows) {
  const Plan *plan = find(conv);
  const Product *product = &plan->product[FORWARD];
  const Argument given[] = {{DNNL_ARG_SRC, &plan->input, whole(x, ops_conv_inputs(conv), rows, CPU_CONV_X)},
                            {DNNL_ARG_WEIGHTS, &product->kernel, packed}};
  to_images(product, given, (Argument){DNNL_ARG_DST, &plan->output, NULL}, ops_conv_outputs(conv), y, rows);
}

static void to_input(const OpsConv *conv, const float *dy, const float *packed, float *dx, int rows) {
  const Plan *plan = find(conv);
  const Product *product = &plan->product[TO_INPUT];
  const Argument given[] = {{DNNL_ARG_DIFF_DST, &plan->output, whole(dy, ops_conv_outputs(conv), rows, CPU_CONV_X)},
                            {DNNL_ARG_WEIGHTS, &product->kernel, packed + ops_conv_packed(conv)}};
  to_images(product, given, (Argument){DNNL_ARG_DIFF_SRC, &plan->input, NULL}, ops_conv_inputs(conv), dx, rows);
}

static void to_kernel(const OpsConv *conv, const float *x, const float *dy, float *dpacked, int rows) {
  const Plan *plan = find(conv);
  const Product *product = &plan->product[TO_KERNEL];
  const Argument all[] = {
    {DNNL_ARG_SRC, &plan->input, whole(x, ops_conv_inputs(conv), rows, CPU_CONV_X)},
    {DNNL_ARG_DIFF_DST, &plan->output, whole(dy, ops_conv_outputs(conv), rows, CPU_CONV_Y)},
    {DNNL_ARG_DIFF_WEIGHTS, &product->kernel, dpacked},
    {DNNL_ARG_SCRATCHPAD, &product->scratch, scratch_of(product)},
  };
  execute(product->primitive, all, 4);
}

const CpuConv *cpu_conv_library(void) {
  static const CpuConv conv = {pack, unpack, forward, to_input, to_kernel};
  return &conv;
}
#else
const CpuConv *cpu_conv_library(void) { return NULL; }
#endif
