/* Playing a search's levels, batch by batch, and offering each to the buffer. */
#include "trainer/level_search.h"

#include "core/random.h"

static const double SOLVED_BONUS = 0.001;

static double solve_rate(int64_t solved, int64_t episodes) {
  return episodes > 0 ? (double)solved / (double)episodes : 0;
}

double level_search_score(int64_t solved, int64_t episodes) {
  double p = solve_rate(solved, episodes);
  return p * (1 - p) + SOLVED_BONUS * p;
}

void level_search_register(LevelSearch *search, const CoreConfig *config, const Env *levels, CoreArena *arena) {
  *search = (LevelSearch){
    .at_once = (int)config->sfl.batch_size, .batches = (int)config->sfl.num_batches,
    .steps = (int)config->sfl.rollout_steps, .episodes_max = (int32_t)config->sfl.max_episodes,
  };
  size_t n = (size_t)search->at_once;
  trial_register(&search->trial, config, levels, search->at_once, arena);
  CORE_ARENA(arena, search->place, n, "search places [levels]");
  CORE_ARENA(arena, search->episodes, n, "search episodes [levels]");
  CORE_ARENA(arena, search->solutions, n, "search solutions [levels]");
  CORE_ARENA(arena, search->numbers, n, "search numbers [levels]");
}

int level_search_create(LevelSearch *search, const Env *levels, uint64_t seed) {
  for (int w = 0; w < search->at_once; w++) search->place[w] = w;
  return levels->with_places(levels, search->at_once, search->at_once, seed, &search->env);
}

void level_search_destroy(LevelSearch *search) { env_destroy(&search->env); }

static void count_episodes(LevelSearch *search) {
  for (int w = 0; w < search->at_once; w++) {
    if (!search->trial.dones[w] || search->episodes[w] == search->episodes_max) continue;
    search->episodes[w]++;
    search->solutions[w] += search->trial.solved[w] != 0;
  }
}

/* The levels first .. first + at_once - 1 of the search, each again and again from its beginning. */
static void play(LevelSearch *search, const TrialPlayer *player, uint64_t seed, int64_t iteration,
                 uint32_t first) {
  Env *env = search->env;
  memset(search->episodes, 0, (size_t)search->at_once * sizeof *search->episodes);
  memset(search->solutions, 0, (size_t)search->at_once * sizeof *search->solutions);
  env->reset_to(env, search->place, search->trial.raw);
  for (int t = 0; t < search->steps; t++) {
    uint64_t step = (uint64_t)iteration * (uint64_t)search->steps + (uint64_t)t;
    const TrialKey key = {.seed = seed ^ (step & 0xffffffff00000000u), /* as in a rollout: seeds have 32 bits */
                          .purpose = CORE_RANDOM_SEARCH, .first_world = first, .step = (uint32_t)step};
    trial_step(&search->trial, env, player, &key);
    count_episodes(search);
  }
}

static void offer(const LevelSearch *search, uint32_t first, LevelBuffer *buffer, LevelSearchSummary *summary) {
  for (int w = 0; w < search->at_once; w++) {
    double p = solve_rate(search->solutions[w], search->episodes[w]);
    summary->levels++;
    summary->solve_rate += p;
    summary->learnability += p * (1 - p);
    level_buffer_offer(buffer, (LevelBufferEntry){
      .score = level_search_score(search->solutions[w], search->episodes[w]), .solve_rate = p,
      .index = first + (uint32_t)w, .number = search->numbers[w],
    });
  }
}

void level_search_run(LevelSearch *search, const TrialPlayer *player, uint64_t seed, uint64_t key,
                      int64_t iteration, LevelBuffer *buffer, LevelSearchSummary *summary) {
  *summary = (LevelSearchSummary){0};
  level_buffer_clear(buffer);
  for (int batch = 0; batch < search->batches; batch++) {
    uint32_t first = (uint32_t)batch * (uint32_t)search->at_once;
    search->env->draw_levels(search->env, key, LEVEL_SEARCH_FIRST + (int64_t)first, search->at_once, 0,
                             search->numbers);
    play(search, player, seed, iteration, first);
    offer(search, first, buffer, summary);
  }
  level_buffer_close(buffer);
  for (int i = 0; i < buffer->count; i++) {
    double p = buffer->entry[i].solve_rate;
    summary->found += p * (1 - p) / buffer->count;
  }
  summary->solve_rate /= (double)summary->levels;
  summary->learnability /= (double)summary->levels;
}
