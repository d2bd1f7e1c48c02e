/* The rules of [stop] on hand-made trials with known answers: sweep/stop. */
#include "test.h"

#include "sweep/stop/decide.h"
#include "sweep/stop/runs.h"

enum { TRIALS_MAX = 32, POINTS_MAX = 16 };

/* Trials whose points are at 1, 2, 3, ... times `step` transitions. */
typedef struct Table {
  SweepStopRun trials[TRIALS_MAX];
  SweepPoint points[TRIALS_MAX][POINTS_MAX];
  size_t count;
  double step;
} Table;

static SweepStopRun *add(Table *table, size_t setting, double budget, const double *values, size_t count) {
  const size_t i = table->count++;
  for (size_t p = 0; p < count; p++) table->points[i][p] = (SweepPoint){(double)(p + 1) * table->step, values[p]};
  table->trials[i] = (SweepStopRun){
      .setting = setting, .budget = budget, .ddr = NAN, .points = table->points[i], .count = count, .stopped_rung = -1};
  snprintf(table->trials[i].id, CORE_RUN_ID, "%016zx", i);
  return &table->trials[i];
}
#define ADD(table, setting, budget, ...) \
  add(table, setting, budget, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static SweepDecisions decide(const SweepStop *rule, const Table *table) {
  SweepDecisions decisions = {0};
  sweep_rule_apply(rule, table->trials, table->count, &decisions);
  return decisions;
}

static const SweepDecision *find(const SweepDecisions *decisions, size_t trial, SweepStopVerb verb) {
  for (size_t i = 0; i < decisions->count; i++)
    if (decisions->items[i].run == trial && decisions->items[i].verb == verb) return &decisions->items[i];
  return NULL;
}

/* ---- median ------------------------------------------------------------------------------------------------------ */

/* Averages until 3: 0.2, 0.4, 0.6, 0.5; a run whose best is 0.3 faces the median of the other four, 0.45. */
static void test_median(void **state) {
  (void)state;
  SweepStop rule = sweep_stop_default();
  rule.rule = SWEEP_STOP_median, rule.min_runs = 4, rule.grace = 2;
  Table table = {.step = 1};
  ADD(&table, 0, 10, 0.1, 0.2, 0.3, 0.9);
  ADD(&table, 1, 10, 0.3, 0.4, 0.5, 0.9);
  ADD(&table, 2, 10, 0.5, 0.6, 0.7, 0.9);
  ADD(&table, 3, 10, 0.5, 0.5, 0.5, 0.9)->is_over = true; /* it still counts */
  ADD(&table, 4, 10, 0.3, 0.1, 0.2);
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1); /* the others are at 4 with a best of 0.9 */
  assert_int_equal(decisions.items[0].run, 4);
  assert_int_equal(decisions.items[0].verb, SWEEP_STOPS);
  assert_float_equal(decisions.items[0].transitions, 3, 0);
  assert_float_equal(decisions.items[0].value, 0.3, 1e-12); /* its best, not its last */
  assert_float_equal(decisions.items[0].threshold, 0.45, 1e-12);
  sweep_decisions_free(&decisions);
}

static size_t count_of(const SweepStop *rule, const Table *table) {
  SweepDecisions decisions = decide(rule, table);
  const size_t count = decisions.count;
  sweep_decisions_free(&decisions);
  return count;
}

static Table five(void) {
  Table table = {.step = 1};
  for (size_t i = 0; i < 4; i++) ADD(&table, i, 10, 0.5, 0.5, 0.5);
  ADD(&table, 4, 10, 0.3, 0.1, 0.2);
  for (size_t i = 0; i < table.count; i++) table.trials[i].points = table.points[i]; /* the table moves */
  return table;
}

static void bind(Table *table) {
  for (size_t i = 0; i < table->count; i++) table->trials[i].points = table->points[i];
}

