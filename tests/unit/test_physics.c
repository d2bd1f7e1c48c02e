/* The physics' own mathematics against libm, its solver order against the obvious way to write it, and whole
 * trajectories against a table in double precision, on which a prototype and Jax2D's own source agree. */
#include "test.h"

#include "core/files.h"
#include "core/random.h"
#include "physics_step.h"
#include "sim/batch/batch_internal.h"
#include "sim/levels/level_set.h"
#include "sim/physics/wavefronts.h"

#define LEVELS "../shared/data/kinetix_levels"

/* ---- functions --------------------------------------------------------------------------------------------------- */

static double ulps(float got, double want) {
  float near = (float)want;
  double unit = nextafterf(fabsf(near), INFINITY) - fabsf(near);
  return fabs(got - want) / unit;
}

static void sine_and_cosine_are_accurate(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  double worst = 0, worst_far = 0;
  for (int i = 0; i < 400000; i++) {
    float range = i % 4 == 0 ? 3.2f : i % 4 == 1 ? 100.0f : i % 4 == 2 ? 12000.0f : 1e-3f;
    float x = core_random_uniform(&random, -range, range);
    RealSinCos r = real_sin_cos(x);
    worst = fmax(worst, fmax(ulps(r.sine, sin(x)), ulps(r.cosine, cos(x))));
    float far = core_random_uniform(&random, -1e6f, 1e6f);
    r = real_sin_cos(far);
    worst_far = fmax(worst_far, fmax(fabs(r.sine - sin(far)), fabs(r.cosine - cos(far))));
  }
  for (int k = -7600; k <= 7600; k++) { /* next to the zeros, where only an exact reduction keeps relative accuracy */
    float x = (float)(k * 1.5707963267948966);
    RealSinCos r = real_sin_cos(x);
    worst = fmax(worst, fmax(ulps(r.sine, sin(x)), ulps(r.cosine, cos(x))));
  }
  print_message("# sin, cos: %.2f ulp up to 12000 rad; %.1e absolute up to 1e6 rad\n", worst, worst_far);
  assert_true(worst < 2.5);
  assert_true(worst_far < 0.0625); /* one unit in the last place of such an angle */
  assert_true(real_sin_cos(REAL_HALF_PI).cosine == (float)cos(REAL_HALF_PI));
  assert_true(real_sin_cos(1e30f).sine == 0.0f && isnan(real_sin_cos(NAN).sine) && isnan(real_sin_cos(NAN).cosine));
}

static void tanh_is_accurate(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(2, CORE_RANDOM_TEST, 0, 0);
  double worst = 0;
  for (int i = 0; i < 400000; i++) {
    float range = i % 3 == 0 ? 0.7f : i % 3 == 1 ? 12.0f : 1e-4f;
    float x = core_random_uniform(&random, -range, range);
    worst = fmax(worst, ulps(real_tanh(x), tanh(x)));
  }
  print_message("# tanh: %.2f ulp\n", worst);
  assert_true(worst < 2.0);
  assert_true(real_tanh(1e30f) == 1.0f && real_tanh(-1e30f) == -1.0f && real_tanh(0.0f) == 0.0f);
}

static void atan2_is_accurate(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(3, CORE_RANDOM_TEST, 0, 0);
  double worst = 0;
  for (int i = 0; i < 400000; i++) {
    float y = core_random_uniform(&random, -5, 5), x = core_random_uniform(&random, -5, 5);
    if (i % 3 == 0) y *= 1e-4f;
    if (i % 3 == 1) x *= 1e-4f;
    worst = fmax(worst, ulps(real_atan2(y, x), atan2(y, x)));
  }
  print_message("# atan2: %.2f ulp\n", worst);
  assert_true(worst < 2.5);
  assert_true(real_atan2(-5.0f, 0.0f) == -REAL_HALF_PI && real_atan2(0.0f, -5.0f) == REAL_PI);
  assert_true(real_atan2(0.0f, 5.0f) == 0.0f && real_atan2(0.0f, 0.0f) == 0.0f);
}

