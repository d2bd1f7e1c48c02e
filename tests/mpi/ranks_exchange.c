/* Communication of ranks, run by several at once (tests/mpi/test_ranks.sh): every function of ranks.h,
 * statistics and gradients against the same values computed by each rank alone. The first rank prints TAP.
 * `ranks_exchange die RANK SIGNAL` instead kills one rank while the others wait for it. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "tests/mpi/ranks_tap.h"
#include "trainer/update/gradient.h"
#include "trainer/update/reduce.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* The i-th of rank r's numbers, which every rank knows. */
static double value_of(int r, int i) {
  return core_random_unit(core_random_4(3, CORE_RANDOM_TEST, (uint32_t)r, (uint32_t)i, 0).v[0]) + 0.01;
}

static void check_sums(int rank, int size) {
  double x[3], sum[3] = {0}, most = 0;
  float f = (float)rank;
  int64_t count = (int64_t)1 << (40 + rank);
  for (int i = 0; i < 3; i++) {
    x[i] = value_of(rank, i);
    for (int r = 0; r < size; r++) sum[i] += value_of(r, i);
  }
  for (int r = 0; r < size; r++) most = fmax(most, value_of(r, 0));
  double largest = x[0];
  ranks_sum(x, 3);
  check("sums of float64", near(x[0], sum[0]) && near(x[1], sum[1]) && near(x[2], sum[2]));
  ranks_max(&largest, 1);
  check("maxima", largest == most);
  ranks_sum_floats(&f, 1);
  check("sums of float32", f == (float)(size * (size - 1) / 2));
  ranks_sum_counts(&count, 1);
  check("sums of counts beyond 32 bits", count == (((int64_t)1 << size) - 1) << 40);
}

static void check_bytes(int rank, int size) {
  int own[2] = {rank, 10 * rank}, back[2] = {-1, -1}, told = rank == 0 ? 77 : 0;
  int *all = calloc(2 * (size_t)size, sizeof *all);
  bool good = true;
  ranks_broadcast(&told, sizeof told);
  check("broadcast from the first", told == 77);
  ranks_gather(own, sizeof own, all);
  for (int r = 0; r < size && rank == 0; r++) good = good && all[2 * r] == r && all[2 * r + 1] == 10 * r;
  check("gathered in rank order", good);
  for (int r = 0; r < size; r++) all[2 * r + 1]++;
  ranks_scatter(rank == 0 ? all : NULL, sizeof own, back);
  check("scattered in rank order", back[0] == rank && back[1] == 10 * rank + 1);
  ranks_gather_all(own, sizeof own, all);
  for (int r = 0; r < size; r++) good = good && all[2 * r] == r && all[2 * r + 1] == 10 * r;
  check("gathered at all ranks", good);
  free(all);
}

static void check_agreement(int rank, int size) {
  char expected[64];
  check("all agree when all are well", ranks_agree(CORE_OK) == CORE_OK);
  int code = ranks_agree(rank == size - 1 ? core_error(CORE_FAIL, "no room in %d", rank) : CORE_OK);
  snprintf(expected, sizeof expected, "rank %d of %d on ", size - 1, size);
  const char *message = core_error_message();
  check("one rank's fault is everybody's, and tells whose",
        code == CORE_FAIL && strstr(message, expected) == message && strstr(message, ": no room in "));
  code = ranks_agree(core_error(CORE_USAGE, "fault of %d", rank));
  check("of several faults the first rank's", code == CORE_USAGE && strcmp(core_error_message(), "fault of 0") == 0);
}

static void check_statistics(int rank, int size) {
  Moments own = {0}, all = {0};
  LogSum log_own = log_sum_empty(), log_all = log_sum_empty();
  for (int r = 0; r < size; r++)
    for (int i = 0; i < 10 + 5 * r; i++) {
      moments_add(&all, 1e6 + value_of(r, i));
      log_sum_add(&log_all, 500 * value_of(r, i));
      if (r != rank) continue;
      moments_add(&own, 1e6 + value_of(r, i));
      log_sum_add(&log_own, 500 * value_of(r, i));
    }
  reduce_moments(&own, 1);
  check("moments of all ranks", own.n == all.n && near(own.mean, all.mean) && fabs(own.m2 - all.m2) < 1e-9 * all.m2 &&
        fabs(own.m4 - all.m4) < 1e-8 * all.m4);
  reduce_log_sums(&log_own, 1);
  check("log-sums of all ranks", near(log_sum_value(&log_own), log_sum_value(&log_all)));
}

/* Rank r has r + 1 rows, but rank 1 none, in two shards. */
static int rows_of(int r, int shard) { return r == 1 ? 0 : shard == 0 ? r + 1 : 2 * r + 1; }

static void check_gradient(int rank, int size, bool ordered) {
  const int own = ordered ? 2 : 1;
  Agent agent = {.actor = {.n = 40000, .shape.layers = 1}, .critic = {.n = 5, .shape.layers = 1}};
  const Shards shards = {.global_worlds = 2 * size, .worlds = 2, .global_shards = own * size, .shards = own,
                         .ordered = ordered};
  double expected = 0, global_rows = 0;
  Gradient gradient;
  CoreArena *arena = core_arena_create("test");
  gradient_register(&gradient, &agent, &shards, 4, 1, arena);
  bool good = core_arena_commit(arena) == CORE_OK;
  for (int r = 0; r < size; r++)
    for (int s = 0; s < own; s++) {
      global_rows += rows_of(r, s);
      expected += rows_of(r, s) * value_of(r, s);
    }
  expected /= global_rows;
  gradient_begin(&gradient);
  for (int s = 0; s < own; s++) {
    for (size_t k = 0; k < agent.actor.n; k++) gradient.mean.actor[k] = (float)value_of(rank, s);
    for (size_t k = 0; k < agent.critic.n; k++) gradient.mean.critic[k] = (float)-value_of(rank, s);
    if (rows_of(rank, s) > 0) gradient_add(&gradient, s, rows_of(rank, s));
  }
  gradient_finish(&gradient, (int64_t)global_rows);
  for (size_t k = 0; k < agent.actor.n; k++) good = good && fabs((double)gradient.mean.actor[k] - expected) < 1e-6;
  for (size_t k = 0; k < agent.critic.n; k++) good = good && fabs((double)gradient.mean.critic[k] + expected) < 1e-6;
  check(ordered ? "the gradient of shards, folded in their order" : "the gradient of ranks with different rows", good);
  core_arena_destroy(&arena);
}

/* The others wait indefinitely, as in training. */
static void die(int rank, int signal_number) {
  if (ranks_rank() == rank) {
    sleep(1);
    raise(signal_number);
  }
  ranks_agree(CORE_OK);
}

int main(int argc, char **argv) {
  if (ranks_start() != CORE_OK) {
    printf("not ok 1 - %s\n1..1\n", core_error_message());
    return 1;
  }
  if (argc == 4 && strcmp(argv[1], "die") == 0) die(atoi(argv[2]), atoi(argv[3]));
  int rank = ranks_rank(), size = ranks_size();
  check("every rank has its share of threads", ranks_threads() >= 1 && ranks_on_machine() == size);
  check_sums(rank, size);
  check_bytes(rank, size);
  check_agreement(rank, size);
  check_statistics(rank, size);
  check_gradient(rank, size, false);
  check_gradient(rank, size, true);
  if (rank == 0) printf("1..%d\n", checked);
  ranks_stop();
  return failed && rank == 0;
}
