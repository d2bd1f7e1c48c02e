/* Level: the initial state of a world, in plain structs on the host, independent of a batch's layout (batch.h). Meters,
 * radians, seconds, kilograms; y up. Slots: polygons (0..3 the statics: floor, left, right, ceiling), circles, joints,
 * thrusters. A global shape index counts polygons first, then circles (docs/simulator.md#physics). */
#ifndef SIM_LEVEL_H
#define SIM_LEVEL_H
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/text.h"

enum {
  SIM_STATIC_POLYGONS = 4,
  SIM_POLYGONS_MAX = 12, SIM_CIRCLES_MAX = 4, SIM_JOINTS_MAX = 6, SIM_THRUSTERS_MAX = 2,
  SIM_SHAPES_MAX = SIM_POLYGONS_MAX + SIM_CIRCLES_MAX,
  SIM_VERTICES = 4,
  SIM_MOTOR_BINDINGS = 4, SIM_THRUSTER_BINDINGS = 2, SIM_ACTIONS = SIM_MOTOR_BINDINGS + SIM_THRUSTER_BINDINGS,
};
/* Action space of a world (docs/simulator.md#rules). Each motor and thruster is controlled by one of SIM_ACTIONS
 * bindings, the motors' first. Undefined classes do nothing. */
typedef enum SimActionSpace {
  SIM_MULTI_DISCRETE, /* uint8_t [SIM_ACTIONS], a class per binding: motors 0, 1, 2 = 0, +1, -1; thrusters 0, 1 */
  SIM_DISCRETE,       /* uint8_t, one of SIM_DISCRETE_CLASSES: 2i and 2i + 1 = motor i -1 and +1; 8 no-op; 9, 10 a
                       * thruster */
  /* float [SIM_ACTIONS], clipped: motors -1..1, thrusters 0..1. NaN propagates to the driven body, which ends the
   * episode, as in the reference */
  SIM_CONTINUOUS,
} SimActionSpace;
enum { SIM_DISCRETE_IDLE = 2 * SIM_MOTOR_BINDINGS,
       SIM_DISCRETE_CLASSES = SIM_DISCRETE_IDLE + 1 + SIM_THRUSTER_BINDINGS };
enum { SIM_ROLE_NORMAL = 0, SIM_ROLE_GREEN = 1, SIM_ROLE_BLUE = 2, SIM_ROLE_RED = 3 };

/* Slots of each kind: S 5/2/1/1, M 6/3/2/2, L 12/4/6/2, LOCO 10/3/6/1. */
typedef struct SimSize { int polygons, circles, joints, thrusters; } SimSize;
extern const SimSize SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L, SIM_SIZE_LOCO;

typedef struct SimShape {        /* a polygon or a circle; both kinds have every field, as the reference has */
  float x, y, rotation;          /* centroid */
  float vx, vy, angular_velocity;
  float inverse_mass, inverse_inertia, density, friction, restitution;
  int collision_mode, role, vertex_count; /* circles: vertex_count 0 */
  float vertex_x[SIM_VERTICES], vertex_y[SIM_VERTICES]; /* body frame, clockwise */
  float radius;
  bool active;
} SimShape;

typedef struct SimJoint {
  int a, b;                      /* global shape indices; a < b in the published files */
  float a_x, a_y, b_x, b_y;      /* anchors in the bodies' frames */
  float global_x, global_y;      /* cache */
  float motor_speed, motor_power, min_rotation, max_rotation, rotation;
  int motor_binding;
  bool active, motor_on, has_limits, fixed, motor_auto;
} SimJoint;

typedef struct SimThruster {
  int shape;                     /* global index */
  float x, y, rotation, power, global_x, global_y;
  int binding;
  bool active;
} SimThruster;

typedef struct SimLevel {
  char name[64];
  SimSize size;
  SimShape polygon[SIM_POLYGONS_MAX], circle[SIM_CIRCLES_MAX];
  SimJoint joint[SIM_JOINTS_MAX];
  SimThruster thruster[SIM_THRUSTERS_MAX];
  float gravity_x, gravity_y;
} SimLevel;

/* Returns the empty scene with the four statics (Jax2D's create_empty_sim); ceiling corrected as in the level files
 * when `corrected`. */
SimLevel sim_level_empty(SimSize size, bool corrected);
/* Computes mass, centroid and inertia of every shape from its density and outline (Jax2D's
 * recalculate_mass_and_inertia); fixated shapes stay fixated. */
void sim_level_recompute_mass(SimLevel *level);
/* Adds empty slots up to `size` and renumbers indices (docs/simulator.md#level-files). CORE_USAGE: `size` is smaller in
 * some kind of slot. */
int sim_level_expand(SimLevel *level, SimSize size);

/* Checks that a level can be simulated: finite values, indices in range, convex clockwise outlines, joints between two
 * shapes ... CORE_USAGE: it cannot; the message names level and field. */
int sim_level_check(const SimLevel *level);

/* Set of levels of one size; owns `level` [count] (sim_level_set_free, level_set.h). */
typedef struct SimLevelSet { SimLevel *level; int count; SimSize size; } SimLevelSet;

/* Checks like sim_level_check, with `where` before the field's path ("levels/x.json: env_state." or "level 'x': "). */
int sim_level_check_at(const SimLevel *level, const char *where);

#endif
