/* Entity and padded observations (observe_layout.h): templates from a level, and what moves put into a copy of one. */
#include "sim/observe_entity.h"

#include "sim/observe.h"

/* ---- entity: where things are ------------------------------------------------------------------------------------ */

/* Takes `count` floats off the end of the row so far. */
static int take(int *length, int count) {
  int offset = *length;
  *length += count;
  return offset;
}

SimEntityLayout sim_entity_layout(SimSize size) {
  SimEntityLayout l = {.size = size, .shapes = size.polygons + size.circles};
  l.polygons = take(&l.length, size.polygons * SIM_ENTITY_POLYGON);
  l.circles = take(&l.length, size.circles * SIM_ENTITY_CIRCLE);
  l.joints = take(&l.length, 2 * size.joints * SIM_ENTITY_JOINT);
  l.thrusters = take(&l.length, size.thrusters * SIM_ENTITY_THRUSTER);
  l.polygon_mask = take(&l.length, size.polygons);
  l.circle_mask = take(&l.length, size.circles);
  l.joint_mask = take(&l.length, 2 * size.joints);
  l.thruster_mask = take(&l.length, size.thrusters);
  l.joint_shapes = take(&l.length, 4 * size.joints);
  l.thruster_shapes = take(&l.length, size.thrusters);
  l.attention = take(&l.length, l.shapes * l.shapes);
  return l;
}

static int shape_row(const SimEntityLayout *l, int k) {
  return k < l->size.polygons ? l->polygons + k * SIM_ENTITY_POLYGON
                              : l->circles + (k - l->size.polygons) * SIM_ENTITY_CIRCLE;
}

/* ---- entity: template -------------------------------------------------------------------------------------------- */

static void write_shapes(const SimLevel *level, const SimEntityLayout *l, float *row) {
  for (int k = 0; k < l->size.polygons; k++) {
    float *polygon = row + shape_row(l, k);
    if (!level->polygon[k].active) continue;
    sim_observe_polygon(&level->polygon[k], polygon);
    polygon[SIM_ENTITY_POLYGON - 1] = level->gravity_y / 10.0f;
    row[l->polygon_mask + k] = 1.0f;
  }
  for (int k = 0; k < l->size.circles; k++) {
    float *circle = row + shape_row(l, l->size.polygons + k);
    if (!level->circle[k].active) continue;
    sim_observe_circle(&level->circle[k], circle);
    circle[SIM_ENTITY_CIRCLE - 1] = level->gravity_y / 10.0f;
    row[l->circle_mask + k] = 1.0f;
  }
}

/* The second view has anchors and shapes the other way round. */
static void write_joints(const SimLevel *level, const SimEntityLayout *l, float *row) {
  const int joints = l->size.joints;
  for (int i = 0; i < joints; i++) {
    const SimJoint *joint = &level->joint[i];
    SimJoint view[2] = {*joint, *joint};
    if (!joint->active) continue;
    view[1].a = joint->b, view[1].a_x = joint->b_x, view[1].a_y = joint->b_y;
    view[1].b = joint->a, view[1].b_x = joint->a_x, view[1].b_y = joint->a_y;
    for (int number = i; number < 2 * joints; number += joints) {
      const SimJoint *seen = &view[number >= joints];
      sim_observe_joint(seen, row + l->joints + number * SIM_ENTITY_JOINT);
      row[l->joint_mask + number] = 1.0f;
      row[l->joint_shapes + 2 * number] = (float)seen->b;
      row[l->joint_shapes + 2 * number + 1] = (float)seen->a;
    }
  }
}

static void write_thrusters(const SimLevel *level, const SimEntityLayout *l, float *row) {
  for (int i = 0; i < l->size.thrusters; i++) {
    if (!level->thruster[i].active) continue;
    sim_observe_thruster(&level->thruster[i], row + l->thrusters + i * SIM_ENTITY_THRUSTER);
    row[l->thruster_mask + i] = 1.0f;
    row[l->thruster_shapes + i] = (float)level->thruster[i].shape;
  }
}

static bool is_active(const SimLevel *level, int k) {
  return k < level->size.polygons ? level->polygon[k].active : level->circle[k - level->size.polygons].active;
}

/* Neither neighbours nor touching include a shape itself; the rest does. */
static void write_attention(const SimLevel *level, const SimEntityLayout *l, float *row) {
  int group[SIM_MAX_SHAPES];
  uint8_t bits[SIM_MAX_SHAPES][SIM_MAX_SHAPES] = {0};
  sim_model_groups(level, group);
  for (int i = 0; i < l->shapes; i++) {
    for (int k = 0; k < l->shapes; k++)
      bits[i][k] = (uint8_t)(SIM_ATTEND_ALL | (group[i] == group[k] ? SIM_ATTEND_COMPONENT : 0));
  }
  for (int i = 0; i < level->size.joints; i++) {
    const SimJoint *joint = &level->joint[i];
    if (!joint->active) continue;
    bits[joint->a][joint->b] |= SIM_ATTEND_NEIGHBOUR;
    bits[joint->b][joint->a] |= SIM_ATTEND_NEIGHBOUR;
  }
  for (int i = 0; i < l->shapes; i++) {
    for (int k = 0; k < l->shapes; k++)
      row[l->attention + i * l->shapes + k] = is_active(level, i) && is_active(level, k) ? bits[i][k] : 0.0f;
  }
}

