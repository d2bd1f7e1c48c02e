/* Replays one unit_*.tsv: single cases in an otherwise empty scene, three physics steps each. */
#ifndef TESTS_GOLDEN_UNIT_H
#define TESTS_GOLDEN_UNIT_H
#include "golden_manifold.h"
#include "tests/physics_step.h"
#include "traj_read.h"

enum { GOLDEN_UNIT_STEPS = 3, GOLDEN_UNIT_NAME = 32 };
#define GOLDEN_UNIT_SENSITIVE 1e-2 /* such a case is at a discontinuity and not meaningful */

typedef struct GoldenUnit {
  GoldenReport report;
  TrajFile file;
  char (*column)[GOLDEN_UNIT_NAME];
  int columns, cases, compared, skipped;
  int a, b, kind, number;   /* the pair under test; kind -1: none */
} GoldenUnit;

static inline int golden_column(const GoldenUnit *unit, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int golden_column(const GoldenUnit *unit, const char *format, ...) {
  char name[GOLDEN_UNIT_NAME];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  for (int i = 0; i < unit->columns; i++) {
    if (strcmp(unit->column[i], name) == 0) return i;
  }
  return -1;
}

static inline bool golden_has(const GoldenUnit *unit, const char *name) { return golden_column(unit, "%s", name) >= 0; }

/* An input "a_x" of the present case; NaN (which every check refuses) where there is no such column. */
static inline float golden_input(const GoldenUnit *unit, const char *prefix, const char *name) {
  return (float)traj_number(&unit->file, golden_column(unit, "%s_%s", prefix, name));
}

static inline double golden_output(const GoldenUnit *unit, int step, const char *name) {
  return traj_number(&unit->file, golden_column(unit, "o%d_%s", step, name));
}

static inline int golden_slot(const GoldenUnit *unit, const char *name) {
  return traj_index(&unit->file, golden_column(unit, "%s", name), SIM_SHAPES_MAX);
}

static inline SimShape *golden_shape(SimLevel *level, int slot) {
  return slot < level->size.polygons ? &level->polygon[slot] : &level->circle[slot - level->size.polygons];
}

/* Puts body `prefix` into its slot and gives the slot, -1 when the row has none. */
static inline int golden_unit_body(const GoldenUnit *unit, const char *prefix, SimLevel *level) {
  char name[GOLDEN_UNIT_NAME];
  snprintf(name, sizeof name, "%s_slot", prefix);
  int slot = golden_slot(unit, name);
  if (slot < SIM_STATIC_POLYGONS) return -1;
  SimShape *s = golden_shape(level, slot);
  s->active = true;
  s->x = golden_input(unit, prefix, "x");
  s->y = golden_input(unit, prefix, "y");
  s->rotation = golden_input(unit, prefix, "rot");
  s->vx = golden_input(unit, prefix, "vx");
  s->vy = golden_input(unit, prefix, "vy");
  s->angular_velocity = golden_input(unit, prefix, "w");
  s->inverse_mass = golden_input(unit, prefix, "inv_mass");
  s->inverse_inertia = golden_input(unit, prefix, "inv_inertia");
  s->friction = golden_input(unit, prefix, "friction");
  s->restitution = golden_input(unit, prefix, "restitution");
  s->collision_mode = (int)golden_input(unit, prefix, "collision_mode");
  s->radius = golden_input(unit, prefix, "radius");
  s->vertex_count = (int)golden_input(unit, prefix, "n_vertices");
  for (int k = 0; k < SIM_VERTICES; k++) {
    snprintf(name, sizeof name, "v%dx", k);
    s->vertex_x[k] = golden_input(unit, prefix, name);
    snprintf(name, sizeof name, "v%dy", k);
    s->vertex_y[k] = golden_input(unit, prefix, name);
  }
  return slot;
}

static inline void golden_unit_joint(const GoldenUnit *unit, SimLevel *level, SimControl *control) {
  SimJoint *j = &level->joint[0];
  *j = (SimJoint){
    .active = true, .a = golden_slot(unit, "j_a_index"), .b = golden_slot(unit, "j_b_index"),
    .a_x = golden_input(unit, "j", "a_rel_x"), .a_y = golden_input(unit, "j", "a_rel_y"),
    .b_x = golden_input(unit, "j", "b_rel_x"), .b_y = golden_input(unit, "j", "b_rel_y"),
    .motor_on = golden_input(unit, "j", "motor_on") != 0, .motor_speed = golden_input(unit, "j", "motor_speed"),
    .motor_power = golden_input(unit, "j", "motor_power"), .has_limits = golden_input(unit, "j", "has_limits") != 0,
    .min_rotation = golden_input(unit, "j", "min_rotation"), .max_rotation = golden_input(unit, "j", "max_rotation"),
    .fixed = golden_input(unit, "j", "is_fixed") != 0, .rotation = golden_input(unit, "j", "rotation"),
  };
  control->motor[0] = golden_input(unit, "j", "control");
}

static inline void golden_unit_thruster(const GoldenUnit *unit, SimLevel *level, SimControl *control) {
  level->thruster[0] = (SimThruster){
    .active = true, .shape = golden_slot(unit, "t_object_index"), .x = golden_input(unit, "t", "rel_x"),
    .y = golden_input(unit, "t", "rel_y"), .rotation = golden_input(unit, "t", "rotation"),
    .power = golden_input(unit, "t", "power"),
  };
  control->thruster[0] = golden_input(unit, "t", "control");
}

/* Returns the listed pair that the manifold columns describe: a and b, or the body and a wall. */
static inline void golden_unit_find_pair(GoldenUnit *unit, SimSize size) {
  unit->kind = -1;
  if (!golden_has(unit, "o1_m0_active")) return;
  int wall = golden_slot(unit, "wall"), p = unit->a, q = unit->b >= 0 ? unit->b : wall, n = size.polygons;
  if (q < 0) return;
  int low = p < q ? p : q, high = p < q ? q : p;
  unit->kind = low >= n ? SIM_CC : high >= n ? SIM_CR : SIM_RR;
  if (unit->kind == SIM_CR) {
    unit->number = (high - n) * n + low;
    return;
  }
  int first = unit->kind == SIM_CC ? n : 0, last = unit->kind == SIM_CC ? n + size.circles : n;
  unit->number = 0;
  for (int a = first; a < last; a++) {
    for (int b = a + 1; b < last; b++) {
      if (a == low && b == high) return;
      unit->number += unit->kind == SIM_CC || b >= SIM_STATIC_POLYGONS;
    }
  }
}

static inline void golden_unit_compare_body(GoldenUnit *unit, int step, const char *prefix, const SimBody *b,
                                            double tolerance) {
  static const char *const names[6] = {"x", "y", "rot", "vx", "vy", "w"};
  double got[6] = {b->position.x, b->position.y, b->rotation, b->velocity.x, b->velocity.y, b->angular_velocity};
  for (int i = 0; i < 6; i++) {
    double want = traj_number(&unit->file, golden_column(unit, "o%d_%s_%s", step, prefix, names[i]));
    golden_compare(&unit->report, golden_of_body[i], got[i], want,
                   i < 3 ? tolerance / 60 + 1e-6 * fabs(want) : tolerance);
  }
}

static inline GoldenContact golden_unit_contact(const GoldenUnit *unit, int step, int k) {
  static const char *const names[9] = {"active", "nx", "ny", "pen", "px", "py", "acc_n", "acc_t", "rest_target"};
  double v[9];
  GoldenContact none = {0};
  if (golden_column(unit, "o%d_m%d_active", step, k) < 0) return none;
  for (int i = 0; i < 9; i++) v[i] = traj_number(&unit->file, golden_column(unit, "o%d_m%d_%s", step, k, names[i]));
  return (GoldenContact){v[0] != 0, {v[1], v[2]}, v[3], {v[4], v[5]}, {v[6], v[7]}, v[8]};
}

static inline void golden_unit_compare_joint(GoldenUnit *unit, int step, const SimModel *model, const SimScratch *s,
                                             double tolerance) {
  static const char *const names[5] = {"j_gx", "j_gy", "j_acc_x", "j_acc_y", "j_acc_r"};
  SimJointStep j = {0};
  if (model->joint_count) j = s->joint[0];
  double got[5] = {j.point.x, j.point.y, j.impulse.x, j.impulse.y, j.angular_impulse};
  for (int i = 0; i < 5; i++) {
    double want = golden_output(unit, step, names[i]);
    golden_compare(&unit->report, GOLDEN_JOINTS, got[i], want, i < 2 ? tolerance / 60 + 1e-6 * fabs(want) : tolerance);
  }
}

static inline void golden_unit_compare(GoldenUnit *unit, int step, const SimBatch *batch, const SimScratch *scratch) {
  const SimModel *model = &batch->models[0];
  const SimWorld *world = &batch->worlds[0];
  double sensitivity = golden_output(unit, step, "sens"), tolerance = fmax(1e-4, 20 * sensitivity);
  if (!(sensitivity <= GOLDEN_UNIT_SENSITIVE)) { unit->skipped++; return; }
  unit->compared++;
  golden_unit_compare_body(unit, step, "a", &world->body[unit->a], tolerance);
  if (unit->b >= 0) golden_unit_compare_body(unit, step, "b", &world->body[unit->b], tolerance);
  if (unit->kind >= 0) {
    GoldenContact got[2], want[2];
    const SimOverlapPair *overlap_pairs = golden_touching(model, scratch, unit->kind, unit->number);
    const SimPair *pair = golden_pair(model, unit->kind, unit->number);
    for (int k = 0; k < 2; k++) {
      got[k] = golden_contact(scratch, overlap_pairs, k);
      want[k] = golden_unit_contact(unit, step, k);
    }
    if (pair && !pair->resolved && (overlap_pairs != NULL) != want[0].active)
      golden_wrong(&unit->report, "the pair is %s", overlap_pairs ? "active" : "not active");
    if (pair && pair->resolved) golden_compare_pair(&unit->report, got, want, tolerance);
  }
  if (golden_has(unit, "o1_j_gx")) golden_unit_compare_joint(unit, step, model, scratch, tolerance);
  if (golden_has(unit, "o1_t_gx")) {
    SimLevel now;
    sim_batch_get_world(batch, 0, &now);
    double x = golden_output(unit, step, "t_gx"), y = golden_output(unit, step, "t_gy");
    double apart = tolerance / 30 + 1e-6 * (fmax(fabs(x), fabs(y)) + fabs(golden_output(unit, step, "a_rot")));
    golden_compare(&unit->report, GOLDEN_JOINTS, now.thruster[0].global_x, x, apart);
    golden_compare(&unit->report, GOLDEN_JOINTS, now.thruster[0].global_y, y, apart);
  }
}

static inline int golden_unit_case(GoldenUnit *unit) {
  SimLevel level = sim_level_empty(SIM_SIZE_L, false);
  SimControl control = {0};
  SimScratch scratch;
  SimBatch *batch;
  unit->a = golden_unit_body(unit, "a", &level);
  unit->b = golden_unit_body(unit, "b", &level);
  if (unit->a < 0) return core_error(CORE_FAIL, "line %d: no body a", unit->file.line);
  golden_unit_find_pair(unit, level.size);
  if (golden_has(unit, "j_a_index")) golden_unit_joint(unit, &level, &control);
  if (golden_has(unit, "t_object_index")) golden_unit_thruster(unit, &level, &control);
  SimLevelSet set = {&level, 1, level.size};
  SimBatchOptions options = sim_batch_options_default();
  options.pad_writes_zero = true;
  options.auto_reset = false;
  int code = sim_batch_create(&options, &set, &batch);
  if (code != CORE_OK) return core_error_context(code, "line %d", unit->file.line);
  for (int step = 1; step <= GOLDEN_UNIT_STEPS; step++) {
    golden_at(&unit->report, "line %d step %d", unit->file.line, step);
    sim_batch_physics_step(batch, 0, &control, &scratch);
    golden_unit_compare(unit, step, batch, &scratch);
  }
  sim_batch_destroy(&batch);
  unit->cases++;
  return CORE_OK;
}

static inline int golden_unit(const char *path, GoldenReport *report, char extent[64]) {
  GoldenUnit *unit = calloc(1, sizeof *unit);
  if (!unit) abort();
  int code = traj_open(path, &unit->file);
  while (code == CORE_OK && traj_next(&unit->file)) {
    if (unit->file.comment) continue;
    if (unit->column) {
      code = golden_unit_case(unit);
      continue;
    }
    unit->columns = unit->file.count;
    unit->column = calloc((size_t)unit->columns, sizeof *unit->column);
    if (!unit->column) abort();
    for (int i = 0; i < unit->columns; i++) snprintf(unit->column[i], GOLDEN_UNIT_NAME, "%s", unit->file.field[i]);
  }
  if (code == CORE_OK && unit->compared == 0) code = core_error(CORE_FAIL, "nothing to compare");
  *report = unit->report;
  snprintf(extent, 64, "%d cases, %d states compared, %d too sensitive", unit->cases, unit->compared, unit->skipped);
  free(unit->column);
  traj_close(&unit->file);
  free(unit);
  return code;
}

#endif