static void clip_hands_nan_on_and_prefers_high(void **state) {
  (void)state;
  assert_true(isnan(real_clip(NAN, 0, 1)));
  assert_true(real_clip(0.5f, 0.1f, -0.1f) == -0.1f && real_clip(-0.5f, 0.1f, -0.1f) == -0.1f);
}

/* ---- collisions -------------------------------------------------------------------------------------------------- */

static SimLevel two_boxes(CoreRandomStream *random) {
  SimLevel level = sim_level_empty(SIM_SIZE_M, true);
  for (int k = 4; k < 6; k++) {
    SimShape *s = &level.polygon[k];
    float hx = core_random_uniform(random, 0.05f, 0.6f), hy = core_random_uniform(random, 0.05f, 0.6f);
    float x[4] = {hx, hx, -hx, -hx}, y[4] = {hy, -hy, -hy, hy};
    s->active = true;
    s->vertex_count = 4;
    memcpy(s->vertex_x, x, sizeof x);
    memcpy(s->vertex_y, y, sizeof y);
    s->x = core_random_uniform(random, 1, 3);
    s->y = core_random_uniform(random, 1, 3);
    s->rotation = core_random_uniform(random, -4, 4);
    s->inverse_mass = s->inverse_inertia = s->friction = 1;
    s->collision_mode = 1;
  }
  return level;
}

/* Returns whether some line along an edge of either box separates the boxes. In double, by corners alone. */
static bool separated(double p[4][2], double q[4][2], double *gap) {
  double best = -INFINITY;
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < 4; i++) {
      double (*a)[2] = side ? q : p, (*b)[2] = side ? p : q;
      double ex = a[(i + 1) % 4][0] - a[i][0], ey = a[(i + 1) % 4][1] - a[i][1];
      double length = hypot(ex, ey), least = INFINITY;
      for (int k = 0; k < 4; k++)
        least = fmin(least, (-ey * (b[k][0] - a[i][0]) + ex * (b[k][1] - a[i][1])) / length);
      best = fmax(best, least);
    }
  }
  *gap = best;
  return best >= 0;
}

static void boxes_overlap_exactly_where_no_line_separates_them(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(4, CORE_RANDOM_TEST, 0, 0);
  int overlapping = 0;
  for (int i = 0; i < 20000; i++) {
    SimLevel level = two_boxes(&random);
    SimModel model;
    double corner[2][4][2], gap;

    sim_model_build(&level, false, &model);
    for (int b = 0; b < 2; b++) {
      const SimShape *s = &level.polygon[4 + b];
      for (int k = 0; k < 4; k++) {
        double c = cos(s->rotation), n = sin(s->rotation);
        corner[b][k][0] = s->x + c * s->vertex_x[k] - n * s->vertex_y[k];
        corner[b][k][1] = s->y + n * s->vertex_x[k] + c * s->vertex_y[k];
      }
    }

    SimPolygon p = {&model.outline[4], model.corner[4], model.start[4]};
    SimPolygon q = {&model.outline[5], model.corner[5], model.start[5]};
    SimOverlap overlap = sim_collide_overlap(&p, &q);
    bool apart = separated(corner[0], corner[1], &gap);

    if (fabs(gap) < 1e-5) continue;
    assert_int_equal(overlap.active, !apart);
    if (apart) continue;
    overlapping++;
    assert_true(sim_collide_boxes(model.box[4], model.box[5])); /* the quick test may not lose it */

    SimManifold m = sim_collide_polygons(&p, &q, &overlap);
    assert_true(fabs(m.penetration + gap) < 1e-5);
    assert_true(fabs(sim_vec_dot(m.normal, m.normal) - 1) < 1e-5);
  }
  assert_true(overlapping > 1000);
}

/* ---- the solver's order ------------------------------------------------------------------------------------------ */

/* make_impulse_resolver_fn of Jax2D's jax2d/engine.py word by word: stable sort of the flags, padded to 16 nb lanes,
 * read as 16 x nb and transposed. */
