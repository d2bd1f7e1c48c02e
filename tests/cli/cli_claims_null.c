/* Error rates and power of `analyze claims`: simulates databases in the form of each claim's own experiments, without
 * any effect and with one of one and of two standard deviations of a seed.
 * Usage: cli_claims_null EXPERIMENTS WORLDS [CLAIM...]; one line per claim, number of seeds and effect:
 *   claim test seeds effect worlds supported contradicted
 * cli_claims_null EXPERIMENTS together: each claim from its own experiments alone, and from those of all.
 * Effect 0 is the limit of the claim's null hypothesis (the margin, for claims of equality); "none" is no effect for
 * those claims, which should then be supported. tests/long/test_claims_null.sh checks the lines. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/power.h"
#include "core/memory.h"
#include "core/random.h"
#include "sweep/spec/grid.h"

static const double SD = 0.04, CENTER = 0.6;

/* Planned runs of the experiments, with results. */
typedef struct World { AnalysisPlanned planned; AnalysisRunMetrics *measured; } World;

static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(17, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* Adds the runs of the sweep of that name. */
static void add_sweep(AnalysisPlanned *world, const char *experiments, const char *name, int seeds) {
  char pattern[512], set[32];
  const char *const sets[] = {set};
  snprintf(set, sizeof set, "sweep.seeds=%d", seeds);

  for (int depth = 0; depth < 2; depth++) {
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, depth ? "%s/*/*.ini" : "%s/*.ini", experiments);
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t i = 0; i < found.gl_pathc; i++) {
      SweepSpec spec;
      SweepGrid grid;
      if (sweep_spec_read(found.gl_pathv[i], NULL, sets, 1, &spec) != CORE_OK) continue;
      if (strcmp(spec.name, name) == 0 && sweep_grid_expand(&spec, &grid) == CORE_OK) {
        for (size_t r = 0; r < grid.runs; r++) {
          CoreConfig config;
          sweep_grid_config(&grid, r, &config);
          analysis_planned_add(world, &config, grid.ids[r]);
        }
        sweep_grid_free(&grid);
      }
      sweep_spec_free(&spec);
    }
    globfree(&found);
  }
  core_error_clear();
}

/* The runs of all sweeps that the claim names. */
static void add_data(AnalysisPlanned *world, const char *experiments, const AnalysisClaim *claim, int seeds) {
  char name[128];
  for (const char *word = claim->data; *word; word += strspn(word, " ")) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, " "), word);
    add_sweep(world, experiments, name, seeds);
    word += strlen(name);
  }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void simulate(const AnalysisPlanned *world, const AnalysisClaim *claim, int seeds, const char *name,
                     double effect, uint32_t worlds) {
  const AnalysisSelection selection = {.runs = world->runs, .count = world->count};
  const AnalysisClaimsOptions asked = {.ids = (const char *const[]){claim->id}, .id_count = 1};
  const AnalysisSpread spread = analysis_spread_assumed(claim);
  long verdicts[3] = {0};
#pragma omp parallel for schedule(dynamic) reduction(+ : verdicts)
  for (uint32_t w = 0; w < worlds; w++) {
    AnalysisRunMetrics *measured = core_memory_allocate((world->count + 1) * sizeof *measured);
    AnalysisClaimResult *finding = NULL;
    size_t count;
    analysis_power_fill(world, claim, spread, w, measured);
    analysis_power_add_effect(world, claim, spread, effect, w, measured);
    if (analysis_claims_test(NULL, &selection, measured, NULL, &asked, &finding, &count) == CORE_OK && count == 1)
      verdicts[finding[0].verdict]++;
    analysis_claims_free(&finding, count);
    free(measured);
  }
  printf("%s %s %d %s %u %ld %ld\n", claim->id, claim->test_name, seeds, name, worlds,
         verdicts[ANALYSIS_SUPPORTED], verdicts[ANALYSIS_CONTRADICTED]);
  fflush(stdout);
}

static void simulate_claim(const char *experiments, const AnalysisClaim *claim, uint32_t worlds) {
  static const int seeds[] = {3, 5, 10};
  const double sd = analysis_spread_assumed(claim).sd;
  bool is_ratio;
  analysis_power_effect(claim, &is_ratio);
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    AnalysisPlanned world = {0};
    add_data(&world, experiments, claim, seeds[i]);
    analysis_planned_name_parents(&world);
    if (analysis_power_is_of_margin(claim->test)) {
      simulate(&world, claim, seeds[i], "0", is_ratio ? log(1.25) : 0.05, worlds);
      simulate(&world, claim, seeds[i], "none", 0, worlds / 4 + 1);
    } else {
      simulate(&world, claim, seeds[i], "0", 0, worlds);
      simulate(&world, claim, seeds[i], "1", sd, worlds / 4 + 1);
      simulate(&world, claim, seeds[i], "2", 2 * sd, worlds / 4 + 1);
    }
    analysis_planned_free(&world);
  }
}

