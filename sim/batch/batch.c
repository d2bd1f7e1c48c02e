/* Creation of batches, saved states, and access to single worlds. */
#include "sim/batch/batch.h"

#include <math.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "sim/batch/batch_internal.h"
#include "sim/simd/block.h"
#include "sim/task/observe_entity.h"

SimBatchOptions sim_batch_options_default(void) {
  return (SimBatchOptions){.worlds = 1, .frame_skip = 2, .max_steps = 256, .dense_reward = 0.2f, .auto_reset = true};
}

static int check_options(const SimBatchOptions *o) {
  if (o->worlds < 1) return core_error(CORE_USAGE, "worlds must be at least 1, not %d", o->worlds);
  if (o->first_world > UINT32_MAX - (uint32_t)o->worlds)
    return core_error(CORE_USAGE, "world numbers %u + %d exceed 32 bits", o->first_world, o->worlds);

  if (o->drawn_slots < 0 || (o->drawn_slots > 0 && !o->backend.table))
    return core_error(CORE_USAGE, "%d slots for generated levels: supported on devices only", o->drawn_slots);
  if (o->done_reason && o->backend.table)
    return core_error(CORE_USAGE, "a device does not report why an episode ended");
  if (o->frame_skip < 1) return core_error(CORE_USAGE, "frame_skip must be at least 1, not %d", o->frame_skip);
  if (o->max_steps < 1) return core_error(CORE_USAGE, "max_steps must be at least 1, not %d", o->max_steps);

  if ((int)o->actions < SIM_MULTI_DISCRETE || (int)o->actions > SIM_CONTINUOUS)
    return core_error(CORE_USAGE, "invalid action space %d", (int)o->actions);
  if ((int)o->reset < SIM_RESET_LEVEL_SET || (int)o->reset > SIM_RESET_NEW_FILTERED)
    return core_error(CORE_USAGE, "invalid reset kind %d", (int)o->reset);

  if (!(o->dense_reward >= 0 && isfinite(o->dense_reward)))
    return core_error(CORE_USAGE, "dense_reward must be finite and at least 0, not %g", (double)o->dense_reward);
  if ((int)o->observation < SIM_OBSERVATION_FLAT || (int)o->observation > SIM_OBSERVATION_ENTITY)
    return core_error(CORE_USAGE, "invalid observation kind %d", (int)o->observation);

  if ((o->compact_observations || o->features) && o->observation != SIM_OBSERVATION_FLAT)
    return core_error(CORE_USAGE,
                      "compact_observations and features require flat observations: other layouts have "
                      "fixed positions");
  return CORE_OK;
}

static int observation_length(SimObservationKind kind, SimSize size) {
  switch (kind) {
    case SIM_OBSERVATION_PADDED: return sim_padded_layout(size).length;
    case SIM_OBSERVATION_ENTITY: return sim_entity_layout(size).length;
    default: return sim_observe_length(size);
  }
}

int sim_batch_create(const SimBatchOptions *options, const SimLevelSet *levels, SimBatch **out) {
  *out = NULL;
  TRY(check_options(options));
  TRY(sim_batch_check_levels(options, levels));

  SimBatch *batch = core_memory_zero_allocate(1, sizeof *batch);
  batch->options = *options;
  batch->backend = options->backend.table;
  const size_t count = (size_t)levels->count;
  const bool holds_new = sim_batch_has_new_levels(batch) && !batch->backend; /* otherwise the device holds them */
  const size_t places = count + (holds_new ? (size_t)options->worlds : 0);

  batch->rules = (SimTaskRules){options->frame_skip, options->max_steps, options->dense_reward};
  batch->size = levels->size;
  batch->new_size = options->new_size.polygons > 0 ? options->new_size : levels->size;
  batch->held_count = levels->count;
  batch->level_count = options->drawn_slots > 0 ? options->drawn_slots : levels->count;
  batch->kernels = sim_block_kernels();
  batch->whole_length = observation_length(options->observation, levels->size);

  batch->arena = core_arena_create("simulator");
  CORE_ARENA(batch->arena, batch->worlds, (size_t)options->worlds, "worlds [worlds]");
  CORE_ARENA(batch->arena, batch->plans, (size_t)sim_batch_planned(batch), "orders of contacts [worlds]");
  CORE_ARENA(batch->arena, batch->numbers, holds_new ? (size_t)options->worlds : 0, "numbers of new levels [worlds]");
  CORE_ARENA(batch->arena, batch->levels, count, "levels [levels]");
  CORE_ARENA(batch->arena, batch->models, places, "level constants [levels]");
  CORE_ARENA(batch->arena, batch->templates, places * (size_t)batch->whole_length,
             "constant observations [levels][features]");
  CORE_ARENA(batch->arena, batch->features, (size_t)batch->whole_length, "features given [features]");
  CORE_ARENA(batch->arena, batch->given, (size_t)batch->whole_length, "places of features [features]");
  CORE_ARENA(batch->arena, batch->runs, (size_t)batch->whole_length, "runs of features [features]");

  int code = core_arena_commit(batch->arena);
  if (code == CORE_OK) {
    sim_batch_set_levels(batch, 0, levels);
    code = sim_batch_choose_features(batch);
  }
  if (code == CORE_OK && batch->backend) code = batch->backend->create(batch);
  if (code != CORE_OK) {
    sim_batch_destroy(&batch);
    return code;
  }

  sim_batch_reset(batch, NULL);
  *out = batch;
  return CORE_OK;
}