static int order_by_the_book(const bool *active, int n, int *out) {
  int nb = (n + 15) / 16, flat[16 * 8], at = 0, count = 0;
  for (int wanted = 0; wanted < 2; wanted++) {
    for (int i = 0; i < n; i++) {
      if (active[i] == wanted) flat[at++] = i;
    }
  }
  for (; at < 16 * nb; at++) flat[at] = -1;
  for (int j = 0; j < nb; j++) {
    for (int lane = 0; lane < 16; lane++) {
      int pair = flat[lane * nb + j];
      if (pair >= 0 && active[pair]) out[count++] = pair;
    }
    out[count++] = -1; /* end of the batch */
  }
  return count;
}

static void solver_order_is_the_references(void **state) {
  (void)state;
  static const int listed[] = {1, 3, 4, 9, 10, 15, 16, 17, 18, 30, 39, 48, 60};
  CoreRandomStream random = core_random_stream(5, CORE_RANDOM_TEST, 0, 0);
  for (size_t c = 0; c < sizeof listed / sizeof listed[0]; c++) {
    for (int repeat = 0; repeat < 200; repeat++) {
      bool active[60];
      int book[60 + 8], pair_of[60], n = listed[c], at = 0, group = 0;
      static SimScratch s;

      s.overlap_pair_count = s.order_count = s.group_count = 0;
      for (int i = 0; i < n; i++) {
        active[i] = core_random_unit(core_random_next(&random)) < 0.1f + 0.005f * (float)(repeat % 100);
        if (!active[i]) continue;
        pair_of[s.overlap_pair_count] = i;
        s.overlap_pairs[s.overlap_pair_count] = (SimOverlapPair){0, {(uint8_t)s.overlap_pair_count, SIM_NO_CONTACT}};
        s.overlap_pair_count++;
      }

      sim_step_order(n, 1, 0, &s);
      int count = order_by_the_book(active, n, book);
      for (int i = 0, in_batch = 0; i < count; i++) {
        if (book[i] >= 0) {
          assert_int_equal(pair_of[s.order[at++]], book[i]);
          in_batch++;
        } else if (in_batch) {
          assert_int_equal(s.group_end[group++], at);
          in_batch = 0;
        }
      }

      assert_int_equal(at, s.order_count);
      assert_int_equal(group, s.group_count);
    }
  }
}

/* Bodies as numbers that remember everything they received, in which order, and everything that was seen. */
typedef struct Seen { uint64_t body[SIM_SHAPES_MAX]; } Seen;

/* Applies the contacts listed in part[] at once: all see the same bodies, which then receive in order as a,
 * then as b. */
static void apply_at_once(const SimWavefrontContact *contact, const uint8_t *part, int count, Seen *seen) {
  uint64_t push[SIM_CONTACTS_MAX];
  for (int i = 0; i < count; i++) {
    const SimWavefrontContact c = contact[part[i]];
    push[i] = (seen->body[c.a & 15] * 3 + seen->body[c.b & 15] * 7 + part[i]) * 0x9e3779b97f4a7c15u;
  }
  for (int end = 0; end < 2; end++) {
    for (int i = 0; i < count; i++) {
      const uint8_t k = end == 0 ? contact[part[i]].a : contact[part[i]].b;
      if (k & SIM_WAVEFRONT_MOVES) seen->body[k & 15] = seen->body[k & 15] * 31 + (push[i] >> 7);
    }
  }
}

/* Random contacts in random groups: applied group after group and wavefront after wavefront, bodies come to the same.
 * */