/* ---- alone and together ------------------------------------------------------------------------------------------ */

/* Every measure of a run, from its id alone. */
static void measure_by_id(World *world) {
  world->measured = core_memory_allocate((world->planned.count + 1) * sizeof *world->measured);
  for (size_t r = 0; r < world->planned.count; r++) {
    world->measured[r] = (AnalysisRunMetrics){.ended = true, .rated = true};
    for (uint32_t k = 0; k < ANALYSIS_MEASURES; k++)
      world->measured[r].value[k] = CENTER + SD * normal(1, core_text_hash(world->planned.runs[r].id), k);
  }
}

static bool known(const World *world, const char *id) {
  for (size_t r = 0; r < world->planned.count; r++)
    if (strcmp(world->planned.runs[r].id, id) == 0) return true;
  return false;
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Each claim from a database of its own experiments, and from one with those of all: the claims that differ. */
static int compare_together(const char *experiments, const AnalysisClaim *claims, size_t count) {
  World all = {0};
  int differ = 0;
  for (size_t i = 0; i < count; i++) add_data(&all.planned, experiments, &claims[i], 3);
  measure_by_id(&all);
  analysis_planned_name_parents(&all.planned);

  for (size_t i = 0; i < count; i++) {
    World own = {0};
    add_data(&own.planned, experiments, &claims[i], 3);
    measure_by_id(&own);
    analysis_planned_name_parents(&own.planned);

    /* Rename the sweeps of this claim: every run of its data is a member of each word of `data`. */
    AnalysisMembership mine = {core_memory_zero_allocate(8, sizeof(char *)), 0, all.planned.count, NULL};
    char name[128];
    for (const char *word = claims[i].data; *word; word += strspn(word, " ")) {
      snprintf(name, sizeof name, "%.*s", (int)strcspn(word, " "), word);
      mine.sweep[mine.sweeps++] = core_text_duplicate(name);
      word += strlen(name);
    }

    mine.member = core_memory_zero_allocate(all.planned.count * mine.sweeps + 1, sizeof(bool));
    for (size_t r = 0; r < all.planned.count; r++)
      for (size_t s = 0; s < mine.sweeps; s++) mine.member[r * mine.sweeps + s] = known(&own, all.planned.runs[r].id);

    const AnalysisClaimsOptions asked = {.ids = (const char *const[]){claims[i].id}, .id_count = 1};
    const AnalysisSelection alone = {.runs = own.planned.runs, .count = own.planned.count};
    const AnalysisSelection with = {.runs = all.planned.runs, .count = all.planned.count};
    AnalysisClaimResult *a = NULL, *b = NULL;
    size_t n;
    if (analysis_claims_test(NULL, &alone, own.measured, NULL, &asked, &a, &n) != CORE_OK ||
        analysis_claims_test(NULL, &with, all.measured, &mine, &asked, &b, &n) != CORE_OK) return 1;

    const bool alike = a->verdict == b->verdict && same(a->interval.center, b->interval.center) && a->runs == b->runs &&
                       same(a->p_for, b->p_for) && same(a->p_against, b->p_against) && a->mixed == b->mixed;
    printf("%s %s: %zu runs, %zu comparisons, %zu mixed; alone %g (p %g), together %g (p %g)\n",
           alike ? "same" : "DIFFERS", claims[i].id, a->runs, a->strata, a->mixed, a->interval.center, a->p_for,
           b->interval.center, b->p_for);
    differ += !alike;

    analysis_claims_free(&a, 1);
    analysis_claims_free(&b, 1);
    analysis_membership_free(&mine);
    analysis_planned_free(&own.planned);
    free(own.measured);
  }
  analysis_planned_free(&all.planned);
  free(all.measured);
  return differ > 0;
}

int main(int argc, char **argv) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  if (argc < 3) {
    fprintf(stderr, "usage: %s EXPERIMENTS WORLDS|together [CLAIM...]\n", argv[0]);
    return 2;
  }
  if (strcmp(argv[2], "together") == 0) return compare_together(argv[1], claims, count);
  for (size_t i = 0; i < count; i++) {
    bool asked = argc == 3;
    for (int a = 3; a < argc; a++) asked |= strcmp(argv[a], claims[i].id) == 0;
    if (asked) simulate_claim(argv[1], &claims[i], (uint32_t)atoi(argv[2]));
  }
  return 0;
}
