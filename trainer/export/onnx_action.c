/* Translation of actions, as worker.py (trainer/envs/bridge) does it, to operators (onnx_action.h). */
#include "trainer/export/onnx_action.h"

#include <math.h>
#include <string.h>

#include "core/json.h"

/* Space of the actions that the environment's step takes. */
typedef struct ActionSpace {
  bool is_box;
  OnnxType type;
  int rank;
  int64_t dims[ONNX_RANK_MAX]; /* shape of a batch: ONNX_ROWS, then the space's shape */
  double low[OPS_FACTORS_MAX], high[OPS_FACTORS_MAX]; /* bounds of a box */
  int64_t start[OPS_FACTORS_MAX];                     /* number of the first class */
} ActionSpace;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct { const char *name; OnnxType type; } types[] = {
  {"float16", ONNX_FLOAT16}, {"float32", ONNX_FLOAT}, {"float64", ONNX_DOUBLE}, {"bool", ONNX_BOOL},
  {"uint8", ONNX_UINT8},     {"uint16", ONNX_UINT16}, {"uint32", ONNX_UINT32},  {"uint64", ONNX_UINT64},
  {"int8", ONNX_INT8},       {"int16", ONNX_INT16},   {"int32", ONNX_INT32},    {"int64", ONNX_INT64}};

static bool is_real(OnnxType type) { return type == ONNX_FLOAT16 || type == ONNX_FLOAT || type == ONNX_DOUBLE; }

static int read_type(const char *name, OnnxType *type) {
  for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
    if (strcmp(name, types[i].name) == 0) {
      *type = types[i].type;
      return CORE_OK;
    }
  return core_error(CORE_USAGE, "actions of type %.40s cannot be written as ONNX; use --safetensors",
                    name ? name : "(none)");
}

/* Reads numbers of lists within lists, in order. */
static void read_starts(const json_t *value, int64_t *starts, int *count) {
  if (json_is_array(value)) {
    for (size_t i = 0; i < json_array_size(value); i++) read_starts(json_array_get(value, i), starts, count);
  } else if (*count < OPS_FACTORS_MAX) {
    starts[(*count)++] = json_integer_value(value);
  }
}

static void read_bounds(const json_t *bounds, double unbounded, double *numbers) {
  for (size_t i = 0; i < OPS_FACTORS_MAX; i++) {
    const json_t *bound = json_array_get(bounds, i);
    numbers[i] = json_is_number(bound) ? json_number_value(bound) : unbounded;
  }
}

static int read_members(const json_t *json, ActionSpace *space) {
  const json_t *shape = json_object_get(json, "shape"), *start = json_object_get(json, "start");
  const size_t rank = json_array_size(shape);
  int starts = 0;
  TRY(read_type(json_string_value(json_object_get(json, "dtype")), &space->type));
  if (rank >= ONNX_RANK_MAX)
    return core_error(CORE_USAGE, "actions of %zu dimensions cannot be written as ONNX; use --safetensors", rank);
  space->is_box = json_object_get(json, "low") != NULL;
  space->rank = 1 + (int)rank;
  space->dims[0] = ONNX_ROWS;
  for (size_t i = 0; i < rank; i++) space->dims[1 + i] = json_integer_value(json_array_get(shape, i));
  read_bounds(json_object_get(json, "low"), -INFINITY, space->low);
  read_bounds(json_object_get(json, "high"), INFINITY, space->high);
  read_starts(start, space->start, &starts);
  for (int i = 1; starts == 1 && i < OPS_FACTORS_MAX; i++) space->start[i] = space->start[0]; /* one of all */
  return CORE_OK;
}

static int read_space(const char *text, ActionSpace *space) {
  json_t *json = json_loads(text, 0, NULL);
  *space = (ActionSpace){0};
  const int code = json ? read_members(json, space) : core_error(CORE_FAIL, "the action space is no JSON");
  json_decref(json);
  return code;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static OnnxValue likeliest_classes(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  OnnxValue parts[OPS_FACTORS_MAX];
  for (int f = 0, first = 0; f < head->factors; first += head->size[f++]) {
    const OnnxValue own = onnx_columns(onnx, logits, first, first + head->size[f]);
    parts[f] = onnx_node(onnx, "ArgMax", &own, 1, (OnnxAttribute[]){{.name = "axis", .number = 1}, {0}});
  }
  return onnx_concat(onnx, parts, (size_t)head->factors, 1);
}

/* Numbers within the bounds of all. */
static OnnxValue likeliest_numbers(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  const OnnxValue at = onnx_columns(onnx, logits, 0, head->factors);
  const double low = (double)head->low, high = (double)head->high;
  if (head->kind == OPS_GAUSSIAN)
    return isfinite(low) || isfinite(high) ? onnx_clip(onnx, at, ONNX_FLOAT, low, high) : at;
  const OnnxValue half = onnx_real(onnx, ONNX_FLOAT, (high - low) / 2);
  return onnx_2(onnx, "Add", onnx_2(onnx, "Mul", onnx_1(onnx, "Tanh", at), half),
                onnx_real(onnx, ONNX_FLOAT, (high + low) / 2));
}

/* Numbers of the space's type within the bounds of each; in double, which holds all of them. */
static OnnxValue translate_numbers(Onnx *onnx, const ActionSpace *space, int count, OnnxValue numbers) {
  const int64_t dims = count;
  const OnnxValue low = onnx_constant(onnx, "action.low", ONNX_DOUBLE, &dims, 1, space->low);
  const OnnxValue high = onnx_constant(onnx, "action.high", ONNX_DOUBLE, &dims, 1, space->high);
  if (is_real(space->type) && space->type != ONNX_FLOAT) numbers = onnx_cast(onnx, numbers, space->type);
  if (space->type != ONNX_DOUBLE) numbers = onnx_cast(onnx, numbers, ONNX_DOUBLE);
  if (!is_real(space->type)) numbers = onnx_1(onnx, "Round", numbers);
  return onnx_2(onnx, "Min", onnx_2(onnx, "Max", numbers, low), high);
}

static OnnxValue translate(Onnx *onnx, const ActionSpace *space, int count, OnnxValue actions) {
  const int64_t dims = count;
  actions = space->is_box ? translate_numbers(onnx, space, count, actions)
                          : onnx_2(onnx, "Add", actions,
                                   onnx_constant(onnx, "action.start", ONNX_INT64, &dims, 1, space->start));
  actions = onnx_cast(onnx, actions, space->type);
  return onnx_reshape(onnx, actions, space->dims, (size_t)space->rank);
}

int onnx_action(Onnx *onnx, const OpsHead *head, const char *space, OnnxValue logits) {
  const bool is_continuous = ops_head_is_continuous(head);
  const int64_t dims[] = {ONNX_ROWS, head->factors};
  const OnnxValue actions = is_continuous ? likeliest_numbers(onnx, head, logits)
                                          : likeliest_classes(onnx, head, logits);
  if (!space) {
    onnx_output(onnx, actions, "action", is_continuous ? ONNX_FLOAT : ONNX_INT64, dims, 2);
    return CORE_OK;
  }
  ActionSpace own;
  TRY(read_space(space, &own));
  onnx_output(onnx, translate(onnx, &own, head->factors, actions), "action", own.type, own.dims, own.rank);
  return CORE_OK;
}
