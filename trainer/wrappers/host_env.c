/* Host environments for devices (host_env.h). */
#include "trainer/wrappers/host_env.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/terminal.h"

typedef struct Hosted Hosted;

/* Step of some worlds. Steps wait in the device's stream while later ones are issued, so the parts common to all of
 * them live as long as the environment. */
typedef struct Job {
  Hosted *hosted;
  int first, count;
  EnvStep out; /* page-locked; NULL where not requested */
  struct Job *next;
} Job;

struct Hosted {
  Env *host;
  CoreDevice *device; /* NULL: buffers are on the host */
  int threads;        /* threads of a step, whichever thread of the device's runtime runs it */
  void *memory;       /* page-locked: */
  size_t bytes;
  char *actions;
  EnvStep out;
  Job *jobs;
  double seconds;     /* seconds of steps since they were last requested */
};

static Hosted *hosted_of(const Env *env) { return env->state; }
static Env *host_of(const Env *env) { return hosted_of(env)->host; }

/* Returns the inner environment, once no step is in progress. */
static Env *settled(const Env *env) {
  const Hosted *hosted = hosted_of(env);
  if (hosted->device) hosted->device->synchronize(hosted->device);
  return hosted->host;
}

/* ---- page-locked memory ------------------------------------------------------------------------------------------ */

static size_t action_bytes(const Env *env) {
  return env->action_values ? (size_t)env->action_values * sizeof(float) : (size_t)env->head.factors;
}
static size_t observation_bytes(const Env *env) { return (size_t)env->observation_length * sizeof(float); }

/* Allocates the next `bytes` bytes of the memory; NULL before it is allocated. */
static void *take(Hosted *hosted, size_t bytes) {
  enum { LINE = 64 };
  char *cursor = hosted->memory ? (char *)hosted->memory + hosted->bytes : NULL;
  hosted->bytes += (bytes + LINE - 1) / LINE * LINE;
  return cursor;
}

static void divide(Hosted *hosted) {
  const Env *host = hosted->host;
  const size_t n = (size_t)host->worlds, seen = n * observation_bytes(host);
  hosted->bytes = 0;
  hosted->actions = take(hosted, n * action_bytes(host));
  hosted->out.observations = take(hosted, seen);
  hosted->out.final_observations = host->truncates ? take(hosted, seen) : NULL;
  hosted->out.rewards = take(hosted, n * sizeof(float));
  hosted->out.levels = take(hosted, n * sizeof(int32_t));
  hosted->out.episode_steps = take(hosted, n * sizeof(int32_t));
  hosted->out.dones = take(hosted, n);
  hosted->out.solved = take(hosted, n);
  hosted->out.truncated = host->truncates ? take(hosted, n) : NULL;
  hosted->out.ends = host->has_lives ? take(hosted, n) : NULL;
  _Static_assert(sizeof(EnvStep) == 9 * sizeof(void *), "all that a step gives: also in wanted_of and send_step");
}