static void waves_give_what_groups_give(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(7, CORE_RANDOM_TEST, 0, 0);
  int waves_seen = 0, groups_seen = 0, sharing_seen = 0;
  for (int repeat = 0; repeat < 2000; repeat++) {
    SimWavefrontContact contact[48];
    uint8_t part[48];
    Seen by_group, by_wave;
    const uint32_t count = core_random_below(core_random_next(&random), repeat % 47 + 2);
    const uint32_t bodies = 5 + core_random_below(core_random_next(&random), 11);

    for (uint32_t i = 0; i < count; i++) {
      const uint32_t drawn = core_random_below(core_random_next(&random), bodies),
                     b = (drawn + 1 + i % (bodies - 1)) % bodies;
      const uint32_t a = drawn < 4 && b < 4 ? 4 : drawn; /* two that never move do not push each other */
      const uint32_t group = core_random_below(core_random_next(&random), SIM_BATCHES_MAX);
      contact[i] = (SimWavefrontContact){(uint8_t)(a < 4 ? a : a | SIM_WAVEFRONT_MOVES),
                                    (uint8_t)(b < 4 ? b : b | SIM_WAVEFRONT_MOVES), (uint8_t)group, 0, 0, 0};
    }

    for (unsigned k = 0; k < SIM_SHAPES_MAX; k++) by_group.body[k] = by_wave.body[k] = k + 1;
    for (unsigned group = 0; group < SIM_BATCHES_MAX; group++) {
      int members = 0;
      for (uint32_t i = 0; i < count; i++)
        if (contact[i].stage == group) part[members++] = (uint8_t)i;
      apply_at_once(contact, part, members, &by_group);
      groups_seen += members > 0;
    }

    SimWavefronts wavefronts = sim_wavefronts_schedule(contact, (int)count);
    assert_true(wavefronts.count <= SIM_WAVEFRONTS_MAX);
    for (unsigned w = 0; w < (unsigned)wavefronts.count; w++) {
      uint32_t positions = 0;
      int members = 0;
      for (uint32_t i = 0; i < count; i++) {
        if (contact[i].stage != SIM_WAVEFRONT_SCHEDULED + w) continue;
        positions |= 1u << contact[i].position;
        part[members++] = (uint8_t)i;
      }
      assert_int_equal(members, sim_wavefronts_size(wavefronts.sizes, w));
      assert_int_equal(positions, (1u << members) - 1);
      apply_at_once(contact, part, members, &by_wave);
    }

    assert_memory_equal(&by_group, &by_wave, sizeof by_group);
    waves_seen += wavefronts.count;
    sharing_seen += wavefronts.sharing != 0;
  }
  assert_true(waves_seen < groups_seen && sharing_seen > 100);
}

/* ---- collision filter -------------------------------------------------------------------------------------------- */

static void joined_shapes_do_not_push_each_other(void **state) {
  (void)state;
  CoreRandomStream random = core_random_stream(6, CORE_RANDOM_TEST, 0, 0);
  SimLevel level = two_boxes(&random);
  SimModel model;
  level.circle[0].active = true;
  level.circle[0].radius = 0.2f;
  level.circle[0].inverse_mass = level.circle[0].inverse_inertia = 1;
  level.joint[0] = (SimJoint){.active = true, .a = 4, .b = 5};
  level.joint[1] = (SimJoint){.active = true, .a = 5, .b = 6};
  level.polygon[4].role = SIM_ROLE_GREEN;
  level.circle[0].role = SIM_ROLE_BLUE;
  sim_model_build(&level, true, &model);
  int joined = 0;
  for (int i = 0; i < model.pair_end[SIM_CC]; i++) {
    const SimPair *pair = &model.pair[i];
    bool inside = pair->a >= 4 && pair->b >= 4;
    assert_int_equal(pair->resolved, !inside);
    joined += inside;
    if (pair->a == 6 && pair->b == 4) assert_int_equal(pair->reward, SIM_TOUCH); /* overlap still counts as a goal */
  }
  assert_int_equal(joined, 2); /* circle against both; box against box can have no effect and is not listed */
  assert_int_equal(model.goal_count, 1);
}

/* ---- trajectories ------------------------------------------------------------------------------------------------ */

typedef struct Row { int step, shape; double x, y, rotation, vx, vy, spin; } Row;
typedef struct Table { const char *level; int count; Row row[20]; } Table;

