/* Compares a contact that the reference stored with ours. */
#ifndef TESTS_GOLDEN_MANIFOLD_H
#define TESTS_GOLDEN_MANIFOLD_H
#include "sim/batch/batch_internal.h"
#include "golden_report.h"

typedef struct GoldenContact {
  bool active;
  double normal[2], penetration, point[2], impulse[2], restitution_target;
} GoldenContact;

/* Our contact `k` of a pair that touches, or an inactive one. */
static inline GoldenContact golden_contact(const SimScratch *scratch, const SimOverlapPair *overlap_pairs, int k) {
  GoldenContact out = {0};
  if (!overlap_pairs || overlap_pairs->contact[k] == SIM_NO_CONTACT) return out;
  const SimContact *c = &scratch->contact[overlap_pairs->contact[k]];
  return (GoldenContact){true, {c->normal.x, c->normal.y}, c->penetration, {c->point.x, c->point.y},
                         {c->impulse.x, c->impulse.y}, c->restitution_target};
}

static inline const SimOverlapPair *golden_touching(const SimModel *model, const SimScratch *scratch, int kind,
                                                 int number) {
  int begin = kind == SIM_RR ? 0 : model->pair_end[kind - 1];
  for (int i = 0; i < scratch->overlap_pair_count; i++) {
    int pair = scratch->overlap_pairs[i].pair;
    if (pair >= begin && pair < model->pair_end[kind] && model->pair[pair].number == number)
      return &scratch->overlap_pairs[i];
  }
  return NULL;
}

/* The listed pair, or NULL where nothing depends on it. */
static inline const SimPair *golden_pair(const SimModel *model, int kind, int number) {
  for (int i = kind == SIM_RR ? 0 : model->pair_end[kind - 1]; i < model->pair_end[kind]; i++) {
    if (model->pair[i].number == number) return &model->pair[i];
  }
  return NULL;
}

static inline void golden_compare_contact(GoldenReport *report, const GoldenContact *got, const GoldenContact *want,
                                          double tolerance) {
  for (int i = 0; i < 2; i++) golden_compare(report, GOLDEN_MANIFOLDS, got->point[i], want->point[i], tolerance);
  golden_compare(report, GOLDEN_MANIFOLDS, got->penetration, want->penetration, tolerance);
  /* A circle's center exactly on an edge has no normal: 0 or any, and impulses without effect. */
  if ((want->normal[0] == 0 && want->normal[1] == 0) || (got->normal[0] == 0 && got->normal[1] == 0)) return;
  for (int i = 0; i < 2; i++) {
    golden_compare(report, GOLDEN_MANIFOLDS, got->normal[i], want->normal[i], tolerance);
    golden_compare(report, GOLDEN_MANIFOLDS, got->impulse[i], want->impulse[i], tolerance);
  }
  golden_compare(report, GOLDEN_MANIFOLDS, got->restitution_target, want->restitution_target, tolerance);
}

/* Both contacts of a pair; want[1] inactive for circles. Two ties of the last bit are accepted (the bodies still must
 * agree): contacts of parallel faces in the other order, and, between shapes that just touch, which contacts exist. */
static inline void golden_compare_pair(GoldenReport *report, const GoldenContact got[2], const GoldenContact want[2],
                                       double tolerance) {
  double depth = fmax(fabs(got[0].penetration), fabs(want[0].penetration)); /* 0 where inactive */
  if (depth < 1e-6) return;
  for (int k = 0; k < 2; k++) {
    if (got[k].active == want[k].active) continue;
    golden_wrong(report, "contact %d is %s, depth %.3g", k, got[k].active ? "active" : "not active", depth);
    return;
  }
  if (got[0].active && got[1].active && want[0].active && want[1].active) {
    double straight = hypot(got[0].point[0] - want[0].point[0], got[0].point[1] - want[0].point[1]);
    double crossed = hypot(got[0].point[0] - want[1].point[0], got[0].point[1] - want[1].point[1]);
    int swap = crossed < straight;
    GoldenContact ours[2] = {got[swap ? 1 : 0], got[swap ? 0 : 1]};
    if (swap) { /* the friction of both acts along one line: only its sum is determined */
      double sum = ours[0].impulse[1] + ours[1].impulse[1], wanted = want[0].impulse[1] + want[1].impulse[1];
      golden_compare(report, GOLDEN_MANIFOLDS, sum, wanted, tolerance);
      for (int k = 0; k < 2; k++) ours[k].impulse[1] = want[k].impulse[1];
    }
    for (int k = 0; k < 2; k++) golden_compare_contact(report, &ours[k], &want[k], tolerance);
    return;
  }
  for (int k = 0; k < 2; k++) {
    if (got[k].active && want[k].active) golden_compare_contact(report, &got[k], &want[k], tolerance);
  }
}

#endif
