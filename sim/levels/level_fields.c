/* Fields of shapes, joints and thrusters in a level file (docs/simulator.md#level-files), for level_read.c and
 * level_write.c. Absent: highlighted, which Kinetix' loader drops, and acc_impulse and acc_r_impulse, which are 0 in
 * all of its files. */
#include "sim/levels/level_fields_internal.h"

#define ONE(type, key, kind, member) {key, kind, offsetof(type, member), 0}
#define PAIR(type, key, kind, x, y) {key, kind, offsetof(type, x), offsetof(type, y)}

const SimField sim_level_shape_fields[] = {
  PAIR(SimShape, "position", SIM_FIELD_PAIR, x, y),
  ONE(SimShape, "rotation", SIM_FIELD_REAL, rotation),
  PAIR(SimShape, "velocity", SIM_FIELD_PAIR, vx, vy),
  ONE(SimShape, "angular_velocity", SIM_FIELD_REAL, angular_velocity),
  ONE(SimShape, "inverse_mass", SIM_FIELD_REAL, inverse_mass),
  ONE(SimShape, "inverse_inertia", SIM_FIELD_REAL, inverse_inertia),
  ONE(SimShape, "friction", SIM_FIELD_REAL, friction),
  ONE(SimShape, "restitution", SIM_FIELD_REAL, restitution),
  ONE(SimShape, "collision_mode", SIM_FIELD_INT, collision_mode),
  ONE(SimShape, "active", SIM_FIELD_BOOL, active),
  ONE(SimShape, "n_vertices", SIM_FIELD_INT, vertex_count),
  PAIR(SimShape, "vertices", SIM_FIELD_VERTICES, vertex_x, vertex_y),
  ONE(SimShape, "radius", SIM_FIELD_REAL, radius),
  ONE(SimShape, "role", SIM_FIELD_INT, role),
  ONE(SimShape, "density", SIM_FIELD_REAL, density),
  {0},
};

const SimField sim_level_joint_fields[] = {
  ONE(SimJoint, "a_index", SIM_FIELD_INT, a),
  ONE(SimJoint, "b_index", SIM_FIELD_INT, b),
  PAIR(SimJoint, "a_relative_pos", SIM_FIELD_PAIR, a_x, a_y),
  PAIR(SimJoint, "b_relative_pos", SIM_FIELD_PAIR, b_x, b_y),
  PAIR(SimJoint, "global_position", SIM_FIELD_PAIR, global_x, global_y),
  ONE(SimJoint, "active", SIM_FIELD_BOOL, active),
  ONE(SimJoint, "motor_speed", SIM_FIELD_REAL, motor_speed),
  ONE(SimJoint, "motor_power", SIM_FIELD_REAL, motor_power),
  ONE(SimJoint, "motor_on", SIM_FIELD_BOOL, motor_on),
  ONE(SimJoint, "motor_has_joint_limits", SIM_FIELD_BOOL, has_limits),
  ONE(SimJoint, "min_rotation", SIM_FIELD_REAL, min_rotation),
  ONE(SimJoint, "max_rotation", SIM_FIELD_REAL, max_rotation),
  ONE(SimJoint, "is_fixed_joint", SIM_FIELD_BOOL, fixed),
  ONE(SimJoint, "rotation", SIM_FIELD_REAL, rotation),
  ONE(SimJoint, "motor_binding", SIM_FIELD_INT, motor_binding),
  {0},
};

const SimField sim_level_thruster_fields[] = {
  ONE(SimThruster, "object_index", SIM_FIELD_INT, shape),
  PAIR(SimThruster, "relative_position", SIM_FIELD_PAIR, x, y),
  ONE(SimThruster, "rotation", SIM_FIELD_REAL, rotation),
  ONE(SimThruster, "power", SIM_FIELD_REAL, power),
  PAIR(SimThruster, "global_position", SIM_FIELD_PAIR, global_x, global_y),
  ONE(SimThruster, "active", SIM_FIELD_BOOL, active),
  ONE(SimThruster, "thruster_binding", SIM_FIELD_INT, binding),
  {0},
};
