/* End to end: transitions per second of complete PPO iterations (rollout, update, KL and DDR) with 512 worlds x 64
 * steps, minibatches of 16 384, 8 epochs and separate 3x256 tanh networks, on the Kinetix levels of each size under
 * KINETIX_LEVELS, as in tests/bench/peers/jax_ppo.py in JAX; in float32 (ppo_s ...) and with bf16 products (ppo_s_bf16
 * ...). On the levels of S with settings for laptops: 64 worlds, minibatches of 512, 2x64 networks (ppo_s_2x64). And
 * Kinetix' transformer on them (transformer_s), as in jax_transformer.py: 64 worlds x 32 steps, minibatches of 512.
 * With the fractions of rollout, update and the rest, and the distance from this machine's roofline, which does not
 * count an encoder. Prints CSV.
 *
 * The roofline is the time of an iteration's matrix products and bytes at the peaks measured here, the longer of the
 * two for the update and for the other passes:
 *   flops  update: a forward and a backward pass of both networks for each transition and epoch, without the gradient
 *          of the observations; passes: actor and critic for each step and for the state after the last, and the actor
 *          again for KL
 *   bytes  update: each network reads an observation and writes its layers' outputs, and reads both again in the
 *          backward pass; before, the observation is gathered (read and written); passes: the observations are read
 * The simulator, losses, optimizer and statistics count as zero. */
#include "tests/bench/bench_matrix.h"
#include "tests/bench/bench_peak.h"
#include "trainer/run/training.h"

enum { ITERATIONS = 4 };

typedef struct Peaks { double flops, bytes; } Peaks; /* a second */

/* Times of an iteration. */
typedef struct Needs { double update_flops, update_bytes, pass_flops, pass_bytes; } Needs;

static double layer_flops(const NetworkShape *shape, int layer) {
  return 2.0 * shape->width[layer] * shape->width[layer + 1];
}

static Needs needs_of(const Training *training) {
  const CoreConfig *config = &training->config;
  const NetworkShape *const shapes[] = {&training->agent.actor.shape, &training->agent.critic.shape};
  const double transitions = (double)training->plan.transitions_per_iteration,
               visits = transitions * (double)config->ppo.epochs;
  const double states = transitions + (double)config->env.num, observation = 4.0 * training->agent.inputs;
  const double measured = fmin(transitions, (double)config->metrics.states);
  Needs needs = {.update_bytes = visits * 2 * observation, .pass_bytes = (2 * states + measured) * observation};
  for (int which = 0; which < 2; which++) {
    const NetworkShape *shape = shapes[which];
    double forward = 0, outputs = 0;
    for (int layer = 0; layer < shape->layers; layer++) {
      forward += layer_flops(shape, layer);
      outputs += 4.0 * shape->width[layer + 1];
    }
    needs.update_flops += visits * (3 * forward - layer_flops(shape, 0));
    needs.update_bytes += visits * 2 * (observation + outputs);
    needs.pass_flops += (which == 0 ? transitions + measured : states) * forward;
  }
  return needs;
}

static double longer(double flops, double bytes, const Peaks *peaks) {
  return fmax(flops / peaks->flops, bytes / peaks->bytes);
}

typedef struct Result {
  StoreIteration row;
  Needs needs;
  double flops;           /* matrix products of the iteration as the ops counted them */
  int threads;
  double transitions;     /* per iteration */
  bool has_encoder;
} Result;

static int measure(const CoreConfig *config, Result *best) {
  Training *training = NULL;
  int code = training_plan(config, &training);
  if (code == CORE_OK) code = training_allocate(training);
  if (code == CORE_OK) training_start(training);
  for (int i = 0; code == CORE_OK && i < ITERATIONS; i++) {
    StoreIteration row;
    training->ops->flops = 0;
    code = training_iterate(training, &row);
    /* The first warms up, and measures what only each tenth iteration measures. */
    if (i > 0 && (i == 1 || row.steps_per_second > best->row.steps_per_second))
      *best = (Result){row, needs_of(training), training->ops->flops, training->plan.threads,
                        (double)training->plan.transitions_per_iteration,
                        strcmp(config->net.encoder, "none") != 0};
  }
  training_destroy(&training);
  return code;
}

