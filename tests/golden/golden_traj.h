/* Replays one traj_*.tsv: a level under scripted actions, environment steps. */
#ifndef TESTS_GOLDEN_TRAJ_H
#define TESTS_GOLDEN_TRAJ_H
#include "golden_manifold.h"
#include "sim/levels/level_set.h"
#include "traj_read.h"

enum { GOLDEN_ROWS_MAX = 512 };

typedef struct GoldenRow { int kind, number, slot; GoldenContact contact; } GoldenRow;

typedef struct GoldenTraj {
  GoldenReport report;
  const TrajSensitivity *sensitivity;
  char level[128];
  SimBatch *batch;
  SimScratch scratch;
  SimTaskResult result;
  float *observation;
  TrajTolerance tolerance;
  int t, last_compared;
  GoldenRow row[GOLDEN_ROWS_MAX];   /* M rows of this t */
  int row_count;
  bool detailed;                    /* this t has J, T and M rows; unlisted elements are inactive */
} GoldenTraj;

/* "# level NAME size ...": the name becomes a path, so it may hold only plain characters. */
static inline bool golden_level_name(const char *comment, char *name, size_t capacity) {
  const char *begin = "# level ";
  if (strncmp(comment, begin, strlen(begin)) != 0) return false;
  comment += strlen(begin);
  size_t length = strcspn(comment, " ");
  if (length == 0 || length >= capacity || comment[0] == '/') return false;
  snprintf(name, capacity, "%.*s", (int)length, comment);
  return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/") == length;
}

static inline int golden_open_level(GoldenTraj *traj, const char *directory) {
  char path[CORE_PATH_MAX];
  SimLevel level;
  for (int i = 0; i < 2; i++) {
    int length = snprintf(path, sizeof path, "%s/%s%s.json", directory, i ? "../kinetix_levels/" : "", traj->level);
    if (length >= (int)sizeof path) return core_error(CORE_USAGE, "path too long: %s", directory);
    if (core_files_exists(path)) break;
    if (i == 1)
      return core_error(CORE_FAIL, "level %s is not in %s nor in its neighbour kinetix_levels", traj->level, directory);
  }
  TRY(sim_level_read(path, &level));
  SimLevelSet set = {&level, 1, level.size};
  SimBatchOptions options = sim_batch_options_default();
  options.pad_writes_zero = true;
  options.auto_reset = false;
  TRY(sim_batch_create(&options, &set, &traj->batch));
  traj->observation = calloc((size_t)sim_batch_observation_length(traj->batch), sizeof *traj->observation);
  sim_batch_reset(traj->batch, traj->observation);
  return CORE_OK;
}

static inline double golden_largest(const TrajTolerance *t) {
  return fmax(t->position, fmax(t->rotation, t->velocity));
}

static inline void golden_traj_shape(GoldenTraj *traj, const TrajFile *file) {
  const TrajTolerance *tol = &traj->tolerance;
  const SimWorld *world = &traj->batch->worlds[0];
  int k = traj_index(file, 2, traj->batch->models[0].shapes);
  if (k < 0) { golden_wrong(&traj->report, "line %d: no such shape", file->line); return; }
  if (traj_number(file, 3) != 1) return;
  const SimBody *b = &world->body[k];
  double got[6] = {b->position.x, b->position.y, b->rotation, b->velocity.x, b->velocity.y, b->angular_velocity};
  if (!tol->comparable) {
    for (int i = 0; i < 6; i++) {
      double bound = i < 2 ? 15 : i == 2 ? INFINITY : i < 5 ? 100 : 50;
      if (!isfinite(got[i]) || fabs(got[i]) > bound) golden_wrong(&traj->report, "shape %d is out of bounds", k);
    }
    return;
  }
  for (int i = 0; i < 6; i++) {
    double tolerance = i < 2 ? tol->position : i == 2 ? tol->rotation : i < 5 ? tol->velocity : tol->spin;
    golden_compare(&traj->report, golden_of_body[i], got[i], traj_number(file, 4 + i), tolerance);
  }
}