static void test_median_conditions(void **state) {
  (void)state;
  SweepStop rule = sweep_stop_default();
  rule.rule = SWEEP_STOP_median, rule.min_runs = 4;
  Table table = five();
  bind(&table);

  assert_int_equal(count_of(&rule, &table), 1);
  rule.min_runs = 5;
  assert_int_equal(count_of(&rule, &table), 0); /* four others */

  rule.min_runs = 4, rule.grace = 4;
  assert_int_equal(count_of(&rule, &table), 0);
  rule.grace = 3;
  assert_int_equal(count_of(&rule, &table), 1); /* at the end of its grace */

  rule.grace = 0;
  table.trials[4].budget = 31; /* a tenth of it is 3.1 */
  assert_int_equal(count_of(&rule, &table), 0);
  table.trials[4].budget = 10;

  table.trials[4].is_exempt = true;
  assert_int_equal(count_of(&rule, &table), 0);
  table.trials[4].is_exempt = false, table.trials[4].is_stopped = true;
  assert_int_equal(count_of(&rule, &table), 0);
  table.trials[4].is_stopped = false, table.trials[4].task = 1; /* other tasks are no measure */
  assert_int_equal(count_of(&rule, &table), 0);

  table.trials[4].task = 0, table.points[4][0].value = 0.5; /* equal is not worse */
  assert_int_equal(count_of(&rule, &table), 0);

  snprintf(rule.goal, sizeof rule.goal, "min"); /* values are negated internally; messages are not */
  for (size_t i = 0; i < 5; i++)
    for (size_t p = 0; p < 3; p++) table.points[i][p].value = i == 4 ? -9 : -1;

  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1);
  assert_float_equal(decisions.items[0].value, 9, 0);
  assert_float_equal(decisions.items[0].threshold, 1, 0);
  assert_non_null(strstr(decisions.items[0].why, "above 1, the median of 4"));
  sweep_decisions_free(&decisions);
}

/* An evaluation of the untrained policy is no report of training. */
static void test_median_untrained(void **state) {
  (void)state;
  SweepStop rule = sweep_stop_default();
  rule.rule = SWEEP_STOP_median, rule.min_runs = 1, rule.grace = 1;
  Table table = {.step = 1};
  ADD(&table, 0, 10, 0, 0.4, 0.4);
  ADD(&table, 1, 10, 0.9, 0.3, 0.3);
  for (size_t i = 0; i < 2; i++)
    for (size_t p = 0; p < 3; p++) table.points[i][p].transitions = (double)p;
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1);
  assert_int_equal(decisions.items[0].run, 1);
  assert_float_equal(decisions.items[0].threshold, 0.4, 1e-12);
  sweep_decisions_free(&decisions);
}

/* ---- stagnation -------------------------------------------------------------------------------------------------- */

static void test_stagnation(void **state) {
  (void)state;
  SweepStop rule = sweep_stop_default();
  rule.rule = SWEEP_STOP_stagnation, rule.patience = 0.3;

  Table table = {.step = 1};
  ADD(&table, 0, 10, 0.1, 0.5, 0.4, 0.5, 0.5);        /* not above 0.5 since 2 */
  ADD(&table, 1, 10, 0.1, 0.5, 0.4, 0.5, 0.51);       /* risen */
  ADD(&table, 2, 10, 0.1, 0.5, 0.5);                  /* its 3 transitions are no window behind a point */
  ADD(&table, 3, 10, 0.5, 0.4, 0.4, 0.4)->ddr = 2000; /* since 1 */
  ADD(&table, 4, 10, 0.5, 0.4, 0.4, 0.4)->is_over = true;

  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 2);

  const SweepDecision *first = find(&decisions, 0, SWEEP_STOPS), *fourth = find(&decisions, 3, SWEEP_STOPS);
  assert_non_null(first);
  assert_non_null(fourth);
  assert_float_equal(first->value, 0.5, 0);
  assert_float_equal(first->threshold, 0.5, 0);
  assert_float_equal(first->transitions, 5, 0);
  sweep_decisions_free(&decisions);

  rule.min_rise = 0.02; /* 0.51 is no rise */
  assert_int_equal(count_of(&rule, &table), 3);

  rule.ddr_below = 3000; /* the others' DDR is unknown or above */
  table.trials[0].ddr = 4000;
  decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1);
  assert_int_equal(decisions.items[0].run, 3);
  assert_non_null(strstr(decisions.items[0].why, "at a DDR of 2"));
  sweep_decisions_free(&decisions);

  rule.grace = 5;
  assert_int_equal(count_of(&rule, &table), 0);
}

/* ---- asha -------------------------------------------------------------------------------------------------------- */

static SweepStop asha(int64_t min, int64_t eta) {
  SweepStop rule = sweep_stop_default();
  rule.rule = SWEEP_STOP_asha, rule.min = min, rule.eta = eta;
  return rule;
}