static void print(const char *name, const Result *r, const Peaks *peaks) {
  const StoreIteration *row = &r->row;
  const Needs *n = &r->needs;
  const double seconds = row->seconds_rollout + row->seconds_update + row->seconds_other;
  const double update = longer(n->update_flops, n->update_bytes, peaks),
               passes = longer(n->pass_flops, n->pass_bytes, peaks);
  setvbuf(stdout, NULL, _IOLBF, 0); /* minutes lie between cases */
  bench_row("trainer", name, "steps_per_second", row->steps_per_second, "transitions/s", r->threads);
  bench_row("trainer", name, "rollout", 100 * row->seconds_rollout / seconds, "%", r->threads);
  bench_row("trainer", name, "update", 100 * row->seconds_update / seconds, "%", r->threads);
  bench_row("trainer", name, "rest", 100 * row->seconds_other / seconds, "%", r->threads);
  bench_row("trainer", name, "update_per_second", r->transitions / row->seconds_update, "transitions/s", r->threads);
  bench_row("trainer", name, "all, share of sgemm peak", 100 * r->flops / seconds / peaks->flops, "%", r->threads);
  if (r->has_encoder) return;
  bench_row("trainer", name, "update, share of sgemm peak", 100 * n->update_flops / row->seconds_update / peaks->flops,
            "%", r->threads);
  bench_row("trainer", name, "roofline, flops of update", n->update_flops * 1e-9, "GFLOP", r->threads);
  bench_row("trainer", name, "roofline, bytes of update", n->update_bytes * 1e-9, "GB", r->threads);
  bench_row("trainer", name, "roofline, flops of passes", n->pass_flops * 1e-9, "GFLOP", r->threads);
  bench_row("trainer", name, "roofline, bytes of passes", n->pass_bytes * 1e-9, "GB", r->threads);
  bench_row("trainer", name, "roofline, iteration at least", update + passes, "s", r->threads);
  bench_row("trainer", name, "iteration", seconds, "s", r->threads);
  bench_row("trainer", name, "share of roofline", 100 * (update + passes) / seconds, "%", r->threads);
}

typedef const char *Setting[2];
#define SHARED_SETTINGS {"env.task", "levels"}, {"eval.count", "0"}, {"train.total_steps", "1e9"}
static const Setting LARGE[] = {SHARED_SETTINGS, {"env.num", "512"}, {"ppo.num_steps", "64"},
                                {"ppo.num_minibatches", "2"}, {"net.width", "256"}, {"net.depth", "3"}, {NULL, NULL}};
static const Setting SMALL[] = {SHARED_SETTINGS, {"env.num", "64"}, {"ppo.num_steps", "64"},
                                {"ppo.num_minibatches", "8"}, {"net.width", "64"}, {"net.depth", "2"}, {NULL, NULL}};
static const Setting TRANSFORMER[] = {
  SHARED_SETTINGS, {"env.num", "64"}, {"env.observations", "entity"}, {"ppo.num_steps", "32"},
  {"ppo.num_minibatches", "4"}, {"ppo.minibatch_by", "environments"}, {"net.encoder", "transformer"},
  {"net.sharing", "shared"}, {"net.width", "128"}, {"net.depth", "5"}, {NULL, NULL}};

typedef struct Case { const char *name; char size; const Setting *settings; } Case;
static const Case CASES[] = {{"ppo_s", 's', LARGE}, {"ppo_m", 'm', LARGE}, {"ppo_l", 'l', LARGE},
                             {"ppo_s_2x64", 's', SMALL}, {"transformer_s", 's', TRANSFORMER}};

static int bench_case(const char *only, const char *levels, const Case *c, bool is_bf16, const Peaks *peaks) {
  CoreConfig config = core_config_default();
  Result result = {0};
  char name[32], folder[4096];
  snprintf(name, sizeof name, "%s%s", c->name, is_bf16 ? "_bf16" : "");
  if (strstr(name, only) == NULL) return CORE_OK;

  snprintf(folder, sizeof folder, "%s/%c", levels, c->size);
  for (const Setting *s = c->settings; (*s)[0]; s++) TRY(core_config_set(&config, (*s)[0], (*s)[1]));
  TRY(core_config_set(&config, "env.levels", folder));
  TRY(core_config_set(&config, "train.precision", is_bf16 ? "bf16" : "float32"));

  TRY(measure(&config, &result));
  print(name, &result, peaks);
  return CORE_OK;
}

/* bench_training [NAME-PART]: only cases whose name has it ("ppo_l"). */
int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : "", *levels = getenv("KINETIX_LEVELS");
  const int threads = omp_get_num_procs();
  int code = CORE_OK;
  if (levels == NULL || *levels == '\0') return 0;
  const Peaks peaks = {1e9 * bench_matrix_peak(threads), bench_peak_bytes(threads)};
  bench_row("trainer", "memory", "peak", peaks.bytes * 1e-9, "GB/s", threads);

  for (size_t i = 0; i < 2 * sizeof CASES / sizeof *CASES; i++) {
    const Case *c = &CASES[i / 2];
    if (bench_case(only, levels, c, i % 2 == 1, &peaks) == CORE_OK) continue;
    printf("# %s%s: %s\n", c->name, i % 2 ? "_bf16" : "", core_error_message());
    code = 1;
  }
  return code;
}