static void send_observations(const Env *env, float *observations) {
  const Hosted *hosted = hosted_of(env);
  core_device_to_device_async(hosted->device, observations, hosted->out.observations,
                   (size_t)env->worlds * observation_bytes(env));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void run_job(void *argument) {
  const Job *job = argument;
  Hosted *hosted = job->hosted;
  Env *host = hosted->host;
  const double begun = core_clock_s();
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(hosted->threads);
  if (job->count == host->worlds) host->step(host, hosted->actions, &job->out);
  else host->parts->step(host, job->first, job->count, hosted->actions, &job->out);
  omp_set_num_threads(threads_before);
  hosted->seconds += core_clock_s() - begun;
}

/* Returns the host buffers for the outputs requested in `out`. */
static EnvStep wanted_of(const Hosted *hosted, const EnvStep *out) {
  EnvStep wanted = hosted->out;
  if (out->levels == NULL) wanted.levels = NULL;
  if (out->truncated == NULL) wanted.truncated = NULL;
  if (out->ends == NULL) wanted.ends = NULL;
  if (out->final_observations == NULL) wanted.final_observations = NULL;
  return wanted;
}

static Job *job_of(Hosted *hosted, int first, int count, const EnvStep *out) {
  const EnvStep wanted = wanted_of(hosted, out);
  for (Job *job = hosted->jobs; job; job = job->next)
    if (job->first == first && job->count == count && memcmp(&job->out, &wanted, sizeof wanted) == 0) return job;
  Job *job = core_memory_allocate(sizeof *job);
  *job = (Job){hosted, first, count, wanted, hosted->jobs};
  return hosted->jobs = job;
}

static void send_rows(const Job *job, void *target, const void *pinned, size_t row_bytes) {
  const size_t offset = (size_t)job->first * row_bytes;
  if (target && pinned)
    core_device_to_device_async(job->hosted->device, (char *)target + offset, (const char *)pinned + offset,
                     (size_t)job->count * row_bytes);
}

static void send_step(const Env *env, const Job *job, const EnvStep *out) {
  const EnvStep *given = &job->out;
  send_rows(job, out->observations, given->observations, observation_bytes(env));
  send_rows(job, out->rewards, given->rewards, sizeof *out->rewards);
  send_rows(job, out->dones, given->dones, 1);
  send_rows(job, out->solved, given->solved, 1);
  send_rows(job, out->levels, given->levels, sizeof *out->levels);
  send_rows(job, out->episode_steps, given->episode_steps, sizeof *out->episode_steps);
  send_rows(job, out->truncated, given->truncated, 1);
  send_rows(job, out->ends, given->ends, 1);
  send_rows(job, out->final_observations, given->final_observations, observation_bytes(env));
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  Hosted *hosted = hosted_of(env);
  const size_t row = action_bytes(env), at = (size_t)first * row;
  Job *job = job_of(hosted, first, count, out);
  core_device_to_host_async(hosted->device, hosted->actions + at, (const char *)actions + at, (size_t)count * row);
  core_device_call(hosted->device, run_job, job);
  send_step(env, job, out);
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static bool can_split(const Env *env, int world) {
  const Env *host = host_of(env);
  return host->parts->can_split == NULL || host->parts->can_split(host, world);
}

static const EnvParts parts = {.step = step_part, .can_split = can_split};

static void reset(Env *env, float *observations) {
  Env *host = settled(env);
  host->reset(host, hosted_of(env)->out.observations);
  send_observations(env, observations);
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static size_t no_scratch(const Env *env, CoreDevice *device, int64_t worlds) {
  return (void)env, (void)device, (void)worlds, 0;
}
static size_t no_filter(const Env *env, CoreDevice *device) { return (void)env, (void)device, 0; }
static size_t no_stack(const Env *env, CoreDevice *device) { return (void)env, (void)device, 0; }

static double host_seconds(Env *env) {
  const double seconds = hosted_of(env)->seconds;
  hosted_of(env)->seconds = 0;
  return seconds;
}

static const EnvDevice device_table = {.scratch_bytes = no_scratch, .filter_bytes = no_filter, .stack_bytes = no_stack,
                                       .host_seconds = host_seconds};

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static EnvBatch on_host(const EnvBatch *batch) {
  EnvBatch host = *batch;
  host.device = NULL;
  return host;
}

static void reset_to(Env *env, const int32_t *level, float *observations) {
  Env *host = settled(env);
  host->levels->reset_to(host, level, hosted_of(env)->out.observations);
  send_observations(env, observations);
}

static int create_set(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                      char name[ENV_SET_NAME]) {
  const EnvBatch inner = on_host(batch);
  Env *host = NULL;
  TRY(host_of(env)->levels->create_set(host_of(env), config, set, &inner, &host, name));
  return host_env_create(host, batch->device, created);
}

static const EnvLevels levels = {.reset_to = reset_to, .create_set = create_set};

static int create_other(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                        char name[ENV_SET_NAME]) {
  const EnvBatch inner = on_host(batch);
  Env *host = NULL;
  TRY(host_of(env)->sets->create(host_of(env), config, set, &inner, &host, name));
  return host_env_create(host, batch->device, created);
}

static int count_others(const Env *env, const CoreConfig *config, int *count) {
  return host_of(env)->sets->count(host_of(env), config, count);
}

static const EnvSets sets = {.count = count_others, .create = create_other};

static int create_slots(const Env *env, const EnvBatch *batch, int slots, Env **created) {
  const EnvBatch inner = on_host(batch);
  Env *host = NULL;
  TRY(host_of(env)->generator->create_slots(host_of(env), &inner, slots, &host));
  return host_env_create(host, batch->device, created);
}

static void generate_levels(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers) {
  Env *host = settled(env);
  host->generator->generate(host, key, first, count, slot, numbers);
}

static void regenerate_levels(Env *env, uint64_t key, const uint32_t *numbers, int count, int slot) {
  Env *host = settled(env);
  host->generator->regenerate(host, key, numbers, count, slot);
}

static const EnvGenerator generator = {
    .create_slots = create_slots, .generate = generate_levels, .regenerate = regenerate_levels};

/* ---- handover ---------------------------------------------------------------------------------------------------- */

static int check_remote(const Env *env) { return env_check(settled(env)); }
static const EnvRemote remote = {.check = check_remote};

static void seed(Env *env, const EnvSeeds *seeds) { env_seed(settled(env), seeds); }
static const EnvForeign foreign = {.seed = seed};

static void read_info(Env *env, const uint8_t *worlds, EnvInfoTable *table) {
  Env *host = settled(env);
  host->info->read(host, worlds, table);
}
static const EnvInfo info = {.read = read_info};

static int64_t nonfinite(const Env *env) {
  const Env *host = settled(env);
  return host->physics->nonfinite(host);
}
static const EnvPhysics physics = {.nonfinite = nonfinite};

static int draw_picture(Env *env, int world, int width, int height, uint8_t *rgb) {
  Env *host = settled(env);
  return host->picture->draw(host, world, width, height, rgb);
}
static double step_seconds(const Env *env) { return host_of(env)->picture->step_seconds(host_of(env)); }
static const EnvPicture picture = {.draw = draw_picture, .step_seconds = step_seconds};

static size_t state_bytes(const Env *env) { return host_of(env)->state_bytes(host_of(env)); }
static void save(const Env *env, void *state) {
  const Env *host = settled(env);
  host->save(host, state);
}
static int load(Env *env, const void *state, size_t bytes) {
  Env *host = settled(env);
  return host->load(host, state, bytes);
}
static size_t bytes(const Env *env) { return host_of(env)->bytes(host_of(env)) + hosted_of(env)->bytes; }

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void destroy(Env *env) {
  Hosted *hosted = hosted_of(env);
  settled(env);
  for (Job *job = hosted->jobs, *next; job; job = next) {
    next = job->next;
    free(job);
  }
  core_device_release_pinned(hosted->device, hosted->memory);
  env_destroy(&hosted->host);
  free(hosted);
  free(env);
}

static int clone_env(const Env *env, const EnvBatch *batch, Env **created) {
  const EnvBatch inner = on_host(batch);
  Env *host = NULL;
  TRY(host_of(env)->clone(host_of(env), &inner, &host));
  return host_env_create(host, batch->device, created);
}

int host_env_create(Env *host, CoreDevice *device, Env **created) {
  Hosted *hosted = core_memory_zero_allocate(1, sizeof *hosted);
  *hosted = (Hosted){.host = host, .device = device, .threads = omp_get_max_threads()};

  divide(hosted); /* measures the size */
  const int code = core_device_allocate_pinned(device, hosted->bytes, &hosted->memory);
  if (code != CORE_OK) {
    env_destroy(&host);
    free(hosted);
    return core_error_context(code, "env.num: worlds on the host for train.device = cuda");
  }

  divide(hosted);
  Env *env = core_memory_allocate(sizeof *env);
  *env = *host;
  env->reset = reset;
  env->step = step;
  env->bytes = bytes;
  env->clone = clone_env;
  env->destroy = destroy;
  env->state_bytes = state_bytes;
  env->save = save;
  env->load = load;
  env->device = &device_table;
  env->compact = NULL;
  env->state = hosted;

  if (host->parts) env->parts = &parts;
  if (host->levels) env->levels = &levels;
  if (host->sets) env->sets = &sets;
  if (host->generator) env->generator = &generator;
  if (host->remote) env->remote = &remote;
  if (host->foreign) env->foreign = &foreign;
  if (host->info) env->info = &info;
  if (host->physics) env->physics = &physics;
  if (host->picture) env->picture = &picture;

  *created = env;
  return CORE_OK;
}