/* Global shape indices: circles follow the 5 polygons of S, 6 of M, 12 of L. */
static const Table tables[] = {
  {"s/h1_thrust_over_ball", 8, {
    {1, 5, 0.625000, 3.572275, 4.029953, 0, -0.163500, 0}, {1, 6, 3.365000, 0.917275, 5.578516, 0, -0.163500, 0},
    {20, 4, 2.052500, 0.764942, 0.000001, 0, 0.000865, 0},
    {20, 5, 0.666446, 3.007032, 4.029953, 0.828920, -3.184349, -0.000010},
    {20, 6, 3.365000, 0.755399, 5.578516, 0, 0.035460, 0},
    {60, 4, 2.093099, 0.765011, -0.000032, 0, 0.000004, 0},
    {60, 5, 0.942033, 0.649891, 8.068334, -2.924615, 0, 11.703537},
    {60, 6, 3.365000, 0.757763, 5.578516, 0, 0.000005, 0}}},
  {"s/h5_rotate_fall", 7, {
    {1, 5, 1.430000, 4.647275, 4.029953, 0, -0.163500, 0}, {20, 4, 3.534999, 0.592500, 0, 0, 0, 0},
    {20, 5, 1.430000, 4.077750, 4.029953, 0, -3.270000, 0}, {20, 6, 1.465000, 3.767750, 5.578516, 0, -3.270000, 0},
    {60, 4, 3.534999, 0.592500, 0, 0, 0, 0},
    {60, 5, 1.431907, 0.659938, 3.004397, -0.143604, 0.774168, 3.048532},
    {60, 6, 1.406263, 0.579771, 7.371404, 0.246811, 0.148441, -1.392072}}},
  {"m/h0_unicycle", 8, {
    {1, 5, 1.417474, 0.880306, -0.000525, -0.001586, 0.018359, -0.031519},
    {1, 6, 1.409887, 0.601863, 1.928904, -0.006794, 0.111802, 0.033969},
    {20, 4, 1.483172, 1.240739, -0.115902, 0.244931, -0.080079, -0.801233},
    {20, 5, 1.411735, 0.886587, -0.115902, -0.039575, -0.026938, -0.801233},
    {20, 6, 1.371900, 0.609290, 2.111087, -0.262239, 0.000988, 1.253091},
    {60, 4, 1.592678, 0.798362, -1.224713, -0.010452, 0.008417, 0.025561},
    {60, 5, 1.243880, 0.704264, -1.223994, -0.010380, 0.003651, 0.022456},
    {60, 6, 0.977988, 0.616178, 1.177786, -0.009127, -0.000292, -9.693546}}},
  {"l/h4_cartpole", 11, {
    {1, 13, 0.735000, 0.602275, 0, 0, -0.163500, 0},
    {20, 4, 1.121838, 0.564553, -0.011847, 0.029506, 0.000148, 0.003887},
    {20, 5, 1.100532, 1.174303, 0.014438, -0.029707, -0.002216, 0.097132},
    {20, 12, 1.514280, 0.557423, -0.028063, 0.029492, 0.002828, -0.187396},
    {20, 13, 0.739453, 0.576606, -0.024802, 0.029441, 0, -0.166705},
    {20, 14, 1.087845, 1.706665, 0.014436, -0.081401, -0.003951, 0.097126},
    {60, 4, 0.739199, 0.566339, -0.001379, 1.279143, 0.000515, -0.002414},
    {60, 5, 1.187373, 0.980607, -0.845184, 1.872979, -0.611440, -1.397467},
    {60, 12, 1.131658, 0.563277, 0.030730, 1.277125, -0.001488, -22.865152},
    {60, 13, 0.356707, 0.574327, 1.035511, 1.279127, -0.000769, -9.309703},
    {60, 14, 1.582542, 1.337828, -0.845106, 2.385723, -1.150875, -1.397829}}},
  {"l/chain_lander", 10, {
    {1, 8, 0.799988, 2.509639, 0.010525, -0.000724, -0.021674, 0.631488},
    {1, 12, 0.790009, 0.987670, 0, 0.000572, -0.139776, 0}, {20, 4, 0.790000, 0.495000, 0, 0, 0, 0},
    {20, 5, 0.992696, 2.028595, 0.375482, -0.284083, -0.371186, 7.675364},
    {20, 8, 0.604430, 2.193598, 1.646125, -1.729068, -2.221583, 4.726744},
    {20, 12, 0.777622, 1.064191, 0, 0.047426, 0.266198, 0},
    {60, 4, 0.773161, 0.496255, -0.010651, -0.028309, -0.066920, 0.249550},
    {60, 5, 0.821314, 0.880683, -0.521474, -0.467953, -0.315721, 0.656669},
    {60, 8, 0.617432, 1.166734, 1.216069, -0.238244, 0.602433, -2.879974},
    {60, 12, 0.741058, 0.790082, 0.212381, -0.298393, -0.071567, 1.440668}}},
};