/* Applies decisions as the log would. */
static void carry_out(Table *table, const SweepDecisions *decisions) {
  for (size_t i = 0; i < decisions->count; i++) {
    const SweepDecision *decision = &decisions->items[i];
    SweepStopRun *trial = &table->trials[decision->run];
    trial->is_stopped = decision->verb == SWEEP_STOPS;
    trial->stopped_rung = decision->verb == SWEEP_STOPS ? decision->rung : -1;
    if (decision->verb == SWEEP_PROMOTES) trial->level = decision->rung + 1;
  }
}

static void go_to(Table *table, size_t trial, size_t points, double value) {
  for (size_t p = table->trials[trial].count; p < points; p++)
    table->points[trial][p] = (SweepPoint){(double)(p + 1) * table->step, value};
  table->trials[trial].count = points;
}

/* Algorithm 2 of Li et al. 2020 worked by hand, eta = 3, rungs at 1, 3 and 9, nine settings that arrive one by one at
 * rung 0 with losses turned to values 0.1 ... 0.9 in the order 5 1 9 3 7 2 8 4 6:
 *   after 5 1:     |rung 0| = 2, top 0: nothing is promotable
 *   after 9:       3, top 1 = {9}: 9 is promoted
 *   after 3 7:     5, top 1 = {9}: nothing new
 *   after 2:       6, top 2 = {9 7}: 7 is promoted
 *   after 8:       7, top 2 = {9 8}: 8 is promoted; 7 stays promoted: the asynchrony
 *   after 4:       8, top 2: nothing new
 *   after 6:       9, top 3 = {9 8 7}: nothing new
 *   rung 1, all of 9 7 8 there: top 1 = {9} is promoted, to rung 2 */
static void test_asha_by_hand(void **state) {
  (void)state;
  static const int order[] = {5, 1, 9, 3, 7, 2, 8, 4, 6}, promoted_after[] = {0, 0, 9, 0, 0, 7, 8, 0, 0};
  const SweepStop rule = asha(1, 3);
  Table table = {.step = 1};

  for (size_t i = 0; i < 9; i++) add(&table, i, 27, NULL, 0); /* setting i has value 0.1 (i + 1) */

  for (size_t step = 0; step < 9; step++) {
    const size_t arrives = (size_t)order[step] - 1;
    go_to(&table, arrives, 1, 0.1 * order[step]);
    SweepDecisions decisions = decide(&rule, &table);

    for (size_t i = 0; i < 9; i++) {
      const SweepDecision *promotion = find(&decisions, i, SWEEP_PROMOTES);
      if ((promotion != NULL) != (promoted_after[step] == (int)i + 1))
        fail_msg("after %d: setting %zu is%s promoted", order[step], i + 1, promotion ? "" : " not");
      if (promotion) assert_int_equal(promotion->rung, 0);
      assert_true((find(&decisions, i, SWEEP_STOPS) != NULL) == (i == arrives && !promotion));
    }

    carry_out(&table, &decisions);
    sweep_decisions_free(&decisions);
  }

  for (size_t i = 6; i < 9; i++) { /* 7, 8 and 9 continue to rung 1 */
    assert_false(table.trials[i].is_stopped);
    go_to(&table, i, 3, 0.1 * (double)(i + 1));
    SweepDecisions decisions = decide(&rule, &table);
    assert_true((find(&decisions, i, SWEEP_STOPS) != NULL) == (i < 8));
    assert_true((find(&decisions, 8, SWEEP_PROMOTES) != NULL) == (i == 8));
    carry_out(&table, &decisions);
    sweep_decisions_free(&decisions);
  }

  go_to(&table, 8, 9, 0.9);
  SweepDecisions decisions = decide(&rule, &table); /* no other run can reach rung 2, so it runs to its end */
  assert_int_equal(decisions.count, 1);
  assert_int_equal(decisions.items[0].verb, SWEEP_PROMOTES);
  assert_int_equal(decisions.items[0].rung, 2);
  carry_out(&table, &decisions);
  sweep_decisions_free(&decisions);
  assert_int_equal(count_of(&rule, &table), 0);
}

