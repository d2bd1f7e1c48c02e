/* State access of libsim: position and type of each quantity in SimWorld, and pictures. The table below is the only
 * place with this knowledge and takes every offset from the struct. */
#include <locale.h>

#include "sim/batch/batch_internal.h"
#include "sim/draw/draw.h"
#include "sim/library/api_internal.h"

/* Slots over which a field ranges. */
typedef enum Slots { A_WORLD, A_SHAPE, A_JOINT, A_CONTACT } Slots;

typedef struct Row {
  const char *name, *meaning;
  LibsimType type;
  Slots slots;
  int components;
  size_t offset, slot_bytes;
} Row;

#define OF_BODY(name, meaning, components, member) \
  {name, meaning, LIBSIM_FLOAT32, A_SHAPE, components, offsetof(SimWorld, body) + offsetof(SimBody, member), \
   sizeof(SimBody)}
#define OF_SLOT(name, meaning, slots, components, member) \
  {name, meaning, LIBSIM_FLOAT32, slots, components, offsetof(SimWorld, member), sizeof(((SimWorld *)0)->member[0])}
#define OF_WORLD(name, meaning, type, member) {name, meaning, type, A_WORLD, 1, offsetof(SimWorld, member), 4}

static const Row rows[] = {
  OF_BODY("position", "of the centroid, m", 2, position),
  OF_BODY("rotation", "rad, not wrapped", 1, rotation),
  OF_BODY("velocity", "m/s", 2, velocity),
  OF_BODY("angular_velocity", "rad/s", 1, angular_velocity),
  OF_BODY("sine", "of the rotation", 1, sine),
  OF_BODY("cosine", "of the rotation", 1, cosine),
  OF_SLOT("joint_impulse", "of the last solver step, kg m/s", A_JOINT, 2, joint_impulse),
  OF_SLOT("joint_spin_impulse", "the same about the joint, kg m^2/s", A_JOINT, 1, joint_spin_impulse),
  OF_SLOT("contact_impulse", "along normal and tangent, kg m/s", A_CONTACT, 2, contact_impulse),
  OF_WORLD("last_distance", "of green and blue, m; -1: the episode's first step", LIBSIM_FLOAT32, last_distance),
  OF_WORLD("level", "that is played, its number in the set", LIBSIM_INT32, level),
  OF_WORLD("timestep", "environment steps of the episode", LIBSIM_INT32, timestep),
  OF_WORLD("episode", "since the reset", LIBSIM_UINT32, episode),
};
enum { ROWS = sizeof rows / sizeof rows[0] };
_Static_assert(sizeof(real) == 4 && sizeof(SimVec) == 8, "components lie side by side");

static int64_t slots_of(const LibsimBatch *batch, Slots slots) {
  SimSize size = batch->batch->size;
  switch (slots) {
    case A_SHAPE: return size.polygons + size.circles;
    case A_JOINT: return size.joints;
    case A_CONTACT: return sim_model_contacts(size);
    default: return 1;
  }
}

int libsim_field(const LibsimBatch *batch, int32_t index, LibsimField *field) {
  if (!batch || !field) return sim_api_null(batch ? "field" : "batch");
  *field = (LibsimField){0};
  if (index < 0 || index >= ROWS) return core_error(CORE_USAGE, "field %d: out of range, expected 0 to %d", index,
                                                    ROWS - 1);
  const Row *row = &rows[index];
  *field = (LibsimField){
    .name = row->name, .meaning = row->meaning, .type = row->type,
    .shape = {libsim_worlds(batch), slots_of(batch, row->slots), row->components},
    .stride = {(int64_t)sizeof(SimWorld), (int64_t)row->slot_bytes, 4},
    .data = (const char *)batch->batch->worlds + row->offset,
  };
  return CORE_OK;
}

int libsim_field_named(const LibsimBatch *batch, const char *name, LibsimField *field) {
  const char *names[ROWS];
  if (!name || !field) return sim_api_null(name ? "field" : "name");
  *field = (LibsimField){0};
  for (int i = 0; i < ROWS; i++) {
    if (strcmp(rows[i].name, name) == 0) return libsim_field(batch, i, field);
    names[i] = rows[i].name;
  }
  const char *near = core_text_nearest(name, names, ROWS);
  return core_error(CORE_USAGE, "no field '%.64s'%s%s", name, near ? "; did you mean " : "", near ? near : "");
}

int libsim_field_copy(const LibsimBatch *batch, const char *name, void *values, size_t bytes) {
  LibsimField field;
  if (!values) return sim_api_null("values");
  TRY(libsim_field_named(batch, name, &field));
  size_t run = (size_t)field.shape[2] * 4, all = (size_t)(field.shape[0] * field.shape[1]) * run;
  if (bytes != all) return core_error(CORE_USAGE, "field '%s': has %zu bytes, not %zu", name, all, bytes);
  for (int64_t w = 0; w < field.shape[0]; w++) {
    for (int64_t s = 0; s < field.shape[1]; s++) {
      const char *from = (const char *)field.data + w * field.stride[0] + s * field.stride[1];
      memcpy((char *)values + (size_t)(w * field.shape[1] + s) * run, from, run);
    }
  }
  return CORE_OK;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Draws numbers with a decimal point, whatever locale the program has set. */
static int draw(const SimDrawSheet *sheet, CoreText *svg) {
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  locale_t before = plain ? uselocale(plain) : (locale_t)0;
  int code = sim_draw_svg(sheet, svg);
  if (!plain) return code;
  uselocale(before);
  freelocale(plain);
  return code;
}

int libsim_draw(const LibsimBatch *batch, int32_t world, int32_t pixels, char **svg) {
  SimLevel level;
  SimDrawCell cell = {0};
  CoreText text = {0};
  if (!svg) return sim_api_null("svg");
  *svg = NULL;
  if (!batch) return sim_api_null("batch");
  if (world < 0 || world >= libsim_worlds(batch))
    return core_error(CORE_USAGE, "world %d: the batch has worlds 0 to %d", world, libsim_worlds(batch) - 1);
  sim_batch_get_world(batch->batch, world, &level);
  sim_draw_world(&level, NULL, &cell.drawing);
  int code = draw(&(SimDrawSheet){.columns = 1, .rows = 1, .pixels = pixels, .count = 1, .cell = &cell}, &text);
  if (code != CORE_OK) core_text_free(&text);
  *svg = text.data;
  return code;
}