void sim_batch_destroy(SimBatch **batch) {
  if (!*batch) return;
  if ((*batch)->backend) (*batch)->backend->destroy(*batch);
  core_arena_destroy(&(*batch)->arena);
  sim_batch_free_thread_memory(*batch);
  free(*batch);
  *batch = NULL;
}

int sim_batch_worlds(const SimBatch *batch) { return batch->options.worlds; }
int sim_batch_observation_length(const SimBatch *batch) { return batch->observation_length; }
const int32_t *sim_batch_observation_features(const SimBatch *batch, int *whole_length) {
  *whole_length = batch->whole_length;
  return batch->features;
}
size_t sim_batch_bytes(const SimBatch *batch) {
  return batch->backend ? batch->backend->bytes(batch) : sizeof *batch + core_arena_bytes(batch->arena);
}
int sim_batch_level_count(const SimBatch *batch) { return batch->level_count; }
int64_t sim_batch_nonfinite(const SimBatch *batch) {
  return batch->backend ? batch->backend->nonfinite(batch) : batch->nonfinite;
}

/* ---- saved states: a header, then every world's fields in the order of walk_world -------------------------------- */

typedef struct StateHeader {
  char magic[4];
  uint32_t version;
  int32_t level_count;
  SimSize size;
} StateHeader;

static StateHeader header_of(const SimBatch *batch) {
  return (StateHeader){{'S', 'I', 'M', 'B'}, 2, batch->level_count, batch->size};
}

typedef struct Cursor { unsigned char *write; const unsigned char *read; } Cursor;

/* Copies a field to or from the cursor's memory. Save and load share it, so that their formats are the same. */
static void walk_field(Cursor *cursor, void *field, size_t bytes) {
  if (cursor->write) {
    memcpy(cursor->write, field, bytes);
    cursor->write += bytes;
  } else {
    memcpy(field, cursor->read, bytes);
    cursor->read += bytes;
  }
}

/* Touching pairs influence no step; they are saved only where observations show them. */
static size_t touching_bytes(const SimBatch *batch) {
  return batch->options.observation == SIM_OBSERVATION_ENTITY ? sizeof batch->worlds->overlap_pairs : 0;
}

/* Copies a world's state. Sine and cosine are omitted, because they follow from the rotation; so are slots beyond the
 * size. */
static void walk_world(const SimBatch *batch, Cursor *cursor, SimWorld *world) {
  for (int k = 0; k < batch->size.polygons + batch->size.circles; k++) {
    SimBody *body = &world->body[k];
    walk_field(cursor, &body->position, sizeof body->position);
    walk_field(cursor, &body->velocity, sizeof body->velocity);
    walk_field(cursor, &body->angular_velocity, sizeof body->angular_velocity);
    walk_field(cursor, &body->rotation, sizeof body->rotation);
    RealSinCos turn = real_sin_cos(body->rotation);
    body->sine = turn.sine;
    body->cosine = turn.cosine;
  }

  walk_field(cursor, world->joint_impulse, (size_t)batch->size.joints * sizeof world->joint_impulse[0]);
  walk_field(cursor, world->joint_spin_impulse, (size_t)batch->size.joints * sizeof world->joint_spin_impulse[0]);
  walk_field(cursor, world->contact_impulse,
             (size_t)sim_model_contacts(batch->size) * sizeof world->contact_impulse[0]);
  memset(world->warm, 0, sizeof world->warm);
  for (unsigned i = 0; i < (unsigned)sim_model_contacts(batch->size); i++) sim_step_mark_warm(world->warm, i);

  walk_field(cursor, &world->last_distance, sizeof world->last_distance);
  walk_field(cursor, &world->level, sizeof world->level);
  walk_field(cursor, &world->timestep, sizeof world->timestep);
  walk_field(cursor, &world->episode, sizeof world->episode);
  walk_field(cursor, &world->keeps_level, sizeof world->keeps_level);
  walk_field(cursor, world->overlap_pairs, touching_bytes(batch));
}

size_t sim_batch_world_bytes(const SimBatch *batch) {
  size_t body = 6 * sizeof(real), shapes = (size_t)(batch->size.polygons + batch->size.circles);
  size_t joint = sizeof(SimVec) + sizeof(real), contact = sizeof(SimVec);
  return shapes * body + (size_t)batch->size.joints * joint + (size_t)sim_model_contacts(batch->size) * contact +
         sizeof(real) + 4 * sizeof(int32_t) + touching_bytes(batch);
}

