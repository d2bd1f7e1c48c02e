/* Conversion of spaces to and from JSON (bridge.h). */
#include "trainer/envs/bridge/bridge.h"

#include <math.h>
#include <string.h>

#include "core/json.h"

static json_t *classes_json(const BridgeSpaces *spaces) {
  json_t *classes = json_array();
  for (int i = 0; i < spaces->factors; i++) json_array_append_new(classes, json_integer(spaces->classes[i]));
  return classes;
}

/* Non-finite bounds become null. */
void bridge_spaces_append(const BridgeSpaces *spaces, const char *action_space, CoreText *json) {
  const BridgePicture *picture = &spaces->picture;
  json_t *root = json_pack(
    "{s:i, s:{s:i, s:i, s:i, s:i, s:i}, s:i, s:o, s:i, s:f, s:f, s:i, s:s}", "observations", spaces->observations,
    "picture", "height", picture->height, "width", picture->width, "channels", picture->channels, "frames",
    picture->frames, "channels_last", picture->channels_last, "lives", spaces->lives, "classes",
    classes_json(spaces), "values", spaces->values, "low", (double)spaces->low, "high", (double)spaces->high,
    "limit", spaces->limit, "action_space", action_space);
  core_json_append(root, 2, json);
  core_text_append(json, "\n");
  json_decref(root);
}

/* Reads a nonnegative 32-bit integer. Returns false if it is invalid. */
static bool read_count(const json_t *object, const char *key, int32_t *count) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > INT32_MAX) return false;
  *count = (int32_t)json_integer_value(value);
  return true;
}

/* Reads a bound, `unbounded` if it is null. Returns false if it is missing. */
static bool read_bound(const json_t *object, const char *key, float unbounded, float *bound) {
  const json_t *value = json_object_get(object, key);
  *bound = json_is_number(value) ? (float)json_number_value(value) : unbounded;
  return value != NULL;
}

static bool read_classes(const json_t *classes, BridgeSpaces *spaces) {
  const size_t count = json_array_size(classes);
  if (!json_is_array(classes) || count > BRIDGE_FACTORS) return false;
  spaces->factors = (int32_t)count;
  for (size_t i = 0; i < count; i++) {
    const json_int_t size = json_integer_value(json_array_get(classes, i));
    if (size < 1 || size > UINT8_MAX) return false;
    spaces->classes[i] = (int32_t)size;
  }
  return true;
}

/* Reads the layout of pixels, which must match the observation's size at four bytes per value. */
static bool read_picture(const json_t *object, BridgeSpaces *spaces) {
  BridgePicture *picture = &spaces->picture;
  if (!read_count(object, "height", &picture->height) || !read_count(object, "width", &picture->width) ||
      !read_count(object, "channels", &picture->channels) || !read_count(object, "frames", &picture->frames) ||
      !read_count(object, "channels_last", &picture->channels_last))
    return false;
  if (picture->height == 0) return true;
  const double bytes = (double)picture->height * picture->width * picture->channels * picture->frames;
  return bytes > 0 && (bytes + 3) / 4 >= spaces->observations && bytes / 4 <= spaces->observations;
}

static bool read_all(const json_t *root, BridgeSpaces *spaces, CoreText *action_space) {
  const char *text = json_string_value(json_object_get(root, "action_space"));
  if (!text || strlen(text) >= BRIDGE_TEXT) return false;
  core_text_append(action_space, text);
  return read_count(root, "observations", &spaces->observations) && read_count(root, "lives", &spaces->lives) &&
         read_count(root, "values", &spaces->values) && read_count(root, "limit", &spaces->limit) &&
         read_bound(root, "low", -INFINITY, &spaces->low) && read_bound(root, "high", INFINITY, &spaces->high) &&
         read_classes(json_object_get(root, "classes"), spaces) &&
         read_picture(json_object_get(root, "picture"), spaces);
}

int bridge_spaces_parse(const char *json, BridgeSpaces *spaces, CoreText *action_space) {
  json_error_t error;
  json_t *root = json_loads(json, 0, &error);
  *spaces = (BridgeSpaces){0};
  const bool is_read = root && read_all(root, spaces, action_space);
  json_decref(root);
  return is_read ? CORE_OK : core_error(CORE_FAIL, "the record of the environment's spaces is damaged");
}
