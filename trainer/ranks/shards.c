/* Division of worlds over ranks and shards (shards.h). */
#include "trainer/ranks/shards.h"

#include "trainer/ranks/ranks.h"

enum { SHARDS_MAX = 64 };

Shards shards_alone(int worlds) {
  return (Shards){.global_worlds = worlds, .worlds = worlds, .global_shards = 1, .shards = 1};
}

static int divisors_of(int n) {
  int count = 0;
  for (int i = 1; i <= n; i++) count += n % i == 0;
  return count;
}

/* Returns the divisor of the worlds that itself has most divisors, so that most numbers of ranks divide it; among
 * equals the smallest, since small shards make small matrix products. */
int shards_choose(int64_t worlds) {
  int best = 1;
  for (int n = 2; n <= SHARDS_MAX; n++)
    if (worlds % n == 0 && divisors_of(n) > divisors_of(best)) best = n;
  return best;
}

int shards_first_of(const Shards *shards, int all, int s) {
  const int64_t first = shards->first_world / shards_worlds(shards);
  return (int)((int64_t)all * (first + s) / shards->global_shards);
}

static int divide_ranks(const CoreConfig *config, Shards *shards) {
  int64_t worlds = config->env.num, ranks = ranks_size();
  if (worlds % ranks != 0)
    return core_error(CORE_USAGE, "env.num = %lld: not divisible by %lld ranks; set env.num to %lld, or start as "
                      "many ranks as divide it", (long long)worlds, (long long)ranks,
                      (long long)((worlds / ranks + 1) * ranks));
  *shards = (Shards){.global_worlds = (int)worlds, .worlds = (int)(worlds / ranks), .global_shards = (int)ranks,
                      .shards = 1};
  shards->first_world = shards->worlds * ranks_rank();
  return CORE_OK;
}

int shards_plan(const CoreConfig *config, Shards *shards) {
  TRY(divide_ranks(config, shards));
  if (!config->comm.deterministic) return CORE_OK;
  int64_t wanted = config->comm.shards, all = wanted > 0 ? wanted : shards_choose(config->env.num);
  if (config->env.num % all != 0)
    return core_error(CORE_USAGE, "env.num = %lld: not divisible by comm.shards = %lld; set comm.shards to a "
                      "divisor of env.num, or to 0", (long long)config->env.num, (long long)all);
  if (all % ranks_size() != 0)
    return core_error(CORE_USAGE, "comm.deterministic: %lld shards are not divisible by %d ranks; set comm.shards "
                      "to a multiple of them that divides env.num = %lld, or start as many ranks as divide the shards",
                      (long long)all, ranks_size(), (long long)config->env.num);
  shards->global_shards = (int)all;
  shards->shards = (int)(all / ranks_size());
  shards->ordered = true;
  return CORE_OK;
}
