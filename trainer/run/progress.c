/* Formatting of progress messages. */
#include "trainer/run/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core/json.h"
#include "core/log.h"
#include "trainer/envs/tasks/tasks.h"

enum { PLAIN_EVERY_S = 10 };
static const double REDRAW_EVERY_S = 0.1;

Progress progress_start(bool quiet, int64_t finished_iterations) {
  return (Progress){.live = {.stream = stderr, .plain_every_s = PLAIN_EVERY_S}, .quiet = quiet,
                    .started_s = core_clock_s(), .started_iteration = finished_iterations};
}

static void append_number(CoreText *text, const char *name, double value, const char *format) {
  if (isnan(value)) return;
  core_text_appendf(text, "  %s ", name);
  core_text_appendf(text, format, value);
}

void progress_draw(Progress *progress, const Training *training, const StoreIteration *row, bool final) {
  double now = core_clock_s();
  if (progress->quiet || (!final && now - progress->drawn_s < REDRAW_EVERY_S)) return;
  progress->drawn_s = now;

  int64_t done = training->position.iteration, all = training->plan.iterations;
  int64_t iterations = done - progress->started_iteration;
  char buffer[32];
  CoreText text = {0};
  core_text_appendf(&text, "iteration %" PRId64 "/%" PRId64, done, all);
  core_text_appendf(&text, "  %s transitions", core_text_count((double)training_transitions(training), buffer));
  append_number(&text, "solved", 100 * training->position.solve_rate, "%.1f %%");
  append_number(&text, "return", training->episode_return, "%.4g");
  append_number(&text, "training", isnan(training->episode_return) ? 100 * row->solve_rate : row->episode_return,
                isnan(training->episode_return) ? "%.1f %%" : "%.4g");
  append_number(&text, "goals", row->goals, "%.3g");
  append_number(&text, "KL", row->kl, "%.3g");
  append_number(&text, "DDR", row->ddr, "%.3g");

  core_text_appendf(&text, "  %s steps/s", core_text_count(row->steps_per_second, buffer));
  const double seconds = (now - progress->started_s) / (double)iterations * (double)(all - done);
  if (iterations > 0 && done < all) core_text_appendf(&text, "  ETA %s", core_text_duration(seconds, buffer));

  core_live_draw(&progress->live, core_text_string(&text), final);
  core_text_free(&text);
}

void progress_message(Progress *progress, const char *format, ...) {
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  core_info("%s", message);
  if (progress->quiet) return;
  progress->live.lines = 0; /* keeps what is on the screen */
  fprintf(stderr, "%s\n", message);
}

void progress_env_warnings(Progress *progress, const CoreConfig *config) {
  CoreText lines = {0};
  if (!core_config_has_no_envs(config)) env_append_warnings(config, &lines);
  for (char *tail = lines.data, *line; (line = strsep(&tail, "\n"));) {
    if (!*line) continue;
    if (progress) progress_message(progress, "warning: %s", line);
    else core_warn("%s", line);
  }
  core_text_free(&lines);
}

const char *progress_scaling(const CoreConfig *config, CoreText *text) {
  CoreConfig run;
  if (core_config_resolve(config, &run) != CORE_OK) return "";
  core_text_appendf(text, "%s, factor %g: env.num %" PRId64 ", ppo.num_minibatches %" PRId64 " of %" PRId64
                    " transitions, ", config->scale.scheme, config->scale.factor, run.env.num, run.ppo.num_minibatches,
                    core_config_transitions_per_iteration(&run) / run.ppo.num_minibatches);
  /* Reads only the settings that the learner reads. */
  if (strcmp(run.algo.name, "pqn") == 0) core_text_appendf(text, "pqn.learning_rate %g", run.pqn.learning_rate);
  else core_text_appendf(text, "ppo.learning_rate %g", run.ppo.learning_rate);
  if (strcmp(run.algo.name, "ppo_ewma") == 0) core_text_appendf(text, ", ppo.com %g", run.ppo.com);
  return core_text_string(text);
}

static void print_curriculum(const CoreConfig *config, const TrainingPlan *plan) {
  int64_t worlds = plan->transitions_per_iteration / config->ppo.num_steps, sampled = worlds - plan->generated;
  printf("; curriculum     in every iteration %d environments on new levels", plan->generated);
  if (sampled > 0)
    printf(", %" PRId64 " on the %" PRId64 " most learnable of %" PRId64 ", searched every %" PRId64 " iterations",
           sampled, config->sfl.buffer_size, config->sfl.num_batches * config->sfl.batch_size, config->sfl.period);
  printf("\n");
}