/* Two seeds per setting: the interpolated mean at the rung counts; the first to arrive waits. */
static void test_asha_seeds(void **state) {
  (void)state;
  const SweepStop rule = asha(3, 2);
  Table table = {.step = 2};

  ADD(&table, 0, 40, 0.2, 0.4); /* at 3 transitions: 0.3 */
  ADD(&table, 1, 40, 0.9, 0.9);
  add(&table, 0, 40, NULL, 0);
  ADD(&table, 1, 40, 0.1);      /* not there yet */

  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 2);
  assert_non_null(strstr(find(&decisions, 0, SWEEP_STOPS)->why, "waits at rung 0"));
  assert_float_equal(find(&decisions, 0, SWEEP_STOPS)->value, 0.3, 1e-12);
  carry_out(&table, &decisions);
  sweep_decisions_free(&decisions);

  go_to(&table, 2, 2, 0.9); /* setting 0: (0.3 + 0.9) / 2 = 0.6 */
  go_to(&table, 3, 2, 0.2); /* setting 1: (0.9 + 0.15) / 2 */
  decisions = decide(&rule, &table);
  assert_non_null(find(&decisions, 0, SWEEP_PROMOTES)); /* both seeds of it */
  assert_non_null(find(&decisions, 2, SWEEP_PROMOTES));
  assert_null(find(&decisions, 2, SWEEP_STOPS));
  assert_null(find(&decisions, 1, SWEEP_PROMOTES)); /* that run is stopped */

  const SweepDecision *stopped = find(&decisions, 3, SWEEP_STOPS);
  assert_false(isnan(stopped->value)); /* NaN would compare equal to any value */
  assert_float_equal(stopped->value, 0.525, 1e-12);
  assert_float_equal(stopped->threshold, 0.6, 1e-12);
  assert_int_equal(decisions.count, 3);
  sweep_decisions_free(&decisions);
}

/* A sweep of fewer settings than eta ends with a finished one; failed runs block no other. */
static void test_asha_small(void **state) {
  (void)state;
  const SweepStop rule = asha(1, 4);
  Table table = {.step = 1};
  ADD(&table, 0, 3, 0.2);
  ADD(&table, 1, 3, 0.3);
  add(&table, 2, 3, NULL, 0);
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 2); /* both wait: the third may be better */
  assert_non_null(find(&decisions, 1, SWEEP_STOPS));
  carry_out(&table, &decisions);
  sweep_decisions_free(&decisions);
  table.trials[2].is_over = table.trials[2].is_broken = true;
  decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1);
  assert_int_equal(decisions.items[0].run, 1);
  assert_int_equal(decisions.items[0].verb, SWEEP_PROMOTES);
  carry_out(&table, &decisions);
  sweep_decisions_free(&decisions);
  table.trials[0].is_stopped = false, table.trials[0].is_exempt = true; /* a person takes it up */
  go_to(&table, 0, 2, 0.2);
  assert_int_equal(count_of(&rule, &table), 0);
}

/* Each task has its rungs, and a rung at stop.max or the budget does not count. */
static void test_asha_tasks_and_max(void **state) {
  (void)state;
  SweepStop rule = asha(1, 2);
  Table table = {.step = 1};
  ADD(&table, 0, 4, 0.2);
  ADD(&table, 1, 4, 0.3);
  ADD(&table, 2, 4, 0.8)->task = 1;
  ADD(&table, 3, 4, 0.9)->task = 1;
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 4);
  for (size_t i = 0; i < 4; i++) assert_non_null(find(&decisions, i, i % 2 ? SWEEP_PROMOTES : SWEEP_STOPS));
  sweep_decisions_free(&decisions);
  assert_float_equal(sweep_stop_rung(&rule, 4, 1), 2, 0);
  assert_true(isinf(sweep_stop_rung(&rule, 4, 2)));
  rule.max = 2;
  assert_true(isinf(sweep_stop_rung(&rule, 4, 1)));
}