static inline void golden_traj_reward(GoldenTraj *traj, const TrajFile *file) {
  const SimWorld *world = &traj->batch->worlds[0];
  const TrajTolerance *tol = &traj->tolerance;
  GoldenReport *report = &traj->report;
  golden_compare(report, GOLDEN_REWARD, world->last_distance, traj_number(file, 7), 4 * tol->position);
  if (traj->t == 0) return;
  golden_compare(report, GOLDEN_REWARD, traj->result.reward, traj_number(file, 2), tol->reward);
  golden_compare(report, GOLDEN_REWARD, traj->result.distance, traj_number(file, 5), 4 * tol->position);
  if (traj->result.done != (traj_number(file, 3) != 0)) golden_wrong(report, "done is %d", traj->result.done);
  if (traj->result.solved != (traj_number(file, 4) != 0)) golden_wrong(report, "solved is %d", traj->result.solved);
  if (world->timestep != (int)traj_number(file, 6)) golden_wrong(report, "timestep is %d", world->timestep);
}

static inline void golden_traj_observation(GoldenTraj *traj, const TrajFile *file) {
  int length = sim_batch_observation_length(traj->batch);
  if ((int)traj_number(file, 2) != length) {
    golden_wrong(&traj->report, "the observation has %d values", length);
    return;
  }
  for (int i = 0; i < length; i++)
    golden_compare(&traj->report, GOLDEN_OBSERVATION, traj->observation[i], traj_number(file, 3 + i),
                   golden_largest(&traj->tolerance));
}

static inline void golden_traj_joint(GoldenTraj *traj, const TrajFile *file) {
  const SimModel *model = &traj->batch->models[0];
  const TrajTolerance *tol = &traj->tolerance;
  int slot = traj_index(file, 2, model->size.joints);
  SimJointStep step = {0};
  if (slot < 0) { golden_wrong(&traj->report, "line %d: no such joint", file->line); return; }
  for (int i = 0; i < model->joint_count; i++) {
    if (model->joint[i].slot == slot) step = traj->scratch.joint[i];
  }
  double got[5] = {step.point.x, step.point.y, step.impulse.x, step.impulse.y, step.angular_impulse};
  for (int i = 0; i < 5; i++)
    golden_compare(&traj->report, GOLDEN_JOINTS, got[i], traj_number(file, 3 + i),
                   i < 2 ? tol->position + tol->rotation : fmax(tol->velocity, tol->spin));
}

static inline void golden_traj_thruster(GoldenTraj *traj, const TrajFile *file) {
  SimLevel now;
  sim_batch_get_world(traj->batch, 0, &now);
  int slot = traj_index(file, 2, now.size.thrusters);
  if (slot < 0) { golden_wrong(&traj->report, "line %d: no such thruster", file->line); return; }
  if (!now.thruster[slot].active) return;
  double tolerance = traj->tolerance.position + traj->tolerance.rotation;
  golden_compare(&traj->report, GOLDEN_JOINTS, now.thruster[slot].global_x, traj_number(file, 3), tolerance);
  golden_compare(&traj->report, GOLDEN_JOINTS, now.thruster[slot].global_y, traj_number(file, 4), tolerance);
}

static inline void golden_traj_manifold(GoldenTraj *traj, const TrajFile *file) {
  static const char *const kinds[SIM_PAIR_KINDS] = {"rr", "cr", "cc"};
  GoldenRow row = {.kind = -1};
  for (int kind = 0; kind < SIM_PAIR_KINDS && file->count > 14; kind++) {
    if (strcmp(file->field[2], kinds[kind]) == 0) row.kind = kind;
  }
  row.number = traj_index(file, 3, SIM_PAIRS_MAX);
  row.slot = traj_index(file, 4, 2);
  if (row.kind < 0 || row.number < 0 || row.slot < 0 || traj->row_count == GOLDEN_ROWS_MAX) {
    golden_wrong(&traj->report, "line %d: not a manifold", file->line);
    return;
  }
  double v[8];
  for (int i = 0; i < 8; i++) v[i] = traj_number(file, 7 + i);
  row.contact = (GoldenContact){true, {v[0], v[1]}, v[2], {v[3], v[4]}, {v[5], v[6]}, v[7]};
  traj->row[traj->row_count++] = row;
}

