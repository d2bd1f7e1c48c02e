/* The statistics of `analyze claims` on runs with a known truth: an effect is found, its reverse contradicted, and
 * unequal settings are never compared. */
#include "test.h"

#include "claims_world.h"

#include "analysis/claims/allowance.h"
#include "analysis/claims/contrast.h"

static void assert_verdict(const World *world, const char *id, AnalysisVerdict verdict) {
  AnalysisClaimResult f = finding_of(world, id);
  if (f.verdict != verdict)
    fail_msg("%s is %s: %g [%g, %g] %s", id, analysis_verdict_name(f.verdict), f.interval.center, f.interval.low,
             f.interval.high, f.reason);
}

static void test_ends(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4}, falling[] = {0.8, 0.6, 0.5, 0.4, 0.3},
               rising[] = {0.3, 0.4, 0.5, 0.6, 0.8};

  World world = com_world(hill, 0.03);
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  assert_verdict(&world, "com_high", ANALYSIS_SUPPORTED);
  AnalysisClaimResult f = finding_of(&world, "com_low");
  assert_true(fabs(f.interval.center - 0.4) < 0.05);
  assert_int_equal(f.runs, 5 * SEEDS);
  assert_int_equal(f.cells, 5);
  assert_int_equal(f.strata, 1);
  world_free(&world);

  world = com_world(falling, 0.03);
  assert_verdict(&world, "com_low", ANALYSIS_CONTRADICTED);
  assert_verdict(&world, "com_high", ANALYSIS_SUPPORTED);
  world_free(&world);

  world = com_world(rising, 0.03);
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  assert_verdict(&world, "com_high", ANALYSIS_CONTRADICTED);
  world_free(&world);

  const double far[] = {0.6, 0.7, 0.65, 0.68, -5}; /* one that is far below all does not hide the low end's loss */
  world = com_world(far, 0.02);
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  assert_verdict(&world, "com_high", ANALYSIS_SUPPORTED);
  world_free(&world);
}

static void test_trend(void **state) {
  const double up[] = {0.1, 0.2, 0.3, 0.4, 0.5}, down[] = {0.5, 0.4, 0.3, 0.2, 0.1};
  World world = com_world(down, 0.02);
  assert_verdict(&world, "com_kl", ANALYSIS_SUPPORTED);
  assert_true(finding_of(&world, "com_kl").interval.center < 0.02);
  world_free(&world);
  world = com_world(up, 0.02);
  assert_verdict(&world, "com_kl", ANALYSIS_CONTRADICTED);
  world_free(&world);
}

/* Some seeds have not ended, then all but two: fewer are counted, then too few. */
static void test_unfinished(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.03);
  for (size_t r = 0; r < world.count; r++) world.measured[r].ended = r % SEEDS < 6;
  AnalysisClaimResult f = finding_of(&world, "com_low");
  assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
  assert_int_equal(f.unfinished, 5 * (SEEDS - 6));
  assert_int_equal(f.runs, 30);
  for (size_t r = 0; r < world.count; r++) world.measured[r].ended = r % SEEDS < 2;
  f = finding_of(&world, "com_low");
  assert_int_equal(f.verdict, ANALYSIS_UNDECIDED);
  assert_non_null(strstr(f.reason, "3 seeds"));
  for (size_t r = 0; r < world.count; r++) {
    world.measured[r].ended = true;
    world.measured[r].value[ANALYSIS_MEASURE_final] = NAN;
  }
  f = finding_of(&world, "com_low");
  assert_int_equal(f.missing, 5 * SEEDS);
  assert_non_null(strstr(f.reason, "no runs"));
  world_free(&world);
}

/* Seeds of one setting by different code give no verdict; settings of one code each do, and so does code that some runs
 * do not tell. */
