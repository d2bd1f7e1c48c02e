/* ONNX operators for the translation of actions that worker.py (trainer/envs/bridge) implements (export.h). */
#include "trainer/export/export.h"

#include <math.h>
#include <string.h>

#include "core/json.h"

/* Native action space of the environment. */
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
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (name && strcmp(name, types[i].name) == 0) {
      *type = types[i].type;
      return CORE_OK;
    }
  return core_error(CORE_USAGE, "actions of type %.40s cannot be exported as ONNX; use --safetensors",
                    name ? name : "(none)");
}

/* Reads the integers of nested lists, in order. */
static void read_starts(const json_t *value, int64_t *starts, int *count) {
  if (json_is_array(value)) {
    for (size_t i = 0; i < json_array_size(value); i++) read_starts(json_array_get(value, i), starts, count);
  } else if (*count < OPS_FACTORS_MAX) {
    starts[(*count)++] = json_integer_value(value);
  }
}

static void read_bounds(const json_t *bounds, double unbounded, double *values) {
  for (size_t i = 0; i < OPS_FACTORS_MAX; i++) {
    const json_t *bound = json_array_get(bounds, i);
    values[i] = json_is_number(bound) ? json_number_value(bound) : unbounded;
  }
}

static int read_members(const json_t *json, ActionSpace *space) {
  const json_t *shape = json_object_get(json, "shape"), *start = json_object_get(json, "start");
  const size_t rank = json_array_size(shape);
  int starts = 0;
  TRY(read_type(json_string_value(json_object_get(json, "dtype")), &space->type));
  if (rank >= ONNX_RANK_MAX)
    return core_error(CORE_USAGE, "actions of %zu dimensions cannot be exported as ONNX; use --safetensors", rank);

  space->is_box = json_object_get(json, "low") != NULL;
  space->rank = 1 + (int)rank;
  space->dims[0] = ONNX_ROWS;
  for (size_t i = 0; i < rank; i++) space->dims[1 + i] = json_integer_value(json_array_get(shape, i));

  read_bounds(json_object_get(json, "low"), -INFINITY, space->low);
  read_bounds(json_object_get(json, "high"), INFINITY, space->high);
  read_starts(start, space->start, &starts);
  if (starts == 1) /* it applies to all factors */
    for (int i = 1; i < OPS_FACTORS_MAX; i++) space->start[i] = space->start[0];
  return CORE_OK;
}

static int read_space(const char *text, ActionSpace *space) {
  json_t *json = json_loads(text, 0, NULL);
  *space = (ActionSpace){0};
  const int code = json ? read_members(json, space) : core_error(CORE_FAIL, "the action space is not JSON");
  json_decref(json);
  return code;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Adds the most probable class of each factor. */
static OnnxValue add_class_mode(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  OnnxValue parts[OPS_FACTORS_MAX];
  for (int f = 0, first = 0; f < head->factors; f++) {
    const OnnxValue factor = onnx_columns(onnx, logits, first, first + head->size[f]);
    parts[f] = onnx_node(onnx, "ArgMax", &factor, 1, (OnnxAttribute[]){{.name = "axis", .integer = 1}, {0}});
    first += head->size[f];
  }
  return onnx_concat(onnx, parts, (size_t)head->factors, 1);
}

/* Adds the mode of a continuous distribution, within its bounds. */
static OnnxValue add_value_mode(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  const OnnxValue mean = onnx_columns(onnx, logits, 0, head->factors);
  const double low = (double)head->low, high = (double)head->high;
  if (head->kind == OPS_GAUSSIAN)
    return isfinite(low) || isfinite(high) ? onnx_clip(onnx, mean, ONNX_FLOAT, low, high) : mean;
  const OnnxValue half = onnx_real(onnx, ONNX_FLOAT, (high - low) / 2);
  return onnx_binary(onnx, "Add", onnx_binary(onnx, "Mul", onnx_unary(onnx, "Tanh", mean), half),
                onnx_real(onnx, ONNX_FLOAT, (high + low) / 2));
}

/* Rounds and clips values to the space; in double, which represents all types. */
static OnnxValue translate_values(Onnx *onnx, const ActionSpace *space, int count, OnnxValue values) {
  const int64_t dims = count;
  const OnnxValue low = onnx_constant(onnx, "action.low", ONNX_DOUBLE, &dims, 1, space->low);
  const OnnxValue high = onnx_constant(onnx, "action.high", ONNX_DOUBLE, &dims, 1, space->high);
  if (is_real(space->type) && space->type != ONNX_FLOAT) values = onnx_cast(onnx, values, space->type);
  if (space->type != ONNX_DOUBLE) values = onnx_cast(onnx, values, ONNX_DOUBLE);
  if (!is_real(space->type)) values = onnx_unary(onnx, "Round", values);
  return onnx_binary(onnx, "Min", onnx_binary(onnx, "Max", values, low), high);
}

static OnnxValue translate(Onnx *onnx, const ActionSpace *space, int count, OnnxValue actions) {
  const int64_t dims = count;
  actions = space->is_box ? translate_values(onnx, space, count, actions)
                          : onnx_binary(onnx, "Add", actions,
                                   onnx_constant(onnx, "action.start", ONNX_INT64, &dims, 1, space->start));
  actions = onnx_cast(onnx, actions, space->type);
  return onnx_reshape(onnx, actions, space->dims, (size_t)space->rank);
}

int onnx_action(Onnx *onnx, const OpsHead *head, const char *space, OnnxValue logits) {
  const bool is_continuous = ops_head_is_continuous(head);
  const int64_t dims[] = {ONNX_ROWS, head->factors};
  const OnnxValue actions = is_continuous ? add_value_mode(onnx, head, logits)
                                          : add_class_mode(onnx, head, logits);
  if (!space) {
    onnx_output(onnx, actions, "action", is_continuous ? ONNX_FLOAT : ONNX_INT64, dims, 2);
    return CORE_OK;
  }
  ActionSpace native;
  TRY(read_space(space, &native));
  onnx_output(onnx, translate(onnx, &native, head->factors, actions), "action", native.type, native.dims, native.rank);
  return CORE_OK;
}