/* Compares all manifolds of the current t. Pairs without effect are compared by their activity only. */
static inline void golden_traj_manifolds(GoldenTraj *traj) {
  const SimModel *model = &traj->batch->models[0];
  for (int i = 0; i < SIM_PAIR_KINDS; i++) {
    for (int number = 0; number < model->pair_count[i] && traj->detailed; number++) {
      GoldenContact want[2] = {{0}}, got[2] = {{0}};
      const SimPair *pair = golden_pair(model, i, number);
      const SimOverlapPair *overlap_pairs = golden_touching(model, &traj->scratch, i, number);
      if (!pair) continue;
      for (int k = 0; k < traj->row_count; k++) {
        const GoldenRow *row = &traj->row[k];
        if (row->kind == i && row->number == number) want[row->slot] = row->contact;
      }
      if (pair->resolved) {
        for (int k = 0; k < 2; k++) got[k] = golden_contact(&traj->scratch, overlap_pairs, k);
        golden_compare_pair(&traj->report, got, want, golden_largest(&traj->tolerance));
      } else if ((overlap_pairs != NULL) != want[0].active && !(want[0].active && fabs(want[0].penetration) < 1e-6)) {
        golden_wrong(&traj->report, "pair %d-%d is %s", pair->a, pair->b, overlap_pairs ? "active" : "not active");
      }
    }
  }
  traj->row_count = 0;
  traj->detailed = false;
}

static inline void golden_traj_advance(GoldenTraj *traj, const TrajFile *file) {
  uint8_t action[SIM_ACTIONS];
  for (int i = 0; i < SIM_ACTIONS; i++) {
    int class = traj_index(file, 2 + i, 3);
    if (class < 0) { golden_wrong(&traj->report, "line %d: no such action", file->line); return; }
    action[i] = (uint8_t)class;
  }
  bool was_comparable = traj->tolerance.comparable;
  traj->t++;
  traj->tolerance = traj_tolerance(traj->sensitivity, traj->level, traj->t);
  traj->tolerance.comparable &= was_comparable; /* once diverged, trajectories stay incomparable */
  if (traj->tolerance.comparable) traj->last_compared = traj->t;
  golden_at(&traj->report, "t %d", traj->t);
  const SimCommand command = sim_task_command_of_classes(action);
  traj->result = sim_batch_step_world(traj->batch, 0, &command, &traj->scratch);
  sim_observe(&traj->batch->models[0], &traj->batch->worlds[0], traj->batch->templates,
              traj->batch->observation_length, traj->observation);
}

static inline void golden_traj_row(GoldenTraj *traj, const TrajFile *file) {
  char kind = file->field[0][0];
  traj->detailed |= (kind == 'J' || kind == 'T') && traj->tolerance.comparable;
  if (kind == 'A') {
    golden_traj_manifolds(traj);
    golden_traj_advance(traj, file);
    return;
  }
  if ((int)traj_number(file, 1) != traj->t) {
    golden_wrong(&traj->report, "line %d: out of order", file->line);
    return;
  }
  if (kind == 'S') golden_traj_shape(traj, file);
  else if (!traj->tolerance.comparable) return;
  else if (kind == 'R') golden_traj_reward(traj, file);
  else if (kind == 'O') golden_traj_observation(traj, file);
  else if (kind == 'J') golden_traj_joint(traj, file);
  else if (kind == 'T') golden_traj_thruster(traj, file);
  else if (kind == 'M') golden_traj_manifold(traj, file);
}

/* Replays the file into *report; an error when it cannot be replayed at all. */
static inline int golden_traj(const char *directory, const char *path, const TrajSensitivity *sensitivity,
                              GoldenReport *report, char extent[64]) {
  GoldenTraj *traj = calloc(1, sizeof *traj);
  TrajFile *file = calloc(1, sizeof *file);
  if (!traj || !file) abort();
  traj->sensitivity = sensitivity;
  golden_at(&traj->report, "t 0");
  int code = traj_open(path, file);
  while (code == CORE_OK && traj_next(file)) {
    if (file->comment && !traj->batch && golden_level_name(file->field[0], traj->level, sizeof traj->level)) {
      traj->tolerance = traj_tolerance(sensitivity, traj->level, 0);
      code = golden_open_level(traj, directory);
    } else if (!file->comment && traj->batch) {
      golden_traj_row(traj, file);
    }
  }
  if (code == CORE_OK && !traj->batch) code = core_error(CORE_FAIL, "no line '# level NAME'");
  if (code == CORE_OK) golden_traj_manifolds(traj);
  if (code == CORE_OK && traj->t == 0) code = core_error(CORE_FAIL, "no steps");
  *report = traj->report;
  snprintf(extent, 64, "compared up to t %d of %d", traj->last_compared, traj->t);
  sim_batch_destroy(&traj->batch);
  traj_close(file);
  free(traj->observation);
  free(traj);
  free(file);
  return code;
}

#endif