/* Prints the plan of a run with worlds and networks. */
static void print_learning(const CoreConfig *config, const TrainingPlan *plan) {
  printf("; updates        %" PRId64 " per iteration, %d transitions each\n", plan->updates_per_iteration,
         plan->minibatch_rows);
  printf("; levels         %d, observations of %d values\n", plan->levels, plan->observation_length);
  if (core_config_has_curriculum(config)) print_curriculum(config, plan);
  printf("; parameters     actor %zu, critic %zu\n", plan->actor_parameters, plan->critic_parameters);
  printf("; evaluations    %" PRId64 " and one before training, %d attempts each\n", config->eval.count,
         plan->attempts);
  if (config->eval.count > 0 && *config->eval.levels) printf("; as often on    %s\n", config->eval.levels);
}

/* Prints how many instances of the environment the run creates; their size is not in the estimate of memory. */
static void print_instances(const TrainingPlan *plan) {
  const int trained = plan->instances - plan->evaluation_worlds - plan->coverage_worlds - 1;
  printf("; instances      of the environment %d at once: %d to train, %d to evaluate", plan->instances, trained,
         plan->evaluation_worlds);
  if (plan->evaluation_worlds > 0 && plan->evaluation_worlds < plan->attempts) printf(" in turns");
  printf(", %d for the box of coverage, 1 to describe it\n", plan->coverage_worlds);
}

void progress_print_plan(const CoreConfig *config, const TrainingPlan *plan) {
  char id[CORE_RUN_ID], a[32], b[32], c[32], d[32];
  CoreText ini = {0}, scaling = {0};
  core_config_id(config, id);
  core_config_to_ini(config, &ini);
  double transitions = (double)plan->iterations * (double)plan->transitions_per_iteration;

  printf("%s\n", core_text_string(&ini));
  printf("; run            %s\n", id);
  if (core_config_is_scaled(config)) printf("; scaling        %s\n", progress_scaling(config, &scaling));
  printf("; iterations     %" PRId64 " of %" PRId64 " transitions, %s in all\n", plan->iterations,
         plan->transitions_per_iteration, core_text_count(transitions, a));
  if (!core_config_has_no_envs(config)) print_learning(config, plan);
  if (plan->ranks > 1) printf("; ranks          %d, each with\n", plan->ranks);
  if (plan->are_foreign) print_instances(plan);

  printf("; threads        %d\n", plan->threads);
  printf("; memory         about %sB (buffers %sB, worlds %sB); this process may use %sB\n",
         core_text_count(plan->buffer_bytes + plan->environment_bytes, a), core_text_count(plan->buffer_bytes, b),
         core_text_count(plan->environment_bytes, c), core_text_count(plan->machine_bytes, d));
  if (plan->device_bytes > 0)
    printf("; of the device  about %sB (worlds %sB)\n", core_text_count(plan->device_bytes, a),
           core_text_count(plan->device_worlds_bytes, b));

  core_text_free(&ini);
  core_text_free(&scaling);
}

void progress_print_plan_json(const CoreConfig *config, const TrainingPlan *plan) {
  char id[CORE_RUN_ID];
  CoreText text = {0};

  core_config_id(config, id);
  core_config_to_json(config, &text);
  json_t *root = json_pack(
    "{s:s, s:o, s:I, s:I, s:I, s:i, s:i, s:f, s:f, s:f}", "run", id, "config",
    json_loads(core_text_string(&text), 0, NULL), "iterations", (json_int_t)plan->iterations,
    "transitions_per_iteration", (json_int_t)plan->transitions_per_iteration, "transitions_total",
    (json_int_t)(plan->iterations * plan->transitions_per_iteration), "ranks", plan->ranks, "threads", plan->threads,
    "buffer_bytes", plan->buffer_bytes, "environment_bytes", plan->environment_bytes, "machine_bytes",
    plan->machine_bytes);

  core_text_free(&text);
  if (plan->are_foreign) json_object_set_new(root, "environment_instances", json_integer(plan->instances));
  if (!core_config_has_no_envs(config))
    json_object_update_new(
      root, json_pack("{s:I, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:f}", "updates_per_iteration",
                      (json_int_t)plan->updates_per_iteration, "minibatch_rows", plan->minibatch_rows, "levels",
                      plan->levels, "observation_length", plan->observation_length, "evaluation_attempts",
                      plan->attempts, "actor_parameters", (json_int_t)plan->actor_parameters, "critic_parameters",
                      (json_int_t)plan->critic_parameters, "device_bytes", plan->device_bytes, "device_world_bytes",
                      plan->device_worlds_bytes));

  core_json_print(root);
}
