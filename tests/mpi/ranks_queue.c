/* Updates of ranks with devices, run by several at once: an iteration's minibatches are queued together with the
 * communication in them, one captured graph each, so that the number of host waits does not grow with theirs; ranks
 * that communicate through the hosts do not queue. The first rank prints TAP.
 *
 *   mpirun -n 2 ranks_queue */
#include <stdio.h>

#include "tests/mpi/ranks_tap.h"
#include "trainer/run/training.h"

typedef struct Counted { uint64_t graphs, waits; } Counted; /* counts of the last iteration */

/* Two iterations, the first of which is measured. */
static int count(const char *minibatches, const char *library, Counted *counted) {
  static const char *const settings[] = {
    "env.morphologies=car", "env.difficulty=0", "env.level_count=4", "env.num=12", "train.total_steps=1000",
    "train.device=cuda", "train.threads=1", "algo.name=ppo_ewma", "ppo.num_steps=16", "ppo.epochs=2", "net.width=16",
    "net.depth=2", "eval.count=0", "metrics.states=16", "metrics.representation_every=1000", "comm.bucket_kb=1"};
  CoreConfig config = core_config_default();
  Training *training = NULL;
  StoreIteration row;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) TRY(core_config_set_pair(&config, settings[i]));
  TRY(core_config_set_pair(&config, minibatches));
  TRY(core_config_set_pair(&config, library));
  int code = training_plan(&config, &training);
  if (code == CORE_OK) code = ranks_agree(training_allocate(training));
  if (code == CORE_OK) code = training_connect(training);
  if (code == CORE_OK) training_start(training);
  for (int i = 0; i < 2 && code == CORE_OK; i++) {
    *counted = (Counted){training->device->graphs, training->device->synchronizations};
    code = training_iterate(training, &row);
    *counted = (Counted){training->device->graphs - counted->graphs,
                         training->device->synchronizations - counted->waits};
  }
  training_destroy(&training);
  return code;
}

static int run(void) {
  enum { ROLLOUTS = 1 }; /* recorded ones: that of the second iteration */
  Counted few, many, host;
  TRY(count("ppo.num_minibatches=4", "comm.library=auto", &few));
  TRY(count("ppo.num_minibatches=16", "comm.library=auto", &many));
  TRY(count("ppo.num_minibatches=16", "comm.library=mpi", &host));
  check("the rollout and all minibatches but the first are graphs",
        few.graphs == ROLLOUTS + 2 * 4 - 1 && many.graphs == ROLLOUTS + 2 * 16 - 1);
  check("four times the minibatches, the same waits", many.waits == few.waits);
  check("through the hosts only the rollout is a graph, with a wait or more in each minibatch",
        host.graphs == ROLLOUTS && host.waits > few.waits + 2 * 16);
  if (ranks_is_first())
    printf("# waits of an iteration: %llu queued, %llu through the hosts\n", (unsigned long long)many.waits,
           (unsigned long long)host.waits);
  return CORE_OK;
}

int main(void) {
  int code = ranks_start();
  if (code == CORE_OK) code = run();
  if (code != CORE_OK && ranks_is_first()) fprintf(stderr, "ranks_queue: %s\n", core_error_message());
  ranks_stop();
  return code != CORE_OK ? code : failed;
}