static void test_different_code(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.03);
  for (size_t r = 0; r < world.count; r++) world.runs[r].code = r % SEEDS == 0 ? 0 : 1 + r / SEEDS % 2;
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  world.runs[SEEDS + 2].code = world.runs[SEEDS + 1].code == 1 ? 2 : 1;
  AnalysisClaimResult f = finding_of(&world, "com_low");
  assert_int_equal(f.verdict, ANALYSIS_UNDECIDED);
  assert_int_equal(f.codes, 1);
  assert_non_null(strstr(f.reason, "1 configurations have runs by different code; --where code=HASH"));
  world.runs[SEEDS + 2].code = world.runs[SEEDS + 1].code;
  world.runs[3].code = 3; /* it went on under other code */
  assert_verdict(&world, "com_low", ANALYSIS_UNDECIDED);
  world_free(&world);
}

/* The lowest COM has another learning rate: it is a separate stratum, and not the low end. */
static void test_only_like_with_like(void **state) {
  const double hill[] = {0.9, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.03);
  assert_verdict(&world, "com_low", ANALYSIS_CONTRADICTED);
  for (size_t r = 0; r < SEEDS; r++) ((CoreConfig *)world.runs[r].config.shared)->ppo.learning_rate = 1e-5;
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  assert_int_equal(finding_of(&world, "com_low").strata, 1);
  world_free(&world);
}

/* P002: at equal N*K; pairs of different N*K are separate strata. */
static void test_equal_data(void **state) {
  static const struct { int64_t envs, steps; double score; } shapes[] = {
    {8, 128, 0.3}, {32, 32, 0.5}, {128, 8, 0.7}, {16, 128, 0.1}, {64, 32, 0.2}};
  World world = world_create();
  for (int s = 0; s < 5; s++) {
    for (int seed = 0; seed < 4; seed++) {
      CoreConfig config = core_config_default();
      config.env.num = shapes[s].envs;
      config.ppo.num_steps = shapes[s].steps;
      config.train.seed = seed;
      add_run(&world, &config, shapes[s].score + 0.01 * noise(2, (uint32_t)s, (uint32_t)seed));
    }
  }
  AnalysisClaimResult f = finding_of(&world, "fixed_data");
  assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
  assert_int_equal(f.strata, 2);
  assert_true(f.interval.center > 0.99); /* across strata it would be 0.5 */
  world_free(&world);
}

/* Large batches lose nothing to a low COM, small ones do; and the other way round. */
static void test_robust(void **state) {
  for (int reverse = 0; reverse < 2; reverse++) {
    World world = world_create();
    for (int n = 0; n < 3; n++) {
      for (int c = 0; c < 3; c++) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = ewma(8 * pow(8, c), seed);
          config.env.num = 512 << (2 * n);
          config.train.total_steps = 1000000 << (2 * n);
          double loss = c == 0 ? 0.1 * (reverse ? n : 2 - n) : 0;
          add_run(&world, &config, 0.7 - loss + 0.02 * noise(3, (uint32_t)(3 * n + c), (uint32_t)seed));
        }
      }
    }
    assert_verdict(&world, "batch_com", reverse ? ANALYSIS_CONTRADICTED : ANALYSIS_SUPPORTED);
    world_free(&world);
  }
}

/* Epsilon, COM, epochs and the learning rate on one hill over DDR, or COM off it by `apart`; 4 seeds each. */
static World levers_world(double apart) {
  World world = world_create();
  for (int l = 0; l < 4; l++) {
    for (int i = 0; i < 7; i++) {
      for (int seed = 0; seed < 4; seed++) {
        CoreConfig config = l == 1 ? ewma(1 << i, seed) : core_config_default();
        config.train.seed = seed;
        if (l == 0) config.ppo.epsilon = 0.05 * (i + 1);
        if (l == 2) config.ppo.epochs = 1 << i;
        if (l == 3) config.ppo.learning_rate = 1e-4 * (1 << i);
        const double ddr = 1e3 * pow(3, i + 0.3 * l), u = log(ddr / 3e4) / 4;
        const double score = 0.7 - 0.3 * u * u + (l == 1 ? apart : 0);
        AnalysisRunMetrics *run =
          add_run(&world, &config, score + 0.02 * noise(8, (uint32_t)(7 * l + i), (uint32_t)seed));
        run->value[ANALYSIS_MEASURE_ddr] = ddr;
        run->rated = true;
      }
    }
  }
  return world;
}