/* The sweep had another rule before: runs that it stopped stay stopped and block no other. */
static void test_asha_after_another_rule(void **state) {
  (void)state;
  const SweepStop rule = asha(2, 2);
  Table table = {.step = 1};
  ADD(&table, 0, 8, 0.9, 0.9, 0.9)->is_stopped = true; /* the best: all of its setting */
  ADD(&table, 1, 8, 0.7)->is_stopped = true;           /* before the first rung, where the 0.7 counts */
  ADD(&table, 1, 8, 0.6, 0.6);
  ADD(&table, 2, 8, 0.2, 0.2);
  ADD(&table, 3, 8, 0.3, 0.3);
  add(&table, 4, 8, NULL, 0)->is_stopped = true;       /* never measured */
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 3); /* two of five settings are promotable: 0.65 and 0.3 */
  assert_non_null(find(&decisions, 2, SWEEP_PROMOTES));
  assert_non_null(find(&decisions, 3, SWEEP_STOPS));
  assert_non_null(find(&decisions, 4, SWEEP_PROMOTES));
  assert_float_equal(find(&decisions, 2, SWEEP_PROMOTES)->threshold, 0.3, 1e-12);
  carry_out(&table, &decisions);
  sweep_decisions_free(&decisions);
  table.trials[0].is_stopped = false, table.trials[0].is_exempt = true; /* a person takes it up */
  assert_int_equal(count_of(&rule, &table), 1);
}

/* The log belongs to a longer ladder, or lines are missing: no rung beyond the ladder is read. */
static void test_asha_fewer_rungs(void **state) {
  (void)state;
  const SweepStop rule = asha(2, 2); /* rungs at 2 and 4 */
  Table table = {.step = 1};
  SweepStopRun *passed = ADD(&table, 0, 8, 0.9, 0.9, 0.9, 0.9, 0.9), *goes = ADD(&table, 1, 8, 0.8, 0.8, 0.8, 0.8);
  SweepStopRun *torn = ADD(&table, 2, 8, 0.1, 0.1);
  passed->level = 900, passed->is_stopped = true, passed->stopped_rung = 900;
  goes->level = 900;
  torn->is_stopped = true, torn->stopped_rung = 900; /* its promotions are lost */
  SweepDecisions decisions = decide(&rule, &table);
  assert_int_equal(decisions.count, 1);
  assert_int_equal(decisions.items[0].run, 0);
  assert_int_equal(decisions.items[0].verb, SWEEP_PROMOTES);
  assert_int_equal(decisions.items[0].rung, 1);
  assert_non_null(strstr(decisions.items[0].why, "promoted from rung 1 (4 transitions): among the best 1 of 2"));
  sweep_decisions_free(&decisions);
}

/* The order of the trials does not matter, except for their indices. */
static void test_order(void **state) {
  (void)state;
  SweepStop rule = asha(1, 3);
  Table table = {.step = 1}, turned = {.step = 1};
  for (size_t i = 0; i < 12; i++) ADD(&table, i / 2, 9, (double)((i * 7) % 5));
  for (size_t i = 0; i < 12; i++) {
    turned.trials[i] = table.trials[11 - i];
    memcpy(turned.points[i], table.points[11 - i], sizeof turned.points[i]);
  }
  turned.count = 12;
  bind(&turned);
  for (int kind = SWEEP_STOP_median; kind < SWEEP_STOP_KINDS; kind++) {
    rule.rule = (SweepStopKind)kind;
    SweepDecisions a = decide(&rule, &table), b = decide(&rule, &turned), again = decide(&rule, &table);
    assert_int_equal(a.count, b.count);
    assert_int_equal(a.count, again.count);
    for (size_t i = 0; i < a.count; i++) {
      const SweepDecision *same = find(&b, 11 - a.items[i].run, a.items[i].verb);
      assert_non_null(same);
      assert_string_equal(a.items[i].why, same->why);
      assert_string_equal(a.items[i].why, again.items[i].why);
    }
    sweep_decisions_free(&a);
    sweep_decisions_free(&b);
    sweep_decisions_free(&again);
  }
}

int main(void) {
  const struct CMUnitTest rules[] = {
    cmocka_unit_test(test_median), cmocka_unit_test(test_median_conditions), cmocka_unit_test(test_median_untrained),
    cmocka_unit_test(test_stagnation), cmocka_unit_test(test_asha_by_hand), cmocka_unit_test(test_asha_seeds),
    cmocka_unit_test(test_asha_small), cmocka_unit_test(test_asha_tasks_and_max),
    cmocka_unit_test(test_asha_after_another_rule), cmocka_unit_test(test_asha_fewer_rungs),
    cmocka_unit_test(test_order)};
  return cmocka_run_group_tests_name("rules", rules, NULL, NULL);
}