void sim_observe_entity_template(const SimLevel *level, float *row) {
  const SimEntityLayout layout = sim_entity_layout(level->size);
  memset(row, 0, (size_t)layout.length * sizeof *row);
  write_shapes(level, &layout, row);
  write_joints(level, &layout, row);
  write_thrusters(level, &layout, row);
  write_attention(level, &layout, row);
  for (int i = 0; i < layout.length; i++) row[i] = real_select(real_is_nan(row[i]), 0.0f, row[i]);
}

/* ---- entity: a world --------------------------------------------------------------------------------------------- */

void sim_observe_entity(const SimModel *model, const SimWorld *world, const float *template_row, float *row) {
  const SimEntityLayout layout = sim_entity_layout(model->size);
  float *attention = row + layout.attention;
  memcpy(row, template_row, (size_t)layout.length * sizeof *row);
  for (int i = 0; i < model->moving_count; i++)
    sim_entity_write_body(&world->body[model->moving[i]], row + shape_row(&layout, model->moving[i]));
  for (int i = 0; i < model->pair_end[SIM_PAIR_KINDS - 1]; i++) {
    if (world->touching[i / 32] >> i % 32 & 1)
      attention[model->pair[i].a * layout.shapes + model->pair[i].b] += SIM_ATTEND_TOUCHING;
  }
}

/* ---- padded ------------------------------------------------------------------------------------------------------ */

enum { PADDED_KINDS = 4, PADDED_EXTRA = PADDED_KINDS + 1 };

SimPaddedLayout sim_padded_layout(SimSize size) {
  const int shapes = size.polygons + size.circles;
  int widest = SIM_OBSERVE_POLYGON;
  if (size.joints > 0 && SIM_OBSERVE_JOINT + 2 * shapes > widest) widest = SIM_OBSERVE_JOINT + 2 * shapes;
  if (size.thrusters > 0 && SIM_OBSERVE_THRUSTER + shapes > widest) widest = SIM_OBSERVE_THRUSTER + shapes;
  SimPaddedLayout layout = {.rows = shapes - SIM_STATIC_POLYGONS + 1 + size.joints + size.thrusters,
                            .width = widest + PADDED_EXTRA};
  layout.length = layout.rows * layout.width;
  return layout;
}

/* Where shape k's row begins, -1 for slots 1..3. */
static int padded_offset(SimPaddedLayout layout, int k) {
  if (k == 0) return 0;
  return k < SIM_STATIC_POLYGONS ? -1 : (k - SIM_STATIC_POLYGONS + 1) * layout.width;
}

/* Spreads the flat template's rows. */
void sim_observe_padded_template(const SimLevel *level, float *row) {
  const SimSize size = level->size;
  const SimPaddedLayout layout = sim_padded_layout(size);
  const int shapes = size.polygons + size.circles;
  const int count[PADDED_KINDS] = {size.polygons - SIM_STATIC_POLYGONS + 1, size.circles, size.joints, size.thrusters};
  const int width[PADDED_KINDS] = {SIM_OBSERVE_POLYGON, SIM_OBSERVE_CIRCLE, SIM_OBSERVE_JOINT + 2 * shapes,
                                   SIM_OBSERVE_THRUSTER + shapes};
  float flat[SIM_OBSERVE_MAX];
  const float *from = flat;
  sim_observe_template(level, flat);
  memset(row, 0, (size_t)layout.length * sizeof *row);
  for (int kind = 0; kind < PADDED_KINDS; kind++) {
    for (int i = 0; i < count[kind]; i++, from += width[kind], row += layout.width) {
      memcpy(row, from, (size_t)width[kind] * sizeof *row);
      row[layout.width - PADDED_EXTRA + kind] = 1.0f;
      row[layout.width - 1] = flat[sim_observe_length(size) - 1];
    }
  }
}

void sim_observe_padded(const SimModel *model, const SimWorld *world, const float *template_row, float *row) {
  const SimPaddedLayout layout = sim_padded_layout(model->size);
  memcpy(row, template_row, (size_t)layout.length * sizeof *row);
  for (int i = 0; i < model->moving_count; i++) {
    const int offset = padded_offset(layout, model->moving[i]);
    if (offset >= 0) sim_observe_body(&world->body[model->moving[i]], row + offset);
  }
}