static void test_one_curve(void **state) {
  World world = levers_world(0);
  assert_verdict(&world, "ddr_universal", ANALYSIS_SUPPORTED);
  assert_int_equal(finding_of(&world, "ddr_universal").runs, 4 * 27); /* epsilon 0.2 is also 8 epochs */
  world_free(&world);
  world = levers_world(0.15);
  assert_verdict(&world, "ddr_universal", ANALYSIS_CONTRADICTED);
  assert_true(fabs(finding_of(&world, "ddr_universal").interval.center) > 0.1);
  world_free(&world);
  world = levers_world(-0.05); /* the margin */
  assert_verdict(&world, "ddr_universal", ANALYSIS_UNDECIDED);
  world_free(&world);
}

static void test_switch(void **state) {
  World world = world_create();
  for (int seed = 0; seed < ANALYSIS_UNSEEN_SWITCHED; seed++) {
    CoreConfig low = ewma(8, seed), high = ewma(512, seed), child;
    add_run(&world, &low, 0.4 + 0.0025 * seed);
    char parent[CORE_RUN_ID];
    memcpy(parent, world.runs[world.count - 1].id, CORE_RUN_ID);
    child = high;
    snprintf(child.init.from, sizeof child.init.from, "com 8 at 1430");
    add_run(&world, &child, 0.7 + 0.0005 * seed);
    memcpy(world.runs[world.count - 1].parent, parent, CORE_RUN_ID);

    add_run(&world, &high, 0.7 + 0.00025 * seed);
    memcpy(parent, world.runs[world.count - 1].id, CORE_RUN_ID);
    child = low;
    snprintf(child.init.from, sizeof child.init.from, "com 512");
    add_run(&world, &child, 0.41 + 0.0025 * seed)->value[ANALYSIS_MEASURE_total_gain] = -0.2 + 0.0025 * seed;
    memcpy(world.runs[world.count - 1].parent, parent, CORE_RUN_ID);
  }

  for (size_t r = 0; r < world.count; r++) world.measured[r].rated = true;
  assert_verdict(&world, "switch_up", ANALYSIS_SUPPORTED);
  assert_verdict(&world, "switch_down", ANALYSIS_SUPPORTED);
  assert_verdict(&world, "switch_same", ANALYSIS_SUPPORTED);
  assert_true(fabs(finding_of(&world, "switch_up").interval.center - (0.7045 - 0.4225)) < 1e-12);

  for (size_t r = 1; r < world.count; r += 4) world.measured[r].value[ANALYSIS_MEASURE_final] += 0.1;
  assert_verdict(&world, "switch_same", ANALYSIS_CONTRADICTED);

  /* lower than its parent, but not down to the plateau */
  for (size_t r = 3; r < world.count; r += 4) world.measured[r].value[ANALYSIS_MEASURE_final] += 0.15;
  assert_verdict(&world, "switch_down", ANALYSIS_CONTRADICTED);

  /* below their parents, but higher than at the switch: they have risen less */
  for (size_t r = 3; r < world.count; r += 4) world.measured[r].value[ANALYSIS_MEASURE_final] -= 0.15;
  assert_verdict(&world, "switch_down", ANALYSIS_SUPPORTED);
  for (size_t r = 3; r < world.count; r += 4) world.measured[r].value[ANALYSIS_MEASURE_total_gain] += 0.3;
  assert_verdict(&world, "switch_down", ANALYSIS_CONTRADICTED);

  /* higher in the end, but not at once */
  for (size_t r = 1; r < world.count; r += 4)
    world.measured[r].value[ANALYSIS_MEASURE_early_gain] = -0.1 - 0.001 * (double)r;
  assert_verdict(&world, "switch_up", ANALYSIS_CONTRADICTED);

  world_free(&world);
}

