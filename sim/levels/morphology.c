/* loco512: which morphologies a run asks for (env.morphologies, env.difficulty, env.level_count), drawn by the two
 * generators; and what can be said of a level without simulating it. */
#include "sim/levels/morphology.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology_attempts.h"
#include "sim/levels/morphology_internal.h"
#include "sim/physics/collide.h"
#include "sim/physics/model.h"

static const uint8_t accepted[SIM_MORPHOLOGY_LEVELS] = {SIM_MORPHOLOGY_ATTEMPT_TABLE};

/* ---- the set --------------------------------------------------------------------------------------------------- */

/* Marks the choices that `text` names, joined by '+'. */
static int choose(const char *key, const char *text, const char *const *names, int count, const char *others,
                  bool *chosen) {
  char *list = core_text_duplicate(text), *rest = list, *word;
  int code = CORE_OK;
  while (code == CORE_OK && (word = strsep(&rest, "+")) != NULL) {
    int i = 0;
    while (i < count && strcmp(word, names[i]) != 0) i++;
    if (i < count) {
      chosen[i] = true;
      continue;
    }
    const char *near = core_text_nearest(word, names, (size_t)count);
    code = core_error(CORE_USAGE, "%s: unknown '%s'%s%s%s; known: %s", key, word, near ? ", did you mean '" : "",
                      near ? near : "", near ? "'?" : "", others);
  }
  free(list);
  return code;
}

static int choose_families(const char *morphologies, bool *chosen) {
  if (strcmp(morphologies, "all") == 0) {
    memset(chosen, true, SIM_MORPHOLOGY_FAMILIES);
    return CORE_OK;
  }
  return choose("env.morphologies", morphologies, SIM_MORPHOLOGY_NAME, SIM_MORPHOLOGY_FAMILIES,
                "public, all, or chain hopper walker cheetah car unicycle wheelfeet tree joined by '+'", chosen);
}

static int choose_classes(const char *difficulty, bool *chosen) {
  static const char *const names[SIM_MORPHOLOGY_CLASSES] = {"0", "1", "2", "3"};
  if (strcmp(difficulty, "all") == 0) {
    memset(chosen, true, SIM_MORPHOLOGY_CLASSES);
    return CORE_OK;
  }
  return choose("env.difficulty", difficulty, names, SIM_MORPHOLOGY_CLASSES, "all, or 0 1 2 3 joined by '+'", chosen);
}

int sim_morphology_set(const char *morphologies, const char *difficulty, int count, SimLevelSet *set) {
  bool public_set = strcmp(morphologies, "public") == 0;
  bool family[SIM_MORPHOLOGY_FAMILIES] = {false}, class[SIM_MORPHOLOGY_CLASSES] = {false};
  *set = (SimLevelSet){0};
  if (count < 1) return core_error(CORE_USAGE, "env.level_count: %d; must be at least 1", count);
  if (public_set && strcmp(difficulty, "all") != 0)
    return core_error(CORE_USAGE, "env.difficulty: the public morphologies have no classes; use all, or set "
                      "env.morphologies to families");
  if (!public_set) {
    TRY(choose_families(morphologies, family));
    TRY(choose_classes(difficulty, class));
  }
  set->size = public_set ? SIM_SIZE_L : SIM_SIZE_LOCO;
  set->level = core_memory_zero_allocate(SIM_MORPHOLOGY_LEVELS, sizeof *set->level);
  for (int i = 0; i < SIM_MORPHOLOGY_LEVELS && set->count < count; i++) {
    if (public_set)
      set->level[set->count++] = sim_morphology_public((uint32_t)i);
    else if (family[sim_morphology_family(i)] && class[sim_morphology_class(i)])
      set->level[set->count++] = sim_morphology_candidate(i, accepted[i]);
  }
  return CORE_OK;
}

/* ---- one level ------------------------------------------------------------------------------------------------- */

static SimManifold collide(const SimModel *model, const SimPair *pair, int kind) {
  const SimBody *a = &model->start[pair->a], *b = &model->start[pair->b];
  if (kind == SIM_CC) return sim_collide_circles(*a, model->radius[pair->a], *b, model->radius[pair->b]);
  if (kind == SIM_CR) return sim_collide_circle_polygon(*a, model->radius[pair->a], *b, &model->outline[pair->b]);
  SimPolygon first = {&model->outline[pair->a], model->corner[pair->a], *a};
  SimPolygon second = {&model->outline[pair->b], model->corner[pair->b], *b};
  SimOverlap overlap = sim_collide_overlap(&first, &second);
  if (!overlap.active) return (SimManifold){.penetration = -overlap.separation};
  return sim_collide_polygons(&first, &second, &overlap);
}

bool sim_morphology_fits(const SimLevel *level, const char **reason) {
  const float deepest = 0.02f;
  SimBox box = sim_builder_bounds(level);
  SimModel model;
  if (box.left < 0.05f || box.right > 4.95f || box.bottom < 0.38f || box.top > 4.95f) {
    *reason = "a part is outside the arena";
    return false;
  }
  sim_model_build(level, false, &model);
  for (int kind = 0, p = 0; kind < SIM_PAIR_KINDS; kind++)
    for (; p < model.pair_end[kind]; p++) {
      const SimPair *pair = &model.pair[p];
      SimManifold touch = collide(&model, pair, kind);
      bool fixated = model.mass[pair->a].inverse_mass == 0 || model.mass[pair->b].inverse_mass == 0;
      bool at_goal = pair->reward & SIM_TOUCH;
      if (!touch.active[0] || !(at_goal || (fixated && touch.penetration > deepest))) continue;
      *reason = at_goal ? "the root touches the goal" : "a part is inside a static or the step";
      return false;
    }
  return true;
}

static const SimShape *shape_at(const SimLevel *level, int i) {
  return i < level->size.polygons ? &level->polygon[i] : &level->circle[i - level->size.polygons];
}

float sim_morphology_distance(const SimLevel *level) {
  int shapes = level->size.polygons + level->size.circles;
  float distance = 0;
  for (int i = 0; i < shapes; i++)
    for (int k = 0; k < shapes; k++) {
      const SimShape *green = shape_at(level, i), *blue = shape_at(level, k);
      if (!green->active || !blue->active || green->role != SIM_ROLE_GREEN || blue->role != SIM_ROLE_BLUE) continue;
      float dx = blue->x - green->x, dy = blue->y - green->y;
      distance += real_sqrt(dx * dx + dy * dy);
    }
  return distance;
}