size_t sim_batch_state_bytes(const SimBatch *batch) {
  return sizeof(StateHeader) + (size_t)batch->options.worlds * sim_batch_world_bytes(batch);
}

void sim_batch_save(const SimBatch *batch, void *state) {
  StateHeader header = header_of(batch);
  if (batch->backend) batch->backend->fetch(batch);
  memcpy(state, &header, sizeof header);
  Cursor cursor = {.write = (unsigned char *)state + sizeof header};
  for (int w = 0; w < batch->options.worlds; w++) {
    SimWorld world = batch->worlds[w];
    if (world.level > batch->level_count) world.level = batch->level_count; /* new levels have no fixed index */
    walk_world(batch, &cursor, &world);
  }
}

static int check_world(const SimBatch *batch, const SimWorld *world, int w) {
  const bool has_own_level = sim_batch_has_new_levels(batch) && world->level == batch->level_count; /* a new level */
  if (!has_own_level && (world->level < 0 || world->level >= batch->level_count))
    return core_error(CORE_USAGE, "saved simulator state: world %d plays level %d of %d", w, world->level,
                      batch->level_count);
  if (world->timestep < 0 || (batch->options.auto_reset && world->timestep >= batch->options.max_steps))
    return core_error(CORE_USAGE, "saved simulator state: world %d is at step %d of %d", w, world->timestep,
                      batch->options.max_steps);
  if (world->keeps_level != 0 && world->keeps_level != 1)
    return core_error(CORE_USAGE, "saved simulator state: world %d is damaged", w);
  return CORE_OK;
}

int sim_batch_load(SimBatch *batch, const void *state, size_t bytes) {
  StateHeader expected = header_of(batch);

  if (bytes != sim_batch_state_bytes(batch))
    return core_error(CORE_USAGE, "saved simulator state: %zu bytes, expected %zu for these levels and worlds", bytes,
                      sim_batch_state_bytes(batch));
  if (memcmp(state, &expected, sizeof expected) != 0)
    return core_error(CORE_USAGE, "saved simulator state: made by another version, or for other levels or worlds");

  Cursor cursor = {.read = (const unsigned char *)state + sizeof expected};
  SimWorld world = {0};
  for (int w = 0; w < batch->options.worlds; w++) { /* everything is checked before any world changes */
    walk_world(batch, &cursor, &world);
    TRY(check_world(batch, &world, w));
  }

  cursor.read = (const unsigned char *)state + sizeof expected;
  for (int w = 0; w < batch->options.worlds; w++) walk_world(batch, &cursor, &batch->worlds[w]);
#pragma omp parallel for schedule(dynamic, 16)
  for (int w = 0; w < batch->options.worlds; w++) /* new levels are not saved: they follow from the episode's number */
    if (batch->worlds[w].level == batch->level_count) {
      batch->worlds[w].level += w;
      if (!batch->backend) sim_batch_prepare_new(batch, w);
    }

  if (batch->backend) batch->backend->put(batch);
  return CORE_OK;
}

/* ---- access to single worlds ------------------------------------------------------------------------------------- */

void sim_batch_get_world(const SimBatch *batch, int w, SimLevel *level) {
  CORE_CHECK(w >= 0 && w < batch->options.worlds);
  if (batch->backend) batch->backend->fetch(batch);
  const SimWorld *world = &batch->worlds[w];

  CORE_CHECK(!batch->backend || batch->options.drawn_slots == 0); /* the host has no copy of drawn levels */
  if (world->level < batch->level_count) *level = batch->levels[world->level];
  else sim_batch_draw_new(batch, w, level);

  for (int k = 0; k < level->size.polygons + level->size.circles; k++) {
    SimShape *shape = k < level->size.polygons ? &level->polygon[k] : &level->circle[k - level->size.polygons];
    const SimBody *body = &world->body[k];
    shape->x = body->position.x;
    shape->y = body->position.y;
    shape->rotation = body->rotation;
    shape->vx = body->velocity.x;
    shape->vy = body->velocity.y;
    shape->angular_velocity = body->angular_velocity;
  }

  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    SimVec point = sim_body_to_world(world->body[joint->a], sim_vec(joint->a_x, joint->a_y));
    if (!joint->active) continue;
    joint->global_x = point.x;
    joint->global_y = point.y;
  }

  for (int i = 0; i < level->size.thrusters; i++) {
    SimThruster *thruster = &level->thruster[i];
    SimVec point = sim_body_to_world(world->body[thruster->shape], sim_vec(thruster->x, thruster->y));
    if (!thruster->active) continue;
    thruster->global_x = point.x;
    thruster->global_y = point.y;
  }
}