/* A slow learner ends as low as one that has stalled. */
static void test_plateau(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.03);
  assert_verdict(&world, "com_low", ANALYSIS_SUPPORTED);
  for (size_t r = 0; r < SEEDS; r++)
    world.measured[r].value[ANALYSIS_MEASURE_late_gain] = 0.3 + 0.01 * noise(4, 0, (uint32_t)r);
  assert_verdict(&world, "com_low", ANALYSIS_CONTRADICTED);
  world_free(&world);
}

/* An order on the average may be broken; a second look costs some of the level. */
static void test_order_and_looks(void **state) {
  const double hill[] = {0.2, 0.4, 0.5, 0.9, 0.6};
  World world = com_world(hill, 0.03);
  for (size_t r = 0; r < world.count; r++)
    world.measured[r].value[ANALYSIS_MEASURE_kl] = exp(-world.measured[r].value[0]);
  const AnalysisClaimResult f = finding_of(&world, "com_kl");
  assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
  assert_non_null(strstr(f.note, "ppo.com from 128 to 512 gains a factor of 1.3"));
  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
  for (int looks = 1; looks <= 2; looks++) {
    const AnalysisClaimsOptions asked = {.ids = (const char *const[]){"com_kl"}, .id_count = 1, .looks = looks};
    AnalysisClaimResult *list;
    size_t count;
    assert_int_equal(analysis_claims_test(NULL, &selection, world.measured, NULL, &asked, &list, &count), CORE_OK);
    assert_true(list[0].level == (looks == 1 ? 0.025 : 0.0147));
    analysis_claims_free(&list, count);
  }
  world_free(&world);
}

/* Three runs that win eight of ten pairs each are three: Brunner and Munzel's t of 2 degrees, not of 5.9. */
static void test_few_seeds(void **state) {
  double score[13] = {0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.9, 0.9, 0.5, 0.5, 0.5}, key[] = {0, 1};
  size_t first[] = {0, 10, 13}, stratum[] = {0, 2};
  const AnalysisCells cells = {.score = score, .key = key, .first = first, .stratum = stratum, .count = 13, .cells = 2,
                               .strata = 1};
  const AnalysisTestResult tested = analysis_test_rises(&cells);
  assert_true(fabs(tested.interval.center - 0.8) < 1e-12);
  assert_true(tested.p_for > 0.13 && tested.p_for < 0.2);
  /* Three runs above two settings of ten win alike in both pairs, which leaves doubt in both. */
  double above[23] = {1, 1.1, 1.2}, keys[] = {0, 1, 2};
  for (int i = 0; i < 20; i++) above[3 + i] = 0.5 + 0.01 * (i * 7 % 20);
  size_t starts[] = {0, 3, 13, 23}, strata[] = {0, 3};
  const AnalysisCells three = {.score = above, .key = keys, .first = starts, .stratum = strata, .count = 23, .cells = 3,
                               .strata = 1};
  assert_true(analysis_test_rises(&three).p_against > 0.025);
}

/* All seeds at the ceiling say nothing of the next one. */
static void test_no_spread(void **state) {
  const double ceiling[] = {1, 1, 1, 1, 1};
  World world = com_world(ceiling, 0);
  assert_verdict(&world, "com_low", ANALYSIS_UNDECIDED);
  assert_non_null(strstr(finding_of(&world, "com_low").reason, "no spread"));
  world_free(&world);
}

/* Four children of each parent that end alike are no four parents: the interval is that of the parents' means, by
 * Welch, worked out by hand. Parents' children end 0, 0.1, 0.2 above 0.5; runs from the start at 0.5, 0.52, 0.54. */