static SimControl table_control(const SimLevel *level, int t) {
  static const float motor[3] = {0, 1, -1};
  SimControl control = {0};
  for (int i = 0; i < level->size.joints; i++) control.motor[i] = motor[(t / 20 + level->joint[i].motor_binding) % 3];
  for (int i = 0; i < level->size.thrusters; i++)
    control.thruster[i] = (float)((t / 15 + level->thruster[i].binding) % 2);
  return control;
}

static void check_row(const char *name, const Row *row, const SimBody *b) {
  double slow = row->step <= 20 ? 1e-3 : 1e-2, spin = row->step <= 20 ? 1e-3 : 2e-2;
  double off[6] = {b->position.x - row->x, b->position.y - row->y, b->rotation - row->rotation,
                   b->velocity.x - row->vx, b->velocity.y - row->vy, b->angular_velocity - row->spin};
  for (int i = 0; i < 6; i++) {
    double tolerance = i < 3 ? 1e-3 : i < 5 ? slow : spin;
    if (!(fabs(off[i]) <= tolerance))
      fail_msg("%s step %d shape %d quantity %d: off by %g", name, row->step, row->shape, i, off[i]);
  }
}

static void trajectories_follow_the_table(void **state) {
  (void)state;
  if (!core_files_exists(LEVELS)) {
    print_message("# %s is not there\n", LEVELS);
    skip();
  }
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char path[CORE_PATH_MAX];
    SimLevel level;
    SimBatch *batch;
    SimScratch scratch;
    SimBatchOptions options = sim_batch_options_default();

    options.pad_writes_zero = true;
    assert_int_equal(core_files_path(path, LEVELS "/%s.json", tables[i].level), CORE_OK);
    assert_int_equal(sim_level_read(path, &level), CORE_OK);
    SimLevelSet set = {&level, 1, level.size};
    assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);

    for (int t = 0, next = 0; t < 60; t++) {
      SimControl control = table_control(&level, t);
      sim_batch_physics_step(batch, 0, &control, &scratch);
      for (; next < tables[i].count && tables[i].row[next].step == t + 1; next++)
        check_row(tables[i].level, &tables[i].row[next], &batch->worlds[0].body[tables[i].row[next].shape]);
      if (t == 59) assert_int_equal(next, tables[i].count);
    }
    sim_batch_destroy(&batch);
  }
}

/* The GPU's division equals the processor's, bit for bit. */
static void a_guarded_quotient_is_the_quotient(void **state) {
  const float some[] = {0.0f, 1.0f, 3.0f, 0.1f, 1e-20f, 1e-38f, 1e-39f, 1.4e-45f, 1e30f, 3.4e38f, INFINITY, NAN};
  enum { SOME = sizeof some / sizeof *some };
  (void)state;
  for (int i = 0; i < 4 * SOME * SOME; i++) {
    const float x = i % 2 ? -some[i / 4 % SOME] : some[i / 4 % SOME], size = some[i / 4 / SOME];
    const float y = i / 2 % 2 ? -size : size, quotient = x / y, guarded = real_quotient_guarded(x, y);
    if (size == 0.0f) continue; /* nothing is divided by 0 */
    if (isnan(quotient)) assert_true(isnan(guarded));
    else assert_memory_equal(&guarded, &quotient, sizeof quotient);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_guarded_quotient_is_the_quotient),
    cmocka_unit_test(sine_and_cosine_are_accurate),
    cmocka_unit_test(tanh_is_accurate),
    cmocka_unit_test(atan2_is_accurate),
    cmocka_unit_test(clip_hands_nan_on_and_prefers_high),
    cmocka_unit_test(boxes_overlap_exactly_where_no_line_separates_them),
    cmocka_unit_test(solver_order_is_the_references),
    cmocka_unit_test(waves_give_what_groups_give),
    cmocka_unit_test(joined_shapes_do_not_push_each_other),
    cmocka_unit_test(trajectories_follow_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