static void test_children_of_one_parent(void **state) {
  World world = world_create();
  for (int seed = 0; seed < 3; seed++) {
    CoreConfig low = ewma(8, seed), high = ewma(512, seed);
    char parent[CORE_RUN_ID];
    add_run(&world, &low, 0.3);
    memcpy(parent, world.runs[world.count - 1].id, CORE_RUN_ID);
    add_run(&world, &high, 0.5 + 0.02 * seed);
    for (int at = 0; at < 4; at++) {
      CoreConfig child = high;
      snprintf(child.init.from, sizeof child.init.from, "com 8 at %d", 1000 + at);
      add_run(&world, &child, 0.5 + 0.1 * seed);
      memcpy(world.runs[world.count - 1].parent, parent, CORE_RUN_ID);
    }
  }
  for (size_t r = 0; r < world.count; r++) world.measured[r].rated = true;
  const AnalysisClaimResult f = finding_of(&world, "switch_same");
  /* 0.6 - 0.52; variances 0.01/3 and 0.0004/3; degrees (0.0104/3)^2 / ((0.01/3)^2/2 + (0.0004/3)^2/2) = 2.1597 */
  assert_true(fabs(f.interval.center - 0.08) < 1e-9);
  assert_true(fabs((f.interval.high - f.interval.low) / 2 - 0.058878 * 4.0169) < 2e-3);
  assert_int_equal(f.seeds, 3);
  world_free(&world);
}

/* Runs of other sweeps do not count, nor do they change max; a single sweep can replace all. */
static void test_membership(void **state) {
  const double falling[] = {0.8, 0.6, 0.5, 0.4, 0.3};
  World world = com_world(falling, 0.02);
  const size_t own = world.count;
  for (int seed = 0; seed < SEEDS; seed++) { /* another study, of a COM that beats all */
    CoreConfig config = ewma(4096, seed);
    add_run(&world, &config, 0.9);
  }

  char *names[] = {"fig1a_com", "mine"};
  AnalysisMembership membership = {names, 2, world.count, calloc(2 * world.count, sizeof(bool))};
  for (size_t r = 0; r < world.count; r++) membership.member[2 * r + (r >= own)] = true;
  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};

  for (int any = 0; any < 2; any++) {
    AnalysisClaimResult *list;
    size_t count;
    const AnalysisClaimsOptions asked = {.ids = (const char *const[]){"com_high"}, .id_count = 1, .all_runs = any != 0};
    assert_int_equal(analysis_claims_test(NULL, &selection, world.measured, &membership, &asked, &list, &count),
                     CORE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].verdict, any ? ANALYSIS_CONTRADICTED : ANALYSIS_SUPPORTED);
    assert_int_equal(list[0].runs, any ? own + SEEDS : own);
    analysis_claims_free(&list, count);
  }

  assert_false(analysis_claims_use_all_runs("fig1a_com"));
  assert_false(analysis_claims_use_all_runs(NULL));
  assert_true(analysis_claims_use_all_runs("fig1a"));
  assert_true(analysis_claims_use_all_runs("mine"));

  free(membership.member);
  world_free(&world);
}

/* A value of the key with two values of an accompanying setting is not a cell, and is counted. */
static void test_mixed(void **state) {
  World world = world_create();
  for (int n = 0; n < 3; n++) {
    for (int seed = 0; seed < 8; seed++) {
      CoreConfig config = core_config_default();
      config.env.num = 16 << n;
      config.ppo.num_steps = 128 >> n;
      config.train.seed = seed;
      config.ppo.num_minibatches = n == 1 && seed % 2 ? 8 : 4;
      if (n == 1 && seed % 2) config.ppo.num_steps = 64;
      add_run(&world, &config, 0.2 * n + 0.01 * noise(6, (uint32_t)n, (uint32_t)seed));
    }
  }
  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
  AnalysisTable table = analysis_table_create(&selection, world.measured, NULL);
  const AnalysisArrangement arrangement = {"", "", "env.num", "", "ppo.num_steps,ppo.num_minibatches",
                                           ANALYSIS_MEASURE_final, -1};
  AnalysisCells cells;
  assert_int_equal(analysis_cells_create(&table, &arrangement, &cells), CORE_OK);
  assert_int_equal(cells.mixed, 1);
  assert_int_equal(cells.cells, 2);
  assert_int_equal(cells.count, 16);
  analysis_cells_free(&cells);
  analysis_table_free(&table);
  world_free(&world);
}

/* Alike within the margin, and not: with few noisy seeds neither is known. */
static void test_equal(void **state) {
  static const struct { double difference, sd; AnalysisVerdict verdict; } cases[] = {
    {0.01, 0.01, ANALYSIS_SUPPORTED}, {0.15, 0.01, ANALYSIS_CONTRADICTED}, {0.01, 0.2, ANALYSIS_UNDECIDED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int n = 0; n < 2; n++) {
      for (int seed = 0; seed < SEEDS; seed++) {
        CoreConfig config = core_config_default();
        snprintf(config.algo.name, sizeof config.algo.name, "pqn");
        config.env.num = 16 << n;
        config.train.seed = seed;
        AnalysisRunMetrics *run =
          add_run(&world, &config, 0.5 + n * cases[i].difference + cases[i].sd * noise(7, (uint32_t)n, (uint32_t)seed));
        run->rated = true;
      }
    }
    assert_verdict(&world, "pqn", cases[i].verdict);
    world_free(&world);
  }
}

/* A gain that grows with the scale, and a best that no learning rate saves. */
static void test_gains(void **state) {
  for (int reverse = 0; reverse < 2; reverse++) {
    World world = world_create();
    for (int com = 0; com < 2; com++) {
      for (int rate = 0; rate < 3; rate++) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = ewma(com ? 512 : 8, seed);
          config.ppo.learning_rate = 1e-4 * pow(3, rate);
          const double there = com != reverse ? 0.7 : 0.4;
          add_run(&world, &config, there - 0.1 * abs(rate - 1) + 0.01 * noise(8, (uint32_t)(3 * com + rate),
                                                                               (uint32_t)seed));
        }
      }
    }
    assert_verdict(&world, "lr_no_rescue", reverse ? ANALYSIS_CONTRADICTED : ANALYSIS_SUPPORTED);
    for (size_t r = 0; r < world.count; r++) world.measured[r].rated = true;
    assert_verdict(&world, "lr_independent", ANALYSIS_SUPPORTED);
    world_free(&world);
  }
}

/* Twice the epochs on twice the environments lose nothing; neither change alone is part of the comparison. */
static void test_not_worse(void **state) {
  static const struct { double loss; AnalysisVerdict verdict; } cases[] = {
    {-0.2, ANALYSIS_SUPPORTED}, {0.01, ANALYSIS_SUPPORTED}, {0.15, ANALYSIS_CONTRADICTED}};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int n = 0; n < 2; n++) {
      for (int epochs = 4; epochs <= 16; epochs *= 2) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = core_config_default();
          config.env.num = n ? 16 : 8;
          config.ppo.epochs = epochs;
          config.train.seed = seed;
          const double score = !n && epochs == 4 ? 0.5 : n && epochs == 8 ? 0.5 - cases[i].loss : 0.9;
          AnalysisRunMetrics *run =
            add_run(&world, &config, score + 0.01 * noise(9, (uint32_t)(n + epochs), (uint32_t)seed));
          run->rated = true;
        }
      }
    }

    assert_verdict(&world, "reuse_doubled", cases[i].verdict);
    assert_int_equal(finding_of(&world, "reuse_doubled").runs, 2 * SEEDS);
    world_free(&world);
  }
}

/* The best epsilon moves with COM. What it reaches is the same; or the lowest COM stays behind with every epsilon. */
static void test_best_equal(void **state) {
  for (int behind = 0; behind < 2; behind++) {
    World world = world_create();
    for (int com = 0; com < 3; com++) {
      for (int epsilon = 0; epsilon < 3; epsilon++) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = ewma(8 * pow(8, com), seed);
          config.ppo.epsilon = 0.1 * (1 << epsilon);
          const double score = 0.7 - 0.2 * abs(com - epsilon) - (behind && com == 0 ? 0.15 : 0);
          AnalysisRunMetrics *run =
            add_run(&world, &config, score + 0.01 * noise(10, (uint32_t)(3 * com + epsilon), (uint32_t)seed));
          run->rated = true;
        }
      }
    }

    const AnalysisClaimResult f = finding_of(&world, "com_epsilon_best");
    assert_verdict(&world, "com_epsilon_best", behind ? ANALYSIS_UNDECIDED : ANALYSIS_SUPPORTED);
    assert_int_equal(f.is_not_seen, behind);
    assert_string_equal(f.range, "ppo.com 8 to 512, ppo.epsilon 0.1 to 0.4");
    assert_true(fabs(f.interval.center - (behind ? 0.15 : 0)) < 0.02);
    world_free(&world);
  }
}

/* Two profiles of one experiment share its sweep's name: each has its own lowest COM. */
static void test_profiles(void **state) {
  World world = world_create();
  for (int profile = 0; profile < 2; profile++) {
    for (int com = 0; com < 2; com++) {
      for (int epochs = 1; epochs <= 4; epochs *= 2) {
        for (int seed = 0; seed < SEEDS; seed++) {
          CoreConfig config = ewma((profile ? 8 : 2) * (com ? 64 : 1), seed);
          config.net.width = profile ? 256 : 64;
          config.ppo.epochs = epochs;
          const double score = com || epochs < 4 ? 0.7 : 0.4;
          add_run(&world, &config, score + 0.01 * noise(11, (uint32_t)epochs, (uint32_t)seed));
        }
      }
    }
  }
  const AnalysisClaimResult f = finding_of(&world, "epochs_weak");
  assert_int_equal(f.strata, 2);
  assert_int_equal(f.runs, 6 * SEEDS);
  assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
  world_free(&world);
}

/* Five settings of four runs in rising order: of 9999 permutations none is as extreme, which counts as one in
 * 10 000. */
static void test_observed_order_counts(void **state) {
  enum { CELLS = 5, EACH = 4 };
  double key[CELLS], second[CELLS] = {0}, score[CELLS * EACH];
  size_t first[CELLS + 1], stratum[] = {0, CELLS};
  (void)state;
  for (size_t i = 0; i <= CELLS; i++) {
    first[i] = i * EACH;
    if (i < CELLS) key[i] = (double)i;
  }
  for (size_t i = 0; i < CELLS * EACH; i++) score[i] = 0.1 * (double)i;
  const AnalysisCells cells = {.score = score, .key = key, .second = second, .first = first, .stratum = stratum,
                               .count = CELLS * EACH, .cells = CELLS, .strata = 1};
  const AnalysisTestResult tested = analysis_test_rises(&cells);
  assert_true(tested.p_for == 1e-4 && tested.p_against == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ends), cmocka_unit_test(test_trend), cmocka_unit_test(test_unfinished),
    cmocka_unit_test(test_different_code),
    cmocka_unit_test(test_only_like_with_like), cmocka_unit_test(test_equal_data), cmocka_unit_test(test_robust),
    cmocka_unit_test(test_one_curve), cmocka_unit_test(test_switch),
    cmocka_unit_test(test_plateau), cmocka_unit_test(test_few_seeds), cmocka_unit_test(test_no_spread),
    cmocka_unit_test(test_order_and_looks), cmocka_unit_test(test_children_of_one_parent),
    cmocka_unit_test(test_membership), cmocka_unit_test(test_mixed), cmocka_unit_test(test_equal),
    cmocka_unit_test(test_gains), cmocka_unit_test(test_not_worse), cmocka_unit_test(test_best_equal),
    cmocka_unit_test(test_profiles), cmocka_unit_test(test_observed_order_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
